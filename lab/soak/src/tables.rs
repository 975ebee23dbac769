//! The tables: the reference counter table, and rows that triggers count in it and in a column.

use std::sync::OnceLock;

use chrono::{Days, NaiveDate, Utc};
use diesel_counters::{Drift, HasCounters};

/// What the triggers count, for recounts.
pub const COUNTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counters.toml");

diesel::table! {
    articles (id) {
        id -> BigInt,
        total_views -> BigInt,
    }
}

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
        comments -> BigInt,
    }
}
diesel_counters::counter_table! {
    article_counters {
        parent = articles::id,
        slots = 64,
        today = today,
        counted_by_database = (likes),
    }
}

// `set_counter` does not compile for a counter that triggers count. It is checked anyway.
diesel::table! {
    #[sql_name = "article_counters"]
    like_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        likes -> BigInt,
    }
}
diesel_counters::counter_table!(like_counters { slots = 64, today = today });

// Each label of an article is an entity.
diesel::table! {
    label_counters (article_id, label, day, slot) {
        article_id -> BigInt,
        label -> Text,
        day -> Date,
        slot -> SmallInt,
        given -> BigInt,
    }
}
diesel_counters::counter_table!(label_counters { slots = 64, today = today });

// A stock, which never goes below 0.
diesel::table! {
    tickets (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        remaining -> BigInt,
    }
}
diesel_counters::counter_table!(tickets { slots = 3, period = Total, stock = (remaining) });

diesel::table! {
    comments (id) {
        id -> BigInt,
        article_id -> BigInt,
        day -> Date,
    }
}

diesel::table! {
    article_likes (article_id, user_id) {
        article_id -> BigInt,
        user_id -> BigInt,
    }
}

// The views that each transaction counted, and the tickets that it put in or took (less than 0),
// written by the same transaction.
diesel::table! {
    counted (transaction_id, article_id, day) {
        transaction_id -> BigInt,
        article_id -> BigInt,
        day -> Date,
        views -> BigInt,
        tickets -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
pub struct Article {
    pub id: i64,
}

#[derive(HasCounters)]
#[diesel(primary_key(article_id, label))]
#[counters(table_name = label_counters)]
pub struct Label {
    pub article_id: i64,
    pub label: &'static str,
}

pub const ARTICLES: i64 = 8;

/// The number of days that are counted on.
pub const DAYS: u8 = 8;
/// The number of today.
pub const TODAY: u8 = 0;
/// `compact` merges this day and those before it.
const COMPACTED: u8 = 2;
/// `fold` merges this day and those before it. They are of several months, all of them over.
pub const FOLDED: u8 = 5;

static BEGAN_ON: OnceLock<NaiveDate> = OnceLock::new();

/// The day on which the run began.
pub fn today() -> NaiveDate {
    *BEGAN_ON.get_or_init(|| Utc::now().date_naive())
}

/// Sets the day on which the run began, in a process that was started later.
pub fn set_today(day: NaiveDate) {
    BEGAN_ON.set(day).expect("no day was needed yet");
}

/// Returns the day of this number.
pub fn day(number: u8) -> NaiveDate {
    let days = if number < FOLDED { 1 } else { 10 };
    today() - Days::new(u64::from(number) * days)
}

/// Returns the label under which the views of this day are counted too, in the table with a key of
/// two columns.
pub fn label_of(number: u8) -> &'static str {
    ["even", "odd"][usize::from(number % 2)]
}

/// What a recount of one entity added.
pub fn added<K>(corrected: &[Drift<K>]) -> i64 {
    let added = |drift: &Drift<K>| drift.actual - drift.stored;
    corrected.iter().map(added).sum()
}

pub fn compacted_before() -> NaiveDate {
    day(COMPACTED - 1)
}

pub fn folded_before() -> NaiveDate {
    day(FOLDED - 1)
}

/// Returns the number of a stored day. The folded days are one: a fold moves counts between them.
pub fn number_of(day: NaiveDate) -> u8 {
    let number = (today() - day).num_days();
    u8::try_from(number).unwrap_or(FOLDED).min(FOLDED)
}

/// Returns the statements that create the tables.
pub fn create(reference: &str) -> String {
    let articles: Vec<_> = (1..=ARTICLES).map(|id| format!("({id})")).collect();
    format!(
        "CREATE TABLE articles (
             id BIGINT PRIMARY KEY, total_views BIGINT NOT NULL DEFAULT 0,
             like_count BIGINT NOT NULL DEFAULT 0
         );
         {reference}
         CREATE TABLE label_counters (
             article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
             label VARCHAR(16) NOT NULL,
             day DATE NOT NULL,
             slot SMALLINT NOT NULL,
             given BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (article_id, label, day, slot)
         );
         CREATE TABLE tickets (
             article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
             day DATE NOT NULL,
             slot SMALLINT NOT NULL,
             remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0),
             PRIMARY KEY (article_id, day, slot)
         );
         CREATE TABLE comments (
             id BIGINT PRIMARY KEY,
             article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
             day DATE NOT NULL
         );
         CREATE TABLE article_likes (
             article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
             user_id BIGINT NOT NULL,
             PRIMARY KEY (article_id, user_id)
         );
         CREATE TABLE counted (
             transaction_id BIGINT NOT NULL,
             article_id BIGINT NOT NULL,
             day DATE NOT NULL,
             views BIGINT NOT NULL,
             tickets BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (transaction_id, article_id, day)
         );
         INSERT INTO articles (id) VALUES {};",
        articles.join(", ")
    )
}
