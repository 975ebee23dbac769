//! Keys of tables that are known only at run time, as the library's engine takes them.

use std::any::TypeId;
use std::cell::RefCell;
use std::ops::Range;

use anyhow::{Result, bail};
use diesel::QueryResult;
use diesel::deserialize::{self, FromSql};
use diesel::query_builder::AstPass;
use diesel::row::{Field, Row};
use diesel::sql_types::{BigInt, Binary, Integer, SmallInt, Text, Untyped};
use diesel_counters::__private::{BindKey, KeyTypes, OwnedKey, Values};

use crate::catalogue::{Column, Kind};
use crate::connection::MultiBackend;
use crate::database::{Database, POSTGRES};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnyKey<const COLUMNS: usize>(Vec<Value>);

#[derive(Debug, Default)]
pub struct AnyKeys<const COLUMNS: usize>(Vec<AnyKey<COLUMNS>>);

/// The SQL types of an [`AnyKey`].
#[derive(Debug)]
pub struct AnyTypes<const COLUMNS: usize>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Integer(i64),
    Unsigned(u64),
    Text(String),
    Binary(Vec<u8>),
    /// PostgreSQL's.
    Uuid(Vec<u8>),
}

thread_local! {
    /// The kinds of the columns of the keys that this thread loads. Diesel loads a row without any
    /// context.
    static KINDS: RefCell<Vec<Kind>> = const { RefCell::new(Vec::new()) };
}

impl<const COLUMNS: usize> KeyTypes for AnyTypes<COLUMNS> {
    type Row = Untyped;
    const COLUMNS: usize = COLUMNS;

    fn sql_types() -> Vec<TypeId> {
        Vec::new()
    }
}

/// Sets the columns of the keys that this thread loads from now on. It is an error if one has a type of which
/// the command does not take keys.
pub fn set_columns(key: &[Column], database: Database) -> Result<()> {
    let kinds = key.iter().map(|Column { sql_type, kind, .. }| {
        use Kind::{BigInt, Binary, Integer, SmallInt, Text, Unsigned, Uuid};
        let sizes = ["int", "bigint"];
        match database.stored_as(*kind) {
            kind @ (SmallInt | Integer | BigInt | Text | Binary) => Ok(kind),
            Uuid if database == POSTGRES => Ok(Uuid),
            Unsigned if sizes.iter().any(|size| sql_type.starts_with(size)) => Ok(Unsigned),
            _ => bail!(
                "this command does not take keys of the type {sql_type}; a program that uses diesel_counters can"
            ),
        }
    });
    KINDS.set(kinds.collect::<Result<_>>()?);
    Ok(())
}

impl<const COLUMNS: usize> OwnedKey<AnyTypes<COLUMNS>, MultiBackend> for AnyKey<COLUMNS> {
    fn load<'a>(row: &impl Row<'a, MultiBackend>) -> deserialize::Result<Self> {
        let kinds = KINDS.with_borrow(Vec::clone);
        let values = kinds.iter().enumerate().map(|(i, kind)| {
            Ok(match kind {
                Kind::SmallInt => Value::Integer(field::<SmallInt, i16>(row, i)?.into()),
                Kind::Integer => Value::Integer(field::<Integer, i32>(row, i)?.into()),
                Kind::Text => Value::Text(field::<Text, _>(row, i)?),
                Kind::Binary => Value::Binary(field::<Binary, _>(row, i)?),
                Kind::Uuid => Value::Uuid(field::<Binary, _>(row, i)?),
                Kind::Unsigned => {
                    let bytes: Vec<u8> = field::<Binary, _>(row, i)?;
                    let number = match *bytes {
                        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
                        _ => u64::from_ne_bytes(bytes.as_slice().try_into()?),
                    };
                    Value::Unsigned(number)
                }
                _ => Value::Integer(field::<BigInt, _>(row, i)?),
            })
        });
        Ok(AnyKey(values.collect::<deserialize::Result<_>>()?))
    }
}

fn field<'a, ST, T>(row: &impl Row<'a, MultiBackend>, i: usize) -> deserialize::Result<T>
where
    T: FromSql<ST, MultiBackend>,
{
    let field = row.get(i).ok_or("a row has too few fields")?;
    T::from_nullable_sql(field.value())
}

impl<const COLUMNS: usize> BindKey<AnyTypes<COLUMNS>, MultiBackend> for AnyKey<COLUMNS> {
    type Columns = AnyKeys<COLUMNS>;

    fn push_to(self, columns: &mut AnyKeys<COLUMNS>) {
        columns.0.push(self);
    }

    fn walk_column<'b>(
        &'b self,
        column: usize,
        out: &mut AstPass<'_, 'b, MultiBackend>,
    ) -> QueryResult<()> {
        match &self.0[column] {
            Value::Integer(number) => return out.push_bind_param::<BigInt, _>(number),
            Value::Text(text) => return out.push_bind_param::<Text, _>(text),
            Value::Binary(bytes) => return out.push_bind_param::<Binary, _>(bytes),
            Value::Unsigned(number) => {
                // No backend of a `MultiConnection` binds it, and MySQL takes no text of digits for the
                // greatest numbers.
                out.unsafe_to_cache_prepared();
                out.push_sql(&number.to_string());
            }
            Value::Uuid(bytes) => {
                out.push_sql("CAST(encode(");
                out.push_bind_param::<Binary, _>(bytes)?;
                out.push_sql(", 'hex') AS UUID)");
            }
        }
        Ok(())
    }
}

impl<const COLUMNS: usize> Values<MultiBackend> for AnyKeys<COLUMNS> {
    fn columns(&self) -> usize {
        COLUMNS
    }

    fn push<'b>(
        &'b self,
        column: usize,
        row: usize,
        out: &mut AstPass<'_, 'b, MultiBackend>,
    ) -> QueryResult<()> {
        self.0[row].walk_column(column, out)
    }

    fn push_array<'b>(
        &'b self,
        _: usize,
        _: Range<usize>,
        _: &mut AstPass<'_, 'b, MultiBackend>,
    ) -> QueryResult<()> {
        unreachable!("a MultiConnection has no arrays")
    }
}
