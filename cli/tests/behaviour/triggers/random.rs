//! Random statements on several connections, compared with the rows after each transaction.

use std::{env, thread};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::{ForeignKeyViolation, UniqueViolation};
use diesel::result::Error;
use diesel::sql_types::BigInt;
use diesel_counters::is_retryable;
use rand::prelude::*;
use rand::rngs::StdRng;

use super::{integer, open};
use crate::{BACKEND, Conn, TestDatabase};

#[test]
fn counts_equal_the_rows_after_each_transaction() {
    for is_rows_first in [true, false] {
        run(&counted(is_rows_first, false), false, is_rows_first);
    }
}

#[test]
fn days_equal_those_of_the_rows_after_each_transaction() {
    for is_rows_first in [true, false] {
        run(&counted(is_rows_first, true), true, is_rows_first);
    }
}

/// The likes of an article count in slots, in columns of all sizes, and in the only row of a table.
/// Those of some articles count in another column, and an owner has those of all articles.
const DEFINITIONS: &str = r#"
    [[trigger]]
    name = "count_likes"
    rows = "article_likes"
    count = [
        "article_id:article_counters.likes", "article_id:article_counters.comments=stars",
        "user_id:user_counters.stars=stars", "site_counters.likes",
        ":site.likes", "article_id:articles.like_count", "user_id:users.stars=stars",
    ]
    when = "approved AND stars <> 3"
    day = "created_at"

    [[trigger]]
    name = "count_local"
    rows = "article_likes"
    count = ["article_id:articles.local_count"]
    only = "id <> 3"

    [[trigger]]
    name = "count_owned"
    rows = "articles"
    count = ["owner_id:owners.likes"]
    by = "like_count"
"#;

fn counted(is_rows_first: bool, by_day: bool) -> TestDatabase {
    let database = super::tables(is_rows_first);
    database.execute(
        "CREATE TABLE owners (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE site (id BIGINT NOT NULL PRIMARY KEY, likes INTEGER NOT NULL DEFAULT 0);
         INSERT INTO owners (id) VALUES (1);
         INSERT INTO site (id) VALUES (7);
         ALTER TABLE articles ADD COLUMN owner_id BIGINT NOT NULL DEFAULT 1;
         ALTER TABLE articles ADD COLUMN like_count INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE articles ADD COLUMN local_count SMALLINT NOT NULL DEFAULT 0;
         ALTER TABLE users ADD COLUMN stars SMALLINT NOT NULL DEFAULT 0;
         UPDATE articles SET local_count = 77 WHERE id = 3",
    );
    let without_days = DEFINITIONS.replace("day = \"created_at\"", "");
    let definitions = if by_day { DEFINITIONS } else { &without_days };
    database.count(definitions);
    database
}

const THREADS: u64 = 4;

/// Of each thread. A transaction has four statements on average.
fn transactions_of_a_thread() -> u64 {
    let given = env::var("RANDOM_TRANSACTIONS");
    given.map_or(150, |number| number.parse().unwrap())
}

/// The seed of the first thread. Each other thread has the next one.
fn first_seed() -> u64 {
    let given = env::var("RANDOM_SEED");
    given.map_or_else(|_| rand::random(), |seed| seed.parse().unwrap())
}

