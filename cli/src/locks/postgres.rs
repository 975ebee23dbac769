//! The waits for rows, from `pg_locks` and `pg_stat_activity`.

use std::time::{Duration, Instant};

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::Text;

use super::looks::Looks;
use super::seen::{Clients, Look, Row, Session};
use super::waits::{LockWait, ids, waits};
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::sql::sql;

/// The locks of this database; `is_here` are those of the table and of its partitions.
const TABLE_LOCKS: [&str; 2] = [
    "WITH target AS (SELECT CAST(",
    " AS regclass) AS id), tables AS MATERIALIZED (
        SELECT id FROM target UNION SELECT relid FROM target, pg_partition_tree(id)
    ), locks AS MATERIALIZED (
        SELECT *, coalesce(relation IN (SELECT id FROM tables), false) AS is_here FROM pg_locks
        WHERE database IS NULL OR database IN (
            0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    )",
];

/// A session that waits for a row is seen waiting for the transaction that holds it; only the
/// second one in a queue may be seen waiting for the row. So a session is looked at if it has
/// locked rows of the table, and (in `waits`) if its statement names the table. The first one
/// in the queue has locked the place of the row (its tuple), unless the row is not committed
/// yet, or it has met the row in an index, as ON CONFLICT does. The row may then also be one
/// that the blocker has locked in the parent table.
///
/// `waitstart` is read as JSON because there is none before PostgreSQL 14.
const LOCK_WAITS: &str = ", parents AS MATERIALIZED (
        SELECT confrelid AS id, CAST(relname AS text) AS name
        FROM pg_constraint JOIN target ON conrelid = id JOIN pg_class p ON p.oid = confrelid
        WHERE contype = 'f'
    )
    SELECT CAST(w.pid AS bigint) AS waiter, CAST(coalesce(b.pid, -1) AS bigint) AS holder,
        CAST(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(
            CAST(to_jsonb(w) ->> 'waitstart' AS timestamptz), a.query_start, now()
        ))) AS float8) AS seconds,
        w.locktype || ' ' || w.mode AS lock_name,
        coalesce(t.place, 'CAST(''' || w.transactionid || ''' AS xid) IN (xmax, xmin)') AS place,
        CASE WHEN t.place IS NOT NULL THEN t.parent WHEN NOT EXISTS (
            SELECT FROM locks l WHERE l.pid = b.pid AND l.granted AND l.is_here AND l.mode = 'RowExclusiveLock'
        ) THEN (
            SELECT p.name FROM parents p JOIN locks l ON l.relation = p.id
            WHERE l.pid = b.pid AND l.mode <> 'AccessShareLock' LIMIT 1
        ) END AS parent,
        coalesce(t.is_here, false) AS is_here
    FROM locks w LEFT JOIN pg_stat_activity a USING (pid)
    LEFT JOIN LATERAL unnest(pg_blocking_pids(w.pid)) b (pid) ON true
    LEFT JOIN LATERAL (
        SELECT format('tableoid = %s AND ctid = ''(%s,%s)''', r.relation, r.page, r.tuple) AS place,
            r.is_here, p.name AS parent
        FROM locks r LEFT JOIN parents p ON p.id = r.relation
        WHERE r.pid = w.pid AND r.locktype = 'tuple' ORDER BY r.is_here DESC LIMIT 1
    ) t ON true
    WHERE NOT w.granted AND w.pid <> pg_backend_pid()
        AND (t.place IS NULL OR t.is_here OR t.parent IS NOT NULL)
        AND w.locktype IN ('transactionid', 'spectoken', 'tuple') AND EXISTS (
            SELECT FROM locks l WHERE l.pid = w.pid AND l.granted AND l.is_here AND l.mode LIKE 'Row%Lock')
    ORDER BY seconds DESC, w.pid, b.pid";

