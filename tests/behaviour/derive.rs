//! What `#[derive(HasCounters)]` makes of its attributes.

use diesel_counters::{CountersIn, DEFAULT_SLOTS, HasCounters, Period};
use diesel_counters_tests::models::{Article, File, Page, TimelessArticle, Visitor, WeeklyArticle};
use diesel_counters_tests::schema::{article_counters, odd_counters, user_counters};

#[test]
fn a_model_has_thirty_two_slots_and_counts_by_the_day() {
    assert_eq!(DEFAULT_SLOTS, 32);
    assert_eq!(<Article as CountersIn<article_counters::table>>::SLOTS, 32);
    assert_eq!(
        <Article as CountersIn<article_counters::table>>::PERIOD,
        Period::Day
    );
}

#[test]
fn attributes_change_that() {
    assert_eq!(
        <TimelessArticle as CountersIn<article_counters::table>>::SLOTS,
        2
    );
    assert_eq!(
        <WeeklyArticle as CountersIn<article_counters::table>>::PERIOD,
        Period::Week
    );
}

#[test]
fn each_counter_table_of_a_model_has_its_own() {
    assert_eq!(<Visitor as CountersIn<user_counters::table>>::SLOTS, 32);
    assert_eq!(<Visitor as CountersIn<odd_counters::table>>::SLOTS, 4);
}

#[test]
fn the_key_is_the_field_of_the_primary_keys_column() {
    let visitor = Visitor { id: 7, name: "Ada" };
    assert_eq!((visitor.counter_key(), visitor.name), (&7, "Ada"));
    let page = Page { url: "/".into() };
    assert_eq!(page.counter_key(), "/");
    assert_eq!(File(vec![1]).counter_key(), &[1]);
}
