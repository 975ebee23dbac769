//! The tables that the operations work on: counters of articles, of labels, whose key has two columns,
//! and of pages, whose key is a text. And tickets, which are a stock.

use std::sync::OnceLock;

use chrono::{Days, NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::{HasCounters, Period};

use crate::map::Returned;
use crate::schema::articles as article_parents;

/// What is counted. The key of an article is its number, that of a page is its text, and that of a
/// label is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entity {
    pub number: i64,
    pub text: &'static str,
}

impl Entity {
    pub const fn new(number: i64, text: &'static str) -> Self {
        Entity { number, text }
    }
}

/// A table of counters. Some are counted by several periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    Articles(Period),
    Labels(Period),
    Pages(Period),
    Tickets,
}

impl Table {
    pub const ARTICLES: Table = Table::Articles(Period::Day);
    pub const LABELS: Table = Table::Labels(Period::Day);

    /// The period by which it counts.
    pub fn period(self) -> Period {
        match self {
            Table::Articles(period) | Table::Labels(period) | Table::Pages(period) => period,
            Table::Tickets => Period::Total,
        }
    }

    /// The entity's key, as a text.
    pub fn name(self, of: Entity) -> String {
        match self {
            Table::Articles(_) | Table::Tickets => articles::name(of),
            Table::Labels(_) => labels::name(of),
            Table::Pages(_) => pages::name(of),
        }
    }

    /// The entities' keys, each with a number.
    pub fn named(self, of: Vec<(Entity, i64)>) -> Returned {
        let rows = of.into_iter();
        rows.map(|(of, n)| (Some(self.name(of)), None, vec![n]))
            .collect()
    }
}

static TODAY: OnceLock<NaiveDate> = OnceLock::new();

/// The day of what is counted without a day: the one on which the process began, if it is not set.
pub fn today() -> NaiveDate {
    *TODAY.get_or_init(|| Utc::now().date_naive())
}

/// Sets the day. Panics if another day was needed before.
pub fn set_today(day: NaiveDate) {
    assert_eq!(*TODAY.get_or_init(|| day), day);
}

/// `compact` merges the day of this number and those before it.
const COMPACTED: u8 = 2;
/// `fold` merges the day of this number and those before it. They are of several months, all of them
/// over.
pub const FOLDED: u8 = 5;
/// The number of an old day, which `compact` and `fold` merge.
pub const PAST: u8 = 6;

/// Returns the day of this number. Today has number 0.
pub fn day(number: u8) -> NaiveDate {
    let days = if number < FOLDED { 1 } else { 10 };
    today() - Days::new(u64::from(number) * days)
}

pub fn compacted_before() -> NaiveDate {
    day(COMPACTED - 1)
}

pub fn folded_before() -> NaiveDate {
    day(FOLDED - 1)
}

// The rows from which the comments of all tables are recounted.
diesel::table! {
    comments (id) {
        id -> BigInt,
        article_id -> BigInt,
        label -> Text,
        day -> Date,
        number -> BigInt,
    }
}

/// A counter table that counts by some period, and its model.
macro_rules! counted_by {
    (
        $period:ident $parent:ident $table:ident $key:tt $counters:tt $settings:tt
        $primary_key:tt |$of:ident| { $($field:ident: $Type:ty = $value:expr),* }
    ) => {
        pub mod $period {
            use super::*;

            crate::counter_table!($table $key $counters $settings);
            diesel::allow_tables_to_appear_in_same_query!($parent, $table);
            pub use self::$table::{comments, table as counters, views};

            #[derive(HasCounters)]
            #[diesel(primary_key $primary_key)]
            #[counters(table_name = $table)]
            pub struct Model {
                $(pub $field: $Type,)*
            }

            pub fn model($of: Entity) -> Model {
                Model { $($field: $value),* }
            }
        }
    };
}

/// The key is the number.
pub mod articles {
    use super::*;

    pub use article_parents::{id as parent_key, table as parents, total_views};

    pub type Key = i64;

    pub fn key(of: Entity) -> Key {
        of.number
    }

    /// The first column of the key.
    pub fn prefix(of: Entity) -> i64 {
        of.number
    }

    /// The key, as a text.
    pub fn name(of: Entity) -> String {
        format!("{:?}", key(of))
    }

    #[diesel::dsl::auto_type]
    pub fn rows() -> _ {
        super::comments::table.select((super::comments::article_id, super::comments::number))
    }

    #[diesel::dsl::auto_type]
    pub fn rows_by_day() -> _ {
        super::comments::table.select((
            super::comments::article_id,
            super::comments::day,
            super::comments::number,
        ))
    }

    macro_rules! counted {
        ($period:ident $counters:tt $settings:tt) => {
            counted_by!(
                $period article_parents article_counters (article_id -> BigInt) $counters $settings
                (id) |of| { id: Key = key(of) }
            );
        };
    }
    // Likes are counted by triggers.
    counted!(daily (views, likes, comments)
        { parent = article_parents::id, today = today, slots = 64, counted_by_database = (likes) });
    counted!(weekly (views, likes, comments)
        { parent = article_parents::id, today = today, slots = 64, period = Week });
    counted!(monthly (views, likes, comments)
        { parent = article_parents::id, today = today, slots = 64, period = Month });
    counted!(timeless (views, likes, comments)
        { parent = article_parents::id, today = today, slots = 2, period = Total });
}

