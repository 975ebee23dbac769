//! The bind values of statements, other than keys of entities, and the values of rows.

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::query_builder::AstPass;
use diesel::row::{Field, Row};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, HasSqlType, Nullable, SmallInt, Text};

use super::CounterBackend;
use crate::day::Day;

/// A bind value.
#[derive(Debug, Clone, Copy)]
pub enum Bind<'a> {
    Day(&'a Day),
    StoredDay(&'a NaiveDate),
    Slot(&'a i16),
    Amount(&'a i64),
    Column(&'a Option<i64>),
    Text(&'a str),
    /// An array.
    Days(&'a [Day]),
    /// An array.
    Amounts(&'a [i64]),
}

/// A backend that takes and returns the values of counter tables. Every backend that Diesel supports
/// does.
pub trait Binds: Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt> {
    /// Adds a bind value to the statement.
    fn push_bind<'b>(value: Bind<'b>, out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>
    where
        Self: CounterBackend;

    /// Returns a count in a row.
    fn amount<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<i64>;

    /// Returns a value that can be NULL.
    fn held<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<Option<i64>>;

    /// Returns a day in a row.
    fn day<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<NaiveDate>;

    /// Returns a slot in a row.
    fn slot<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<i16>;

    /// Returns a text in a row.
    fn text<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<String>;
}

impl<DB> Binds for DB
where
    DB: Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt> + HasSqlType<Text>,
    NaiveDate: ToSql<Date, DB> + FromSql<Date, DB>,
    i16: ToSql<SmallInt, DB> + FromSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB> + FromSql<BigInt, DB>,
    Option<i64>: ToSql<Nullable<BigInt>, DB>,
    str: ToSql<Text, DB>,
    String: FromSql<Text, DB>,
{
    fn push_bind<'b>(value: Bind<'b>, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: CounterBackend,
    {
        match value {
            Bind::Day(day) => out.push_bind_param::<Date, _>(day),
            Bind::StoredDay(day) => out.push_bind_param::<Date, _>(day),
            Bind::Slot(slot) => out.push_bind_param::<SmallInt, _>(slot),
            Bind::Amount(amount) => out.push_bind_param::<BigInt, _>(amount),
            Bind::Column(count) => out.push_bind_param::<Nullable<BigInt>, _>(count),
            Bind::Text(text) => out.push_bind_param::<Text, _>(text),
            Bind::Days(days) => DB::push_array::<Date, _>(days, out),
            Bind::Amounts(amounts) => DB::push_array::<BigInt, _>(amounts, out),
        }
    }

    fn amount<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<i64> {
        field(row, column)
    }

    fn held<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<Option<i64>> {
        field::<Nullable<BigInt>, _, _>(row, column)
    }

    fn day<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<NaiveDate> {
        field(row, column)
    }

    fn slot<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<i16> {
        field(row, column)
    }

    fn text<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<String> {
        field(row, column)
    }
}

/// Returns the field with this index of a row.
pub(crate) fn field<'a, ST, T, DB>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<T>
where
    DB: Backend,
    T: FromSql<ST, DB>,
{
    let field = row.get(column).ok_or("a row has too few fields")?;
    T::from_nullable_sql(field.value())
}
