//! The statements of an order, as they ran.

use std::fmt;

use super::outcome::letter;

/// What happened next. The first number is the connection.
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

    /// The number of statements, and how often a statement is of another connection than the one
    /// before.
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
                    // The server has said that it waits, if that is the next of its connection.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_numbers_its_statements_and_says_which_one_waits() {
        let mut trace = Trace::default();
        for step in [
            Step::Runs(0, "UPDATE a\n  SET n = 1".to_owned()),
            Step::Runs(1, "UPDATE a SET n = 2".to_owned()),
            Step::Waits(1),
            Step::Runs(0, "COMMIT".to_owned()),
            Step::Ends(0, "(has ended)".to_owned()),
            Step::GoesOn(1),
        ] {
            trace.push(step);
        }
        let lines = [
            "    1 A  UPDATE a SET n = 1",
            "    2 B  UPDATE a SET n = 2  (waits)",
            "    3 A  COMMIT",
            "      A  (has ended)",
            "      B  (goes on)",
        ];
        assert_eq!(trace.to_string().lines().collect::<Vec<_>>(), lines);
        assert_eq!(trace.length(), (3, 2));
    }
}
