//! Many rows as `VALUES (…), (…)`, and many keys as `IN (…)`: on every database.

use std::ops::Range;

use diesel::QueryResult;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue};

use super::{
    AddedRows, Bind, BindColumn, CounterBackend, Dialect, ListedRows, WalkRows, push_names,
};
use crate::day::Day;
use crate::key::BindColumns;

impl<ST, K, DB> BindColumn<ST, K, DB> for ListedRows
where
    DB: CounterBackend + HasSqlType<ST>,
    K: ToSql<ST, DB>,
    ST: SingleValue,
{
    fn walk_values<'b>(values: &'b [K], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        values
            .iter()
            .try_for_each(|value| out.push_bind_param::<ST, _>(value))
    }
}

/// The range that has only this row.
fn one(row: usize) -> Range<usize> {
    row..row + 1
}

impl<DB: CounterBackend> WalkRows<DB> for ListedRows {
    // SQLite takes 32,766 bind values, MySQL 65,535. Two of them can be days.
    const LIMIT: usize = 32_764;
    // On MySQL and MariaDB, each key is one SELECT of a UNION.
    const NUMBERED_LIMIT: usize = 1_000;

    fn padded(number: usize, limit: usize) -> usize {
        number.next_power_of_two().min(limit)
    }

    // The greatest power of two that is at most `rows` and 256. That makes nine texts, far from
    // any database's limit of bind values.
    fn added(rows: usize) -> usize {
        1 << rows.ilog2().min(8)
    }

    fn walk_in<'b, C: BindColumns<DB>>(
        key: &[&str],
        columns: &'b C,
        rows: usize,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        let push_key =
            |row, out: &mut AstPass<'_, 'b, DB>| columns.walk_binds(one(row), out.reborrow());
        Dialect::of(&out).push_in(key, rows, push_key, &mut out)
    }

    fn walk_from_numbered<'b, T, C>(
        key: &[&str],
        table: &'b T,
        columns: &'b C,
        rows: usize,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<DB>,
        C: BindColumns<DB>,
    {
        let push_key =
            |row, out: &mut AstPass<'_, 'b, DB>| columns.walk_binds(one(row), out.reborrow());
        Dialect::of(&out).push_from_numbered(table, key, rows, push_key, &mut out)
    }

    fn walk_days<'b>(days: &'b [Day], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        days.iter()
            .try_for_each(|day| DB::push_bind(Bind::Day(day), &mut out))
    }

    fn walk_added<'b, C: BindColumns<DB>>(
        rows: &AddedRows<'b, C>,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        push_names(rows.key, &mut out)?;
        for name in rows.counters {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        out.push_sql(") VALUES ");
        for row in rows.rows.clone() {
            let is_first = row == rows.rows.start;
            out.push_sql(if is_first { "(" } else { "), (" });
            rows.columns.walk_binds(one(row), out.reborrow())?;
            out.push_sql(", ");
            dialect.push_slot(rows.slots, is_first, &mut out)?;
            for amounts in rows.amounts {
                out.push_sql(", ");
                DB::push_bind(Bind::Amount(&amounts[row]), &mut out)?;
            }
        }
        out.push_sql(")");
        Ok(())
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use diesel::sqlite::Sqlite;

    use super::*;

    #[test]
    fn few_sizes_of_lists_are_prepared() {
        type Rows = <Sqlite as CounterBackend>::ManyRows;
        let padded = |n| <Rows as WalkRows<Sqlite>>::padded(n, 1_000);
        let sizes = [1, 2, 3, 600, 1_000].map(padded);
        assert_eq!(sizes, [1, 2, 4, 1_000, 1_000]);
        let added = <Rows as WalkRows<Sqlite>>::added;
        let sizes = [1, 3, 255, 256, 70_000].map(added);
        assert_eq!(sizes, [1, 2, 128, 256, 256]);
    }
}
