//! Counting in the statement that writes the row that is counted, on PostgreSQL.

use diesel::debug_query;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Site;
use diesel_counters_tests::schema::{article_counters, articles, comments, site_counters};
use diesel_counters_tests::watch::watch;

use crate::behaviour::recipes::total_as_a_field;
use crate::{Conn, TestDatabase};

use article_counters::{comments as commented, likes, views};

// With Diesel's default, `None` inserts a column's default, and no insert is kept prepared.
#[derive(Insertable)]
#[diesel(table_name = comments, treat_none_as_default_value = false)]
struct NewComment<'a> {
    article_id: i64,
    body: &'a str,
}

/// Inserts a comment.
macro_rules! comment_on {
    ($article:expr) => {
        diesel::insert_into(comments::table).values(NewComment {
            article_id: $article,
            body: "First!",
        })
    };
}

fn count_of(article_id: i64, conn: &mut Conn) -> (i64, i64, i64) {
    let value = counter_value((views, likes, commented)).of(article_id);
    value.get_result(conn).unwrap()
}

fn number_of_comments(conn: &mut Conn) -> i64 {
    comments::table.count().get_result(conn).unwrap()
}

#[test]
fn what_the_statement_returns_can_be_read() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let one_more = || increment(commented).of(1_i64);
    let insert = comment_on!(1).returning(comments::body);
    let body = insert.counting(one_more()).get_result(conn);
    assert_eq!(body, Ok("First!".to_owned()));
    // Without `returning`, all columns, as for the statement alone.
    let row = comment_on!(1).counting(one_more()).get_result(conn);
    let (id, of, _): (i64, i64, String) = row.unwrap();
    assert_eq!(of, 1);
    let edit = diesel::update(comments::table).set(comments::body.eq("Edited."));
    let edited = edit.counting(increment((views, likes)).of(1_i64).by((1, 10)));
    assert_eq!(edited.execute(conn), Ok(2));
    let delete = diesel::delete(comments::table.find(id)).returning(comments::article_id);
    let gone = delete.counting(one_more().by(-1)).get_result::<i64>(conn);
    assert_eq!(gone.optional(), Ok(Some(1)));
    assert_eq!(count_of(1, conn), (1, 10, 1));
}

/// It cannot know whether the statement writes a row; a trigger can.
#[test]
fn it_counts_if_the_statement_writes_no_row_too() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let insert = |id: i64| {
        let row = (articles::id.eq(id), articles::title.eq("Again"));
        diesel::insert_into(articles::table).values(row)
    };
    let like = || increment(likes).of(1_i64);
    let again = insert(1).on_conflict_do_nothing().counting(like());
    assert_eq!(again.execute(conn), Ok(0));
    let upsert = insert(1).on_conflict(articles::id).do_update();
    let upsert = upsert.set(articles::title.eq("Again")).counting(like());
    assert_eq!(upsert.execute(conn), Ok(1));
    let nothing = diesel::insert_into(comments::table).values(Vec::<NewComment>::new());
    assert_eq!(nothing.counting(like()).execute(conn), Ok(0));
    assert_eq!(count_of(1, conn), (0, 3, 0));
    // The row that it inserts can be counted itself.
    let inserted = insert(7).counting(increment(views).of(7_i64));
    assert_eq!(inserted.execute(conn), Ok(1));
    assert_eq!(count_of(7, conn), (1, 0, 0));
}

#[test]
fn an_increment_keeps_its_day_its_slot_and_its_amounts() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let day = crate::behaviour::day(2026, 1, 2);
    let count = increment((commented, likes)).of(2_i64).by((1, 5)).on(day);
    crate::count_in_slot(2, conn);
    comment_on!(2).counting(count).execute(conn).unwrap();
    let rows = article_counters::table.load(conn);
    assert_eq!(rows, Ok(vec![(2_i64, day, 2_i16, 0_i64, 5_i64, 1_i64)]));
}

#[test]
fn a_connection_counts_in_one_slot_as_without_the_statement() {
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    for conn in [&mut *conn, &mut database.connect()] {
        for _ in 0..2 {
            let one = || increment(commented).of(1_i64);
            comment_on!(1).counting(one()).execute(conn).unwrap();
            one().execute(conn).unwrap();
        }
    }
    use article_counters::{slot, table};
    let rows = table.select((slot, commented)).order(slot).load(conn);
    assert_eq!(rows, Ok(vec![(1_i16, 4_i64), (2, 4)]));
}

#[test]
fn counters_of_several_tables_are_counted() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let insert = comment_on!(1)
        .counting(increment(commented).of(1_i64))
        .counting(increment(site_counters::hits).by(2))
        .counting(increment(likes).of(3_i64));
    assert_eq!(insert.execute(conn), Ok(1));
    assert_eq!([1, 3].map(|id| count_of(id, conn)), [(0, 0, 1), (0, 1, 0)]);
    assert_eq!(Site.counter_value(site_counters::hits, conn), Ok(2));
}

#[test]
fn counting_one_row_twice_is_an_error_and_counts_nothing() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    for before in 0..2 {
        let twice = comment_on!(1)
            .counting(increment(views).of(1_i64))
            .counting(increment(likes).of(1_i64));
        let error = twice.execute(conn).unwrap_err().to_string();
        assert!(error.contains("a second time"), "{error}");
        assert_eq!(number_of_comments(conn), 0);
        assert_eq!(count_of(1, conn), (before, 0, 0));
        increment(views).of(1_i64).execute(conn).unwrap();
    }
}

#[test]
fn different_statements_are_prepared_apart() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let watched = watch(conn, |conn| {
        for i in 1..=3 {
            let insert = || comment_on!(i);
            let one = || increment(views).of(i);
            insert().execute(conn).unwrap();
            insert().counting(one()).execute(conn).unwrap();
            let _: (i64, i64, String) = insert().counting(one()).get_result(conn).unwrap();
            let other = increment(likes).of(i);
            insert().counting(other).execute(conn).unwrap();
            let both = insert().counting(one());
            let both = both.counting(increment(site_counters::hits));
            both.execute(conn).unwrap();
            let delete = diesel::delete(comments::table.filter(comments::article_id.eq(i)));
            delete.counting(one()).execute(conn).unwrap();
        }
    });
    assert_eq!(watched.queries.len(), 3 * 6);
    assert_eq!(watched.prepared.len(), 6, "{:#?}", watched.prepared);
    assert_eq!(count_of(1, conn).0, 4);
}

#[test]
fn it_can_be_printed() {
    let insert = comment_on!(1).counting(increment(commented).of(1_i64));
    let sql = debug_query::<Pg, _>(&insert).to_string();
    let (with, insert) = sql.split_once(") INSERT INTO ").unwrap();
    let counted = r#"WITH "diesel_counters_counted_1" AS (INSERT INTO "article_counters""#;
    assert!(with.starts_with(counted), "{sql}");
    let comment = r#""comments" ("article_id", "body") VALUES ("#;
    assert!(insert.starts_with(comment), "{sql}");
}

/// The statement reads what was there when it began.
#[test]
fn a_total_that_the_statement_returns_lacks_what_it_counts() {
    let (conn, _database) = &mut total_as_a_field::counted();
    let edit = diesel::update(articles::table.find(1)).set(articles::title.eq("New"));
    let edit = edit.returning(total_as_a_field::Article::as_select());
    let edited = edit.counting(increment(views).of(1_i64)).get_result(conn);
    assert_eq!(edited.map(|of| of.views), Ok(13));
    assert_eq!(count_of(1, conn).0, 14);
}
