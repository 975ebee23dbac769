//! The model: its key, and its counter tables.

use quote::quote;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Index, LitStr, Member, Meta, Result,
    Token, Type,
};

use crate::attr::{self, CountersAttr};

/// What is known of a model once it is known to be right.
pub struct Model<'a> {
    pub key: Member,
    pub key_type: &'a Type,
    pub counters: Vec<CountersAttr>,
}

impl<'a> Model<'a> {
    pub fn from_item(item: &'a DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &item.data else {
            return Err(Error::new(
                item.ident.span(),
                "`HasCounters` can only be derived for a struct, as Diesel's models are",
            ));
        };
        let counters = item
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("counters"))
            .map(CountersAttr::parse)
            .collect::<Result<Vec<_>>>()?;
        if counters.is_empty() {
            return Err(attr::missing(item.ident.span()));
        }
        refuse_same_table_twice(&counters)?;
        let (key, key_type) = key_field(item, &data.fields)?;
        Ok(Model {
            key,
            key_type,
            counters,
        })
    }
}

fn refuse_same_table_twice(counters: &[CountersAttr]) -> Result<()> {
    for (i, attr) in counters.iter().enumerate() {
        if counters[..i]
            .iter()
            .any(|other| other.table_name == attr.table_name)
        {
            return Err(Error::new_spanned(
                &attr.table_name,
                "this counter table is named twice; say all about it in one `#[counters(…)]`",
            ));
        }
    }
    Ok(())
}

/// The field of the primary key's one column.
fn key_field<'a>(item: &DeriveInput, fields: &'a Fields) -> Result<(Member, &'a Type)> {
    let column = primary_key(item)?;
    for (i, field) in fields.iter().enumerate() {
        let name = column_name(field)?.or_else(|| field.ident.clone());
        if name.is_some_and(|name| name == column) {
            let member = match &field.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(Index::from(i)),
            };
            return Ok((member, &field.ty));
        }
    }
    Err(Error::new(
        column.span(),
        format!(
            "no field of `{}` is the column `{column}`, its primary key\n\
             help: add the field, or name another column with `#[diesel(primary_key(…))]`",
            item.ident
        ),
    ))
}

/// The column of `#[diesel(primary_key(…))]`, or `id`.
fn primary_key(item: &DeriveInput) -> Result<Ident> {
    for meta in diesel_metas(&item.attrs)? {
        if let Meta::List(list) = &meta {
            if list.path.is_ident("primary_key") {
                let columns =
                    list.parse_args_with(Punctuated::<Ident, Token![,]>::parse_terminated)?;
                if columns.len() != 1 {
                    return Err(Error::new_spanned(
                        quote!(#meta),
                        "a model with counters has a primary key of a single column: \
                         it is what a counter table's first column holds",
                    ));
                }
                return Ok(columns[0].clone());
            }
        }
    }
    Ok(Ident::new("id", item.ident.span()))
}

/// The column of `#[diesel(column_name = …)]`.
fn column_name(field: &Field) -> Result<Option<Ident>> {
    for meta in diesel_metas(&field.attrs)? {
        if let Meta::NameValue(pair) = &meta {
            if pair.path.is_ident("column_name") {
                let value = &pair.value;
                // Diesel takes a string too.
                let name = syn::parse2::<LitStr>(quote!(#value))
                    .and_then(|literal| literal.parse())
                    .or_else(|_| syn::parse2::<Ident>(quote!(#value)))
                    .map_err(|error| Error::new(value.span(), error))?;
                return Ok(Some(name));
            }
        }
    }
    Ok(None)
}

/// What stands in the `#[diesel(…)]`s that this derive can read; Diesel's own
/// derives complain of the others.
fn diesel_metas(attrs: &[Attribute]) -> Result<Vec<Meta>> {
    Ok(attrs
        .iter()
        .filter(|attr| attr.path().is_ident("diesel"))
        .filter_map(|attr| {
            attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()
        })
        .flatten()
        .collect())
}
