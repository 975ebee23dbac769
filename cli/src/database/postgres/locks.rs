//! Who waits for whom, from `pg_locks` and `pg_stat_activity`.

use std::time::{Duration, Instant};

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use diesel_counters::Dialect;

use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::doctor::database::{Database, Notes};
use crate::doctor::report::{Look, ParentRow, Row, Session, Wait};
use crate::entity::as_text;
use crate::sql::{quoted, sql};

pub const DATABASE: Database = Database {
    dialect: Dialect::PostgreSql,
    version: "'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)",
    double: "DOUBLE PRECISION",
    look,
    last_deadlock: |_, _, _| Ok(None),
    no_deadlock: Some(
        "PostgreSQL writes deadlocks to the server's log: search it for \"deadlock detected\"",
    ),
    table_locks: "pg_locks shows which one",
    limit_statements,
    end_session: |id| format!("SELECT pg_terminate_backend({id})"),
    claim_slots: "",
};

const CLIENTS: &str = "
    (SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND coalesce(backend_type, 'client backend') = 'client backend')";

/// A session that waits, or that blocks one that does.
#[derive(QueryableByName)]
struct Seen {
    #[diesel(embed)]
    session: Session,
    #[diesel(sql_type = Bool)]
    is_hidden: bool,
    #[diesel(sql_type = Bool)]
    has_written: bool,
    /// The parent table in which it waits for a row, or has locked rows.
    #[diesel(sql_type = Nullable<Text>)]
    parent: Option<String>,
    /// None where it does not wait; what follows is none then, too.
    #[diesel(sql_type = Nullable<Text>)]
    lock: Option<String>,
    #[diesel(sql_type = Double)]
    seconds: f64,
    /// Whether the row that it has queued for is one of the counter table.
    #[diesel(sql_type = Nullable<Bool>)]
    is_here: Option<bool>,
    /// The condition that finds the row, or the rows that the blocker has locked.
    #[diesel(sql_type = Nullable<Text>)]
    place: Option<String>,
    /// Separated by commas.
    #[diesel(sql_type = Text)]
    blockers: String,
}

/// A session that waits for a row is seen waiting for the transaction that holds it; only the
/// second one in a queue may be seen waiting for the row. So a session is looked at if it has
/// locked rows of the table, and (below) if its statement names the table. The first one in the
/// queue has locked the place of the row (its tuple), unless the row is not committed yet or
/// it has met the row in an index, as ON CONFLICT does.
///
/// `waitstart` is read as JSON because there is none before PostgreSQL 14.
const SESSIONS: [&str; 2] = [
    "WITH locks AS MATERIALIZED (
        SELECT * FROM pg_locks WHERE database IS NULL OR database IN (
            0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    ), target AS (SELECT CAST(",
    " AS regclass) AS id), tables AS MATERIALIZED (
        SELECT id FROM target UNION SELECT relid FROM target, pg_partition_tree(id)
    ), parents AS MATERIALIZED (
        SELECT confrelid AS id FROM pg_constraint JOIN target ON conrelid = id WHERE contype = 'f'
    ), waiting AS MATERIALIZED (
        SELECT w.pid, w.locktype || ' ' || w.mode AS lock, t.is_here,
            coalesce(t.place, 'CAST(''' || w.transactionid || ''' AS xid) IN (xmax, xmin)') AS place,
            CAST(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(
                CAST(to_jsonb(w) ->> 'waitstart' AS timestamptz), a.query_start, now()
            ))) AS float8) AS seconds,
            pg_blocking_pids(w.pid) AS blockers
        FROM locks w LEFT JOIN pg_stat_activity a USING (pid)
        LEFT JOIN LATERAL (
            SELECT format('tableoid = %s AND ctid = ''(%s,%s)''', r.relation, r.page, r.tuple) AS place,
                r.relation IN (SELECT id FROM tables) AS is_here
            FROM locks r WHERE r.pid = w.pid AND r.locktype = 'tuple' ORDER BY is_here DESC LIMIT 1
        ) t ON true
        WHERE NOT w.granted AND w.pid <> pg_backend_pid() AND (
            w.locktype = 'relation' AND w.relation IN (SELECT id FROM tables)
            OR w.locktype IN ('transactionid', 'spectoken', 'tuple') AND EXISTS (
                SELECT FROM locks h WHERE h.pid = w.pid AND h.granted AND h.mode LIKE 'Row%Lock'
                    AND h.relation IN (SELECT id FROM tables)))
    )
    SELECT CAST(a.pid AS bigint) AS id, CAST(usename AS text) AS \"user\",
        coalesce(nullif(application_name, ''), host(client_addr)) AS application,
        coalesce(state, 'unknown')
            || coalesce(', waits for ' || nullif(wait_event_type, 'Client') || ' ' || wait_event, '') AS state,
        CASE WHEN state LIKE 'idle in transaction%'
            THEN CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8) END AS idle_seconds,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS float8) AS transaction_seconds,
        nullif(nullif(query, ''), '<insufficient privilege>') AS statement,
        coalesce(query = '<insufficient privilege>', false) AS is_hidden, false AS counted_earlier,
        EXISTS (SELECT FROM locks l WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowExclusiveLock'
            AND l.relation IN (SELECT id FROM tables)) AS has_written,
        (SELECT CAST(CAST(r.id AS regclass) AS text) FROM parents r JOIN locks l ON l.relation = r.id
            WHERE l.pid = a.pid AND (l.locktype = 'tuple'
                OR w.pid IS NULL AND l.mode <> 'AccessShareLock') LIMIT 1) AS parent,
        w.lock, coalesce(w.seconds, 0) AS seconds, w.is_here, w.place,
        coalesce(array_to_string(w.blockers, ','), '') AS blockers
    FROM pg_stat_activity a LEFT JOIN waiting w USING (pid)
    WHERE a.pid IN (SELECT pid FROM waiting UNION SELECT unnest(blockers) FROM waiting)
    ORDER BY seconds DESC, a.pid",
];

