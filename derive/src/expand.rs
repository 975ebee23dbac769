//! Writes the impls for a valid model.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Path};

use crate::attr::name_span;
use crate::model::{Key, Model};

/// Writes what `#[derive(HasCounters)]` expands to.
pub fn expand(item: &DeriveInput, model: &Model) -> TokenStream {
    let has_counters = impl_has_counters(item, model);
    let counters_of = model.tables.iter();
    let counters_of = counters_of.map(|table| impl_counters_of(item, table));
    // A unit struct's key is `()`, and every key begins with that.
    let assert_keys = (!model.key.is_empty()).then(|| assert_keys(item, model));

    quote! {
        #has_counters
        #(#counters_of)*
        #assert_keys
    }
}

/// Writes the model's `impl HasCounters`.
fn impl_has_counters(item: &DeriveInput, model: &Model) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let key = key_of(&quote!(self), model);
    let types = model.key.iter().map(|Key { ty, .. }| ty);
    let refs = model.key.iter().map(|Key { ty, .. }| quote!(&'__key #ty));
    let (key_type, key_ref) = match model.key.len() {
        1 => (quote!(#(#types)*), quote!(#(#refs)*)),
        _ => (quote!((#(#types,)*)), quote!((#(#refs,)*))),
    };
    // This chooses the impl of `KeyOf`.
    let columns = model.key.len();

    quote! {
        impl #impl_generics ::diesel_counters::HasCounters for #ident #ty_generics #where_clause {
            type Key = #key_type;
            type KeyRef<'__key> = #key_ref where Self: '__key;
            type KeyColumns = ::diesel_counters::__private::Columns<#columns>;

            fn counter_key(&self) -> Self::KeyRef<'_> {
                #key
            }
        }
    }
}

/// Writes the key of the model that is in this variable: `&self.id`, or `(&self.id, &self.emoji,)`.
/// Writes nothing for a unit struct.
fn key_of(variable: &TokenStream, model: &Model) -> TokenStream {
    let fields = model
        .key
        .iter()
        .map(|Key { ty, field }| quote_spanned!(ty.span()=> &#variable.#field));
    match model.key.len() {
        0 => TokenStream::new(),
        1 => quote!(#(#fields)*),
        _ => quote!((#(#fields,)*)),
    }
}

/// Writes a function that is never called. It compiles only if the key of every table begins with
/// the model's key. Otherwise, the compiler's error is at the type of the key's first field.
fn assert_keys(item: &DeriveInput, model: &Model) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let key = key_of(&quote!(model), model);
    let first_type = model.key[0].ty;
    let asserts = model.tables.iter().map(|table_name| {
        quote_spanned! {first_type.span()=>
            ::diesel_counters::__private::assert_key::<#table_name::table, _, _>(#key);
        }
    });

    quote! {
        const _: () = {
            fn _assert_keys #impl_generics (model: &#ident #ty_generics) #where_clause {
                #(#asserts)*
            }
        };
    }
}

/// Writes `impl CountersOf<Model>` for a counter table.
fn impl_counters_of(item: &DeriveInput, table_name: &Path) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    // If this isn't a counter table, the compiler's error is at its name.
    let table = quote_spanned!(name_span(table_name)=> #table_name::table);

    quote! {
        impl #impl_generics ::diesel_counters::bounds::CountersOf<#ident #ty_generics> for #table
        #where_clause
        {
        }
    }
}