/// The key is the number and the text.
pub mod labels {
    use super::*;

    diesel::table! {
        labels (article_id, label) { article_id -> BigInt, label -> Text, total_views -> BigInt }
    }
    pub use self::labels::{table as parents, total_views};

    pub type Key = (i64, String);

    #[allow(non_upper_case_globals)] // As the column of the others.
    pub const parent_key: (labels::article_id, labels::label) = (labels::article_id, labels::label);

    pub fn key(of: Entity) -> Key {
        (of.number, of.text.to_owned())
    }

    pub fn prefix(of: Entity) -> i64 {
        of.number
    }

    /// The key, as a text.
    pub fn name(of: Entity) -> String {
        format!("{:?}", key(of))
    }

    #[diesel::dsl::auto_type]
    pub fn rows() -> _ {
        super::comments::table.select((
            super::comments::article_id,
            super::comments::label,
            super::comments::number,
        ))
    }

    #[diesel::dsl::auto_type]
    pub fn rows_by_day() -> _ {
        super::comments::table.select((
            super::comments::article_id,
            super::comments::label,
            super::comments::day,
            super::comments::number,
        ))
    }

    macro_rules! counted {
        ($period:ident $settings:tt) => {
            counted_by!(
                $period labels label_counters (article_id -> BigInt, label -> Text)
                (views, comments) $settings (article_id, label)
                |of| { article_id: i64 = of.number, label: String = of.text.to_owned() }
            );
        };
    }
    counted!(daily
        { parent = (labels::article_id, labels::label), today = today, slots = 64 });
}

/// The key is the text.
pub mod pages {
    use super::*;

    diesel::table! {
        pages (path) { path -> Text, total_views -> BigInt }
    }
    pub use self::pages::{path as parent_key, table as parents, total_views};

    pub type Key = String;

    pub fn key(of: Entity) -> Key {
        of.text.to_owned()
    }

    pub fn prefix(of: Entity) -> String {
        key(of)
    }

    /// The key, as a text.
    pub fn name(of: Entity) -> String {
        format!("{:?}", key(of))
    }

    #[diesel::dsl::auto_type]
    pub fn rows() -> _ {
        super::comments::table.select((super::comments::label, super::comments::number))
    }

    #[diesel::dsl::auto_type]
    pub fn rows_by_day() -> _ {
        super::comments::table.select((
            super::comments::label,
            super::comments::day,
            super::comments::number,
        ))
    }

    macro_rules! counted {
        ($period:ident $settings:tt) => {
            counted_by!(
                $period pages page_counters (path -> Text) (views, comments) $settings
                (path) |of| { path: Key = key(of) }
            );
        };
    }
    counted!(daily { parent = pages::path, today = today, slots = 64 });
    counted!(weekly { parent = pages::path, today = today, slots = 64, period = Week });
    counted!(monthly { parent = pages::path, today = today, slots = 64, period = Month });
    counted!(timeless { parent = pages::path, today = today, slots = 2, period = Total });
}

/// A stock, which never goes below 0.
pub mod tickets {
    pub use super::articles::{Key, key};

    crate::counter_table!(
        tickets (article_id -> BigInt) (remaining) { slots = 3, period = Total, stock = (remaining) }
    );
    pub use self::tickets::{article_id, remaining, slot, table as counters};
}

/// Returns the statements that create the tables. `reference` creates `article_counters`, and `text`
/// is the type of a text of which `a` and `A` are different.
pub fn create(reference: &str, text: &str) -> String {
    let counters = |table: &str, columns: &str, key: &str, counters: &str| {
        format!(
            "CREATE TABLE {table} (
                 {columns}, day DATE NOT NULL, slot SMALLINT NOT NULL, {counters},
                 PRIMARY KEY ({key}, day, slot)
             );"
        )
    };
    let count = "BIGINT NOT NULL DEFAULT 0";
    let both = format!("views {count}, comments {count}");
    let article = "article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE";
    let label = format!("{article}, label {text} NOT NULL");
    format!(
        "CREATE TABLE articles (
             id BIGINT PRIMARY KEY, total_views {count}, like_count {count}
         );
         CREATE TABLE labels (
             article_id BIGINT NOT NULL, label {text} NOT NULL, total_views {count},
             PRIMARY KEY (article_id, label)
         );
         CREATE TABLE pages (path {text} NOT NULL PRIMARY KEY, total_views {count});
         {reference} {} {} {}
         CREATE TABLE comments (
             id BIGINT PRIMARY KEY, {article}, label {text} NOT NULL DEFAULT 'a', day DATE NOT NULL,
             number BIGINT NOT NULL DEFAULT 1
         );",
        counters("label_counters", &label, "article_id, label", &both),
        counters(
            "page_counters",
            &format!("path {text} NOT NULL"),
            "path",
            &both
        ),
        counters(
            "tickets",
            article,
            "article_id",
            &format!("remaining {count} CHECK (remaining >= 0)")
        ),
    )
}
