//! Keys of tables that are known only at run time, as the library's engine takes them.

use std::any::TypeId;
use std::cell::RefCell;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use diesel::QueryResult;
use diesel::deserialize::{self, FromSql};
use diesel::query_builder::AstPass;
use diesel::row::{Field, Row};
use diesel::sql_types::{self, Untyped};
use diesel_counters::__private::{BindKey, KeyTypes, LoadKey, Values};

use crate::catalogue::{Column, Kind};
use crate::database::Database;
use crate::entity::bytes;

/// A key of `COLUMNS` columns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnyKey<const COLUMNS: usize>(Vec<Value>);

/// Many keys.
#[derive(Debug, Default)]
pub struct AnyKeys<const COLUMNS: usize>(Vec<AnyKey<COLUMNS>>);

/// The SQL types of an [`AnyKey`].
#[derive(Debug)]
pub struct AnyTypes<const COLUMNS: usize>;

thread_local! {
    /// The types of the columns of the keys that this thread loads. Diesel loads a row without any
    /// context.
    static TYPES: RefCell<Vec<Type>> = const { RefCell::new(Vec::new()) };
}

impl<const COLUMNS: usize> KeyTypes for AnyTypes<COLUMNS> {
    type Row = Untyped;
    const COLUMNS: usize = COLUMNS;

    fn sql_types() -> Vec<TypeId> {
        Vec::new()
    }

    fn is_exact() -> bool {
        TYPES.with_borrow(|types| !types.contains(&Type::Text))
    }
}

/// Sets the columns of the keys that this thread loads from now on.
///
/// # Errors
///
/// If the command does not take keys of the type of one of them.
pub fn set_columns(key: &[Column], database: Database) -> Result<()> {
    let types = key.iter().map(|column| {
        Ok(match database.stored_as(column.kind) {
            Kind::SmallInt => Type::SmallInt,
            Kind::Integer => Type::Integer,
            Kind::BigInt => Type::BigInt,
            Kind::Text => Type::Text,
            Kind::Binary => Type::Binary,
            #[cfg(feature = "postgres")]
            Kind::Uuid if database == crate::database::POSTGRES => Type::Uuid,
            #[cfg(feature = "mysql")]
            Kind::Unsigned if column.sql_type.starts_with("int") => Type::UnsignedInteger,
            #[cfg(feature = "mysql")]
            Kind::Unsigned if column.sql_type.starts_with("bigint") => Type::UnsignedBigInt,
            _ => bail!(
                "this command does not take keys of the type {}; a program that uses \
                 diesel_counters can",
                column.sql_type
            ),
        })
    });
    let types = types.collect::<Result<_>>()?;
    TYPES.set(types);
    Ok(())
}

/// A key whose columns are given as text, as [`set_columns`] has set their types.
pub trait FromText: Sized {
    fn from_text<'a>(columns: impl Iterator<Item = &'a str>) -> Result<Self>;
}

impl<const COLUMNS: usize> FromText for AnyKey<COLUMNS> {
    fn from_text<'a>(columns: impl Iterator<Item = &'a str>) -> Result<Self> {
        let types = TYPES.with_borrow(Vec::clone);
        let values = columns.zip(types).map(|(text, of_column)| {
            let number = text.trim();
            let value = match of_column {
                Type::SmallInt => number.parse().ok().map(Value::SmallInt),
                Type::Integer => number.parse().ok().map(Value::Integer),
                Type::BigInt => number.parse().ok().map(Value::BigInt),
                Type::Text => Some(Value::Text(text.to_owned())),
                Type::Binary => bytes(number).ok().map(Value::Binary),
                #[cfg(feature = "postgres")]
                Type::Uuid => {
                    let digits = bytes(&number.replace('-', "")).ok();
                    let digits = digits.and_then(|digits| digits.try_into().ok());
                    digits.map(|digits: [u8; 16]| Value::Uuid(digits.into()))
                }
                #[cfg(feature = "mysql")]
                Type::UnsignedInteger => number.parse().ok().map(Value::UnsignedInteger),
                #[cfg(feature = "mysql")]
                Type::UnsignedBigInt => number.parse().ok().map(Value::UnsignedBigInt),
            };
            value.with_context(|| format!("{text} is not a key: it is not a {of_column:?}"))
        });
        Ok(AnyKey(values.collect::<Result<_>>()?))
    }
}

