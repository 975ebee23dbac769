//! SQL expressions over the columns of a row.

use std::ops::ControlFlow;

use anyhow::{Context, Result, bail};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value, Visit, Visitor,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, Tokenizer, Whitespace};

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
        let parsed = parse_sql(text, database)?;
        let mut finder = ColumnFinder {
            table,
            database,
            found: Expression {
                text: text.to_owned(),
                ..Expression::default()
            },
        };
        if let ControlFlow::Break(why) = parsed.visit(&mut finder) {
            bail!("the SQL expression {text:?} {why}");
        }
        let mut found = finder.found;
        // Sort by position. They were found in the order of the syntax tree, where BETWEEN's first
        // operand comes last, for example.
        found.columns.sort();
        Ok(found)
    }

    /// Reads an expression over the counted rows. Like `parse`, it fails if the value depends on
    /// more than the row. It also fails if the value depends on the session's time zone.
    pub fn of_rows(text: &str, rows: &Table, database: Database) -> Result<Self> {
        let expression = Expression::parse(text, rows, database)?;
        let sql = trigger_sql(database);
        for ColumnInText { first, name, .. } in &expression.columns {
            let Some(column) = rows.column(name) else {
                continue;
            };
            let plain_type = column.plain_type();
            let depends_on_session = sql.changing.contains(&&*plain_type);
            let is_null_test = expression.tested.contains(first);
            if depends_on_session && !is_null_test {
                bail!(
                    "the SQL expression {text:?} has {name}, which is a {plain_type}: its value \
                     depends on the session. Only test it with IS NULL, or count by a DATETIME"
                );
            }
        }
        Ok(expression)
    }

    /// Writes the expression as SQL for this row. For the row `NEW`, `points * 2` becomes
    /// `(NEW.points * 2)`.
    pub fn for_row(&self, row: &str, database: Database) -> String {
        self.with(|name| database.column(row, name))
    }

    /// Writes the expression as SQL, with these values in place of its columns.
    pub fn with(&self, value: impl Fn(&str) -> String) -> String {
        let text: Vec<char> = self.text.chars().collect();
        let mut sql = String::new();
        let mut copied = 0;
        for column in &self.columns {
            sql.extend(&text[copied..column.first]);
            sql += &value(&column.name);
            copied = column.after;
        }
        sql.extend(&text[copied..]);
        // Parentheses keep operators around the expression from binding to a part of it.
        let is_one_word = self.text.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_one_word { sql } else { format!("({sql})") }
    }

    /// Whether it's the weight 1, so that a count is the number of its rows.
    pub fn is_one(&self) -> bool {
        self.text == "1"
    }

    /// Returns the names of the columns in the text, from left to right.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }
}

/// Parses a text that is a single expression and nothing else.
fn parse_sql(text: &str, database: Database) -> Result<Expr> {
    let grammar = database.grammar();
    let cannot_read = || format!("cannot read the SQL expression {text:?}");
    let tokens = Tokenizer::new(grammar, text)
        .tokenize_with_location()
        .with_context(cannot_read)?;
    // A comment could go on after the expression, and MySQL runs some comments.
    if tokens.iter().any(|token| is_comment(&token.token)) {
        bail!("the SQL expression {text:?} has a comment: remove it");
    }
    let mut parser = Parser::new(grammar).with_tokens_with_locations(tokens);
    let expression = parser.parse_expr().with_context(cannot_read)?;
    // Nothing may follow, for example another statement.
    parser.expect_token(&Token::EOF).with_context(cannot_read)?;
    Ok(expression)
}

/// Whether a token is a comment. The tokenizer counts comments as whitespace.
fn is_comment(token: &Token) -> bool {
    use Whitespace::{Newline, Space, Tab};
    match token {
        Token::Whitespace(whitespace) => !matches!(whitespace, Newline | Space | Tab),
        _ => false,
    }
}

