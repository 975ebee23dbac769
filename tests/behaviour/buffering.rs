//! Counting in memory, and writing from a thread.

mod counts;
mod kept_back;
mod locks;
mod reads;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel::prelude::*;
use diesel::r2d2::{ManageConnection, Pool, PooledConnection};
use diesel_counters::buffer::CounterBufferBuilder;
use diesel_counters::buffer::Write;
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, CounterBuffer};
use diesel_counters_tests::schema::article_counters::views;

use super::{PATIENCE, article};
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
