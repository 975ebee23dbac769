//! Statements for tables whose names are only known at run time.

use std::marker::PhantomData;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Text, Untyped};

use crate::connection::{AnyConnection, MultiBackend};

/// A statement with bound texts. The columns of its rows have the types `ST`.
pub struct Sql<ST = Untyped> {
    pieces: Vec<Piece>,
    row: PhantomData<ST>,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Sql(String),
    /// A text that is bound. It never becomes part of the SQL, so it can come from anyone.
    Bound(String),
}

/// Makes a statement without bound texts.
pub fn sql(text: impl Into<String>) -> Sql {
    Sql {
        pieces: vec![Piece::Sql(text.into())],
        row: PhantomData,
    }
}

/// Makes a statement in which every `{name}` becomes a bound text.
///
/// `values` has the names and their texts. If a name appears several times, its text is bound every
/// time. Braces around anything else stay as they are.
pub fn sql_with(template: &str, values: &[(&str, &str)]) -> Sql {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some((before_brace, after_brace)) = rest.split_once('{') {
        text += before_brace;
        let bound = values.iter().find_map(|(name, value)| {
            let after_name = after_brace.strip_prefix(name)?.strip_prefix('}')?;
            Some((value, after_name))
        });
        match bound {
            Some((value, after_name)) => {
                pieces.push(Piece::Sql(std::mem::take(&mut text)));
                pieces.push(Piece::Bound((*value).to_owned()));
                rest = after_name;
            }
            None => {
                text.push('{');
                rest = after_brace;
            }
        }
    }
    pieces.push(Piece::Sql(text + rest));
    Sql {
        pieces,
        row: PhantomData,
    }
}

impl Sql {
    /// Sets the types of the columns that the statement returns.
    pub fn typed<ST>(self) -> Sql<ST> {
        Sql {
            pieces: self.pieces,
            row: PhantomData,
        }
    }
}

impl<ST> QueryFragment<MultiBackend> for Sql<ST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        // The text of the SQL varies, and the query's type doesn't show that.
        out.unsafe_to_cache_prepared();
        for piece in &self.pieces {
            match piece {
                Piece::Sql(text) => out.push_sql(text),
                Piece::Bound(text) => out.push_bind_param::<Text, _>(text)?,
            }
        }
        Ok(())
    }
}

impl<ST> QueryId for Sql<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for Sql<ST> {
    type SqlType = ST;
}

impl<ST> RunQueryDsl<AnyConnection> for Sql<ST> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_braces_is_bound_wherever_it_stands() {
        let query = sql_with(
            "a {one}{two} '{%' {other} {one}",
            &[("one", "{two}"), ("two", "2")],
        );
        let text = |text: &str| Piece::Sql(text.to_owned());
        let bound = |text: &str| Piece::Bound(text.to_owned());
        let expected = [
            text("a "),
            bound("{two}"),
            text(""),
            bound("2"),
            text(" '{%' {other} "),
            bound("{two}"),
            text(""),
        ];
        assert_eq!(query.pieces, expected);
    }
}
