//! Counting in memory, and writing from a thread.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use diesel::connection::{
    AnsiTransactionManager, InstrumentationEvent, SimpleConnection, TransactionManager,
};
use diesel::prelude::*;
use diesel::r2d2::{ManageConnection, Pool, PooledConnection};
use diesel::sql_types::{BigInt, Text};
use diesel_counters::buffer::{BufferError, Write};
use diesel_counters::dsl::CounterBufferBuilder;
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, CounterBuffer, Slot, is_overflow, with_default_slot};
use diesel_counters_tests::article_counters;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::{article_counters, articles, site_counters};

use super::{PATIENCE, article, day, insert_articles, views_on, wait_until};
use crate::{Conn, TestDatabase};

/// A database that can be away, and what the pool's connections do in it.
pub struct Connections {
    database: TestDatabase,
    is_away: AtomicBool,
    /// The number of transactions.
    pub transactions: AtomicUsize,
    /// Whether they panic when they insert.
    pub panics: AtomicBool,
}

pub struct Manager(Arc<Connections>);

impl ManageConnection for Manager {
    type Connection = Conn;
    type Error = ConnectionError;

    fn connect(&self) -> Result<Conn, ConnectionError> {
        let connections = Arc::clone(&self.0);
        if connections.is_away.load(SeqCst) {
            return Err(ConnectionError::BadConnection("it is away".into()));
        }
        let mut conn = connections.database.connect();
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
            InstrumentationEvent::BeginTransaction { depth, .. } if depth.get() == 1 => {
                connections.transactions.fetch_add(1, SeqCst);
            }
            InstrumentationEvent::StartQuery { query, .. } => {
                let is_a_write = query.to_string().contains("INTO");
                let panics = connections.panics.load(SeqCst);
                assert!(!is_a_write || !panics, "as the test wants");
            }
            _ => {}
        });
        Ok(conn)
    }

    fn is_valid(&self, _conn: &mut Conn) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn has_broken(&self, _conn: &mut Conn) -> bool {
        thread::panicking()
    }
}

type Pooled = PooledConnection<Manager>;
pub type Buffer = CounterBuffer<Pooled>;

pub struct Test {
    pub conn: Conn,
    pub pool: Pool<Manager>,
    pub connections: Arc<Connections>,
}

const SHORT: Duration = Duration::from_millis(200);
const NEVER: Duration = Duration::from_secs(1_000_000);

impl Test {
    pub fn new() -> Self {
        Self::with_timeout(PATIENCE)
    }

    /// Whose pool waits for this time for a connection.
    pub fn with_timeout(time: Duration) -> Self {
        let connections = Arc::new(Connections {
            database: TestDatabase::with_tables(),
            is_away: false.into(),
            transactions: 0.into(),
            panics: false.into(),
        });
        let pool = Pool::builder()
            .max_size(1)
            .min_idle(Some(0))
            .connection_timeout(time)
            .error_handler(Box::new(diesel::r2d2::NopErrorHandler))
            .build_unchecked(Manager(Arc::clone(&connections)));
        Test {
            conn: connections.database.connect(),
            pool,
            connections,
        }
    }

    pub fn set_away(&self, is_away: bool) {
        self.connections.is_away.store(is_away, SeqCst);
    }

    /// Which writes only what `flush` writes.
    pub fn builder(&self) -> CounterBufferBuilder<Pooled> {
        let pool = self.pool.clone();
        CounterBuffer::builder(move || pool.get()).every(NEVER)
    }

    pub fn buffer(&self) -> Buffer {
        self.builder().start().unwrap()
    }

    pub fn views(&mut self, id: i64) -> i64 {
        article(id).counter_value(views, &mut self.conn).unwrap()
    }

    /// Flushes until the busy machine had a connection in time.
    pub fn flush(&self, buffer: &Buffer) -> Write {
        loop {
            let write = buffer.flush();
            if !had_no_connection(&write) {
                return write;
            }
        }
    }
}

fn had_no_connection(write: &Write) -> bool {
    matches!(write.error, Some(BackgroundError::Connection(_)))
}

