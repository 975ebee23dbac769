//! The number that a session claims, and the partition of its database.

use chrono::{Days, Utc};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use diesel_counters::dsl::{claim_slot, compact};
use diesel_counters::prelude::*;
use diesel_counters::{Slot, with_default_slot};
use diesel_counters_tests::schema::article_counters::{self, likes, slot, views};

use crate::behaviour;
use crate::{TestDatabase, has_claimed};

/// The server keeps 1,023 bytes of a statement. The names of the counters are the last ones.
#[test]
fn pg_stat_activity_shows_an_increment_as_a_whole() {
    let (conn, database, article) = &mut TestDatabase::with_connection();
    let pid = diesel::select(sql::<Integer>("pg_backend_pid()"));
    let pid: i32 = pid.get_result(conn).unwrap();
    article.incr_counter((views, likes), conn).unwrap();
    let query = format!("(SELECT query FROM pg_stat_activity WHERE pid = {pid})");
    let query = diesel::select(sql::<Text>(&query));
    let query: String = query.get_result(&mut database.connect()).unwrap();
    let end = r#""likes" = diesel_counters_stored."likes" + excluded."likes""#;
    assert!(query.ends_with(end), "{query}");
}

#[test]
fn a_session_that_was_discarded_claims_a_number_again() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    claim_slot().execute(conn).unwrap();
    for (discard, keeps_locks) in [("DISCARD ALL", false), ("RESET ALL", true)] {
        conn.batch_execute(discard).unwrap();
        assert_eq!(has_claimed(conn), keeps_locks);
        claim_slot().execute(conn).unwrap();
        assert!(has_claimed(conn));
    }
}

/// Its setting is rolled back, and its lock is not.
#[test]
fn a_claim_that_is_rolled_back_is_no_other_sessions() {
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute("BEGIN; SAVEPOINT one").unwrap();
    increment(views).of(1_i64).execute(conn).unwrap();
    conn.batch_execute("ROLLBACK TO one").unwrap();
    let other = &mut database.connect();
    increment(views).of(1_i64).execute(other).unwrap();
    increment(views).of(1_i64).execute(conn).unwrap();
    conn.batch_execute("COMMIT").unwrap();
    let used = article_counters::table.select(slot).order(slot);
    assert_eq!(used.load(conn), Ok(vec![1_i16, 2]));
    let own = article_counters::table.filter(slot.eq(1)).select(views);
    assert_eq!(own.get_result(other), Ok(1));
}

const OTHER_PARTITION: &str =
    "the partition of this statement is not that of the database, diesel_counters.partition = 1/8";

/// It would write the rows of another node.
#[test]
fn whatever_writes_counters_without_the_partition_of_its_database_is_an_error() {
    let database = TestDatabase::with_tables();
    let article = behaviour::article(1);
    let of = |index| Slot::Partition { index, of: 8 };
    for (name, operation) in behaviour::nodes::RUNS {
        let run = |default| {
            let conn = &mut database.connect();
            for node in [of(0), of(1)] {
                let count = increment(views).of(1_i64).on(behaviour::day(2026, 1, 3));
                count.slot(node).execute(conn).unwrap();
            }
            let conn = &mut database.connect();
            // A number that the connection already has does not change what is refused.
            claim_slot().execute(conn).unwrap();
            conn.batch_execute("SET diesel_counters.partition = ' 1/08'")?;
            with_default_slot(default, || operation(&article, conn))
        };
        for wrong in [Slot::Connection, of(0), Slot::Partition { index: 1, of: 2 }] {
            let error = run(wrong).unwrap_err().to_string();
            let expected = OTHER_PARTITION.replace("1/8", " 1/08");
            assert!(error.contains(&expected), "{name}: {error}");
        }
        assert_eq!(run(of(1)), Ok(()), "{name}");
    }
    // Of the other node, there is what was counted with its partition.
    let slots = article_counters::table.select(slot);
    let slots: Vec<i16> = slots.load(&mut database.connect()).unwrap();
    let known = |number: &i16| [1, 2, -1].contains(&(number % 8));
    assert!(slots.iter().all(known), "{slots:?}");
}

/// Its merged rows would be those of another node.
#[test]
fn a_merge_without_the_partition_of_its_database_that_finds_locked_rows_inserts_none() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    let old = Utc::now().date_naive() - Days::new(9);
    increment(views).of(1_i64).on(old).execute(other).unwrap();
    other.batch_execute("BEGIN").unwrap();
    increment(views).of(1_i64).on(old).execute(other).unwrap();

    conn.batch_execute("SET diesel_counters.partition = '1/8'")
        .unwrap();
    let merged = compact(article_counters::table).execute(conn);
    let error = merged.unwrap_err().to_string();
    assert!(error.contains(OTHER_PARTITION), "{error}");
    other.batch_execute("COMMIT").unwrap();
    let slots = article_counters::table.select(slot).load(conn);
    assert_eq!(slots, Ok(vec![1_i16]));
}
