//! Finds a definition's targets, and refuses what can't be one.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;

use super::definition::{Count, Definition, Period};
use super::expression::Expression;
use super::keys::{key_of, refuse_others};
use super::target::{DayAndSlot, ParentTable, Target};
use crate::catalogue::{self, Column, CounterTable, Kind, Table, WideForeignKey, is_zero, table};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined, POSTGRES};
use crate::sql::sql;

/// Returns a definition's targets, in the order in which it names them. Triggers write and lock
/// them in this order, so if you have several definitions, you can choose one order for all.
pub fn targets(
    definition: &Definition,
    period: Period,
    rows: &Table,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let database = conn.database();
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let (mut found, counter) = find(count, definition, period, conn)?;
        let table = &found.table;
        let wide = table.wide_foreign_keys.first();
        if let Some(WideForeignKey { name, .. }) = wide.filter(|_| found.slots.is_some()) {
            bail!(
                "the foreign key {name} of {table} has several columns. Triggers only work with \
                 foreign keys of one column: replace it with one for each column, or drop it and \
                 delete the counters in the program"
            );
        }
        // Each of these has its own error, with the most general one first.
        let entity = entity(count, &found, rows, database)?;
        refuse_others(count, &entity, &found, rows, conn)?;
        refuse_foreign_keys(&entity, &found, rows)?;
        let text = count.weight.as_ref().unwrap_or(&definition.by);
        let weight = weight(text, rows, database)?;
        // The counters of one table share a target, which comes where the first of them is.
        let mut known = targets.iter();
        let index = match known.position(|target| target.table.is(&found.table)) {
            Some(index) if targets[index].entity != found.entity => {
                bail!(
                    "\"{count}\": this definition counts in {table} by two keys. Write two \
                     definitions"
                )
            }
            Some(index) => index,
            None => {
                if found.slots.is_some() {
                    found.parents = parent_tables(&found, conn)?;
                }
                targets.push(found);
                targets.len() - 1
            }
        };
        if !targets[index].add(counter, entity, weight) {
            bail!("count has \"{count}\" twice");
        }
    }
    // If `only` depended on the counter, counting could make the row enter or leave the condition.
    for target in &targets {
        let mut only = target.only.iter().flat_map(Expression::columns);
        if let Some(name) = only.find(|name| target.names.iter().any(|counter| counter == name)) {
            bail!("only has {name}, which the triggers change");
        }
    }
    Ok(targets)
}

/// Returns the tables that a counter table's foreign keys refer to, as far as the user may see
/// them.
fn parent_tables(target: &Target, conn: &mut AnyConnection) -> Result<Vec<ParentTable>> {
    let mut tables = Vec::new();
    for (column, parent) in target.parents() {
        if let Some(table) = catalogue::parent(&parent, conn)? {
            tables.push(ParentTable {
                column,
                table,
                deferrable: parent.is_deferrable(),
                key: parent.column,
            });
        }
    }
    Ok(tables)
}

/// Parses what a row adds. A column with fractions is refused, but an expression may round one to a
/// whole number.
fn weight(text: &str, rows: &Table, database: Database) -> Result<Expression> {
    let is_decimal = |column: &Column| ["numeric", "decimal"].contains(&&*column.plain_type());
    let has_fraction = |column: &&Column| column.kind == Kind::Real || is_decimal(column);
    if let Some(Column { sql_type, .. }) = rows.column(text).filter(has_fraction) {
        bail!(
            "{rows}.{text} is {sql_type}, and a counter has whole numbers. Give it whole numbers, \
             such as \"ROUND({text} * 100)\""
        );
    }
    Expression::of_rows(text, rows, database)
}

/// Returns the columns of the row that name the entity.
fn entity(count: &Count, target: &Target, rows: &Table, database: Database) -> Result<Vec<Column>> {
    let table = &target.table;
    let key = &target.entity;
    let names = count.columns.as_deref().unwrap_or_default();
    if key.len() != names.len() {
        let of_key = key.iter().map(|column| &column.name).joined(", ");
        let (of, columns) = match key.len() {
            0 => ("one thing only".to_owned(), String::new()),
            len => (
                format!("every {of_key}"),
                vec!["COLUMN"; len].join(",") + ":",
            ),
        };
        bail!(
            "{table} counts for {of}: write \"{columns}{table}.COUNTER\" in count, with the \
             columns of {rows} that name it"
        );
    }
    if target.slots.is_some() && table.is(rows) {
        bail!("{rows} is the counter table itself");
    }
    let pairs = names.iter().zip(key);
    pairs
        .map(|(name, key)| column_of_entity(name, key, table, rows, database))
        .collect()
}

