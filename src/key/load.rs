//! Keys that can be loaded, compared and written again.

use std::fmt;
use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::deserialize;
use diesel::row::Row;

use crate::key::bind::BindKey;
use crate::key::entities::KeyPrefix;
use crate::key::types::KeyTypes;
use crate::sql::Values;
use crate::sql::backend::LoadsAs;

/// A key that can be loaded, compared and written again.
#[diagnostic::on_unimplemented(
    message = "this requires an owned key, as in `.of(id)`, or `.of((id, name.to_owned()))` for several columns; if the connection is generic, add the bound `{Self}: OwnedKey<{Types}, Conn::Backend>`",
    label = "`{Self}` is not known to be an owned key of the SQL types `{Types}`",
    note = "help: for functions that are generic over the connection, see https://docs.rs/diesel_counters/latest/diesel_counters/bounds/"
)]
pub trait OwnedKey<Types, DB: Backend>: BindKey<Types, DB> + Clone + Ord + fmt::Debug {
    /// Loads the key from the first fields of a row.
    #[doc(hidden)]
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self>;
}

/// Loads a table's keys, for statements that write them again.
pub trait LoadKey<DB: Backend> {
    /// A key, as the bind values of one row. Statements lock rows in the order of their keys.
    type Key: Values<DB> + Clone + Ord + fmt::Debug;
    /// Loads a key from the first fields of a row.
    fn load<'a>(&self, row: &impl Row<'a, DB>) -> deserialize::Result<Self::Key>;
}

/// Loads keys with the SQL types `Types` as `K`.
pub(crate) struct OwnedKeys<Types, K>(PhantomData<fn() -> (Types, K)>);

impl<Types, K> OwnedKeys<Types, K> {
    pub(crate) fn new() -> Self {
        OwnedKeys(PhantomData)
    }
}

impl<Types, K, DB> LoadKey<DB> for OwnedKeys<Types, K>
where
    Types: KeyTypes,
    K: OwnedKey<Types, DB>,
    DB: Backend,
{
    type Key = KeyPrefix<Types, K>;

    fn load<'a>(&self, row: &impl Row<'a, DB>) -> deserialize::Result<KeyPrefix<Types, K>> {
        K::load(row).map(KeyPrefix::new)
    }
}

#[diagnostic::do_not_recommend]
impl<K, S, DB> OwnedKey<(S,), DB> for K
where
    DB: LoadsAs<S, K>,
    K: BindKey<(S,), DB> + Clone + Ord + fmt::Debug,
{
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
        let only_column = 0;
        DB::field(row, only_column)
    }
}

macro_rules! owned_keys {
    ($($number:tt: $([$i:tt $S:ident $K:ident])*;)*) => {
        $(owned_keys!(@key $number: $([$i $S $K])*);)*
    };
    (@key 1: $column:tt) => {};
    (@key $number:tt: $([$i:tt $S:ident $K:ident])*) => {
        #[allow(unused_variables)] // For a key without columns.
        #[diagnostic::do_not_recommend]
        impl<$($S, $K,)* DB> OwnedKey<($($S,)*), DB> for ($($K,)*)
        where
            DB: Backend $(+ LoadsAs<$S, $K>)*,
            Self: BindKey<($($S,)*), DB>,
            $($K: Clone + Ord + fmt::Debug,)*
        {
            fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
                Ok(($(<DB as LoadsAs<$S, $K>>::field(row, $i)?,)*))
            }
        }
    };
}

each_key!(owned_keys);
