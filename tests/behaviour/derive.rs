//! What `#[derive(HasCounters)]` makes of its attributes.

use diesel_counters::{CountersOf, DEFAULT_SLOTS, HasCounters, Period};
use diesel_counters_tests::models::{
    Article, File, NumberedArticle, Page, TimelessArticle, Visitor, WeeklyArticle,
};
use diesel_counters_tests::schema::{article_counters, odd_name, user_counters};

#[test]
fn a_model_has_thirty_two_slots_and_counts_by_the_day() {
    assert_eq!(DEFAULT_SLOTS, 32);
    assert_eq!(<article_counters::table as CountersOf<Article>>::SLOTS, 32);
    assert_eq!(
        <article_counters::table as CountersOf<Article>>::PERIOD,
        Period::Day
    );
}

#[test]
fn attributes_change_that() {
    assert_eq!(
        <article_counters::table as CountersOf<TimelessArticle>>::SLOTS,
        2
    );
    assert_eq!(
        <article_counters::table as CountersOf<WeeklyArticle>>::PERIOD,
        Period::Week
    );
}

#[test]
fn each_counter_table_of_a_model_has_its_own() {
    assert_eq!(<user_counters::table as CountersOf<Visitor>>::SLOTS, 32);
    assert_eq!(<odd_name::table as CountersOf<Visitor>>::SLOTS, 4);
}

#[test]
fn the_key_is_the_field_of_the_primary_keys_column() {
    let visitor = Visitor { id: 7, name: "Ada" };
    assert_eq!((visitor.counter_key(), visitor.name), (&7, "Ada"));
    let article = NumberedArticle {
        number: 3,
        id: "99".into(),
    };
    assert_eq!(article.counter_key(), &3);
    let page = Page { url: "/".into() };
    assert_eq!(page.counter_key(), "/");
    assert_eq!(File(vec![1]).counter_key(), &[1]);
}
