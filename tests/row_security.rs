//! Row level security on PostgreSQL: what corrects counts refuses to work on a part of the rows.

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::Drift;
use diesel_counters::dsl::{compact, delete_counters, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments as commented, views};
use diesel_counters_tests::schema::articles;

use crate::behaviour::{article, comments_by_article, count_on, day, insert_comment};
use crate::{Conn, TestDatabase};

/// A connection as the owner of the tables, who is no superuser. `policies` are those of the table `secured`.
/// Article 1 has three comments, which are counted, and six views.
fn as_owner(secured: &str, policies: &str) -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for _ in 0..3 {
        insert_comment(1, "Nice.", &mut conn).unwrap();
        article(1).incr_counter(commented, &mut conn).unwrap();
        for on in [1, 2] {
            count_on(1, day(2026, 1, on), 1, &mut conn);
        }
    }
    let copy = Article::materialize(views, articles::total_views);
    copy.execute(&mut conn).unwrap();
    for table in ["articles", "comments", "article_counters"] {
        // A role that each server has.
        let give = format!("ALTER TABLE {table} OWNER TO pg_monitor");
        conn.batch_execute(&give).unwrap();
    }
    let force = "ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY";
    let secure = format!("ALTER TABLE {secured} {force}; {policies}");
    conn.batch_execute(&secure).unwrap();
    conn.batch_execute("SET ROLE pg_monitor").unwrap();
    (conn, database)
}

/// Fails if the operation did not, or if a count was changed.
fn assert_refuses<T: std::fmt::Debug>(result: QueryResult<T>, conn: &mut Conn) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains("row-level security policy"), "{error}");
    conn.batch_execute("RESET ROLE").unwrap();
    let counts = article(1).counter_value((views, commented), conn);
    assert_eq!(counts, Ok((6, 3)));
    let column = articles::table.find(1).select(articles::total_views);
    assert_eq!(column.get_result(conn), Ok(6_i64));
    conn.batch_execute("SET ROLE pg_monitor").unwrap();
}

fn row_security(conn: &mut Conn) -> String {
    let setting = sql::<Text>("current_setting('row_security')");
    diesel::select(setting).get_result(conn).unwrap()
}

#[test]
fn a_recount_of_rows_that_a_policy_hides_is_refused() {
    let (conn, _database) = &mut as_owner(
        "comments",
        "CREATE POLICY own ON comments USING (current_setting('app.user', true) = body)",
    );
    let recount = || recount(commented, comments_by_article());
    let all = |conn: &mut Conn| -> QueryResult<Vec<Drift<i64>>> { recount().execute(conn) };
    let found: QueryResult<Vec<Drift<i64>>> = recount().dry_run(conn);
    assert_refuses(found, conn);
    let result = all(conn);
    assert_refuses(result, conn);
    let result = recount().of(1_i64).execute::<i64, _>(conn);
    assert_refuses(result, conn);

    // Who may read all rows can recount, and keeps the setting.
    conn.batch_execute("RESET ROLE").unwrap();
    conn.transaction(|conn| {
        let of_one = recount().of(1_i64).execute::<i64, _>(conn);
        assert_eq!(of_one, Ok(Vec::new()));
        assert_eq!(all(conn), Ok(Vec::new()));
        assert_eq!(row_security(conn), "on");
        conn.batch_execute("SET LOCAL row_security = off")?;
        let of_one = recount().of(1_i64).execute::<i64, _>(conn);
        assert_eq!(of_one, Ok(Vec::new()));
        assert_eq!(row_security(conn), "off");
        QueryResult::Ok(())
    })
    .unwrap();
    assert_eq!(all(conn), Ok(Vec::new()));
    assert_eq!(row_security(conn), "on");
}

#[test]
fn totals_of_rows_that_a_policy_hides_are_not_copied() {
    let (conn, _database) = &mut as_owner(
        "article_counters",
        "CREATE POLICY own ON article_counters USING (current_setting('app.user', true) = 'me')",
    );
    let result = Article::materialize(views, articles::total_views).execute(conn);
    assert_refuses(result, conn);
}

/// A merge adds a row to another one, and deletes it. A policy can hide it from the `DELETE` alone.
#[test]
fn a_merge_of_rows_that_a_policy_keeps_from_being_deleted_is_refused() {
    let (conn, _database) = &mut as_owner(
        "article_counters",
        "CREATE POLICY read ON article_counters FOR SELECT USING (true);
         CREATE POLICY count ON article_counters FOR INSERT WITH CHECK (true);
         CREATE POLICY add ON article_counters FOR UPDATE USING (true)",
    );
    let result = compact(article_counters::table).execute(conn);
    assert_refuses(result, conn);
}

#[test]
fn what_a_policy_allows_is_counted_read_and_set_under_it() {
    let (conn, _database) = &mut as_owner(
        "article_counters",
        "CREATE POLICY own ON article_counters USING (article_id = 1)",
    );
    article(1).incr_counter(views, conn).unwrap();
    assert_eq!(article(1).counter_value(views, conn), Ok(7));
    let set = set_counter(views).of(1_i64).to(5);
    assert_eq!(set.execute(conn), Ok(7));
    assert_eq!(article(1).counter_value(views, conn), Ok(5));
    // The row that is locked first is hidden.
    let set = set_counter(views).of(2_i64).to(5).execute(conn);
    let error = set.unwrap_err().to_string();
    assert!(error.contains("row-level security policy"), "{error}");
    let delete = delete_counters(article_counters::table).of(1_i64);
    assert_eq!(delete.execute(conn), Ok(1));
}
