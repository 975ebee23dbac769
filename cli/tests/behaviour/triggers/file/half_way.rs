//! A migration that fails half way.

use diesel::connection::{Connection, SimpleConnection};
use diesel_migrations::MigrationHarness;

use super::{STEPS, blog};
use crate::behaviour::Execute;
use crate::behaviour::triggers::open;
use crate::{BACKEND, TestDatabase};

/// A migration of MySQL commits each statement. The others roll back. Whoever runs it again, and then a
/// recount, has the counts of the rows.
#[test]
fn a_migration_that_fails_half_way_runs_again() {
    let database = blog();
    let mut before = "";
    for (number, (step, toml)) in STEPS.into_iter().enumerate() {
        database.generate(toml).works();
        let up = database.last_migration("up.sql");
        // MySQL is slow: each step is stopped after some of its statements only.
        let seldom = if BACKEND == "mysql" { 13 } else { 1 };
        for index in (number % seldom..).step_by(seldom) {
            let Some(half) = half_way(&up, index) else {
                break;
            };
            half.run(&database);
            let conn = &mut open(&database);
            conn.run("INSERT INTO article_likes (id, article_id) VALUES (9, 3)");
            database.migrate();
            let when = format!("{step}, after statement {index}");
            database.recount();
            database.assert_has(toml, &when);
            conn.run("DELETE FROM article_likes WHERE id = 9");
            database.revert();
            database.define(before);
            database.recount();
            database.assert_has(before, &format!("{when}, and back"));
            database.define(toml);
        }
        let conn = &mut open(&database);
        conn.run_pending_migrations(database.migrations()).unwrap();
        before = toml;
    }
}

/// The first statements of a migration.
enum Half {
    /// Those that MySQL has committed when the connection is lost.
    Committed(Vec<String>),
    /// All of them, and one that fails.
    RolledBack(String),
}

impl Half {
    /// With the connection goes what it has locked.
    fn run(&self, database: &TestDatabase) {
        let conn = &mut open(database);
        match self {
            Half::Committed(statements) => statements.iter().for_each(|one| conn.run(one)),
            Half::RolledBack(statements) => {
                let ran = conn.transaction(|conn| conn.batch_execute(statements));
                ran.unwrap_err();
            }
        }
    }
}

/// A migration that fails after this statement, or `None` if it does not have so many.
fn half_way(up: &str, index: usize) -> Option<Half> {
    if BACKEND != "mysql" {
        let fails = format!("{up}SELECT no_such_function()");
        return (index == 0).then_some(Half::RolledBack(fails));
    }
    let lines: Vec<_> = up.split_inclusive('\n').collect();
    let mut statements = vec![String::new()];
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).unwrap_or(&"");
        let statement = statements.last_mut()?;
        statement.push_str(line);
        // Statements of a trigger are indented.
        let is_end = line.ends_with(";\n") && !next.starts_with(' ') && !next.starts_with("END");
        if is_end {
            statements.push(String::new());
        }
    }
    statements.pop();
    (index < statements.len()).then(|| Half::Committed(statements[..=index].to_vec()))
}
