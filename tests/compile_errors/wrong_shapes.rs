//! Tables that are no counter tables.

use diesel_counters::HasCounters;

diesel::table! {
    single_key (id) {
        id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = single_key)]
struct WithSingleKey {
    id: i64,
}

diesel::table! {
    without_slot (id, day) {
        id -> BigInt,
        day -> Date,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = without_slot)]
struct WithoutSlot {
    id: i64,
}

diesel::table! {
    day_is_a_time (id, day, slot) {
        id -> BigInt,
        day -> Timestamp,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = day_is_a_time)]
struct WithTime {
    id: i64,
}

diesel::table! {
    slot_is_an_integer (id, day, slot) {
        id -> BigInt,
        day -> Date,
        slot -> Integer,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = slot_is_an_integer)]
struct WithIntegerSlot {
    id: i64,
}

diesel::table! {
    other_order (day, id, slot) {
        day -> Date,
        id -> BigInt,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = other_order)]
struct InAnotherOrder {
    id: i64,
}

diesel::table! {
    key_may_be_null (id, day, slot) {
        id -> Nullable<BigInt>,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = key_may_be_null)]
struct WithNullKey {
    id: i64,
}

fn main() {}
