//! Keys of several columns, and prefixes of them.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter, total};
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period};
use diesel_counters_tests::counter_table;
use diesel_counters_tests::examples::{
    crates, reaction_counters, version_counters, versions, wide_counters,
};
use diesel_counters_tests::schema::articles;

use crate::{CASED, Conn, HAS_SLOTS, IS_MYSQL, TestDatabase};

// The same table, whose only parent has the first column of the key.
counter_table!(#[sql_name = "version_counters"] crate_counters (crate_id -> Integer, number -> Text)
    (downloads) { parent = crates::id });

diesel::table! {
    reactions (id) { id -> BigInt, article_id -> BigInt, emoji -> Text }
}

use reaction_counters::{emoji, given};
use version_counters::{downloads, failures};

#[derive(HasCounters)]
#[diesel(primary_key(crate_id, number))]
#[counters(table_name = version_counters)]
struct Version {
    crate_id: i32,
    number: String,
}

/// A model whose key is the first column of the counter table's.
#[derive(Debug, PartialEq, Queryable, Selectable, HasCounters)]
#[diesel(table_name = crates)]
#[counters(table_name = version_counters)]
struct Crate {
    id: i32,
}

#[derive(HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = reaction_counters)]
struct Article {
    id: i64,
}

fn day(n: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 3, n).unwrap()
}

fn text(s: &str) -> String {
    s.to_owned()
}

/// With these tables, and with articles 1 to 5.
pub fn with_tables() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    let [text, bytes] = match (IS_MYSQL, HAS_SLOTS) {
        (true, _) => [CASED, "VARBINARY(16)"],
        (false, true) => ["TEXT", "BYTEA"],
        (false, false) => ["TEXT", "BLOB"],
    };
    let day_and_slot = "day DATE NOT NULL, slot SMALLINT NOT NULL";
    let count = "BIGINT NOT NULL DEFAULT 0";
    let create = format!(
        "CREATE TABLE crates (id INTEGER NOT NULL PRIMARY KEY, total_downloads {count});
         CREATE TABLE versions (crate_id INTEGER NOT NULL, number {text} NOT NULL,
             total_downloads {count}, PRIMARY KEY (crate_id, number));
         CREATE TABLE version_counters (crate_id INTEGER NOT NULL, number {text} NOT NULL, {day_and_slot},
             downloads {count}, failures {count}, PRIMARY KEY (crate_id, number, day, slot));
         CREATE TABLE reactions (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL,
             emoji {text} NOT NULL);
         CREATE TABLE reaction_counters (article_id BIGINT NOT NULL, emoji {text} NOT NULL, {day_and_slot},
             given {count}, PRIMARY KEY (article_id, emoji, day, slot));
         CREATE TABLE wide_counters (a SMALLINT NOT NULL, b INTEGER NOT NULL, c BIGINT NOT NULL,
             d {text} NOT NULL, e {bytes} NOT NULL, {day_and_slot},
             hits {count}, PRIMARY KEY (a, b, c, d, e, day, slot))"
    );
    conn.batch_execute(&create).unwrap();
    (conn, database)
}

/// Versions 1.0 and 2.0 of crates 1 and 2 have been downloaded 1, 20, 300 and 4000 times.
fn count_downloads(conn: &mut Conn) {
    let versions = [(2, "2.0"), (1, "1.0"), (2, "1.0"), (1, "2.0")];
    let counts = versions.into_iter().zip([4000, 1, 300, 20]);
    assert_eq!(increment(downloads).of_many(counts).execute(conn), Ok(4));
}

/// Counts reactions on the first day.
fn react(counts: &[((i64, &str), i64)], conn: &mut Conn) {
    for &(key, n) in counts {
        let count = increment(given).of(key).by(n).on(day(1));
        assert_eq!(count.execute(conn), Ok(1));
    }
}

/// Reactions as rows, with ids from 1.
fn insert_reactions(of: &[(i64, &str)], conn: &mut Conn) {
    use reactions::{article_id, emoji, id, table};
    for (n, key) in (1..).zip(of) {
        let row = (id.eq(n), article_id.eq(key.0), emoji.eq(key.1));
        let insert = diesel::insert_into(table).values(row);
        insert.execute(conn).unwrap();
    }
}

