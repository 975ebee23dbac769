//! The backends: their SQL dialects, and the values that they bind and return.

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::query_builder::AstPass;
use diesel::row::{Field, Row};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Bool, Date, HasSqlType, Nullable, SingleValue, SmallInt, Text};

use crate::day::Day;
use crate::error::refuse;

/// A Diesel backend that this crate supports.
///
/// It's implemented for Diesel's `Pg`, `Mysql` and `Sqlite`, with the features `postgres`, `mysql`
/// and `sqlite`. For a [`MultiConnection`], write [`counter_backend!`](crate::counter_backend).
///
/// [`MultiConnection`]: diesel::MultiConnection
#[diagnostic::on_unimplemented(
    message = "diesel_counters does not know the backend `{Self}`: if the connection is generic, write `Conn: Connection<Backend: CounterBackend>`; otherwise, enable the feature `postgres`, `mysql` or `sqlite` of diesel_counters",
    label = "this requires a backend that diesel_counters knows",
    note = "for a `#[derive(MultiConnection)]`, write `diesel_counters::counter_backend!(MultiBackend {{ … }});`"
)]
pub trait CounterBackend: Binds + 'static {
    /// The [`dialect`](CounterBackend::dialect), if the backend has only one.
    #[doc(hidden)]
    const DIALECT: Option<Dialect> = None;

    /// Whether a bind value can be an array, so that one statement can take any number of rows.
    #[doc(hidden)]
    const HAS_ARRAYS: bool = false;

    /// Returns the SQL dialect of the backend.
    fn dialect(&self) -> Dialect;

    /// Adds an array as a bind value to the statement.
    #[doc(hidden)]
    fn push_array<'b, ST, T>(_: &'b [T], _: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>
    where
        Self: HasSqlType<ST>,
        T: ToSql<ST, Self>,
        ST: SingleValue,
    {
        refuse("this backend has no arrays")
    }
}

