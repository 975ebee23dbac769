//! The bind values of statements, other than keys of entities.

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::AstPass;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, HasSqlType, Nullable, SmallInt, Text};

use crate::day::Day;
use crate::slot::FirstSlot;

/// A backend that takes the bind values of counter tables. Every backend that Diesel supports does.
pub trait Binds: Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt> {
    /// Adds a bind value to the statement.
    fn push_bind<'b>(value: Bind<'b>, out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>;
}

/// A bind value.
#[derive(Debug)]
pub enum Bind<'b> {
    Day(&'b Day),
    StoredDay(&'b NaiveDate),
    Slot(&'b i16),
    FirstSlot(&'b FirstSlot),
    Amount(&'b i64),
    Column(&'b Option<i64>),
    Text(&'b str),
}

impl<DB> Binds for DB
where
    DB: Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt> + HasSqlType<Text>,
    NaiveDate: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB>,
    Option<i64>: ToSql<Nullable<BigInt>, DB>,
    str: ToSql<Text, DB>,
{
    fn push_bind<'b>(value: Bind<'b>, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()> {
        match value {
            Bind::Day(day) => out.push_bind_param::<Date, _>(day),
            Bind::StoredDay(day) => out.push_bind_param::<Date, _>(day),
            Bind::Slot(slot) => out.push_bind_param::<SmallInt, _>(slot),
            Bind::FirstSlot(slot) => out.push_bind_param::<SmallInt, _>(slot),
            Bind::Amount(amount) => out.push_bind_param::<BigInt, _>(amount),
            Bind::Column(count) => out.push_bind_param::<Nullable<BigInt>, _>(count),
            Bind::Text(text) => out.push_bind_param::<Text, _>(text),
        }
    }
}
