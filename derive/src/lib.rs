//! The derive macro of `diesel_counters`; use it through that crate.

mod attr;
mod expand;
mod model;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Attaches counters to a Diesel model: implements [`HasCounters`], and
/// [`CountersOf`] for each counter table named.
///
/// ```
/// # mod schema {
/// #     diesel::table! { articles (id) { id -> BigInt, title -> Text, } }
/// #     diesel::table! {
/// #         article_counters (article_id, day, slot) {
/// #             article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt,
/// #         }
/// #     }
/// # }
/// # use schema::{article_counters, articles};
/// use diesel::prelude::*;
/// use diesel_counters::HasCounters;
///
/// #[derive(Identifiable, Queryable, Selectable, HasCounters)]
/// #[diesel(table_name = articles)]
/// #[counters(table_name = article_counters, slots = 16, period = "day")]
/// struct Article {
///     id: i64,
///     title: String,
/// }
/// ```
///
/// # Attributes
///
/// `#[counters(…)]`, once for each counter table of the model:
///
/// - `table_name = path::to::table`, required: the counter table's module, as in
///   `#[diesel(table_name = …)]`.
/// - `slots = 32`: the number of slots, from 1 to 32,767. As many as threads that
///   count at the same time, over all processes, is best.
/// - `period = "day"`, `"week"`, `"month"` or `"total"`: how finely counts are told
///   apart in time; a [`Period`].
/// - `today = path::to::function`: a `fn() -> chrono::NaiveDate` that says on which
///   day to count, when that is not UTC's.
///
/// The model's key is the field of the column named in
/// `#[diesel(primary_key(…))]`, or of the column `id`; it must be a single column.
///
/// [`HasCounters`]: trait@crate::HasCounters
/// [`CountersOf`]: crate::CountersOf
/// [`Period`]: crate::Period
#[proc_macro_derive(HasCounters, attributes(counters, diesel))]
pub fn derive_has_counters(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    match model::Model::from_item(&item) {
        Ok(model) => expand::expand(&item, &model),
        Err(error) => error.into_compile_error(),
    }
    .into()
}
