//! Keys of tables that are known only at run time, as the library's engine takes them.

use anyhow::{Result, bail};
use chrono::{NaiveDate, NaiveDateTime};
use diesel::QueryResult;
use diesel::deserialize::{self, FromSql};
use diesel::query_builder::AstPass;
use diesel::row::{Field, Row};
use diesel::sql_types::{BigInt, Binary, Date, Integer, SmallInt, Text, Timestamp};
use diesel_counters::__private::{LoadKey, Values};

use crate::catalogue::{Column, Kind};
use crate::connection::MultiBackend;
use crate::database::{Database, POSTGRES};

/// Loads the keys of a table, column by column.
pub struct AnyKeys(Vec<KeyType>);

/// The type that a column of a key is loaded and bound as.
#[derive(Clone, Copy)]
enum KeyType {
    SmallInt,
    Integer,
    BigInt,
    /// MySQL's.
    Unsigned,
    Text,
    Binary,
    Date,
    Timestamp,
    /// PostgreSQL's.
    Uuid,
}

/// A key: the value of each of its columns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnyKey(Vec<Value>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Integer(i64),
    Unsigned(u64),
    Text(String),
    Binary(Vec<u8>),
    Date(NaiveDate),
    Timestamp(NaiveDateTime),
    /// PostgreSQL's.
    Uuid(Vec<u8>),
}

impl AnyKeys {
    /// The keys with these columns. It is an error if one has a type of which the command does not
    /// take keys.
    pub fn new(key: &[Column], database: Database) -> Result<Self> {
        let types = key.iter().map(|column| key_type(column, database));
        Ok(AnyKeys(types.collect::<Result<_>>()?))
    }
}

fn key_type(column: &Column, database: Database) -> Result<KeyType> {
    let sql_type = &column.sql_type;
    // `Value::load` reads integers without a sign of these two sizes.
    let is_int_or_bigint = sql_type.starts_with("int") || sql_type.starts_with("bigint");
    match database.stored_as(column.kind) {
        Kind::SmallInt => Ok(KeyType::SmallInt),
        Kind::Integer => Ok(KeyType::Integer),
        Kind::BigInt => Ok(KeyType::BigInt),
        Kind::Unsigned if is_int_or_bigint => Ok(KeyType::Unsigned),
        Kind::Text => Ok(KeyType::Text),
        Kind::Binary => Ok(KeyType::Binary),
        Kind::Date => Ok(KeyType::Date),
        Kind::Timestamp => Ok(KeyType::Timestamp),
        Kind::Uuid if database == POSTGRES => Ok(KeyType::Uuid),
        _ => bail!(
            "this command does not take keys of the type {sql_type}; a program that uses \
             diesel_counters can"
        ),
    }
}

impl LoadKey<MultiBackend> for AnyKeys {
    type Key = AnyKey;

    fn load<'a>(&self, row: &impl Row<'a, MultiBackend>) -> deserialize::Result<AnyKey> {
        let types = self.0.iter().enumerate();
        let values = types.map(|(column, key_type)| Value::load(row, column, *key_type));
        Ok(AnyKey(values.collect::<deserialize::Result<_>>()?))
    }
}

impl Value {
    fn load<'a>(
        row: &impl Row<'a, MultiBackend>,
        column: usize,
        key_type: KeyType,
    ) -> deserialize::Result<Self> {
        Ok(match key_type {
            KeyType::SmallInt => Value::Integer(field::<SmallInt, i16>(row, column)?.into()),
            KeyType::Integer => Value::Integer(field::<Integer, i32>(row, column)?.into()),
            KeyType::BigInt => Value::Integer(field::<BigInt, _>(row, column)?),
            // Diesel has no such type for all databases. The client library has the bytes.
            KeyType::Unsigned => {
                let bytes: Vec<u8> = field::<Binary, _>(row, column)?;
                Value::Unsigned(match *bytes {
                    [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
                    _ => u64::from_ne_bytes(bytes.as_slice().try_into()?),
                })
            }
            KeyType::Text => Value::Text(field::<Text, _>(row, column)?),
            KeyType::Binary => Value::Binary(field::<Binary, _>(row, column)?),
            KeyType::Date => Value::Date(field::<Date, _>(row, column)?),
            KeyType::Timestamp => Value::Timestamp(field::<Timestamp, _>(row, column)?),
            KeyType::Uuid => Value::Uuid(field::<Binary, _>(row, column)?),
        })
    }
}

fn field<'a, ST, T>(row: &impl Row<'a, MultiBackend>, column: usize) -> deserialize::Result<T>
where
    T: FromSql<ST, MultiBackend>,
{
    let field = row.get(column).ok_or("a row has too few fields")?;
    T::from_nullable_sql(field.value())
}

impl Values<MultiBackend> for AnyKey {
    fn columns(&self) -> usize {
        self.0.len()
    }

    fn push<'b>(
        &'b self,
        column: usize,
        _row: usize,
        out: &mut AstPass<'_, 'b, MultiBackend>,
    ) -> QueryResult<()> {
        match &self.0[column] {
            // A database compares integers of all sizes, so that each is bound as the widest.
            Value::Integer(number) => return out.push_bind_param::<BigInt, _>(number),
            Value::Text(text) => return out.push_bind_param::<Text, _>(text),
            Value::Binary(bytes) => return out.push_bind_param::<Binary, _>(bytes),
            Value::Date(date) => return out.push_bind_param::<Date, _>(date),
            Value::Timestamp(time) => return out.push_bind_param::<Timestamp, _>(time),
            Value::Unsigned(number) => {
                // No backend of a `MultiConnection` binds it, and MySQL takes no text of digits for
                // the greatest numbers.
                out.unsafe_to_cache_prepared();
                out.push_sql(&number.to_string());
            }
            // A UUID is no type of all databases either: it is bound as its 16 bytes.
            Value::Uuid(bytes) => {
                out.push_sql("CAST(encode(");
                out.push_bind_param::<Binary, _>(bytes)?;
                out.push_sql(", 'hex') AS UUID)");
            }
        }
        Ok(())
    }
}
