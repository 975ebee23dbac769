//! Keys of several columns, and prefixes of them.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter, total};
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period, Slot, counting_transaction};
use diesel_counters_tests::schema::articles;

use crate::{Conn, IS_MYSQL, TestDatabase};

diesel::table! {
    crates (id) {
        id -> Integer,
        total_downloads -> BigInt,
    }
}

diesel::table! {
    versions (crate_id, number) {
        crate_id -> Integer,
        number -> Text,
        total_downloads -> BigInt,
    }
}

diesel::table! {
    version_counters (crate_id, number, day, slot) {
        crate_id -> Integer,
        number -> Text,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
        failures -> BigInt,
    }
}
diesel_counters::counter_table! {
    version_counters {
        parent = (versions::crate_id, versions::number),
        parent = crates::id,
    }
}

diesel::table! {
    /// The same table, whose only parent has the first column of the key.
    #[sql_name = "version_counters"]
    crate_counters (crate_id, number, day, slot) {
        crate_id -> Integer,
        number -> Text,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
    }
}
diesel_counters::counter_table!(crate_counters { parent = crates::id });

diesel::table! {
    reactions (id) {
        id -> BigInt,
        article_id -> BigInt,
        emoji -> Text,
    }
}

diesel::table! {
    reaction_counters (article_id, emoji, day, slot) {
        article_id -> BigInt,
        emoji -> Text,
        day -> Date,
        slot -> SmallInt,
        given -> BigInt,
    }
}
diesel_counters::counter_table!(reaction_counters);

diesel::table! {
    wide_counters (a, b, c, d, e, day, slot) {
        a -> SmallInt,
        b -> Integer,
        c -> BigInt,
        d -> Text,
        e -> Binary,
        day -> Date,
        slot -> SmallInt,
        hits -> BigInt,
    }
}
diesel_counters::counter_table!(wide_counters);

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
    let (text, bytes) = match (IS_MYSQL, cfg!(feature = "postgres")) {
        (true, _) => (
            "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "VARBINARY(16)",
        ),
        (false, true) => ("TEXT", "BYTEA"),
        (false, false) => ("TEXT", "BLOB"),
    };
    let counter_table = |name: &str, key: &str, columns: &str, counters: &[&str]| {
        let counters: String = counters
            .iter()
            .map(|counter| format!("{counter} BIGINT NOT NULL DEFAULT 0, "))
            .collect();
        format!(
            "CREATE TABLE {name} ({columns}, day DATE NOT NULL, slot SMALLINT NOT NULL, {counters}
             PRIMARY KEY ({key}, day, slot));"
        )
    };
    let tables = [
        "CREATE TABLE crates (id INTEGER NOT NULL PRIMARY KEY, total_downloads BIGINT NOT NULL DEFAULT 0);".to_owned(),
        format!(
            "CREATE TABLE versions (crate_id INTEGER NOT NULL, number {text} NOT NULL,
                 total_downloads BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (crate_id, number));"
        ),
        counter_table(
            "version_counters",
            "crate_id, number",
            &format!("crate_id INTEGER NOT NULL, number {text} NOT NULL"),
            &["downloads", "failures"],
        ),
        format!(
            "CREATE TABLE reactions (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL,
                 emoji {text} NOT NULL);"
        ),
        counter_table(
            "reaction_counters",
            "article_id, emoji",
            &format!(
                "article_id BIGINT NOT NULL {}, emoji {text} NOT NULL",
                if IS_MYSQL { "" } else { "REFERENCES articles (id) ON DELETE CASCADE" }
            ),
            &["given"],
        ),
        counter_table(
            "wide_counters",
            "a, b, c, d, e",
            &format!(
                "a SMALLINT NOT NULL, b INTEGER NOT NULL, c BIGINT NOT NULL, d {text} NOT NULL, e {bytes} NOT NULL"
            ),
            &["hits"],
        ),
    ];
    conn.batch_execute(&tables.concat()).unwrap();
    (conn, database)
}

