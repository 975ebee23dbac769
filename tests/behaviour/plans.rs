//! How databases go about the queries.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::articles;

use super::day;
use crate::{Conn, TestDatabase};

type Backend = <Conn as Connection>::Backend;

/// 2,000 articles with 30 rows of counts each.
fn many_articles() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    let more: Vec<_> = (6..=2000).map(super::article).collect();
    conn.transaction(|conn| {
        for some in more.chunks(500) {
            let titles: Vec<_> = some
                .iter()
                .map(|article| format!("({}, '{}')", article.id, article.title))
                .collect();
            let insert = format!(
                "INSERT INTO articles (id, title) VALUES {}",
                titles.join(", ")
            );
            conn.batch_execute(&insert)?;
        }
        for d in 1..=30 {
            let counts = (1..=2000).map(|id| (id, 1));
            let counts = Article::increment(views)
                .on(day(2026, 1, d))
                .of_many(counts);
            counts.execute(conn)?;
        }
        QueryResult::Ok(())
    })
    .unwrap();
    conn.batch_execute(crate::ANALYZE).unwrap();
    (database, conn)
}

/// The query's SQL with its values in their places.
fn with_values(sql: &str, values: &[&str]) -> String {
    let (sql, _binds) = sql.split_once(" -- binds").unwrap();
    let mut text = String::new();
    let mut values = values.iter();
    let mut rest = sql.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '?' && c != '$' {
            text.push(c);
            continue;
        }
        while rest.next_if(char::is_ascii_digit).is_some() {}
        text.push_str(values.next().unwrap());
    }
    assert_eq!(values.next(), None);
    text
}

#[test]
fn totals_of_a_page_are_read_by_the_counter_tables_primary_key() {
    let (_database, mut conn) = many_articles();
    let page = articles::table
        .select((
            Article::as_select(),
            total(views),
            total(likes).between(day(2026, 1, 5)..),
        ))
        .order(articles::id.desc())
        .limit(20)
        .offset(40);
    let sql = diesel::debug_query::<Backend, _>(&page).to_string();
    let values = ["'2026-01-05'", "'9999-12-31'", "20", "40"];
    let plan = crate::plan_of(&with_values(&sql, &values), &mut conn);
    crate::assert_reads_by_primary_key(&plan, 2);

    // And that is the query.
    let rows: Vec<(Article, i64, i64)> = page.load(&mut conn).unwrap();
    assert_eq!((rows.len(), rows[0].0.id, rows[0].1), (20, 1960, 30));
}

#[test]
fn values_of_many_are_read_by_the_counter_tables_primary_key() {
    let (_database, mut conn) = many_articles();
    let ids: Vec<i64> = (0..20).map(|i| i * 100 + 1).collect();
    let watched = diesel_counters_tests::watch::watch(&mut conn, |conn| {
        let values = counter_value(views).of_many(&ids).load(conn);
        assert_eq!(values, Ok(vec![30; 20]));
    });
    let list = ids.iter().map(i64::to_string).collect::<Vec<_>>();
    let array = format!("'{{{}}}'::bigint[]", list.join(","));
    let mut keys: Vec<&str> = list.iter().map(String::as_str).collect();
    if crate::STATEMENTS_OF_ANY == 1 {
        keys = vec![&array, &array];
    } else {
        keys.resize(32, list.last().unwrap());
    }
    let plan = crate::plan_of(&with_values(&watched.queries[0], &keys), &mut conn);
    crate::assert_reads_by_primary_key(&plan, 1);
}
