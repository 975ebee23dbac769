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
    if let Some(counter) = table.counters.iter().find(|counter| counter.nullable) {
        bail!(
            "{}.{} can be NULL, and a merge would lose that: see `diesel-counters check {0}`",
            table.table,
            counter.name
        );
    }
    let key = &table.table.primary_key;
    let is_counter = |name: &String| table.counters.iter().any(|counter| counter.name == *name);
    for name in discard {
        if table.table.column(name).is_none() || key.contains(name) || is_counter(name) {
            bail!(
                "--discard {name}: {} has no such column to discard",
                table.table
            );
        }
    }
    // The database computes a generated column itself.
    let (generated, stored): (Vec<_>, Vec<_>) = table
        .table
        .columns
        .iter()
        .partition(|column| column.generated);
    let mut others = stored
        .into_iter()
        .map(|column| &column.name)
        .filter(|name| !key.contains(name) && !is_counter(name));
    if let Some(kept) = others.find(|name| !discard.contains(name)) {
        bail!(
            "{}.{kept} is not a counter, and a merge would lose its values: make it a BIGINT, move it \
             to another table, or discard its values with `--discard {kept}`",
            table.table
        );
    }
    let mut shape = shape(table, &table.counters);
    let generated = generated.into_iter().map(|column| &column.name);
    let others = discard.iter().chain(generated);
    shape.others = others.map(|name| Name(name)).collect();
    Ok(shape)
}
