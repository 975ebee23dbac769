//! Keys of each type, and names of each kind.

use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::deserialize::FromSqlRow;
use diesel::expression::AsExpression;
use diesel::prelude::*;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Binary;
use diesel_counters::dsl::total;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Slot};
use diesel_counters_tests::models::{File, Page, Visitor};
use diesel_counters_tests::schema::file_counters::downloads;
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::user_counters::visits;
use diesel_counters_tests::schema::{articles, file_counters, odd_name, page_counters};
use uuid::Uuid;

use crate::{SCHEMA, TestDatabase, qualified_counters, write_transaction};

#[test]
fn a_key_may_be_an_i32() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let visitor = Visitor {
        id: i32::MIN,
        name: "",
    };
    visitor.incr_counter(visits, &mut conn).unwrap();
    increment(visits)
        .of_many([(i32::MIN, 2), (i32::MAX, 1)])
        .execute(&mut conn)
        .unwrap();
    assert_eq!(visitor.counter_value(visits, &mut conn), Ok(3));
}

#[test]
fn a_key_may_be_text_and_stays_a_value() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let urls = [
        "",
        "/blog?a=1",
        "'; DROP TABLE page_counters; --",
        "straße 🦀",
        "STRASSE 🦀",
    ];
    for (url, n) in urls.into_iter().zip(1..) {
        let page = Page {
            url: url.to_owned(),
        };
        page.incr_counter_by(hits, n, conn).unwrap();
        increment(hits).of(url).execute(conn).unwrap();
        increment(hits).of(url.to_owned()).execute(conn).unwrap();
    }
    increment(hits)
        .of_many(urls.map(|url| (url, 1)))
        .execute(conn)
        .unwrap();
    for (url, n) in urls.into_iter().zip(1..) {
        let page = Page {
            url: url.to_owned(),
        };
        assert_eq!(page.counter_value(hits, conn), Ok(n + 3), "{url}");
    }
}

#[test]
fn a_key_may_be_bytes() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let file = File(vec![0, 39, 255, 0]);
    file.incr_counter(downloads, &mut conn).unwrap();
    increment(downloads)
        .of_many([(vec![0_u8, 39, 255, 0], 2), (vec![], 1)])
        .execute(&mut conn)
        .unwrap();
    assert_eq!(file.counter_value(downloads, &mut conn), Ok(3));
}

/// A type of an application's own: a UUID in sixteen bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = Binary)]
struct FileId(Uuid);

impl<DB: Backend> ToSql<Binary, DB> for FileId
where
    [u8]: ToSql<Binary, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        self.0.as_bytes().as_slice().to_sql(out)
    }
}

#[derive(HasCounters)]
#[counters(table_name = file_counters)]
struct NamedFile {
    id: FileId,
}

#[test]
fn a_key_may_be_of_the_applications_own_type() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let [one, other] = [(); 2].map(|()| NamedFile {
        id: FileId(Uuid::new_v4()),
    });
    one.incr_counter(downloads, &mut conn).unwrap();
    increment(downloads)
        .of_many([(one.id, 2), (other.id, 4)])
        .execute(&mut conn)
        .unwrap();
    increment(downloads).of(one.id).execute(&mut conn).unwrap();
    assert_eq!(one.counter_value(downloads, &mut conn), Ok(4));
    assert_eq!(other.counter_value(downloads, &mut conn), Ok(4));
}

