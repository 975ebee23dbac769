//! Models with totals in the RETURNING of a statement, on PostgreSQL and SQLite. MySQL has none, and
//! Diesel does not write MariaDB's.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::{article_counters, articles};

use crate::behaviour::recipes::total_as_a_field::{Article, article, counted};

#[test]
fn an_insert_returns_a_model_that_was_never_counted() {
    let (conn, _database) = &mut counted();
    let six = article(6, [0; 3]);
    let insert = diesel::insert_into(articles::table).values(&six);
    let inserted = insert.returning(Article::as_select()).get_result(conn);
    assert_eq!(inserted, Ok(six));
}

#[test]
fn an_insert_of_several_rows_returns_each() {
    let (conn, _database) = &mut counted();
    let new = vec![article(6, [0; 3]), article(7, [0; 3])];
    let insert = diesel::insert_into(articles::table).values(&new);
    let inserted = insert.returning(Article::as_select()).get_results(conn);
    assert_eq!(inserted, Ok(new));
}

#[test]
fn an_upsert_returns_the_totals_of_the_row_that_exists() {
    let (conn, _database) = &mut counted();
    let one = article(1, [13, 1, 3]);
    let upsert = diesel::insert_into(articles::table)
        .values(&one)
        .on_conflict(articles::id)
        .do_update()
        .set(articles::title.eq("New"));
    let returned = upsert.returning(Article::as_select()).get_result(conn);
    let title = "New".to_owned();
    assert_eq!(returned, Ok(Article { title, ..one }));
}

#[test]
fn an_update_returns_the_totals_of_its_rows() {
    let (conn, _database) = &mut counted();
    let page = articles::table.filter(articles::id.le(3));
    let update = diesel::update(page).set(articles::title.eq("New"));
    let returned: Vec<Article> = update
        .returning(Article::as_select())
        .get_results(conn)
        .unwrap();
    let mut counts = Vec::from_iter(returned.iter().map(|of| (of.id, of.views, of.likes)));
    counts.sort();
    assert_eq!(counts, [(1, 13, 1), (2, 0, 0), (3, 5, 0)]);
}

#[test]
fn a_save_changes_returns_the_totals() {
    let (conn, _database) = &mut counted();
    let mut one: Article = articles::table
        .find(1)
        .select(Article::as_select())
        .first(conn)
        .unwrap();
    one.title = "New".to_owned();
    let update = diesel::update(&one).set(&one);
    let returned = update.returning(Article::as_select()).get_result(conn);
    assert_eq!(returned, Ok(one));
}

#[test]
fn a_count_of_the_transaction_is_returned() {
    let (conn, _database) = &mut counted();
    conn.batch_execute("BEGIN").unwrap();
    increment(article_counters::views)
        .of(1_i64)
        .execute(conn)
        .unwrap();
    let update = diesel::update(articles::table.find(1)).set(articles::title.eq("New"));
    let returned = update.returning(Article::as_select()).get_result(conn);
    assert_eq!(returned.map(|of| of.views), Ok(14));
    conn.batch_execute("ROLLBACK").unwrap();
}
