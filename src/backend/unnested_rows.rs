//! Many rows and many keys as arrays, on PostgreSQL.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, HasSqlType, SingleValue};

use super::sql::{NUMBER, WANTED, push_names, wanted};
use super::{AddedRows, Bind, BindColumn, Binds, Dialect, UnnestedRows, WalkRows};
use crate::key::BindColumns;

impl<ST, K> BindColumn<ST, K, Pg> for UnnestedRows
where
    Pg: HasSqlType<Array<ST>>,
    [K]: ToSql<Array<ST>, Pg>,
    ST: SingleValue,
{
    fn walk_values<'b>(values: &'b [K], mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_bind_param::<Array<ST>, _>(values)
    }
}

impl WalkRows<Pg> for UnnestedRows {
    const LIMIT: usize = usize::MAX;
    const NUMBERED_LIMIT: usize = usize::MAX;

    fn padded(number: usize, _: usize) -> usize {
        number
    }

    fn added(rows: usize) -> usize {
        rows
    }

    fn walk_in<'b, C: BindColumns<Pg>>(
        key: &[&str],
        columns: &'b C,
        rows: usize,
        mut out: AstPass<'_, 'b, Pg>,
    ) -> QueryResult<()> {
        push_any(key, columns, rows, &mut out)?;
        if key.len() > 1 {
            out.push_sql(" AND (");
            push_names(key, &mut out)?;
            out.push_sql(") IN (SELECT * FROM unnest(");
            columns.walk_binds(0..rows, key.len(), out.reborrow())?;
            out.push_sql("))");
        }
        Ok(())
    }

    fn walk_from_numbered<'b, T, C>(
        key: &[&str],
        table: &'b T,
        columns: &'b C,
        rows: usize,
        mut out: AstPass<'_, 'b, Pg>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<Pg>,
        C: BindColumns<Pg>,
    {
        let names: Vec<String> = (0..key.len()).map(wanted).collect();
        out.push_sql(" FROM unnest(");
        columns.walk_binds(0..rows, key.len(), out.reborrow())?;
        out.push_sql(") WITH ORDINALITY AS ");
        out.push_sql(WANTED);
        out.push_sql(" (");
        for name in &names {
            out.push_identifier(name)?;
            out.push_sql(", ");
        }
        out.push_identifier(NUMBER)?;
        out.push_sql(") JOIN ");
        table.walk_ast(out.reborrow())?;
        out.push_sql(" ON ");
        for (column, name) in key.iter().zip(&names) {
            out.push_identifier(column)?;
            out.push_sql(" = ");
            out.push_identifier(name)?;
            out.push_sql(" AND ");
        }
        // With the join alone, the planner scans a whole table of about 100,000 rows.
        push_any(key, columns, rows, &mut out)
    }

    fn walk_added<'b, C: BindColumns<Pg>>(
        rows: &AddedRows<'b, C>,
        mut out: AstPass<'_, 'b, Pg>,
    ) -> QueryResult<()> {
        let (entity, [day, slot]) = rows.key.split_at(C::NUMBER) else {
            return Ok(());
        };
        push_names(&[day, slot], &mut out)?;
        for name in entity.iter().chain(rows.counters) {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        out.push_sql(") SELECT ");
        Pg::push_bind(Bind::Day(rows.day), &mut out)?;
        // A subquery runs once, and an expression once for each row.
        out.push_sql(", (SELECT ");
        Dialect::PostgreSql.push_slot(rows.slots, true, &mut out)?;
        out.push_sql("), row.* FROM unnest(");
        rows.columns
            .walk_binds(rows.rows.clone(), C::NUMBER, out.reborrow())?;
        for (i, amounts) in rows.amounts.iter().enumerate() {
            out.push_sql(if C::NUMBER + i == 0 { "" } else { ", " });
            out.push_bind_param::<Array<BigInt>, _>(&amounts[rows.rows.clone()])?;
        }
        out.push_sql(") AS row");
        Ok(())
    }
}

/// Writes a condition on the first column of the key: it is one of the values of these rows.
fn push_any<'b, C: BindColumns<Pg>>(
    key: &[&str],
    columns: &'b C,
    rows: usize,
    out: &mut AstPass<'_, 'b, Pg>,
) -> QueryResult<()> {
    push_names(&key[..1], out)?;
    out.push_sql(" = ANY(");
    columns.walk_binds(0..rows, 1, out.reborrow())?;
    out.push_sql(")");
    Ok(())
}
