//! Parses a model: its key and its counter tables.

use std::collections::HashSet;

use proc_macro2::TokenTree;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Index, LitStr, Member, Path, Result,
    Token, Type, parenthesized,
};

use crate::attr;

/// A valid model.
pub struct Model<'a> {
    /// The columns of the primary key; empty for a unit struct, which has counters without an
    /// entity.
    pub key: Vec<Key<'a>>,
    pub tables: Vec<Path>,
}

/// A column of a model's primary key.
pub struct Key<'a> {
    pub field: Member,
    pub ty: &'a Type,
}

impl<'a> Model<'a> {
    /// Parses the struct that `HasCounters` is derived for.
    pub fn from_item(item: &'a DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &item.data else {
            return Err(Error::new(
                item.ident.span(),
                "`HasCounters` can only be derived for a struct",
            ));
        };
        let tables = item
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("counters"))
            .map(attr::table_name)
            .collect::<Result<Vec<_>>>()?;
        if tables.is_empty() {
            return Err(attr::missing_attribute(item.ident.span()));
        }
        refuse_same_table_twice(&tables)?;
        let key = match &data.fields {
            Fields::Unit => Vec::new(),
            fields => primary_key(item)?
                .iter()
                .map(|column| Key::of_column(item, fields, column))
                .collect::<Result<_>>()?,
        };
        Ok(Model { key, tables })
    }
}

fn refuse_same_table_twice(tables: &[Path]) -> Result<()> {
    let mut earlier = HashSet::new();
    for table in tables {
        let is_new = earlier.insert(table);
        if !is_new {
            return Err(Error::new_spanned(
                table,
                "this counter table is named twice",
            ));
        }
    }
    Ok(())
}

impl<'a> Key<'a> {
    /// Finds the model's field for a column of the primary key. A field belongs to the column that
    /// it names with `#[diesel(column_name = …)]`, or to the one with its own name.
    fn of_column(item: &DeriveInput, fields: &'a Fields, column: &Ident) -> Result<Self> {
        for (i, field) in fields.iter().enumerate() {
            let name = column_name(field)?.or_else(|| field.ident.as_ref().map(unraw));
            if name == Some(unraw(column)) {
                let member = match &field.ident {
                    Some(ident) => Member::Named(ident.clone()),
                    None => Member::Unnamed(Index::from(i)),
                };
                return Ok(Key {
                    field: member,
                    ty: &field.ty,
                });
            }
        }
        Err(Error::new(
            column.span(),
            format!(
                "`{}` has no field for its primary key, the column `{column}`\n\
                 help: add the field, or name another column with `#[diesel(primary_key(…))]`",
                item.ident
            ),
        ))
    }
}

/// The maximum number of columns in a key.
const MAX_COLUMNS: usize = 5;

/// Returns the columns of the model's `#[diesel(primary_key(…))]`, or `id` if it has none.
fn primary_key(item: &DeriveInput) -> Result<Vec<Ident>> {
    let columns = diesel_attr(&item.attrs, "primary_key", |input| {
        let list;
        parenthesized!(list in input);
        Punctuated::<Ident, Token![,]>::parse_terminated(&list)
    })?;
    match columns {
        None => Ok(vec![Ident::new("id", item.ident.span())]),
        Some(columns) if (1..=MAX_COLUMNS).contains(&columns.len()) => {
            Ok(columns.into_iter().collect())
        }
        Some(columns) => Err(Error::new_spanned(
            columns,
            "a model with counters requires a primary key of one to five columns, because a counter \
             table stores them in its first columns",
        )),
    }
}

/// Returns the column that the field's `#[diesel(column_name = …)]` names, if it has one.
fn column_name(field: &Field) -> Result<Option<String>> {
    diesel_attr(&field.attrs, "column_name", |input| {
        input.parse::<Token![=]>()?;
        // Diesel accepts a string too, for example for a keyword.
        if input.peek(LitStr) {
            Ok(input.parse::<LitStr>()?.value())
        } else {
            Ok(unraw(&input.parse()?))
        }
    })
}

/// Returns `type` for `r#type`.
fn unraw(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// Finds `name` in the `#[diesel(…)]` attributes, and parses the tokens after it with `parse`.
fn diesel_attr<T>(
    attrs: &[Attribute],
    name: &str,
    parse: impl Fn(ParseStream) -> Result<T>,
) -> Result<Option<T>> {
    let mut found = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("diesel")) {
        attr.parse_args_with(|input: ParseStream| {
            while !input.is_empty() {
                if input.call(Ident::parse_any)? == name {
                    found = Some(parse(input)?);
                }
                skip_to_next(input)?;
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Skips the rest of a setting for Diesel's own derives, up to the next comma that isn't between
/// `<` and `>`. An expression with a `<` has to be in parentheses.
fn skip_to_next(input: ParseStream) -> Result<()> {
    let mut depth = 0;
    // The last character, if it was punctuation: the `>` in `->` doesn't close a `<`.
    let mut previous = ' ';
    while !input.is_empty() {
        let token = input.parse::<TokenTree>()?;
        let TokenTree::Punct(punct) = token else {
            previous = ' ';
            continue;
        };
        match punct.as_char() {
            ',' if depth == 0 => return Ok(()),
            '<' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            _ => {}
        }
        previous = punct.as_char();
    }
    Ok(())
}