/// Returns the column of the row whose values match a key column of the counter table.
fn column_of_entity(
    name: &str,
    key: &Column,
    table: &Table,
    rows: &Table,
    database: Database,
) -> Result<Column> {
    const NONE: &str = "name the entity with columns, not with expressions";
    let column = rows
        .column(name)
        .with_context(|| format!("{rows} has no column {name}: {NONE}"))?;
    let one = format!("{rows}.{name}");
    let other = format!("{table}.{}", key.name);
    let kind = database.stored_as(column.kind);
    if !kind.fits(database.stored_as(key.kind)) {
        let one_type = &column.sql_type;
        let other_type = &key.sql_type;
        bail!("{one} is {one_type}, and {other} is {other_type}: they cannot have the same values");
    }
    // If a foreign key treats texts as equal, they are one entity. Without one, an exact key counts
    // each of them separately. PostgreSQL can't compare two collations.
    let has_no_foreign_key = column.refers_to.is_none() && key.refers_to.is_none();
    let is_exact = database != POSTGRES && has_no_foreign_key && key.loose_collation.is_none();
    if column.loose_collation != key.loose_collation && !is_exact {
        bail!(
            "{one} and {other} have different collations: the same texts could be one entity in \
             one of them, and two in the other. Give them the same collation first"
        );
    }
    Ok(column.clone())
}

/// Refuses foreign keys that would change counts or refuse them.
fn refuse_foreign_keys(entity: &[Column], target: &Target, rows: &Table) -> Result<()> {
    let table = &target.table;
    let is_slotted = target.slots.is_some();
    let moves = |key: &&WideForeignKey| key.parent.updates() && table.is_parent(&key.parent);
    let wide = rows.wide_foreign_keys.iter().find(moves);
    if let Some(WideForeignKey { name, parent }) = wide.filter(|_| !is_slotted) {
        let action = &parent.on_update;
        bail!(
            "the foreign key {name} of {rows} has ON UPDATE {action}: an update of its key in \
             {table} would count its rows twice. Remove ON UPDATE {action} first"
        );
    }
    for (index, counted) in target.parents() {
        let of_rows = &entity[index];
        let key = &target.entity[index];
        let column = &of_rows.name;
        let key_column = &key.name;
        // The foreign key of the rows, if it refers to the entity that is counted.
        let mut foreign_keys = of_rows.parents();
        let refers_to = foreign_keys.find(|parent| parent.is_same(&counted));
        // If an entity's key changes, its counts move along. But the foreign key also changes the
        // rows, and they would be counted again: a trigger can't tell that from an update that
        // moves a row to another entity.
        let (of, name, moves) = if is_slotted {
            (table, key_column, Some(&counted))
        } else {
            (rows, column, refers_to)
        };
        if let Some(moves) = moves.filter(|parent| parent.updates()) {
            let action = &moves.on_update;
            let parent = &moves.table;
            let key = &moves.column;
            bail!(
                "the foreign key of {of}.{name} has ON UPDATE {action}: an update of \
                 {parent}.{key} would count its rows twice. Remove ON UPDATE {action} first"
            );
        }
        // The row with the counter and the counted rows would both follow the same update, one
        // after the other.
        let followed = |column: &Column| column.parents().find(|one| one.updates()).cloned();
        if !is_slotted
            && let Some(parent_of_rows) = followed(of_rows)
            && followed(key).is_some()
        {
            let action = &parent_of_rows.on_update;
            let parent = &parent_of_rows.table;
            bail!(
                "the foreign keys of {rows}.{column} and {table}.{key_column} change with an \
                 update of {parent}, which would count its rows twice. Remove ON UPDATE {action} \
                 first"
            );
        }
        let Some(parent) = refers_to else {
            continue;
        };
        // A row that can come before its entity is also counted before it.
        let deferrable = &parent.deferrable;
        if !parent.is_deferrable() || *deferrable == counted.deferrable {
            continue;
        }
        if !is_slotted {
            bail!(
                "the foreign key of {rows}.{column} is {deferrable}: a row that is there before \
                 its row of {table} would not be counted in it. Make it NOT DEFERRABLE, or count \
                 in a counter table"
            );
        }
        let parent_table = &parent.table;
        let of_key = &counted.deferrable;
        bail!(
            "the foreign key of {rows}.{column} is {deferrable}, and that of {table}.{key_column} \
             is {of_key}: it would refuse the count of a row that is there before its row of \
             {parent_table}. Make it {deferrable} too: ALTER TABLE {table} ALTER CONSTRAINT … \
             {deferrable}"
        );
    }
    Ok(())
}

/// Returns the table that a count names, as a target without sources, and the counter's name.
fn find(
    count: &Count,
    definition: &Definition,
    period: Period,
    conn: &mut AnyConnection,
) -> Result<(Target, String)> {
    match CounterTable::try_from(table(conn, &count.table)?) {
        Ok(counters) => {
            let target = in_counter_table(count, definition, period, counters, conn.database())?;
            Ok((target, count.counter.clone()))
        }
        Err(table) => in_ordinary_table(count, definition, table, conn),
    }
}

