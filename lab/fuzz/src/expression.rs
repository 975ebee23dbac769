//! SQL expressions of a row's columns.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, VisitMut, VisitorMut};
use sqlparser::dialect::{self, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use crate::catalogue::{Column, Kind, Table};
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::triggers::Expression;

const COLUMNS: [&str; 6] = ["a", "b", "status", "Mixed", "two words", "ü"];

/// An expression of a row is the expression that the user wrote, in which each column is one of the
/// row's.
pub fn check(text: &str) {
    // `generate triggers` refuses these.
    if text.contains(char::is_control) {
        return;
    }
    for database in [POSTGRES, MYSQL, SQLITE] {
        check_for(text, database);
    }
}

fn check_for(text: &str, database: Database) {
    let Ok(expression) = Expression::parse(text, &table(), database) else {
        return;
    };
    let of_row = expression.for_row("NEW", database);
    let (mut written, mut read) = (parsed(text, database), parsed(&of_row, database));
    let mut columns = WrittenColumns {
        database,
        found: Vec::new(),
    };
    let _ = written.visit(&mut columns);
    let mut written_columns: Vec<_> = expression.columns().map(str::to_owned).collect();
    columns.found.sort();
    written_columns.sort();
    assert_eq!(columns.found, written_columns, "{text:?}");

    let mut columns = RowColumns { found: Vec::new() };
    let _ = read.visit(&mut columns);
    columns.found.sort();
    assert_eq!(columns.found, written_columns, "{text:?} became {of_row:?}");
    let read = match read {
        Expr::Nested(read) => *read,
        read => read,
    };
    assert_eq!(
        read.to_string(),
        written.to_string(),
        "{text:?} became {of_row:?}"
    );
}

fn parsed(text: &str, database: Database) -> Expr {
    let parser: &dyn dialect::Dialect = match database {
        POSTGRES => &PostgreSqlDialect {},
        MYSQL => &MySqlDialect {},
        SQLITE => &SQLiteDialect {},
    };
    let mut parser = Parser::new(parser).try_with_sql(text).unwrap();
    let expression = parser.parse_expr().unwrap();
    parser
        .expect_token(&sqlparser::tokenizer::Token::EOF)
        .unwrap();
    expression
}

/// Writes each column of a text as the table does.
struct WrittenColumns {
    database: Database,
    found: Vec<String>,
}

impl VisitorMut for WrittenColumns {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expression {
            let is_named = |column: &&str| match (self.database, name.quote_style) {
                (POSTGRES, Some(_)) => **column == name.value,
                (POSTGRES, None) => **column == name.value.to_lowercase(),
                _ => column.eq_ignore_ascii_case(&name.value),
            };
            let column = COLUMNS.into_iter().find(|column| is_named(column)).unwrap();
            self.found.push(column.to_owned());
            *name = Ident::new(column);
        }
        ControlFlow::Continue(())
    }
}

/// Removes the row from `NEW."column"`.
struct RowColumns {
    found: Vec<String>,
}

impl VisitorMut for RowColumns {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::CompoundIdentifier(names) => {
                let [row, column] = &names[..] else {
                    panic!("{names:?}")
                };
                assert_eq!(row.value, "NEW");
                self.found.push(column.value.clone());
                *expression = Expr::Identifier(Ident::new(&column.value));
            }
            // `WrittenColumns` has found no more of these.
            Expr::Identifier(name) => assert!(COLUMNS.contains(&&*name.value), "{name}"),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn table() -> Table {
    let column = |name: &str| Column {
        name: name.to_owned(),
        sql_type: "BIGINT".to_owned(),
        kind: Kind::BigInt,
        nullable: true,
        default: None,
        auto_increment: false,
        generated: false,
        loose_collation: None,
        not_stored: false,
        comment: None,
        refers_to: None,
        also_refers_to: Vec::new(),
    };
    Table {
        in_schema: "main".to_owned(),
        name: "rows".to_owned(),
        columns: COLUMNS.map(column).to_vec(),
        ..Table::default()
    }
}
