//! Writes the impls of a valid model.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::DeriveInput;
use syn::spanned::Spanned;

use crate::attr::CountersAttr;
use crate::model::{Key, Model};

pub fn expand(item: &DeriveInput, model: &Model) -> TokenStream {
    let has_counters = has_counters(item, model);
    let counters_of = model.counters.iter().map(|attr| counters_of(item, attr));
    let assert_keys = (!model.key.is_empty()).then(|| assert_keys(item, model));

    quote! {
        #has_counters
        #(#counters_of)*
        #assert_keys
    }
}

fn has_counters(item: &DeriveInput, model: &Model) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let key = key(model, &quote!(self));
    let types = model.key.iter().map(|Key { ty, .. }| ty);
    let refs = model.key.iter().map(|Key { ty, .. }| quote!(&'__key #ty));
    let (key_type, key_ref) = match model.key.len() {
        1 => (quote!(#(#types)*), quote!(#(#refs)*)),
        _ => (quote!((#(#types,)*)), quote!((#(#refs,)*))),
    };
    let columns = model.key.len();
    let tables = model.counters.iter().rev().fold(quote!(()), |rest, attr| {
        let table_name = &attr.table_name;
        quote!((#table_name::table, #rest))
    });

    quote! {
        impl #impl_generics ::diesel_counters::HasCounters for #ident #ty_generics #where_clause {
            type Key = #key_type;
            type KeyRef<'__key> = #key_ref where Self: '__key;
            type KeyColumns = ::diesel_counters::Columns<#columns>;
            type CounterTables = #tables;

            fn counter_key(&self) -> Self::KeyRef<'_> {
                #key
            }
        }
    }
}

/// Writes the key of the model that is called `name`: a reference, or a tuple of references.
fn key(model: &Model, name: &TokenStream) -> TokenStream {
    let fields = model
        .key
        .iter()
        .map(|Key { ty, field }| quote_spanned!(ty.span()=> &#name.#field));
    match model.key.len() {
        0 => TokenStream::new(),
        1 => quote!(#(#fields)*),
        _ => quote!((#(#fields,)*)),
    }
}

/// Writes a check of the key's type, whose error is at the type of the key's first field.
fn assert_keys(item: &DeriveInput, model: &Model) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let (value, first) = (key(model, &quote!(model)), &model.key[0].ty);
    let asserts = model.counters.iter().map(|attr| {
        let table_name = &attr.table_name;
        quote_spanned! {first.span()=>
            ::diesel_counters::assert_key::<#table_name::table, _, _>(#value);
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

fn counters_of(item: &DeriveInput, attr: &CountersAttr) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let table_name = &attr.table_name;
    // If the table is not a counter table, the error is at its name.
    let table = quote_spanned!(table_name.span()=> #table_name::table);
    let slots = attr.slots.map(|slots| quote!(const SLOTS: i16 = #slots;));
    let period = attr.period.as_ref().map(|period| {
        quote! {
            const PERIOD: ::diesel_counters::Period = ::diesel_counters::Period::#period;
        }
    });
    let today = attr.today.as_ref().map(|path| {
        let call = quote_spanned!(path.span()=> #path());
        quote! {
            fn today() -> ::diesel_counters::chrono::NaiveDate {
                #call
            }
        }
    });
    let counted_by_database = attr.counted_by_database.as_ref().map(|counters| {
        let names = counters.iter().map(|counter| {
            // If the column is not a counter, the error is at its name, and not at the whole path.
            let value = quote_spanned!(counter.span()=> __diesel_counters_column);
            quote! {
                match #table_name::#counter {
                    #value => ::diesel_counters::name_of(#value),
                }
            }
        });
        quote! {
            const COUNTED_BY_DATABASE: &'static [&'static str] = &[#(#names),*];
        }
    });

    quote! {
        impl #impl_generics ::diesel_counters::CountersOf<#ident #ty_generics> for #table
        #where_clause
        {
            #slots
            #period
            #counted_by_database
            #today
        }
    }
}
