//! SQL expressions of the columns of a row.

use std::ops::ControlFlow;

use anyhow::{Context, Result, bail};
use sqlparser::ast::{Expr, Function, Ident, ObjectName, TypedString, Value, Visit, Visitor};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::catalogue::Table;
use crate::database::{Database, POSTGRES};
use crate::triggers::sql;

/// An expression that depends on the columns of one row only, so that it has the same value when
/// the row is inserted, deleted and counted again.
#[derive(Debug, Clone, Default)]
pub struct Expression {
    /// As the user wrote it.
    pub text: String,
    /// The columns in it, from left to right.
    columns: Vec<ColumnInText>,
    /// The first characters of columns that are only compared with NULL. Their values are not read
    /// in a time zone.
    tested: Vec<usize>,
    /// The functions that are named with their schema.
    pub functions: Vec<FunctionName>,
}

/// A place where the text of an expression names a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ColumnInText {
    /// Its first character, from 0.
    first: usize,
    /// The character after its last one.
    after: usize,
    /// The column's own name, which the text can have in another case.
    name: String,
}

#[derive(Debug, Clone)]
pub struct FunctionName {
    pub schema: String,
    pub name: String,
}

impl Expression {
    /// Reads an expression. It is an error if it depends on anything but the columns of a row: on
    /// other rows, on other tables, or on the moment.
    pub fn parse(text: &str, table: &Table, database: Database) -> Result<Self> {
        let grammar = database.grammar();
        let cannot = || format!("cannot read the SQL expression {text:?}");
        let tokens = Tokenizer::new(grammar, text)
            .tokenize_with_location()
            .with_context(cannot)?;
        // A comment could go on after the expression, or MySQL could run it.
        use Whitespace::{Newline, Space, Tab};
        let is_space = |space: &Whitespace| matches!(space, Newline | Space | Tab);
        let is_comment =
            |token: &Token| matches!(token, Token::Whitespace(space) if !is_space(space));
        if tokens.iter().any(|token| is_comment(&token.token)) {
            bail!("the SQL expression {text:?} has a comment: write it without");
        }
        let mut parser = Parser::new(grammar).with_tokens_with_locations(tokens);
        let expression = parser.parse_expr().with_context(cannot)?;
        // Nothing may follow it, such as another statement.
        parser.expect_token(&Token::EOF).with_context(cannot)?;
        let mut columns = Columns {
            table,
            database,
            found: Expression {
                text: text.to_owned(),
                ..Expression::default()
            },
        };
        if let ControlFlow::Break(why) = expression.visit(&mut columns) {
            bail!("the SQL expression {text:?} {why}");
        }
        // They are found in the order of the tree, such as the first operand of BETWEEN last.
        columns.found.columns.sort();
        Ok(columns.found)
    }

    /// The same, whose value does not depend on the session.
    pub fn of_rows(text: &str, rows: &Table, database: Database) -> Result<Self> {
        let expression = Expression::parse(text, rows, database)?;
        let sql = sql::of(database);
        for ColumnInText { first, name, .. } in &expression.columns {
            let Some(column) = rows.column(name) else {
                continue;
            };
            let is_zoned = sql.zoned == Some(&*column.plain_type());
            if is_zoned && !expression.tested.contains(first) {
                let depends = "whose value depends on the time zone of the session";
                bail!("the SQL expression {text:?} has {name}, {depends}");
            }
            let sql_type = &column.sql_type;
            if column.equals_in.is_some() {
                bail!(
                    "the SQL expression {text:?} has {name}, whose type {sql_type} is of an \
                     extension. Triggers search only the server's own operators, so that nobody \
                     can put others in their place. Add a generated column of the expression, \
                     GENERATED ALWAYS AS (…) STORED, and name that"
                );
            }
        }
        Ok(expression)
    }

