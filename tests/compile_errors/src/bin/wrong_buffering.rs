//! Keys that a buffer cannot keep, because they are borrowed.

use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters::{CounterBuffer, CountingTransaction};

diesel::table! {
    reaction_counters (article_id, emoji, day, slot) {
        article_id -> BigInt,
        emoji -> Text,
        day -> Date,
        slot -> SmallInt,
        reactions -> BigInt,
    }
}
diesel_counters::counter_table!(reaction_counters);
use reaction_counters::reactions;

#[derive(HasCounters)]
#[diesel(primary_key(article_id, emoji))]
#[counters(table_name = reaction_counters)]
struct Reaction {
    article_id: i64,
    emoji: String,
}

fn borrowed(buffer: &CounterBuffer<SqliteConnection>, emoji: &str) {
    buffer.count(increment(reactions).of((1_i64, emoji))).unwrap();
}

fn reference(buffer: &CounterBuffer<SqliteConnection>, emoji: &str) {
    buffer.count(increment(reactions).of(&(1_i64, emoji))).unwrap();
}

fn model(buffer: &CounterBuffer<SqliteConnection>, reaction: &Reaction) {
    buffer.count(increment(reactions).of(reaction)).unwrap();
}

fn in_a_transaction(tx: &mut CountingTransaction<'_, SqliteConnection>, emoji: &str) {
    tx.count(increment(reactions).of((1_i64, emoji)));
}

fn missing(buffer: &CounterBuffer<SqliteConnection>) {
    buffer.count(increment(reactions)).unwrap();
}

fn pending(buffer: &CounterBuffer<SqliteConnection>) {
    buffer.pending_of(reactions, &(1_i64, "👍"));
}

fn main() {}
