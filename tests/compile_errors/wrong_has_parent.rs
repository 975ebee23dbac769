//! `has_parent!` without the parent's key.

diesel::table! {
    articles (id) {
        id -> BigInt,
    }
}
diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

diesel_counters::has_parent!(article_counters -> articles);

fn main() {}
