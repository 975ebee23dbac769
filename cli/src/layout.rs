//! A counter table of the catalogue, as the library's engine takes it.

use anyhow::{Result, bail};
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel_counters::Layout;

use crate::catalogue::{Column, CounterTable, Table};

/// The name of a table as SQL.
#[derive(Debug, Clone)]
pub struct TableName {
    schema: Option<String>,
    name: String,
}

impl TableName {
    pub fn of(table: &Table) -> Self {
        TableName {
            schema: table.sql_schema.clone(),
            name: table.name.clone(),
        }
    }
}

impl<DB: Backend> QueryFragment<DB> for TableName {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if let Some(schema) = &self.schema {
            out.push_identifier(schema)?;
            out.push_sql(".");
        }
        out.push_identifier(&self.name)
    }
}

/// The layout of a table, with these of its counters.
pub fn layout<'c>(
    table: &CounterTable,
    counters: impl IntoIterator<Item = &'c Column>,
) -> Layout<TableName> {
    let name = |column: &Column| column.name.clone().into();
    Layout {
        table: TableName::of(&table.table),
        name: table.table.to_string().into(),
        period: table.period().ok().flatten().unwrap_or_default().into(),
        entity: table.entity.iter().map(name).collect(),
        day: name(&table.day),
        slot: name(&table.slot),
        counters: counters.into_iter().map(name).collect(),
        others: Vec::new(),
    }
}

/// The layout of a table whose rows are to be merged.
///
/// # Errors
///
/// Where a merge would lose what a column has that is not in `discard`.
pub fn layout_to_merge(table: &CounterTable, discard: &[String]) -> Result<Layout<TableName>> {
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
    let mut layout = layout(table, &table.counters);
    let generated = generated
        .into_iter()
        .map(|column| column.name.clone().into());
    layout.others = discard
        .iter()
        .cloned()
        .map(Into::into)
        .chain(generated)
        .collect();
    Ok(layout)
}
