//! The macros of `diesel_counters`. Use them through that crate.

mod attr;
mod counter_table;
mod expand;
mod model;
mod sql;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, Expr, parse_macro_input};

#[allow(missing_docs)] // The docs are where `diesel_counters` exports the macro.
#[proc_macro_derive(HasCounters, attributes(counters, diesel))]
pub fn derive_has_counters(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    match model::Model::from_item(&item) {
        Ok(model) => expand::expand(&item, &model),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[allow(missing_docs)]
#[proc_macro]
pub fn counter_table(item: TokenStream) -> TokenStream {
    parse_macro_input!(item as counter_table::TableDeclaration)
        .expand()
        .into()
}

/// Turns a template into a `Sql`, a list of texts and parts. Only for `diesel_counters` itself.
#[doc(hidden)]
#[proc_macro]
pub fn sql(template: TokenStream) -> TokenStream {
    sql::writer(parse_macro_input!(template as Expr))
        .map(|writer| quote!(crate::sql::Sql::from_write(#writer)))
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Like `sql!`, but makes a closure: the code in braces is evaluated every time it is written.
#[doc(hidden)]
#[proc_macro]
pub fn part(template: TokenStream) -> TokenStream {
    sql::writer(parse_macro_input!(template as Expr))
        .map(|writer| quote!(crate::sql::part_of(move #writer)))
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
