//! SQL expressions over the columns of a row.

use std::ops::ControlFlow;

use anyhow::{Context, Result, bail};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value, Visit, Visitor,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::catalogue::Table;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::triggers::sql::trigger_sql;

/// An expression that depends only on the columns of one row. So its value is the same when the row
/// is inserted, deleted or counted again.
#[derive(Debug, Clone, Default)]
pub struct Expression {
    /// As the user wrote it.
    pub text: String,
    /// The columns in it, from left to right.
    columns: Vec<ColumnInText>,
    /// Where the columns start that are only compared with NULL. Their values aren't read in a time
    /// zone.
    tested: Vec<usize>,
}

/// A place where an expression's text names a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ColumnInText {
    /// The index of its first character.
    first: usize,
    /// The index of the character after its last one.
    after: usize,
    /// The column's own name. The text may have another case.
    name: String,
}

impl Expression {
    /// Reads an expression. Fails if it depends on anything but the columns of a row: on other
    /// rows, other tables, or the time.
    pub fn parse(text: &str, table: &Table, database: Database) -> Result<Self> {
        let grammar = database.grammar();
        let cannot = || format!("cannot read the SQL expression {text:?}");
        let tokens = Tokenizer::new(grammar, text)
            .tokenize_with_location()
            .with_context(cannot)?;
        // A comment could go on after the expression, and MySQL runs some comments.
        use Whitespace::{Newline, Space, Tab};
        let is_space = |space: &Whitespace| matches!(space, Newline | Space | Tab);
        let is_comment =
            |token: &Token| matches!(token, Token::Whitespace(space) if !is_space(space));
        if tokens.iter().any(|token| is_comment(&token.token)) {
            bail!("the SQL expression {text:?} has a comment: remove it");
        }
        let mut parser = Parser::new(grammar).with_tokens_with_locations(tokens);
        let expression = parser.parse_expr().with_context(cannot)?;
        // Nothing may follow, for example another statement.
        parser.expect_token(&Token::EOF).with_context(cannot)?;
        let mut columns = ColumnFinder {
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
        // They are found in the order of the tree, where BETWEEN's first operand comes last, for
        // example.
        columns.found.columns.sort();
        Ok(columns.found)
    }

    /// Does the same, and also fails if the value depends on the session.
    pub fn of_rows(text: &str, rows: &Table, database: Database) -> Result<Self> {
        let expression = Expression::parse(text, rows, database)?;
        let sql = trigger_sql(database);
        for ColumnInText { first, name, .. } in &expression.columns {
            let Some(column) = rows.column(name) else {
                continue;
            };
            let plain_type = column.plain_type();
            if sql.changing.contains(&&*plain_type) && !expression.tested.contains(first) {
                bail!(
                    "the SQL expression {text:?} has {name}, which is a {plain_type}: its value \
                     depends on the session. Only test it with IS NULL, or count by a DATETIME"
                );
            }
        }
        Ok(expression)
    }

    /// Writes the expression for the row `row` as SQL. Only the columns differ from the text.
    pub fn of(&self, row: &str, database: Database) -> String {
        self.with(|name| database.column(row, name))
    }

    /// Writes the expression as SQL, with these values in place of its columns.
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
        // Parentheses keep operators around the expression from binding to a part of it.
        let is_one_word = self.text.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_one_word { sql } else { format!("({sql})") }
    }

    /// Whether it's the weight of a row that simply counts.
    pub fn is_one(&self) -> bool {
        self.text == "1"
    }

    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }
}

/// Returns a name as PostgreSQL reads it. In UTF-8, it changes only the case of ASCII.
fn written(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

/// Returns the index of a name's first character. The parser's columns start at 1.
fn start_index(name: &Ident) -> usize {
    (name.span.start.column as usize).saturating_sub(1)
}

fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    });
    arguments.collect()
}

/// Returns the text of a literal.
fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Returns why a function's value can change, if the database would only find out when it calls the
/// function.
fn changes(function: &Function, database: Database) -> Option<&'static str> {
    let name = function.name.to_string().to_lowercase();
    let arguments = arguments(function);
    if database == MYSQL {
        let why = "which reads a time in the session's time zone";
        let reads_time = name == "unix_timestamp" && !arguments.is_empty();
        return reads_time.then_some(why);
    }
    if database != SQLITE {
        return None;
    }
    // With fewer arguments than this, the function reads the current time.
    let min_arguments = match &*name {
        "date" | "time" | "datetime" | "julianday" | "unixepoch" => 1,
        "strftime" => 2,
        _ => return None,
    };
    const SESSION_ARGUMENTS: [&str; 5] = ["now", "localtime", "utc", "subsec", "subsecond"];
    let mut texts = arguments.iter().copied().filter_map(text_of);
    let changes = arguments.len() < min_arguments
        || texts.any(|text| SESSION_ARGUMENTS.contains(&&*text.trim().to_ascii_lowercase()));
    changes.then_some("whose value depends on the current time, or on the program's time zone")
}

/// Finds the columns, and refuses anything that isn't part of the row.
struct ColumnFinder<'t> {
    table: &'t Table,
    database: Database,
    found: Expression,
}

impl ColumnFinder<'_> {
    /// Without quotes, a name can be in any case. PostgreSQL reads it in lower case.
    fn find(&self, name: &Ident) -> Option<String> {
        let mut columns = self.table.columns.iter();
        let column = columns.find(|column| match self.database {
            POSTGRES => column.name == written(name),
            _ => column.name.eq_ignore_ascii_case(&name.value),
        });
        column.map(|column| column.name.clone())
    }
}

impl Visitor for ColumnFinder<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<String> {
        if let Expr::IsNull(tested) | Expr::IsNotNull(tested) = expression {
            if let Expr::Identifier(name) = &**tested {
                self.found.tested.push(start_index(name));
            }
        }
        let refused = match expression {
            Expr::Identifier(name) => match self.find(name) {
                // The text is one line. A name that the parser hasn't read from it has the position
                // 0.
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
                format!("names {expression}: write only columns, without their table")
            }
            Expr::Function(function) => match changes(function, self.database) {
                Some(why) => format!("has {}, {why}", function.name),
                None => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        ControlFlow::Break(refused)
    }
}
