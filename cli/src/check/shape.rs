//! The faults of a table's columns, key and indexes.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;
use diesel_counters::Dialect;

use super::fault::{Fault, note, slow, wrong};
use crate::catalogue::{self, Column, Index, Kind, MAX_COLUMNS, Shape, is_zero, statement_of};
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES, SQLITE};
use crate::partition;
use crate::period::Period;
use crate::sql::sql;

type Check = fn(&Shape<'_>, &mut AnyConnection) -> Result<Vec<Fault>>;

/// What a table is checked for, in the order of the output.
pub const CHECKS: [Check; 9] = [
    key,
    null_key,
    types_of_key,
    collations,
    columns,
    storage,
    integers,
    indexes,
    nodes,
];

/// What a change of a column takes.
fn instead(conn: &AnyConnection, change: impl Into<String>) -> String {
    match conn.dialect() {
        Dialect::Sqlite => "SQLite cannot change that: create another table with `diesel-counters \
                            generate migration`, and copy the rows."
            .to_owned(),
        _ => change.into(),
    }
}

fn key(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (key, wanted) = (&shape.table.primary_key, shape.key());
    let names = wanted.join(", ");
    let is_same_set = |names: &[String]| {
        names.len() == wanted.len() && names.iter().all(|name| wanted.contains(&&**name))
    };
    let unique = |index: &&Index| index.unique && is_same_set(&index.columns);
    let mut indexes = shape.table.indexes.iter().filter(unique);
    let fault = if shape.entity.len() > MAX_COLUMNS {
        let what = format!("Its key is ({names}), of which more than five are the entity's.");
        let cost = "diesel_counters does not compile with it.";
        let remedy = "Count by fewer columns, such as the id of a row that has the others.";
        return Ok(vec![wrong("key_columns", what, cost).remedy(remedy)]);
    } else if *key == wanted && indexes.any(|index| index.primary && index.whole) {
        return Ok(Vec::new());
    } else if *key != wanted && is_same_set(key) {
        let what = format!("Its primary key is ({}), not ({names}).", key.join(", "));
        let cost = "The rows of one entity are not next to each other: a read of its count scans all \
                    rows. diesel_counters does not compile with it.";
        slow("key_order", what, cost)
    } else if !indexes.any(|index| index.whole) {
        let what = format!("No key that is whole and not deferrable makes ({names}) unique.");
        let cost = match conn.dialect() {
            Dialect::MySql => {
                "Each increment adds a row of its own, and never adds to an existing one."
            }
            _ => "Each increment fails: its ON CONFLICT needs a unique key.",
        };
        wrong("no_unique_key", what, cost)
    } else {
        let what = format!(
            "({names}) is unique, but its primary key is ({}).",
            key.join(", ")
        );
        let cost = "Each increment writes two indexes, and on MySQL and MariaDB locks rows in both. \
                    diesel_counters does not compile with it.";
        slow("not_primary_key", what, cost)
    };
    let remedy = format!("Make ({names}) the primary key, in this order.");
    Ok(vec![fault.remedy(instead(conn, remedy))])
}

/// Only SQLite has it.
fn null_key(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let key = &shape.table.primary_key;
    let columns = shape.key_columns();
    let nullable = columns.filter(|column| column.nullable && key.contains(&column.name));
    let cost = "SQLite treats each NULL as different: an increment adds a row, and never adds to an \
                existing one.";
    let fault = |column: &Column| {
        let what = format!("{} may be NULL, though in the primary key.", column.name);
        wrong("null_key", what, cost).remedy(instead(conn, ""))
    };
    Ok(nullable.map(fault).collect())
}

fn types_of_key(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault =
        |column: &Column, found: fn(_, String, &'static str) -> Fault, name, wanted, cost| {
            let what = format!("{} is {}, not {wanted}.", column.name, column.sql_type);
            faults.push(
                found(name, what, cost).remedy(instead(conn, format!("Make it a {wanted}."))),
            );
        };
    if !shape.table.holds_days(shape.day) {
        let cost = "diesel_counters does not compile with it. A column that holds a time as well, or a \
                    day in several spellings, has many rows for one day.";
        fault(shape.day, wrong, "day_type", "DATE", cost);
    }
    if !shape.table.holds_slots(shape.slot) {
        let cost = "diesel_counters does not compile with it.";
        fault(shape.slot, wrong, "slot_type", "SMALLINT", cost);
    }
    for column in &shape.entity {
        // `format_type` of PostgreSQL writes it in these ways.
        if let Some("character" | "bpchar") = column.sql_type.split('(').next() {
            let cost = "Diesel binds a TEXT. PostgreSQL compares it with the column as TEXT, which no \
                        index has: each read scans the whole table.";
            fault(column, slow, "fixed_width", "TEXT", cost);
        }
    }
    Ok(faults)
}

/// Collations of the key that take different texts as equal.
fn collations(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for entity in &shape.entity {
        let Some(collation) = &entity.loose_collation else {
            continue;
        };
        // Texts that the parent's key takes as equal are one entity.
        if let Some(parent) = &entity.refers_to {
            let table = catalogue::parent(parent, conn)?;
            let column = table.as_ref().and_then(|t| t.column(&parent.column));
            if column.is_none_or(|column| column.loose_collation.as_ref() == Some(collation)) {
                continue;
            }
        }
        let what = format!("{} has the collation {collation}.", entity.name);
        let only_ignores_spaces = conn.dialect() == Dialect::MySql && !collation.ends_with("_ci");
        let fault = match only_ignores_spaces {
            true => note(
                "padding",
                what,
                "It takes 'foo ', with a space at its end, and 'foo' as equal, and counts them as one.",
            ),
            false => wrong(
                "collation",
                what,
                "It takes 'Foo' and 'foo' as equal, and counts them as one.",
            ),
        };
        let remedy = "Give it a collation that tells them apart, such as \"C\", utf8mb4_0900_bin or \
                      utf8mb4_nopad_bin, and the same one to each column that it is joined to.";
        faults.push(fault.remedy(instead(conn, remedy)));
    }
    Ok(faults)
}

/// The columns outside of the key: the counters, and those that stop increments.
fn columns(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (table, database) = (shape.table, conn.database());
    let mut faults = Vec::new();
    if shape.counters.is_empty() {
        faults.push(note("no_counter", "It has no counter.", "Nothing can be counted in it.").remedy(
            "Add a column for each counter, as `diesel-counters generate migration` writes them.",
        ));
    }
    for column in &table.columns {
        let name = &column.name;
        let set_default = |fault: Fault, default| match database {
            SQLITE => fault.remedy(instead(conn, "")),
            _ => fault
                .remedy("Set its default. This changes no row.")
                .run(format!(
                    "ALTER TABLE {} ALTER COLUMN {} SET DEFAULT {default};",
                    database.table_name(table),
                    database.quoted(name)
                )),
        };
        if !shape.is_counter(column) {
            let has_value = column.nullable || column.default.is_some();
            if !(shape.is_key(column) || has_value || column.auto_increment || column.generated) {
                let what = format!("{name} is NOT NULL and has no default.");
                let cost = "An increment that adds a row fails, because it sets the key and the \
                            counters only.";
                faults.push(set_default(wrong("no_default", what, cost), "…"));
            }
            continue;
        }
        let change = "Make it BIGINT NOT NULL DEFAULT 0, and correct its values before that.";
        if !table.holds_counts(column) {
            let cost = match database.stored_as(column.kind) {
                Kind::Real => "A large floating-point number does not count by ones.",
                Kind::SmallInt => "Increments fail from 32,767 on.",
                Kind::Integer => "Increments fail from 2,147,483,647 on.",
                _ => "diesel_counters counts in BIGINT columns only.",
            };
            let what = format!("{name} is {}, not BIGINT.", column.sql_type);
            faults.push(wrong("counter_type", what, cost).remedy(instead(conn, change)));
        }
        if column.nullable {
            let cost = "NULL + 1 is NULL: the counts of such a row are lost.";
            let fault = wrong("null_counter", format!("{name} may be NULL."), cost);
            faults.push(fault.remedy(instead(conn, change)));
        } else if column.default.is_none() {
            let cost = "An increment of other counters that adds a row fails.";
            let fault = wrong("no_default", format!("{name} has no default."), cost);
            faults.push(set_default(fault, "0"));
        } else if let Some(default) = column.default.as_ref().filter(|value| !is_zero(value)) {
            let what = format!("The default of {name} is {default}, not 0.");
            let cost = "An increment of other counters that adds a row adds this much to it.";
            faults.push(set_default(wrong("default_not_0", what, cost), "0"));
        }
    }
    Ok(faults)
}

/// A table whose rows a crash or a rollback loses.
fn storage(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let Some(storage) = &shape.table.unsafe_storage else {
        return Ok(Vec::new());
    };
    let (name, cost, change) = match conn.database() {
        MYSQL => (
            "no_transactions",
            "Counts do not roll back with the rest of a transaction.",
            "ENGINE = InnoDB",
        ),
        _ => (
            "unlogged",
            "A crash of the server empties it.",
            "SET LOGGED",
        ),
    };
    let table = conn.database().table_name(shape.table);
    let fault = wrong(name, format!("Its storage is {storage}."), cost);
    let fault = fault.remedy("Change it. This rewrites the table, and blocks writes.");
    Ok(vec![fault.run(format!("ALTER TABLE {table} {change};"))])
}

/// SQLite stores anything in a column of a table that is not STRICT.
fn integers(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if conn.dialect() != Dialect::Sqlite || shape.table.strict {
        return Ok(faults);
    }
    // Without spaces and quotes, in lower case.
    let plain = |sql: &str| {
        let is_kept = |c: &char| !c.is_whitespace() && !"\"`[]".contains(*c);
        sql.chars()
            .filter(is_kept)
            .collect::<String>()
            .to_lowercase()
    };
    let definition = plain(shape.table.definition.as_deref().unwrap_or_default());
    for counter in &shape.counters {
        let name = &counter.name;
        if !definition.contains(&plain(&format!("typeof({name})='integer'"))) {
            let what = format!("{name} has no CHECK (typeof({name}) = 'integer').");
            let cost = "Another program can store other values than integers, and SQLite's own + turns \
                        into floating point when it overflows.";
            faults.push(wrong("unchecked", what, cost).remedy(instead(conn, "")));
        }
        let other = format!("typeof({}) NOT IN ('integer', 'null')", SQLITE.quoted(name));
        // All values of a REAL column are floating-point numbers.
        if counter.kind != Kind::Real && SQLITE.count(shape.table, &other, conn)? > 0 {
            let what = format!("A row has a value of {name} that is not an integer.");
            let fault = wrong("no_integer", what, "A sum over it is an error.");
            let fault = fault.remedy("Look at it, and correct the count before anything else.");
            let table = SQLITE.table_name(shape.table);
            faults.push(fault.run(format!("SELECT * FROM {table} WHERE {other};")));
        }
    }
    Ok(faults)
}

/// The indexes besides the primary key.
fn indexes(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for index in shape.table.indexes.iter().filter(|index| !index.primary) {
        let name = &index.name;
        if index.conflicts_besides(shape.key()) {
            let what = format!(
                "{name} is a unique index on ({}).",
                index.columns.join(", ")
            );
            let cost = match conn.database() {
                MYSQL => {
                    "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be added to \
                     another entity's, day's or slot's row."
                }
                _ => "An increment fails if only this index has such a row already.",
            };
            let remedy =
                "Drop it, or replace it by an index that is not unique and holds no counter.";
            faults.push(wrong("unique_index", what, cost).remedy(remedy));
        }
        let is_counter = |name: &&str| shape.counters.iter().any(|counter| counter.name == *name);
        let counters: Vec<_> = index.holds().filter(is_counter).collect();
        if !counters.is_empty() {
            let what = format!("The index {name} holds {}.", counters.join(", "));
            let cost = "Each increment of that counter writes it too, and on PostgreSQL all others: it \
                        cannot be a heap-only update.";
            faults.push(slow("counter_index", what, cost).remedy(
                "Drop it, on PostgreSQL with DROP INDEX CONCURRENTLY: to sort by a count, materialize it \
                 into a column of the entity's table.",
            ));
        }
    }
    Ok(faults)
}

/// Whether the table is published, and another node's is subscribed to.
const REPLICATED: &str = "
    SELECT EXISTS (SELECT FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname
                   JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
                   WHERE c.oid = of_table.oid)
        AND EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = of_table.oid)
    FROM (SELECT to_regclass(";

/// A table of PostgreSQL that several nodes write, by logical replication.
fn nodes(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if conn.dialect() != Dialect::PostgreSql {
        return Ok(faults);
    }
    let table = POSTGRES.table_name(shape.table);
    let replicated = sql(REPLICATED).bind(&*table).sql(") AS oid) AS of_table");
    if !replicated.typed::<Bool>().get_result::<bool>(conn)? {
        return Ok(faults);
    }
    if partition::of_database(conn)?.is_none() {
        let what = "It is published and subscribed to, and the database has no partition.";
        let cost = "Nodes that write the same row overwrite each other, or stop the replication.";
        faults.push(wrong("no_node", what, cost).remedy(
            "Give each node another one: ALTER DATABASE … SET diesel_counters.partition = '0/2'. \
             Set it in programs too, with set_default_slot.",
        ));
    }
    let mut parents = shape.entity.iter().filter_map(|key| key.refers_to.as_ref());
    if let Some(parent) = parents.find(|parent| parent.cascades()) {
        let what = format!("Deleting from {} deletes its rows.", parent.table);
        let cost = "A cascade on one node deletes rows that another node writes: then the nodes can differ.";
        let remedy = "Drop the foreign key, and call delete_counters on each node.";
        faults.push(wrong("cascade_on_nodes", what, cost).remedy(remedy));
    }
    Ok(faults)
}

/// The period that the table counts by, as the database has it.
pub fn period(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (table, day) = (shape.table, shape.day);
    if table.primary_key != shape.key() || !table.holds_days(day) {
        return Ok(Vec::new());
    }
    let fault = match table.period(day) {
        Ok(Some(_)) => return Ok(Vec::new()),
        Ok(None) => note(
            "no_period",
            "The database does not have the period that it counts by.",
            "fold into weeks, months or years, and materialize of some days, require it, or --period.",
        ),
        Err(lines) => wrong(
            "unreadable_period",
            format!("The comment of {} is no period: {lines}", day.name),
            "compact, fold and materialize fail.",
        ),
    };
    let statement = statement_of(table, day, Period::Day, conn.database());
    Ok(vec![match statement {
        Some(statement) => fault.run(statement).remedy(
            "Write it into a comment, with the period of its counter_table!: day, which is the \
             default, week, month, year or total. This changes no row.",
        ),
        None => fault.remedy(
            "SQLite cannot change a comment: give --period, or create another table with \
             `diesel-counters generate migration --period …`, and copy the rows.",
        ),
    }])
}
