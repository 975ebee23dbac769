//! The SQL of every statement is a file of `tests/sql`, so that a changed statement is a changed file. A
//! file has the Rust expression that ran the statements, and each statement with its bind values.
//!
//! With `UPDATE_EXPECT=1`, the test writes the files. MySQL and MariaDB have the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date};
use diesel_counters::dsl::{
    claim_slot, compact, delete_counters, fold, recount, set_counter, take, total,
};
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period, counting_transaction};
use diesel_counters_tests::models::{
    Article, WeeklyArticle, monthly_counters, random_counters, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::{articles, comments, odd_name, page_counters, site_counters};
use diesel_counters_tests::watch::watch;
use expect_test::expect_file;
use sqlformat::{FormatOptions, Indent, QueryParams};

use super::key_columns::{crates, reaction_counters, version_counters, wide_counters};
use super::materializing::{ADD_RECENT, ADD_TOTAL_LIKES, Post, post_counts, posts};
use super::several_ranges::{Page, create_pages, page_hits, pages};
use super::stock::{TICKETS, tickets};
use super::{article, comments_by_article, day, insert_comment, key_columns};
use crate::{Conn, HAS_SLOTS, IS_MYSQL};

const FOLDER: &str = if IS_MYSQL {
    "sql/mysql"
} else if HAS_SLOTS {
    "sql/postgres"
} else {
    "sql/sqlite"
};

/// A name for the file, the expression, and what it does.
type Operation = (&'static str, &'static str, fn(&mut Conn));

macro_rules! operations {
    ($conn:ident: $($name:ident: $run:expr;)*) => {
        &[$((stringify!($name), stringify!($run), |$conn| {
            let _ = $run.unwrap();
        })),*]
    };
}

fn monday() -> NaiveDate {
    day(2026, 3, 2)
}

fn sunday() -> NaiveDate {
    day(2026, 3, 8)
}

/// The true counts of comments, by article and day.
macro_rules! comments_by_day {
    () => {
        comments::table.group_by(comments::article_id).select((
            comments::article_id,
            sql::<Date>("date('2026-03-02')"),
            count_star(),
        ))
    };
}

const OPERATIONS: &[Operation] = operations! { conn:
    claim_slot: claim_slot().execute(conn);

    increment: increment(views).of(1_i64).on(monday()).execute(conn);
    increment_two_counters: increment((views, likes)).of(1_i64).by((2, 3)).on(monday()).execute(conn);
    increment_of_a_site: increment(site_counters::hits).on(monday()).execute(conn);
    increment_of_a_text: increment(page_counters::hits).of("/").on(monday()).execute(conn);
    increment_of_two_columns: increment(reaction_counters::given).of((1_i64, "👍")).on(monday()).execute(conn);
    increment_of_five_columns: increment(wide_counters::hits).of((1_i16, 2, 3_i64, "d", b"e".as_slice())).on(monday()).execute(conn);
    increment_of_odd_names: increment(odd_name::views_).of(1).on(monday()).execute(conn);
    increment_by_week: increment(weekly_counters::views).of(1_i64).execute(conn);
    increment_without_days: increment(timeless_counters::views).of(1_i64).execute(conn);
    increment_many: increment(views).on(monday()).of_many([(2_i64, 5), (1, 1), (3, 2)]).execute(conn);
    increment_many_of_two_columns: increment(reaction_counters::given).on(monday()).of_many([((1_i64, "👍"), 5), ((1, "🎉"), 1)]).execute(conn);
    counting_transaction: counting_transaction(conn, |tx| {
        tx.count(increment(views).of(1_i64).on(monday()));
        tx.count(increment(likes).of(2_i64).on(sunday()));
        QueryResult::Ok(())
    });

    counter_value: counter_value(views).of(1_i64).get_result::<i64>(conn);
    counter_value_of_two_counters: counter_value((views, likes)).of(1_i64).get_result::<(i64, i64)>(conn);
    counter_value_of_all: counter_value(views).get_result::<i64>(conn);
    counter_value_of_a_site: counter_value(site_counters::hits).get_result::<i64>(conn);
    counter_value_on: counter_value(views).of(1_i64).on(monday()).get_result::<i64>(conn);
    counter_value_between: counter_value(views).of(1_i64).between(monday()..=sunday()).get_result::<i64>(conn);
    counter_value_of_a_prefix: counter_value(version_counters::downloads).of(1).get_result::<i64>(conn);
    counter_value_of_any: counter_value(views).of_any(articles::table.select(articles::id)).get_result::<i64>(conn);
    counter_value_grouped: counter_value(reaction_counters::given).of(1_i64).group_by(reaction_counters::emoji).load::<(String, i64)>(conn);
    counter_values: counter_value(views).of_many([2_i64, 7, 1]).load(conn);
    counter_values_of_two_counters: counter_value((views, likes)).of_many([2_i64, 7, 1]).load(conn);
    counter_values_of_three_counters: counter_value((views, likes, article_counters::comments)).of_many([2_i64, 1]).load(conn);
    counter_values_between: counter_value(views).between(monday()..=sunday()).of_many([2_i64, 1]).load(conn);
    counter_values_of_two_columns: counter_value(reaction_counters::given).of_many([(1_i64, "👍"), (1, "🎉"), (2, "👍")]).load(conn);
    counter_values_grouped: counter_value(reaction_counters::given).group_by(reaction_counters::emoji).of_many([1_i64, 2]).load::<String, _>(conn);
    counter_series: counter_series(views).of(1_i64).between(monday()..=sunday()).load(conn);
    counter_series_of_many: counter_series(views).between(monday()..=sunday()).of_many([1_i64, 2]).load(conn);
    counter_series_of_a_prefix: counter_series(version_counters::downloads).of(1).load(conn);
    total: articles::table.filter(total(views).gt(1)).order(total(views).desc()).select((articles::id, total(likes).between(monday()..=sunday()))).load::<(i64, i64)>(conn);
    total_of: comments::table.select(total(views).of(comments::article_id)).load::<i64>(conn);
    total_of_two_columns: articles::table.select(total(reaction_counters::given).of((articles::id, "👍"))).load::<i64>(conn);
    ranking: ranking(views).limit(10).load::<(i64, i64)>(conn);
    ranking_of_two_columns: ranking(reaction_counters::given).between(monday()..).limit(10).load::<((i64, String), i64)>(conn);
    ranking_grouped: ranking(version_counters::downloads).group_by(version_counters::crate_id).limit(10).load::<(i32, i64)>(conn);
    ranking_of_a_prefix: ranking(version_counters::downloads).of(1).limit(10).load::<((i32, String), i64)>(conn);

    set_counter: set_counter(weekly_counters::views).of(1_i64).to(7).execute(conn);
    set_counter_on: set_counter(views).of(1_i64).on(monday()).to(7).execute(conn);
    set_counter_of_a_site: set_counter(site_counters::hits).on(monday()).to(7).execute(conn);
    set_counter_of_two_columns: set_counter(reaction_counters::given).of((1_i64, "👍")).on(monday()).to(7).execute(conn);
    set_days: set_counter(views).of_days([(1_i64, monday(), 3), (2, sunday(), 4)]).execute(conn);
    set_days_of_a_text: set_counter(page_counters::hits).of_days([("/", monday(), 3)]).execute(conn);
    set_days_by_month: set_counter(monthly_counters::views).of_days([(1_i64, monday(), 3)]).execute(conn);
    set_days_of_a_site: set_counter(site_counters::hits).of_days([((), monday(), 3)]).execute(conn);
    set_days_of_two_columns: set_counter(version_counters::downloads).of_days([((1, "1.0"), monday(), 3), ((2, "1.0"), monday(), 3)]).execute(conn);
    recount: recount(weekly_counters::comments, comments_by_article()).of(&WeeklyArticle { id: 1 }).execute::<i64, _>(conn);
    recount_by_day: recount(article_counters::comments, comments_by_day!()).of(&article(2)).execute::<i64, _>(conn);
    recount_all: recount(weekly_counters::comments, comments_by_article()).execute::<i64, _>(conn);
    recount_all_by_day: recount(article_counters::comments, comments_by_day!()).between(monday()..=sunday()).execute(conn).map(drop::<Vec<Drift<i64>>>);
    recount_dry: recount((views, likes), articles::table.select((articles::id, 0.into_sql::<BigInt>(), 0.into_sql::<BigInt>()))).dry_run(conn).map(drop::<Vec<Drift<i64, _>>>);
    recount_of_a_site: recount(site_counters::hits, comments::table.select((sql::<Date>("date('2026-03-02')"), count_star()))).execute::<(), _>(conn);
    recount_of_two_columns: recount(version_counters::downloads, crates::table.select((crates::id, sql::<diesel::sql_types::Text>("'1.0'"), sql::<Date>("date('2026-03-02')"), crates::total_downloads))).of(1).execute(conn).map(drop::<Vec<Drift<(i32, String)>>>);

    materialize: Article::materialize(views, articles::total_views).execute(conn);
    materialize_two_counters: Post::materialize((post_counts::views, post_counts::likes), (posts::total_views, posts::total_likes)).execute(conn);
    materialize_between: Article::materialize(views, articles::total_views).between(monday()..=sunday()).execute(conn);
    materialize_two_ranges: Post::materialize((post_counts::views, total(post_counts::views).between(monday()..=sunday())), (posts::total_views, posts::recent_views)).execute(conn);
    materialize_ranges_of_days: Post::materialize((total(post_counts::views).on(monday()), total(post_counts::likes).between(monday()..=sunday())), (posts::total_views, posts::recent_likes)).execute(conn);
    materialize_one_range: Post::materialize(total(post_counts::views).on(monday()), posts::recent_views).execute(conn);
    materialize_ranges_of_a_text: Page::materialize((page_hits::hits, total(page_hits::hits).on(monday())), (pages::all_hits, pages::hits_of_a_day)).execute(conn);
    compact: compact(article_counters::table).before(day(2026, 4, 1)).execute(conn);
    compact_of_a_site: compact(site_counters::table).before(day(2026, 4, 1)).execute(conn);
    compact_of_two_columns: compact(reaction_counters::table).before(day(2026, 4, 1)).execute(conn);
    fold_into_weeks: fold(article_counters::table).per(Period::Week).before(day(2026, 4, 1)).execute(conn);
    fold_into_months: fold(article_counters::table).per(Period::Month).before(day(2026, 4, 1)).execute(conn);
    fold_into_years: fold(article_counters::table).per(Period::Year).before(day(2027, 4, 1)).execute(conn);
    fold: fold(article_counters::table).before(day(2026, 4, 1)).execute(conn);

    delete_counters: delete_counters(article_counters::table).of(1_i64).execute(conn);
    delete_counters_of_many: delete_counters(article_counters::table).of_many([1_i64, 2, 3]).execute(conn);
    delete_counters_of_two_columns: delete_counters(reaction_counters::table).of((1_i64, "👍")).execute(conn);
    delete_counters_of_a_prefix: delete_counters(version_counters::table).of(1).execute(conn);
    delete_counters_of_a_site: delete_counters(site_counters::table).of(()).execute(conn);

    set_stock: set_counter(tickets::remaining).of(1_i64).to(3).execute(conn);
    take: take(tickets::remaining).of(1_i64).execute(conn);
    take_the_rest: take(tickets::remaining).of(1_i64).by(2).execute(conn);
    take_too_many: take(tickets::remaining).of(1_i64).execute(conn);
    // Last, because the others read the rows.
    increment_in_a_random_slot: increment(random_counters::views).of(1_i64).on(monday()).execute(conn);
};

#[test]
fn the_sql_of_every_statement_is_a_file() {
    let (conn, _database) = &mut key_columns::with_tables();
    conn.batch_execute(ADD_TOTAL_LIKES).unwrap();
    conn.batch_execute(ADD_RECENT).unwrap();
    create_pages(conn);
    conn.batch_execute(TICKETS).unwrap();
    for id in [1, 1, 2] {
        insert_comment(id, "Nice.", conn).unwrap();
    }
    // Rows to merge, also on SQLite.
    let reactions = "reaction_counters (article_id, emoji, day, slot, given)";
    for (table, key) in [
        ("article_counters (article_id, day, slot, views)", "1, "),
        ("site_counters (day, slot, hits)", ""),
        (reactions, "1, '👍', "),
    ] {
        let [one, other] = [3, 5].map(|slot| format!("({key}'2026-03-02', {slot}, 1)"));
        let insert = format!("INSERT INTO {table} VALUES {one}, {other}");
        conn.batch_execute(&insert).unwrap();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let mut left_over: BTreeSet<_> = files_in(&folder).collect();
    for (name, expression, run) in OPERATIONS {
        let statements = watch(conn, run).queries;
        let expression = expression.split_whitespace().collect::<Vec<_>>().join(" ");
        let statements: String = statements.iter().map(|sql| lines(sql)).collect();
        let file = folder.join(name).with_extension("sql");
        expect_file![&file].assert_eq(&format!("-- {expression}\n\n{statements}"));
        left_over.remove(&file);
    }
    assert_eq!(left_over, BTreeSet::new(), "no statement has these files");
}

fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().path())
}

/// A statement as one would lay it out, and a line for its bind values.
fn lines(statement: &str) -> String {
    let (sql, binds) = statement
        .split_once(" -- binds: ")
        .unwrap_or((statement, "[]"));
    let options = FormatOptions {
        indent: Indent::Spaces(4),
        uppercase: None,
        max_inline_block: 90,
        max_inline_arguments: Some(100),
        max_inline_top_level: Some(100),
        joins_as_top_level: true,
        ..FormatOptions::default()
    };
    let format = |sql: &str| sqlformat::format(sql, &QueryParams::None, &options);
    // The formatter takes MySQL's UPDATE for a statement.
    let end = " ON DUPLICATE KEY UPDATE ";
    let sql = match sql.split_once(end) {
        Some((insert, added)) => format!("{}\n{}{added}", format(insert), end.trim_start()),
        None => format(sql),
    };
    let binds = match binds {
        "[]" => String::new(),
        binds => format!("-- {binds}\n"),
    };
    format!("{sql};\n{binds}\n")
}
