//! The parts of a statement, and where they are written.

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};

use super::{Bind, CounterBackend, Sql, Values};
use crate::day::Day;
use crate::shape::{Name, TableName};

/// A part of a statement. A text is SQL, and a reference to a number or a day is a bind value.
pub trait Part<'a, DB: CounterBackend> {
    fn write(&self, out: &mut Out<'_, 'a, DB>);

    /// Writes this part, a whole statement, into Diesel's pass. Returns the first error.
    fn walk(&self, pass: AstPass<'_, 'a, DB>) -> QueryResult<()> {
        let mut result = Ok(());
        self.write(&mut Out::Pass(pass, &mut result));
        result
    }
}

/// Where parts are written: into Diesel's pass over a statement, or into a list.
#[allow(missing_debug_implementations)]
pub enum Out<'x, 'a, DB: Backend> {
    /// With the first error of the pass.
    Pass(AstPass<'x, 'a, DB>, &'x mut QueryResult<()>),
    List(&'x mut Vec<Piece<'a, DB>>),
}

impl<'a, DB: CounterBackend> Out<'_, 'a, DB> {
    // Inlined, because the caller knows which kind of piece it is, and most passes skip most kinds.
    #[inline(always)]
    pub(super) fn write(&mut self, piece: Piece<'a, DB>) {
        match self {
            Out::Pass(pass, result) => keep_first_error(result, piece.walk(pass)),
            Out::List(pieces) => pieces.push(piece),
        }
    }
}

/// Keeps the first error. Later pieces are written anyway: to look for an error before every piece
/// would cost every statement more than this costs the ones that fail.
#[inline(always)]
fn keep_first_error(result: &mut QueryResult<()>, next: QueryResult<()>) {
    if result.is_ok() && next.is_err() {
        *result = next;
    }
}

