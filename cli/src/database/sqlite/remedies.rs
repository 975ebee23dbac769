//! The faults of a table on SQLite.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Text;

use super::Sqlite;
use crate::catalogue::{Kind, Parent, Shape};
use crate::connection::AnyConnection;
use crate::database::replace::{replaces as is_replaced_by, replaces_on_conflict};
use crate::database::{Database, Fault, Replaces, faults};
use crate::output::thousands;
use crate::sql::sql;

faults! {
    UNCHECKED = Wrong, "unchecked":
        "Another program can store other values than integers, and SQLite's own + turns into \
         floating point when it overflows.";
    NO_INTEGER = Wrong, "no_integer": "A sum over it is an error.";
}

/// SQLite stores anything in a column of a table that is not STRICT.
pub fn not_strict(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let definition = plain(shape.table.definition.as_deref().unwrap_or_default());
    let check = |name: &str| plain(&format!("typeof({name})='integer'"));
    let names = shape.counters.iter().map(|counter| counter.name.as_str());
    let unchecked: Vec<_> = names
        .filter(|name| !definition.contains(&check(name)))
        .collect();
    if !unchecked.is_empty() {
        let has = if unchecked.len() == 1 { "has" } else { "have" };
        let what = format!(
            "{} {has} no CHECK (typeof(…) = 'integer').",
            unchecked.join(", ")
        );
        faults.push(UNCHECKED.found(what).change("", None));
    }
    // All values of a REAL column are floating-point numbers.
    for counter in shape.counters.iter().filter(|c| c.kind != Kind::Real) {
        let condition = format!(
            "typeof({}) NOT IN ('integer', 'null')",
            Sqlite.quoted(&counter.name)
        );
        let rows = match Sqlite.count(shape.table, &condition, conn)? {
            0 => continue,
            1 => "One row has".to_owned(),
            rows => format!("{} rows have", thousands(rows)),
        };
        let what = format!("{rows} a value of {} that is not an integer.", counter.name);
        let fault = NO_INTEGER.found(what);
        let fault = fault.remedy("Look at it, and correct the count before anything else.");
        let table = Sqlite.table_name(shape.table);
        let sql = vec![format!("SELECT * FROM {table} WHERE {condition};")];
        faults.push(Fault { sql, ..fault });
    }
    Ok(faults)
}

/// SQL without spaces and quotes, in lower case.
fn plain(sql: &str) -> String {
    let is_kept = |c: &char| !c.is_whitespace() && !"\"`[]".contains(*c);
    sql.chars()
        .filter(is_kept)
        .collect::<String>()
        .to_lowercase()
}

/// The triggers and constraints that replace rows, by their text.
pub fn replaces(parent: &Parent, conn: &mut AnyConnection) -> Result<Replaces> {
    let triggers = sql("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name");
    let mut triggers: Vec<(String, String)> = triggers.typed::<(Text, Text)>().load(conn)?;
    triggers.retain(|(_, definition)| is_replaced_by(definition, &parent.in_schema, parent));
    let table = &parent.table;
    let say = |(name, _)| format!("The trigger {name} replaces rows of {table}.");
    let mut found: Vec<_> = triggers.into_iter().map(say).collect();
    let definition = Sqlite
        .parent(parent, conn)?
        .and_then(|table| table.definition);
    if definition.is_some_and(|definition| replaces_on_conflict(&definition)) {
        found.push(format!(
            "{table} has a UNIQUE or PRIMARY KEY with ON CONFLICT REPLACE."
        ));
    }
    Ok(Replaces {
        found,
        upsert: "ON CONFLICT DO UPDATE",
        remedy: "Remove this REPLACE.",
    })
}
