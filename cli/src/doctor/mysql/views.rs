//! The views that tell, of MySQL and of MariaDB.

/// Where the two differ: MariaDB has kept the views that MySQL 8 has moved.
pub struct Views {
    pub waiting: &'static str,
    pub sessions: &'static str,
    pub clients: &'static str,
    pub deadlocks: &'static str,
    pub status: &'static str,
    pub isolation: &'static str,
    pub mariadb: bool,
}

/// InnoDB's times are in whole seconds, and by the clock of the system: not the session's,
/// which Diesel has set to UTC.
pub const MYSQL: Views = Views {
    waiting: "
        SELECT CAST(r.trx_mysql_thread_id AS SIGNED) AS waiter,
            CAST(b.trx_mysql_thread_id AS SIGNED) AS holder,
            CONCAT(l.lock_type, ' ', l.lock_mode, COALESCE(CONCAT(' on ', l.index_name), '')) AS lock_name,
            CASE l.index_name WHEN 'PRIMARY' THEN CAST(l.lock_data AS CHAR) END AS lock_data,
            CONCAT('`', REPLACE(l.object_schema, '`', '``'), '`.`', REPLACE(l.object_name, '`', '``'), '`') AS lock_table,
            1e0 * TIMESTAMPDIFF(SECOND, r.trx_wait_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS seconds
        FROM performance_schema.data_lock_waits w
        JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id
        JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id
        JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id
        ORDER BY seconds DESC, waiter",
    sessions: "
        SELECT CAST(t.processlist_id AS SIGNED) AS id, CAST(t.processlist_user AS CHAR) AS user,
            CAST(COALESCE((SELECT a.attr_value FROM performance_schema.session_connect_attrs a
                WHERE a.processlist_id = t.processlist_id AND a.attr_name = 'program_name' LIMIT 1),
                t.processlist_host) AS CHAR) AS application,
            CAST(t.processlist_command AS CHAR) AS command, 1e0 * t.processlist_time AS state_seconds,
            1e0 * TIMESTAMPDIFF(SECOND, x.trx_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS transaction_seconds,
            CAST(COALESCE(t.processlist_info,
                (SELECT h.sql_text FROM performance_schema.events_statements_history h
                WHERE h.thread_id = t.thread_id AND h.sql_text IS NOT NULL
                ORDER BY h.event_id DESC LIMIT 1)) AS CHAR) AS statement
        FROM performance_schema.threads t
        LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = t.processlist_id
        WHERE FIND_IN_SET(t.processlist_id, ?)",
    clients: "
        SELECT COUNT(*) AS value FROM performance_schema.threads
        WHERE type = 'FOREGROUND' AND processlist_db = DATABASE() AND processlist_id <> CONNECTION_ID()",
    deadlocks: "SELECT CAST(count AS SIGNED) AS value FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'",
    status: "
        SELECT CAST(variable_name AS CHAR) AS name, CAST(variable_value AS CHAR) AS value
        FROM performance_schema.global_status
        WHERE variable_name LIKE 'Innodb\\_row\\_lock%' OR variable_name = 'Uptime'",
    isolation: "
        SELECT CAST(@@SESSION.transaction_isolation AS CHAR) AS session_level,
            CAST(@@GLOBAL.transaction_isolation AS CHAR) AS global_level",
    mariadb: false,
};

pub const MARIADB: Views = Views {
    waiting: "
        SELECT CAST(r.trx_mysql_thread_id AS SIGNED) AS waiter,
            CAST(b.trx_mysql_thread_id AS SIGNED) AS holder,
            CONCAT(l.lock_type, ' ', l.lock_mode, COALESCE(CONCAT(' on ', l.lock_index), '')) AS lock_name,
            CASE l.lock_index WHEN 'PRIMARY' THEN CAST(l.lock_data AS CHAR) END AS lock_data,
            CAST(l.lock_table AS CHAR) AS lock_table,
            1e0 * TIMESTAMPDIFF(SECOND, r.trx_wait_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS seconds
        FROM information_schema.innodb_lock_waits w
        JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id
        JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
        JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id
        ORDER BY seconds DESC, waiter",
    // What a session ran last is not among it.
    sessions: "
        SELECT CAST(p.id AS SIGNED) AS id, CAST(p.user AS CHAR) AS user,
            CAST(p.host AS CHAR) AS application, CAST(p.command AS CHAR) AS command,
            1e0 * p.time AS state_seconds,
            1e0 * TIMESTAMPDIFF(SECOND, x.trx_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS transaction_seconds,
            CAST(p.info AS CHAR) AS statement
        FROM information_schema.processlist p
        LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
        WHERE FIND_IN_SET(p.id, ?)",
    clients: "
        SELECT COUNT(*) AS value FROM information_schema.processlist
        WHERE db = DATABASE() AND id <> CONNECTION_ID()",
    deadlocks: "
        SELECT CAST(variable_value AS SIGNED) AS value FROM information_schema.global_status
        WHERE variable_name = 'INNODB_DEADLOCKS'",
    status: "
        SELECT CAST(variable_name AS CHAR) AS name, CAST(variable_value AS CHAR) AS value
        FROM information_schema.global_status
        WHERE variable_name LIKE 'Innodb\\_row\\_lock%' OR variable_name = 'Uptime'",
    // The variable has an old and a new name, and some versions have both.
    isolation: "
        SELECT CAST(session_value AS CHAR) AS session_level, CAST(global_value AS CHAR) AS global_level
        FROM information_schema.system_variables
        WHERE variable_name IN ('TX_ISOLATION', 'TRANSACTION_ISOLATION') LIMIT 1",
    mariadb: true,
};
