//! Counting in the statement that writes the row that is counted, on PostgreSQL.

use diesel::debug_query;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_counters::prelude::*;
use diesel_counters::{Slot, is_overflow};
use diesel_counters_tests::models::Site;
use diesel_counters_tests::schema::{article_counters, articles, comments, site_counters};
use diesel_counters_tests::watch::watch;

use crate::{Conn, TestDatabase};

use article_counters::{comments as commented, likes, views};

fn connect() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let conn = database.connect();
    (database, conn)
}

// With Diesel's default, `None` inserts a column's default, and no insert is kept prepared.
#[derive(Insertable)]
#[diesel(table_name = comments, treat_none_as_default_value = false)]
struct NewComment<'a> {
    article_id: i64,
    body: &'a str,
}

fn comment_on(article_id: i64) -> NewComment<'static> {
    NewComment {
        article_id,
        body: "First!",
    }
}

fn count_of(article_id: i64, conn: &mut Conn) -> (i64, i64, i64) {
    counter_value((views, likes, commented))
        .of(article_id)
        .get_result(conn)
        .unwrap()
}

fn number_of_comments(conn: &mut Conn) -> i64 {
    comments::table.count().get_result(conn).unwrap()
}

#[test]
fn one_statement_inserts_and_counts() {
    let (_database, mut conn) = connect();
    let watched = watch(&mut conn, |conn| {
        let inserted = diesel::insert_into(comments::table)
            .values(&comment_on(1))
            .counting(increment(commented).of(1_i64))
            .execute(conn);
        assert_eq!(inserted, Ok(1));
    });
    assert_eq!(watched.queries.len(), 1, "{:?}", watched.queries);
    assert_eq!(count_of(1, &mut conn), (0, 0, 1));
    assert_eq!(number_of_comments(&mut conn), 1);
}

#[test]
fn the_rows_affected_are_those_of_the_statement() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let inserted = diesel::insert_into(comments::table)
        .values(vec![comment_on(1), comment_on(1), comment_on(1)])
        .counting(increment(commented).of(1_i64).by(3))
        .execute(conn);
    assert_eq!(inserted, Ok(3));
    let updated = diesel::update(comments::table.filter(comments::article_id.eq(1)))
        .set(comments::body.eq("Edited."))
        .counting(increment((views, likes)).of(1_i64).by((1, 10)))
        .execute(conn);
    assert_eq!(updated, Ok(3));
    let deleted = diesel::delete(comments::table)
        .counting(increment(commented).of(1_i64).by(-3))
        .execute(conn);
    assert_eq!(deleted, Ok(3));
    assert_eq!(count_of(1, conn), (1, 10, 0));
}

#[test]
fn what_the_statement_returns_can_be_read() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let body: String = diesel::insert_into(comments::table)
        .values(&comment_on(1))
        .returning(comments::body)
        .counting(increment(commented).of(1_i64))
        .get_result(conn)
        .unwrap();
    assert_eq!(body, "First!");
    // Without `returning`, all columns, as for the statement alone.
    let (id, of, _): (i64, i64, String) = diesel::insert_into(comments::table)
        .values(&comment_on(1))
        .counting(increment(commented).of(1_i64))
        .get_result(conn)
        .unwrap();
    assert_eq!(of, 1);
    let edited: Vec<i64> = diesel::update(comments::table.find(id))
        .set(comments::body.eq("Edited."))
        .returning(comments::id)
        .counting(increment(likes).of(1_i64))
        .load(conn)
        .unwrap();
    assert_eq!(edited, [id]);
    let gone: Option<i64> = diesel::delete(comments::table.find(id))
        .returning(comments::article_id)
        .counting(increment(commented).of(1_i64).by(-1))
        .get_result(conn)
        .optional()
        .unwrap();
    assert_eq!(gone, Some(1));
    assert_eq!(count_of(1, conn), (0, 1, 1));
}

