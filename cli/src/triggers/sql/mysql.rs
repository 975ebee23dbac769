//! The SQL of triggers on MySQL and MariaDB.

use super::{Trial, TriggerSql, day_type};

pub const SQL: TriggerSql = TriggerSql {
    today: "UTC_DATE()",
    undated: "DATE '1970-01-01'",
    days: &[
        day_type("date", "{}"),
        day_type("datetime", "DATE({})"),
        // It is read in the time zone of the session, but for this function.
        day_type(
            "timestamp",
            "(DATE '1970-01-01' + INTERVAL UNIX_TIMESTAMP({}) DIV 86400 DAY)",
        ),
    ],
    week: "({} - INTERVAL WEEKDAY({}) DAY)",
    month: "({} - INTERVAL DAYOFMONTH({}) - 1 DAY)",
    year: "({} - INTERVAL DAYOFYEAR({}) - 1 DAY)",
    // A generated column takes them: the time zone, and the day of a TIME, are of the session.
    changing: &["timestamp", "time"],
    // A CAST AS SIGNED of a greater number would wrap.
    weight: "COALESCE(CAST({} AS DECIMAL(65, 0)), 0)",
    sum: "SUM({})",
    whole: "{}",
    // A stored column requires a constant value. ALTER TABLE commits, and a rollback leaves a
    // temporary table anyway. A server can require a key of each table.
    trial: Trial {
        create_table: "CREATE TEMPORARY TABLE diesel_counters_try \
                           (diesel_counters_id INT PRIMARY KEY) AS \
                       SELECT 1 AS diesel_counters_id, counted.* \
                       FROM {rows} AS counted WHERE 1 = 0",
        require_constant: &["ALTER TABLE diesel_counters_try \
                             ADD COLUMN diesel_counters_try VARCHAR(100) AS ({expression}) STORED"],
        is_same: None,
        drop_table: "DROP TEMPORARY TABLE IF EXISTS diesel_counters_try",
    },
    // A trigger cannot be disabled, and has no function.
    live: "
        SELECT CAST(event_object_schema AS CHAR) AS in_schema,
            CAST(event_object_table AS CHAR) AS table_name,
            CAST(trigger_name AS CHAR) AS trigger_name,
            -- Another mode is another event.
            CONCAT_WS(' ', action_timing, event_manipulation, NULLIF(CAST(sql_mode AS CHAR),
                'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION')) AS event,
            COALESCE(CAST(action_statement AS CHAR), '') AS body,
            NULL AS disabled, NULL AS function_name
        FROM information_schema.triggers
        WHERE trigger_schema = DATABASE() ORDER BY 1, 2, action_order, 3",
};

#[cfg(test)]
mod tests {
    use super::SQL;

    /// With `sql_require_primary_key` or `innodb_force_primary_key`, which is a setting of a whole
    /// server.
    #[test]
    fn a_trial_runs_on_a_server_that_requires_a_primary_key() {
        assert!(SQL.trial.create_table.contains("PRIMARY KEY"));
    }
}
