//! The tables: those of the operations, rows that triggers count in slots and in a column, and what
//! each transaction has counted.

use chrono::NaiveDate;
use diesel_counters::Drift;
pub use diesel_counters_tests::schema::articles;
use diesel_counters_tests::tables;
pub use diesel_counters_tests::tables::articles::daily::{Model as Article, article_counters};
pub use diesel_counters_tests::tables::labels::daily::label_counters;
pub use diesel_counters_tests::tables::tickets::tickets;
pub use diesel_counters_tests::tables::{
    Entity, FOLDED, PAST, Table, comments, compacted_before, day, folded_before, set_today, today,
};

/// What the triggers count, for recounts.
pub const COUNTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counters.toml");

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

pub const ARTICLES: i64 = 8;

/// The number of days that are counted on.
pub const DAYS: u8 = 8;
/// The number of today.
pub const TODAY: u8 = 0;

/// Returns the label under which the views of this day are counted too, in the table with a key of
/// two columns.
pub fn label_of(number: u8) -> &'static str {
    ["even", "odd"][usize::from(number % 2)]
}

/// An article. It has the label of this day, under which its views are counted too.
pub fn entity(article: i64, on: u8) -> Entity {
    Entity::new(article, label_of(on))
}

/// What a recount of one entity added.
pub fn added<K>(corrected: &[Drift<K>]) -> i64 {
    let added = |drift: &Drift<K>| drift.actual - drift.stored;
    corrected.iter().map(added).sum()
}

/// Returns the number of a day that is counted on.
pub fn counted_number(on: NaiveDate) -> Option<u8> {
    (0..DAYS).find(|&number| day(number) == on)
}

/// Returns the number of a stored day. The folded days are one: a fold moves counts between them.
pub fn number_of(day: NaiveDate) -> u8 {
    let number = (today() - day).num_days();
    u8::try_from(number).unwrap_or(FOLDED).min(FOLDED)
}

/// Returns the statements that create the tables. `reference` creates `article_counters`, and `text`
/// is the type of a label.
pub fn create(reference: &str, text: &str) -> String {
    let articles: Vec<_> = (1..=ARTICLES).map(|id| format!("({id})")).collect();
    format!(
        "{}
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
        tables::create(reference, text),
        articles.join(", ")
    )
}
