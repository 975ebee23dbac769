//! The statement that adds rows to counters: in triggers, in the migration, and in a recount.

use diesel_counters::Period;

use super::{Counting, Target, Weight};
use crate::catalogue::Column;

/// Rows to add to the counters, or to take from them.
pub struct Part<'a> {
    pub sign: Sign,
    /// The name of a row in expressions.
    pub row: &'a str,
    /// ` FROM …`, or nothing.
    pub from: &'a str,
    /// Leave out the rows of entities that no longer exist.
    pub of_existing: bool,
    /// More columns.
    pub more: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
    /// As `Plus`, for all rows of the table: if the rows have no day of their own, they are not
    /// counted by day.
    All,
}

const ENTITY: &str = "entity";
const DAY: &str = "day";

impl Counting {
    /// A query of some rows: their entity, their day, and what they add to each counter.
    pub fn part(&self, target: &Target, part: &Part<'_>) -> String {
        let [key, counts] = self.columns(target, part);
        let names = target.entity.iter().map(|_| ENTITY).chain([DAY]);
        let key = key
            .iter()
            .zip(names)
            .map(|(value, name)| format!("{value} AS {name}"));
        let counts = counts.iter().enumerate();
        let counts = counts.map(|(i, value)| format!("{value} AS {}", count(i)));
        let columns: Vec<_> = key.chain(counts).collect();
        let conditions = self.conditions(target, part);
        format!(
            "SELECT {}{}{}{conditions}",
            columns.join(", "),
            part.more,
            part.from
        )
    }

    /// The entity and the day of a row, and what it adds to each counter.
    fn columns(&self, target: &Target, part: &Part<'_>) -> [Vec<String>; 2] {
        let (database, sql) = (self.database, &self.database.facts().trigger);
        let column = |name: &str| format!("{}.{}", part.row, database.quoted(name));
        let day = match &self.day {
            Some((day, name)) => {
                let day = self.start_of(&day.replace("{}", &column(name)));
                format!("COALESCE({day}, {})", sql.undated)
            }
            // All rows of the table, which have no day.
            None if part.sign == Sign::All => sql.undated.to_owned(),
            None => self.start_of(sql.today),
        };
        let entity = target.entity.iter().map(|entity| column(&entity.name));
        let sign = if part.sign == Sign::Minus { "-" } else { "" };
        let counts = target
            .weights
            .iter()
            .map(|weight| match weight.value.is_one() {
                true => format!("{sign}1"),
                false => {
                    let value = weight.value.of(part.row, database);
                    sign.to_owned() + &sql.weight.replace("{}", &value)
                }
            });
        [entity.chain([day]).collect(), counts.collect()]
    }

    /// The conditions on which a row counts.
    fn conditions(&self, target: &Target, part: &Part<'_>) -> String {
        let database = self.database;
        let mut conditions = Vec::new();
        if let Some(entity) = &target.entity {
            let entity = format!("{}.{}", part.row, database.quoted(&entity.name));
            conditions.push(format!("{entity} IS NOT NULL"));
            if let Some((parents, key)) = target.parent.as_ref().filter(|_| part.of_existing) {
                let (parents, key) = (database.table_name(parents), database.quoted(key));
                conditions.push(format!(
                    "EXISTS (SELECT 1 FROM {parents} AS {} WHERE {0}.{key} = {entity})",
                    target.parent_alias()
                ));
            }
        }
        conditions.extend(self.when.as_ref().map(|when| when.of(part.row, database)));
        match conditions.is_empty() {
            true => String::new(),
            false => format!("\nWHERE {}", conditions.join("\n    AND ")),
        }
    }

    /// What all rows of the table add to the counters. It is grouped by the row's own day, or not
    /// by day.
    pub fn actual(&self, target: &Target, more: &str) -> String {
        let from = format!("\nFROM {} AS counted", self.database.table_name(&self.rows));
        let part = Part {
            sign: Sign::All,
            row: "counted",
            from: &from,
            of_existing: !target.has_same_parent(),
            more,
        };
        self.part(target, &part)
    }

    /// What is stored in the counters, to be taken from `actual`.
    pub fn stored(&self, target: &Target, more: &str) -> String {
        let (database, alias) = (self.database, target.stored_alias());
        let mut columns = Vec::new();
        if let Some(entity) = &target.counters.entity {
            columns.push(format!("{alias}.{}", database.quoted(&entity.name)));
        }
        columns.push(match &self.day {
            Some(_) => format!("{alias}.{}", database.quoted(&target.counters.day.name)),
            None => database.facts().trigger.undated.to_owned(),
        });
        let counters = target.weights.iter();
        columns.extend(counters.map(|w| format!("-{alias}.{}", database.quoted(&w.counter))));
        let table = database.table_name(&target.counters.table);
        format!(
            "SELECT {}{more}\nFROM {table} AS {alias}",
            columns.join(", ")
        )
    }

