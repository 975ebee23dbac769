//! The statements of an order, as they ran.

use std::fmt;

use super::outcome::letter;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The connection runs the statement.
    Runs(usize, String),
    /// The server says that the statement waits.
    Waits(usize),
    /// The statement that waited has ended.
    GoesOn(usize),
    /// The connection has run everything, with this result of each transaction.
    Ends(usize, String),
}

#[derive(Debug, Clone, Default)]
pub struct Trace(Vec<Step>);

impl Trace {
    pub fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// The number of statements, and how often another connection goes on.
    pub fn length(&self) -> (usize, usize) {
        let runs = self.0.iter().filter_map(|step| match step {
            Step::Runs(connection, _) => Some(connection),
            _ => None,
        });
        let runs: Vec<_> = runs.collect();
        let switches = runs.windows(2).filter(|pair| pair[0] != pair[1]).count();
        (runs.len(), switches)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Runs(connection, sql) => {
                    number += 1;
                    let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                    let later = self.0[at + 1..].iter();
                    let mut own = later.filter(|step| match step {
                        Step::Runs(of, _)
                        | Step::Waits(of)
                        | Step::GoesOn(of)
                        | Step::Ends(of, _) => of == connection,
                    });
                    let waits = match own.next() {
                        Some(Step::Waits(_)) => "  (waits)",
                        _ => "",
                    };
                    writeln!(f, "  {number:>3} {}  {sql}{waits}", letter(*connection))?;
                }
                Step::Waits(_) => {}
                Step::GoesOn(connection) => {
                    writeln!(f, "      {}  (goes on)", letter(*connection))?
                }
                Step::Ends(connection, result) => {
                    writeln!(f, "      {}  {result}", letter(*connection))?;
                }
            }
        }
        Ok(())
    }
}
