//! A counter table of the catalogue, as the library's engine takes it.

use anyhow::{Result, bail};
use diesel_counters::__private::{Name, Shape, TableName};
use diesel_counters::DEFAULT_SLOTS;

use crate::catalogue::{Column, CounterTable, Table};

/// The name of a table, as the library's engine takes it.
pub fn table_name(table: &Table) -> TableName<'_> {
    TableName {
        schema: table.sql_schema.as_deref().map(Name),
        name: Name(&table.name),
    }
}

/// The shape of a table, with these of its counters.
pub fn shape<'c>(
    table: &'c CounterTable,
    counters: impl IntoIterator<Item = &'c Column>,
) -> Shape<'c> {
    let name = |column: &'c Column| Name(&column.name);
    let key = table.entity.iter().chain([&table.day, &table.slot]);
    Shape {
        table: table_name(&table.table),
        // A command has few tables.
        label: table.table.to_string().leak(),
        key: key.map(name).collect(),
        counters: counters.into_iter().map(name).collect(),
        others: Vec::new(),
        period: table.period().ok().flatten().unwrap_or_default().into(),
        slots: DEFAULT_SLOTS,
        today: || chrono::Utc::now().date_naive(),
    }
}

/// The shape of a table whose rows are to be merged.
///
/// # Errors
///
/// Where a merge would lose what a column has that is not in `discard`.
pub fn shape_to_merge<'c>(table: &'c CounterTable, discard: &'c [String]) -> Result<Shape<'c>> {
    let name = &table.table;
    if let Some(counter) = table.counters.iter().find(|counter| counter.nullable) {
        bail!(
            "{name}.{} can be NULL, and a merge would lose that: see `diesel-counters check {name}`",
            counter.name
        );
    }
    let mut shape = shape(table, &table.counters);
    let known = [&*shape.key, &*shape.counters].concat();
    let others = table.table.columns.iter();
    let others = others.filter(|column| !known.contains(&Name(&column.name)));
    let others: Vec<_> = others.collect();
    for discarded in discard {
        if !others.iter().any(|column| column.name == *discarded) {
            bail!("--discard {discarded}: {name} has no such column to discard");
        }
    }
    for column in others {
        // The database computes a generated column itself.
        if !column.generated && !discard.contains(&column.name) {
            bail!(
                "{name}.{0} is not a counter, and a merge would lose its values: make it a BIGINT, move it \
                 to another table, or discard its values with `--discard {0}`",
                column.name
            );
        }
        shape.others.push(Name(&column.name));
    }
    Ok(shape)
}