/// Versions 1.0 and 2.0 of crates 1 and 2 have been downloaded 1, 20, 300 and 4000 times.
fn count_downloads(conn: &mut Conn) {
    let counts = [
        ((2, "2.0"), 4000),
        ((1, "1.0"), 1),
        ((2, "1.0"), 300),
        ((1, "2.0"), 20),
    ];
    assert_eq!(increment(downloads).of_many(counts).execute(conn), Ok(4));
}

#[test]
fn a_key_of_two_columns_is_counted_owned_borrowed_and_by_reference() {
    let (conn, _database) = &mut with_tables();
    let key = (1, text("👍"));
    let of_two = [(&key, 2), (&(2, text("👍")), 7)].map(|(key, n)| (key.clone(), n));
    assert_eq!(increment(given).of((1, "👍")).execute(conn), Ok(1));
    let again = increment(given).of(key.clone()).by(2).execute(conn);
    assert_eq!(again, Ok(super::OF_AN_OLD_ROW));
    assert_eq!(
        increment(given).of(&key).by(3).on(day(1)).execute(conn),
        Ok(1)
    );
    let again = increment(given).of((&1, &text("👍"))).execute(conn);
    assert_eq!(again, Ok(super::OF_AN_OLD_ROW));
    assert_eq!(increment(given).of_many(of_two).execute(conn), Ok(2));
    let references = [(&key, 10), (&key, 10)];
    assert_eq!(increment(given).of_many(references).execute(conn), Ok(1));
    assert_eq!(counter_value(given).of(&key).get_result(conn), Ok(29_i64));
    assert_eq!(
        counter_value(given).of((2, "👍")).get_result(conn),
        Ok(7_i64)
    );
    assert_eq!(
        counter_value(given).of((2, "🎉")).get_result(conn),
        Ok(0_i64)
    );
}

#[test]
fn a_prefix_of_a_key_is_read() {
    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    let of = |conn: &mut Conn| {
        let of_version: i64 = counter_value(downloads).of((2, "1.0")).get_result(conn)?;
        let of_crate: i64 = counter_value(downloads).of(2).get_result(conn)?;
        let of_all: i64 = counter_value(downloads).of(()).get_result(conn)?;
        QueryResult::Ok((of_version, of_crate, of_all))
    };
    assert_eq!(of(conn), Ok((300, 4300, 4321)));
    assert_eq!(counter_value(downloads).get_result(conn), Ok(4321_i64));
    let both = counter_value((downloads, failures)).of(2).get_result(conn);
    assert_eq!(both, Ok((4300_i64, 0_i64)));

    let of_crates: Vec<i64> = counter_value(downloads)
        .of_many([2, 3, 1, 2])
        .load(conn)
        .unwrap();
    assert_eq!(of_crates, [4300, 0, 21, 4300]);
    let keys = [(2, "2.0"), (1, "3.0"), (1, "1.0")];
    let of_versions: Vec<i64> = counter_value(downloads).of_many(&keys).load(conn).unwrap();
    assert_eq!(of_versions, [4000, 0, 1]);
    let owned = keys.map(|(id, number)| (id, text(number)));
    let of_versions: Vec<i64> = counter_value(downloads).of_many(owned).load(conn).unwrap();
    assert_eq!(of_versions, [4000, 0, 1]);
}

#[test]
fn counts_are_grouped_by_the_next_columns() {
    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    increment((downloads, failures))
        .of((1, "2.0"))
        .by((0, 5))
        .on(day(1))
        .execute(conn)
        .unwrap();

    let of_crate: Vec<(String, i64)> = counter_value(downloads)
        .of(1)
        .group_by(version_counters::number)
        .load(conn)
        .unwrap();
    assert_eq!(of_crate, [(text("1.0"), 1), (text("2.0"), 20)]);
    let of_all: Vec<(i32, (i64, i64))> = counter_value((downloads, failures))
        .group_by(version_counters::crate_id)
        .load(conn)
        .unwrap();
    assert_eq!(of_all, [(1, (21, 5)), (2, (4300, 0))]);
    let by_both = counter_value(failures)
        .between(day(1)..=day(2))
        .group_by((version_counters::number, version_counters::day));
    assert_eq!(by_both.load(conn), Ok(vec![((text("2.0"), day(1)), 5_i64)]));

    let page: Vec<Vec<(String, i64)>> = counter_value(downloads)
        .of_many([2, 9, 1])
        .group_by(version_counters::number)
        .load(conn)
        .unwrap();
    let [first, second] =
        [[300, 4000], [1, 20]].map(|[of_1, of_2]| vec![(text("1.0"), of_1), (text("2.0"), of_2)]);
    assert_eq!(page, [first, vec![], second]);
}