#[test]
fn counts_of_all_kinds_are_written_once() {
    let mut test = Test::new();
    let buffer = test.buffer();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..100 {
                    buffer.count(increment(views).of(1 + i % 2)).unwrap();
                    let both = increment((likes, comments)).of(1_i64).by((2, -1));
                    buffer.count(both).unwrap();
                }
            });
        }
    });
    let long_ago = day(2020, 2, 29);
    let count = increment(views).of(3_i64).on(long_ago).by(7);
    buffer.count(count).unwrap();
    let many = increment(views).of_many([(3_i64, 1), (4, 2), (3, 1)]);
    buffer.count(many).unwrap();
    let count = increment(hits).of("/a".to_owned()).by(2);
    buffer.count(count).unwrap();
    buffer.count(increment(hits).of("/a").by(3)).unwrap();
    buffer.count(increment(site_counters::hits)).unwrap();
    buffer.count(increment(views).of(5_i64).by(0)).unwrap();
    assert_eq!(test.views(1), 0);

    let write = test.flush(&buffer);
    assert!(write.error.is_none() && write.refused.is_empty(), "{write}");
    // Of article 3 a row for each day; of the others one, for all counters.
    assert_eq!(write.written, 7, "{write}");
    assert_eq!(write.pending, 0);
    assert_eq!([2, 3, 4, 5].map(|id| test.views(id)), [200, 9, 2, 0]);
    let conn = &mut test.conn;
    let n = article(1).counter_value((views, likes, comments), conn);
    assert_eq!(n, Ok((200, 800, -400)));
    assert_eq!(views_on(3, long_ago, conn), Ok(7));
    let page = counter_value(hits).of("/a").get_result::<i64>(conn);
    assert_eq!(page, Ok(5));
    let site = counter_value(site_counters::hits).get_result::<i64>(conn);
    assert_eq!(site, Ok(1));

    assert_eq!(test.flush(&buffer).written, 0);
    drop(buffer);
    assert_eq!(test.views(1), 200);
}

#[test]
fn what_is_pending_can_be_read() {
    let test = Test::with_timeout(SHORT);
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64).by(3)).unwrap();
    let count = increment((views, likes)).of(1_i64).by((1, 5));
    buffer.count(count).unwrap();
    let count = increment(views).of(1_i64).by(2).on(day(2020, 1, 1));
    buffer.count(count).unwrap();
    assert_eq!(buffer.pending_of(views, &1_i64), 6);
    assert_eq!(buffer.pending_of((likes, views), &1_i64), (5, 6));
    assert_eq!(buffer.pending_of(views, &2_i64), 0);
    assert_eq!(buffer.pending_of(hits, &"1".to_owned()), 0);
    let keys = format!("pending: {}", buffer.pending());
    let shown = format!("{buffer:?}");
    assert!(shown.contains(&keys), "{shown}");

    // What waits in the backlog is pending too.
    test.set_away(true);
    let write = buffer.flush();
    assert!(had_no_connection(&write), "{write}");
    assert_eq!(write.pending, 2);
    buffer.count(increment(views).of(1_i64)).unwrap();
    assert_eq!(buffer.pending_of(views, &1_i64), 7);

    test.set_away(false);
    assert_eq!(test.flush(&buffer).pending, 0);
    assert_eq!(buffer.pending_of(views, &1_i64), 0);
}

#[test]
fn sums_can_leave_the_range_of_an_i64_in_between() {
    let mut test = Test::new();
    let buffer = test.buffer();
    for amount in [i64::MAX, i64::MAX, 5, -i64::MAX, -i64::MAX, -2] {
        let count = increment((views, likes)).of(1_i64).by((amount, 1));
        buffer.count(count).unwrap();
    }
    assert_eq!(buffer.pending_of((views, likes), &1_i64), (3, 6));
    assert_eq!(test.flush(&buffer).written, 1);
    let both = article(1).counter_value((views, likes), &mut test.conn);
    assert_eq!(both, Ok((3, 6)));
}

#[test]
fn nothing_is_written_and_reported_where_nothing_is_pending() {
    let test = Test::with_timeout(SHORT);
    test.set_away(true);
    let (reports, report) = channel();
    let report_it = move |write: &Write| reports.send(write.written).unwrap();
    let buffer = test.builder().on_write(report_it).start().unwrap();
    let write = buffer.flush();
    assert!(write.error.is_none(), "{write}");
    drop(buffer);
    assert_eq!(report.iter().count(), 0);
}

#[test]
fn the_end_writes() {
    let mut test = Test::new();
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64)).unwrap();
    drop(buffer);
    assert_eq!(test.views(1), 1);
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let shown = buffer.stop().to_string();
    let is_of_one_row = shown.starts_with("1 row written in") && shown.ends_with(" s");
    assert!(is_of_one_row, "{shown}");
    assert_eq!(test.views(1), 2);
    // What comes later is refused.
    let later = buffer.count(increment(views).of(1_i64));
    assert_eq!(later, Err(BufferError::Stopped));
    drop(buffer);
    assert_eq!(test.views(1), 2);
}

