//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed.

use anyhow::Result;
use diesel_counters::Dialect;

use super::Postgres;
use crate::database::{Database, TriggerSql};
use crate::trigger::{Counting, DayOf, Rows, Trigger, in_lines};

pub const SQL: TriggerSql = TriggerSql {
    triggers,
    without_writers,
    not_counted,
    today: "CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE)",
    undated: "DATE '1970-01-01'",
    days: &[
        ("date", "{}"),
        ("timestamp without time zone", "CAST({} AS DATE)"),
        ("timestamp with time zone", "CAST({} AT TIME ZONE 'UTC' AS DATE)"),
    ],
    week: "CAST(date_trunc('week', CAST({} AS TIMESTAMP)) AS DATE)",
    month: "CAST(date_trunc('month', CAST({} AS TIMESTAMP)) AS DATE)",
    year: "CAST(date_trunc('year', CAST({} AS TIMESTAMP)) AS DATE)",
    integer: "BIGINT",
    zoned: Some("timestamp with time zone"),
    weight: "COALESCE(CAST({} AS BIGINT), 0)",
    sum: "CAST(SUM({}) AS BIGINT)",
    total: "CAST(SUM({}) AS BIGINT)",
    alias: " AS kept",
    on_conflict: "ON CONFLICT ({}) DO UPDATE SET",
    update: |name, value| format!("{name} = kept.{name} + {value}"),
    new_value: "excluded.{}",
    is_new_value_of_table: false,
    differs: |new, old| format!("{new} IS DISTINCT FROM {old}"),
    // An index requires that.
    try_expression: [
        "CREATE TEMPORARY TABLE diesel_counters_try (LIKE {rows})",
        "CREATE INDEX ON pg_temp.diesel_counters_try (({expression}))",
        "",
    ],
    keeps_half: false,
    before_recount: "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    begin_recount: "CREATE TEMPORARY TABLE diesel_counters_wrong ON COMMIT DROP AS {wrong}",
    views: "SELECT n.nspname::text, c.relname::text
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind = 'v' AND pg_table_is_visible(c.oid) AND a.attname = ",
    live: "SELECT n.nspname::text, c.relname::text, t.tgname::text,
            concat_ws(' ', CASE WHEN t.tgtype & 2 <> 0 THEN 'BEFORE' ELSE 'AFTER' END,
                CASE WHEN t.tgtype & 4 <> 0 THEN 'INSERT' END,
                CASE WHEN t.tgtype & 8 <> 0 THEN 'DELETE' END,
                CASE WHEN t.tgtype & 16 <> 0 THEN 'UPDATE' END,
                CASE WHEN t.tgtype & 32 <> 0 THEN 'TRUNCATE' END,
                CASE WHEN t.tgtype & 1 <> 0 THEN 'ROW' END,
                t.tgoldtable, t.tgnewtable, NULLIF(t.tgattr::text, ''), pg_get_expr(t.tgqual, t.tgrelid),
                CASE WHEN NOT p.prosecdef THEN 'SECURITY INVOKER' END,
                CASE WHEN NOT EXISTS (SELECT FROM unnest(p.proconfig) setting
                    WHERE setting LIKE 'search_path=%pg_temp') THEN 'without a search_path' END),
            p.prosrc,
            CASE t.tgenabled WHEN 'D' THEN 'it is disabled'
                WHEN 'R' THEN 'it runs on replicas only'
                WHEN 'A' THEN 'it also runs on replicas, which then count twice' END
        FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
        JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE NOT t.tgisinternal ORDER BY 1, 2, 3",
};

/// The rows of a statement, before and after it.
const OLD: &str = "old_rows";
const NEW: &str = "new_rows";

fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    Ok(vec![
        after(counting, "INSERT", &[NEW]),
        after(counting, "UPDATE", &[OLD, NEW]),
        after(counting, "DELETE", &[OLD]),
        before_truncate(counting),
    ])
}

fn after(counting: &Counting, event: &str, tables: &[&str]) -> Trigger {
    let referencing = tables.iter().map(|name| {
        let side = if *name == NEW { "NEW" } else { "OLD" };
        format!(" {side} TABLE AS {name}")
    });
    let referencing = format!("REFERENCING{} ", referencing.collect::<String>());
    let event_name = format!("AFTER {event} {}", tables.join(" "));
    let body = body(counting, tables, "");
    trigger(counting, event, "AFTER", event_name, &referencing, body)
}

