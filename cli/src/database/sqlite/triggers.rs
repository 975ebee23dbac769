//! Triggers that count rows on SQLite: one a row.

use diesel_counters::Dialect;

use super::Sqlite;
use crate::catalogue::{Index, Table};
use crate::database::{Database, TriggerSql};
use crate::trigger::{Counting, Part, Sign, Trigger, in_lines};

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
    weight: "CAST({} AS INTEGER)",
    // SUM of integers fails when it overflows. `-` of the least integer is no integer.
    sum: "CASE typeof(COALESCE(SUM({}), 0)) WHEN 'integer' THEN COALESCE(SUM({}), 0) \
          ELSE abs(-9223372036854775807 - 1) END",
    total: "COALESCE(SUM({}), 0)",
    alias: "",
    on_conflict: "ON CONFLICT ({}) DO UPDATE SET",
    // `abs` of the least integer fails with "integer overflow".
    update: "{} = CASE typeof({} + excluded.{}) WHEN 'integer' THEN {} + excluded.{} \
             ELSE abs(-9223372036854775807 - 1) END",
    create_view: "CREATE VIEW",
    keeps_half: false,
    before_recount: "",
    // It waits for the write lock, and deletes nothing.
    begin_recount: "DELETE FROM {} WHERE 0",
    views: "SELECT 'main', m.name FROM sqlite_schema m, pragma_table_info(m.name) c
        WHERE m.type = 'view' AND c.name = ",
    live: "SELECT 'main', tbl_name, name, '',
            -- Its text without `CREATE TRIGGER name `.
            CASE WHEN sql LIKE 'CREATE TRIGGER \"' || replace(name, '\"', '\"\"') || '\" %'
                THEN substr(sql, length('CREATE TRIGGER \"' || replace(name, '\"', '\"\"') || '\" ') + 1)
                ELSE sql END, NULL
        FROM sqlite_schema WHERE type = 'trigger' ORDER BY 2, 3",
};

pub fn triggers(counting: &Counting) -> Vec<Trigger> {
    let (new, old) = ((Sign::Plus, "NEW"), (Sign::Minus, "OLD"));
    let mut triggers = vec![
        after(counting, "INSERT", &[new]),
        after(counting, "UPDATE", &[old, new]),
        after(counting, "DELETE", &[old]),
    ];
    triggers.extend(
        ["INSERT", "UPDATE"]
            .into_iter()
            .filter_map(|event| replace(counting, event)),
    );
    triggers
}

fn after(counting: &Counting, event: &str, rows: &[(Sign, &str)]) -> Trigger {
    let slot = Dialect::Sqlite.connection_slot(counting.definition.slots);
    let statements = counting.targets.iter().map(|target| {
        let parts = rows.iter().map(|(sign, row)| Part {
            sign: *sign,
            row,
            from: "",
            // A cascade deletes the row after its entity.
            of_existing: *sign == Sign::Minus,
            more: "",
        });
        let statement = counting.add_rows(target, &parts.collect::<Vec<_>>(), &slot);
        in_lines(&statement, 4) + ";\n"
    });
    let head = format!("AFTER {event}");
    let body = statements.collect::<String>();
    trigger(counting, &event.to_lowercase(), &head, "", &body)
}

/// Refuses a row that could replace another one. SQLite runs no trigger for the row that is
/// replaced, unless `recursive_triggers` is on.
fn replace(counting: &Counting, event: &str) -> Option<Trigger> {
    let table = &counting.rows;
    let is_known = |index: &&Index| {
        index.unique
            && index
                .columns
                .iter()
                .all(|name| table.column(name).is_some())
    };
    let conditions = table.indexes.iter().filter(is_known).map(|index| {
        let key = index.columns.iter().map(|name| Sqlite.quoted(name));
        let key: Vec<_> = key.collect();
        let list = |row: &str| {
            let columns: Vec<_> = key.iter().map(|name| format!("{row}.{name}")).collect();
            columns.join(", ")
        };
        let same: Vec<_> = key
            .iter()
            .map(|name| format!("other.{name} = NEW.{name}"))
            .collect();
        let exists = format!(
            "EXISTS (SELECT 1 FROM {} AS other WHERE {})",
            Sqlite.table_name(table),
            same.join(" AND ")
        );
        match event {
            "UPDATE" => format!("({}) IS NOT ({}) AND {exists}", list("NEW"), list("OLD")),
            _ => exists,
        }
    });
    let conditions: Vec<_> = conditions.collect();
    if conditions.is_empty() {
        return None;
    }
    let when = format!(
        "WHEN ({})\n    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 ",
        conditions.join("\n    OR ")
    );
    let message = format!(
        "{table} has such a row, and a REPLACE of it would not be counted: run PRAGMA \
         recursive_triggers = ON on each connection"
    );
    let body = format!("    SELECT RAISE(ABORT, {});\n", Sqlite.literal(&message));
    let name = format!("replace_by_{}", event.to_lowercase());
    Some(trigger(
        counting,
        &name,
        &format!("BEFORE {event}"),
        &when,
        &body,
    ))
}

fn trigger(counting: &Counting, what: &str, head: &str, when: &str, statements: &str) -> Trigger {
    let name = format!("{}_{what}", counting.definition.name);
    let (quoted, table) = (Sqlite.quoted(&name), Sqlite.table_name(&counting.rows));
    let body = format!("{head} ON {table} FOR EACH ROW {when}BEGIN\n{statements}END");
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: ["main".to_owned(), counting.rows.name.clone()],
        event: String::new(),
        body,
        name,
    }
}

pub fn not_counted(rows: &Table) -> Vec<String> {
    vec![format!(
        "On a connection without PRAGMA recursive_triggers = ON, an INSERT into {rows} that meets an \
         existing row is refused, because INSERT OR REPLACE would not be counted."
    )]
}
