//! "Hours" in docs/reading.md: a second table, whose key has the hour.

use std::collections::HashMap;

use chrono::{DateTime, Days, NaiveDate, TimeDelta, TimeZone, Timelike, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::behaviour::day;
use crate::{Conn, TestDatabase};

diesel_counters_tests::counter_table!(
    article_hours (article_id -> BigInt, hour -> SmallInt) (views)
);

fn with_hours() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    conn.batch_execute(
        "CREATE TABLE article_hours (
             article_id BIGINT NOT NULL, hour SMALLINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, hour, day, slot),
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         )",
    )
    .unwrap();
    (conn, database)
}

fn count(id: i64, at: DateTime<Utc>, conn: &mut Conn) {
    let view = increment(article_hours::views).of((id, at.hour() as i16));
    view.on(at.date_naive()).execute(conn).unwrap();
}

type Hour = (NaiveDate, i16);

/// The last 24 hours, oldest first.
fn last_hours(id: i64, now: DateTime<Utc>, conn: &mut Conn) -> QueryResult<Vec<(Hour, i64)>> {
    use article_hours::{day, hour, views};
    let first = now - TimeDelta::hours(23);
    let counted: Vec<(Hour, i64)> = counter_value(views)
        .of(id)
        .between(first.date_naive()..=now.date_naive())
        .group_by((day, hour))
        .load(conn)?;
    let counted = HashMap::<Hour, i64>::from_iter(counted);
    let hours = (0..24).map(|ago| {
        let at = first + TimeDelta::hours(ago);
        let key = (at.date_naive(), at.hour() as i16);
        (key, counted.get(&key).copied().unwrap_or(0))
    });
    Ok(hours.collect())
}

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 1, 6, 30, 0).unwrap()
}

#[test]
fn the_last_24_hours_have_no_gaps() {
    let (conn, _database) = &mut with_hours();
    for (ago, times) in [(0, 1), (1, 2), (7, 3), (23, 4), (24, 50), (25, 60)] {
        for _ in 0..times {
            count(1, now() - TimeDelta::hours(ago), conn);
        }
    }
    count(2, now(), conn);
    let hours = last_hours(1, now(), conn).unwrap();
    assert_eq!(hours.len(), 24);
    assert_eq!(hours[0], ((day(2026, 2, 28), 7), 4));
    assert_eq!(hours[23], ((day(2026, 3, 1), 6), 1));
    let counted = hours.iter().filter(|(_, n)| *n > 0);
    let counted = counted.map(|((day, hour), n)| (day.to_string(), *hour, *n));
    let counted = Vec::from_iter(counted);
    let expected = [
        ("2026-02-28", 7, 4),
        ("2026-02-28", 23, 3),
        ("2026-03-01", 5, 2),
        ("2026-03-01", 6, 1),
    ];
    assert_eq!(
        counted,
        expected.map(|(day, hour, n)| (day.to_owned(), hour, n))
    );
}

#[test]
fn the_busiest_hours_are_grouped_by_the_hour_alone() {
    let (conn, _database) = &mut with_hours();
    for (ago, id) in [(0, 1), (24, 1), (1, 1), (0, 2)] {
        count(id, now() - TimeDelta::hours(ago), conn);
    }
    use article_hours::{hour, views};
    let of_one = counter_value(views).of(1_i64).group_by(hour).load(conn);
    assert_eq!(of_one, Ok(vec![(5_i16, 1_i64), (6, 2)]));
    let of_all = counter_value(views).group_by(hour).load(conn);
    assert_eq!(of_all, Ok(vec![(5_i16, 1_i64), (6, 3)]));
}

#[test]
fn days_that_nobody_reads_are_deleted() {
    let (conn, _database) = &mut with_hours();
    for ago in [0, 23, 24, 48, 72] {
        count(1, now() - TimeDelta::hours(ago), conn);
    }
    let before = last_hours(1, now(), conn);
    let yesterday = now().date_naive() - Days::new(1);
    let old = article_hours::table.filter(article_hours::day.lt(yesterday));
    assert_eq!(diesel::delete(old).execute(conn), Ok(2));
    assert_eq!(last_hours(1, now(), conn), before);
}
