//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed.

use anyhow::Result;
use diesel_counters::Dialect;

use super::Postgres;
use crate::catalogue::Parent;
use crate::database::{Database, TriggerSql};
use crate::trigger::{
    Counting, DayOf, Entities, Function, ParentTable, Rows, Target, Trigger, in_lines,
};

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
        WHERE NOT t.tgisinternal
        UNION ALL
        SELECT n.nspname::text, c.relname::text, r.rulename::text, 'RULE', '', NULL
        FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'p' ORDER BY 1, 2, 3",
};

/// The rows of a statement, before and after it.
const OLD: &str = "old_rows";
const NEW: &str = "new_rows";

fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let mut triggers = vec![
        after(counting, "INSERT", &[NEW]),
        after(counting, "UPDATE", &[OLD, NEW]),
        after(counting, "DELETE", &[OLD]),
        trigger(counting, "TRUNCATE", "BEFORE", "BEFORE TRUNCATE", ""),
    ];
    triggers.extend(counting.rows.partitioned.then(|| no_merge(counting)));
    Ok(triggers)
}

fn after(counting: &Counting, event: &str, tables: &[&str]) -> Trigger {
    let referencing = tables.iter().map(|name| {
        let side = if *name == NEW { "NEW" } else { "OLD" };
        format!(" {side} TABLE AS {name}")
    });
    let referencing = format!("REFERENCING{} ", referencing.collect::<String>());
    let runs = format!("AFTER {event} {}", tables.join(" "));
    trigger(counting, event, "AFTER", &runs, &referencing)
}

fn trigger(counting: &Counting, event: &str, when: &str, runs: &str, referencing: &str) -> Trigger {
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    let (quoted, table) = (Postgres.quoted(&name), Postgres.table_name(&counting.rows));
    let function = Postgres.quoted(&counting.definition.name);
    let body = body(counting);
    Trigger {
        create: format!(
            "CREATE TRIGGER {quoted} {when} {event} ON {table}\n    {referencing}FOR EACH STATEMENT \
             EXECUTE FUNCTION {function}();\n"
        ),
        drop: format!("DROP TRIGGER IF EXISTS {quoted} ON {table};\n"),
        table: [counting.rows.in_schema.clone(), counting.rows.name.clone()],
        name,
        event: runs.to_owned(),
        function: Some(Function {
            create: format!(
                "CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \
                 $counting${body}$counting$;\n\
                 REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC;\n\
                 DO $path$ BEGIN\n    \
                 -- Otherwise a temporary table could take the place of the counters.\n    \
                 EXECUTE $alter$ALTER FUNCTION {function}() SET search_path = $alter$\n        \
                 || current_setting('search_path') || ', pg_temp';\nEND $path$;\n"
            ),
            drop: format!("DROP FUNCTION IF EXISTS {function}();\n"),
        }),
        body,
    }
}

/// The server gives triggers of a partitioned table other rows than those that a MERGE wrote. It
/// refuses a MERGE into a table that has a rule.
fn no_merge(counting: &Counting) -> Trigger {
    let name = format!("{}_no_merge", counting.definition.name);
    let (quoted, table) = (Postgres.quoted(&name), Postgres.table_name(&counting.rows));
    Trigger {
        create: format!(
            "-- PostgreSQL passes wrong rows to the triggers of a partitioned table after a MERGE, and\n\
             -- refuses a MERGE into a table with a rule.\n\
             CREATE RULE {quoted} AS ON DELETE TO {table} WHERE false DO ALSO NOTHING;\n"
        ),
        drop: format!("DROP RULE IF EXISTS {quoted} ON {table};\n"),
        table: [counting.rows.in_schema.clone(), counting.rows.name.clone()],
        name,
        event: "RULE".to_owned(),
        function: None,
        body: String::new(),
    }
}

