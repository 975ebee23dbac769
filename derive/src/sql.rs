//! The templates of `sql!` and `part!`: `sql!("DELETE FROM {table}")`.
//!
//! The text in braces is Rust, and ends at the first `}`. You can't escape a brace.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result};

/// Returns a closure that writes the template into its argument, an `Out`.
pub fn writer(template: Expr) -> Result<TokenStream> {
    let statements = statements(template)?;
    Ok(quote!(|__out| {
        use crate::sql::Part as _;
        #statements
    }))
}

/// Returns statements that write the template into `__out`: `("DELETE FROM ").write(__out);
/// (table).write(__out);` for `"DELETE FROM {table}"`. The arms of a `match` are templates too: if
/// each were a `part!`, they would be closures of different types.
fn statements(template: Expr) -> Result<TokenStream> {
    match template {
        Expr::Lit(ExprLit {
            lit: Lit::Str(template),
            ..
        }) => {
            let parts = parts(&template)?;
            Ok(quote!({ #((#parts).write(__out);)* }))
        }
        Expr::Match(mut expression) => {
            for arm in &mut expression.arms {
                let template = (*arm.body).clone();
                *arm.body = Expr::Verbatim(statements(template)?);
            }
            Ok(expression.into_token_stream())
        }
        other => {
            let message = "this is not a template\nhelp: the correct format looks like \
                           `\"SELECT {column}\"`, or `match … { … => \"SELECT {column}\" }`";
            Err(Error::new_spanned(other, message))
        }
    }
}

/// Returns the texts outside of the braces and the code inside them, in order: `"DELETE FROM "` and
/// `table` for `"DELETE FROM {table}"`.
fn parts(template: &LitStr) -> Result<Vec<TokenStream>> {
    let text = template.value();
    let span = template.span();
    let mut parts = Vec::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((code, after)) = after.split_once('}') else {
            return Err(Error::new(span, "missing `}`"));
        };
        let Ok(tokens) = code.parse::<TokenStream>() else {
            return Err(Error::new(span, format!("`{code}` is not valid Rust")));
        };
        if !before.is_empty() {
            parts.push(quote!(#before));
        }
        parts.push(with_span(span, tokens));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(quote!(#rest));
    }
    Ok(parts)
}

/// Gives all tokens the template's span, so that names are looked up and errors are reported where
/// the template stands.
fn with_span(span: Span, tokens: TokenStream) -> TokenStream {
    let spanned = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            let inside = with_span(span, group.stream());
            token = Group::new(group.delimiter(), inside).into();
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

    /// Returns the code for a template, or the error.
    fn written(template: Expr) -> String {
        match statements(template) {
            Ok(code) => code.to_string(),
            Err(error) => error.to_string(),
        }
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
