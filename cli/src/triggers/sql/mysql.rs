//! The SQL of triggers on MySQL and MariaDB.

use super::{Trial, TriggerSql, day_type};

pub const SQL: TriggerSql = TriggerSql {
    today: "UTC_DATE()",
    undated: "DATE '1970-01-01'",
    days: &[
        day_type("date", "{}"),
        day_type("datetime", "DATE({})"),
        // Unlike other functions, this one doesn't read it in the session's time zone.
        day_type(
            "timestamp",
            "(DATE '1970-01-01' + INTERVAL UNIX_TIMESTAMP({}) DIV 86400 DAY)",
        ),
    ],
    week: "({} - INTERVAL WEEKDAY({}) DAY)",
    month: "({} - INTERVAL DAYOFMONTH({}) - 1 DAY)",
    year: "({} - INTERVAL DAYOFYEAR({}) - 1 DAY)",
    // A generated column accepts them, although the time zone and the day of a TIME depend on the
    // session.
    changing: &["timestamp", "time"],
    // CAST AS SIGNED would wrap a larger number.
    weight: "COALESCE(CAST({} AS DECIMAL(65, 0)), 0)",
    sum: "SUM({})",
    whole: "{}",
    // A stored column requires a constant value. ALTER TABLE commits, and a rollback wouldn't
    // remove the temporary table anyway. It has a key because a server may require one of every
    // table.
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
    // A trigger can't be disabled, and has no function.
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

    /// `sql_require_primary_key` and `innodb_force_primary_key` apply to a whole server.
    #[test]
    fn a_trial_runs_on_a_server_that_requires_a_primary_key() {
        assert!(SQL.trial.create_table.contains("PRIMARY KEY"));
    }
}
