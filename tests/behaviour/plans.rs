//! How databases go about the queries.

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::dsl::{compact, delete_counters, recount, set_counter, total};
use diesel_counters::prelude::*;
use diesel_counters_tests::examples::{version_counters, versions};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::watch::watch;

use super::day;
use super::key_columns::with_tables;
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase};

/// 2,000 articles with 30 rows of counts each.
fn many_articles() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    conn.transaction(|conn| {
        super::insert_articles(6..=2000, conn);
        for d in 1..=30 {
            let counts = (1..=2000).map(|id| (id, 1));
            let counts = increment(views).on(day(2026, 1, d)).of_many(counts);
            counts.execute(conn)?;
        }
        QueryResult::Ok(())
    })
    .unwrap();
    conn.batch_execute(crate::ANALYZE).unwrap();
    (conn, database)
}

#[test]
fn totals_of_a_page_are_read_by_the_counter_tables_primary_key() {
    let (conn, _database) = &mut many_articles();
    let recent = total(likes).between(day(2026, 1, 5)..);
    let page = articles::table.select((Article::as_select(), total(views), recent));
    let page = page.order(articles::id.desc()).limit(20).offset(40);
    let watched = watch(conn, |conn| {
        let rows: Vec<(Article, i64, i64)> = page.load(conn).unwrap();
        assert_eq!((rows.len(), rows[0].0.id, rows[0].1), (20, 1960, 30));
    });
    let sql = with_printed_values(&watched.queries[0]);
    crate::assert_reads_by_primary_key(&crate::plan_of(&sql, conn), 2);
}

/// The index that the guide recommends for merges that find nothing.
#[test]
fn a_merge_that_finds_nothing_reads_the_index_of_the_rows_to_merge() {
    const OPERATIONS: &str = include_str!("../../docs/operations.md");
    let mut lines = OPERATIONS.lines();
    let create = lines.find(|line| line.starts_with("CREATE INDEX article_counters_to_merge"));
    let create = create.unwrap();
    if IS_MYSQL {
        return;
    }
    let (conn, _database) = &mut many_articles();
    let merge = || compact(article_counters::table).before(day(2026, 2, 1));
    merge().batch(1_000).execute(conn).unwrap();
    conn.batch_execute(create).unwrap();
    conn.batch_execute(crate::ANALYZE).unwrap();

    let watched = watch(conn, |conn| {
        assert_eq!(merge().execute(conn).unwrap().left, 0);
    });
    let mut reads = watched.queries.iter();
    let read = reads.find(|query| query.contains("COUNT(*)")).unwrap();
    let plan = crate::plan_of(&with_printed_values(read), conn);
    assert!(plan.contains("article_counters_to_merge"), "{plan}");
}

/// The statement with its values, which Diesel prints after it.
fn with_printed_values(printed: &str) -> String {
    let (sql, binds) = printed.split_once(" -- binds: ").unwrap();
    let binds = binds.strip_prefix('[').unwrap();
    let binds = binds.strip_suffix(']').unwrap();
    let (mut values, mut depth, mut is_text) = (vec![String::new()], 0, false);
    for c in binds.chars() {
        is_text ^= c == '"';
        depth += i32::from(c == '[') - i32::from(c == ']');
        match c {
            ',' if depth == 0 && !is_text => values.push(String::new()),
            c => values.last_mut().unwrap().push(c),
        }
    }
    let literal = |value: &String| {
        let value = value.trim();
        let day = value.strip_prefix("Day(");
        let value = day.map_or(value, |day| day.trim_end_matches(')'));
        match value.strip_prefix('[') {
            Some(list) if list.contains('"') => format!("ARRAY[{}::text[]", list.replace('"', "'")),
            Some(list) => format!("ARRAY[{list}::integer[]"),
            None if value.starts_with('"') => {
                format!("'{}'", value.trim_matches('"').replace('\'', "''"))
            }
            // The type of a value in a list is not known otherwise.
            None if value.contains('-') && HAS_SLOTS => format!("DATE '{value}'"),
            None if value.contains('-') => format!("'{value}'"),
            None => value.replace('"', "'"),
        }
    };
    let values: Vec<String> = values.iter().map(literal).collect();
    let mut text = sql.to_owned();
    for (i, value) in values.iter().enumerate().rev() {
        // A value of PostgreSQL can occur more than once.
        text = match crate::STATEMENTS_OF_100 {
            1 => text.replace(&format!("${}", i + 1), value),
            _ => {
                let (before, after) = text.rsplit_once('?').unwrap();
                format!("{before}{value}{after}")
            }
        };
    }
    text
}