#[test]
fn a_key_of_two_columns_is_counted_owned_borrowed_and_by_reference() {
    let (conn, _database) = &mut with_tables();
    let key = (1, text("👍"));
    assert_eq!(increment(given).of((1, "👍")).execute(conn), Ok(1));
    let again = [
        increment(given).of(key.clone()).by(2).execute(conn),
        increment(given).of((&1, &text("👍"))).execute(conn),
    ];
    assert_eq!(again, [Ok(super::OF_AN_OLD_ROW), Ok(super::OF_AN_OLD_ROW)]);
    let past = increment(given).of(&key).by(3).on(day(1));
    assert_eq!(past.execute(conn), Ok(1));
    let of_two = [(key.clone(), 2), ((2, text("👍")), 7)];
    assert_eq!(increment(given).of_many(of_two).execute(conn), Ok(2));
    let references = [(&key, 10), (&key, 10)];
    assert_eq!(increment(given).of_many(references).execute(conn), Ok(1));
    for (key, n) in [((1, "👍"), 29_i64), ((2, "👍"), 7), ((2, "🎉"), 0)] {
        assert_eq!(counter_value(given).of(key).get_result(conn), Ok(n));
    }
}

#[test]
fn a_prefix_of_a_key_is_read_and_grouped_by_the_next_columns() {
    use version_counters::{crate_id, day as on, number};

    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    let failed = increment((downloads, failures)).of((1, "2.0"));
    failed.by((0, 5)).on(day(1)).execute(conn).unwrap();

    let value = || counter_value(downloads);
    assert_eq!(value().of((2, "1.0")).get_result(conn), Ok(300_i64));
    assert_eq!(value().of(2).get_result(conn), Ok(4300_i64));
    assert_eq!(value().of(()).get_result(conn), Ok(4321_i64));
    assert_eq!(value().get_result(conn), Ok(4321_i64));
    let both = counter_value((downloads, failures)).of(2).get_result(conn);
    assert_eq!(both, Ok((4300_i64, 0_i64)));
    let of_crates = value().of_many([2, 3, 1, 2]).load(conn);
    assert_eq!(of_crates, Ok(vec![4300, 0, 21, 4300]));
    let keys = [(2, "2.0"), (1, "3.0"), (1, "1.0")];
    let of_versions = value().of_many(&keys).load(conn);
    assert_eq!(of_versions, Ok(vec![4000, 0, 1]));
    let owned = keys.map(|(id, of)| (id, text(of)));
    assert_eq!(value().of_many(owned).load(conn), of_versions);

    let of_crate = value().of(1).group_by(number).load(conn);
    let [first, second] =
        [[1, 20], [300, 4000]].map(|[one, two]| vec![(text("1.0"), one), (text("2.0"), two)]);
    assert_eq!(of_crate, Ok(first.clone()));
    let page = value().of_many([2, 9, 1]).group_by(number).load(conn);
    assert_eq!(page, Ok(vec![second, vec![], first]));
    let of_all = counter_value((downloads, failures)).group_by(crate_id);
    let expected: Vec<(i32, (i64, i64))> = vec![(1, (21, 5)), (2, (4300, 0))];
    assert_eq!(of_all.load(conn), Ok(expected));
    let by_both = counter_value(failures).between(day(1)..=day(2));
    let by_both = by_both.group_by((number, on)).load(conn);
    assert_eq!(by_both, Ok(vec![((text("2.0"), day(1)), 5_i64)]));

    for n in [2, 1] {
        let failed = increment(failures).of((2, "2.0")).by(n.into());
        failed.on(day(n)).execute(conn).unwrap();
    }
    let many = [(2, "2.0"), (1, "3.0"), (1, "2.0")];
    let by_day = counter_value(failures).between(day(1)..=day(2));
    let by_day = by_day.group_by(on).of_many(many).load(conn);
    let expected = [
        vec![(day(1), 1_i64), (day(2), 2)],
        vec![],
        vec![(day(1), 5)],
    ];
    assert_eq!(by_day, Ok(expected.into()));
}

#[test]
fn a_series_is_of_a_prefix() {
    let (conn, _database) = &mut with_tables();
    for (key, on, n) in [((1, "1.0"), 1, 5), ((1, "2.0"), 1, 6), ((2, "1.0"), 3, 7)] {
        let count = increment(downloads).of(key).on(day(on)).by(n);
        count.execute(conn).unwrap();
    }
    let whole = counter_series(downloads).of((1, "2.0")).load(conn);
    assert_eq!(whole, Ok(vec![(day(1), 6)]));
    let of_crate = counter_series(downloads).of(1).between(day(1)..=day(2));
    let expected = vec![(day(1), 11), (day(2), 0)];
    assert_eq!(of_crate.load(conn), Ok(expected));
    let of_all = counter_series(downloads).of(()).load(conn);
    assert_eq!(of_all, Ok(vec![(day(1), 11), (day(2), 0), (day(3), 7)]));
    let months = counter_series(downloads).per(Period::Month);
    let months = months.of_many([2, 1]).load(conn);
    assert_eq!(months, Ok(vec![vec![(day(1), 7)], vec![(day(1), 11)]]));
}

