//! Parses `#[counters(…)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Ident, LitInt, LitStr, Path, Result, Token, parenthesized};

const FORMAT: &str = "help: the correct format looks like \
    `#[counters(table_name = article_counters, slots = 32, period = \"day\", today = path::to::function, \
    counted_by_database(likes))]`";

/// A `#[counters(…)]` that is valid.
pub struct CountersAttr {
    pub table_name: Path,
    pub slots: Option<i16>,
    pub period: Option<Ident>,
    pub today: Option<Path>,
    /// The modules' names of the columns that triggers count.
    pub counted_by_database: Option<Vec<Ident>>,
}

impl CountersAttr {
    pub fn parse(attr: &Attribute) -> Result<Self> {
        let (mut table_name, mut slots, mut period, mut today) = (None, None, None, None);
        let mut counted_by_database = None;
        attr.meta
            .require_list()
            .map_err(|_| Error::new_spanned(attr, format!("missing `table_name`\n{FORMAT}")))?;
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("table_name") {
                let value = Path::parse_mod_style(meta.value()?).map_err(|error| {
                    Error::new(
                        error.span(),
                        format!("`table_name` requires a path without quotes\n{FORMAT}"),
                    )
                })?;
                set(&mut table_name, &meta, value)
            } else if meta.path.is_ident("slots") {
                let value = parse_slots(meta.value()?)?;
                set(&mut slots, &meta, value)
            } else if meta.path.is_ident("period") {
                let value = parse_period(meta.value()?)?;
                set(&mut period, &meta, value)
            } else if meta.path.is_ident("today") {
                set(&mut today, &meta, meta.value()?.parse()?)
            } else if meta.path.is_ident("counted_by_database") {
                let value = parse_counters(&meta)?;
                set(&mut counted_by_database, &meta, value)
            } else {
                Err(meta.error(format!(
                    "unknown attribute, expected `table_name`, `slots`, `period`, `today` or \
                     `counted_by_database`\n{FORMAT}"
                )))
            }
        })?;
        let table_name = table_name
            .ok_or_else(|| Error::new_spanned(attr, format!("missing `table_name`\n{FORMAT}")))?;
        Ok(CountersAttr {
            table_name,
            slots,
            period,
            today,
            counted_by_database,
        })
    }
}

fn set<T>(option: &mut Option<T>, meta: &ParseNestedMeta, value: T) -> Result<()> {
    if option.replace(value).is_some() {
        return Err(meta
            .error("this setting is repeated; write one `#[counters(…)]` for each counter table"));
    }
    Ok(())
}

/// Parses the columns of `counted_by_database(likes, comments)`.
fn parse_counters(meta: &ParseNestedMeta) -> Result<Vec<Ident>> {
    let format = |span| {
        Error::new(
            span,
            "`counted_by_database` requires columns of the counter table, as in \
             `counted_by_database(likes, comments)`",
        )
    };
    if !meta.input.peek(syn::token::Paren) {
        return Err(format(meta.path.span()));
    }
    let list;
    parenthesized!(list in meta.input);
    let counters = Punctuated::<Ident, Token![,]>::parse_terminated(&list)
        .map_err(|error| format(error.span()))?;
    match counters.is_empty() {
        true => Err(format(meta.path.span())),
        false => Ok(counters.into_iter().collect()),
    }
}

fn parse_slots(value: ParseStream) -> Result<i16> {
    let span = value.span();
    match value.parse::<LitInt>().and_then(|n| n.base10_parse()) {
        Ok(slots) if slots > 0 => Ok(slots),
        _ => Err(Error::new(
            span,
            "`slots` requires a number from 1 to 32767, as in `slots = 32`",
        )),
    }
}

/// Returns the variant of `Period` with this name.
fn parse_period(value: ParseStream) -> Result<Ident> {
    let span = value.span();
    let period = value.parse::<LitStr>().map(|literal| literal.value());
    let variant = match period.as_deref() {
        Ok("day") => "Day",
        Ok("week") => "Week",
        Ok("month") => "Month",
        Ok("year") => "Year",
        Ok("total") => "Total",
        _ => {
            return Err(Error::new(
                span,
                "`period` requires \"day\", \"week\", \"month\", \"year\" or \"total\", with quotes",
            ));
        }
    };
    Ok(Ident::new(variant, Span::call_site()))
}

/// The error of a model without a `#[counters(…)]`.
pub fn missing(span: Span) -> Error {
    Error::new(
        span,
        format!("this model has no `#[counters(…)]`\n{FORMAT}"),
    )
}
