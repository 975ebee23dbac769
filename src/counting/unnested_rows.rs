//! Many rows as arrays, which PostgreSQL has.

use diesel::connection::Connection;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, Date, HasSqlType};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{Dialect, UnnestedRows, push_names};
use crate::counter::{Counters, TableOf};
use crate::counting::increment::Cell;
use crate::counting::increment_many::AddRows;
use crate::key::KeyType;
use crate::table::CounterTable;

impl<C, K, Conn> AddRows<C, K, Conn> for UnnestedRows
where
    C: Counters,
    Conn: Connection,
    for<'a> IncrementArrays<'a, C, K>: ExecuteDsl<Conn>,
{
    fn add_rows(
        table: &TableOf<C>,
        cell: &Cell,
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
            cell,
            ids,
            amounts,
        };
        statement.execute(conn).map(drop)
    }
}

#[doc(hidden)]
pub struct IncrementArrays<'a, C: Counters, K> {
    table: &'a TableOf<C>,
    cell: &'a Cell,
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
        out.push_bind_param::<Date, _>(&self.cell.day)?;
        // A subquery runs once, and an expression once a row.
        out.push_sql(", (SELECT ");
        Dialect::PostgreSql.push_slot(&self.cell.slots, true, &mut out)?;
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