    /// The expression of the row `row`, as SQL. It is the text itself, but for the columns.
    pub fn of(&self, row: &str, database: Database) -> String {
        self.with(|name| database.column(row, name))
    }

    /// The expression with these values of its columns, as SQL.
    pub fn with(&self, value: impl Fn(&str) -> String) -> String {
        let text: Vec<char> = self.text.chars().collect();
        let mut sql = String::new();
        let mut end = 0;
        for column in &self.columns {
            sql.extend(&text[end..column.first]);
            sql += &value(&column.name);
            end = column.after;
        }
        sql.extend(&text[end..]);
        // What stands around it must not bind closer than what is in it.
        let is_one_word = self.text.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_one_word { sql } else { format!("({sql})") }
    }

    /// Whether it is the weight of a row that simply counts.
    pub fn is_one(&self) -> bool {
        self.text == "1"
    }

    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }
}

/// A name as PostgreSQL takes it.
fn written(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

/// Finds the columns, and refuses what is not of the row.
struct Columns<'t> {
    table: &'t Table,
    database: Database,
    found: Expression,
}

impl Columns<'_> {
    /// A name without quotes can be written in any case; PostgreSQL takes it in lower case.
    fn find(&self, name: &Ident) -> Option<String> {
        let mut columns = self.table.columns.iter();
        let column = columns.find(|column| match self.database {
            POSTGRES => column.name == written(name),
            _ => column.name.eq_ignore_ascii_case(&name.value),
        });
        column.map(|column| column.name.clone())
    }
}

impl Visitor for Columns<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<String> {
        const MOMENTS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];
        const AGGREGATES: [&str; 5] = ["avg", "count", "max", "min", "sum"];
        let is_aggregate =
            |name: &ObjectName| AGGREGATES.contains(&&*name.to_string().to_lowercase());
        match expression {
            Expr::Function(function) => {
                let parts = function.name.0.iter().filter_map(|part| part.as_ident());
                let names: Vec<_> = parts.map(written).collect();
                if let [.., schema, name] = &*names {
                    self.found.functions.push(FunctionName {
                        schema: schema.clone(),
                        name: name.clone(),
                    });
                }
            }
            Expr::IsNull(tested) | Expr::IsNotNull(tested) => {
                if let Expr::Identifier(name) = &**tested {
                    // Columns of a text count from 1.
                    let first = name.span.start.column as usize;
                    self.found.tested.push(first.saturating_sub(1));
                }
            }
            _ => {}
        }
        let refused = match expression {
            Expr::Identifier(name) => match self.find(name) {
                // A name that the parser has not read from the text has the place 0. The text is
                // one line.
                Some(column) if name.span.start.column > 0 => {
                    self.found.columns.push(ColumnInText {
                        first: name.span.start.column as usize - 1,
                        after: name.span.end.column as usize - 1,
                        name: column,
                    });
                    return ControlFlow::Continue(());
                }
                Some(_) => format!("has {name} in a place that cannot be read"),
                None => format!("names {name}, and {} has no such column", self.table),
            },
            Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => {
                format!("names {expression}: write columns only, and without their table")
            }
            Expr::Function(Function { name, .. }) if is_aggregate(name) => format!(
                "has {name}, which is of many rows: a counter adds up what each row adds. Read it \
                 by a subquery"
            ),
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                "has a subquery: a row can only be counted by its own columns".to_owned()
            }
            Expr::Value(value) | Expr::TypedString(TypedString { value, .. }) => {
                let is_moment = |text: &str| MOMENTS.contains(&&*text.trim().to_lowercase());
                match &value.value {
                    Value::Placeholder(_) => "has a placeholder".to_owned(),
                    Value::SingleQuotedString(text) if is_moment(text) => {
                        format!("has '{text}', whose value changes")
                    }
                    _ => return ControlFlow::Continue(()),
                }
            }
            _ => return ControlFlow::Continue(()),
        };
        ControlFlow::Break(refused)
    }
}
