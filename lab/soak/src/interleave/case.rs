//! What is run at the same time, and where it starts.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use diesel_counters::Period;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::operation::{Context, Database, Operation, Own};
use super::outcome::Comparison;
use super::state::State;
use crate::tables::today;

/// What one connection runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Script {
    pub operation: Operation,
    pub context: Context,
}

/// What connections run at the same time. All orders of their statements are run from the same
/// state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub scripts: Vec<Script>,
    pub state: State,
    /// Whether all connections count in the same slot.
    pub one_slot: bool,
}

impl Case {
    /// How the outcomes of this case are compared.
    pub fn comparison(&self) -> Comparison {
        Comparison {
            by_article: self.any(Operation::is_in_parts),
            ignores_column: self.any(Operation::copies_totals)
                && self.runs(Own::ReplaceArticle.into()),
            folded_into: self.folds_into().unwrap_or(Period::Day),
            today: today(),
        }
    }

    /// The longest period into which one of its operations merges days.
    fn folds_into(&self) -> Option<Period> {
        let scripts = self.scripts.iter();
        scripts
            .filter_map(|script| script.operation.merges_days_into())
            .max()
    }

    /// Whether this holds for one of its operations.
    pub fn any(&self, is: impl Fn(Operation) -> bool) -> bool {
        self.scripts.iter().any(|script| is(script.operation))
    }

    pub fn runs(&self, operation: Operation) -> bool {
        self.any(|one| one == operation)
    }

    /// Fails if one of its operations does not run on this database.
    pub fn ensure_runs_on(&self, on: Database) -> Result<()> {
        for script in &self.scripts {
            let operation = name_of(&script.operation);
            ensure!(
                script.operation.runs_on(on),
                "{operation} runs on PostgreSQL only"
            );
        }
        Ok(())
    }

    /// What runs, without where it starts.
    pub fn operations(&self) -> String {
        let names = self.scripts.iter().map(|script| name_of(&script.operation));
        names.collect::<Vec<_>>().join(" beside ")
    }
}

/// Returns the cases in which `at_once` operations run, in random order: first one case of each
/// combination of operations, then a second one of each, and so on. If `with` is not empty, each
/// combination has one of its operations.
pub fn cases(on: Database, at_once: usize, with: &[Operation], seed: u64) -> Vec<Case> {
    let mut all: Vec<Vec<Operation>> = vec![Vec::new()];
    for _ in 0..at_once {
        let longer = all.iter().flat_map(|some| {
            let operations = Operation::all(on).into_iter();
            let operations = operations.filter(|one| some.last().is_none_or(|last| last <= one));
            let operations = operations.filter(|one| some.iter().all(|other| other.meets(*one)));
            operations.map(|one| [some.as_slice(), &[one]].concat())
        });
        all = longer.collect();
    }
    all.retain(|some| with.is_empty() || some.iter().any(|one| with.contains(one)));
    let random = &mut StdRng::seed_from_u64(seed);
    let by_pair = all.iter().map(|some| {
        let mut cases = of(on, some);
        cases.shuffle(random);
        cases.into_iter()
    });
    let mut by_pair: Vec<_> = by_pair.collect();
    by_pair.shuffle(random);
    let mut cases = Vec::new();
    while !by_pair.is_empty() {
        by_pair.retain_mut(|of_pair| match of_pair.next() {
            Some(case) => {
                cases.push(case);
                true
            }
            None => false,
        });
    }
    cases
}

/// Returns the cases in which these operations run: in each context, from each state, and with
/// slots of their own or one.
pub fn of(on: Database, operations: &[Operation]) -> Vec<Case> {
    let mut all: Vec<Vec<Script>> = vec![Vec::new()];
    for &operation in operations {
        let longer = all.iter().flat_map(|some| {
            operation.contexts().iter().map(|&context| {
                let script = Script { operation, context };
                [some.as_slice(), &[script]].concat()
            })
        });
        all = longer.collect();
    }
    // If an operation runs twice, its two contexts are the same pair in either order.
    all.retain(|scripts| {
        let mut pairs = scripts.windows(2);
        pairs.all(|pair| pair[0].operation != pair[1].operation || pair[0] <= pair[1])
    });
    // SQLite has one slot.
    let slots: &[bool] = match on {
        Database::Sqlite => &[false],
        _ => &[false, true],
    };
    let mut cases = Vec::new();
    for &one_slot in slots {
        for &state in State::value_variants() {
            cases.extend(all.iter().map(|scripts| Case {
                scripts: scripts.clone(),
                state,
                one_slot,
            }));
        }
    }
    cases
}

/// The name of a value in the arguments.
pub fn name_of(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The form that `--replay` takes: `set:own,delete:own one-row slots`.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scripts = self.scripts.iter();
        let scripts =
            scripts.map(|one| format!("{}:{}", name_of(&one.operation), name_of(&one.context)));
        let slots = if self.one_slot { "one-slot" } else { "slots" };
        let scripts = scripts.collect::<Vec<_>>().join(",");
        write!(f, "{scripts} {} {slots}", name_of(&self.state))
    }
}

impl FromStr for Case {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let words: Vec<_> = text.split_whitespace().collect();
        ensure!(
            words.len() == 3,
            "{text:?} is not OPERATION:CONTEXT,… STATE SLOTS"
        );
        let scripts = words[0].split(',').map(|script| {
            let (operation, context) = script
                .split_once(':')
                .context("an operation has no context")?;
            Ok(Script {
                operation: parse(operation)?,
                context: parse(context)?,
            })
        });
        Ok(Case {
            scripts: scripts.collect::<Result<_>>()?,
            state: parse(words[1])?,
            one_slot: words[2] == "one-slot",
        })
    }
}

/// Reads what `--replay` takes: a case, and who runs each statement.
pub fn replayed(text: &str) -> Result<(Case, Vec<usize>)> {
    let (case, order) = text.rsplit_once(' ').context("--replay has no order")?;
    let letters = order.bytes();
    let order = letters.map(|letter| usize::from(letter.wrapping_sub(b'A')));
    Ok((case.parse()?, order.collect()))
}

fn parse<T: ValueEnum>(text: &str) -> Result<T> {
    T::from_str(text, false).map_err(anyhow::Error::msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_printed_is_read_again() {
        let replay = "planted-recount:own,comment:caller one-row slots AABB";
        let (case, order) = replayed(replay).unwrap();
        assert_eq!(order, [0, 0, 1, 1]);
        assert_eq!(format!("{case} AABB"), replay);
        assert!(replayed("set:own,delete:own AB").is_err());
        assert!(replayed("set,delete one-row slots AB").is_err());
    }

    #[test]
    fn a_case_of_another_database_is_refused() {
        for case in of(
            Database::Postgres,
            &[Own::Counting.into(), Operation::named("set")],
        ) {
            case.ensure_runs_on(Database::Postgres).unwrap();
            let error = case.ensure_runs_on(Database::Sqlite).unwrap_err();
            assert_eq!(error.to_string(), "counting runs on PostgreSQL only");
        }
    }

    #[test]
    fn each_combination_comes_up_before_one_comes_up_twice() {
        let cases = cases(Database::Sqlite, 2, &[Operation::named("take")], 1);
        let first = cases[0].operations();
        let again = cases
            .iter()
            .skip(1)
            .position(|case| case.operations() == first);
        let combinations = again.unwrap() + 1;
        let mut names: Vec<_> = cases[..combinations].iter().map(Case::operations).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), combinations);
        assert!(cases.iter().all(|case| case.runs(Operation::named("take"))));
    }
}
