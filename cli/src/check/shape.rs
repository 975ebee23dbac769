//! The faults of a table's columns, key and indexes.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{OptionalExtension, QueryableByName, RunQueryDsl};
use diesel_counters::Period;

use super::days::days;
use super::triggers::others;
use crate::catalogue::{self, Column, CounterTable, Mark, Table, is_zero, statement_of};
use crate::connection::AnyConnection;
use crate::database::{Joined, MYSQL, POSTGRES, SQLITE};
use crate::fault::{Fault, note, slow, wrong};
use crate::sql::{sql, sql_with};
use crate::triggers::live_triggers;

type Check = fn(&CounterTable, &mut AnyConnection) -> Result<Vec<Fault>>;

/// What a table is checked for, in the order of the output.
pub const CHECKS: [Check; 11] = [
    fixed_width,
    collations,
    columns,
    storage,
    integers,
    stock,
    indexes,
    deferrable,
    days,
    own_triggers,
    policies,
];

/// What a change of a column takes.
fn instead(conn: &AnyConnection, change: impl Into<String>) -> String {
    match conn.database() {
        SQLITE => "SQLite cannot change that: create another table with `diesel-counters \
                            generate migration`, and copy the rows."
            .to_owned(),
        _ => change.into(),
    }
}

/// A statement that changes the table. On SQLite, there is none.
fn alter(shape: &CounterTable, conn: &AnyConnection, change: String) -> Option<String> {
    let database = conn.database();
    let name = database.table_name(&shape.table);
    (database != SQLITE).then(|| format!("ALTER TABLE {name} {change};"))
}

/// Columns of the key with texts of a fixed width on PostgreSQL.
fn fixed_width(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    // As `format_type` writes them.
    let types = ["character", "bpchar"];
    let is_fixed = |column: &&Column| types.contains(&&*column.plain_type());
    let fault = |column: &Column| {
        let what = format!("{} is {}, not TEXT.", column.name, column.sql_type);
        let cost = "Diesel binds a TEXT. PostgreSQL compares it with the column as TEXT, which no \
                    index has: each read scans the whole table.";
        slow("fixed_width", what, cost).remedy("Make it a TEXT.")
    };
    Ok(shape.entity.iter().filter(is_fixed).map(fault).collect())
}

const SPACES_AT_THE_END: &str =
    "It takes 'foo ', with a space at its end, and 'foo' as equal, and counts them as one.";

/// Collations of the key that take different texts as equal.
fn collations(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for entity in &shape.entity {
        let Some(collation) = &entity.loose_collation else {
            continue;
        };
        // Texts that the parent's key takes as equal are one entity. It is taken to do so if this
        // user may not see it.
        if let Some(parent) = &entity.refers_to {
            let table = catalogue::parent(parent, conn)?;
            let key = table
                .as_ref()
                .and_then(|table| table.column(&parent.column));
            if key.is_none_or(|key| key.loose_collation == entity.loose_collation) {
                continue;
            }
        }
        let what = format!("{} has the collation {collation}.", entity.name);
        let is_of_spaces = conn.database() == SQLITE && collation == "RTRIM";
        let is_of_case = conn.database() != MYSQL || collation.ends_with("_ci");
        let fault = if is_of_spaces {
            wrong("collation", what, SPACES_AT_THE_END)
        } else if is_of_case {
            let cost = "It takes 'Foo' and 'foo' as equal, and counts them as one.";
            wrong("collation", what, cost)
        } else if collation.contains("_ai_") {
            let cost = "It takes 'résumé' and 'resume' as equal, and counts them as one.";
            wrong("collation", what, cost)
        } else {
            note("padding", what, SPACES_AT_THE_END)
        };
        let remedy = "Give it a collation that tells them apart, such as \"C\", utf8mb4_0900_bin \
                      or utf8mb4_nopad_bin, and the same one to each column that it is joined to.";
        faults.push(fault.remedy(instead(conn, remedy)));
    }
    Ok(faults)
}