/// The smallest part.
#[allow(missing_debug_implementations)]
pub enum Piece<'a, DB: Backend> {
    Text(&'static str),
    Name(&'a str),
    Number(usize),
    Bind(Bind<'a>),
    /// A column of a row.
    Value(&'a dyn Values<DB>, usize, usize),
    /// A column of these rows.
    Array(&'a dyn Values<DB>, usize, usize, usize),
    Fragment(&'a dyn QueryFragment<DB>),
    Uncached,
}

impl<DB: Backend> Clone for Piece<'_, DB> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<DB: Backend> Copy for Piece<'_, DB> {}

impl<'a, DB: CounterBackend> Piece<'a, DB> {
    #[inline(always)]
    fn walk(self, pass: &mut AstPass<'_, 'a, DB>) -> QueryResult<()> {
        match self {
            Piece::Text(text) => pass.push_sql(text),
            Piece::Name(name) => return pass.push_identifier(name),
            Piece::Number(number) => pass.push_sql(&number.to_string()),
            Piece::Bind(value) => return DB::push_bind(value, pass),
            Piece::Value(values, column, row) => return values.push(column, row, pass),
            Piece::Array(values, column, first, end) => {
                return values.push_array(column, first..end, pass);
            }
            Piece::Fragment(fragment) => return fragment.walk_ast(pass.reborrow()),
            Piece::Uncached => pass.unsafe_to_cache_prepared(),
        }
        Ok(())
    }
}

/// Returns `write` as it is. `part!` calls this, so that the compiler knows the types of the
/// closure's arguments.
pub(crate) fn part_of<'a, DB: CounterBackend, F: Fn(&mut Out<'_, 'a, DB>)>(write: F) -> F {
    write
}

impl<'a, DB: CounterBackend, F: Fn(&mut Out<'_, 'a, DB>)> Part<'a, DB> for F {
    #[inline]
    fn write(&self, out: &mut Out<'_, 'a, DB>) {
        self(out)
    }
}

/// The statement isn't cached, because there are many texts like it, or because a cached one could
/// fail when it runs again.
#[derive(Clone, Copy)]
pub(crate) struct Uncached;

/// A number that is written as SQL.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) usize);

macro_rules! parts {
    ($($Part:ty: $part:pat => $piece:expr;)*) => {$(
        impl<'a, DB: CounterBackend> Part<'a, DB> for $Part {
            #[inline]
            fn write(&self, out: &mut Out<'_, 'a, DB>) {
                let $part = self;
                out.write($piece);
            }
        }
    )*};
}

parts! {
    &'static str: text => Piece::Text(text);
    Name<'a>: name => Piece::Name(name.0);
    Number: number => Piece::Number(number.0);
    Bind<'a>: value => Piece::Bind(*value);
    &'a Day: day => Piece::Bind(Bind::Day(day));
    &'a NaiveDate: day => Piece::Bind(Bind::StoredDay(day));
    &'a i16: slot => Piece::Bind(Bind::Slot(slot));
    &'a i64: amount => Piece::Bind(Bind::Amount(amount));
    Uncached: _ => Piece::Uncached;
}

impl<'a, DB: CounterBackend> Part<'a, DB> for TableName<'a> {
    #[inline]
    fn write(&self, out: &mut Out<'_, 'a, DB>) {
        if let Some(schema) = self.schema {
            schema.write(out);
            ".".write(out);
        }
        self.name.write(out);
    }
}

impl<'a, DB: CounterBackend> Part<'a, DB> for Sql<'a, DB> {
    fn write(&self, out: &mut Out<'_, 'a, DB>) {
        match out {
            // With a loop of its own, a page query costs 4% less than if every piece were written
            // by itself.
            Out::Pass(pass, result) => {
                let walked = self.0.iter().try_for_each(|piece| piece.walk(pass));
                keep_first_error(result, walked);
            }
            Out::List(pieces) => pieces.extend_from_slice(&self.0),
        }
    }
}

/// Nothing for `None`.
impl<'a, DB: CounterBackend, P: Part<'a, DB>> Part<'a, DB> for Option<P> {
    #[inline]
    fn write(&self, out: &mut Out<'_, 'a, DB>) {
        if let Some(part) = self {
            part.write(out);
        }
    }
}

/// `a, b, c`
impl<'a, DB: CounterBackend, P: Part<'a, DB>> Part<'a, DB> for [P] {
    #[inline]
    fn write(&self, out: &mut Out<'_, 'a, DB>) {
        for (i, part) in self.iter().enumerate() {
            if i > 0 {
                ", ".write(out);
            }
            part.write(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::query_builder::QueryBuilder as _;
    use diesel::result::Error;
    use diesel::sqlite::{Sqlite, SqliteQueryBuilder};

    use super::*;
    use crate::sql::{fragment, part, sql};

    /// A statement that a function writes.
    struct Statement<F>(F);

    impl<F> QueryFragment<Sqlite> for Statement<F>
    where
        F: Fn(AstPass<'_, '_, Sqlite>) -> QueryResult<()>,
    {
        fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
            self.0(pass)
        }
    }

    fn sql_of(walk: impl Fn(AstPass<'_, '_, Sqlite>) -> QueryResult<()>) -> QueryResult<String> {
        let mut builder = SqliteQueryBuilder::new();
        Statement(walk).to_sql(&mut builder, &Sqlite)?;
        Ok(builder.finish())
    }

    struct Fails(&'static str);

    impl QueryFragment<Sqlite> for Fails {
        fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
            Err(Error::QueryBuilderError(self.0.into()))
        }
    }

    #[test]
    fn the_first_error_of_a_statement_is_returned() {
        let first = || fragment(&Fails("the first"));
        let second = || fragment(&Fails("the second"));
        let of_parts = sql_of(|pass| part!("SELECT {first()}, {second()}").walk(pass));
        let of_a_list = sql_of(|pass| sql!("SELECT {first()}, {second()}").walk(pass));
        let of_a_list_in_a_part = sql_of(|pass| {
            let list = sql!("{first()}, 1");
            part!("SELECT {list}, {second()}").walk(pass)
        });
        for result in [of_parts, of_a_list, of_a_list_in_a_part] {
            assert_eq!(result.unwrap_err().to_string(), "the first");
        }
    }

    #[test]
    fn each_arm_of_a_match_has_a_template() {
        let sql_of = |number: usize, text: &str| {
            let sql = sql_of(|pass| {
                part!(match (number, text) {
                    (number, _) if number > 1 => "SELECT {Number(number)}",
                    (_, "one") => "SELECT 'one'",
                    _ => "SELECT 'none'",
                })
                .walk(pass)
            });
            sql.unwrap()
        };
        assert_eq!(sql_of(2, "one"), "SELECT 2");
        assert_eq!(sql_of(1, "one"), "SELECT 'one'");
        assert_eq!(sql_of(1, "none"), "SELECT 'none'");
    }
}
