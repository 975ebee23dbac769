//! Transactions that are prepared and belong to no session any more.

use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Array, Bool, Double, Text};

use super::{Postgres, Waiting};
use crate::doctor::report::Session;

/// What PostgreSQL names as the one who blocks, for each of them.
pub const NO_SESSION: i64 = 0;

#[derive(QueryableByName)]
pub(super) struct Prepared {
    #[diesel(sql_type = Text)]
    gid: String,
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = Text)]
    since: String,
    #[diesel(sql_type = Double)]
    seconds: f64,
    #[diesel(sql_type = Text)]
    xid: String,
    /// Whether it has any lock in the counter table.
    #[diesel(sql_type = Bool)]
    is_here: bool,
    #[diesel(sql_type = Bool)]
    has_counted: bool,
    #[diesel(sql_type = Array<Text>)]
    locked: Vec<String>,
}

/// Whose locks they are is told by the virtual transaction that has locked the number.
const PREPARED: &str = "
    WITH locks AS MATERIALIZED (
        SELECT number.transactionid AS xid, l.* FROM pg_locks number
        JOIN pg_locks l USING (virtualtransaction)
        WHERE number.pid IS NULL AND number.locktype = 'transactionid' AND number.granted
            AND l.pid IS NULL AND l.locktype = 'relation' AND l.granted
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ), tables AS MATERIALIZED (
        SELECT CAST($1 AS regclass) AS id UNION SELECT relid FROM pg_partition_tree(CAST($1 AS regclass))
    )
    SELECT p.gid, CAST(p.owner AS text) AS owner,
        CAST(date_trunc('second', p.prepared) AS text) AS since,
        CAST(extract(epoch FROM clock_timestamp() - p.prepared) AS float8) AS seconds,
        CAST(p.transaction AS text) AS xid,
        EXISTS (SELECT FROM locks l WHERE l.xid = p.transaction
            AND l.relation IN (SELECT id FROM tables)) AS is_here,
        EXISTS (SELECT FROM locks l WHERE l.xid = p.transaction
            AND l.mode = 'RowExclusiveLock' AND l.relation IN (SELECT id FROM tables)) AS has_counted,
        ARRAY(SELECT DISTINCT CAST(CAST(c.oid AS regclass) AS text)
            FROM locks l JOIN pg_class c ON c.oid = l.relation
            WHERE l.xid = p.transaction AND l.mode <> 'AccessShareLock'
                AND c.relkind IN ('r', 'p') AND c.oid NOT IN (SELECT id FROM tables) ORDER BY 1) AS locked
    FROM pg_prepared_xacts p WHERE p.database = current_database() ORDER BY p.prepared";

impl Postgres<'_> {
    pub(super) fn prepared(&mut self, waiting: &[Waiting]) -> QueryResult<Vec<Prepared>> {
        let mut blockers = waiting.iter().flat_map(|wait| &wait.blockers);
        if !blockers.any(|pid| *pid == NO_SESSION) {
            return Ok(Vec::new());
        }
        let query = sql_query(PREPARED).bind::<Text, _>(&self.target.sql_name);
        query.load(self.conn)
    }
}

impl Prepared {
    /// Who waits for its end says so, and otherwise for a lock in this table.
    pub(super) fn blocks(&self, wait: &Waiting) -> bool {
        match &wait.xid {
            Some(xid) => *xid == self.xid,
            None => self.is_here,
        }
    }
}

impl From<&Prepared> for Session {
    fn from(prepared: &Prepared) -> Self {
        Session {
            id: NO_SESSION,
            user: Some(prepared.owner.clone()),
            state: format!("prepared since {}", prepared.since),
            transaction_seconds: Some(prepared.seconds),
            prepared_transaction: Some(prepared.gid.clone()),
            has_counted: Some(prepared.has_counted),
            locked: prepared.locked.clone(),
            ..Session::default()
        }
    }
}
