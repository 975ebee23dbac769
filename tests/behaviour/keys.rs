//! Keys of each type, and names of each kind.

use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::deserialize::FromSqlRow;
use diesel::expression::AsExpression;
use diesel::prelude::*;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Binary;
use diesel_counters::dsl::{compact, delete_counters, fold, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::counter_table;
use diesel_counters_tests::schema::file_counters::downloads;
use diesel_counters_tests::schema::{file_counters, page_counters};
use uuid::Uuid;

use super::day;
use crate::{IS_MYSQL, TestDatabase};

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
    let count = increment(downloads).of_many([(one.id, 2), (other.id, 4)]);
    count.execute(&mut conn).unwrap();
    increment(downloads).of(one.id).execute(&mut conn).unwrap();
    assert_eq!(one.counter_value(downloads, &mut conn), Ok(4));
    assert_eq!(other.counter_value(downloads, &mut conn), Ok(4));
}

macro_rules! each_key_is_its_own {
    ($Key:ty: $table:ident::$counter:ident, $keys:expr, $is_refused:expr, $conn:expr) => {{
        let (conn, long_ago) = ($conn, $crate::behaviour::day(2020, 1, 1));
        let mut kept = Vec::new();
        for (key, n) in $keys.into_iter().zip(1..) {
            let one = increment($table::$counter).of(&key).by(n).on(long_ago);
            let count = one.execute(conn);
            let of_many = increment($table::$counter)
                .of_many([(&key, n)])
                .execute(conn);
            let set = set_counter($table::$counter).of(&key).to(3 * n);
            let set = set.execute(conn);
            let value = counter_value($table::$counter)
                .of(&key)
                .get_result::<i64>(conn);
            if $is_refused(&key) {
                let errors = [count.is_err(), of_many.is_err(), set.is_err()];
                assert_eq!(errors, [true; 3], "{key:?}");
                assert_ne!(value, Ok(3 * n), "{key:?}");
            } else {
                assert_eq!((count, of_many, set), (Ok(1), Ok(1), Ok(2 * n)), "{key:?}");
                assert_eq!(value, Ok(3 * n), "{key:?}");
                kept.push((key, 3 * n));
            }
        }
        // Two rows to merge of each key, also on SQLite.
        let rows = || $table::table.filter($table::day.eq(long_ago));
        let in_slot_3 = diesel::update(rows()).set($table::slot.eq(3));
        in_slot_3.execute(conn).unwrap();
        for (key, n) in &mut kept {
            let count = increment($table::$counter).of(&*key).on(long_ago);
            count.execute(conn).unwrap();
            *n += 1;
        }
        for batch in [1, 1_000] {
            let merge = compact($table::table).batch(batch);
            merge.execute(conn).unwrap();
            let left = rows().filter($table::slot.ne(0)).count();
            assert_eq!(left.get_result(conn), Ok(0_i64));
            let merge = fold($table::table)
                .before($crate::behaviour::day(2021, 1, 1))
                .batch(batch);
            merge.execute(conn).unwrap();
        }
        let values = counter_value($table::$counter)
            .of_many(kept.iter().map(|(key, _)| key))
            .load(conn);
        assert_eq!(values, Ok(kept.iter().map(|(_, n)| *n).collect()));
        let mut top: Vec<($Key, i64)> = ranking($table::$counter).load(conn).unwrap();
        top.reverse();
        assert_eq!(top, kept);

        let (one, others) = kept.split_first().unwrap();
        let (gone, left) = others.split_at(others.len() / 2);
        let delete = delete_counters($table::table).of(&one.0);
        assert_eq!(delete.execute(conn), Ok(1));
        let delete = delete_counters($table::table).of_many(gone.iter().map(|(key, _)| key));
        assert_eq!(delete.execute(conn), Ok(gone.len()));
        let mut top: Vec<($Key, i64)> = ranking($table::$counter).load(conn).unwrap();
        top.reverse();
        assert_eq!(top, left);
    }};
}

pub(crate) use each_key_is_its_own;

counter_table!(hour_counters (is_member -> Bool, hour -> Timestamp) (hits));

