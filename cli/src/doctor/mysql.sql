SELECT CAST(r.trx_mysql_thread_id AS SIGNED) AS waiter,
    COALESCE(1e0 * TIMESTAMPDIFF(SECOND, r.trx_wait_started,
        CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')), 0) AS seconds,
    CAST(l.lock_table AS CHAR) AS parent,
    CASE l.index_name WHEN 'PRIMARY' THEN CAST(l.lock_data AS CHAR) END AS place,
    CAST(r.trx_query AS CHAR) AS statement,
    CASE WHEN b.trx_state <> 'LOCK WAIT' THEN CAST(CONCAT('session ', b.trx_mysql_thread_id,
        ', in a transaction since ', b.trx_started, ' by the clock of the server: ',
        COALESCE(LEFT(b.trx_query, 160), 'idle')) AS CHAR) END AS holder,
    b.trx_query IS NULL AS holder_is_idle,
    CAST(CONCAT('KILL ', b.trx_mysql_thread_id, ';') AS CHAR) AS end_holder
FROM {waits} l
JOIN information_schema.innodb_trx r ON r.trx_id = l.waiter
JOIN information_schema.innodb_trx b ON b.trx_id = l.holder
ORDER BY waiter, holder IS NULL, holder
