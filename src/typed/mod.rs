//! What an application declares: counter tables, their counters and their keys.

/// Calls a macro with the keys of each number of columns. A column has an index, and a name for its
/// SQL type and for the type of its value.
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

pub(crate) mod copied;
pub(crate) mod counters;
pub(crate) mod entities;
pub(crate) mod key;
mod key_values;
pub(crate) mod names;
pub(crate) mod parent;
pub(crate) mod primary_key;
pub(crate) mod stored_key;
pub(crate) mod table;