#[test]
fn a_series_is_of_a_prefix() {
    let (conn, _database) = &mut with_tables();
    for (key, on, n) in [((1, "1.0"), 1, 5), ((1, "2.0"), 1, 6), ((2, "1.0"), 3, 7)] {
        increment(downloads)
            .of(key)
            .on(day(on))
            .by(n)
            .execute(conn)
            .unwrap();
    }
    let whole = counter_series(downloads).of((1, "2.0")).load(conn);
    assert_eq!(whole, Ok(vec![(day(1), 6)]));
    let of_crate = counter_series(downloads)
        .of(1)
        .between(day(1)..=day(2))
        .load(conn);
    assert_eq!(of_crate, Ok(vec![(day(1), 11), (day(2), 0)]));
    let of_all = counter_series(downloads).of(()).load(conn);
    assert_eq!(of_all, Ok(vec![(day(1), 11), (day(2), 0), (day(3), 7)]));
    let months = counter_series(downloads)
        .per(Period::Month)
        .of_many([2, 1])
        .load(conn);
    assert_eq!(months, Ok(vec![vec![(day(1), 7)], vec![(day(1), 11)]]));
}

#[test]
fn what_a_query_selects_is_read() {
    let (conn, _database) = &mut with_tables();
    for (id, article) in [(1, 1), (2, 2), (3, 4)] {
        diesel::insert_into(reactions::table)
            .values((
                reactions::id.eq(id),
                reactions::article_id.eq(article),
                reactions::emoji.eq("👍"),
            ))
            .execute(conn)
            .unwrap();
    }
    let counts = [
        ((1, "👍"), 1),
        ((2, "👍"), 20),
        ((2, "🎉"), 300),
        ((3, "👍"), 4000),
    ];
    for (key, n) in counts {
        increment(given)
            .of(key)
            .by(n)
            .on(day(1))
            .execute(conn)
            .unwrap();
    }
    let first_two = || reactions::table.filter(reactions::id.le(2));
    let articles = || first_two().select(reactions::article_id);
    let pairs = || first_two().select((reactions::article_id, reactions::emoji));

    assert_eq!(
        counter_value(given).of_any(articles()).get_result(conn),
        Ok(321_i64)
    );
    assert_eq!(
        counter_value(given).of_any(pairs()).get_result(conn),
        Ok(21_i64)
    );
    let by_emoji = counter_value(given)
        .of_any(articles())
        .group_by(emoji)
        .load(conn);
    let mut by_emoji: Vec<(String, i64)> = by_emoji.unwrap();
    by_emoji.sort();
    assert_eq!(by_emoji, [(text("🎉"), 300), (text("👍"), 21)]);
    let series = counter_series(given).of_any(pairs()).load(conn);
    assert_eq!(series, Ok(vec![(day(1), 21)]));
    let top: Vec<((i64, String), i64)> = ranking(given)
        .of_any(articles())
        .limit(2)
        .load(conn)
        .unwrap();
    assert_eq!(top, [((2, text("🎉")), 300), ((2, text("👍")), 20)]);
    let top: Vec<(i64, i64)> = ranking(given)
        .of_any(articles())
        .group_by(reaction_counters::article_id)
        .load(conn)
        .unwrap();
    assert_eq!(top, [(2, 320), (1, 1)]);
}

