//! Many rows and many keys as arrays, on PostgreSQL.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, Date, HasSqlType, SingleValue};

use super::sql::{NUMBER, WANTED, WANTED_KEY, push_names};
use super::{AddedRows, BindColumn, Dialect, UnnestedRows, WalkRows};
use crate::day::Day;
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
        let [before, between, after] = match key.len() {
            1 => ["", " = ANY(", ")"],
            _ => ["(", ") IN (SELECT * FROM unnest(", "))"],
        };
        out.push_sql(before);
        push_names(key, &mut out)?;
        out.push_sql(between);
        columns.walk_binds(0..rows, out.reborrow())?;
        out.push_sql(after);
        Ok(())
    }

    fn walk_from_numbered<'b, T, C>(
        key: &[&str],
        _: &'b T,
        columns: &'b C,
        rows: usize,
        mut out: AstPass<'_, 'b, Pg>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<Pg>,
        C: BindColumns<Pg>,
    {
        let names = &WANTED_KEY[..key.len()];
        out.push_sql(" FROM unnest(");
        columns.walk_binds(0..rows, out.reborrow())?;
        out.push_sql(") WITH ORDINALITY AS ");
        out.push_sql(WANTED);
        out.push_sql(" (");
        for name in names {
            out.push_identifier(name)?;
            out.push_sql(", ");
        }
        out.push_identifier(NUMBER)?;
        out.push_sql(")");
        Ok(())
    }

    fn walk_join_numbered<'b, T, C>(
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
        Dialect::PostgreSql.push_join_numbered(table, key, &mut out)?;
        if key.len() == 1 {
            // With the join alone, the planner scans a whole table of about 100,000 rows. For a key of
            // several columns, this condition on the first one could be true for most rows.
            out.push_sql(" AND ");
            Self::walk_in(key, columns, rows, out)?;
        }
        Ok(())
    }

    fn walk_days<'b>(days: &'b [Day], mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_bind_param::<Array<Date>, _>(days)
    }

    fn walk_added<'b, C: BindColumns<Pg>>(
        rows: &AddedRows<'b, C>,
        mut out: AstPass<'_, 'b, Pg>,
    ) -> QueryResult<()> {
        let (columns, [slot]) = rows.key.split_at(C::NUMBER) else {
            return Ok(());
        };
        out.push_identifier(slot)?;
        for name in columns.iter().chain(rows.counters) {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        // A subquery runs once, and an expression once for each row.
        out.push_sql(") SELECT (SELECT ");
        Dialect::PostgreSql.push_slot(rows.slots, true, &mut out)?;
        out.push_sql("), row.* FROM unnest(");
        rows.columns.walk_binds(rows.rows.clone(), out.reborrow())?;
        for amounts in rows.amounts {
            out.push_sql(", ");
            out.push_bind_param::<Array<BigInt>, _>(&amounts[rows.rows.clone()])?;
        }
        out.push_sql(") AS row");
        Ok(())
    }
}
