//! Parses `#[counters(…)]`.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Path, Result};

const FORMAT: &str =
    "help: the correct format looks like `#[counters(table_name = article_counters)]`";

/// Returns the table that a `#[counters(table_name = …)]` names.
pub fn table_name(attr: &Attribute) -> Result<Path> {
    let missing_name = || Error::new_spanned(attr, format!("missing `table_name`\n{FORMAT}"));
    let mut table_name = None;
    attr.meta.require_list().map_err(|_| missing_name())?;
    attr.parse_nested_meta(|meta| {
        if !meta.path.is_ident("table_name") {
            return Err(meta.error(format!(
                "unknown attribute, expected `table_name`\n{FORMAT}\n\
                 help: the settings of the table belong to its `counter_table!`"
            )));
        }
        if table_name.is_some() {
            return Err(meta.error(
                "`table_name` is repeated; write one `#[counters(…)]` for each counter table",
            ));
        }
        let path = Path::parse_mod_style(meta.value()?).map_err(|error| {
            Error::new(
                error.span(),
                format!("`table_name` requires a path without quotes\n{FORMAT}"),
            )
        })?;
        table_name = Some(path);
        Ok(())
    })?;
    table_name.ok_or_else(missing_name)
}

/// Returns the span of a path's last name. On a stable compiler, the span of a whole path is that
/// of its first word, such as `crate`.
pub fn name_span(path: &Path) -> Span {
    path.segments.last().span()
}

/// Returns the error for a model without a `#[counters(…)]`.
pub fn missing_attribute(span: Span) -> Error {
    Error::new(
        span,
        format!("this model has no `#[counters(…)]`\n{FORMAT}"),
    )
}
