//! The SQL of triggers on SQLite.

use super::TriggerSql;

pub const SQL: TriggerSql = TriggerSql {
    today: "date('now')",
    undated: "'1970-01-01'",
    days: &[
        ("date", "date({})"),
        ("timestamp", "date({})"),
        ("timestamptz", "date({})"),
        ("timestamptzsqlite", "date({})"),
        ("datetime", "date({})"),
        ("text", "date({})"),
    ],
    week: "date({}, 'weekday 0', '-6 days')",
    month: "date({}, 'start of month')",
    year: "date({}, 'start of year')",
    zoned: None,
    weight: "COALESCE(CAST({} AS INTEGER), 0)",
    // SUM of integers fails when it overflows. `-` of the least integer is no integer.
    sum: "CASE typeof(SUM({})) WHEN 'integer' THEN SUM({}) ELSE abs(-9223372036854775807 - 1) END",
    // `abs` of the least integer fails with "integer overflow".
    whole: "CASE typeof({}) WHEN 'integer' THEN {} ELSE abs(-9223372036854775807 - 1) END",
    overflow: [
        "RAISE(ABORT, {what})",
        "abs(-9223372036854775807 - 1)",
    ],
    differs: |new, old| format!("{new} COLLATE BINARY IS NOT {old}"),
    // An index requires that. Functions of time are checked when they are called.
    try_expression: [
        "CREATE TEMPORARY TABLE diesel_counters_try AS SELECT * FROM {rows} LIMIT 1;
         INSERT INTO temp.diesel_counters_try DEFAULT VALUES",
        "CREATE INDEX temp.diesel_counters_try_index ON diesel_counters_try ({expression})",
        "",
    ],
    live: "SELECT 'main', tbl_name, name, '',
            -- Its text without `CREATE TRIGGER name `.
            CASE WHEN sql LIKE 'CREATE TRIGGER \"' || replace(name, '\"', '\"\"') || '\" %'
                THEN substr(sql, length('CREATE TRIGGER \"' || replace(name, '\"', '\"\"') || '\" ') + 1)
                ELSE sql END, NULL, NULL, 0
        FROM sqlite_schema WHERE type = 'trigger' ORDER BY 2, 3",
    definitions: "SELECT '', name, sql, '', 1 FROM sqlite_schema
        WHERE type = 'view' AND sql LIKE '% AS diesel_counters_trigger'",
};
