//! The SQL of triggers on PostgreSQL.

use super::{Overflow, Trial, TriggerSql, day_type};

/// A cast that fails with its text, such as `integer overflow of articles.likes: 40000`.
const NO_INTEGER: &str = "CAST({what} || ': ' || ({sum}) AS INTEGER)";

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
    // `date_trunc` of a DATE would depend on the time zone of the session.
    week: "CAST(date_trunc('week', CAST({} AS TIMESTAMP)) AS DATE)",
    month: "CAST(date_trunc('month', CAST({} AS TIMESTAMP)) AS DATE)",
    year: "CAST(date_trunc('year', CAST({} AS TIMESTAMP)) AS DATE)",
    zoned: Some("timestamp with time zone"),
    weight: "COALESCE(CAST({} AS BIGINT), 0)",
    sum: "CAST(SUM({}) AS BIGINT)",
    whole: "{}",
    overflow: Overflow {
        in_trigger: NO_INTEGER,
        elsewhere: NO_INTEGER,
    },
    differs: |new, old| format!("{new} IS DISTINCT FROM {old}"),
    // An index requires a constant value.
    trial: Trial {
        create_table: "CREATE TEMPORARY TABLE diesel_counters_try (LIKE {rows})",
        require_constant: "CREATE INDEX ON pg_temp.diesel_counters_try (({expression}))",
        drop_table: None,
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
                CASE WHEN NOT p.prosecdef THEN 'SECURITY INVOKER' END,
                CASE WHEN p.proconfig IS DISTINCT FROM
                        '{\"search_path=pg_catalog, pg_temp\",row_security=off}'
                    THEN 'with other settings' END) AS event,
            -- Its text without the definition, which its comment has, too.
            pg_catalog.regexp_replace(p.prosrc,
                '^\n-- diesel_counters: [^\r\n]*(\n--     [^\r\n]*)*', '') AS body,
            CASE t.tgenabled WHEN 'D' THEN 'it is disabled'
                WHEN 'R' THEN 'it runs on replicas only'
                WHEN 'A' THEN 'it also runs on replicas, which then count twice' END AS disabled,
            quote_ident((SELECT nspname FROM pg_namespace WHERE oid = p.pronamespace))
                || '.' || quote_ident(p.proname) AS function_name,
            (SELECT string_agg(
                    -- The grantee 0 is PUBLIC.
                    CASE a.grantee WHEN 0 THEN 'PUBLIC'
                        ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
                    ', ' ORDER BY a.grantee)
                FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                LEFT JOIN pg_roles r ON r.oid = a.grantee
                WHERE a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
                    AND r.rolsuper IS NOT TRUE) AS open_to
        FROM pg_trigger t
        JOIN pg_proc p ON p.oid = t.tgfoid
        JOIN pg_class c ON c.oid = t.tgrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE NOT t.tgisinternal
        -- The rule that refuses a MERGE into a partitioned table.
        UNION ALL
        SELECT n.nspname::text, c.relname::text, r.rulename::text, 'RULE', '', NULL, NULL, NULL
        FROM pg_rewrite r
        JOIN pg_class c ON c.oid = r.ev_class
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'p' ORDER BY 1, 2, 3",
    // The function of a definition has it in its comment, and in its text for a database that was
    // restored without comments. The comment counts: a recount changes it.
    definitions: "
        SELECT CASE WHEN n.nspname = (current_setting('diesel_counters.path')::text[])[1] THEN ''
                ELSE n.nspname::text END AS tables_in,
            p.proname::text AS stored_in,
            CASE WHEN d.description LIKE 'diesel_counters: {%' THEN d.description
                -- Its first comment, without what begins the lines.
                ELSE replace(
                    substr(substring(p.prosrc from
                        '^\n-- diesel_counters: [^\r\n]*(?:\n--     [^\r\n]*)*'), 5),
                    chr(10) || '--     ', '') END AS text,
            pg_get_userbyid(p.proowner)::text AS owner,
            pg_get_userbyid(p.proowner) = current_user AS is_own
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        LEFT JOIN pg_description d
            ON d.objoid = p.oid AND d.classoid = CAST('pg_proc'::regclass AS oid)
                AND d.objsubid = 0
        WHERE p.prorettype = CAST('trigger'::regtype AS oid)
            AND (d.description LIKE 'diesel_counters: {%'
                OR p.prosrc LIKE chr(10) || '-- diesel_counters: {%')",
};