/// Implements [`CounterBackend`] for the backend of a [`MultiConnection`]. Give each variant its
/// [`Dialect`]. If a variant has a `#[cfg(…)]`, repeat it here.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # mod connection {
/// # use diesel::SqliteConnection;
/// #[derive(diesel::MultiConnection)]
/// pub enum AnyConnection {
///     Sqlite(SqliteConnection),
///     // Postgres(PgConnection),
///     // Mysql(MysqlConnection),
/// }
///
/// diesel_counters::counter_backend!(MultiBackend {
///     Sqlite: Sqlite,
///     // Postgres: PostgreSql,
///     // Mysql: MySql,
/// });
/// # }
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut connection::AnyConnection::Sqlite(establish_connection());
/// # articles::table.find(1).first::<Article>(conn)?.incr_counter(article_counters::views, conn)
/// # }
/// ```
///
/// [`MultiConnection`]: diesel::MultiConnection
#[macro_export]
macro_rules! counter_backend {
    ($Backend:ident { $($(#[$attribute:meta])* $Variant:ident: $Dialect:ident),+ $(,)? }) => {
        impl $crate::CounterBackend for $Backend {
            fn dialect(&self) -> $crate::Dialect {
                match self {
                    $($(#[$attribute])* $Backend::$Variant(_) => $crate::Dialect::$Dialect,)+
                }
            }
        }
    };
}

/// The SQL dialect of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL 8.0 and later, MariaDB 10.6 and later.
    MySql,
    /// SQLite 3.35 and later.
    Sqlite,
}

#[cfg(feature = "postgres")]
impl CounterBackend for diesel::pg::Pg {
    const DIALECT: Option<Dialect> = Some(Dialect::PostgreSql);
    const HAS_ARRAYS: bool = true;

    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }

    fn push_array<'b, ST, T>(values: &'b [T], out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>
    where
        Self: HasSqlType<ST>,
        T: ToSql<ST, Self>,
        ST: SingleValue,
    {
        out.push_bind_param::<diesel::sql_types::Array<ST>, _>(values)
    }
}

#[cfg(feature = "mysql")]
impl CounterBackend for diesel::mysql::Mysql {
    const DIALECT: Option<Dialect> = Some(Dialect::MySql);

    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }
}

#[cfg(feature = "sqlite")]
impl CounterBackend for diesel::sqlite::Sqlite {
    const DIALECT: Option<Dialect> = Some(Dialect::Sqlite);

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

impl Dialect {
    /// Whether a connection to the backend `DB` can have this dialect.
    pub(crate) fn could_be<DB: CounterBackend>(self) -> bool {
        DB::DIALECT.is_none_or(|dialect| dialect == self)
    }

    /// Returns the dialect of the backend that `out` writes for.
    pub(crate) fn from_pass<DB: CounterBackend>(out: &AstPass<'_, '_, DB>) -> Self {
        out.backend().dialect()
    }
}

/// A bind value.
#[derive(Debug, Clone, Copy)]
pub enum Bind<'a> {
    Day(&'a Day),
    StoredDay(&'a NaiveDate),
    Slot(&'a i16),
    Amount(&'a i64),
    NullableAmount(&'a Option<i64>),
    Text(&'a str),
    /// An array.
    Days(&'a [Day]),
    /// An array.
    Amounts(&'a [i64]),
}

/// A backend that binds and returns the values of counter tables. All of Diesel's do.
pub trait Binds: Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt> {
    /// Adds a bind value to the statement.
    #[doc(hidden)]
    fn push_bind<'b>(value: Bind<'b>, out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>
    where
        Self: CounterBackend;

    /// Reads a count from this column of a row.
    #[doc(hidden)]
    fn amount<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<i64>;
    /// Like `amount`, but the count can be NULL.
    #[doc(hidden)]
    fn nullable_amount<'a>(
        row: &impl Row<'a, Self>,
        column: usize,
    ) -> deserialize::Result<Option<i64>>;
    /// Reads a day from this column of a row.
    #[doc(hidden)]
    fn day<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<NaiveDate>;
    /// Reads a slot's number from this column of a row.
    #[doc(hidden)]
    fn slot<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<i16>;
    /// Returns whether the value in this column of a row is true, and not NULL.
    #[doc(hidden)]
    fn is_true<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<bool>;
    /// Reads a text from this column of a row.
    #[doc(hidden)]
    fn text<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<String>;
}

macro_rules! fields {
    ($($name:ident: $T:ty, $ST:ty;)*) => {$(
        fn $name<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<$T> {
            field::<$ST, _, _>(row, column)
        }
    )*};
}

impl<DB> Binds for DB
where
    DB: Backend
        + HasSqlType<Date>
        + HasSqlType<SmallInt>
        + HasSqlType<BigInt>
        + HasSqlType<Text>
        + HasSqlType<Bool>,
    NaiveDate: ToSql<Date, DB> + FromSql<Date, DB>,
    i16: ToSql<SmallInt, DB> + FromSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB> + FromSql<BigInt, DB>,
    Option<i64>: ToSql<Nullable<BigInt>, DB>,
    str: ToSql<Text, DB>,
    String: FromSql<Text, DB>,
    bool: FromSql<Bool, DB>,
{
    #[inline]
    fn push_bind<'b>(value: Bind<'b>, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: CounterBackend,
    {
        match value {
            Bind::Day(day) => out.push_bind_param::<Date, _>(day),
            Bind::StoredDay(day) => out.push_bind_param::<Date, _>(day),
            Bind::Slot(slot) => out.push_bind_param::<SmallInt, _>(slot),
            Bind::Amount(amount) => out.push_bind_param::<BigInt, _>(amount),
            Bind::NullableAmount(count) => out.push_bind_param::<Nullable<BigInt>, _>(count),
            Bind::Text(text) => out.push_bind_param::<Text, _>(text),
            Bind::Days(days) => DB::push_array::<Date, _>(days, out),
            Bind::Amounts(amounts) => DB::push_array::<BigInt, _>(amounts, out),
        }
    }

    fn is_true<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<bool> {
        let value = field::<Nullable<Bool>, Option<bool>, _>(row, column)?;
        Ok(value == Some(true))
    }

    fields! {
        amount: i64, BigInt;
        nullable_amount: Option<i64>, Nullable<BigInt>;
        day: NaiveDate, Date;
        slot: i16, SmallInt;
        text: String, Text;
    }
}

/// A backend that takes a `T` as a bind value of the SQL type `ST`: `T` is `ToSql<ST, Self>`.
// If keys had the bound `T: ToSql<ST, DB>` themselves, the compiler would infer from it, in a
// program for one database, that every connection is to that database. Generic code would then fail
// with "type mismatch resolving `Backend == Sqlite`", and no advice.
pub trait BindsAs<ST, T>: CounterBackend {
    /// Adds a bind value to the statement.
    #[doc(hidden)]
    fn push_value<'b>(value: &'b T, out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>;
    /// Adds bind values as an array.
    #[doc(hidden)]
    fn push_values<'b>(values: &'b [T], out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>;
}

impl<ST, T, DB> BindsAs<ST, T> for DB
where
    DB: CounterBackend + HasSqlType<ST>,
    T: ToSql<ST, DB>,
    ST: SingleValue,
{
    #[inline]
    fn push_value<'b>(value: &'b T, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_bind_param::<ST, _>(value)
    }

    fn push_values<'b>(values: &'b [T], out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()> {
        DB::push_array::<ST, _>(values, out)
    }
}

/// A backend that returns values of the SQL type `ST` as a `T`: `T` is `FromSql<ST, Self>`.
// This is a trait of the backend for the same reason as `BindsAs`.
pub trait LoadsAs<ST, T>: Backend {
    /// Returns a row's field at this index.
    #[doc(hidden)]
    fn field<'a>(row: &impl Row<'a, Self>, column: usize) -> deserialize::Result<T>;
}

impl<ST, T, DB> LoadsAs<ST, T> for DB
where
    DB: Backend,
    T: FromSql<ST, DB>,
{
    fn field<'a>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<T> {
        field::<ST, T, DB>(row, column)
    }
}

/// Returns a row's field at this index.
pub(crate) fn field<'a, ST, T, DB>(row: &impl Row<'a, DB>, column: usize) -> deserialize::Result<T>
where
    DB: Backend,
    T: FromSql<ST, DB>,
{
    let field = row.get(column).ok_or("a row has too few fields")?;
    T::from_nullable_sql(field.value())
}