/// Of a table with 400 crates with 5 versions each. PostgreSQL reads a whole table for many of its rows.
#[test]
fn a_prefix_of_a_key_of_two_columns_is_a_range_of_the_primary_key() {
    use version_counters::downloads;

    let (conn, _database) = &mut with_tables();
    let keys = || (0..2_000).map(|i| (i % 400, format!("{:02}", i / 400)));
    conn.transaction(|conn| {
        for d in 1..=10 {
            let counts = keys().map(|key| (key, 1));
            let count = increment(downloads).on(day(2026, 1, d)).of_many(counts);
            count.execute(conn)?;
        }
        QueryResult::Ok(())
    })
    .unwrap();
    conn.batch_execute(&crate::ANALYZE.replace("article_counters", "version_counters"))
        .unwrap();
    use versions::{crate_id, number, total_downloads};
    let source = || versions::table.select((crate_id, number, total_downloads));
    let of_page = || [(7, "03"), (8, "00"), (9, "04")];

    let watched = watch(conn, |conn| {
        let value = || counter_value(downloads);
        let _: i64 = value().of((7, "03")).get_result(conn).unwrap();
        let _: i64 = value().of(7).get_result(conn).unwrap();
        let grouped = value().of(7).group_by(version_counters::number);
        grouped.load::<(String, i64)>(conn).unwrap();
        value().of_many(of_page()).load(conn).unwrap();
        value().of_many([7, 8]).load(conn).unwrap();
        counter_series(downloads).of(7).load(conn).unwrap();
        let _: Vec<((i32, String), i64)> = ranking(downloads).of(7).limit(3).load(conn).unwrap();
        increment(downloads).of((7, "03")).execute(conn).unwrap();
        let set = set_counter(downloads).of((7, "03")).to(5);
        set.execute(conn).unwrap();
        let recount = recount(downloads, source()).of((7, "03"));
        recount.execute::<(i32, String), _>(conn).unwrap();
        let delete = || delete_counters(version_counters::table);
        delete().of((7, "03")).execute(conn).unwrap();
        delete().of_many(of_page()).execute(conn).unwrap();
        delete().of(7).execute(conn).unwrap();
    });
    // MySQL looks up a whole key while it plans, and its plan names no table if the row is gone.
    let set = set_counter(downloads).of((7, "03")).to(5);
    set.execute(conn).unwrap();
    let reads_a_range = |query: &&String| {
        let is_of_table = query.contains("version_counters");
        let has_no_row = query.contains("WHERE 1 = 0 -- binds");
        let is_insert = query.contains("INSERT INTO");
        let is_of_the_catalogue = query.contains("FROM pg_policy");
        is_of_table && !has_no_row && !is_insert && !is_of_the_catalogue
    };
    let mut read = 0;
    for query in watched.queries.iter().filter(reads_a_range) {
        let sql = with_printed_values(query);
        let plan = crate::plan_of(&sql, conn);
        crate::assert_reads_a_range(&plan, "version_counters");
        read += 1;
    }
    assert!(read >= 21, "{read}");
}

/// Also if the two columns have other types, whose keys PostgreSQL compares after a conversion.
#[test]
fn a_batch_of_a_recount_reads_only_its_texts_of_the_source() {
    use diesel_counters_tests::schema::page_counters::hits;

    diesel::table! { uses (id) { id -> BigInt, path -> Text } }

    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let text = crate::CASED;
    let of_source = if IS_MYSQL { text } else { "VARCHAR(100)" };
    conn.batch_execute(&format!(
        "DROP TABLE page_counters;
        CREATE TABLE page_counters (
            path {text} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            hits BIGINT NOT NULL, PRIMARY KEY (path, day, slot)
        );
        CREATE TABLE uses (id BIGINT PRIMARY KEY, path {of_source} NOT NULL);
        CREATE INDEX uses_path ON uses (path)"
    ))
    .unwrap();
    let paths = |pages: std::ops::Range<i64>| pages.map(|page| format!("/{page}"));
    conn.transaction(|conn| {
        let counts = paths(0..3_000).map(|path| (path, 1));
        increment(hits).of_many(counts).execute(conn)?;
        let used = (0..).zip(paths(0..3_000));
        let used: Vec<_> = used.map(|(id, path)| format!("({id}, '{path}')")).collect();
        conn.batch_execute(&format!("INSERT INTO uses VALUES {}", used.join(", ")))?;
        let wrong = paths(0..6).map(|path| (path, 1));
        increment(hits).of_many(wrong).execute(conn).map(drop)
    })
    .unwrap();
    let analyze = crate::ANALYZE.replace("article_counters", "page_counters");
    conn.batch_execute(&analyze.replace("articles", "uses"))
        .unwrap();

    let source = || {
        uses::table
            .group_by(uses::path)
            .select((uses::path, count_star()))
    };
    let watched = watch(conn, |conn| {
        let corrected: QueryResult<Vec<Drift<String>>> = recount(hits, source()).execute(conn);
        assert_eq!(corrected.unwrap().len(), 6);
        increment(hits).of("/7").execute(conn).unwrap();
        let of_one: Vec<Drift<String>> = recount(hits, source()).of("/7").execute(conn).unwrap();
        assert_eq!(of_one.len(), 1);
    });
    let mut compared = watched.queries;
    compared.retain(|query| query.contains("true_counts"));
    // The first one finds the keys: it compares all.
    assert_eq!(compared.len(), 3);
    for query in &compared[1..] {
        let plan = crate::plan_of(&with_printed_values(query), conn);
        crate::assert_reads_a_part(&plan, "uses");
    }
}
