//! SQL with parts in braces, as `diesel_counters` writes it: `sql!("DELETE FROM {table} WHERE {day} < {before}")`.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Error, LitStr, Result};

pub fn expand(template: &LitStr) -> Result<TokenStream> {
    let (text, span) = (template.value(), template.span());
    let mut pieces = Vec::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('{') {
        let (part, after) = after
            .split_once('}')
            .ok_or_else(|| Error::new(span, "a part has no `}`"))?;
        let tokens = part.parse::<TokenStream>();
        let tokens = tokens.map_err(|_| Error::new(span, format!("`{part}` is not Rust")))?;
        if !before.is_empty() {
            pieces.push(quote!(#before));
        }
        pieces.push(at(span, tokens));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(quote!(#rest));
    }
    Ok(quote! {{
        use crate::sql::Part as _;
        let mut __sql = crate::sql::Sql::default();
        #((#pieces).push_part(&mut __sql);)*
        __sql
    }})
}

/// The names in a part are those of the function around the template, and an error is at the template.
fn at(span: Span, tokens: TokenStream) -> TokenStream {
    let spanned = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), at(span, group.stream())).into();
        }
        token.set_span(span);
        token
    });
    spanned.collect()
}