/// Returns a name as PostgreSQL reads it: in lower case, unless it's in quotes. In UTF-8,
/// PostgreSQL changes only the case of ASCII.
fn postgres_name(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

/// Returns the index of a character in an expression's text, which is a single line. The parser's
/// columns start at 1.
fn index(location: Location) -> usize {
    (location.column as usize).saturating_sub(1)
}

/// Returns the arguments that are expressions. `*` and named arguments aren't.
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

/// Returns the text of a literal: `now` for the expression `'now'`.
fn text_of(expression: &Expr) -> Option<&str> {
    let Expr::Value(value) = expression else {
        return None;
    };
    match &value.value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

/// Returns why a function's value can change although its arguments don't, if it can. Looks only
/// for functions that the database doesn't refuse until it calls them.
fn why_changing(function: &Function, database: Database) -> Option<&'static str> {
    let name = function.name.to_string().to_lowercase();
    let arguments = arguments(function);
    match database {
        POSTGRES => None,
        MYSQL => {
            let reads_time = name == "unix_timestamp" && !arguments.is_empty();
            reads_time.then_some("which reads a time in the session's time zone")
        }
        SQLITE => reads_clock_or_zone(&name, &arguments)
            .then_some("whose value depends on the current time, or on the program's time zone"),
    }
}

/// Whether a call of this function on SQLite reads the current time or the time zone, as
/// `date('now')` does.
fn reads_clock_or_zone(function: &str, arguments: &[&Expr]) -> bool {
    const SESSION_ARGUMENTS: [&str; 5] = ["now", "localtime", "utc", "subsec", "subsecond"];
    // With fewer arguments than this, the function reads the current time.
    let min_arguments = match function {
        "date" | "time" | "datetime" | "julianday" | "unixepoch" => 1,
        "strftime" => 2,
        _ => return false,
    };
    let mut texts = arguments.iter().copied().filter_map(text_of);
    arguments.len() < min_arguments
        || texts.any(|text| SESSION_ARGUMENTS.contains(&&*text.trim().to_ascii_lowercase()))
}

/// Finds the columns, and refuses anything that isn't part of the row.
struct ColumnFinder<'t> {
    table: &'t Table,
    database: Database,
    found: Expression,
}

impl ColumnFinder<'_> {
    /// Returns the column's own name for a name in the text, which can be in another case. Returns
    /// `None` if the table has no such column.
    fn find(&self, name: &Ident) -> Option<String> {
        let mut columns = self.table.columns.iter();
        let column = columns.find(|column| match self.database {
            POSTGRES => column.name == postgres_name(name),
            _ => column.name.eq_ignore_ascii_case(&name.value),
        });
        column.map(|column| column.name.clone())
    }

    /// Notes where the text names a column. Fails with the reason if it isn't a column of the row.
    fn add_column(&mut self, name: &Ident) -> Result<(), String> {
        let Some(column) = self.find(name) else {
            return Err(format!(
                "names {name}, and {} has no such column",
                self.table
            ));
        };
        // A name that the parser hasn't read from the text has the position 0.
        if name.span.start.column == 0 {
            return Err(format!("has {name} in a place that cannot be read"));
        }
        self.found.columns.push(ColumnInText {
            first: index(name.span.start),
            after: index(name.span.end),
            name: column,
        });
        Ok(())
    }
}

impl Visitor for ColumnFinder<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<String> {
        let refused = match expression {
            Expr::IsNull(tested) | Expr::IsNotNull(tested) => {
                if let Expr::Identifier(name) = &**tested {
                    self.found.tested.push(index(name.span.start));
                }
                None
            }
            Expr::Identifier(name) => self.add_column(name).err(),
            Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => Some(format!(
                "names {expression}: write only columns, without their table"
            )),
            Expr::Function(function) => why_changing(function, self.database)
                .map(|why| format!("has {}, {why}", function.name)),
            _ => None,
        };
        match refused {
            Some(why) => ControlFlow::Break(why),
            None => ControlFlow::Continue(()),
        }
    }
}