/// The columns outside of the key: the counters, and those that stop increments.
fn columns(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let table = &shape.table;
    let mut faults = Vec::new();
    if shape.counters.is_empty() {
        let what = "It has no counter.";
        let cost = "Nothing can be counted in it.";
        faults.push(note("no_counter", what, cost).remedy(
            "Add a BIGINT column for each counter, as `diesel-counters generate migration` writes \
             them.",
        ));
    }
    let is_outside = |column: &&Column| !table.primary_key.contains(&column.name);
    for column in table.columns.iter().filter(is_outside) {
        let name = &column.name;
        let (has_domain_default, refuses_null) = match conn.database() {
            POSTGRES => domain(table, name, conn)?,
            // An ENUM has its first value.
            MYSQL => (column.sql_type.starts_with("enum("), false),
            _ => (false, false),
        };
        let set_default = |fault: Fault, default| {
            let name = conn.database().quoted(name);
            let change = format!("ALTER COLUMN {name} SET DEFAULT {default}");
            fault
                .remedy(instead(conn, "Set its default. This changes no row."))
                .run(alter(shape, conn, change))
        };
        let is_counter = shape.counters.contains(column);
        let can_be_null = column.nullable && !refuses_null;
        // What an INSERT that does not name the column gives it.
        let is_written = column.auto_increment || column.generated;
        let has_value = can_be_null || is_written || has_domain_default;
        match column.default.as_deref() {
            // Whatever its default: a NULL in any row loses counts.
            _ if is_counter && column.nullable => {
                let cost = "NULL + 1 is NULL: the counts of such a row are lost.";
                let fault = wrong("null_counter", format!("{name} may be NULL."), cost);
                let change =
                    "Make it BIGINT NOT NULL DEFAULT 0, and correct its values before that.";
                faults.push(fault.remedy(instead(conn, change)));
            }
            None if !has_value => {
                let what = format!("{name} is NOT NULL and has no default.");
                let cost = "An increment that adds a row sets the key and its own counters only: \
                            it fails.";
                let default = if is_counter { "0" } else { "…" };
                faults.push(set_default(wrong("no_default", what, cost), default));
            }
            Some(default) if is_counter && !is_zero(default) => {
                let what = format!("The default of {name} is {default}, not 0.");
                let cost = "An increment of other counters that adds a row adds this much to it.";
                faults.push(set_default(wrong("default_not_0", what, cost), "0"));
            }
            _ => {}
        }
    }
    Ok(faults)
}

/// Whether the type of a column of PostgreSQL is a domain with a default, and whether it is one
/// that refuses a NULL.
fn domain(table: &Table, column: &str, conn: &mut AnyConnection) -> Result<(bool, bool)> {
    let name = POSTGRES.table_name(table);
    let domain = sql_with(
        "SELECT t.typdefault IS NOT NULL, t.typnotnull
         FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
         WHERE t.typtype = 'd' AND a.attname = {column}
             AND a.attrelid = CAST(to_regclass({table}) AS oid)",
        &[("table", &name), ("column", column)],
    );
    let found: Option<(bool, bool)> = domain.typed::<(Bool, Bool)>().get_result(conn).optional()?;
    Ok(found.unwrap_or_default())
}

/// Triggers of the counter table itself. Nothing but the program and triggers of `generate triggers`
/// writes it.
fn own_triggers(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let found = others(&shape.table, &[], &live_triggers(conn)?);
    Ok(found.into_iter().collect())
}

/// Row level security of a counter table.
fn policies(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let has_policies = sql_with(
        "SELECT relrowsecurity FROM pg_class WHERE oid = CAST(to_regclass({table}) AS oid)",
        &[("table", &POSTGRES.table_name(&shape.table))],
    );
    if !has_policies.typed::<Bool>().get_result::<bool>(conn)? {
        return Ok(Vec::new());
    }
    let what = "It has row level security.";
    let cost = "A policy can hide rows from the roles that it is for, and refuse theirs: \
                increments fail, and totals have a part of the counts.";
    let remedy = "Count, merge and correct as a role that sees all rows: the owner, without FORCE, \
                  or one with BYPASSRLS.";
    Ok(vec![note("policy", what, cost).remedy(remedy)])
}

/// ON CONFLICT of PostgreSQL takes no key that is checked later.
fn deferrable(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let table = POSTGRES.table_name(&shape.table);
    let deferrable = sql_with(
        "SELECT conname::text FROM pg_constraint WHERE contype = 'p' AND condeferrable
             AND conrelid = CAST(to_regclass({table}) AS oid)",
        &[("table", &table)],
    );
    let names: Vec<String> = deferrable.typed::<Text>().load(conn)?;
    let columns = shape.table.primary_key.iter();
    let key = columns.map(|name| POSTGRES.quoted(name)).joined(", ");
    let fault = |name: String| {
        let what = format!("Its primary key {name} is DEFERRABLE.");
        let cost = "ON CONFLICT cannot use it: each increment fails.";
        let remedy = "Create it again without. This builds its index again, and blocks writes.";
        let quoted = POSTGRES.quoted(&name);
        let fault = wrong("deferrable_key", what, cost).remedy(remedy);
        fault.run(format!(
            "ALTER TABLE {table} DROP CONSTRAINT {quoted}, \
             ADD CONSTRAINT {quoted} PRIMARY KEY ({key});"
        ))
    };
    Ok(names.into_iter().map(fault).collect())
}