#[test]
fn keys_of_booleans_and_times_are_folded_and_removed() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let time = if IS_MYSQL { "DATETIME" } else { "TIMESTAMP" };
    let create = format!(
        "CREATE TABLE hour_counters (is_member BOOLEAN NOT NULL, hour {time} NOT NULL, day DATE NOT NULL,
         slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (is_member, hour, day, slot))"
    );
    conn.batch_execute(&create).unwrap();
    let key = |hour| (true, day(2026, 1, 1).and_hms_opt(hour, 0, 0).unwrap());
    for (hour, on) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let count = increment(hour_counters::hits).of(key(hour));
        count.on(day(2026, 1, on)).execute(conn).unwrap();
    }
    let folded = fold(hour_counters::table).before(day(2026, 2, 1));
    assert_eq!(folded.execute(conn).map(|done| done.merged), Ok(4));
    let delete = || delete_counters(hour_counters::table);
    assert_eq!(delete().of(key(1)).execute(conn), Ok(1));
    assert_eq!(delete().of(true).execute(conn), Ok(1));
}

/// On Vitess, these are other statements than on MySQL.
#[test]
fn keys_of_each_type_are_read_in_their_order() {
    use diesel_counters_tests::examples::{reaction_counters, version_counters};

    use super::key_columns::with_tables;
    use diesel_counters_tests::schema::user_counters::visits;

    let (conn, _database) = &mut with_tables();
    macro_rules! counts_are {
        ($counter:expr, $key:expr) => {{
            // Keys 1, 3, 5, … have counts. They are more than one statement reads.
            let counted = (1..=2_501).step_by(2).map(|i: i32| ($key(i), i64::from(i)));
            increment($counter).of_many(counted).execute(conn).unwrap();
            let all: Vec<i32> = (0..=2_502).rev().collect();
            for numbers in [&[3, 2, 1, 3, 1_999][..], &[2], &[], &[5, 5], &all] {
                let keys = numbers.iter().map(|&i| $key(i));
                let values = counter_value($counter).of_many(keys).load(conn);
                let expected = numbers.iter().map(|i| i64::from(i * (i % 2)));
                assert_eq!(values, Ok(expected.collect()));
            }
        }};
    }
    counts_are!(visits, |i| i);
    counts_are!(downloads, |i: i32| i.to_be_bytes().to_vec());
    counts_are!(page_counters::hits, |i| format!("/{i}"));
    counts_are!(version_counters::downloads, |i| (i % 7, format!("{i}")));
    counts_are!(reaction_counters::given, |i| (i64::from(i), "👍"));
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
        "a", "A", "\0", "a\0", "a\0b", "'", "''", "\\", "\\'", "\\0", "\"", "`", "%", "_", "$1",
        "?", "?1", "\n", "\r\n", "\t", " ", " a", "à", "ss", "ß", "ﬁ", "fi", "🦀", "NULL", "0",
        "00", "0x61", "1e1", "{a}", "(1)",
    ];
    let characters = "a\u{300} \u{10ffff} \u{feff} \u{200b} \u{202e}a".split(' ');
    let long = ["{\"a\"}", &long[..255], &long, &longer, &noise];
    let is_refused = |text: &str| match text {
        _ if crate::IS_MYSQL => text.len() > 255,
        _ if !crate::HAS_SLOTS => false,
        text => text.contains('\0') || text == noise,
    };
    let keys = texts.into_iter().chain(characters).chain(long);
    let keys = keys.map(str::to_owned);
    let is_refused = |text: &String| is_refused(text);
    each_key_is_its_own!(String: page_counters::hits, keys, is_refused, &mut conn);
}

#[test]
fn bytes_of_any_kind_are_one_key_or_an_error() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let noise: Vec<u8> = (0..10_000).map(|_| rand::random()).collect();
    let texts = [
        "", "\0", "\0\0", "a", "A", "a\0", "a ", " ", "'", "\\x61", "\\",
    ];
    let bytes: [&[u8]; 2] = [b"\xff\xfe\x80", &noise];
    let keys = texts.map(str::as_bytes).into_iter().chain(bytes);
    let keys = keys.map(<[u8]>::to_vec);
    let is_refused = |key: &Vec<u8>| *key == noise && crate::HAS_SLOTS;
    self::each_key_is_its_own!(Vec<u8>: file_counters::downloads, keys, is_refused, &mut conn);
}
