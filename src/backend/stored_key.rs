//! The SQL types of keys: the Rust type of each, and whether SQL and Rust agree on which keys are
//! equal.

use std::any::TypeId;

use diesel::sql_types::{BigInt, Binary, Integer, SmallInt, SqlType, Text};

use crate::table::NoEntity;

/// An SQL type of keys whose Rust type is known.
///
/// [`compact`](crate::dsl::compact()) and [`fold`](crate::dsl::fold()) require it, because they load
/// keys. To merge a table with keys of another SQL type `ST`, which are loaded as the Rust type `K`,
/// use [`Compact::<_, ST, K>::new`](crate::Compact::new).
#[diagnostic::on_unimplemented(
    message = "diesel_counters does not know the Rust type of a key of the SQL type `{Self}`",
    label = "the first column of this table's primary key is a `{Self}`",
    note = "help: keys can be `SmallInt`, `Integer`, `BigInt`, `Text`, `Binary`, or `Uuid` on PostgreSQL",
    note = "help: for a key of another type, which is `K` in Rust, use `Compact::<_, {Self}, K>::new(layout)`"
)]
pub trait StoredKey {
    /// The SQL type to load.
    type SqlType;
    /// The Rust type to load it as.
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

/// A query of a table without entities selects the constant 0 instead of the key.
impl StoredKey for NoEntity {
    type SqlType = Integer;
    type Key = i32;
}

/// Returns whether keys of this SQL type are equal in every database if and only if they are equal
/// in Rust. It returns `false` for texts, because a collation can treat different texts as equal.
pub(crate) fn is_exact<ST: SqlType>() -> bool {
    let exact = [
        TypeId::of::<SmallInt>(),
        TypeId::of::<Integer>(),
        TypeId::of::<BigInt>(),
        TypeId::of::<Binary>(),
        #[cfg(feature = "postgres")]
        TypeId::of::<diesel::sql_types::Uuid>(),
        #[cfg(feature = "mysql")]
        TypeId::of::<diesel::sql_types::Unsigned<SmallInt>>(),
        #[cfg(feature = "mysql")]
        TypeId::of::<diesel::sql_types::Unsigned<Integer>>(),
        #[cfg(feature = "mysql")]
        TypeId::of::<diesel::sql_types::Unsigned<BigInt>>(),
    ];
    exact.contains(&TypeId::of::<ST>())
}

#[cfg(feature = "postgres")]
pub use uuid::UuidBytes;

// The library does not depend on the `uuid` crate: the application chooses its version.
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
    #[doc(hidden)]
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