macro_rules! each_key_is_its_own {
    ($Key:ty: $counter:expr, $table:expr, $keys:expr, $is_refused:expr, $conn:expr) => {{
        let (conn, long_ago) = ($conn, super::day(2020, 1, 1));
        let mut kept = Vec::new();
        for (key, n) in $keys.into_iter().zip(1..) {
            let count = increment($counter)
                .of(&key)
                .by(n)
                .on(long_ago)
                .execute(conn);
            let of_many = increment($counter).of_many([(&key, n)]).execute(conn);
            let set = set_counter($counter).of(&key).to(3 * n).execute(conn);
            let value = counter_value($counter).of(&key).get_result::<i64>(conn);
            if $is_refused(&key) {
                let errors = [
                    count.is_err(),
                    of_many.is_err(),
                    set.is_err(),
                    value != Ok(3 * n),
                ];
                assert_eq!(errors, [true; 4], "{key:?}");
            } else {
                assert_eq!((count, of_many, set), (Ok(1), Ok(1), Ok(2 * n)), "{key:?}");
                assert_eq!(value, Ok(3 * n), "{key:?}");
                kept.push((key, 3 * n));
            }
        }
        for batch in [1, 1_000] {
            compact($table).batch(batch).execute(conn).unwrap();
            fold($table)
                .before(super::day(2021, 1, 1))
                .batch(batch)
                .execute(conn)
                .unwrap();
        }
        let values = counter_value($counter)
            .of_many(kept.iter().map(|(key, _)| key))
            .load(conn);
        assert_eq!(values, Ok(kept.iter().map(|(_, n)| *n).collect()));
        let mut top: Vec<($Key, i64)> = ranking($counter).load(conn).unwrap();
        top.reverse();
        assert_eq!(top, kept);

        let (one, others) = kept.split_first().unwrap();
        let (gone, left) = others.split_at(others.len() / 2);
        assert_eq!(delete_counters($table).of(&one.0).execute(conn), Ok(1));
        let delete = delete_counters($table).of_many(gone.iter().map(|(key, _)| key));
        assert_eq!(delete.execute(conn), Ok(gone.len()));
        let mut top: Vec<($Key, i64)> = ranking($counter).load(conn).unwrap();
        top.reverse();
        assert_eq!(top, left);
    }};
}

/// What a key is, or an error that stores nothing: never another key.
#[test]
fn a_text_of_any_kind_is_one_key_or_an_error() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let long = "x".repeat(10_000);
    let longer = format!("{long}x");
    // Of which no database can compress the index entry.
    let noise: String = (0..4_000).map(|_| rand::random_range('!'..='~')).collect();
    let texts = [
        "a",
        "A",
        "\0",
        "a\0",
        "a\0b",
        "'",
        "''",
        "\\",
        "\\'",
        "\\0",
        "\"",
        "`",
        "%",
        "_",
        "$1",
        "?",
        "?1",
        "\n",
        "\r\n",
        "\t",
        " ",
        " a",
        "a\u{300}",
        "à",
        "ss",
        "ß",
        "ﬁ",
        "fi",
        "🦀",
        "\u{10ffff}",
        "\u{feff}",
        "\u{200b}",
        "\u{202e}a",
        "NULL",
        "0",
        "00",
        "0x61",
        "1e1",
        "{a}",
        "{\"a\"}",
        "(1)",
        &long[..255],
        &long,
        &longer,
        &noise,
    ];
    let is_refused = |text: &str| match text {
        _ if crate::IS_MYSQL => text.len() > 255,
        _ if !crate::HAS_SLOTS => false,
        text => text.contains('\0') || text == noise,
    };
    let keys = texts.map(str::to_owned);
    each_key_is_its_own!(String: hits,
        page_counters::table,
        keys,
        |text: &String| is_refused(text),
        &mut conn
    );
}

#[test]
fn bytes_of_any_kind_are_one_key_or_an_error() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let noise: Vec<u8> = (0..10_000).map(|_| rand::random()).collect();
    let bytes: [&[u8]; 13] = [
        b"",
        b"\0",
        b"\0\0",
        b"a",
        b"A",
        b"a\0",
        b"a ",
        b" ",
        b"'",
        b"\\x61",
        b"\\",
        b"\xff\xfe\x80",
        &noise,
    ];
    let keys = bytes.map(<[u8]>::to_vec);
    let is_refused = |key: &Vec<u8>| *key == noise && crate::HAS_SLOTS;
    each_key_is_its_own!(Vec<u8>: downloads, file_counters::table, keys, is_refused, &mut conn);
}

