//! The columns that the source of a recount selects.

use std::any::{TypeId, type_name};

use diesel::QueryResult;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Date};

use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::KeyTypes;

/// The SQL type of a query: a column, or a tuple of up to fourteen.
#[diagnostic::on_unimplemented(
    message = "this is not a query of a key and of true counts",
    label = "this query selects `{Self}`",
    note = "help: select all columns of the key of an entity and a count for each counter, as in\n\
    `comments::table.group_by(comments::article_id).select((comments::article_id, count_star()))`",
    note = "help: or select the key, a day (`date(comments::created_at)`), and the counts of that day"
)]
pub trait SourceRow: 'static {
    #[doc(hidden)]
    fn sql_types() -> Vec<TypeId>;
}

impl SourceRow for BigInt {
    fn sql_types() -> Vec<TypeId> {
        vec![TypeId::of::<BigInt>()]
    }
}

macro_rules! source_rows {
    () => {};
    ($First:ident $($S:ident)*) => {
        impl<$First: 'static, $($S: 'static),*> SourceRow for ($First, $($S,)*) {
            fn sql_types() -> Vec<TypeId> {
                vec![TypeId::of::<$First>(), $(TypeId::of::<$S>()),*]
            }
        }
        source_rows!($($S)*);
    };
}

source_rows!(A B C D E F G H I J K L M N);

/// Returns whether the source of a recount of `C`, whose row is `Row`, counts by day.
///
/// # Errors
///
/// If it does not select a key and counts.
pub(super) fn counts_by_day<C: Counters, Row: SourceRow>() -> QueryResult<bool> {
    let counts = C::NAMES.iter().map(|_| TypeId::of::<BigInt>());
    let key = || KeyType::<C>::sql_types().into_iter();
    let selected = Row::sql_types().into_iter();
    let day = TypeId::of::<Date>();
    if selected.clone().eq(key().chain(counts.clone())) {
        Ok(false)
    } else if selected.eq(key().chain([day]).chain(counts)) {
        Ok(true)
    } else {
        Err(Error::QueryBuilderError(
            format!(
                "the source of the recount selects {}, but a recount of {} requires the key of an \
                 entity, {}, a `Date` if it counts by day, and a `BigInt` for each counter",
                type_name::<Row>().replace("diesel::sql_types::", ""),
                C::NAMES
                    .iter()
                    .map(|name| name.0)
                    .collect::<Vec<_>>()
                    .join(", "),
                type_name::<KeyType<C>>().replace("diesel::sql_types::", ""),
            )
            .into(),
        ))
    }
}
