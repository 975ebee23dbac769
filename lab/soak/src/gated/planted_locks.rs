//! Corrections as they were before the command and the library took the same lock.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::planted::add;
use super::{ADD_ON_CONFLICT, Conn, TABLE_LOCK};
use crate::tables::article_counters::dsl::{article_counters, article_id, likes};
use crate::tables::today;

/// Locks the row of article 1 that one correction at a time locks, and inserts it if it is missing.
fn lock(conn: &mut Conn) -> QueryResult<()> {
    add(1, NaiveDate::default(), [0; 3], conn)
}

/// Recounts the likes as the command did: under a lock that the library's corrections do not take.
pub fn command_recount(conn: &mut Conn) -> QueryResult<String> {
    let [before, begin, after] = TABLE_LOCK;
    batch(before, conn)?;
    let result = conn.transaction(|conn| {
        batch(begin, conn)?;
        conn.batch_execute(&format!(
            "INSERT INTO article_counters (article_id, day, slot, likes)
             SELECT entity, '1970-01-01', 0, SUM(count_1) FROM (
                 SELECT article_id AS entity, 1 AS count_1 FROM article_likes
                 UNION ALL SELECT article_id, -likes FROM article_counters) AS moved
             GROUP BY entity HAVING SUM(count_1) <> 0 ORDER BY entity {ADD_ON_CONFLICT}"
        ))
    });
    batch(after, conn)?;
    result.map(|()| String::new())
}

/// Runs statements, if there are any.
fn batch(statements: &str, conn: &mut Conn) -> QueryResult<()> {
    match statements {
        "" => Ok(()),
        statements => conn.batch_execute(statements),
    }
}

/// Sets the likes of article 1. It locks one row, and adds up the others without a lock.
pub fn set(to: i64, conn: &mut Conn) -> QueryResult<String> {
    conn.transaction(|conn| {
        lock(conn)?;
        // Diesel does not cache a query with this SQL. At SERIALIZABLE the query locks, and
        // MariaDB's client hangs if a cached one has failed and is run again.
        let of_one = sql::<Bool>("article_id = 1");
        let rows = article_counters.filter(of_one).select(likes);
        let before: i64 = rows.load::<i64>(conn)?.iter().sum();
        add(1, today(), [0, to - before, 0], conn)?;
        Ok(before.to_string())
    })
}

/// Deletes the counters of article 1. It locks nothing if it sees no rows.
pub fn delete(conn: &mut Conn) -> QueryResult<String> {
    conn.transaction(|conn| {
        let of_one = sql::<Bool>("article_id = 1");
        let rows = article_counters.filter(of_one).count();
        let rows: i64 = rows.get_result(conn)?;
        if rows > 0 {
            lock(conn)?;
        }
        // At READ COMMITTED, the second one deletes what was committed since the first one began.
        let delete = || diesel::delete(article_counters.filter(article_id.eq(1)));
        let deleted = delete().execute(conn)? + delete().execute(conn)?;
        Ok((deleted > 0).to_string())
    })
}
