//! SQLite: what rebuilds a table, and leaves the old one.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_counters::Dialect;

use super::columns::count;
use super::shape::Shape;
use crate::catalogue::{Column, Kind};
use crate::connection::AnyConnection;
use crate::generate::{CreateTable, Entity, KeyType};
use crate::output::thousands;
use crate::sql::{quoted_list, sql};

/// A rebuilt table.
pub struct Rebuild {
    pub note: String,
    /// Empty where something else has to be put right first.
    pub sql: Vec<String>,
}

pub fn of(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Rebuild> {
    const CANNOT: &str = "SQLite cannot change that in a table that is there.";
    let obstacles = obstacles(shape, conn)?;
    if !obstacles.is_empty() {
        return Ok(Rebuild {
            note: format!(
                "{CANNOT} It has to be made anew, and before that can be written here: {}.",
                obstacles.join("; ")
            ),
            sql: Vec::new(),
        });
    }
    let foreign_keys = foreign_keys(shape, conn)?;
    Ok(Rebuild {
        note: format!(
            "{CANNOT} This makes it anew, and leaves the old one as {}_old: drop that yourself once \
             the sums of both agree. Let it stop at the first error, as sqlite3 -bail does, and then \
             ROLLBACK. Indexes, triggers and other checks stay with the old table, and views, triggers and \
             foreign keys that name it follow it: make these anew too.",
            shape.table.name
        ),
        sql: statements(shape, &foreign_keys),
    })
}

/// What would make it fail, or lose something.
fn obstacles(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<String>> {
    let mut obstacles = Vec::new();
    if shape.entity.len() > 1 {
        obstacles.push("have one column of what is counted for".to_owned());
    }
    if shape.counters.is_empty() {
        obstacles.push("have a counter: it has none".to_owned());
    }
    for column in shape
        .table
        .columns
        .iter()
        .filter(|column| is_lost(shape, column))
    {
        let name = &column.name;
        obstacles.push(format!(
            "{name} is no counter: keep it in a table of its own"
        ));
    }
    for column in &shape.entity {
        if key_type(column.kind, shape.table.strict).is_none() {
            let (name, sql_type) = (&column.name, &column.sql_type);
            obstacles.push(format!(
                "{name} is {sql_type}: choose a type of a key for it"
            ));
        }
    }
    for column in shape.counters.iter().filter(|c| c.kind == Kind::Real) {
        let (name, sql_type) = (&column.name, &column.sql_type);
        obstacles.push(format!(
            "{name} is {sql_type}: look whether it is a count at all, and how to round it"
        ));
    }
    for (what, condition) in conditions(shape) {
        let rows = count(shape, &condition, conn)?;
        if rows > 0 {
            let rows = thousands(rows);
            obstacles.push(format!("{what} (rows WHERE {condition}: {rows})"));
        }
    }
    Ok(obstacles)
}

/// Of rows that cannot be carried over as they are.
fn conditions(shape: &Shape<'_>) -> Vec<(String, String)> {
    let mut conditions = Vec::new();
    let (day, slot) = (
        shape.quoted(&shape.day.name),
        shape.quoted(&shape.slot.name),
    );
    for name in shape.key() {
        conditions.push((
            format!("put {name} right where it is NULL"),
            format!("{} IS NULL", shape.quoted(name)),
        ));
    }
    if !shape.table.holds_days(shape.day) {
        conditions.push((
            format!("put {} right where it is no day", shape.day.name),
            format!("{day} IS NOT NULL AND (typeof({day}) <> 'text' OR date({day}) IS NULL)"),
        ));
    }
    conditions.push((
        format!("put {} right where it is no small integer", shape.slot.name),
        format!("typeof({slot}) NOT IN ('integer', 'null') OR {slot} NOT BETWEEN 0 AND 32767"),
    ));
    for counter in shape.counters.iter().filter(|c| c.kind != Kind::Real) {
        let name = shape.quoted(&counter.name);
        conditions.push((
            format!("put {} right where it is no integer", counter.name),
            format!("typeof({name}) NOT IN ('integer', 'null')"),
        ));
    }
    conditions
}

fn key_type(kind: Kind, strict: bool) -> Option<KeyType> {
    Some(match kind {
        Kind::SmallInt => KeyType::SmallInt,
        // The only integer that a STRICT table has.
        Kind::Integer if strict => KeyType::BigInt,
        Kind::Integer => KeyType::Integer,
        Kind::BigInt => KeyType::BigInt,
        Kind::Text => KeyType::Text,
        Kind::Binary => KeyType::Binary,
        Kind::Uuid => KeyType::Uuid,
        Kind::Date | Kind::Real | Kind::Other => return None,
    })
}

/// A number of the row is not, when the key is made primary in its place.
fn is_lost(shape: &Shape<'_>, column: &Column) -> bool {
    let is_old_key = column.auto_increment && shape.table.primary_key == [column.name.as_str()];
    !is_kept(shape, &column.name) && !is_old_key && !column.generated
}

fn is_kept(shape: &Shape<'_>, name: &str) -> bool {
    let mut counters = shape.counters.iter();
    shape.key().contains(&name) || counters.any(|counter| counter.name == name)
}

#[derive(QueryableByName)]
struct ForeignKeyColumn {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    parent: String,
    #[diesel(sql_type = Text, column_name = "own_column")]
    own: String,
    #[diesel(sql_type = Nullable<Text>, column_name = "parent_column")]
    other: Option<String>,
    #[diesel(sql_type = Text)]
    on_update: String,
    #[diesel(sql_type = Text)]
    on_delete: String,
}

/// Those of columns that are carried over, as the table has them.
fn foreign_keys(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<String>> {
    let columns: Vec<ForeignKeyColumn> = sql(
        "SELECT id, \"table\" AS parent, \"from\" AS own_column, \"to\" AS parent_column, \
         on_update, on_delete FROM pragma_foreign_key_list(",
    )
    .bind(shape.table.name.as_str())
    .sql(") ORDER BY id, seq")
    .load(conn)?;
    let keys = columns.chunk_by(|one, next| one.id == next.id);
    let keys = keys.filter(|key| key.iter().all(|column| is_kept(shape, &column.own)));
    let foreign_keys = keys.map(|key| {
        let own = quoted_list(shape.dialect, key.iter().map(|c| c.own.as_str()));
        let others: Vec<_> = key.iter().filter_map(|c| c.other.as_deref()).collect();
        let others = match others.as_slice() {
            // To the primary key, whatever that is.
            [] => String::new(),
            names => format!(" ({})", quoted_list(shape.dialect, names.iter().copied())),
        };
        let ForeignKeyColumn {
            parent,
            on_update,
            on_delete,
            ..
        } = &key[0];
        format!(
            "FOREIGN KEY ({own}) REFERENCES {}{others} ON UPDATE {on_update} ON DELETE {on_delete}",
            shape.quoted(parent)
        )
    });
    Ok(foreign_keys.collect())
}

fn statements(shape: &Shape<'_>, foreign_keys: &[String]) -> Vec<String> {
    let name = &shape.table.name;
    let table = shape.table_sql();
    let [new, old] = ["new", "old"].map(|word| shape.quoted(&format!("{name}_{word}")));
    let entity = shape.entity.first().and_then(|column| {
        Some(Entity {
            column: column.name.clone(),
            key_type: key_type(column.kind, shape.table.strict)?,
            refers_to: None,
        })
    });
    let counters: Vec<_> = shape.counters.iter().map(|c| c.name.clone()).collect();
    let create = CreateTable {
        dialect: Dialect::Sqlite,
        table: &new,
        entity: entity.as_ref(),
        day: &shape.day.name,
        slot: &shape.slot.name,
        counters: &counters,
        foreign_keys,
    };
    let names = shape.key().into_iter();
    let names = quoted_list(
        shape.dialect,
        names.chain(counters.iter().map(String::as_str)),
    );
    let key = key(shape).join(", ");
    let sums = shape
        .counters
        .iter()
        .map(|c| format!(", COALESCE(SUM({}), 0)", shape.quoted(&c.name)));
    vec![
        "BEGIN IMMEDIATE;".to_owned(),
        create.statement().trim_end().to_owned(),
        format!(
            "INSERT INTO {new} ({names}) SELECT {key}{} FROM {table} GROUP BY {key};",
            sums.collect::<String>()
        ),
        format!("ALTER TABLE {table} RENAME TO {old};"),
        format!("ALTER TABLE {new} RENAME TO {table};"),
        "COMMIT;".to_owned(),
    ]
}

/// One row of what were several: of a day, and of texts that are spelled alike.
fn key(shape: &Shape<'_>) -> Vec<String> {
    let columns = shape.entity.iter().chain([&shape.day, &shape.slot]);
    let columns = columns.map(|column| {
        let name = shape.quoted(&column.name);
        if column.name == shape.day.name && !shape.table.holds_days(column) {
            format!("date({name})")
        } else if column.loose_collation.is_some() {
            format!("{name} COLLATE BINARY")
        } else {
            name
        }
    });
    columns.collect()
}