/// TRUNCATE has no rows for a trigger to read. It locks the table, and the table still has its rows.
fn before_truncate(counting: &Counting) -> Trigger {
    let guard = "    \
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION '%: TRUNCATE at % cannot see all rows, so they cannot be counted',
            TG_TABLE_NAME, current_setting('transaction_isolation')
            USING HINT = 'Use READ COMMITTED, or DELETE.';
    END IF;\n";
    let table = Postgres.table_name(&counting.rows);
    let body = body(counting, &[&table], guard);
    let event = "BEFORE TRUNCATE".to_owned();
    trigger(counting, "TRUNCATE", "BEFORE", event, "", body)
}

fn body(counting: &Counting, tables: &[&str], guard: &str) -> String {
    let slots = counting.definition.slots;
    let claimed = Dialect::PostgreSql.claimed_slot(slots);
    let slot = Dialect::PostgreSql.connection_slot(slots);
    let statements = counting.targets.iter().map(|target| {
        let queries = tables.iter().flat_map(|table| {
            let sources = target.sources.iter();
            sources.map(move |source| {
                let minus = *table != NEW;
                let alias = source.alias();
                let rows = Rows {
                    name: &alias,
                    from: &format!("\nFROM {table} AS {alias}"),
                    minus,
                    day: DayOf::Today,
                    // A cascade deletes the row after its entity.
                    of_existing: minus || !source.exists,
                };
                counting.query(target, source, &rows, "")
            })
        });
        let statement = counting.add(target, &queries.collect::<Vec<_>>(), "counting_slot");
        in_lines(&statement, 4) + ";\n"
    });
    format!(
        "\nDECLARE\n    counting_slot SMALLINT := {claimed};\nBEGIN\n    IF counting_slot IS NULL THEN\n        \
         counting_slot := {slot};\n    END IF;\n{guard}{}    RETURN NULL;\nEND\n",
        statements.collect::<String>()
    )
}

fn trigger(
    counting: &Counting,
    what: &str,
    when: &str,
    event: String,
    referencing: &str,
    body: String,
) -> Trigger {
    let name = format!("{}_{}", counting.definition.name, what.to_lowercase());
    let (quoted, table) = (Postgres.quoted(&name), Postgres.table_name(&counting.rows));
    Trigger {
        create: format!(
            "CREATE FUNCTION {quoted}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \
             $diesel_counters$\
             {body}$diesel_counters$;\n\
             REVOKE EXECUTE ON FUNCTION {quoted}() FROM PUBLIC;\n\
             DO $diesel_counters$ BEGIN\n    \
             -- Otherwise a temporary table could take the place of the counters.\n    \
             EXECUTE $alter$ALTER FUNCTION {quoted}() SET search_path = $alter$\n        \
             || current_setting('search_path') || ', pg_temp';\nEND $diesel_counters$;\n\
             CREATE TRIGGER {quoted} {when} {what} ON {table}\n    {referencing}FOR EACH STATEMENT \
             EXECUTE FUNCTION {quoted}();\n"
        ),
        drop: format!(
            "DROP TRIGGER IF EXISTS {quoted} ON {table};\nDROP FUNCTION IF EXISTS {quoted}();\n"
        ),
        table: [counting.rows.in_schema.clone(), counting.rows.name.clone()],
        name,
        event,
        body,
    }
}

fn without_writers(counting: &Counting, statements: &str) -> String {
    let rows = &counting.rows;
    format!(
        "-- Until the migration ends, others can read {rows}, but not write it.\n\
         LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE;\n\
         DO $diesel_counters$ BEGIN\n    IF current_setting('transaction_isolation') <> 'read committed' THEN\n        \
         RAISE EXCEPTION 'run this migration at READ COMMITTED, to count all rows that are committed';\n    \
         END IF;\nEND $diesel_counters$;\n\n{statements}",
        Postgres.table_name(rows)
    )
}

fn not_counted(counting: &Counting, _: &[Trigger]) -> Vec<String> {
    let rows = &counting.rows;
    let mut all = vec![
        "Rows that are written with session_replication_role = replica, or while a trigger is disabled."
            .to_owned(),
    ];
    if rows.partitioned {
        all.push(format!(
            "Rows that are written to a partition of {rows} by the name of the partition."
        ));
    }
    all
}
