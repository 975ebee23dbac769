//! The SQL of triggers on SQLite.

use super::{Trial, TriggerSql, day_type};

pub const SQL: TriggerSql = TriggerSql {
    today: "date('now')",
    undated: "'1970-01-01'",
    days: &[
        day_type("date", "date({})"),
        day_type("timestamp", "date({})"),
        day_type("timestamptz", "date({})"),
        day_type("timestamptzsqlite", "date({})"),
        day_type("datetime", "date({})"),
        day_type("text", "date({})"),
    ],
    // The next Sunday, which may be today, and then six days back.
    week: "date({}, 'weekday 0', '-6 days')",
    month: "date({}, 'start of month')",
    year: "date({}, 'start of year')",
    changing: &[],
    weight: "COALESCE(CAST({} AS INTEGER), 0)",
    // SUM of integers fails when it overflows. `-` of the minimum integer isn't an integer.
    sum: "SUM({})",
    // `abs` of the minimum integer fails with "integer overflow".
    whole: "CASE typeof({}) WHEN 'integer' THEN {} ELSE abs(-9223372036854775807 - 1) END",
    // An index requires a constant value. The functions of time are only checked when they are
    // called, so the table has a row.
    trial: Trial {
        create_table: "CREATE TEMPORARY TABLE diesel_counters_try AS SELECT * FROM {rows} LIMIT 1;
         INSERT INTO temp.diesel_counters_try DEFAULT VALUES",
        require_constant: &["CREATE INDEX temp.diesel_counters_try_index \
                             ON diesel_counters_try ({expression})"],
        is_same: None,
        drop_table: "DROP TABLE IF EXISTS temp.diesel_counters_try",
    },
    // The event is part of the text, and stays there.
    live: "
        SELECT 'main' AS in_schema, tbl_name AS table_name, name AS trigger_name, '' AS event,
            -- Its text without `CREATE TRIGGER name `.
            CASE WHEN sql LIKE 'CREATE TRIGGER \"' || replace(name, '\"', '\"\"') || '\" %'
                THEN substr(sql,
                    length('CREATE TRIGGER \"' || replace(name, '\"', '\"\"') || '\" ') + 1)
                WHEN sql LIKE 'CREATE TRIGGER ' || name || ' %'
                THEN substr(sql, length('CREATE TRIGGER ' || name || ' ') + 1)
                ELSE sql END AS body,
            NULL AS disabled, NULL AS function_name
        FROM sqlite_schema WHERE type = 'trigger' ORDER BY 2, 3",
};