fn run(database: &TestDatabase, by_day: bool, is_rows_first: bool) {
    let first = first_seed();
    let outcomes = thread::scope(|scope| {
        let threads = (0..THREADS).map(|i| {
            let seed = first.wrapping_add(i);
            scope.spawn(move || transactions(database, by_day, seed))
        });
        let threads: Vec<_> = threads.collect();
        let mut outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
        let first = outcomes.next().unwrap();
        outcomes.fold(first, |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    });
    let [committed, failed] = outcomes;
    println!("{BACKEND} rows first {is_rows_first}: {committed} committed, {failed} failed");
    // Transactions that write the same rows fail, most of all where gaps are locked.
    assert!(committed > transactions_of_a_thread(), "{failed} failed");
    database.assert_agrees();
    database.command("check article_counters").works();
}

/// Returns how many transactions committed, and how many failed.
fn transactions(database: &TestDatabase, by_day: bool, seed: u64) -> [u64; 2] {
    let conn = &mut open(database);
    let rng = &mut StdRng::seed_from_u64(seed);
    let (mut committed, mut log) = (0, Vec::new());
    let transactions = transactions_of_a_thread();
    for _ in 0..transactions {
        log.clear();
        log.push(format!("RANDOM_SEED={seed}"));
        match transaction(rng, &mut log, conn) {
            Ok(()) => committed += 1,
            Err(_) => conn.batch_execute("ROLLBACK").unwrap(),
        }
        let wrong = diesel::sql_query(wrong_counts(by_day)).load::<Wrong>(conn);
        let wrong = wrong.unwrap();
        assert!(wrong.is_empty(), "{wrong:?}, after {log:#?}");
    }
    [committed, transactions - committed]
}

fn transaction(rng: &mut StdRng, log: &mut Vec<String>, conn: &mut Conn) -> QueryResult<()> {
    let mut execute = |statement: String| {
        let result = conn.batch_execute(&statement);
        log.push(format!("{statement} {result:?}"));
        assert!(
            result.as_ref().map_or_else(could_fail, |()| true),
            "{log:#?}"
        );
        result
    };
    execute(match BACKEND {
        "sqlite" => "BEGIN IMMEDIATE".to_owned(),
        _ => "BEGIN".to_owned(),
    })?;
    for _ in 0..rng.random_range(1..8) {
        match rng.random_range(0..12) {
            0 => {
                execute("SAVEPOINT here".to_owned())?;
                // PostgreSQL requires it after an error.
                let _ = execute(statement(rng));
                execute("ROLLBACK TO SAVEPOINT here".to_owned())?;
            }
            1 => {
                execute("SAVEPOINT here".to_owned())?;
                execute(statement(rng))?;
                execute("RELEASE SAVEPOINT here".to_owned())?;
            }
            _ => execute(statement(rng))?,
        }
    }
    execute(match rng.random_range(0..8) {
        0 => "ROLLBACK".to_owned(),
        _ => "COMMIT".to_owned(),
    })
}

/// Whether a constraint or another transaction can have refused a statement.
fn could_fail(error: &Error) -> bool {
    // On MySQL and MariaDB, Diesel does not tell the kind of an error of `batch_execute`.
    const OF_MYSQL: [&str; 2] = ["Duplicate entry", "a foreign key constraint fails"];
    let text = error.to_string();
    let is_refused = match error {
        Error::DatabaseError(UniqueViolation | ForeignKeyViolation, _) => true,
        _ => OF_MYSQL.iter().any(|refusal| text.contains(refusal)),
    };
    // A deadlock of MySQL ends the transaction, and with it the savepoint.
    let has_no_savepoint = text == "SAVEPOINT here does not exist";
    is_refused || has_no_savepoint || is_retryable(error)
}

fn statement(rng: &mut StdRng) -> String {
    let id = rng.random_range(1..40);
    let [one, two] = [0; 2].map(|_| rng.random_range(1..6));
    let key = match rng.random_range(0..5) {
        0 => "NULL".to_owned(),
        _ => one.to_string(),
    };
    let column = ["article_id", "user_id"][rng.random_range(0..2)];
    let mut rows = |number: usize| {
        let rows = (0..number).map(|_| {
            let (id, stars) = (rng.random_range(1..40), rng.random_range(-1..6));
            let [article, user] = [0; 2].map(|_| rng.random_range(1..6));
            let (approved, day) = (rng.random_range(0..4) > 0, rng.random_range(1..4));
            let user = match user {
                5 => "NULL".to_owned(),
                user => user.to_string(),
            };
            format!("({id}, {article}, {user}, {stars}, {approved}, '2026-01-0{day} 23:30:00')")
        });
        rows.collect::<Vec<_>>().join(", ")
    };
    let (one_row, rows) = (rows(1), rows(4));
    const COLUMNS: &str = "(id, article_id, user_id, stars, approved, created_at)";
    let insert = format!("INSERT INTO article_likes {COLUMNS} VALUES");
    let (ignore, update) = match BACKEND {
        "mysql" => (
            format!("INSERT IGNORE INTO article_likes {COLUMNS} VALUES {rows}"),
            format!(
                "{insert} {one_row} ON DUPLICATE KEY UPDATE stars = stars + 1, article_id = {two}"
            ),
        ),
        _ => (
            format!("{insert} {rows} ON CONFLICT DO NOTHING"),
            format!(
                "{insert} {one_row} ON CONFLICT (id) DO UPDATE SET stars = article_likes.stars + 1, article_id = {two}"
            ),
        ),
    };
    match rng.random_range(0..22) {
        0..=3 => format!(
            "{insert} ({}, {one}, NULL, {two}, TRUE, '2026-01-02 01:00:00')",
            rng.random_range(40..i64::MAX)
        ),
        4..=7 => ignore,
        8..=9 => update,
        10 if BACKEND == "sqlite" && rng.random() => {
            format!("UPDATE OR REPLACE article_likes SET id = {id} WHERE stars = {one}")
        }
        10 => match BACKEND {
            "postgres" => format!(
                "INSERT INTO article_likes (id, article_id, stars) \
                 SELECT id + 20, article_id, 2 FROM article_likes WHERE id < {id} ON CONFLICT DO NOTHING"
            ),
            _ => format!("REPLACE INTO article_likes {COLUMNS} VALUES {rows}"),
        },
        11 => format!("UPDATE article_likes SET {column} = {key} WHERE id = {id}"),
        12 if BACKEND == "mysql" => format!(
            "UPDATE IGNORE article_likes SET id = id % 20, article_id = {one} WHERE id > {id}"
        ),
        12 => format!("UPDATE article_likes SET article_id = {one} WHERE user_id IS NULL"),
        13 => format!("UPDATE article_likes SET stars = stars + {one} WHERE article_id = {two}"),
        14 => format!("UPDATE article_likes SET approved = NOT approved WHERE id < {id}"),
        15 => {
            format!("UPDATE article_likes SET created_at = '2026-01-04 12:00:00' WHERE id > {id}")
        }
        16 => "UPDATE article_likes SET stars = stars, article_id = article_id".to_owned(),
        17 => format!("DELETE FROM article_likes WHERE id = {id}"),
        18 => format!("DELETE FROM article_likes WHERE article_id = {one} OR user_id = {two}"),
        19 => format!(
            "DELETE FROM articles WHERE id = {one}; INSERT INTO articles (id) VALUES ({one})"
        ),
        20 => format!("DELETE FROM users WHERE id = {one}; INSERT INTO users (id) VALUES ({one})"),
        _ if BACKEND == "postgres" && rng.random_range(0..4) == 0 => {
            "TRUNCATE article_likes".to_owned()
        }
        _ => format!("DELETE FROM article_likes WHERE stars = {one}"),
    }
}

/// A counter and an entity with another count than the rows.
#[derive(Debug, QueryableByName)]
#[allow(dead_code, reason = "it is printed")]
struct Wrong {
    #[diesel(sql_type = BigInt)]
    c: i64,
    #[diesel(sql_type = BigInt)]
    k: i64,
    #[diesel(sql_type = BigInt)]
    too_few: i64,
}

/// The entities and days that have another count than the rows, in one snapshot.
fn wrong_counts(by_day: bool) -> String {
    let [of_rows, of_counters, of_columns] = match by_day {
        true => ["date(created_at)", "day", "date('1970-01-01')"],
        false => ["0", "0", "0"],
    };
    let of = |[of_rows, of_stored]: [&str; 2], entity, counted, key, stored: &str| {
        format!(
            "SELECT {entity} AS k, {of_rows} AS d, {counted} AS n FROM article_likes \
             WHERE approved AND stars <> 3 AND {entity} IS NOT NULL \
             UNION ALL SELECT {key}, {of_stored}, -{stored}"
        )
    };
    let (days, none) = ([of_rows, of_counters], [of_columns; 2]);
    let [article, user] = ["article_id", "user_id"];
    let counters = [
        of(none, article, "1", "id", "like_count FROM articles"),
        of(none, user, "stars", "id", "stars FROM users"),
        of(days, article, "1", article, "likes FROM article_counters"),
        of(
            days,
            article,
            "stars",
            article,
            "comments FROM article_counters",
        ),
        of(days, user, "stars", user, "stars FROM user_counters"),
        of(days, "0", "1", "0", "likes FROM site_counters"),
        of(none, "0", "1", "0", "likes FROM site"),
        "SELECT owner_id AS k, 0 AS d, like_count AS n FROM articles
         UNION ALL SELECT id, 0, -likes FROM owners"
            .to_owned(),
        "SELECT article_id AS k, 0 AS d, 1 AS n FROM article_likes
         WHERE article_id <> 3 UNION ALL SELECT id, 0, -local_count FROM articles WHERE id <> 3
         UNION ALL SELECT 3, 0, local_count FROM articles WHERE local_count NOT IN (0, 77) AND id = 3"
            .to_owned(),
    ];
    let number = integer();
    let counters = counters.iter().enumerate().map(|(i, rows)| {
        format!(
            "SELECT CAST({i} AS {number}) AS c, CAST(k AS {number}) AS k, CAST(SUM(n) AS {number}) AS too_few \
             FROM ({rows}) AS counter_{i} GROUP BY k, d HAVING SUM(n) <> 0"
        )
    });
    counters.collect::<Vec<_>>().join(" UNION ALL ")
}
