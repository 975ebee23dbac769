//! A counter table of the catalogue, as the library's engine takes it.

use anyhow::{Result, bail};
use diesel_counters::__private::{Name, Shape, TableName};
use diesel_counters::{DEFAULT_SLOTS, Period};

use crate::catalogue::{Column, CounterTable};

/// The shape of a table whose rows are to be merged.
///
/// # Errors
///
/// Where a merge would lose what a column has.
pub fn shape(counters: &CounterTable, period: Period) -> Result<Shape<'_>> {
    let table = &counters.table;
    if let Some(counter) = counters.counters.iter().find(|counter| counter.nullable) {
        bail!(
            "{table}.{} can be NULL, and a merge would lose that: see `diesel-counters check {table}`",
            counter.name
        );
    }
    let key = counters.entity.iter();
    let key: Vec<&Column> = key.chain([&counters.day, &counters.slot]).collect();
    let mut others = table.columns.iter();
    let is_lost = |column: &&Column| {
        // The database computes a generated column itself.
        !column.generated && !key.contains(column) && !counters.counters.contains(column)
    };
    if let Some(column) = others.find(is_lost) {
        bail!(
            "{table}.{} is not a counter, and a merge would lose its values: make it a BIGINT, or move \
             it to another table",
            column.name
        );
    }
    let generated = table.columns.iter().filter(|column| column.generated);
    Ok(Shape {
        table: TableName {
            schema: table.sql_schema.as_deref().map(Name),
            name: Name(&table.name),
        },
        // A command has few tables.
        label: table.to_string().leak(),
        key: key.iter().map(|column| Name(&column.name)).collect(),
        counters: counters
            .counters
            .iter()
            .map(|column| Name(&column.name))
            .collect(),
        others: generated.map(|column| Name(&column.name)).collect(),
        period,
        slots: DEFAULT_SLOTS,
        today: || chrono::Utc::now().date_naive(),
    })
}