fn look(conn: &mut AnyConnection, counters: &CounterTable, notes: &mut Notes) -> Result<Look> {
    let [before, after] = SESSIONS;
    let table = counters.sql_name(Dialect::PostgreSql);
    let sessions: Vec<Seen> = sql(before).bind(&*table).sql(after).load(conn)?;
    if sessions.iter().any(|session| session.is_hidden) {
        let what = "the statements and states of other users' sessions";
        let grant = format!("GRANT pg_read_all_stats TO {}", user(conn)?);
        notes.miss(what, "PostgreSQL shows a user its own only", Some(grant));
    }
    let mut look = Look {
        clients: diesel::select(dsl::sql::<Nullable<BigInt>>(CLIENTS)).get_result(conn)?,
        ..Look::default()
    };
    for waiter in &sessions {
        let Some(lock) = waiter.lock.clone() else {
            continue;
        };
        if lock.starts_with("relation") {
            look.table_waits += 1;
            continue;
        }
        let blockers: Vec<&str> = waiter.blockers.split(',').collect();
        let holders = sessions.iter();
        let holders = holders.filter(|h| blockers.contains(&&*h.session.id.to_string()));
        let holders: Vec<_> = holders.collect();
        let parent = match waiter.is_here {
            Some(true) => None,
            Some(false) => waiter.parent.as_ref(),
            None if holders.iter().any(|h| h.has_written) => None,
            // The row may be one that the holder has locked in the parent table.
            None => holders.iter().find_map(|h| h.parent.as_ref()),
        };
        // A session that does not count may wait for the parent's row, too.
        let counts = waiter.session.counts_in(counters);
        let is_ours = match (parent, waiter.is_here) {
            (Some(_), _) => counts == Some(true),
            (None, Some(is_here)) => is_here,
            (None, None) => counts != Some(false),
        };
        if !is_ours {
            continue;
        }
        // PostgreSQL names 0 as the blocker for each prepared transaction.
        if blockers.contains(&"0") {
            let what = "the prepared transaction that holds a row";
            notes.miss(what, "pg_prepared_xacts shows it", None);
        }
        let holders = holders.iter().map(|h| {
            let of_counter = h.has_written && parent.is_none();
            h.session.as_holder(counters, of_counter)
        });
        look.waits.push(Wait {
            waiter: waiter.session.clone(),
            seconds: waiter.seconds,
            lock,
            rows: match parent {
                Some(_) => Vec::new(),
                None => rows(conn, counters, waiter, notes)?,
            },
            parent_row: parent.and_then(|table| ParentRow::of(counters, table)),
            holders: holders.collect(),
        });
    }
    Ok(look)
}

/// The row that a session waits for, or those that its blocker has locked. To find these, it
/// reads the whole table, as there is no index for it; so long as there is time left.
fn rows(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    waiter: &Seen,
    notes: &mut Notes,
) -> Result<Vec<Row>> {
    let Some(place) = &waiter.place else {
        return Ok(Vec::new());
    };
    // A timeout of 0 would be none.
    if notes.time_left.as_millis() == 0 || notes.rows_of.contains_key(place) {
        return Ok(notes.rows_of.get(place).cloned().unwrap_or_default());
    }
    let table = counters.sql_name(Dialect::PostgreSql);
    let name = |name| quoted(Dialect::PostgreSql, name);
    let entity = counters.entity.as_ref();
    let entity = entity.map(|key| as_text(Dialect::PostgreSql, key));
    let select = sql(format!(
        "SELECT {} AS entity, CAST({} AS text) AS day, CAST({} AS bigint) AS slot
         FROM {table} WHERE {place} ORDER BY 1, 2, 3 LIMIT 20",
        entity.as_deref().unwrap_or("CAST(NULL AS text)"),
        name(&counters.day.name),
        name(&counters.slot.name),
    ));
    limit_statements(conn, notes.time_left)?;
    let begun = Instant::now();
    let found = select.load::<Row>(conn);
    notes.time_left = notes.time_left.saturating_sub(begun.elapsed());
    limit_statements(conn, Duration::ZERO)?;
    if let Err(Error::DatabaseError(_, why)) = &found {
        let mut grant = None;
        if why.message().contains("denied") {
            notes.time_left = Duration::ZERO;
            grant = Some(format!("GRANT SELECT ON {table} TO {}", user(conn)?));
        }
        notes.miss("which rows are waited for", why.message(), grant);
        return Ok(Vec::new());
    }
    let rows = found?;
    // A row that the holder has inserted is not seen before it commits; and another row may
    // come to the place of one.
    if waiter.is_here.is_none() && !rows.is_empty() {
        notes.rows_of.insert(place.clone(), rows.clone());
    }
    Ok(rows)
}

fn user(conn: &mut AnyConnection) -> QueryResult<String> {
    diesel::select(dsl::sql::<Text>("quote_ident(current_user)")).get_result(conn)
}

fn limit_statements(conn: &mut AnyConnection, time: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("SET statement_timeout = {}", time.as_millis()))
}
