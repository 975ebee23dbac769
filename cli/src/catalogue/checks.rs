//! What CHECKs keep out of counters: numbers below 0, and on SQLite anything that isn't an integer.

use sqlparser::ast::BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, Or};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::counter_table::CounterTable;
use super::table::Table;
use crate::database::Database;

impl CounterTable {
    /// Returns the counters that a CHECK allows to be 0, but not -1.
    pub fn guarded(&self, database: Database) -> Vec<String> {
        let names = self.counters.iter().map(|counter| &counter.name);
        let guarded = names.filter(|name| self.table.is_guarded(name, database));
        guarded.cloned().collect()
    }
}

impl Table {
    /// Whether a CHECK allows a column to be 0, but not -1.
    pub fn is_guarded(&self, name: &str, database: Database) -> bool {
        let texts = self.checks.iter();
        let checks: Vec<Expr> = texts.flat_map(|sql| checks(sql, database)).collect();
        let is_refused = |number| {
            let mut results = checks.iter().map(|check| evaluate(check, name, number));
            results.any(|result| result == Some(FALSE))
        };
        is_refused(-1) && !is_refused(0)
    }

    /// Whether a CHECK on SQLite allows only integers in a column.
    pub fn has_integers_only(&self, name: &str, database: Database) -> bool {
        let mut checks = self.checks.iter().flat_map(|sql| checks(sql, database));
        checks.any(|check| requires_integer(&check, name))
    }
}

/// Whether an expression is false if `typeof(name)` isn't 'integer'.
fn requires_integer(expression: &Expr, name: &str) -> bool {
    let is_type = |expression: &Expr| is_type_of(expression, name);
    match expression {
        Expr::Nested(inner) => requires_integer(inner, name),
        Expr::BinaryOp {
            left,
            op: And,
            right,
        } => requires_integer(left, name) || requires_integer(right, name),
        Expr::BinaryOp {
            left,
            op: Eq,
            right,
        } => is_type(left) && is_integer(right) || is_integer(left) && is_type(right),
        Expr::InList {
            expr,
            list,
            negated: false,
        } => is_type(expr) && list.iter().all(is_integer),
        _ => false,
    }
}

/// Whether an expression is `typeof(name)`.
fn is_type_of(expression: &Expr, name: &str) -> bool {
    match expression {
        Expr::Nested(inner) => is_type_of(inner, name),
        Expr::Function(function) => {
            let is_typeof = function.name.to_string().eq_ignore_ascii_case("typeof");
            let FunctionArguments::List(list) = &function.args else {
                return false;
            };
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column)))] =
                &*list.args
            else {
                return false;
            };
            is_typeof && column.value.eq_ignore_ascii_case(name)
        }
        _ => false,
    }
}

/// Whether an expression is the text `'integer'`.
fn is_integer(expression: &Expr) -> bool {
    match expression {
        Expr::Nested(inner) => is_integer(inner),
        Expr::Value(literal) => matches!(&literal.value, Value::SingleQuotedString(text)
            if text == "integer"),
        _ => false,
    }
}

/// Returns the conditions of the CHECKs in some SQL, for example a `CREATE TABLE`. The parser
/// doesn't know all of SQLite's statements, so this parses only what follows each word CHECK.
pub fn checks(sql: &str, database: Database) -> Vec<Expr> {
    let mut checks = Vec::new();
    let Ok(mut parser) = Parser::new(database.grammar()).try_with_sql(sql) else {
        return checks;
    };
    loop {
        match parser.next_token().token {
            Token::Word(word) if word.keyword == Keyword::CHECK => {
                checks.extend(parser.try_parse(|parser| parser.parse_prefix()).ok());
            }
            Token::EOF => return checks,
            _ => {}
        }
    }
}

/// What [`evaluate`] returns for a condition that isn't met.
const FALSE: i64 = 0;

/// Returns the value of an expression if the counter has the value `number`. False is 0, and true
/// is any other number. Returns `None` if the expression depends on anything else.
fn evaluate(expression: &Expr, counter: &str, number: i64) -> Option<i64> {
    let value = |expression| evaluate(expression, counter, number);
    let condition = |is_met: bool| Some(i64::from(is_met));
    match expression {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => value(inner),
        Expr::Identifier(column) if column.value.eq_ignore_ascii_case(counter) => Some(number),
        Expr::Value(literal) => match &literal.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => text.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op, expr } if *op == UnaryOperator::Minus => value(expr)?.checked_neg(),
        Expr::UnaryOp { op, expr } if *op == UnaryOperator::Not => condition(value(expr)? == FALSE),
        Expr::Between {
            expr,
            low,
            negated: false,
            ..
        } => condition(value(expr)? >= value(low)?),
        Expr::BinaryOp { left, op, right } => match (op, value(left), value(right)) {
            // An AND with a false side is false, whatever the other side depends on.
            (And, Some(FALSE), _) | (And, _, Some(FALSE)) => Some(FALSE),
            // Both sides of an AND are true here, so OR has the same result.
            (And | Or, left, right) => Some(left? | right?),
            (Gt, left, right) => condition(left? > right?),
            (GtEq, left, right) => condition(left? >= right?),
            (Lt, left, right) => condition(left? < right?),
            (LtEq, left, right) => condition(left? <= right?),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::POSTGRES;

    fn is_guarded(check: &str) -> bool {
        let table = Table {
            checks: vec![check.to_owned()],
            ..Table::default()
        };
        table.is_guarded("left", POSTGRES)
    }

    #[test]
    fn a_guard_lets_a_counter_be_0_and_not_below() {
        for guard in [
            "CHECK (\"left\" >= 0)",
            "CHECK ((\"left\" > '-1'::integer))",
            "CHECK (NOT \"left\" < 0)",
            "CHECK (0 <= \"left\" AND price > 0)",
            "CHECK (\"left\" BETWEEN 0 AND limit_of_it)",
        ] {
            assert!(is_guarded(guard), "{guard}");
        }
        for other in [
            "CHECK (\"left\" > 0)",
            "CHECK (\"left\" >= -1)",
            "CHECK (\"left\" >= 0 OR is_lent)",
            "CHECK (\"left\" + lent >= 0)",
            "CHECK (other >= 0)",
            "CHECK (",
        ] {
            assert!(!is_guarded(other), "{other}");
        }
    }
}