/// Whoever counts, and whoever flushes.
#[test]
fn all_counts_are_in_the_slot_of_the_thread_that_starts_it() {
    let mut test = Test::new();
    let slot = |index| Slot::Partition { index, of: 32 };
    let buffer = with_default_slot(slot(6), || test.buffer());
    let count = || buffer.count(increment(views).of(1_i64)).unwrap();
    for index in [6, 9] {
        with_default_slot(slot(index), || {
            count();
            assert_eq!(test.flush(&buffer).written, 1);
        });
    }
    count();
    drop(buffer);
    let slots = article_counters::table.select((article_counters::slot, views));
    let expected = if crate::HAS_SLOTS { 7 } else { 0 };
    assert_eq!(slots.load(&mut test.conn), Ok(vec![(expected, 3_i64)]));
}

/// Its counts would not be committed. Any function that returns a connection is a source.
#[test]
fn a_connection_with_an_open_transaction_is_refused() {
    let mut test = Test::new();
    let connections = Arc::clone(&test.connections);
    let begins = AtomicBool::new(true);
    let connect = move || {
        let mut conn = connections.database.connect();
        if begins.swap(false, SeqCst) {
            AnsiTransactionManager::begin_transaction(&mut conn)?;
        }
        QueryResult::Ok(conn)
    };
    let buffer = CounterBuffer::builder(connect)
        .every(NEVER)
        .start()
        .unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let write = buffer.flush();
    let is_refused = matches!(write.error, Some(BackgroundError::Database(_)));
    assert!(is_refused, "{write}");
    assert_eq!((write.written, write.pending), (0, 1), "{write}");
    assert_eq!(buffer.flush().written, 1);
    assert_eq!(test.views(1), 1);
}

#[test]
fn a_full_buffer_refuses_new_keys_and_says_so() {
    let mut test = Test::with_timeout(SHORT);
    test.set_away(true);
    let buffer = test.builder().max_keys(2).start().unwrap();
    let count = |id: i64| buffer.count(increment(views).of(id));
    assert_eq!([count(1), count(2)], [Ok(()), Ok(())]);
    let full = Err(BufferError::Full { max_keys: 2 });
    assert_eq!([count(3), count(1)], [full, Ok(())]);
    let many = |ids: [i64; 3]| buffer.count(increment(views).of_many(ids.map(|id| (id, 1))));
    assert_eq!([many([1, 4, 5]), many([1, 2, 2])], [full, Ok(())]);
    assert_eq!(buffer.flush().pending, 2);
    // They have moved to the backlog, and still take room.
    assert_eq!([count(3), count(1)], [full, full]);

    test.set_away(false);
    let write = test.flush(&buffer);
    assert_eq!((write.written, write.pending), (2, 0), "{write}");
    assert_eq!(count(3), Ok(()));
    test.flush(&buffer);
    assert_eq!([1, 2, 3, 4].map(|id| test.views(id)), [3, 3, 1, 0]);
}

/// Article 6 does not exist, as four fifths of those from 100 on. Article 2 would overflow, and no
/// database stores the day.
#[test]
fn keys_that_cannot_be_written_fail_alone_however_many_they_are() {
    let mut test = Test::new();
    let buffer = test.buffer();
    let count = increment(views).of(2_i64).by(i64::MAX);
    buffer.count(count).unwrap();
    assert_eq!(test.flush(&buffer).written, 1);
    let exists = |id: &i64| id % 5 == 0;
    insert_articles((100..600).filter(exists), &mut test.conn);
    for id in (100..600_i64).chain([1, 2, 3, 6]) {
        buffer.count(increment(views).of(id).by(4)).unwrap();
    }
    let count = increment(views).of(3_i64).on(day(999, 1, 1));
    buffer.count(count).unwrap();
    let too_large = increment(views).of_many([(4_i64, i64::MAX), (4, i64::MAX)]);
    buffer.count(too_large).unwrap();
    let write = test.flush(&buffer);
    assert!(write.error.is_none(), "{write}");
    let refused = write.refused.iter();
    let mut refused = Vec::from_iter(refused.map(|row| (row.key.clone(), row.amounts.clone())));
    refused.sort();
    let twice = 2 * i128::from(i64::MAX);
    let missing = (100..600).filter(|id| !exists(id)).chain([2, 6]);
    let missing = missing.map(|id| (id, 4)).chain([(3, 1), (4, twice)]);
    let mut expected = Vec::from_iter(missing.map(|(id, n)| (id.to_string(), vec![("views", n)])));
    expected.sort();
    assert_eq!(refused, expected);
    assert!(write.refused.iter().all(|r| r.table == "article_counters"));
    let overflow = write.refused.iter().find(|r| r.key == "2").unwrap();
    assert!(is_overflow(&overflow.error), "{overflow}");
    let shown = overflow.to_string();
    assert!(shown.contains("article_counters"), "{shown}");
    assert_eq!((write.written, write.pending), (102, 0));
    let mut ids = (100..600).filter(exists).chain([1, 3]);
    assert!(ids.all(|id| test.views(id) == 4));
    assert_eq!(test.views(2), i64::MAX);
    // The buffer goes on.
    buffer.count(increment(views).of(1_i64)).unwrap();
    assert_eq!(test.flush(&buffer).written, 1);
    assert_eq!(test.views(1), 5);
}