#[test]
fn what_a_query_selects_is_read() {
    let (conn, _database) = &mut with_tables();
    insert_reactions(&[(1, "👍"), (2, "👍"), (4, "👍")], conn);
    let counts = [
        ((1, "👍"), 1),
        ((2, "👍"), 20),
        ((2, "🎉"), 300),
        ((3, "👍"), 4000),
    ];
    react(&counts, conn);
    let first_two = || reactions::table.filter(reactions::id.le(2));
    let articles = || first_two().select(reactions::article_id);
    let pairs = || first_two().select((reactions::article_id, reactions::emoji));

    let value = || counter_value(given);
    assert_eq!(value().of_any(articles()).get_result(conn), Ok(321_i64));
    assert_eq!(value().of_any(pairs()).get_result(conn), Ok(21_i64));
    let by_emoji = value().of_any(articles()).group_by(emoji).load(conn);
    let mut by_emoji: Vec<(String, i64)> = by_emoji.unwrap();
    by_emoji.sort();
    assert_eq!(by_emoji, [(text("🎉"), 300), (text("👍"), 21)]);
    let series = counter_series(given).of_any(pairs()).load(conn);
    assert_eq!(series, Ok(vec![(day(1), 21)]));
    let ranking = || ranking(given).of_any(articles());
    let top: Vec<((i64, String), i64)> = ranking().limit(2).load(conn).unwrap();
    assert_eq!(top, [((2, text("🎉")), 300), ((2, text("👍")), 20)]);
    let top = ranking().group_by(reaction_counters::article_id);
    assert_eq!(top.load(conn), Ok(vec![(2_i64, 320_i64), (1, 1)]));
}

#[test]
fn a_total_in_a_query_is_of_a_label_or_of_a_prefix() {
    let (conn, _database) = &mut with_tables();
    react(&[((1, "👍"), 1), ((2, "👍"), 20), ((2, "🎉"), 300)], conn);
    let of_each = (
        articles::id,
        total(given).of((articles::id, "👍")),
        total(given).of(articles::id),
    );
    let listed = articles::table.order(articles::id).limit(3).select(of_each);
    let listed: Vec<(i64, i64, i64)> = listed.load(conn).unwrap();
    assert_eq!(listed, [(1, 1, 1), (2, 20, 320), (3, 0, 0)]);
    let wanted = text("🎉");
    let with = articles::table.filter(total(given).of((articles::id, &wanted)).gt(1));
    let with = with.select(articles::id).load::<i64>(conn);
    assert_eq!(with, Ok(vec![2]));
    let of_columns = total(given).of((reactions::article_id, reactions::emoji));
    let per_reaction = reactions::table.select(of_columns.on(day(1)));
    assert_eq!(per_reaction.load::<i64>(conn), Ok(vec![]));
}

fn insert_parents(conn: &mut Conn) {
    conn.batch_execute(
        "INSERT INTO crates (id) VALUES (1), (2), (3);
         INSERT INTO versions (crate_id, number)
         VALUES (1, '1.0'), (1, '2.0'), (2, '1.0'), (2, '2.0'), (3, '1.0'), (3, '2.0')",
    )
    .unwrap();
}

