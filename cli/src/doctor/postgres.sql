WITH target AS (SELECT CAST({table} AS regclass) AS id), tables AS MATERIALIZED (
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
            h.state, round(extract(epoch FROM statement_timestamp() - h.xact_start)), left(h.query, 160))
    END AS holder,
    coalesce(h.state LIKE 'idle in transaction%', false) AS holder_is_idle,
    'SELECT pg_terminate_backend(' || h.pid || ');' AS end_holder
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
ORDER BY w.pid, holder
