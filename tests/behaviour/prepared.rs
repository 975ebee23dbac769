//! Statements are prepared once a connection.

use diesel::prelude::*;
use diesel_counters::dsl::{recount, total};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::watch::watch;

use super::{KEPT, article, comments_by_article, day};
use crate::{Conn, TestDatabase};

/// What differs in everything but its types is prepared as often as this says.
#[test]
fn a_statement_is_prepared_once_whatever_its_values_are() {
    type Run = fn(i64, &mut Conn) -> QueryResult<()>;
    let runs: [(usize, Run); 6] = [
        (1, |i, conn| match i % 4 {
            0 => article(i % 5 + 1).incr_counter(views, conn),
            1 => article(1).incr_counter_by(views, i - 400, conn),
            2 => increment(views).of(1).execute(conn).map(drop),
            _ => {
                let random = increment(views).of(1);
                let random = random.on(day(2026, 1, 1 + i as u32 % 28));
                random.execute(conn).map(drop)
            }
        }),
        (1, |i, conn| match i % 2 {
            0 => article(i).counter_value((views, likes), conn).map(drop),
            _ => {
                let value = counter_value((views, likes)).of(i);
                value.get_result::<(i64, i64)>(conn).map(drop)
            }
        }),
        (KEPT, |i, conn| {
            let since = day(2026, 1, 1 + i as u32 % 28);
            let page = articles::table.select((articles::id, total(views)));
            let page = page.order(total(views).between(since..).desc()).limit(i);
            page.load::<(i64, i64)>(conn).map(drop)
        }),
        (KEPT, |i, conn| {
            let top = ranking(views).between(day(2026, 1, 1 + i as u32 % 28)..);
            top.limit(i).load::<(i64, i64)>(conn).map(drop)
        }),
        // Powers of two up to 512, where there are no arrays.
        (
            KEPT * if crate::STATEMENTS_OF_100 == 1 { 1 } else { 10 },
            |i, conn| {
                let ids: Vec<i64> = (1..=i + 1).collect();
                let values = counter_value(views).of_many(&ids).load(conn)?;
                assert_eq!(values.len(), ids.len());
                Ok(())
            },
        ),
        (crate::STATEMENTS_OF_ANY, |i, conn| {
            let counts = (0..=i).map(|i| (format!("/{i}"), 1));
            increment(hits).of_many(counts).execute(conn).map(drop)
        }),
    ];
    let (_database, mut conn, _article) = TestDatabase::with_article();
    for (number, (prepared, run)) in runs.into_iter().enumerate() {
        let watched = watch(&mut conn, |conn| {
            for i in 0..300 {
                run(i, conn).unwrap();
            }
        });
        assert!(watched.queries.len() >= 300);
        let found = watched.prepared;
        assert_eq!(found.len(), prepared, "{number}: {found:?}");
    }
    let values = counter_value(hits).of_many(["/0", "/150", "/299", "/300"]);
    assert_eq!(values.load(&mut conn), Ok(vec![300, 150, 1, 0]));
    let watched = watch(&mut conn, |conn| {
        for id in 1..=5 {
            let recount = recount(comments, comments_by_article()).of(id);
            recount.execute::<i64, _>(conn).unwrap();
        }
    });
    let selects = watched.prepared.iter();
    let selects = selects.filter(|sql| sql.contains("UNION ALL"));
    assert_eq!(selects.count(), KEPT, "{:?}", watched.prepared);
}

#[test]
fn different_statements_are_told_apart() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        for n in 1..=2 {
            article.incr_counter(views, conn).unwrap();
            article.incr_counter(likes, conn).unwrap();
            article.incr_counter((views, likes), conn).unwrap();
            article.incr_counter((likes, comments), conn).unwrap();
            let value = article.counter_value((views, likes, comments), conn);
            assert_eq!(value, Ok((2 * n, 3 * n, n)));
            let nothing = counter_value((comments, likes)).of(&article);
            let nothing = nothing.on(day(2026, 1, 1));
            assert_eq!(nothing.get_result(conn), Ok((0, 0)));
            assert_eq!(article.counter_value(views, conn), Ok(2 * n));
            assert_eq!(article.counter_value(likes, conn), Ok(3 * n));
        }
    });
    assert_eq!(watched.prepared.len(), 4 + 4, "{:?}", watched.prepared);
}
