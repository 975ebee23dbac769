//! "Without stopping the old program", a section of docs/coming-from.md: the SQL as it stands there.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use diesel_counters::dsl::{compact, total};
use diesel_counters::prelude::*;
use diesel_counters::retry;

use crate::behaviour::wait_until;
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase, write_transaction};

const CHAPTER: &str = include_str!("../../../docs/coming-from.md");

diesel::table! {
    articles (id) { id -> BigInt, title -> Text, views -> Integer, likes -> Nullable<Integer>, reads -> BigInt }
}
diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt, day -> Date, slot -> SmallInt,
        views -> BigInt, likes -> BigInt, comments -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters { parent = articles::id });
diesel::allow_tables_to_appear_in_same_query!(articles, article_counters);
diesel::define_sql_function! { fn coalesce(count: Nullable<BigInt>, otherwise: BigInt) -> BigInt; }

/// The articles 1 to 5, with columns that the old program counts in.
fn with_columns() -> TestDatabase {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    for column in [
        "views INTEGER NOT NULL DEFAULT 0",
        "likes INTEGER",
        "reads BIGINT NOT NULL DEFAULT 0",
    ] {
        let add = format!("ALTER TABLE articles ADD COLUMN {}", named(column));
        conn.batch_execute(&add).unwrap();
    }
    database
}

/// MySQL has a keyword `reads`.
fn named(column: &str) -> String {
    match column.strip_prefix("reads") {
        Some(rest) if IS_MYSQL => format!("`reads`{rest}"),
        _ => column.to_owned(),
    }
}

/// What the old program runs for a view.
fn view_as_before(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let column = articles::views.eq(articles::views + 1);
    diesel::update(articles::table.find(id))
        .set(column)
        .execute(conn)
}

/// What the new program runs for a view.
fn view(id: i64, conn: &mut Conn) -> QueryResult<()> {
    write_transaction(conn, |conn| {
        increment(article_counters::views).of(id).execute(conn)?;
        Ok(())
    })
}

/// What the new program shows.
fn shown(conn: &mut Conn) -> Vec<i64> {
    let views = total(article_counters::views) + articles::views.cast::<BigInt>();
    let shown = articles::table.select(views).order(articles::id);
    shown.load(conn).unwrap()
}

/// The migration that moves the column's counts.
fn migration() -> String {
    let (_, section) = CHAPTER.split_once("### Without stopping").unwrap();
    let begins = match IS_MYSQL {
        true => "```sql mysql\n",
        false => "```sql postgres sqlite\n",
    };
    let (_, block) = section.split_once(begins).unwrap();
    let (sql, _) = block.split_once("```").unwrap();
    let (lock, rest) = sql.split_once('\n').unwrap();
    let is_sqlite = !HAS_SLOTS && lock.starts_with("LOCK TABLE");
    if is_sqlite { rest } else { sql }.to_owned()
}

/// Runs it in a transaction, as Diesel does.
fn move_counts(conn: &mut Conn) -> QueryResult<()> {
    conn.transaction(|conn| conn.batch_execute(&migration()))
}

fn columns(conn: &mut Conn) -> Vec<i32> {
    let columns = articles::table.select(articles::views);
    columns.order(articles::id).load(conn).unwrap()
}

fn slots(conn: &mut Conn) -> Vec<i64> {
    let ids = [1_i64, 2, 3, 4, 5];
    let slots = counter_value(article_counters::views).of_many(&ids);
    slots.load(conn).unwrap()
}

#[test]
fn a_move_changes_no_sum() {
    let database = with_columns();
    let conn = &mut database.connect();
    let set =
        "UPDATE articles SET views = 100 WHERE id = 1; UPDATE articles SET views = -3 WHERE id = 2";
    conn.batch_execute(set).unwrap();
    view(1, conn).unwrap();
    view(3, conn).unwrap();
    let expected = vec![101, -3, 1, 0, 0];
    assert_eq!(shown(conn), expected);
    assert_eq!(slots(conn), [1, 0, 1, 0, 0]);
    move_counts(conn).unwrap();
    assert_eq!(shown(conn), expected);
    assert_eq!(slots(conn), expected);
    assert_eq!(columns(conn), [0; 5]);
    // The old counts have no day.
    let undated = chrono::NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
    let of_1 = counter_value(article_counters::views).of(1_i64);
    assert_eq!(of_1.on(undated).get_result(conn), Ok(100));
}

/// What an old process counts after the move is in the column. The same statements move it before the
/// column goes.
#[test]
fn an_old_process_that_lives_on_loses_nothing() {
    let database = with_columns();
    let conn = &mut database.connect();
    for _ in 0..3 {
        view_as_before(1, conn).unwrap();
    }
    move_counts(conn).unwrap();
    for id in [1, 1, 4] {
        view_as_before(id, conn).unwrap();
    }
    assert_eq!(shown(conn), [5, 0, 0, 1, 0]);
    assert_eq!(slots(conn), [3, 0, 0, 0, 0]);
    let drop = format!("{}ALTER TABLE articles DROP COLUMN views;", migration());
    conn.transaction(|conn| conn.batch_execute(&drop)).unwrap();
    assert_eq!(slots(conn), [5, 0, 0, 1, 0]);
    assert!(view_as_before(1, conn).is_err());
}

#[derive(Debug, PartialEq, Queryable, Selectable)]
#[diesel(table_name = articles)]
struct Article {
    id: i64,
    #[diesel(select_expression = total(article_counters::comments) + articles::reads)]
    reads: i64,
    #[diesel(select_expression = total(article_counters::views) + articles::views.cast::<BigInt>())]
    views: i64,
    #[diesel(select_expression = total(article_counters::likes) + coalesce(articles::likes.cast::<Nullable<BigInt>>(), 0_i64))]
    likes: i64,
}

