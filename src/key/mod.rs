//! The keys of entities. A key has zero to five columns.
//!
//! Its SQL types are a tuple, [`KeyTypes`]. Its value is a tuple too, or just the value if there is
//! one column: [`KeyOf`]. Statements bind it as a [`BindKey`] and load it as an [`OwnedKey`],
//! whatever its type is.

/// Calls a macro with a key of every length. A column has an index, a name for its SQL type, and a
/// name for the type of its value.
macro_rules! each_key {
    ($macro:ident) => {
        $macro! {
            0:;
            1: [0 S0 K0];
            2: [0 S0 K0] [1 S1 K1];
            3: [0 S0 K0] [1 S1 K1] [2 S2 K2];
            4: [0 S0 K0] [1 S1 K1] [2 S2 K2] [3 S3 K3];
            5: [0 S0 K0] [1 S1 K1] [2 S2 K2] [3 S3 K3] [4 S4 K4];
        }
    };
}
pub(crate) use each_key;

mod bind;
mod entities;
mod given;
mod load;
mod primary;
mod stored;
mod types;

pub use bind::BindKey;
pub(crate) use bind::{columns_of, padded};
pub(crate) use entities::Keys;
pub use entities::{AllEntities, AnyOf, Entities, KeyPrefix, Together};
pub use given::{Columns, KeyOf, WholeKey};
pub(crate) use load::OwnedKeys;
pub use load::{LoadKey, OwnedKey};
pub use primary::CounterKey;
pub use stored::StoredKey;
pub(crate) use stored::mysql_integer;
pub use types::{HasColumns, KeyTypes, StartOf};
