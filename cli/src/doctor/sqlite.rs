//! What SQLite tells: it has no row locks, and one writer.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::Text;

use super::Observed;
use super::report::{History, NotSeen, Wait, Writer};

/// A lock that is held at each of these looks is held for long.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

pub struct Sqlite<'a> {
    conn: &'a mut SqliteConnection,
}

impl<'a> Sqlite<'a> {
    pub fn new(conn: &'a mut SqliteConnection) -> Self {
        Sqlite { conn }
    }
}

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Text)]
    answer: String,
}

impl Observed for Sqlite<'_> {
    fn version(&mut self) -> Result<String> {
        self.ask("SELECT 'SQLite ' || sqlite_version() AS answer")
    }

    fn waits(&mut self) -> Result<Vec<Wait>> {
        Ok(Vec::new())
    }

    /// By taking it and letting it go.
    fn is_write_locked(&mut self) -> Result<bool> {
        self.conn.batch_execute("PRAGMA busy_timeout = 0")?;
        let taken = self.conn.batch_execute("BEGIN IMMEDIATE; ROLLBACK");
        self.conn.batch_execute("PRAGMA busy_timeout = 5000")?;
        match taken {
            Ok(()) => Ok(false),
            Err(error) if error.to_string().contains("is locked") => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn history(&mut self) -> Result<History> {
        let mut held_now = true;
        for _ in 0..LOOKS {
            held_now = held_now && self.is_write_locked()?;
            if !held_now {
                break;
            }
            sleep(BETWEEN_LOOKS);
        }
        let journal_mode = self.ask("SELECT journal_mode AS answer FROM pragma_journal_mode")?;
        Ok(History {
            writer: Some(Writer {
                journal_mode,
                held_now,
            }),
            ..History::default()
        })
    }

    fn not_seen(&mut self) -> Vec<NotSeen> {
        vec![NotSeen::of(
            "who holds or waits for the write lock, and how long each connection waits",
            "SQLite tells neither; busy_timeout is each connection's own",
        )]
    }
}

impl Sqlite<'_> {
    fn ask(&mut self, sql: &str) -> Result<String> {
        Ok(sql_query(sql).get_result::<Answer>(self.conn)?.answer)
    }
}