/// Columns that are a `BIGINT`, an `INTEGER`, and an `INTEGER` that can be NULL.
#[test]
fn the_sum_is_an_expression_whatever_the_type_of_the_column() {
    let database = with_columns();
    let conn = &mut database.connect();
    let likes = |likes: Option<i32>| articles::likes.eq(likes);
    for (id, reads, views, liked) in [(1_i64, 10_i64, i32::MAX, Some(7)), (2, 0, 3, None)] {
        let set = (
            articles::reads.eq(reads),
            articles::views.eq(views),
            likes(liked),
        );
        let article = articles::table.find(id);
        diesel::update(article).set(set).execute(conn).unwrap();
    }
    let counters = (
        article_counters::views,
        article_counters::likes,
        article_counters::comments,
    );
    for (id, by) in [(1_i64, (1, 2, 3)), (2, (4, 5, 6))] {
        increment(counters).of(id).by(by).execute(conn).unwrap();
    }
    let article = |id, reads, views, likes| Article {
        id,
        reads,
        views,
        likes,
    };
    let one = || article(1, 13, i64::from(i32::MAX) + 1, 9);
    let two = || article(2, 6, 7, 5);
    let query = articles::table.select(Article::as_select());
    let first = query.filter(articles::id.le(2)).order(articles::id);
    assert_eq!(first.load(conn), Ok(vec![one(), two()]));

    let views = || total(article_counters::views) + articles::views.cast::<BigInt>();
    let most = query.order((views().desc(), articles::id)).limit(1);
    assert_eq!(most.load(conn), Ok(vec![one()]));
    let few = query.into_boxed().filter(views().between(1, 10));
    assert_eq!(few.load(conn), Ok(vec![two()]));
}

/// A program's views: how many it has begun to count, and how many the database has answered.
#[derive(Default)]
struct Program {
    begun: AtomicI64,
    answered: AtomicI64,
    has_ended: AtomicBool,
}

impl Program {
    /// Counts views until the program ends.
    fn run(&self, client: i64, conn: &mut Conn, view: impl Fn(i64, &mut Conn) -> QueryResult<()>) {
        for number in client.. {
            if self.has_ended.load(SeqCst) {
                return;
            }
            self.begun.fetch_add(1, SeqCst);
            view(1 + number % 5, conn).unwrap();
            self.answered.fetch_add(1, SeqCst);
        }
    }

    /// Waits until the database has answered so many more.
    fn has_counted(&self, more: i64) -> bool {
        let before = self.answered.load(SeqCst);
        wait_until(|| self.has_ended.load(SeqCst) || self.answered.load(SeqCst) >= before + more)
    }
}

/// Ends programs, also when the test fails.
struct Ends<'p>([&'p Program; 2], &'p AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0
            .iter()
            .for_each(|program| program.has_ended.store(true, SeqCst));
        self.1.store(true, SeqCst);
    }
}

/// Everything that the database had answered is in a read, and nothing that had not begun.
fn read(programs: [&Program; 2], conn: &mut Conn) {
    let sum = |of: fn(&Program) -> &AtomicI64| -> i64 {
        programs
            .map(|program| of(program).load(SeqCst))
            .iter()
            .sum()
    };
    let answered = sum(|program| &program.answered);
    let shown: i64 = shown(conn).into_iter().sum();
    let begun = sum(|program| &program.begun);
    let holds = (answered..=begun).contains(&shown);
    assert!(holds, "answered {answered}, shown {shown}, begun {begun}");
}

/// The isolation levels at which the migration runs.
fn levels() -> &'static [&'static str] {
    match HAS_SLOTS {
        true if IS_MYSQL => &[
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ],
        true => &[
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ],
        false => &[""],
    }
}

#[test]
fn no_view_is_lost_or_seen_twice_while_both_programs_count() {
    for level in levels() {
        let database = &with_columns();
        let conn = &mut database.connect();
        conn.batch_execute(level).unwrap();
        let (old, new) = (&Program::default(), &Program::default());
        let no_reader = &AtomicBool::new(false);
        thread::scope(|scope| {
            let ends = Ends([old, new], no_reader);
            // SQLite has one writer, and its lock is not fair.
            let (clients, moves, views) = if HAS_SLOTS { (4, 5, 20) } else { (1, 1, 2) };
            for client in 0..clients {
                scope.spawn(move || {
                    let view = |id, conn: &mut Conn| view_as_before(id, conn).map(drop);
                    old.run(client, &mut database.connect(), view);
                });
                scope.spawn(move || new.run(client, &mut database.connect(), view));
            }
            let reader = scope.spawn(|| {
                let conn = &mut database.connect();
                while !no_reader.load(SeqCst) {
                    read([old, new], conn);
                }
            });
            // Merges lock rows of the same table. Those of SQLite would leave the lock to nobody else.
            scope.spawn(|| {
                let conn = &mut database.connect();
                while HAS_SLOTS && !no_reader.load(SeqCst) {
                    let tomorrow = chrono::Utc::now().date_naive() + chrono::Days::new(1);
                    let merge = compact(article_counters::table).before(tomorrow);
                    merge.execute(conn).unwrap();
                }
            });
            for _ in 0..moves {
                assert!(old.has_counted(views) && new.has_counted(views));
                retry().run(conn, move_counts).unwrap();
            }
            old.has_ended.store(true, SeqCst);
            assert!(new.has_counted(views));
            assert!(!reader.is_finished());
            drop(ends);
        });
        move_counts(conn).unwrap();
        assert_eq!(columns(conn), [0; 5]);
        let answered = old.answered.load(SeqCst) + new.answered.load(SeqCst);
        assert_eq!(slots(conn).into_iter().sum::<i64>(), answered);
    }
}