/// On SQLite, any writer would make all others wait.
#[test]
fn a_locked_row_is_written_after_the_others() {
    if !crate::HAS_SLOTS {
        return;
    }
    let mut test = Test::new();
    let buffer = test.buffer();
    // Rows that exist have no gaps beside them, which MySQL would lock too.
    let all = increment(views).of_many((1..=4_i64).map(|id| (id, 1)));
    buffer.count(all).unwrap();
    assert_eq!(test.flush(&buffer).written, 4);
    let article_2 = articles::table.find(2_i64);
    let other = &mut test.connections.database.connect();
    other
        .transaction(|conn| {
            diesel::delete(article_2).execute(conn)?;
            for id in 1..=3_i64 {
                buffer.count(increment(views).of(id)).unwrap();
            }
            let write = test.flush(&buffer);
            assert_eq!((write.written, write.pending), (2, 1), "{write}");
            assert!(write.error.is_some() && write.refused.is_empty());
            assert_eq!([1, 2, 3].map(|id| test.views(id)), [2, 1, 2]);
            // What is counted meanwhile waits with it.
            buffer.count(increment(views).of(2_i64)).unwrap();
            buffer.count(increment(views).of(4_i64)).unwrap();
            let write = test.flush(&buffer);
            assert_eq!((write.written, write.pending), (1, 1), "{write}");
            assert_eq!(buffer.pending_of(views, &2_i64), 2);
            Err::<(), _>(diesel::result::Error::RollbackTransaction)
        })
        .unwrap_err();
    let write = test.flush(&buffer);
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    assert_eq!([1, 2, 3, 4].map(|id| test.views(id)), [2, 3, 2, 2]);
}

/// Each attempt waits for the lock. Only SQLite locks the whole database.
#[test]
fn a_locked_database_is_tried_once_a_write() {
    if crate::HAS_SLOTS {
        return;
    }
    let mut test = Test::new();
    let buffer = test.buffer();
    let all = increment(views).of_many((1..=5_i64).map(|id| (id, 1)));
    buffer.count(all).unwrap();
    let pooled = test.pool.get().unwrap().batch_execute(crate::GIVE_UP_SOON);
    pooled.unwrap();
    test.conn.batch_execute("BEGIN EXCLUSIVE").unwrap();
    test.connections.transactions.store(0, SeqCst);
    let write = test.flush(&buffer);
    assert_eq!((write.written, write.pending), (0, 5), "{write}");
    assert_eq!(test.connections.transactions.load(SeqCst), 1);
    test.conn.batch_execute("COMMIT").unwrap();
    assert_eq!(test.flush(&buffer).written, 5);
}

/// Each attempt may wait for a lock. Nothing is refused for a reason that passes.
#[test]
fn a_table_that_takes_no_rows_loses_none_and_keeps_back_no_other_table() {
    let mut test = Test::new();
    let buffer = test.buffer();
    for (table, others) in [("article_counters", 100), ("page_counters", 4)] {
        let rename = format!("ALTER TABLE {table} RENAME TO other_counters");
        test.conn.batch_execute(&rename).unwrap();
        for i in 0..100 {
            buffer.count(increment(hits).of(i.to_string())).unwrap();
        }
        let count = increment(views).of_many((1..=4_i64).map(|id| (id, 1)));
        buffer.count(count).unwrap();
        // A sum of 0 is not written, so it does not show that the table takes rows.
        buffer.count(increment(views).of(5_i64)).unwrap();
        buffer.count(increment(views).of(5_i64).by(-1)).unwrap();
        for written in [others, 0, 0] {
            test.connections.transactions.store(0, SeqCst);
            let write = test.flush(&buffer);
            assert!(test.connections.transactions.load(SeqCst) < 50);
            assert!(matches!(write.error, Some(BackgroundError::Database(_))));
            assert_eq!((write.written, write.refused.len()), (written, 0));
            assert_eq!(write.pending, 104 - others);
        }
        let rename = format!("ALTER TABLE other_counters RENAME TO {table}");
        test.conn.batch_execute(&rename).unwrap();
        let write = test.flush(&buffer);
        assert_eq!((write.written, write.pending), (104 - others, 0), "{write}");
    }
    let pages = counter_value(hits).get_result(&mut test.conn);
    assert_eq!(pages, Ok(200_i64));
}