    /// The statement of a trigger that runs for each row. One row that counts as one needs no sum.
    pub fn add_rows(&self, target: &Target, parts: &[Part<'_>], slot: &str) -> String {
        if let ([part], true) = (parts, target.weights.iter().all(|w| w.value.is_one())) {
            let [key, counts] = self.columns(target, part);
            let values = [&key[..], &[slot.to_owned()], &counts].concat().join(", ");
            let conditions = self.conditions(target, part);
            return self.upsert(target, &format!("SELECT {values}{}{conditions}", part.from));
        }
        let parts: Vec<_> = parts.iter().map(|part| self.part(target, part)).collect();
        self.add(target, &parts, slot)
    }

    /// Adds up the parts by entity and day, and adds the sums that are not 0 to the counters. The
    /// entities are in order, so that two statements that share a slot do not deadlock.
    pub fn add(&self, target: &Target, parts: &[String], slot: &str) -> String {
        let sql = &self.database.facts().trigger;
        let group = self.group(target);
        let sums = (0..target.weights.len()).map(|i| sql.sum.replace("{}", &count(i)));
        let sums: Vec<_> = sums.collect();
        let query = format!(
            "SELECT {group}, {slot}, {}\nFROM (\n{}\n) AS moved\nGROUP BY {group}\nHAVING {}\n\
             ORDER BY {group}",
            sums.join(", "),
            in_lines(&parts.join("\nUNION ALL\n"), 4),
            self.is_moved(target),
        );
        self.upsert(target, &query)
    }

    /// Adds the rows of a query to the counters.
    fn upsert(&self, target: &Target, query: &str) -> String {
        let (database, sql) = (self.database, &self.database.facts().trigger);
        let table = &target.counters;
        let key = table.entity.iter().chain([&table.day, &table.slot]);
        let key: Vec<_> = key.map(|column| database.quoted(&column.name)).collect();
        let counters = target
            .weights
            .iter()
            .map(|weight| database.quoted(&weight.counter));
        let counters: Vec<_> = counters.collect();
        let updates = counters.iter().map(|name| sql.update.replace("{}", name));
        format!(
            "INSERT INTO {}{} ({}, {})\n{query}\n{} {}",
            database.table_name(&table.table),
            sql.alias,
            key.join(", "),
            counters.join(", "),
            sql.on_conflict.replace("{}", &key.join(", ")),
            updates.collect::<Vec<_>>().join(", "),
        )
    }

    /// A query of the entities and days whose count is wrong: the entity and the day as text, what is
    /// stored, and what it should be.
    pub fn drift(&self, target: &Target, weight: &Weight) -> String {
        let database = self.database;
        let (facts, sql) = (database.facts(), &database.facts().trigger);
        let entity = match &target.counters.entity {
            Some(key) => database.as_text(&Column {
                name: ENTITY.to_owned(),
                ..key.clone()
            }),
            None => facts.text.replace("{}", "''"),
        };
        let one = Target {
            weights: vec![weight.clone()],
            ..target.clone()
        };
        let kept = format!(
            ", {}.{}",
            target.stored_alias(),
            database.quoted(&weight.counter)
        );
        let parts = [self.actual(&one, ", 0 AS kept_1"), self.stored(&one, &kept)];
        let group = self.group(target);
        format!(
            "SELECT {entity}, {}, {}, {}\nFROM (\n{}\n) AS moved\nGROUP BY {group}\nHAVING {}\n\
             ORDER BY {group}",
            facts.text.replace("{}", DAY),
            sql.total.replace("{}", "kept_1"),
            sql.total.replace("{}", &format!("kept_1 + {}", count(0))),
            in_lines(&parts.join("\nUNION ALL\n"), 4),
            self.is_moved(&one),
        )
    }

    fn group(&self, target: &Target) -> &'static str {
        match target.entity {
            Some(_) => "entity, day",
            None => "day",
        }
    }

    fn is_moved(&self, target: &Target) -> String {
        let sums = (0..target.weights.len()).map(|i| format!("SUM({}) <> 0", count(i)));
        sums.collect::<Vec<_>>().join(" OR ")
    }

    fn start_of(&self, day: &str) -> String {
        let sql = &self.database.facts().trigger;
        match self.definition.period {
            Period::Day => day.to_owned(),
            Period::Week => sql.week.replace("{}", day),
            Period::Month => sql.month.replace("{}", day),
            Period::Year => sql.year.replace("{}", day),
            _ => sql.undated.to_owned(),
        }
    }
}

fn count(i: usize) -> String {
    format!("count_{}", i + 1)
}

/// Indents each line.
pub fn in_lines(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let lines: Vec<_> = text.lines().map(|line| format!("{indent}{line}")).collect();
    lines.join("\n")
}
