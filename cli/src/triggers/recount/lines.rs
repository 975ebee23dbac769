//! The connection of a recount, and the rows that it reads: texts, whose number is only known at
//! run time.

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::prelude::*;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_query;
use diesel::sql_types::{Nullable, Text};

/// A connection that runs statements and reads lines of text. Every Diesel connection is one, not
/// only the command's: the enumerator of interleavings runs a recount on one that stops before
/// every statement.
pub trait Lines: Connection {
    /// Runs a statement, and ignores its result.
    fn run(&mut self, statement: &str) -> QueryResult<()>;
    /// Returns the rows of a query whose columns are texts.
    fn lines(&mut self, query: &str) -> QueryResult<Vec<Line>>;
}

impl<C: Connection> Lines for C
where
    SqlQuery: ExecuteDsl<C>,
    for<'c> SqlQuery: LoadQuery<'c, C, Line>,
{
    fn run(&mut self, statement: &str) -> QueryResult<()> {
        ExecuteDsl::execute(sql_query(statement), self).map(drop)
    }

    fn lines(&mut self, query: &str) -> QueryResult<Vec<Line>> {
        LoadQuery::internal_load(sql_query(query), self)?.collect()
    }
}

/// The texts of a row. They are a list because a key can be any text, so there is no separator to
/// join them with.
#[derive(Debug)]
pub struct Line(pub Vec<Option<String>>);

impl<DB: Backend> QueryableByName<DB> for Line
where
    String: FromSql<Text, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let texts = (0..row.field_count()).map(|index| {
            let field = Row::get(row, index).ok_or("a row has too few columns")?;
            FromSql::<Nullable<Text>, DB>::from_nullable_sql(field.value())
        });
        texts.collect::<deserialize::Result<_>>().map(Line)
    }
}
