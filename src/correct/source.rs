//! The columns that a recount's source selects.

use diesel::sql_types::{BigInt, Date};

/// The SQL type of a query that selects true counts: the key's columns with the SQL types `Key`, a
/// `Date` if the query counts by day, and a count for each of the `Amounts`.
#[diagnostic::on_unimplemented(
    message = "this query doesn't select a key with the SQL types `{Key}` and true counts",
    label = "it selects `{Self}`",
    note = "help: select every column of the entity's key and a count for each counter, as in\n\
    `comments::table.group_by(comments::article_id).select((comments::article_id, count_star()))`",
    note = "help: or select the key, a day (`date(comments::created_at)`), and the counts of that day"
)]
pub trait SourceRow<Key, Amounts> {
    #[doc(hidden)]
    const IS_BY_DAY: bool;
}

// A query of one column has that column's SQL type, not a tuple.
#[diagnostic::do_not_recommend]
impl SourceRow<(), [i64; 1]> for BigInt {
    const IS_BY_DAY: bool = false;
}

macro_rules! source_rows {
    (@of ($($K:ident)*) $number:literal: $($Count:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($K),*> SourceRow<($($K,)*), [i64; $number]> for ($($K,)* $($Count,)*) {
            const IS_BY_DAY: bool = false;
        }
        #[diagnostic::do_not_recommend]
        impl<$($K),*> SourceRow<($($K,)*), [i64; $number]> for ($($K,)* Date, $($Count,)*) {
            const IS_BY_DAY: bool = true;
        }
    };
    ($($key:tt)*) => {$(
        source_rows!(@of $key 1: BigInt);
        source_rows!(@of $key 2: BigInt BigInt);
        source_rows!(@of $key 3: BigInt BigInt BigInt);
        source_rows!(@of $key 4: BigInt BigInt BigInt BigInt);
        source_rows!(@of $key 5: BigInt BigInt BigInt BigInt BigInt);
        source_rows!(@of $key 6: BigInt BigInt BigInt BigInt BigInt BigInt);
        source_rows!(@of $key 7: BigInt BigInt BigInt BigInt BigInt BigInt BigInt);
        source_rows!(@of $key 8: BigInt BigInt BigInt BigInt BigInt BigInt BigInt BigInt);
    )*};
}

source_rows!(() (A) (A B) (A B C) (A B C D) (A B C D E));
