//! The SQL of triggers on MySQL and MariaDB.

use super::TriggerSql;

pub const SQL: TriggerSql = TriggerSql {
    today: "UTC_DATE()",
    undated: "DATE '1970-01-01'",
    days: &[
        ("date", "{}"),
        ("datetime", "DATE({})"),
        // It is read in the time zone of the session, but for this function.
        (
            "timestamp",
            "(DATE '1970-01-01' + INTERVAL UNIX_TIMESTAMP({}) DIV 86400 DAY)",
        ),
    ],
    week: "({} - INTERVAL WEEKDAY({}) DAY)",
    month: "({} - INTERVAL DAYOFMONTH({}) - 1 DAY)",
    year: "({} - INTERVAL DAYOFYEAR({}) - 1 DAY)",
    zoned: Some("timestamp"),
    // A CAST AS SIGNED of a greater number would wrap.
    weight: "COALESCE(CAST({} AS DECIMAL(65, 0)), 0)",
    sum: "SUM({})",
    whole: "{}",
    // A server that is not in strict mode would store the nearest number. The error has the column.
    overflow: ["9223372036854775807 * (2 * CAST({sum} AS SIGNED))"; 2],
    differs: |new, old| format!("NOT (CAST({new} AS BINARY) <=> CAST({old} AS BINARY))"),
    // A stored column requires that.
    try_expression: [
        "CREATE TEMPORARY TABLE diesel_counters_try AS SELECT * FROM {rows} WHERE 1 = 0",
        "ALTER TABLE diesel_counters_try ADD COLUMN diesel_counters_try VARCHAR(100) AS ({expression}) STORED",
        "DROP TEMPORARY TABLE IF EXISTS diesel_counters_try",
    ],
    live: "SELECT CAST(event_object_schema AS CHAR), CAST(event_object_table AS CHAR),
            CAST(trigger_name AS CHAR), CONCAT_WS(' ', action_timing, event_manipulation),
            COALESCE(CAST(action_statement AS CHAR), ''), NULL, NULL, FALSE
        FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1, 2, 3",
    // Without SHOW VIEW, the definition is empty.
    definitions:
        "SELECT '', CAST(v.table_name AS CHAR), COALESCE(CAST(v.view_definition AS CHAR), ''),
            CAST(v.definer AS CHAR), v.definer = CURRENT_USER()
        FROM information_schema.views v JOIN information_schema.columns c
        ON c.table_schema = v.table_schema AND c.table_name = v.table_name
        WHERE v.table_schema = DATABASE() AND c.column_name = 'diesel_counters_trigger'",
};
