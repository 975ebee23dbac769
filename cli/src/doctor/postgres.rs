//! The waits, from `pg_locks` and `pg_stat_activity`.

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::{LockWait, Look, Wait};
use crate::database::{Joined, POSTGRES};
use crate::sql::sql;

/// Finds, for the table named between both parts, the sessions that wait.
///
/// A session that waits for a row is seen waiting for the transaction that holds it; only the
/// second one in a queue may be seen waiting for the row. So a session is looked at if it has
/// locked rows of the table, and if its statement names the table. The first one in the queue has
/// locked the place of the row (its tuple), unless the row is not committed yet, or it has met the
/// row in an index, as ON CONFLICT does. The row may then also be one that the blocker has locked in
/// the parent table.
///
/// `waitstart` is read as JSON because there is none before PostgreSQL 14.
const WAITS: [&str; 2] = [
    "WITH target AS (SELECT CAST(",
    " AS regclass) AS id), tables AS MATERIALIZED (
        SELECT id FROM target UNION SELECT relid FROM target, pg_partition_tree(id)
    ), locks AS MATERIALIZED (
        SELECT *, coalesce(relation IN (SELECT id FROM tables), false) AS is_here FROM pg_locks
        WHERE database IS NULL OR database IN (
            0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    ), parents AS MATERIALIZED (
        SELECT confrelid AS id, CAST(relname AS text) AS name
        FROM pg_constraint JOIN target ON conrelid = id JOIN pg_class p ON p.oid = confrelid
        WHERE contype = 'f'
    )
    SELECT CAST(w.pid AS bigint) AS waiter,
        CAST(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(
            CAST(to_jsonb(w) ->> 'waitstart' AS timestamptz), a.query_start, now()
        ))) AS float8) AS seconds,
        CASE WHEN t.place IS NOT NULL THEN t.parent WHEN NOT EXISTS (
            SELECT FROM locks l WHERE l.pid = b.pid AND l.granted AND l.is_here AND l.mode = 'RowExclusiveLock'
        ) THEN (
            SELECT p.name FROM parents p JOIN locks l ON l.relation = p.id
            WHERE l.pid = b.pid AND l.mode <> 'AccessShareLock' LIMIT 1
        ) END AS parent,
        coalesce(t.place, 'CAST(''' || w.transactionid || ''' AS xid) IN (xmax, xmin)') AS place,
        CASE WHEN t.is_here THEN NULL ELSE a.query END AS statement,
        CASE WHEN b.pid = 0 THEN 'a prepared transaction, which pg_prepared_xacts shows'
            WHEN EXISTS (SELECT FROM locks l WHERE l.pid = b.pid AND NOT l.granted) THEN NULL
            ELSE format('session %s (%s), %s, in a transaction of %s s: %s', h.pid,
                concat_ws(', ', h.usename, coalesce(nullif(h.application_name, ''), host(h.client_addr))),
                h.state, round(extract(epoch FROM clock_timestamp() - h.xact_start)), left(h.query, 160))
        END AS holder
    FROM locks w LEFT JOIN pg_stat_activity a USING (pid)
    LEFT JOIN LATERAL unnest(pg_blocking_pids(w.pid)) b (pid) ON true
    LEFT JOIN pg_stat_activity h ON h.pid = b.pid
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
    ORDER BY w.pid, holder",
];

pub fn look(look: &mut Look<'_>) -> Result<Vec<Wait>> {
    let counters = look.counters;
    let [before, after] = WAITS;
    let table = POSTGRES.table_name(&counters.table);
    let locks = sql(before).bind(&table).sql(after);
    let mut locks: Vec<LockWait> = locks.load(look.conn)?;
    let is_hidden = |text: &mut String| text.contains("<insufficient privilege>");
    for lock in &mut locks {
        let hides_waiter = lock.statement.take_if(is_hidden).is_some();
        if hides_waiter || lock.holder.as_mut().is_some_and(is_hidden) {
            let grant = format!("GRANT pg_read_all_stats TO {};", user(look)?);
            look.miss(format!("what other users' sessions do; to see it: {grant}"));
        }
    }
    locks.dedup_by_key(|lock| lock.waiter);
    // A session that does not count may wait for the parent's row, too.
    locks.retain(|lock| lock.may_count_in(counters));
    let waits = locks.into_iter().map(|lock| {
        let place = lock.place.as_ref().filter(|_| lock.parent.is_none());
        let row = place.map(|place| row(place, look)).transpose()?;
        Ok(lock.wait(row.flatten()))
    });
    waits.collect()
}

/// The row that a session waits for, if it is the only one at the place. There is no index for the rows
/// of a transaction: if one search takes too long, there is no other one.
fn row(place: &str, look: &mut Look<'_>) -> Result<Option<String>> {
    const WHAT: &str = "which rows the sessions wait for";
    let mut missed = look.not_seen.iter();
    if missed.any(|missed| missed.starts_with(WHAT)) {
        return Ok(None);
    }
    let counters = look.counters;
    let table = POSTGRES.table_name(&counters.table);
    let [day, slot] = [&counters.day, &counters.slot].map(|column| POSTGRES.quoted(&column.name));
    let entity = counters.entity.iter().map(|key| POSTGRES.as_text(key));
    let entity = match &*entity.joined(", ") {
        "" => String::new(),
        entity => format!("'entity ', concat_ws(', ', {entity}), ', ', "),
    };
    let row = format!("concat({entity}'day ', {day}, ', slot ', {slot})");
    let select = sql(format!("SELECT {row} FROM {table} WHERE {place} LIMIT 2"));
    let found: QueryResult<Vec<String>> = look.conn.transaction(|conn| {
        conn.batch_execute("SET LOCAL statement_timeout = '1s'")?;
        select.typed::<Text>().load(conn)
    });
    if let Err(error) = &found {
        let user = user(look)?;
        let grant = format!("it requires GRANT SELECT ON {table} TO {user};");
        look.miss(format!("{WHAT}: {error}; {grant}"));
    }
    let mut found = found.unwrap_or_default();
    Ok(found.pop().filter(|_| found.is_empty()))
}

fn user(look: &mut Look<'_>) -> QueryResult<String> {
    diesel::select(dsl::sql::<Text>("quote_ident(current_user)")).get_result(look.conn)
}