/// A table whose rows a crash or a rollback loses.
fn storage(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let Some(storage) = &shape.table.unsafe_storage else {
        return Ok(Vec::new());
    };
    let what = format!("Its storage is {storage}.");
    let remedy = "Change it. This rewrites the table, and blocks writes.";
    let fault = if conn.database() == MYSQL {
        let cost = "Counts do not roll back with the rest of a transaction.";
        let change = "ENGINE = InnoDB".to_owned();
        wrong("no_transactions", what, cost).run(alter(shape, conn, change))
    } else {
        let cost = "A crash of the server empties it.";
        let change = "SET LOGGED".to_owned();
        wrong("unlogged", what, cost).run(alter(shape, conn, change))
    };
    Ok(vec![fault.remedy(remedy)])
}

/// SQLite stores anything in a column of a table that is not STRICT.
fn integers(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if conn.database() != SQLITE || shape.table.strict {
        return Ok(faults);
    }
    for counter in &shape.counters {
        let name = &counter.name;
        if !shape.table.has_integers_only(name, SQLITE) {
            let what = format!("{name} has no CHECK (typeof({name}) = 'integer').");
            let cost = "Another program can store other values than integers, and SQLite's own + \
                        turns into floating point when it overflows.";
            faults.push(wrong("unchecked", what, cost).remedy(instead(conn, "")));
        }
        let table = SQLITE.table_name(&shape.table);
        let counter = SQLITE.quoted(name);
        let rows =
            format!("SELECT * FROM {table} WHERE typeof({counter}) NOT IN ('integer', 'null')");
        let is_any = sql(format!("SELECT EXISTS ({rows})")).typed::<Bool>();
        if is_any.get_result::<bool>(conn)? {
            let what = format!("A row has a value of {name} that is not an integer.");
            let cost = "A sum over it is an error.";
            let remedy = "Look at it, and correct the count before anything else.";
            let fault = wrong("no_integer", what, cost).remedy(remedy);
            faults.push(fault.run(rows + ";"));
        }
    }
    Ok(faults)
}

/// Counters that never go below 0: the stocks of the comment, and those that a CHECK guards.
fn stock(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let database = conn.database();
    // Without a comment, only the CHECKs tell.
    let mark = shape.mark().unwrap_or(Mark::total(Vec::new()));
    let guarded = shape.guarded(false, database);
    let guarded_in_all_rows = shape.guarded(true, database);
    let names = shape.counters.iter().map(|counter| counter.name.clone());
    let is_stock = |name: &String| mark.stock.contains(name) || guarded.contains(name);
    let stock: Vec<_> = names.filter(is_stock).collect();
    // The comment that would say what the CHECKs do.
    let said = Mark::total(stock.clone());
    let write_comment = statement_of(shape, &said, database).filter(|_| said.is_readable());
    for name in &stock {
        if !mark.stock.contains(name) {
            let what = format!("A CHECK keeps {name} at 0 or more, and it is not a stock.");
            let cost = "A row can be below 0 while the count is not: a decrement on another \
                        connection fails.";
            let remedy = "Drop the CHECK. If it is a stock in counter_table!, write that into the \
                          comment instead.";
            let mut fault = wrong("not_a_stock", what, cost).remedy(instead(conn, remedy));
            // A table that counts by days cannot have a stock: only the CHECK can be wrong.
            if mark.period == Period::Total {
                fault = fault.run(write_comment.clone());
            }
            faults.push(fault);
        } else if !guarded_in_all_rows.contains(name) {
            let add = format!("ADD CHECK ({} >= 0)", database.quoted(name));
            let what = format!("{name} is a stock, and no valid CHECK keeps it at 0 or more.");
            let cost = "Other programs can make it negative: more is taken than there is.";
            let remedy = "Add it. If a row is below 0, correct that first, with set_counter.";
            let fault = wrong("stock_unchecked", what, cost).run(alter(shape, conn, add));
            faults.push(fault.remedy(instead(conn, remedy)));
        }
    }
    let is_wrong = |name| mark.period != Period::Total || !stock.contains(name);
    if mark.stock.iter().any(is_wrong) {
        let what = format!("Its comment says `{mark}`.");
        let cost = "A stock is a counter of the table, and its period is total: this cannot be so.";
        let remedy = instead(conn, "Write into the comment what counter_table! says.");
        let fault = wrong("unknown_stock", what, cost).remedy(remedy);
        faults.push(fault.run(write_comment));
    }
    Ok(faults)
}