#[test]
fn a_total_in_a_query_is_of_a_label_or_of_a_prefix() {
    let (conn, _database) = &mut with_tables();
    for (key, n) in [((1, "👍"), 1), ((2, "👍"), 20), ((2, "🎉"), 300)] {
        increment(given)
            .of(key)
            .by(n)
            .on(day(1))
            .execute(conn)
            .unwrap();
    }
    let listed: Vec<(i64, i64, i64)> = articles::table
        .order(articles::id)
        .limit(3)
        .select((
            articles::id,
            total(given).of((articles::id, "👍")),
            total(given).of(articles::id),
        ))
        .load(conn)
        .unwrap();
    assert_eq!(listed, [(1, 1, 1), (2, 20, 320), (3, 0, 0)]);
    let wanted = text("🎉");
    let with: Vec<i64> = articles::table
        .filter(total(given).of((articles::id, &wanted)).gt(1))
        .select(articles::id)
        .load(conn)
        .unwrap();
    assert_eq!(with, [2]);
    let per_reaction = reactions::table
        .select(
            total(given)
                .of((reactions::article_id, reactions::emoji))
                .on(day(1)),
        )
        .load::<i64>(conn);
    assert_eq!(per_reaction, Ok(vec![]));
}

fn insert_parents(conn: &mut Conn) {
    for id in 1..=3 {
        diesel::insert_into(crates::table)
            .values(crates::id.eq(id))
            .execute(conn)
            .unwrap();
        for number in ["1.0", "2.0"] {
            diesel::insert_into(versions::table)
                .values((versions::crate_id.eq(id), versions::number.eq(number)))
                .execute(conn)
                .unwrap();
        }
    }
}

#[test]
fn a_parent_has_the_whole_key_or_the_first_columns() {
    let (conn, _database) = &mut with_tables();
    insert_parents(conn);
    count_downloads(conn);

    let of_versions: Vec<(i32, String, i64)> = versions::table
        .order(total(downloads).desc())
        .limit(2)
        .select((versions::crate_id, versions::number, total(downloads)))
        .load(conn)
        .unwrap();
    assert_eq!(of_versions, [(2, text("2.0"), 4000), (2, text("1.0"), 300)]);
    let of_crates: Vec<(Crate, i64, i64)> = crates::table
        .order(crates::id)
        .select((
            Crate::as_select(),
            total(downloads).of(crates::id),
            total(crate_counters::downloads),
        ))
        .load(conn)
        .unwrap();
    assert_eq!(
        of_crates,
        [
            (Crate { id: 1 }, 21, 21),
            (Crate { id: 2 }, 4300, 4300),
            (Crate { id: 3 }, 0, 0)
        ]
    );
    let top = ranking(crate_counters::downloads).group_by(crate_counters::crate_id);
    let most: Vec<(i32, i64)> = top.load(conn).unwrap();
    assert_eq!(most, [(2, 4300), (1, 21)]);
    let top = ranking(downloads).limit(1);
    let most: Vec<((i32, String), i64)> = top.load(conn).unwrap();
    assert_eq!(most, [((2, text("2.0")), 4000)]);
}

#[test]
fn totals_are_copied_into_each_parent() {
    let (conn, _database) = &mut with_tables();
    insert_parents(conn);
    count_downloads(conn);

    let versions_first = Version::materialize(downloads, versions::total_downloads);
    assert_eq!(versions_first.batch(3).execute(conn), Ok(4));
    let of_versions: Vec<i64> = versions::table
        .order((versions::crate_id, versions::number))
        .select(versions::total_downloads)
        .load(conn)
        .unwrap();
    assert_eq!(of_versions, [1, 20, 300, 4000, 0, 0]);
    let copy = || Crate::materialize(downloads, crates::total_downloads);
    assert_eq!(copy().dry_run(conn).unwrap().different, 2);
    assert_eq!(copy().execute(conn), Ok(2));
    assert_eq!(copy().execute(conn), Ok(0));
    let of_crates: Vec<i64> = crates::table
        .order(crates::id)
        .select(crates::total_downloads)
        .load(conn)
        .unwrap();
    assert_eq!(of_crates, [21, 4300, 0]);
}

