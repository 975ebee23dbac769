//! SQL expressions of the columns of a row.

use std::ops::ControlFlow;

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;
use sqlparser::ast::{Expr, Ident, VisitMut, VisitorMut};
use sqlparser::dialect::{self, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use crate::catalogue::Table;
use crate::database::Database;

/// An expression that depends on the columns of one row only, so that it has the same value when
/// the row is inserted, deleted and counted again.
#[derive(Debug, Clone)]
pub struct Expression(Expr);

/// Functions whose value depends on more than their arguments.
const CHANGING: [&str; 30] = [
    "now",
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "sysdate",
    "curdate",
    "curtime",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "unix_timestamp",
    "random",
    "rand",
    "uuid",
    "gen_random_uuid",
    "uuid_generate_v4",
    "current_user",
    "session_user",
    "user",
    "connection_id",
    "pg_backend_pid",
    "nextval",
    "currval",
    "last_insert_id",
];

impl Expression {
    /// Parses an expression of a table's columns.
    pub fn parse(text: &str, table: &Table, dialect: Dialect) -> Result<Self> {
        let parser: &dyn dialect::Dialect = match dialect {
            Dialect::PostgreSql => &PostgreSqlDialect {},
            Dialect::MySql => &MySqlDialect {},
            Dialect::Sqlite => &SQLiteDialect {},
        };
        let parsed = Parser::new(parser)
            .try_with_sql(text)
            .and_then(|mut parser| {
                let expression = parser.parse_expr()?;
                parser.expect_token(&sqlparser::tokenizer::Token::EOF)?;
                Ok(expression)
            });
        let mut parsed =
            parsed.with_context(|| format!("cannot read the SQL expression {text:?}"))?;
        match parsed.visit(&mut Columns { table, dialect }) {
            ControlFlow::Continue(()) => Ok(Expression(parsed)),
            ControlFlow::Break(why) => bail!("the SQL expression {text:?} {why}"),
        }
    }

    /// The expression of the row `row`, as SQL.
    pub fn of(&self, row: &str, database: &(impl Database + ?Sized)) -> String {
        let mut expression = self.0.clone();
        let _ = expression.visit(&mut OfRow { row, database });
        match expression {
            Expr::CompoundIdentifier(_) | Expr::Value(_) => expression.to_string(),
            expression => format!("({expression})"),
        }
    }

    pub fn is_one(&self) -> bool {
        self.0.to_string() == "1"
    }
}

/// Spells each column as the catalogue does, and refuses what is not a column.
struct Columns<'t> {
    table: &'t Table,
    dialect: Dialect,
}

impl Columns<'_> {
    /// A name without quotes can be written in any case; PostgreSQL takes it in lower case.
    fn find(&self, name: &Ident) -> Option<String> {
        let is_named = |column: &str| match (self.dialect, name.quote_style) {
            (Dialect::PostgreSql, Some(_)) => column == name.value,
            (Dialect::PostgreSql, None) => column == name.value.to_lowercase(),
            _ => column.eq_ignore_ascii_case(&name.value),
        };
        let mut columns = self.table.columns.iter();
        columns
            .find(|column| is_named(&column.name))
            .map(|column| column.name.clone())
    }
}

impl VisitorMut for Columns<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        let refused = match expression {
            Expr::Identifier(name) => match self.find(name) {
                Some(column) => {
                    name.value = column;
                    return ControlFlow::Continue(());
                }
                None => format!("names {name}, and {} has no such column", self.table),
            },
            Expr::CompoundIdentifier(_) => {
                format!("names {expression}: write the column without its table")
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                "has a subquery: a row can only be counted by its own columns".to_owned()
            }
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                let has_now = function.args.to_string().to_lowercase().contains("'now'");
                match CHANGING.contains(&&*name) || has_now {
                    true => format!(
                        "calls {name}, whose value changes: a row has to count the same when it is \
                         deleted as when it was inserted"
                    ),
                    false => return ControlFlow::Continue(()),
                }
            }
            _ => return ControlFlow::Continue(()),
        };
        ControlFlow::Break(refused)
    }
}

/// Writes each column as one of a row.
struct OfRow<'r, D: ?Sized> {
    row: &'r str,
    database: &'r D,
}

impl<D: Database + ?Sized> VisitorMut for OfRow<'_, D> {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expression {
            let column = Ident::new(self.database.quoted(&name.value));
            *expression = Expr::CompoundIdentifier(vec![Ident::new(self.row), column]);
        }
        ControlFlow::Continue(())
    }
}
