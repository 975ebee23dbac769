//! SQL expressions of the columns of a row.

use std::ops::ControlFlow;

use anyhow::{Context, Result, bail};
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, TypedString, Value, Visit, Visitor,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::catalogue::Table;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
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
    /// Those of columns that are read as a time of a day on MySQL, and not as one of today.
    timed: Vec<usize>,
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
            let is_read = !expression.tested.contains(first) && !expression.timed.contains(first);
            if database == MYSQL && is_time(&column.plain_type()) && is_read {
                bail!(
                    "the SQL expression {text:?} has {name}, which is a TIME: MySQL and MariaDB \
                     make it a time of the current day where they expect a date. Compare it with \
                     texts, or write TIME_TO_SEC({name})"
                );
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

/// A name as PostgreSQL takes it. In UTF-8, it changes the case of ASCII only.
fn written(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

/// Whether it is the type of times without a day on MySQL.
fn is_time(plain_type: &str) -> bool {
    plain_type == "time"
}

/// The first character of a name, from 0. Columns of a text count from 1.
fn first_of(name: &Ident) -> usize {
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

/// The text of a literal.
fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type has days or times.
fn is_of_times(data_type: &DataType) -> bool {
    let name = data_type.to_string().to_lowercase();
    name.starts_with("date") || name.starts_with("time")
}

/// Whether a text is a moment, if it is read as one. PostgreSQL also reads 'today 10:00'. Such a
/// text can also be no time, such as 'now hiring', unless `is_of_times`.
fn is_moment(text: &str, is_of_times: bool, database: Database) -> bool {
    const MOMENTS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];
    const OF_TIMES: [&str; 6] = ["allballs", "am", "pm", "z", "utc", "gmt"];
    let text = text.trim().to_lowercase();
    if database != POSTGRES {
        return MOMENTS.contains(&&*text);
    }
    let words = text.split([' ', '\t', '\n', ',']);
    let (moments, others): (Vec<_>, Vec<_>) = words.partition(|word| MOMENTS.contains(word));
    let mut others = others.into_iter();
    let is_of_time =
        |word: &str| word.contains(|c: char| c.is_ascii_digit()) || OF_TIMES.contains(&word);
    !moments.is_empty() && (is_of_times || others.all(|word| word.is_empty() || is_of_time(word)))
}

/// Why the value of a function can change, if the database finds that only when it calls the
/// function.
fn changes(function: &Function, database: Database) -> Option<&'static str> {
    let name = function.name.to_string().to_lowercase();
    let arguments = arguments(function);
    if database == MYSQL {
        let why = "which reads a time in the time zone of the session";
        let is_of_time = name == "unix_timestamp" && !arguments.is_empty();
        return is_of_time.then_some(why);
    }
    if database != SQLITE {
        return None;
    }
    // The number of arguments with a time.
    let least = match &*name {
        "date" | "time" | "datetime" | "julianday" | "unixepoch" => 1,
        "strftime" => 2,
        _ => return None,
    };
    let mut texts = arguments.iter().copied().filter_map(text_of);
    let is_any =
        |text: &str, names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    let time = arguments.get(least - 1).copied();
    let is_without_time = time.and_then(text_of).is_some_and(|text| {
        // A modifier in the place of the time.
        is_any(text, &["subsec", "subsecond"])
    });
    if time.is_none() || is_without_time {
        Some("which is the current time")
    } else if texts.any(|text| is_any(text, &["localtime", "utc"])) {
        Some("whose value depends on the time zone of the program")
    } else {
        None
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

impl Columns<'_> {
    /// Notes the columns that an expression does not read in a time zone or on a day.
    fn note_reads(&mut self, expression: &Expr) {
        const OF_TIMES: [&str; 5] = ["hour", "microsecond", "minute", "second", "time_to_sec"];
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq, Spaceship};
        let compared: Vec<&Expr> = match expression {
            Expr::IsNull(tested) | Expr::IsNotNull(tested) => {
                if let Expr::Identifier(name) = &**tested {
                    self.found.tested.push(first_of(name));
                }
                return;
            }
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                if OF_TIMES.contains(&&*name) {
                    arguments(function)
                } else {
                    return;
                }
            }
            Expr::BinaryOp {
                left,
                op: Eq | Gt | GtEq | Lt | LtEq | NotEq | Spaceship,
                right,
            } => vec![left, right],
            Expr::Between {
                expr, low, high, ..
            } => vec![expr, low, high],
            Expr::InList { expr, list, .. } => [&**expr].into_iter().chain(list).collect(),
            _ => return,
        };
        // A time is compared as such with other times, and with literals.
        if compared.iter().all(|one| self.is_time(one)) {
            self.found.timed.extend(compared.iter().filter_map(|one| {
                let Expr::Identifier(name) = one else {
                    return None;
                };
                Some(first_of(name))
            }));
        }
    }

    fn is_time(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Value(_) => true,
            Expr::TypedString(TypedString { data_type, .. }) => {
                is_time(&data_type.to_string().to_lowercase())
            }
            Expr::Identifier(name) => {
                let column = self.find(name);
                let column = column.and_then(|name| self.table.column(&name));
                column.is_some_and(|column| is_time(&column.plain_type()))
            }
            _ => false,
        }
    }

    fn changing_text(text: &str) -> String {
        format!("has '{text}', whose value changes")
    }
}

impl Visitor for Columns<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<String> {
        const AGGREGATES: [&str; 5] = ["avg", "count", "max", "min", "sum"];
        let is_aggregate =
            |name: &ObjectName| AGGREGATES.contains(&&*name.to_string().to_lowercase());
        if let Expr::Function(function) = expression {
            let parts = function.name.0.iter().filter_map(|part| part.as_ident());
            let names: Vec<_> = parts.map(written).collect();
            if let [.., schema, name] = &*names {
                self.found.functions.push(FunctionName {
                    schema: schema.clone(),
                    name: name.clone(),
                });
            }
        }
        self.note_reads(expression);
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
            Expr::Function(function) => match changes(function, self.database) {
                Some(why) => format!("has {}, {why}", function.name),
                None => return ControlFlow::Continue(()),
            },
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                "has a subquery: a row can only be counted by its own columns".to_owned()
            }
            Expr::Cast {
                expr, data_type, ..
            } => match text_of(expr) {
                Some(text) if is_of_times(data_type) && is_moment(text, true, self.database) => {
                    Self::changing_text(text)
                }
                _ => return ControlFlow::Continue(()),
            },
            Expr::TypedString(TypedString {
                value, data_type, ..
            }) => match &value.value {
                Value::SingleQuotedString(text)
                    if is_moment(text, is_of_times(data_type), self.database) =>
                {
                    Self::changing_text(text)
                }
                _ => return ControlFlow::Continue(()),
            },
            // MySQL reads the bytes of the text, as the connection encodes it, in the other
            // character set.
            Expr::Prefixed { prefix, value }
                if text_of(value).is_some_and(|text| !text.is_ascii())
                    && !prefix.value.to_lowercase().starts_with("_utf8") =>
            {
                format!(
                    "has {prefix} before a text that is not ASCII, whose value depends on the \
                     character set of the session: write {prefix} X'…'"
                )
            }
            Expr::Value(value) => match &value.value {
                Value::Placeholder(_) => "has a placeholder".to_owned(),
                Value::SingleQuotedString(text) if is_moment(text, false, self.database) => {
                    Self::changing_text(text)
                }
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        ControlFlow::Break(refused)
    }
}