#[test]
fn the_greatest_are_of_a_prefix_or_are_prefixes() {
    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    let of_all: Vec<((i32, String), i64)> = ranking(downloads).limit(2).load(conn).unwrap();
    assert_eq!(of_all, [((2, text("2.0")), 4000), ((2, text("1.0")), 300)]);
    let of_crate: Vec<((i32, String), i64)> = ranking(downloads).of(1).load(conn).unwrap();
    assert_eq!(of_crate, [((1, text("2.0")), 20), ((1, text("1.0")), 1)]);
    let versions_of_2: Vec<(String, i64)> = ranking(downloads)
        .of(2)
        .group_by(version_counters::number)
        .limit(1)
        .load(conn)
        .unwrap();
    assert_eq!(versions_of_2, [(text("2.0"), 4000)]);
    let crates: Vec<(i32, i64)> = ranking(downloads)
        .group_by(version_counters::crate_id)
        .load(conn)
        .unwrap();
    assert_eq!(crates, [(2, 4300), (1, 21)]);
    assert_eq!(Crate::top(downloads, 1, .., conn), Ok(vec![(2, 4300)]));
}

#[test]
fn a_model_has_the_whole_key_or_a_prefix() {
    let (conn, _database) = &mut with_tables();
    let [one, two] = ["1.0", "2.0"].map(|number| Version {
        crate_id: 7,
        number: text(number),
    });
    one.incr_counter(downloads, conn).unwrap();
    two.incr_counter_by((downloads, failures), (2, 1), conn)
        .unwrap();
    two.incr_counter_by(failures, -1, conn).unwrap();
    assert_eq!(one.counter_value((downloads, failures), conn), Ok((1, 0)));
    assert_eq!(
        Version::counter_values([&two, &one], downloads, conn),
        Ok(vec![2, 1])
    );
    assert_eq!(two.set_counter(downloads, 9, conn), Ok(2));
    let today = chrono::Utc::now().date_naive();
    assert_eq!(two.counter_value_on(downloads, today, conn), Ok(9));

    let of_seven = Crate { id: 7 };
    assert_eq!(of_seven.counter_value(downloads, conn), Ok(10));
    assert_eq!(
        Crate::counter_values([&of_seven], downloads, conn),
        Ok(vec![10])
    );
    let all = of_seven.daily_counts(downloads, today..=today, conn);
    assert_eq!(all, Ok(vec![(today, 10)]));

    let (article, other) = (Article { id: 1 }, Article { id: 2 });
    let of = |key| increment(given).of(key);
    of((article.id, "👍")).execute(conn).unwrap();
    of((article.id, "🎉")).by(4).execute(conn).unwrap();
    of((other.id, "👍")).execute(conn).unwrap();
    assert_eq!(article.counter_value(given, conn), Ok(5));
    let party = delete_counters(reaction_counters::table).of((article.id, "🎉"));
    assert_eq!(party.execute(conn), Ok(1));
    assert_eq!(article.counter_value(given, conn), Ok(1));
    assert_eq!(article.delete_counters(conn), Ok(1));
    assert_eq!(counter_value(given).get_result(conn), Ok(1_i64));
    // Both of the model's tables are the same table.
    assert_eq!(of_seven.delete_counters(conn), Ok(2));
    assert_eq!(counter_value(downloads).get_result(conn), Ok(0_i64));
}

#[test]
fn a_transaction_gathers_keys_of_several_columns() {
    let (conn, _database) = &mut with_tables();
    counting_transaction(conn, |tx| {
        tx.count(increment(given).of((2, text("👍"))));
        tx.count(increment(given).of((1, text("👍"))).by(2));
        tx.count(increment(given).of_many([((2, text("👍")), 3), ((1, text("🎉")), 1)]));
        QueryResult::Ok(())
    })
    .unwrap();
    let all: Vec<((i64, String), i64)> = counter_value(given)
        .group_by((reaction_counters::article_id, emoji))
        .load(conn)
        .unwrap();
    let mut all = all;
    all.sort();
    let expected = [((1, "🎉"), 1), ((1, "👍"), 2), ((2, "👍"), 4)];
    assert_eq!(all, expected.map(|((id, of), n)| ((id, text(of)), n)));
}