fn body(counting: &Counting) -> String {
    let slots = counting.definition.slots;
    let claimed = Dialect::PostgreSql.claimed_slot(slots);
    let slot = Dialect::PostgreSql.connection_slot(slots);
    let path = match counting.is_in_one_schema() {
        true => {
            "    \
             -- The schema of the rows, if it has been renamed or is not the first.\n    \
             IF current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA THEN\n        \
             PERFORM set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', \
             current_setting('search_path')), true);\n    \
             END IF;\n"
        }
        false => "",
    };
    let table = Postgres.table_name(&counting.rows);
    let [insert, update, delete, truncate] =
        [&[NEW][..], &[OLD, NEW], &[OLD], &[&table]].map(|tables| statements(counting, tables));
    format!(
        "\nDECLARE\n    counting_slot SMALLINT := {claimed};\nBEGIN\n{path}    \
         IF counting_slot IS NULL THEN\n        counting_slot := {slot};\n    END IF;\n    \
         IF TG_OP = 'INSERT' THEN\n{insert}    \
         ELSIF TG_OP = 'UPDATE' THEN\n{update}    \
         ELSIF TG_OP = 'DELETE' THEN\n{delete}    \
         ELSIF current_setting('transaction_isolation') = 'read committed' THEN\n{truncate}    \
         ELSE\n        \
         RAISE EXCEPTION '%: TRUNCATE at % cannot see all rows, so they cannot be counted',\n            \
         TG_TABLE_NAME, current_setting('transaction_isolation')\n            \
         USING HINT = 'Use READ COMMITTED, or DELETE.';\n    \
         END IF;\n    RETURN NULL;\nEND\n"
    )
}

/// The statements that add the rows of these tables to the counters, or take them off. TRUNCATE
/// has no rows for a trigger to read. It locks the table, and the table still has its rows.
fn statements(counting: &Counting, tables: &[&str]) -> String {
    let statements = counting.targets.iter().map(|target| {
        let condition = condition(target, tables);
        let is_marked = condition.contains(IS_MOVED);
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
                    entities: Entities::All,
                };
                let mark = match (is_marked, minus) {
                    (false, _) => "",
                    (true, true) => ", false AS is_new",
                    (true, false) => ", true AS is_new",
                };
                counting.query(target, source, &rows, mark)
            })
        });
        let queries: Vec<_> = queries.collect();
        let statement = counting.add_if(&condition, target, &queries, "counting_slot");
        in_lines(&statement, 8) + ";\n"
    });
    statements.collect()
}

/// All rows of the entity are new: the update has moved them to it.
const IS_MOVED: &str = "bool_and(is_new)";

/// Whose rows count: old and new rows alike, so that an update of a row whose entity is gone counts
/// for nobody. A cascade changes and deletes rows after their entity.
fn condition(target: &Target, tables: &[&str]) -> String {
    let Some(source) = target.sources.first() else {
        return String::new();
    };
    let names: Vec<_> = target
        .names_of_entity()
        .map(|name| format!("moved.{name}"))
        .collect();
    let exists = target.exists(source, &names, &Postgres);
    if exists.is_empty() {
        return String::new();
    }
    let is_sure = target.sources.iter().all(|source| source.exists);
    if is_sure && tables == [NEW] {
        return String::new();
    }
    let parents = target.parents.iter().zip(exists);
    let (later, mut all): (Vec<_>, Vec<_>) = parents.partition(|(parent, _)| {
        let refers_to = &target.counters.entity[parent.column].refers_to;
        is_sure && refers_to.as_ref().is_some_and(Parent::is_deferrable)
    });
    let list = |conditions: Vec<(&ParentTable, String)>| {
        let conditions: Vec<_> = conditions.into_iter().map(|(_, exists)| exists).collect();
        conditions.join("\n        AND ")
    };
    if later.is_empty() {
        return list(all);
    }
    // An entity can come after its rows. If it is gone, a cascade has deleted its counters.
    let (table, alias) = (
        Postgres.table_name(&target.counters.table),
        target.stored_alias(),
    );
    let columns = target.counters.entity.iter().zip(&names);
    let columns =
        columns.map(|(key, name)| format!("{alias}.{} = {name}", Postgres.quoted(&key.name)));
    let stored = format!(
        "EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {})",
        columns.collect::<Vec<_>>().join(" AND ")
    );
    let (parent, later) = (later[0].0, list(later));
    let moved = match tables.contains(&NEW) {
        true => format!("\n        OR {IS_MOVED}"),
        false => String::new(),
    };
    all.push((parent, format!("({later}\n        OR {stored}{moved})")));
    list(all)
}

/// One statement keeps its lock to its end, also outside of a transaction.
fn without_writers(counting: &Counting, first: &str, statements: &str) -> String {
    let rows = &counting.rows;
    format!(
        "DO $diesel_counters$ BEGIN\n\
         IF current_setting('transaction_isolation') <> 'read committed' THEN\n    \
         RAISE EXCEPTION 'run this migration at READ COMMITTED, to count all rows that are committed';\n\
         END IF;\n\
         -- Until the migration ends, others can read {rows}, but not write it.\n\
         LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE;\n\n\
         {first}{statements}END $diesel_counters$;\n",
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
            "Rows that are written to a partition of {rows} by the name of the partition. A MERGE into \
             {rows} is refused, because PostgreSQL passes wrong rows to its triggers."
        ));
    }
    all
}
