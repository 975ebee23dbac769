//! The impls of a right model.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::DeriveInput;
use syn::spanned::Spanned;

use crate::attr::CountersAttr;
use crate::model::Model;

pub fn expand(item: &DeriveInput, model: &Model) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let Model { key, key_type, .. } = model;
    let counters_of = model.counters.iter().map(|attr| counters_of(item, attr));
    let asserts = model.counters.iter().map(|attr| assert_key(model, attr));

    quote! {
        impl #impl_generics ::diesel_counters::HasCounters for #ident #ty_generics #where_clause {
            type Key = #key_type;

            fn counter_key(&self) -> &Self::Key {
                &self.#key
            }
        }

        #(#counters_of)*

        const _: () = {
            fn _assert_keys #impl_generics (model: &#ident #ty_generics) #where_clause {
                #(#asserts)*
            }
        };
    }
}

/// A key of the wrong type is an error on its type.
fn assert_key(model: &Model, attr: &CountersAttr) -> TokenStream {
    let Model { key, key_type, .. } = model;
    let table_name = &attr.table_name;
    let key = quote_spanned!(key_type.span()=> &model.#key);
    quote!(::diesel_counters::assert_key::<#table_name::table, _>(#key);)
}

fn counters_of(item: &DeriveInput, attr: &CountersAttr) -> TokenStream {
    let ident = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let table_name = &attr.table_name;
    // A table of the wrong shape is an error on its name.
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

    quote! {
        impl #impl_generics ::diesel_counters::CountersOf<#ident #ty_generics> for #table
        #where_clause
        {
            #slots
            #period
            #today
        }
    }
}
