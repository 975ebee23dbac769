//! Removing counters.

use diesel::prelude::*;
use diesel_counters::delete_counters;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, Visitor};
use diesel_counters_tests::schema::article_counters::{self, views};
use diesel_counters_tests::schema::user_counters::visits;
use diesel_counters_tests::schema::{articles, odd_name};

use super::{article, day};
use crate::{Conn, TestDatabase};

fn counted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for d in 1..=2 {
        Article::increment(views)
            .on(day(2026, 1, d))
            .of_many((1..=5).map(|id| (id, id)))
            .execute(&mut conn)
            .unwrap();
    }
    (database, conn)
}

fn values(conn: &mut Conn) -> Vec<i64> {
    let ids = [1_i64, 2, 3, 4, 5];
    counter_value(views).of_many(&ids).load(conn).unwrap()
}

#[test]
fn a_models_counters_are_removed() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    assert_eq!(article(2).delete_counters(conn), Ok(2));
    assert_eq!(values(conn), [2, 0, 6, 8, 10]);
    assert_eq!(article(2).delete_counters(conn), Ok(0));
    article(2).incr_counter(views, conn).unwrap();
    assert_eq!(article(2).counter_value(views, conn), Ok(1));
}

#[test]
fn counters_are_removed_by_ids() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    assert_eq!(Article::delete_counters_of(&[5, 1, 99, 5], conn), Ok(4));
    assert_eq!(values(conn), [0, 4, 6, 8, 0]);
    let table = article_counters::table;
    assert_eq!(delete_counters(table).of(2_i64).execute(conn), Ok(2));
    let many = delete_counters(table).of_many(&[3_i64, 4]);
    assert_eq!(many.execute(conn), Ok(4));
    assert_eq!(values(conn), [0; 5]);
    assert_eq!(Article::delete_counters_of(&[], conn), Ok(0));
}

#[test]
fn a_model_loses_the_counters_of_all_of_its_tables() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let visitor = Visitor { id: 1, name: "" };
    visitor.incr_counter(visits, conn).unwrap();
    visitor.incr_counter(odd_name::views_, conn).unwrap();
    assert_eq!(visitor.delete_counters(conn), Ok(2));
    assert_eq!(visitor.counter_value(visits, conn), Ok(0));
    assert_eq!(visitor.counter_value(odd_name::views_, conn), Ok(0));
    assert_eq!(values(conn)[0], 2);
}

#[test]
fn the_reference_table_loses_them_with_the_entity() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    diesel::delete(articles::table.find(2))
        .execute(conn)
        .unwrap();
    assert_eq!(values(conn), [2, 0, 6, 8, 10]);
}