#[test]
fn tables_and_columns_of_any_name_are_quoted() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let visitor = Visitor { id: 1, name: "" };
    let _: &str = visitor.name;
    let conn = &mut conn;
    for _ in 0..2 {
        increment((odd_name::views_, odd_name::gr_e))
            .of(1)
            .by((2, 3))
            .execute(conn)
            .unwrap();
    }
    increment(odd_name::gr_e)
        .of_many([(1, 1), (2, 1)])
        .execute(conn)
        .unwrap();
    let value = counter_value((odd_name::gr_e, odd_name::views_))
        .of(1)
        .get_result::<(i64, i64)>(conn);
    assert_eq!(value, Ok((7, 4)));
}

#[test]
fn a_table_may_be_in_another_schema() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let [create, drop] = SCHEMA;
    conn.batch_execute(create).unwrap();
    let table = {
        let name = diesel::debug_query::<<crate::Conn as Connection>::Backend, _>(
            &qualified_counters::table.select(qualified_counters::views),
        )
        .to_string();
        let (_, table) = name.split_once("FROM ").unwrap();
        table.split(" --").next().unwrap().to_owned()
    };
    conn.batch_execute(&format!(
        "CREATE TABLE {table} (entity_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
         views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (entity_id, day, slot))"
    ))
    .unwrap();
    for _ in 0..2 {
        increment(qualified_counters::views)
            .of(1_i64)
            .execute(conn)
            .unwrap();
    }
    let result = use_all_of_a_qualified_table(conn);
    conn.batch_execute(drop).unwrap();
    result.unwrap();
}

/// Every statement that there is, on entity 1, which was counted twice.
fn use_all_of_a_qualified_table(conn: &mut crate::Conn) -> QueryResult<()> {
    use qualified_counters::{table, views};

    let long_ago = super::day(2020, 1, 1);
    let old = increment(views).of(1_i64).on(long_ago);
    old.slot(Slot::Random).execute(conn)?;
    increment(views)
        .of_many([(1_i64, 1), (2, 3)])
        .execute(conn)?;

    assert_eq!(counter_value(views).of(1_i64).get_result(conn), Ok(4_i64));
    let values = counter_value(views).of_many(&[1_i64, 2, 3]).load(conn);
    assert_eq!(values, Ok(vec![4, 3, 0]));
    let bars = counter_series(views).of(1_i64).between(..).load(conn)?;
    assert_eq!(bars[0], (long_ago, 1));
    let top: Vec<(i64, i64)> = ranking(views).limit(1).load(conn)?;
    assert_eq!(top, [(1, 4)]);
    let totals: Vec<i64> = articles::table
        .select(total(views).of(articles::id))
        .order(articles::id)
        .limit(2)
        .load(conn)?;
    assert_eq!(totals, [4, 3]);

    let merged = compact(table).execute(conn)?.merged;
    assert_eq!(merged, u64::from(crate::HAS_SLOTS));
    fold(table).before(super::day(2026, 1, 1)).execute(conn)?;
    assert_eq!(counter_value(views).of(1_i64).get_result(conn), Ok(4_i64));

    assert_eq!(set_counter(views).of(1_i64).to(10).execute(conn), Ok(4));
    let set = write_transaction(conn, |conn| {
        set_counter(views).of(1_i64).to(20).execute(conn)
    });
    assert_eq!(set, Ok(10));
    let none = articles::table
        .filter(articles::id.eq(2))
        .select((articles::id, articles::total_views));
    let drift: Vec<Drift<i64>> = recount(views, none).execute(conn)?;
    assert_eq!(drift.len(), 2);
    assert_eq!(delete_counters(table).of(1_i64).execute(conn), Ok(1));
    let both = delete_counters(table).of_many(&[1_i64, 2]);
    assert_eq!(both.execute(conn), Ok(1));
    assert_eq!(table.count().get_result(conn), Ok(0_i64));
    Ok(())
}
