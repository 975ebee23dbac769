//! The SQL of triggers on PostgreSQL.

use super::{Trial, TriggerSql, day_type};

pub const SQL: TriggerSql = TriggerSql {
    today: "CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE)",
    undated: "DATE '1970-01-01'",
    days: &[
        day_type("date", "{}"),
        day_type("timestamp without time zone", "CAST({} AS DATE)"),
        day_type(
            "timestamp with time zone",
            "CAST({} AT TIME ZONE 'UTC' AS DATE)",
        ),
    ],
    // Without this cast, `date_trunc` of a DATE would depend on the session's time zone.
    week: "CAST(date_trunc('week', CAST({} AS TIMESTAMP)) AS DATE)",
    month: "CAST(date_trunc('month', CAST({} AS TIMESTAMP)) AS DATE)",
    year: "CAST(date_trunc('year', CAST({} AS TIMESTAMP)) AS DATE)",
    changing: &[],
    weight: "COALESCE(CAST({} AS BIGINT), 0)",
    sum: "SUM({})",
    whole: "{}",
    // An index requires a constant value. But it accepts literals that depend on the session: for
    // example, '2026-01-01' is a moment in the session's time zone. The two islands here never have
    // the same date, and 'now' is later in the second transaction.
    trial: Trial {
        create_table: "CREATE TEMPORARY TABLE diesel_counters_try (LIKE {rows})",
        require_constant: &[
            "SET timezone = 'Pacific/Kiritimati'; SET datestyle = 'ISO, MDY'; \
             SET intervalstyle = 'postgres'; CREATE INDEX diesel_counters_try_1 \
             ON pg_temp.diesel_counters_try (({expression}))",
            "SET timezone = 'Pacific/Pago_Pago'; SET datestyle = 'ISO, DMY'; \
             SET intervalstyle = 'sql_standard'; CREATE INDEX diesel_counters_try_2 \
             ON pg_temp.diesel_counters_try (({expression}))",
        ],
        is_same: Some(
            "SELECT pg_get_indexdef('pg_temp.diesel_counters_try_1'::regclass, 1, false)
                 = pg_get_indexdef('pg_temp.diesel_counters_try_2'::regclass, 1, false)",
        ),
        drop_table: "RESET timezone; RESET datestyle; RESET intervalstyle; \
                     DROP TABLE IF EXISTS pg_temp.diesel_counters_try",
    },
    live: "
        SELECT n.nspname::text AS in_schema, c.relname::text AS table_name,
            t.tgname::text AS trigger_name,
            -- The bits of tgtype are 1 for each row, 2 before it, 4 INSERT, 8 DELETE, 16 UPDATE and
            -- 32 TRUNCATE. A generated trigger has one event.
            pg_catalog.concat_ws(' ', CASE WHEN t.tgtype & 2 <> 0 THEN 'BEFORE' ELSE 'AFTER' END,
                CASE WHEN t.tgtype & 4 <> 0 THEN 'INSERT' END,
                CASE WHEN t.tgtype & 8 <> 0 THEN 'DELETE' END,
                CASE WHEN t.tgtype & 16 <> 0 THEN 'UPDATE' END,
                CASE WHEN t.tgtype & 32 <> 0 THEN 'TRUNCATE' END,
                CASE WHEN t.tgtype & 1 <> 0 THEN 'ROW' END,
                -- A generated trigger has none of these: they are here so that one that was
                -- changed has another event.
                t.tgoldtable, t.tgnewtable, NULLIF(t.tgattr::text, ''),
                pg_get_expr(t.tgqual, t.tgrelid),
                -- It has no path, or a schema of it was renamed.
                (SELECT 'PATH' FROM unnest(p.proconfig) AS setting
                 WHERE setting LIKE 'search_path=%' HAVING COUNT(*) = 0),
                (SELECT 'PATH' FROM unnest(p.proconfig) AS setting,
                    unnest(string_to_array(substr(setting, 13), ', ')) AS schema
                 WHERE setting LIKE 'search_path=%' AND schema <> 'pg_temp'
                    AND to_regnamespace(schema) IS NULL LIMIT 1)) AS event,
            p.prosrc AS body,
            CASE t.tgenabled WHEN 'D' THEN 'it is disabled'
                WHEN 'R' THEN 'it runs on replicas only'
                WHEN 'A' THEN 'it also runs on replicas, which then count twice' END AS disabled,
            quote_ident((SELECT nspname FROM pg_namespace WHERE oid = p.pronamespace))
                || '.' || quote_ident(p.proname) AS function_name
        FROM pg_trigger t
        JOIN pg_proc p ON p.oid = t.tgfoid
        JOIN pg_class c ON c.oid = t.tgrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE NOT t.tgisinternal
        -- The rule that refuses a MERGE into a partitioned table.
        UNION ALL
        SELECT n.nspname::text, c.relname::text, r.rulename::text, 'RULE', '', NULL, NULL
        FROM pg_rewrite r
        JOIN pg_class c ON c.oid = r.ev_class
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE r.ev_type <> '1' ORDER BY 1, 2, 3",
};