#[test]
fn counts_are_set_and_removed_by_whole_keys_and_by_prefixes() {
    let (conn, _database) = &mut with_tables();
    count_downloads(conn);
    assert_eq!(
        set_counter(downloads).of((1, "1.0")).to(5).execute(conn),
        Ok(1)
    );
    assert_eq!(counter_value(downloads).of(1).get_result(conn), Ok(25_i64));

    let removed = delete_counters(version_counters::table)
        .of((1, "1.0"))
        .execute(conn);
    assert_eq!(removed, Ok(1));
    let removed = delete_counters(version_counters::table)
        .of((1, "1.0"))
        .execute(conn);
    assert_eq!(removed, Ok(0));
    let keys = [(2, "1.0"), (2, "9.0")];
    let removed = delete_counters(version_counters::table)
        .of_many(keys)
        .execute(conn);
    assert_eq!(removed, Ok(1));
    increment(downloads).of((2, "3.0")).execute(conn).unwrap();
    let removed = delete_counters(version_counters::table)
        .under(2)
        .execute(conn);
    assert_eq!(removed, Ok(2));
    let left: Vec<(i32, i64)> = counter_value(downloads)
        .group_by(version_counters::crate_id)
        .load(conn)
        .unwrap();
    assert_eq!(left, [(1, 20)]);
    assert_eq!(
        delete_counters(version_counters::table)
            .under(())
            .execute(conn),
        Ok(1)
    );
    assert_eq!(version_counters::table.count().get_result(conn), Ok(0_i64));
}

#[test]
fn a_deleted_parent_takes_the_counters_of_all_labels() {
    let (conn, _database) = &mut with_tables();
    for key in [(1, "👍"), (1, "🎉"), (2, "👍")] {
        increment(given).of(key).execute(conn).unwrap();
    }
    diesel::delete(articles::table.find(1))
        .execute(conn)
        .unwrap();
    if IS_MYSQL {
        // The table has no foreign key there.
        assert_eq!(Article { id: 1 }.delete_counters(conn), Ok(2));
    }
    assert_eq!(counter_value(given).of(1).get_result(conn), Ok(0_i64));
    assert_eq!(counter_value(given).get_result(conn), Ok(1_i64));
}

#[test]
fn counts_are_corrected_from_a_source_with_all_columns() {
    let (conn, _database) = &mut with_tables();
    for (id, (article, of)) in (1..).zip([(1, "👍"), (1, "👍"), (1, "🎉"), (2, "👍")]) {
        diesel::insert_into(reactions::table)
            .values((
                reactions::id.eq(id),
                reactions::article_id.eq(article),
                reactions::emoji.eq(of),
            ))
            .execute(conn)
            .unwrap();
    }
    increment(given).of((1, "👍")).by(9).execute(conn).unwrap();
    increment(given).of((3, "👍")).by(1).execute(conn).unwrap();
    let source = || {
        reactions::table
            .group_by((reactions::article_id, reactions::emoji))
            .select((reactions::article_id, reactions::emoji, count_star()))
    };
    let wrong = |article, of: &str, stored, actual| Drift {
        entity: (article, text(of)),
        day: None,
        stored,
        actual,
    };
    let of_one: Vec<Drift<(i64, String)>> =
        recount(given, source()).under(1).execute(conn).unwrap();
    let mut of_one = of_one;
    of_one.sort_by(|a, b| a.entity.cmp(&b.entity));
    assert_eq!(of_one, [wrong(1, "🎉", 0, 1), wrong(1, "👍", 9, 2)]);
    assert_eq!(recount(given, source()).of((2, "👍")).execute(conn), Ok(1));
    let drift: Vec<Drift<(i64, String)>> = recount(given, source()).dry_run(conn).unwrap();
    assert_eq!(drift, [wrong(3, "👍", 1, 0)]);
    let drift: Vec<Drift<(i64, String)>> = recount(given, source()).batch(1).execute(conn).unwrap();
    assert_eq!(drift, [wrong(3, "👍", 1, 0)]);
    assert_eq!(
        recount(given, source()).dry_run::<(i64, String), _>(conn),
        Ok(vec![])
    );
    let per_day = reactions::table.select((
        reactions::article_id,
        reactions::emoji,
        sql::<diesel::sql_types::Date>(if cfg!(feature = "postgres") {
            "DATE '2026-03-01'"
        } else {
            "DATE('2026-03-01')"
        }),
        1_i64.into_sql::<BigInt>(),
    ));
    let drift: Vec<Drift<(i64, String)>> = recount(given, per_day)
        .under((2, "👍"))
        .execute(conn)
        .unwrap();
    assert!(
        drift
            .iter()
            .any(|one| one.entity == (2, text("👍")) && one.day == Some(day(1)) && one.actual == 1)
    );
    assert_eq!(counter_value(given).of(2).get_result(conn), Ok(1_i64));
}

