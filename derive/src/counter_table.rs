//! Parses and expands a `counter_table!`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitInt, Path, Result, Token, braced, parenthesized, token};

use crate::attr::name_span;

const FORMAT: &str = "help: the correct format looks like `counter_table!(article_counters)`, with settings\n\
    `counter_table! { article_counters { parent = articles::id, slots = 32, period = Day, \
    today = path::to::function, counted_by_database = (likes, comments) } }`,\n\
    or for a stock `counter_table! { ticket_counters { period = Total, stock = (remaining) } }`";

/// A valid `counter_table!`.
pub struct TableDeclaration {
    table_name: Path,
    /// The columns of each parent table's key.
    parents: Vec<ParentKey>,
    slots: Option<i16>,
    /// The variant of `Slot`.
    slot: Option<Ident>,
    /// The variant of `Period`.
    period: Option<Ident>,
    today: Option<Path>,
    /// The counters that triggers count, named by their modules in the `table!`.
    counted_by_database: Vec<Path>,
    /// The counters that never go below 0, also named by their modules.
    stock: Vec<Path>,
}

struct ParentKey {
    table_name: Path,
    columns: Vec<Path>,
}

impl Parse for TableDeclaration {
    fn parse(input: ParseStream) -> Result<Self> {
        let table_name = Path::parse_mod_style(input).map_err(|error| {
            Error::new(error.span(), format!("missing the counter table\n{FORMAT}"))
        })?;
        let mut table = TableDeclaration {
            table_name,
            parents: Vec::new(),
            slots: None,
            slot: None,
            period: None,
            today: None,
            counted_by_database: Vec::new(),
            stock: Vec::new(),
        };
        if input.peek(token::Brace) {
            let settings;
            braced!(settings in input);
            table.parse_settings(&settings)?;
        }
        table.check_stock()?;
        if !input.is_empty() {
            return Err(input.error(format!(
                "expected nothing but the settings of one table, in braces\n{FORMAT}"
            )));
        }
        Ok(table)
    }
}