/// It cannot know whether the statement writes a row; a trigger can.
#[test]
fn it_counts_if_the_statement_writes_no_row_too() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let again = diesel::insert_into(articles::table)
        .values((articles::id.eq(1), articles::title.eq("Again")))
        .on_conflict_do_nothing()
        .counting(increment(likes).of(1_i64))
        .execute(conn);
    assert_eq!(again, Ok(0));
    let upserted = diesel::insert_into(articles::table)
        .values((articles::id.eq(1), articles::title.eq("Again")))
        .on_conflict(articles::id)
        .do_update()
        .set(articles::title.eq("Again"))
        .counting(increment(likes).of(1_i64))
        .execute(conn);
    assert_eq!(upserted, Ok(1));
    let nothing: Vec<NewComment> = Vec::new();
    let inserted = diesel::insert_into(comments::table)
        .values(nothing)
        .counting(increment(likes).of(1_i64))
        .execute(conn);
    assert_eq!(inserted, Ok(0));
    assert_eq!(count_of(1, conn), (0, 3, 0));
}

#[test]
fn the_row_that_it_inserts_can_be_counted_itself() {
    let (_database, mut conn) = connect();
    let inserted = diesel::insert_into(articles::table)
        .values((articles::id.eq(7), articles::title.eq("Seven")))
        .counting(increment(views).of(7_i64))
        .execute(&mut conn);
    assert_eq!(inserted, Ok(1));
    assert_eq!(count_of(7, &mut conn), (1, 0, 0));
}

#[test]
fn an_increment_keeps_its_day_its_slot_and_its_amounts() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let day = chrono::NaiveDate::from_ymd_opt(2026, 1, 2).unwrap();
    diesel::insert_into(comments::table)
        .values(&comment_on(2))
        .counting(
            increment((commented, likes))
                .of(2_i64)
                .by((1, 5))
                .on(day)
                .slot(Slot::Partition { index: 1, of: 32 }),
        )
        .execute(conn)
        .unwrap();
    let rows: Vec<(i64, chrono::NaiveDate, i16, i64, i64, i64)> =
        article_counters::table.load(conn).unwrap();
    assert_eq!(rows, [(2, day, 2, 0, 5, 1)]);
}

#[test]
fn a_connection_counts_in_one_slot_as_without_the_statement() {
    let (database, mut conn) = connect();
    let other = &mut database.connect();
    for conn in [&mut conn, other] {
        for _ in 0..2 {
            diesel::insert_into(comments::table)
                .values(&comment_on(1))
                .counting(increment(commented).of(1_i64))
                .execute(conn)
                .unwrap();
            increment(commented).of(1_i64).execute(conn).unwrap();
        }
    }
    let rows: Vec<(i16, i64)> = article_counters::table
        .select((article_counters::slot, commented))
        .order(article_counters::slot)
        .load(&mut conn)
        .unwrap();
    assert_eq!(rows, [(1, 4), (2, 4)]);
}

#[test]
fn many_entities_are_counted() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let count = |counts: &[(i64, i64)], conn: &mut Conn| {
        diesel::insert_into(comments::table)
            .values(&comment_on(1))
            .returning(comments::article_id)
            .counting(increment(views).of_many(counts.iter().copied()))
            .get_result::<i64>(conn)
    };
    assert_eq!(count(&[(3, 1), (1, 2), (3, 4), (2, 0)], conn), Ok(1));
    assert_eq!(count(&[], conn), Ok(1));
    let counted = [1, 2, 3].map(|id| count_of(id, conn).0);
    assert_eq!(counted, [2, 0, 5]);
    let rows: i64 = article_counters::table.count().get_result(conn).unwrap();
    assert_eq!(rows, 2);
    // An instrumentation prints the statement.
    watch(conn, |conn| {
        let error = count(&[(1, i64::MAX), (1, 1)], conn).unwrap_err();
        assert!(is_overflow(&error), "{error}");
    });
    assert_eq!(number_of_comments(conn), 2);
}

#[test]
fn counters_of_several_tables_are_counted() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let id: i64 = diesel::insert_into(comments::table)
        .values(&comment_on(1))
        .returning(comments::article_id)
        .counting(increment(commented).of(1_i64))
        .counting(increment(site_counters::hits).by(2))
        .counting(increment(likes).of_many([(2, 1), (3, 1)]))
        .get_result(conn)
        .unwrap();
    assert_eq!(id, 1);
    assert_eq!(count_of(1, conn), (0, 0, 1));
    assert_eq!(count_of(3, conn), (0, 1, 0));
    assert_eq!(Site.counter_value(site_counters::hits, conn), Ok(2));
}