#[test]
fn the_connection_waits_for_locks_as_long_as_before() {
    if !crate::IS_MYSQL {
        return; // PostgreSQL limits the time of a transaction, and SQLite's is not changed.
    }
    let test = Test::new();
    let buffer = test.buffer();
    let limits = "SET SESSION innodb_lock_wait_timeout = 7, SESSION lock_wait_timeout = 9";
    test.pool.get().unwrap().batch_execute(limits).unwrap();
    for _ in 0..2 {
        buffer.count(increment(views).of(1_i64)).unwrap();
        assert_eq!(test.flush(&buffer).written, 1);
        let limits = diesel::dsl::sql::<Text>(
            "CONCAT(@@SESSION.innodb_lock_wait_timeout, ' ', @@SESSION.lock_wait_timeout)",
        );
        let limits = diesel::select(limits).get_result::<String>(&mut *test.pool.get().unwrap());
        assert_eq!(limits.as_deref(), Ok("7 9"));
    }
}

/// A migration that waits for a transaction keeps back all that come after it.
#[test]
fn a_write_waits_a_second_for_a_table_that_is_altered() {
    if !crate::IS_MYSQL {
        return; // PostgreSQL has one limit for both, and SQLite locks the whole database.
    }
    let mut test = Test::new();
    let buffer = test.buffer();
    let connections = Arc::clone(&test.connections);
    let database = &connections.database;
    let reader = &mut database.connect();
    reader.batch_execute("BEGIN").unwrap();
    let rows = article_counters::table.count().get_result(reader);
    assert_eq!(rows, Ok(0_i64));
    thread::scope(|scope| {
        let migration = scope.spawn(|| {
            // If the buffer waited too, this would end first.
            let sql = "SET SESSION lock_wait_timeout = 60;
                ALTER TABLE article_counters COMMENT = 'altered'";
            database.connect().batch_execute(sql)
        });
        let waits = diesel::dsl::sql::<BigInt>(
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'",
        );
        assert!(wait_until(
            || waits.clone().get_result(&mut test.conn) == Ok(1_i64)
        ));
        buffer.count(increment(views).of(1_i64)).unwrap();
        let write = test.flush(&buffer);
        assert_eq!((write.written, write.pending), (0, 1), "{write}");
        reader.batch_execute("COMMIT").unwrap();
        migration.join().unwrap().unwrap();
    });
    assert_eq!(test.flush(&buffer).written, 1);
}

mod ticking {
    use std::sync::atomic::AtomicI32;
    use std::sync::atomic::Ordering::SeqCst;

    use chrono::NaiveDate;

    /// Days since 1970-01-01, which no other test reads.
    pub static DAY: AtomicI32 = AtomicI32::new(20_000);

    pub fn day_of(number: i32) -> NaiveDate {
        NaiveDate::from_num_days_from_ce_opt(719_163 + number).unwrap()
    }

    pub fn today() -> NaiveDate {
        day_of(DAY.load(SeqCst))
    }
}
article_counters!(ticking_counters (views) { today = ticking::today });

/// Each count has the day on which it was counted, however late it is written.
#[test]
fn the_day_is_that_of_the_count() {
    use ticking_counters::views;

    let mut test = Test::new();
    let buffer = test.buffer();
    for number in 20_000..20_003 {
        ticking::DAY.store(number, SeqCst);
        // A thread reads the day every second. The key has a row more then.
        let rows = 1 + (number - 20_000) as usize;
        assert!(wait_until(|| {
            buffer.count(increment(views).of(1_i64)).unwrap();
            buffer.pending() == rows
        }));
    }
    let pending = buffer.pending_of(views, &1_i64);
    assert_eq!(test.flush(&buffer).written, 3);
    let series = [20_000, 20_001, 20_002].map(|number| {
        let on = counter_value(views).of(1_i64).on(ticking::day_of(number));
        on.get_result::<i64>(&mut test.conn).unwrap()
    });
    assert_eq!(series.iter().sum::<i64>(), pending);
    assert!(series.iter().all(|n| *n > 0), "{series:?}");
}
