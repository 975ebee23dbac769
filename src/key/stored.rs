//! The SQL types of keys: which Rust type each one has, and whether SQL and Rust agree on which
//! keys are equal.

use std::any::TypeId;
use std::fmt;

#[cfg(feature = "mysql")]
use diesel::sql_types::Unsigned;
use diesel::sql_types::{BigInt, Binary, Bool, Date, Integer, SmallInt, Text, Timestamp};

/// An SQL type of keys with a known Rust type, or a tuple of such types.
///
/// Merges and [`delete_counters`](crate::dsl::delete_counters()) need it, because they load keys.
/// It's implemented for these types, and for tuples of up to five of them. If your key has an SQL
/// type of your own, implement it for that type.
///
/// | SQL type | Rust type |
/// | --- | --- |
/// | `SmallInt`, `Integer`, `BigInt` | `i16`, `i32`, `i64` |
/// | `Unsigned` of them, on MySQL | `u16`, `u32`, `u64` |
/// | `Text`; `Citext` on PostgreSQL | `String` |
/// | `Binary`, `Bool` | `Vec<u8>`, `bool` |
/// | `Date`, `Timestamp` | chrono's `NaiveDate`, `NaiveDateTime` |
/// | `Uuid`, on PostgreSQL | 16 bytes |
///
/// For example, if the key is an enum of your own:
///
/// ```
/// use diesel_counters::bounds::StoredKey;
///
/// /// The SQL type of the column.
/// struct LanguageType;
///
/// /// The Rust type of its values.
/// #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
/// enum Language {
///     English,
///     German,
/// }
///
/// impl StoredKey for LanguageType {
///     type Key = Language;
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "diesel_counters does not know the Rust type of a key with the SQL types `{Self}`",
    label = "the key of this table has the SQL types `{Self}`",
    note = "help: keys can be `SmallInt`, `Integer`, `BigInt`, `Text`, `Binary`, or `Uuid` on PostgreSQL",
    note = "help: `Bool`, `Date` and `Timestamp` work too; if you have an SQL type of your own, implement `StoredKey` for it"
)]
pub trait StoredKey {
    /// The Rust type that it's loaded as. For several columns, it's a tuple.
    type Key: Clone + Ord + fmt::Debug;
}

macro_rules! stored_keys {
    ($($(#[$cfg:meta])? $SqlType:ty: $Key:ty,)*) => {$(
        $(#[$cfg])?
        #[doc(hidden)] // The docs of the trait have a table.
        impl StoredKey for $SqlType {
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
    Bool: bool,
    Date: chrono::NaiveDate,
    Timestamp: chrono::NaiveDateTime,
    #[cfg(feature = "mysql")]
    Unsigned<SmallInt>: u16,
    #[cfg(feature = "mysql")]
    Unsigned<Integer>: u32,
    #[cfg(feature = "mysql")]
    Unsigned<BigInt>: u64,
    #[cfg(feature = "postgres")]
    diesel::sql_types::Uuid: UuidBytes,
    #[cfg(feature = "postgres")]
    diesel::sql_types::Citext: String,
}

macro_rules! stored_key_tuples {
    ($($number:literal: $([$i:tt $S:ident $K:ident])*;)*) => {$(
        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        impl<$($S: StoredKey),*> StoredKey for ($($S,)*) {
            type Key = stored_key_tuples!(@key $($S)*);
        }
    )*};
    (@key $S:ident) => { $S::Key };
    (@key $($S:ident)*) => { ($($S::Key,)*) };
}

each_key!(stored_key_tuples);

/// Returns whether every database agrees with Rust on which keys of this SQL type are equal. It
/// returns `false` for texts, because a collation can treat different texts as equal.
pub(crate) fn is_exact(sql_type: &TypeId) -> bool {
    let exact = [
        TypeId::of::<Binary>(),
        #[cfg(feature = "postgres")]
        TypeId::of::<diesel::sql_types::Uuid>(),
    ];
    exact.contains(sql_type) || mysql_integer(sql_type).is_some()
}

/// Returns the type that MySQL casts an integer of this SQL type to, `SIGNED` or `UNSIGNED`. Returns
/// `None` if this isn't the type of an integer.
pub(crate) fn mysql_integer(sql_type: &TypeId) -> Option<&'static str> {
    let integers = [
        (TypeId::of::<SmallInt>(), "SIGNED"),
        (TypeId::of::<Integer>(), "SIGNED"),
        (TypeId::of::<BigInt>(), "SIGNED"),
        #[cfg(feature = "mysql")]
        (TypeId::of::<Unsigned<SmallInt>>(), "UNSIGNED"),
        #[cfg(feature = "mysql")]
        (TypeId::of::<Unsigned<Integer>>(), "UNSIGNED"),
        #[cfg(feature = "mysql")]
        (TypeId::of::<Unsigned<BigInt>>(), "UNSIGNED"),
    ];
    let mut integers = integers.into_iter();
    let (_, cast_type) = integers.find(|(integer, _)| integer == sql_type)?;
    Some(cast_type)
}

#[cfg(feature = "postgres")]
pub use uuid::UuidBytes;

// The library doesn't depend on the `uuid` crate, so that you can choose its version.
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

    impl From<[u8; 16]> for UuidBytes {
        fn from(bytes: [u8; 16]) -> Self {
            UuidBytes(bytes)
        }
    }

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