#[test]
fn counting_one_row_twice_is_an_error_and_counts_nothing() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    for before in 0..2 {
        let twice = diesel::insert_into(comments::table)
            .values(&comment_on(1))
            .counting(increment(views).of(1_i64))
            .counting(increment(likes).of(1_i64))
            .execute(conn);
        let error = twice.unwrap_err();
        assert!(error.to_string().contains("a second time"), "{error}");
        assert_eq!(number_of_comments(conn), 0);
        assert_eq!(count_of(1, conn), (before, 0, 0));
        increment(views).of(1_i64).execute(conn).unwrap();
    }
}

#[test]
fn if_the_statement_fails_nothing_is_counted() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    let of_no_article = diesel::insert_into(comments::table)
        .values(&comment_on(99))
        .counting(increment(commented).of(1_i64))
        .execute(conn);
    assert!(matches!(
        of_no_article,
        Err(Error::DatabaseError(
            DatabaseErrorKind::ForeignKeyViolation,
            _
        ))
    ));
    assert_eq!(count_of(1, conn), (0, 0, 0));
}

#[test]
fn if_the_count_fails_the_statement_writes_nothing() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    increment(commented)
        .of(1_i64)
        .by(i64::MAX)
        .execute(conn)
        .unwrap();
    let too_many = diesel::insert_into(comments::table)
        .values(&comment_on(1))
        .counting(increment(commented).of(1_i64))
        .execute(conn);
    assert!(is_overflow(&too_many.unwrap_err()));
    assert_eq!(number_of_comments(conn), 0);
}

#[test]
fn it_rolls_back_with_its_transaction() {
    let (_database, mut conn) = connect();
    let conn = &mut conn;
    conn.test_transaction(|conn| {
        diesel::insert_into(comments::table)
            .values(&comment_on(1))
            .counting(increment(commented).of(1_i64))
            .execute(conn)?;
        assert_eq!(count_of(1, conn), (0, 0, 1));
        QueryResult::Ok(())
    });
    assert_eq!(
        (count_of(1, conn), number_of_comments(conn)),
        ((0, 0, 0), 0)
    );
}

#[test]
fn a_thousand_statements_prepare_once() {
    let (_database, mut conn) = connect();
    let watched = watch(&mut conn, |conn| {
        for i in 0..1000 {
            diesel::insert_into(comments::table)
                .values(&comment_on(1 + i % 5))
                .counting(increment(commented).of(1 + i % 5).by(i))
                .execute(conn)
                .unwrap();
        }
    });
    assert_eq!(watched.queries.len(), 1000);
    assert_eq!(watched.prepared.len(), 1, "{:?}", watched.prepared);
}

#[test]
fn different_statements_are_prepared_apart() {
    let (_database, mut conn) = connect();
    let watched = watch(&mut conn, |conn| {
        for i in 1..=3 {
            let insert = || diesel::insert_into(comments::table).values(comment_on(i));
            let one = || increment(views).of(i);
            insert().execute(conn).unwrap();
            insert().counting(one()).execute(conn).unwrap();
            let _: (i64, i64, String) = insert().counting(one()).get_result(conn).unwrap();
            let other = increment(likes).of(i);
            insert().counting(other).execute(conn).unwrap();
            let many = increment(views).of_many((1..=i).map(|id| (id, 1)));
            insert().counting(many).execute(conn).unwrap();
            let both = insert()
                .counting(one())
                .counting(increment(site_counters::hits));
            both.execute(conn).unwrap();
            diesel::delete(comments::table.filter(comments::article_id.eq(i)))
                .counting(one())
                .execute(conn)
                .unwrap();
        }
    });
    assert_eq!(watched.queries.len(), 3 * 7);
    assert_eq!(watched.prepared.len(), 7, "{:#?}", watched.prepared);
    assert_eq!(count_of(1, &mut conn).0, 4 + 3);
}

#[test]
fn it_can_be_printed() {
    let insert = diesel::insert_into(comments::table)
        .values(comment_on(1))
        .counting(increment(commented).of(1_i64));
    let sql = debug_query::<Pg, _>(&insert).to_string();
    let (with, insert) = sql.split_once(") INSERT INTO ").unwrap();
    assert!(
        with.starts_with(r#"WITH "diesel_counters_counted_1" AS (INSERT INTO "article_counters""#)
    );
    assert!(
        insert.starts_with(r#""comments" ("article_id", "body") VALUES ("#),
        "{sql}"
    );
}