/// Unique indexes in which different keys conflict, and indexes that depend on a counter.
fn indexes(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let database = conn.database();
    let depend = match database {
        POSTGRES => depend_on_counters(shape, conn)?,
        _ => hold_counters(shape),
    };
    for index in &shape.table.indexes {
        let name = &index.name;
        // On MySQL and MariaDB, a column that the index has the beginning of is listed as a whole
        // one is.
        let has_beginning = database == MYSQL && index.expression;
        // An increment can conflict here without conflicting in the key, unless the index has the
        // whole key.
        let mut key = shape.table.primary_key.iter();
        let has_key = key.all(|name| index.columns.contains(name));
        if index.unique && (has_beginning || !has_key) {
            let columns = index.columns.join(", ");
            let of = if has_beginning {
                ", with an expression or the beginning of a column"
            } else {
                ""
            };
            let what = format!("{name} is a unique index on ({columns}){of}.");
            let cost = match database {
                MYSQL => {
                    "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be added \
                     to another entity's, day's or slot's row."
                }
                _ => "An increment fails if only this index has such a row already.",
            };
            let remedy = if index.primary {
                "Make it a key of whole columns."
            } else {
                "Drop it, or replace it by an index that is not unique and holds no counter."
            };
            faults.push(wrong("unique_index", what, cost).remedy(remedy));
        }
        let of_index = depend.iter().filter(|depends| depends.index_name == *name);
        let counters = of_index.map(|depends| &depends.column_name).joined(", ");
        if !counters.is_empty() {
            let what = format!("The index {name} holds {counters}.");
            let cost = "Each increment of that counter writes it too, and on PostgreSQL all \
                        others: it cannot be a heap-only update.";
            faults.push(slow("counter_index", what, cost).remedy(
                "Drop it, on PostgreSQL with DROP INDEX CONCURRENTLY: to sort by a count, \
                 materialize it into a column of the entity's table.",
            ));
        }
    }
    Ok(faults)
}

/// A counter that an index depends on.
#[derive(QueryableByName)]
struct DependsOn {
    #[diesel(sql_type = Text)]
    index_name: String,
    #[diesel(sql_type = Text)]
    column_name: String,
}

/// The counters in the lists of the indexes' columns.
fn hold_counters(shape: &CounterTable) -> Vec<DependsOn> {
    let mut all = Vec::new();
    for index in &shape.table.indexes {
        let is_counter = |name: &&String| shape.counters.iter().any(|one| one.name == **name);
        for name in index.columns.iter().filter(is_counter) {
            all.push(DependsOn {
                index_name: index.name.clone(),
                column_name: name.clone(),
            });
        }
    }
    all
}

/// The same on PostgreSQL, also of expressions, of conditions and of included columns: a change of
/// any of these columns is no heap-only update.
fn depend_on_counters(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<DependsOn>> {
    let depend = sql_with(
        "SELECT DISTINCT i.relname::text AS index_name, a.attname::text AS column_name
         FROM pg_index x
         JOIN pg_class i ON i.oid = x.indexrelid
         JOIN pg_depend d ON d.classid = CAST('pg_class'::regclass AS oid) AND d.objid = i.oid
             AND d.refclassid = d.classid AND d.refobjid = x.indrelid
         JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = d.refobjsubid
         WHERE x.indrelid = CAST(to_regclass({table}) AS oid)
         ORDER BY 1, 2",
        &[("table", &POSTGRES.table_name(&shape.table))],
    );
    let mut depend: Vec<DependsOn> = depend.load(conn)?;
    depend.retain(|one| {
        let mut counters = shape.counters.iter();
        counters.any(|counter| counter.name == one.column_name)
    });
    Ok(depend)
}

/// The period that the table counts by, if the database does not have it.
pub fn period(shape: &CounterTable, conn: &AnyConnection) -> Option<Fault> {
    if shape.mark().is_some() {
        return None;
    }
    let what = "The database does not have the period that it counts by.";
    let cost = "fold into weeks, months or years requires it, or --period.";
    let fault = note("no_period", what, cost);
    let remedy = "Write it into a comment, with the period of its counter_table!: day, which is \
                  the default, week, month, year or total. This changes no row.";
    let statement = statement_of(shape, &Mark::default(), conn.database());
    Some(fault.remedy(instead(conn, remedy)).run(statement))
}