const SESSIONS: &str = "
    SELECT CAST(pid AS bigint) AS id, CAST(usename AS text) AS \"user\",
        coalesce(nullif(application_name, ''), host(client_addr)) AS application,
        CASE WHEN query = '<insufficient privilege>' THEN 'hidden' ELSE coalesce(state, 'unknown')
            || coalesce(', waits for ' || nullif(wait_event_type, 'Client') || ' ' || wait_event, '')
        END AS state,
        CASE WHEN state LIKE 'idle in transaction%'
            THEN CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8) END AS idle_seconds,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS float8) AS transaction_seconds,
        nullif(nullif(query, ''), '<insufficient privilege>') AS statement,
        pid IN (SELECT pid FROM locks WHERE granted AND is_here AND mode = 'RowExclusiveLock') AS counted_earlier
    FROM pg_stat_activity WHERE pid = ANY(CAST(string_to_array(";

const CLIENTS: &str = "
    SELECT (SELECT CAST(numbackends - 1 AS bigint) FROM pg_stat_database
            WHERE datname = current_database()) AS clients,
        (SELECT count(*) FROM locks
            WHERE NOT granted AND is_here AND locktype = 'relation') AS table_waits";

pub fn look(looks: &mut Looks<'_>) -> Result<Look> {
    let counters = looks.counters;
    let table = POSTGRES.table_name(&counters.table);
    let [before, after] = TABLE_LOCKS;
    let locks = || sql(before).bind(&*table).sql(after);
    // In one transaction the queries see the same activity.
    let (lock_waits, sessions, clients) = looks.conn.transaction(|conn| {
        let lock_waits: Vec<LockWait> = locks().sql(LOCK_WAITS).load(conn)?;
        let sessions = locks().sql(SESSIONS);
        let sessions = sessions.bind(&*ids(&lock_waits)).sql(", ',') AS int[]))");
        let sessions: Vec<Session> = sessions.load(conn)?;
        let clients: Clients = locks().sql(CLIENTS).get_result(conn)?;
        QueryResult::Ok((lock_waits, sessions, clients))
    })?;
    if sessions
        .iter()
        .any(|session| session.activity.state == "hidden")
    {
        let what = "the statements and states of other users' sessions";
        let grant = format!("GRANT pg_read_all_stats TO {}", user(looks.conn)?);
        looks.miss(what, "PostgreSQL shows a user its own only", Some(grant));
    }
    let waits = waits(&lock_waits, &sessions, counters, |wait| {
        // PostgreSQL names 0 as the blocker for each prepared transaction.
        if wait.holder == 0 {
            let what = "the prepared transaction that holds a row";
            looks.miss(what, "pg_prepared_xacts shows it", None);
        }
        rows(wait, looks)
    })?;
    Ok(Look {
        waits,
        clients,
        write_lock_held: None,
    })
}

const SEARCH_TIME: Duration = Duration::from_secs(2);

/// The row that a session waits for, or those that its blocker has locked. To find these, it
/// reads the whole table, as there is no index for it; so long as there is time left.
fn rows(wait: &LockWait, looks: &mut Looks<'_>) -> Result<Vec<Row>> {
    let counters = looks.counters;
    let Some(place) = &wait.place else {
        return Ok(Vec::new());
    };
    let time_left = SEARCH_TIME.saturating_sub(looks.time_spent);
    // A timeout of 0 would be none.
    if time_left.as_millis() == 0 || looks.rows_of.contains_key(place) {
        return Ok(looks.rows_of.get(place).cloned().unwrap_or_default());
    }
    let table = POSTGRES.table_name(&counters.table);
    let name = |name: &str| POSTGRES.quoted(name);
    let select = sql(format!(
        "SELECT {} AS entity, CAST({} AS text) AS day, CAST({} AS bigint) AS slot
         FROM {table} WHERE {place} ORDER BY 1, 2, 3 LIMIT 20",
        POSTGRES.key_as_text(&counters.entity),
        name(&counters.day.name),
        name(&counters.slot.name),
    ));
    limit_statements(time_left, looks.conn)?;
    let begun = Instant::now();
    let found = select.load::<Row>(looks.conn);
    looks.time_spent += begun.elapsed();
    limit_statements(Duration::ZERO, looks.conn)?;
    if let Err(Error::DatabaseError(_, why)) = &found {
        looks.time_spent = SEARCH_TIME;
        let grant = format!("GRANT SELECT ON {table} TO {}", user(looks.conn)?);
        let grant = Some(grant).filter(|_| why.message().contains("denied"));
        looks.miss("which rows the sessions wait for", why.message(), grant);
        return Ok(Vec::new());
    }
    let rows = found?;
    // A row that the holder has inserted is not seen before it commits; and another row may
    // come to the place of one.
    if !wait.is_here && !rows.is_empty() {
        looks.rows_of.insert(place.clone(), rows.clone());
    }
    Ok(rows)
}

fn user(conn: &mut AnyConnection) -> QueryResult<String> {
    diesel::select(dsl::sql::<Text>("quote_ident(current_user)")).get_result(conn)
}

pub fn limit_statements(time: Duration, conn: &mut AnyConnection) -> QueryResult<()> {
    conn.batch_execute(&format!("SET statement_timeout = {}", time.as_millis()))
}