impl TableDeclaration {
    /// Parses the settings in the braces after the table's name: `slots = 32, period = Day`.
    fn parse_settings(&mut self, input: ParseStream) -> Result<()> {
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            // Each setting can be given once, and `parent` once for each parent table.
            let is_new = if name == "parent" {
                self.add_parent(parse_paths(input)?)?
            } else if name == "slots" {
                self.slots.replace(parse_slots(input)?).is_none()
            } else if name == "slot" {
                self.slot.replace(parse_slot(input)?).is_none()
            } else if name == "period" {
                self.period.replace(parse_period(input)?).is_none()
            } else if name == "today" {
                self.today.replace(input.parse()?).is_none()
            } else if name == "counted_by_database" {
                let is_new = self.counted_by_database.is_empty();
                self.counted_by_database = parse_paths(input)?;
                is_new
            } else if name == "stock" {
                let is_new = self.stock.is_empty();
                self.stock = parse_paths(input)?;
                is_new
            } else {
                return Err(Error::new(
                    name.span(),
                    format!(
                        "unknown setting, expected `parent`, `slots`, `slot`, `period`, `today`, \
                         `counted_by_database` or `stock`\n{FORMAT}"
                    ),
                ));
            };
            if !is_new {
                return Err(Error::new(name.span(), "this setting is repeated"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    /// Adds a parent table with these key columns. Returns whether it's new.
    fn add_parent(&mut self, columns: Vec<Path>) -> Result<bool> {
        let parent = ParentKey::from_columns(columns)?;
        let mut others = self.parents.iter();
        let is_new = others.all(|other| other.table_name != parent.table_name);
        self.parents.push(parent);
        Ok(is_new)
    }

    /// Refuses a stock on a table with days, and a stock that triggers count.
    fn check_stock(&self) -> Result<()> {
        let error = |counter, message| Err(Error::new_spanned(counter, message));
        let has_days = self.period.as_ref().is_none_or(|period| period != "Total");
        for counter in &self.stock {
            if has_days {
                return error(counter, "`stock` requires `period = Total`");
            }
            if self.counted_by_database.contains(counter) {
                return error(
                    counter,
                    "triggers can't count a stock: name this counter in only one of the two settings",
                );
            }
        }
        Ok(())
    }

    /// Writes what the `counter_table!` expands to.
    pub fn expand(&self) -> TokenStream {
        // If this isn't a counter table, the compiler's error is at its name.
        let name_span = name_span(&self.table_name);
        let table_name = &self.table_name;
        let table = quote_spanned!(name_span=> #table_name::table);
        let impl_header =
            quote_spanned!(name_span=> impl ::diesel_counters::CounterTable for #table);
        let key_type =
            quote_spanned!(name_span=> ::diesel_counters::__private::KeyTypeOf::<#table>);
        let shape = quote_spanned!(name_span=> ::diesel_counters::__private::shape::<#table>);
        let settings = self.expand_settings();
        let counted = self.counted_by_database.iter();
        let counted = counted.map(|counter| self.counter_name(counter));
        let stock = self.stock.iter().map(|counter| self.counter_name(counter));
        let has_parent = self.expand_has_parent(&table);
        let parents = self.parents.iter().map(|parent| parent.expand(&table));
        let check_counters = self.expand_check_of_counters(&table);

        quote! {
            #impl_header {
                type KeyType = #key_type;
                fn shape() -> &'static ::diesel_counters::__private::Shape<'static> {
                    static SHAPE: ::std::sync::OnceLock<::diesel_counters::__private::Shape<'static>> =
                        ::std::sync::OnceLock::new();
                    SHAPE.get_or_init(#shape)
                }
                const COUNTED_BY_DATABASE: &'static [::diesel_counters::__private::Name<'static>] =
                    &[#(#counted),*];
                const STOCK: &'static [::diesel_counters::__private::Name<'static>] = &[#(#stock),*];
                #settings
            }
            #has_parent
            #(#parents)*
            #check_counters
        }
    }

    /// Writes the items of `CounterTable` that are set, for example `const SLOTS: i16 = 64;`.
    fn expand_settings(&self) -> TokenStream {
        let slots = self.slots.map(|slots| quote!(const SLOTS: i16 = #slots;));
        let slot = self.slot.as_ref().map(
            |slot| quote!(const SLOT: ::diesel_counters::Slot = ::diesel_counters::Slot::#slot;),
        );
        let period = self.period.as_ref().map(|period| {
            quote! {
                const PERIOD: ::diesel_counters::Period = ::diesel_counters::Period::#period;
            }
        });
        let today = self.today.as_ref().map(|path| {
            let call = quote_spanned!(name_span(path)=> #path());
            quote! {
                fn today() -> ::diesel_counters::__private::NaiveDate {
                    #call
                }
            }
        });
        quote!(#slots #slot #period #today)
    }

    /// Writes an expression for the `Name` of a counter. The compiler refuses it if the column isn't
    /// a counter.
    fn counter_name(&self, counter: &Path) -> TokenStream {
        let table_name = &self.table_name;
        // The variable has the column's span, so that the compiler's error is there, and not at the
        // whole macro.
        let column = quote_spanned!(name_span(counter)=> __diesel_counters_column);
        quote! {
            match #table_name::#counter {
                #column => ::diesel_counters::__private::name_of(#column),
            }
        }
    }

    /// Writes `impl HasParent` for the first parent table, if there is one.
    fn expand_has_parent(&self, table: &TokenStream) -> Option<TokenStream> {
        let ParentKey { table_name, .. } = self.parents.first()?;
        Some(quote! {
            impl ::diesel_counters::bounds::HasParent for #table {
                type Parent = #table_name::table;
            }
        })
    }

    /// Writes an item that uses the counters that are named in settings. If one isn't a counter,
    /// that's an error here, and not only where the table is used.
    fn expand_check_of_counters(&self, table: &TokenStream) -> Option<TokenStream> {
        let has_counters = !self.counted_by_database.is_empty() || !self.stock.is_empty();
        has_counters.then(|| {
            quote! {
                const _: () = {
                    let _ = <#table as ::diesel_counters::CounterTable>::COUNTED_BY_DATABASE;
                    let _ = <#table as ::diesel_counters::CounterTable>::STOCK;
                };
            }
        })
    }
}

impl ParentKey {
    /// Returns the parent key with these columns. Fails if they aren't columns of one table.
    fn from_columns(columns: Vec<Path>) -> Result<Self> {
        let error = |column: &Path, message| Err(Error::new_spanned(column, message));
        let first_column = columns.first().expect("`parse_paths` returns a column");
        let Some(table_name) = table_of(first_column) else {
            return error(
                first_column,
                "`parent` requires the key of the parent table, as in `parent = articles::id`, or \
                 `parent = (versions::crate_id, versions::number)` for several columns",
            );
        };
        for column in &columns {
            if table_of(column).as_ref() != Some(&table_name) {
                return error(
                    column,
                    "this is a column of another table; write one `parent = …` for each parent table",
                );
            }
        }
        Ok(ParentKey {
            table_name,
            columns,
        })
    }

    /// Writes `impl ChildOf<Parent>` for the counter table.
    fn expand(&self, table: &TokenStream) -> TokenStream {
        let ParentKey {
            table_name,
            columns,
        } = self;
        let parent = quote_spanned!(name_span(table_name)=> #table_name::table);
        quote! {
            impl ::diesel_counters::bounds::ChildOf<#parent> for #table {
                type ParentKey = (#(#columns,)*);
                const PARENT_KEY: &'static Self::ParentKey = &(#(#columns,)*);
            }
        }
    }
}

/// Returns `articles` for `articles::id`.
fn table_of(column: &Path) -> Option<Path> {
    let mut table = column.clone();
    table.segments.pop()?;
    // The path still ends with a `::`, so this puts its last name back without it.
    let last = table.segments.pop()?.into_value();
    table.segments.push_value(last);
    Some(table)
}

/// Parses `likes` or `(likes, comments)`: one or more columns.
fn parse_paths(input: ParseStream) -> Result<Vec<Path>> {
    let span = input.span();
    let column = |input: ParseStream| {
        Path::parse_mod_style(input)
            .map_err(|error| Error::new(error.span(), "this requires a column, without quotes"))
    };
    if !input.peek(token::Paren) {
        return Ok(vec![column(input)?]);
    }
    let list;
    parenthesized!(list in input);
    let columns = Punctuated::<Path, Token![,]>::parse_terminated_with(&list, column)?;
    if columns.is_empty() {
        return Err(Error::new(span, "this requires a column"));
    }
    Ok(columns.into_iter().collect())
}

/// Parses the number of slots: `32`.
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

/// Parses how a slot is chosen: `Random`.
fn parse_slot(value: ParseStream) -> Result<Ident> {
    let span = value.span();
    match value.parse::<Ident>() {
        Ok(slot) if slot == "Connection" || slot == "Random" => Ok(slot),
        _ => Err(Error::new(
            span,
            "`slot` requires `Connection` or `Random`, as in `slot = Random`",
        )),
    }
}

/// Parses a period: `Week`.
fn parse_period(value: ParseStream) -> Result<Ident> {
    const PERIODS: [&str; 5] = ["Day", "Week", "Month", "Year", "Total"];
    let span = value.span();
    match value.parse::<Ident>() {
        Ok(period) if PERIODS.iter().any(|name| period == name) => Ok(period),
        _ => Err(Error::new(
            span,
            "`period` requires Day, Week, Month, Year or Total, as in `period = Week`",
        )),
    }
}