#[test]
fn a_parent_has_the_whole_key_or_the_first_columns() {
    let (conn, _database) = &mut with_tables();
    insert_parents(conn);
    count_downloads(conn);

    let of_versions = (versions::crate_id, versions::number, total(downloads));
    let of_versions = versions::table.select(of_versions).limit(2);
    let of_versions = of_versions.order(total(downloads).desc()).load(conn);
    let expected = [(2, text("2.0"), 4000_i64), (2, text("1.0"), 300)];
    assert_eq!(of_versions, Ok(expected.to_vec()));
    let of_crates: Vec<(Crate, i64, i64)> = crates::table
        .order(crates::id)
        .select((
            Crate::as_select(),
            total(downloads).of(crates::id),
            total(crate_counters::downloads),
        ))
        .load(conn)
        .unwrap();
    let of_crates = of_crates.into_iter().map(|(of, a, b)| (of.id, a, b));
    assert!(of_crates.eq([(1, 21, 21), (2, 4300, 4300), (3, 0, 0)]));
    let top = ranking(crate_counters::downloads).group_by(crate_counters::crate_id);
    assert_eq!(top.load(conn), Ok(vec![(2, 4300_i64), (1, 21)]));

    let copy = Version::materialize(downloads, versions::total_downloads);
    assert_eq!(copy.batch(3).execute(conn), Ok(4));
    let of_versions = versions::table.order((versions::crate_id, versions::number));
    let of_versions = of_versions.select(versions::total_downloads).load(conn);
    assert_eq!(of_versions, Ok(vec![1_i64, 20, 300, 4000, 0, 0]));
    let copy = || Crate::materialize(downloads, crates::total_downloads);
    assert_eq!(copy().execute(conn), Ok(2));
    assert_eq!(copy().execute(conn), Ok(0));
    let of_crates = crates::table.order(crates::id);
    let of_crates = of_crates.select(crates::total_downloads).load(conn);
    assert_eq!(of_crates, Ok(vec![21_i64, 4300, 0]));
}

#[test]
fn the_greatest_are_of_a_prefix_or_are_prefixes() {
    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    let version = |id, number, n: i64| ((id, text(number)), n);
    let all = ranking(downloads).limit(2).load(conn);
    let expected = [version(2, "2.0", 4000), version(2, "1.0", 300)];
    assert_eq!(all, Ok(expected.to_vec()));
    let of_crate = ranking(downloads).of(1).load(conn);
    let expected = [version(1, "2.0", 20), version(1, "1.0", 1)];
    assert_eq!(of_crate, Ok(expected.to_vec()));
    let of_2 = ranking(downloads).of(2);
    let of_2 = of_2.group_by(version_counters::number).limit(1).load(conn);
    assert_eq!(of_2, Ok(vec![(text("2.0"), 4000_i64)]));
    let crates = ranking(downloads).group_by(version_counters::crate_id);
    assert_eq!(crates.load(conn), Ok(vec![(2, 4300_i64), (1, 21)]));
}

#[test]
fn a_model_has_the_whole_key_or_a_prefix() {
    let (conn, _database) = &mut with_tables();
    let [one, two] = ["1.0", "2.0"].map(|number| Version {
        crate_id: 7,
        number: text(number),
    });
    one.incr_counter(downloads, conn).unwrap();
    let both = two.incr_counter_by((downloads, failures), (2, 1), conn);
    assert_eq!(both, Ok(()));
    two.incr_counter_by(failures, -1, conn).unwrap();
    assert_eq!(one.counter_value((downloads, failures), conn), Ok((1, 0)));
    let values = Version::counter_values([&two, &one], downloads, conn);
    assert_eq!(values, Ok(vec![2, 1]));
    assert_eq!(set_counter(downloads).of(&two).to(9).execute(conn), Ok(2));

    let of_seven = Crate { id: 7 };
    assert_eq!(of_seven.counter_value(downloads, conn), Ok(10));
    let values = Crate::counter_values([&of_seven], downloads, conn);
    assert_eq!(values, Ok(vec![10]));
    let today = super::utc_today();
    let all = of_seven.daily_counts(downloads, today..=today, conn);
    assert_eq!(all, Ok(vec![(today, 10)]));

    let article = Article { id: 1 };
    react(&[((1, "👍"), 1), ((1, "🎉"), 4), ((2, "👍"), 1)], conn);
    assert_eq!(article.counter_value(given, conn), Ok(5));
    let of_article = delete_counters(reaction_counters::table).of(&article);
    assert_eq!(of_article.execute(conn), Ok(2));
    assert_eq!(counter_value(given).get_result(conn), Ok(1_i64));
    let of_seven = delete_counters(version_counters::table).of(&of_seven);
    assert_eq!(of_seven.execute(conn), Ok(2));
    assert_eq!(counter_value(downloads).get_result(conn), Ok(0_i64));
}

#[test]
fn counts_are_set_and_removed_by_whole_keys_and_by_prefixes() {
    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    let set = set_counter(downloads).of((1, "1.0")).to(5);
    assert_eq!(set.execute(conn), Ok(1));
    assert_eq!(counter_value(downloads).of(1).get_result(conn), Ok(25_i64));

    let remove = || delete_counters(version_counters::table);
    assert_eq!(remove().of((1, "1.0")).execute(conn), Ok(1));
    assert_eq!(remove().of((1, "1.0")).execute(conn), Ok(0));
    let keys = [(2, "1.0"), (2, "9.0")];
    assert_eq!(remove().of_many(keys).execute(conn), Ok(1));
    increment(downloads).of((2, "3.0")).execute(conn).unwrap();
    assert_eq!(remove().of(2).execute(conn), Ok(2));
    let left = counter_value(downloads).group_by(version_counters::crate_id);
    assert_eq!(left.load(conn), Ok(vec![(1, 20_i64)]));
    assert_eq!(remove().of(()).execute(conn), Ok(1));
    assert_eq!(version_counters::table.count().get_result(conn), Ok(0_i64));
}

