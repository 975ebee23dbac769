//! The SQL that rebuilds a table and keeps the old one.

use anyhow::Result;
use diesel::{RunQueryDsl, sql_types};

use super::Sqlite;
use crate::catalogue::MAX_COLUMNS;
use crate::catalogue::{Column, Kind, Shape};
use crate::connection::AnyConnection;
use crate::database::{CreateTable, Database, KeyColumn, Parts, Rebuild};
use crate::output::thousands;
use crate::sql::sql;

pub fn of(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Rebuild> {
    const CANNOT: &str = "SQLite cannot change that in an existing table.";
    let mut obstacles = obstacles(shape);
    let condition = condition(shape);
    let rows = Sqlite.count(shape.table, &condition, conn)?;
    if rows > 0 {
        let rows = thousands(rows);
        obstacles.push(format!(
            "correct the rows WHERE {condition} (there are {rows})"
        ));
    }
    if !obstacles.is_empty() {
        let obstacles = obstacles.join("; ");
        return Ok(Rebuild {
            note: Some(format!(
                "{CANNOT} To get the SQL that rebuilds the table, first: {obstacles}."
            )),
            sql: Vec::new(),
        });
    }
    let foreign_keys = foreign_keys(shape, conn)?;
    Ok(Rebuild {
        note: Some(format!(
            "{CANNOT} These statements rebuild the table, and keep the old one as {}_old: drop that \
             yourself once the sums of both agree. Stop at the first error, as sqlite3 -bail does, \
             and then ROLLBACK. The old table keeps its indexes, triggers and other checks, and views, \
             triggers and foreign keys that name it follow it: create them again.",
            shape.table.name
        )),
        sql: statements(shape, foreign_keys),
    })
}

/// What the rebuilt table could not have.
fn obstacles(shape: &Shape<'_>) -> Vec<String> {
    use Kind::{BigInt, Binary, Integer, SmallInt, Text, Uuid};

    let mut obstacles = Vec::new();
    if shape.entity.len() > MAX_COLUMNS {
        obstacles.push("reduce the key to five columns besides the day and the slot".to_owned());
    }
    if shape.counters.is_empty() {
        obstacles.push("add a counter: it has none".to_owned());
    }
    for column in &shape.table.columns {
        let (name, sql_type) = (&column.name, &column.sql_type);
        let is_key = matches!(
            column.kind,
            SmallInt | Integer | BigInt | Text | Binary | Uuid
        );
        let is_row_number = shape.row_number() == Some(column);
        obstacles.push(if shape.entity.contains(&column) && !is_key {
            format!("{name} is {sql_type}: choose a type of a key for it")
        } else if shape.is_counter(column) && column.kind == Kind::Real {
            format!("{name} is {sql_type}: check whether it is a count at all, and how to round it")
        } else if !(is_copied(shape, column) || is_row_number || column.generated) {
            format!("move {name}, which is not a counter, to another table")
        } else {
            continue;
        });
    }
    obstacles
}

fn is_copied(shape: &Shape<'_>, column: &Column) -> bool {
    shape.is_key(column) || shape.is_counter(column)
}

/// The condition of rows that cannot be copied as they are.
fn condition(shape: &Shape<'_>) -> String {
    let quoted = |name: &str| Sqlite.quoted(name);
    let key = shape.key().into_iter();
    let mut conditions: Vec<_> = key.map(|name| quoted(name) + " IS NULL").collect();
    if !shape.table.holds_days(shape.day) {
        let day = quoted(&shape.day.name);
        conditions.push(format!("typeof({day}) <> 'text' OR date({day}) IS NULL"));
    }
    let slot = quoted(&shape.slot.name);
    conditions.push(format!(
        "typeof({slot}) <> 'integer' OR {slot} NOT BETWEEN 0 AND 32767"
    ));
    let counters = shape.counters.iter().filter(|c| c.kind != Kind::Real);
    let no_integer = |name: String| format!("typeof({name}) NOT IN ('integer', 'null')");
    conditions.extend(counters.map(|counter| no_integer(quoted(&counter.name))));
    conditions.join(" OR ")
}

/// The table's own, of columns that are copied.
const FOREIGN_KEYS: &str = "
    SELECT ',\n    FOREIGN KEY (' || group_concat(format('\"%w\"', \"from\"), ', ') || ')'
           || format(' REFERENCES \"%w\"', \"table\")
           || coalesce(' (' || group_concat('\"' || replace(\"to\", '\"', '\"\"') || '\"', ', ') || ')', '')
           || format(' ON UPDATE %s ON DELETE %s', on_update, on_delete)
    FROM (SELECT * FROM pragma_foreign_key_list(";

fn foreign_keys(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<String> {
    let columns = shape.table.columns.iter();
    let copied = columns.filter(|column| is_copied(shape, column));
    let copied = copied.map(|column| format!("'{}'", column.name.replace('\'', "''")));
    let copied: Vec<_> = copied.collect();
    let keys = sql(FOREIGN_KEYS).bind(&*shape.table.name).sql(format!(
        ") ORDER BY id, seq) GROUP BY id HAVING min(\"from\" IN ({}))",
        copied.join(", ")
    ));
    let keys: Vec<String> = keys.typed::<sql_types::Text>().load(conn)?;
    Ok(keys.concat())
}

fn statements(shape: &Shape<'_>, foreign_keys: String) -> Vec<String> {
    let name = &shape.table.name;
    let table = Sqlite.table_name(shape.table);
    let [new, old] = ["new", "old"].map(|word| Sqlite.quoted(&format!("{name}_{word}")));
    let counters: Vec<_> = shape.counters.iter().map(|c| c.name.clone()).collect();
    let create = CreateTable {
        database: &Sqlite,
        table: &new,
        entity: shape
            .entity
            .iter()
            .map(|entity| {
                // The only integer type of a STRICT table.
                let is_bigint = shape.table.strict && entity.kind == Kind::Integer;
                let bigint = is_bigint.then_some("BIGINT");
                KeyColumn {
                    name: &entity.name,
                    sql_type: bigint.unwrap_or(&entity.sql_type),
                    parts: Parts::default(),
                }
            })
            .collect(),
        foreign_keys,
        day: &shape.day.name,
        slot: &shape.slot.name,
        counters: &counters,
    };
    let mut names = shape.key();
    names.extend(counters.iter().map(String::as_str));
    // One row of several of a day, or of texts that differ in case.
    let key = shape.key_columns().map(|column| {
        let name = Sqlite.quoted(&column.name);
        match column.loose_collation {
            _ if column.name == shape.day.name && !shape.table.holds_days(column) => {
                format!("date({name})")
            }
            Some(_) => format!("{name} COLLATE BINARY"),
            None => name,
        }
    });
    let key = key.collect::<Vec<_>>().join(", ");
    let sum = |name: &String| format!(", COALESCE(SUM({}), 0)", Sqlite.quoted(name));
    let sums: String = counters.iter().map(sum).collect();
    vec![
        "BEGIN IMMEDIATE;".to_owned(),
        create.statement().trim_end().to_owned(),
        format!(
            "INSERT INTO {new} ({}) SELECT {key}{sums} FROM {table} GROUP BY {key};",
            Sqlite.quoted_list(&names)
        ),
        format!("ALTER TABLE {table} RENAME TO {old};"),
        format!("ALTER TABLE {new} RENAME TO {table};"),
        "COMMIT;".to_owned(),
    ]
}
