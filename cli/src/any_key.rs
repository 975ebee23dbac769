//! Keys whose types are only known at run time, for the library's engine.

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

/// The type that a key column is loaded and bound as.
#[derive(Clone, Copy)]
enum KeyType {
    SmallInt,
    Integer,
    BigInt,
    /// Only on MySQL.
    Unsigned,
    Text,
    Binary,
    Date,
    Timestamp,
    /// Only on PostgreSQL.
    Uuid,
}

/// A key: one value per column.
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
    /// Only on PostgreSQL.
    Uuid(Vec<u8>),
}

impl AnyKeys {
    /// Takes the columns of the key. Fails if one of the columns has a type that the command
    /// doesn't support in a key.
    pub fn new(key: &[Column], database: Database) -> Result<Self> {
        let types = key.iter().map(|column| key_type(column, database));
        Ok(AnyKeys(types.collect::<Result<_>>()?))
    }
}

/// Returns the type to load a key column as. Fails if the command doesn't support its type.
fn key_type(column: &Column, database: Database) -> Result<KeyType> {
    let sql_type = &column.sql_type;
    // `Value::load` reads unsigned integers of these two sizes.
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
            "this command does not support keys of the type {sql_type}: merge the table in a \
             program that uses diesel_counters"
        ),
    }
}

impl LoadKey<MultiBackend> for AnyKeys {
    type Key = AnyKey;

    fn load<'a>(&self, row: &impl Row<'a, MultiBackend>) -> deserialize::Result<AnyKey> {
        let AnyKeys(types) = self;
        let columns = types.iter().enumerate();
        let values = columns.map(|(column, key_type)| Value::load(row, column, *key_type));
        Ok(AnyKey(values.collect::<deserialize::Result<_>>()?))
    }
}

impl Value {
    /// Reads the value that a row has in this column.
    fn load<'a>(
        row: &impl Row<'a, MultiBackend>,
        column: usize,
        key_type: KeyType,
    ) -> deserialize::Result<Self> {
        Ok(match key_type {
            KeyType::SmallInt => Value::Integer(field::<SmallInt, i16>(row, column)?.into()),
            KeyType::Integer => Value::Integer(field::<Integer, i32>(row, column)?.into()),
            KeyType::BigInt => Value::Integer(field::<BigInt, _>(row, column)?),
            // Diesel has no unsigned type for all databases. The client library returns the raw
            // bytes: 4 of an INT, and 8 of a BIGINT.
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

/// Reads a column of the SQL type `ST` as a `T`.
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
            // A database can compare integers of all sizes, so bind the widest.
            Value::Integer(number) => return out.push_bind_param::<BigInt, _>(number),
            Value::Text(text) => return out.push_bind_param::<Text, _>(text),
            Value::Binary(bytes) => return out.push_bind_param::<Binary, _>(bytes),
            Value::Date(date) => return out.push_bind_param::<Date, _>(date),
            Value::Timestamp(time) => return out.push_bind_param::<Timestamp, _>(time),
            Value::Unsigned(number) => {
                // A `MultiConnection` can't bind unsigned integers, and MySQL doesn't accept a text
                // of digits for the largest ones.
                out.unsafe_to_cache_prepared();
                out.push_sql(&number.to_string());
            }
            // Not every database has a UUID type either, so bind its 16 bytes.
            Value::Uuid(bytes) => {
                out.push_sql("CAST(encode(");
                out.push_bind_param::<Binary, _>(bytes)?;
                out.push_sql(", 'hex') AS UUID)");
            }
        }
        Ok(())
    }
}