#[test]
fn counts_are_corrected_from_a_source_with_all_columns() {
    type Drifts = QueryResult<Vec<Drift<(i64, String)>>>;

    let (conn, _database) = &mut with_tables();
    insert_reactions(&[(1, "👍"), (1, "👍"), (1, "🎉"), (2, "👍")], conn);
    react(&[((1, "👍"), 9), ((3, "👍"), 1)], conn);
    let keys = (reactions::article_id, reactions::emoji);
    let source = || {
        let all = (reactions::article_id, reactions::emoji, count_star());
        reactions::table.group_by(keys).select(all)
    };
    let wrong =
        |article, of: &str, stored, actual| Drift::new((article, text(of)), None, stored, actual);
    let of_one: Drifts = recount(given, source()).of(1).execute(conn);
    let mut of_one = of_one.unwrap();
    of_one.sort_by(|a, b| a.entity.cmp(&b.entity));
    assert_eq!(of_one, [wrong(1, "🎉", 0, 1), wrong(1, "👍", 9, 2)]);
    let of_two: Drifts = recount(given, source()).of((2, "👍")).execute(conn);
    assert_eq!(of_two, Ok(vec![wrong(2, "👍", 0, 1)]));
    let drift: Drifts = recount(given, source()).dry_run(conn);
    assert_eq!(drift, Ok(vec![wrong(3, "👍", 1, 0)]));
    let corrected: Drifts = recount(given, source()).execute(conn);
    assert_eq!(corrected, drift);
    let drift: Drifts = recount(given, source()).dry_run(conn);
    assert_eq!(drift, Ok(vec![]));

    let per_day = reactions::table.select((
        reactions::article_id,
        reactions::emoji,
        sql::<diesel::sql_types::Date>("date('2026-03-01')"),
        1_i64.into_sql::<BigInt>(),
    ));
    let drift: Drifts = recount(given, per_day).of((2, "👍")).execute(conn);
    let moved = Drift::new((2, text("👍")), Some(day(1)), 0, 1);
    assert!(drift.unwrap().contains(&moved));
    assert_eq!(counter_value(given).of(2).get_result(conn), Ok(1_i64));
}

#[test]
fn slots_and_days_of_keys_of_several_columns_are_merged() {
    use wide_counters::{hits, table};

    let (conn, _database) = &mut with_tables();
    for (a, d, e) in [(1, "x", 1), (1, "x", 0), (1, "y", 1), (2, "x", 1)] {
        let e = vec![e];
        for (on, index) in [(1, 0), (1, 1), (2, 0)] {
            let count = increment(hits).of((a, 2, 3, d, &e)).on(day(on));
            crate::count_in_slot(index + 1, conn);
            count.execute(conn).unwrap();
        }
    }
    let rows = |conn: &mut Conn| table.count().get_result::<i64>(conn).unwrap();
    let value = counter_value(hits).of((1, 2, 3, "x"));
    assert_eq!(value.get_result(conn), Ok(6_i64));
    let done = compact(table).before(day(3)).batch(5).execute(conn);
    assert_eq!((done.unwrap().left, rows(conn)), (0, 8));
    let done = fold(table).before(day(2)).batch(1).execute(conn).unwrap();
    assert_eq!((done.merged, done.left, rows(conn)), (4, 0, 8));
    type WideKey = (i16, i32, i64, String, Vec<u8>);
    let of_all: Vec<(WideKey, i64)> = ranking(hits).load(conn).unwrap();
    let keys = of_all
        .iter()
        .map(|((a, _, _, d, e), n)| (*a, &**d, e[0], *n));
    let expected = [(1, "x", 0), (1, "x", 1), (1, "y", 1), (2, "x", 1)];
    let expected = expected.map(|(a, d, e)| (a, d, e, 3));
    assert!(keys.eq(expected), "{of_all:?}");
    let removed = delete_counters(table).of((1, 2)).execute(conn);
    assert_eq!((removed, rows(conn)), (Ok(3), 2));
}
