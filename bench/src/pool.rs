//! The connections of a worker.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result};
use diesel::r2d2::{ManageConnection, Pool};

use crate::way::Count;
use crate::worker::Spec;

pub fn pool<C: Count>(spec: &Spec) -> Result<Pool<Sessions<C>>> {
    let sessions = Sessions {
        url: spec.url.clone(),
        renew: spec.renew,
        claim: spec.claim,
        next: AtomicU32::new(spec.process * spec.connections),
        slots: i16::try_from(spec.all_connections)?,
        connection: PhantomData,
    };
    Pool::builder()
        .max_size(spec.connections)
        // While transactions deadlock, other threads wait long for a connection.
        .connection_timeout(Duration::from_secs(600))
        // The test is a round trip before each transaction.
        .test_on_check_out(false)
        .build(sessions)
        .context("cannot connect")
}

/// Opens a pool's connections.
pub struct Sessions<C> {
    url: String,
    renew: bool,
    claim: bool,
    next: AtomicU32,
    slots: i16,
    connection: PhantomData<fn() -> C>,
}

/// A connection, and a slot that no other connection of the pool has.
pub struct Session<C> {
    pub conn: C,
    pub slot: i16,
}

impl<C: Count> ManageConnection for Sessions<C> {
    type Connection = Session<C>;
    type Error = diesel::r2d2::Error;

    fn connect(&self) -> Result<Session<C>, Self::Error> {
        let number = self.next.fetch_add(1, Relaxed);
        let mut conn = C::connect(&self.url)?;
        if self.claim {
            conn.claim()?;
        }
        Ok(Session {
            conn,
            slot: (number % self.slots as u32) as i16 + 1,
        })
    }

    fn is_valid(&self, session: &mut Session<C>) -> Result<(), Self::Error> {
        Ok(session.conn.ping()?)
    }

    /// With `renew`, a connection is closed after one in 50 transactions.
    fn has_broken(&self, session: &mut Session<C>) -> bool {
        session.conn.is_broken() || self.renew && rand::random_ratio(1, 50)
    }
}