macro_rules! types {
    ($($(#[$cfg:meta])? $Type:ident($Rust:ty),)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Type {
            $($(#[$cfg])? $Type,)*
        }

        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        enum Value {
            $($(#[$cfg])? $Type($Rust),)*
        }
    };
}

types! {
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Text(String),
    Binary(Vec<u8>),
    #[cfg(feature = "postgres")]
    Uuid(<sql_types::Uuid as diesel_counters::dsl::StoredKey>::Key),
    #[cfg(feature = "mysql")]
    UnsignedInteger(u32),
    #[cfg(feature = "mysql")]
    UnsignedBigInt(u64),
}

// Each backend has other types.
macro_rules! stored_values {
    ($feature:literal, $DB:ty: $($Type:ident: $SqlType:ty,)*) => {
        #[cfg(feature = $feature)]
        impl<const COLUMNS: usize> Values<$DB> for AnyKeys<COLUMNS> {
            fn columns(&self) -> usize {
                COLUMNS
            }

            fn push<'b>(
                &'b self,
                column: usize,
                row: usize,
                out: &mut AstPass<'_, 'b, $DB>,
            ) -> QueryResult<()> {
                self.0[row].walk_column(column, out)
            }

            fn push_array<'b>(
                &'b self,
                _: usize,
                _: Range<usize>,
                _: &mut AstPass<'_, 'b, $DB>,
            ) -> QueryResult<()> {
                unreachable!("merges, copies and imports list their rows")
            }
        }

        #[cfg(feature = $feature)]
        impl<const COLUMNS: usize> BindKey<AnyTypes<COLUMNS>, $DB> for AnyKey<COLUMNS> {
            type Columns = AnyKeys<COLUMNS>;

            fn push_to(self, columns: &mut AnyKeys<COLUMNS>) {
                columns.0.push(self);
            }

            fn walk_column<'b>(
                &'b self,
                column: usize,
                out: &mut AstPass<'_, 'b, $DB>,
            ) -> QueryResult<()> {
                match &self.0[column] {
                    $(Value::$Type(value) => out.push_bind_param::<$SqlType, _>(value),)*
                    #[allow(unreachable_patterns)]
                    _ => Ok(()),
                }
            }
        }

        #[cfg(feature = $feature)]
        impl<const COLUMNS: usize> LoadKey<AnyTypes<COLUMNS>, $DB> for AnyKey<COLUMNS> {
            fn load<'a>(row: &impl Row<'a, $DB>) -> deserialize::Result<Self> {
                let types = TYPES.with_borrow(Vec::clone);
                let values = types.iter().enumerate().map(|(i, of_column)| {
                    let field = row.get(i).ok_or("a row has too few fields")?;
                    Ok(match of_column {
                        $(Type::$Type => {
                            Value::$Type(FromSql::<$SqlType, $DB>::from_nullable_sql(field.value())?)
                        })*
                        #[allow(unreachable_patterns)]
                        other => return Err(format!("there is no {other:?} here").into()),
                    })
                });
                Ok(AnyKey(values.collect::<deserialize::Result<_>>()?))
            }
        }
    };
}

stored_values! { "sqlite", diesel::sqlite::Sqlite:
    SmallInt: sql_types::SmallInt,
    Integer: sql_types::Integer,
    BigInt: sql_types::BigInt,
    Text: sql_types::Text,
    Binary: sql_types::Binary,
}

stored_values! { "postgres", diesel::pg::Pg:
    SmallInt: sql_types::SmallInt,
    Integer: sql_types::Integer,
    BigInt: sql_types::BigInt,
    Text: sql_types::Text,
    Binary: sql_types::Binary,
    Uuid: sql_types::Uuid,
}

stored_values! { "mysql", diesel::mysql::Mysql:
    SmallInt: sql_types::SmallInt,
    Integer: sql_types::Integer,
    BigInt: sql_types::BigInt,
    Text: sql_types::Text,
    Binary: sql_types::Binary,
    UnsignedInteger: sql_types::Unsigned<sql_types::Integer>,
    UnsignedBigInt: sql_types::Unsigned<sql_types::BigInt>,
}

/// Calls a function with the types of a key, and with the connection that has them:
/// `run::<AnyTypes<2>, AnyKey<2>, _>(…, conn)`. The key is a `&[Column]`.
macro_rules! with_key {
    ($key:expr, $conn:expr, $run:ident $arguments:tt) => {{
        use $crate::connection::AnyConnection;

        let (key, conn) = ($key, $conn);
        $crate::any_key::set_columns(key, conn.database())?;
        match conn {
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(conn) => $crate::any_key::with_key!(@ key, conn, $run $arguments),
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(conn) => $crate::any_key::with_key!(@ key, conn, $run $arguments),
            #[cfg(feature = "mysql")]
            AnyConnection::Mysql(conn) => $crate::any_key::with_key!(@ key, conn, $run $arguments),
        }
    }};
    (@ $key:ident, $conn:ident, $run:ident ($($argument:expr),*)) => {{
        use $crate::any_key::{AnyKey, AnyTypes};

        match $key.len() {
            0 => $run::<AnyTypes<0>, AnyKey<0>, _>($($argument,)* $conn),
            1 => $run::<AnyTypes<1>, AnyKey<1>, _>($($argument,)* $conn),
            2 => $run::<AnyTypes<2>, AnyKey<2>, _>($($argument,)* $conn),
            3 => $run::<AnyTypes<3>, AnyKey<3>, _>($($argument,)* $conn),
            4 => $run::<AnyTypes<4>, AnyKey<4>, _>($($argument,)* $conn),
            _ => $run::<AnyTypes<5>, AnyKey<5>, _>($($argument,)* $conn),
        }
    }};
}
pub(crate) use with_key;