#[test]
fn slots_and_days_of_keys_of_several_columns_are_merged() {
    let (conn, _database) = &mut with_tables();
    for (a, d, e) in [
        (1, "x", vec![1_u8]),
        (1, "x", vec![0]),
        (1, "y", vec![1]),
        (2, "x", vec![1]),
    ] {
        for (on, index) in [(1, 0), (1, 1), (2, 0)] {
            let slot = Slot::Partition { index, of: 4 };
            increment(wide_counters::hits)
                .of((a, 2, 3, d, &e))
                .on(day(on))
                .slot(slot)
                .execute(conn)
                .unwrap();
        }
    }
    let rows = |conn: &mut Conn| {
        wide_counters::table
            .count()
            .get_result::<i64>(conn)
            .unwrap()
    };
    assert_eq!(
        counter_value(wide_counters::hits)
            .of((1, 2, 3, "x"))
            .get_result(conn),
        Ok(6_i64)
    );
    let done = compact(wide_counters::table)
        .before(day(3))
        .batch(5)
        .execute(conn)
        .unwrap();
    assert_eq!(done.left, 0);
    assert_eq!(rows(conn), 8);
    let done = fold(wide_counters::table)
        .before(day(2))
        .batch(1)
        .execute(conn)
        .unwrap();
    assert_eq!((done.merged, done.left), (4, 0));
    assert_eq!(rows(conn), 8);
    type WideKey = (i16, i32, i64, String, Vec<u8>);
    let of_all: Vec<(WideKey, i64)> = ranking(wide_counters::hits).load(conn).unwrap();
    let keys: Vec<_> = of_all
        .iter()
        .map(|((a, _, _, d, e), n)| (*a, &**d, e[0], *n))
        .collect();
    assert_eq!(
        keys,
        [
            (1, "x", 0, 3),
            (1, "x", 1, 3),
            (1, "y", 1, 3),
            (2, "x", 1, 3)
        ]
    );
    let removed = delete_counters(wide_counters::table)
        .under((1, 2))
        .execute(conn);
    assert_eq!(removed, Ok(3));
    assert_eq!(rows(conn), 2);
}

#[test]
fn many_keys_of_several_columns_are_counted_and_read() {
    let (conn, _database) = &mut with_tables();
    let keys = || (0..700).map(|i| (i % 7, format!("{:03}.0", i / 7)));
    let counted = increment(downloads)
        .of_many(keys().map(|key| (key, 1)))
        .execute(conn);
    assert_eq!(counted, Ok(700));
    let page: Vec<_> = keys().rev().collect();
    let read = counter_value(downloads).of_many(&page).load(conn);
    assert_eq!(read, Ok(vec![1; 700]));
    let removed = delete_counters(version_counters::table)
        .of_many(&page[..600])
        .execute(conn);
    assert_eq!(removed, Ok(600));
    assert_eq!(counter_value(downloads).get_result(conn), Ok(100_i64));
}
