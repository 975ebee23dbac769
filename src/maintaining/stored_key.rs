//! Which Rust type holds an entity's key on its way through a program that knows only
//! the table.

use diesel::sql_types::{BigInt, Binary, Integer, SmallInt, Text};

use crate::table::NoEntity;

/// The SQL type of an entity's key, and the Rust type that its values are read as.
///
/// A key of another type, `ST` in SQL and `K` in Rust, is merged with
/// [`Compact::<_, ST, K>::new`](crate::Compact::new).
#[diagnostic::on_unimplemented(
    message = "it is not known which Rust type holds a key of the SQL type `{Self}`",
    label = "the first column of this table's primary key is a `{Self}`",
    note = "help: keys can be `SmallInt`, `Integer`, `BigInt`, `Text`, `Binary`, or `Uuid` on PostgreSQL",
    note = "help: for another type, which is `K` in Rust, merge with `Compact::<_, {Self}, K>::new(layout)`"
)]
pub trait StoredKey {
    /// The SQL type that is read.
    type SqlType;
    /// What it is read as.
    type Key;
}

macro_rules! stored_keys {
    ($($(#[$cfg:meta])? $SqlType:ty: $Key:ty,)*) => {$(
        $(#[$cfg])?
        impl StoredKey for $SqlType {
            type SqlType = $SqlType;
            type Key = $Key;
        }
    )*};
}

stored_keys! {
    SmallInt: i16,
    Integer: i32,
    BigInt: i64,
    Text: String,
    Binary: Vec<u8>,
    #[cfg(feature = "mysql")]
    diesel::sql_types::Unsigned<SmallInt>: u16,
    #[cfg(feature = "mysql")]
    diesel::sql_types::Unsigned<Integer>: u32,
    #[cfg(feature = "mysql")]
    diesel::sql_types::Unsigned<BigInt>: u64,
    #[cfg(feature = "postgres")]
    diesel::sql_types::Uuid: UuidBytes,
}

/// A constant is read in its place.
impl StoredKey for NoEntity {
    type SqlType = Integer;
    type Key = i32;
}

#[cfg(feature = "postgres")]
pub use uuid::UuidBytes;

// The `uuid` crate is the application's to choose.
#[cfg(feature = "postgres")]
mod uuid {
    use std::io::Write;

    use diesel::deserialize::{self, FromSql, FromSqlRow};
    use diesel::expression::AsExpression;
    use diesel::pg::{Pg, PgValue};
    use diesel::serialize::{self, IsNull, Output, ToSql};
    use diesel::sql_types::Uuid;

    /// A UUID as PostgreSQL sends it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
    #[diesel(sql_type = Uuid)]
    pub struct UuidBytes([u8; 16]);

    impl FromSql<Uuid, Pg> for UuidBytes {
        fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
            Ok(UuidBytes(value.as_bytes().try_into()?))
        }
    }

    impl ToSql<Uuid, Pg> for UuidBytes {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
            out.write_all(&self.0)?;
            Ok(IsNull::No)
        }
    }
}
