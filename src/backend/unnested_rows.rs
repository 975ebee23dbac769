//! Many rows and many keys as arrays, on PostgreSQL.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, HasSqlType, SingleValue};

use super::sql::WANTED_KEY;
use super::{
    AddedRows, Bind, Binds, Dialect, ListRows, NUMBER, UnnestedRows, WalkRows, push_names,
};

impl ListRows for UnnestedRows {
    const LIMIT: usize = usize::MAX;
    const NUMBERED_LIMIT: usize = usize::MAX;

    fn padded(number: usize, _: usize) -> usize {
        number
    }

    fn added(rows: usize) -> usize {
        rows
    }
}

impl<K, ST> WalkRows<K, ST, Pg> for UnnestedRows
where
    Pg: HasSqlType<Array<ST>>,
    [K]: ToSql<Array<ST>, Pg>,
    ST: SingleValue,
{
    fn walk_in<'b>(keys: &'b [K], mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(" = ANY(");
        out.push_bind_param::<Array<ST>, _>(keys)?;
        out.push_sql(")");
        Ok(())
    }

    fn walk_from_numbered<'b, T>(
        keys: &'b [K],
        table: &'b T,
        entity: &str,
        mut out: AstPass<'_, 'b, Pg>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<Pg>,
    {
        out.push_sql(" FROM unnest(");
        out.push_bind_param::<Array<ST>, _>(keys)?;
        out.push_sql(") WITH ORDINALITY AS diesel_counters_wanted (");
        push_names(&[WANTED_KEY, NUMBER], &mut out)?;
        out.push_sql(") JOIN ");
        table.walk_ast(out.reborrow())?;
        out.push_sql(" ON ");
        out.push_identifier(entity)?;
        out.push_sql(" = ");
        out.push_identifier(WANTED_KEY)?;
        // With the join alone, the planner scans a whole table of about 100,000 rows.
        out.push_sql(" AND ");
        out.push_identifier(entity)?;
        <Self as WalkRows<K, ST, Pg>>::walk_in(keys, out)
    }

    fn walk_added<'b>(rows: &AddedRows<'b, K>, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let [entity, day, slot] = rows.key;
        push_names(&[day, slot, entity], &mut out)?;
        for name in rows.counters {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        out.push_sql(") SELECT ");
        Pg::push_bind(Bind::Day(rows.day), &mut out)?;
        // A subquery runs once, and an expression once for each row.
        out.push_sql(", (SELECT ");
        Dialect::PostgreSql.push_slot(rows.slots, true, &mut out)?;
        out.push_sql("), row.* FROM unnest(");
        out.push_bind_param::<Array<ST>, _>(rows.keys)?;
        for amounts in &rows.amounts {
            out.push_sql(", ");
            out.push_bind_param::<Array<BigInt>, _>(*amounts)?;
        }
        out.push_sql(") AS row");
        Ok(())
    }
}
