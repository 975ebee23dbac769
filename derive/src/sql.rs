//! The templates of `sql!` and `part!`: `sql!("DELETE FROM {table}")`.
//!
//! The text in braces is Rust, and ends at the first `}`. You can't escape a brace.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result};

/// Returns a closure that writes the template into its argument, an `Out`.
pub fn writer(template: Expr) -> Result<TokenStream> {
    let written = written(template)?;
    Ok(quote!(|__out| {
        use crate::sql::Part as _;
        #written
    }))
}

/// Returns code that writes the template into `__out`. The arms of a `match` are templates too: if
/// each were a `part!`, they would be closures of different types.
fn written(template: Expr) -> Result<TokenStream> {
    match template {
        Expr::Lit(ExprLit {
            lit: Lit::Str(template),
            ..
        }) => {
            let parts = parts(&template)?;
            Ok(quote!({ #((#parts).write(__out);)* }))
        }
        Expr::Match(mut choice) => {
            for arm in &mut choice.arms {
                *arm.body = Expr::Verbatim(written((*arm.body).clone())?);
            }
            Ok(choice.into_token_stream())
        }
        other => {
            let message = "this is not a template\nhelp: the correct format looks like \
                           `\"SELECT {column}\"`, or `match … { … => \"SELECT {column}\" }`";
            Err(Error::new_spanned(other, message))
        }
    }
}

/// Returns the texts between the braces and the code in them, in order.
fn parts(template: &LitStr) -> Result<Vec<TokenStream>> {
    let text = template.value();
    let span = template.span();
    let mut parts = Vec::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('{') {
        let (part, after) = after
            .split_once('}')
            .ok_or_else(|| Error::new(span, "missing `}`"))?;
        let tokens = part.parse::<TokenStream>();
        let tokens = tokens.map_err(|_| Error::new(span, format!("`{part}` is not valid Rust")))?;
        if !before.is_empty() {
            parts.push(quote!(#before));
        }
        parts.push(at(span, tokens));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(quote!(#rest));
    }
    Ok(parts)
}

/// Gives all tokens the template's span, so that names are looked up and errors are reported where
/// the template stands.
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

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn written(template: Expr) -> String {
        super::written(template).map_or_else(|error| error.to_string(), |code| code.to_string())
    }

    #[test]
    fn texts_and_parts_are_written_in_turn() {
        let code = quote!({
            ("a ").write(__out);
            (b).write(__out);
            (c(1)).write(__out);
        });
        assert_eq!(written(parse_quote!("a {b}{c(1)}")), code.to_string());
    }

    #[test]
    fn only_the_bodies_of_a_match_are_templates() {
        let template = parse_quote!(match (number, text) {
            (1, "{text}") => "a",
            (number, _) if number > "{1}" => "b",
            _ => match text {
                _ => "c",
            },
        });
        let code = quote!(match (number, text) {
            (1, "{text}") => {
                ("a").write(__out);
            }
            (number, _) if number > "{1}" => {
                ("b").write(__out);
            }
            _ => match text {
                _ => {
                    ("c").write(__out);
                }
            },
        });
        assert_eq!(
            written(template).replace(" ,", ""),
            code.to_string().replace(" ,", "")
        );
    }

    #[test]
    fn anything_else_is_an_error() {
        assert_eq!(written(parse_quote!("a {b")), "missing `}`");
        assert_eq!(written(parse_quote!("a {(b}")), "`(b` is not valid Rust");
        assert!(
            written(parse_quote!(match b {
                _ => 1,
            }))
            .starts_with("this is not a template")
        );
    }
}