/// Finds a counter in a counter table.
fn in_counter_table(
    count: &Count,
    definition: &Definition,
    period: Period,
    counters: CounterTable,
    database: Database,
) -> Result<Target> {
    let counter = &*count.counter;
    let table = &counters.table;
    let mark = counters.mark();
    if let Some(mark) = mark.as_ref().filter(|mark| mark.period != period) {
        let of_table = mark.period;
        bail!(
            "{table} has the period {of_table}, as the comment on its day says, and another table \
             of this definition has the period {period}: write a definition for each period"
        );
    }
    if definition.only.is_some() {
        bail!(
            "only is a condition on the row that has the counter, and {table} has several: \
             write a separate definition for it"
        );
    }
    if count.key.is_some() {
        bail!("{table} is a counter table, which is found by its primary key: don't name a key");
    }
    let names = counters.counters.iter().map(|column| &*column.name);
    if !names.clone().any(|name| name == counter) {
        match &*names.joined(", ") {
            "" => bail!("{table} has no counters"),
            names => bail!("{table} has no counter {counter}; its counters are {names}"),
        }
    }
    if table
        .indexes
        .iter()
        .any(|index| index.primary && index.deferrable)
    {
        bail!(
            "the primary key of {table} is DEFERRABLE: `diesel-counters check {table}` says how to change it"
        );
    }
    // Other programs also insert rows, without a value for this counter.
    let column = counters
        .counters
        .iter()
        .find(|column| column.name == counter);
    let has_zero = |column: &&Column| column.default.as_deref().is_some_and(is_zero);
    if column
        .filter(|one| !one.nullable)
        .filter(has_zero)
        .is_none()
    {
        bail!(
            "{table}.{counter} must be NOT NULL DEFAULT 0: `diesel-counters check {table}` says how to \
             change it"
        );
    }
    let stock = mark.iter().flat_map(|mark| &mark.stock);
    let guarded = counters.guarded(database);
    if stock.chain(&guarded).any(|name| name == counter) {
        bail!(
            "{table}.{counter} is a stock, or a CHECK keeps it at 0 or more. A trigger \
             takes a deleted row off the row of the connection, which can be below 0 while \
             the count is not: count in another counter"
        );
    }
    Ok(Target {
        slots: Some(DayAndSlot {
            day: counters.day,
            slot: counters.slot,
        }),
        entity: counters.entity,
        table: counters.table,
        ..Target::default()
    })
}

/// Finds a column in an ordinary table. Its name is as the table has it.
fn in_ordinary_table(
    count: &Count,
    definition: &Definition,
    table: Table,
    conn: &mut AnyConnection,
) -> Result<(Target, String)> {
    let counter = &*count.counter;
    let is_only_row = matches!(count.columns.as_deref(), Some([]));
    let key = if is_only_row && count.key.is_none() {
        Vec::new()
    } else {
        key_of(count, &table)?
    };
    let is_in_key =
        |name: &String| table.primary_key.contains(name) || key.iter().any(|key| key.name == *name);
    let Some(column) = table
        .column(counter)
        .filter(|column| !is_in_key(&column.name))
    else {
        bail!("{table} has no column {counter} to count in, apart from its key");
    };
    // A new row must start at 0, and `+` must give an integer.
    let why = match column.default.as_deref() {
        _ if column.generated => "is generated by the database".to_owned(),
        _ if !column.kind.is_integer() => format!("is {}", column.sql_type),
        _ if column.nullable => "may be NULL".to_owned(),
        None => "has no default".to_owned(),
        Some(default) if !is_zero(default) => format!("has the default {default}"),
        Some(_) => String::new(),
    };
    if !why.is_empty() {
        let must = "the column to count in must be an integer NOT NULL DEFAULT 0";
        bail!("{table}.{counter} {why}: {must}");
    }
    // This is only checked now. If a second row is added later, it would be counted in, too.
    if is_only_row {
        let name = conn.database().table_name(&table);
        let rows = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT 2) AS few");
        if sql(rows).typed::<BigInt>().get_result::<i64>(conn)? > 1 {
            bail!("\"{count}\" counts in the only row of {table}, which has several rows");
        }
    }
    if key.is_empty() && !is_only_row {
        bail!("{table} has no primary key: {counter} cannot be counted in it");
    }
    let only = match &definition.only {
        Some(text) => Some(Expression::of_rows(text, &table, conn.database())?),
        None => None,
    };
    let name = column.name.clone();
    let found = Target {
        table,
        entity: key,
        only,
        ..Target::default()
    };
    Ok((found, name))
}
