//! Many rows as `VALUES (…), (…)`, and many keys as `IN (…)`: on every database.

use diesel::QueryResult;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue};

use super::{AddedRows, Bind, CounterBackend, Dialect, ListRows, ListedRows, WalkRows, push_names};

impl ListRows for ListedRows {
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
}

impl<K, ST, DB> WalkRows<K, ST, DB> for ListedRows
where
    DB: CounterBackend + HasSqlType<ST>,
    K: ToSql<ST, DB>,
    ST: SingleValue,
{
    fn walk_in<'b>(keys: &'b [K], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        for (i, key) in keys.iter().enumerate() {
            out.push_sql(if i == 0 { " IN (" } else { ", " });
            out.push_bind_param::<ST, _>(key)?;
        }
        out.push_sql(")");
        Ok(())
    }

    fn walk_from_numbered<'b, T>(
        keys: &'b [K],
        table: &'b T,
        entity: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<DB>,
    {
        Dialect::of(&out).push_from_numbered(
            table,
            entity,
            keys.len(),
            |i, out: &mut AstPass<'_, 'b, DB>| out.push_bind_param::<ST, _>(&keys[i]),
            &mut out,
        )
    }

    fn walk_added<'b>(rows: &AddedRows<'b, K>, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        push_names(&rows.key, &mut out)?;
        for name in rows.counters {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        out.push_sql(") VALUES ");
        for (i, key) in rows.keys.iter().enumerate() {
            out.push_sql(if i == 0 { "(" } else { ", (" });
            out.push_bind_param::<ST, _>(key)?;
            out.push_sql(", ");
            DB::push_bind(Bind::Day(rows.day), &mut out)?;
            out.push_sql(", ");
            dialect.push_slot(rows.slots, i == 0, &mut out)?;
            for amounts in &rows.amounts {
                out.push_sql(", ");
                DB::push_bind(Bind::Amount(&amounts[i]), &mut out)?;
            }
            out.push_sql(")");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sizes_of_lists_are_prepared() {
        let sizes = [1, 2, 3, 600, 1_000].map(|n| ListedRows::padded(n, 1_000));
        assert_eq!(sizes, [1, 2, 4, 1_000, 1_000]);
        let sizes = [1, 3, 255, 256, 70_000].map(ListedRows::added);
        assert_eq!(sizes, [1, 2, 128, 256, 256]);
    }
}
