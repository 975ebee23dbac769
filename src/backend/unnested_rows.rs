//! Many rows and many keys as arrays, on PostgreSQL.

use diesel::connection::Connection;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, Date, HasSqlType, SingleValue};
use diesel::{QueryResult, RunQueryDsl};

use super::{Dialect, NUMBER, UnnestedRows, WANTED_KEY, push_names};
use crate::counter::{Counters, TableOf};
use crate::counting::increment::DaySlots;
use crate::counting::increment_many::AddRows;
use crate::entity::{KeyType, ListKeys, WalkKeys};
use crate::table::CounterTable;

impl<C, K, Conn> AddRows<C, K, Conn> for UnnestedRows
where
    C: Counters,
    Conn: Connection,
    for<'a> IncrementArrays<'a, C, K>: ExecuteDsl<Conn>,
{
    fn add_rows(
        table: &TableOf<C>,
        place: &DaySlots,
        rows: Vec<(K, C::Amounts)>,
        conn: &mut Conn,
    ) -> QueryResult<()> {
        let (ids, amounts): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let amounts = (0..C::NAMES.len())
            .map(|counter| {
                amounts
                    .iter()
                    .map(|of_one| of_one.as_ref()[counter])
                    .collect()
            })
            .collect();
        let statement = IncrementArrays::<C, K> {
            table,
            place,
            ids,
            amounts,
        };
        statement.execute(conn).map(drop)
    }
}

/// Adds to the counters of several entities.
#[doc(hidden)]
#[derive(Debug)]
pub struct IncrementArrays<'a, C: Counters, K> {
    table: &'a TableOf<C>,
    place: &'a DaySlots,
    ids: Vec<K>,
    /// An array for each counter.
    amounts: Vec<Vec<i64>>,
}

impl<C: Counters, K, Conn> RunQueryDsl<Conn> for IncrementArrays<'_, C, K> {}

impl<C: Counters + QueryId, K> QueryId for IncrementArrays<'_, C, K> {
    type QueryId = (UnnestedRows, C::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID;
}

impl<C, K> QueryFragment<Pg> for IncrementArrays<'_, C, K>
where
    C: Counters,
    TableOf<C>: QueryFragment<Pg>,
    Pg: HasSqlType<Array<KeyType<C>>>,
    Vec<K>: ToSql<Array<KeyType<C>>, Pg>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        Dialect::PostgreSql.push_insert_into(self.table, &mut out)?;
        push_names(&[C::Table::DAY, C::Table::SLOT], &mut out)?;
        out.push_sql(", ");
        push_names(C::Table::ENTITY.as_slice(), &mut out)?;
        for name in C::NAMES {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        out.push_sql(") SELECT ");
        out.push_bind_param::<Date, _>(&self.place.day)?;
        // A subquery runs once. An expression would run once for each row.
        out.push_sql(", (SELECT ");
        Dialect::PostgreSql.push_slot(&self.place.slots, true, &mut out)?;
        out.push_sql("), row.* FROM unnest(");
        out.push_bind_param::<Array<KeyType<C>>, _>(&self.ids)?;
        for amounts in &self.amounts {
            out.push_sql(", ");
            out.push_bind_param::<Array<BigInt>, _>(amounts)?;
        }
        out.push_sql(") AS row");
        Dialect::PostgreSql.push_on_conflict_add(C::Table::KEY, C::NAMES, &mut out)
    }
}

impl ListKeys for UnnestedRows {
    const LIMIT: usize = usize::MAX;
    const NUMBERED_LIMIT: usize = usize::MAX;

    fn padded(number: usize, _: usize) -> usize {
        number
    }
}

impl<K, ST> WalkKeys<K, ST, Pg> for UnnestedRows
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
        // The first key has the number 1.
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
        <Self as WalkKeys<K, ST, Pg>>::walk_in(keys, out)
    }
}
