//! The counts that are wrong: a view of them, and the statement that corrects them.

use super::counting::Counting;
use super::statement::{Rows, by, union};
use super::target::Target;
use crate::catalogue::Column;

impl Counting {
    /// The query of a view of the wrong counts. It is grouped by the row's own day, or not by day.
    pub fn drift(&self, target: &Target) -> String {
        let names = self.counter_names(target);
        let stored = self.stored_names(target);
        let none = stored.iter().map(|name| format!(", 0 AS {name}"));
        let none = none.collect::<String>();
        let from = format!("FROM {} AS counted", self.database.table_name(&self.rows));
        let queries = target.sources.iter().map(|source| {
            let rows = Rows {
                name: "counted",
                from: &from,
                minus: false,
                entities: source.entities(),
            };
            self.query(target, source, &rows, &none)
        });
        let zeros = names.iter().map(|_| "0".to_owned());
        let of_stored = self.group(target).into_iter().chain(zeros);
        let of_stored: Vec<_> = of_stored.chain(names.iter().cloned()).collect();
        let table = self.database.table_name(&target.table);
        let of_stored = format!("SELECT {} FROM {table}", of_stored.join(", "));
        let queries: Vec<_> = queries.chain([of_stored]).collect();
        let sums = names.iter().chain(&stored);
        let sums = sums.map(|name| format!("SUM({name}) AS {name}"));
        let group = self.group(target);
        let differ = names.iter().zip(&stored);
        let differ = differ.map(|(name, stored)| format!("SUM({name}) <> SUM({stored})"));
        format!(
            "SELECT {} FROM (\n{}\n) AS moved{} HAVING {}",
            group
                .iter()
                .cloned()
                .chain(sums)
                .collect::<Vec<_>>()
                .join(", "),
            union(&queries),
            by("GROUP", &group.join(", ")),
            differ.collect::<Vec<_>>().join(" OR "),
        )
    }

    fn stored_names(&self, target: &Target) -> Vec<String> {
        let names = target.names.iter();
        names.map(|name| self.stored_name(name)).collect()
    }

    fn stored_name(&self, counter: &str) -> String {
        self.database.quoted(&format!("stored_{counter}"))
    }

    /// Adds what the counters lack, as the view says.
    pub fn correct(&self, target: &Target) -> String {
        let from = &*self.database.quoted(&target.drift);
        let missing = |row: &str, counter: &str| {
            let name = self.database.quoted(counter);
            (self.sql.minus)(
                &(row.to_owned() + &name),
                &(row.to_owned() + &self.stored_name(counter)),
            )
        };
        if target.slots.is_none() {
            let of_view = format!("{from}.");
            return self.add_to_column(target, from, from, |counter| missing(&of_view, counter));
        }
        let key = self.entity_names(target);
        let day = match self.group(target).last() {
            Some(day) if self.day.is_some() => day.clone(),
            _ => self.sql.undated.to_owned(),
        };
        let merged = self.database.0.merged_slot();
        let counts = target.names.iter().map(|counter| missing("", counter));
        let columns = key.into_iter().chain([day, merged]).chain(counts);
        let order = match &*self.group(target).join(", ") {
            // Otherwise SQLite takes what follows for a part of a join.
            "" => " WHERE true".to_owned(),
            group => by("ORDER", group),
        };
        let columns = columns.collect::<Vec<_>>().join(", ");
        let query = format!("SELECT {columns} FROM {from}{order}");
        self.add(target, &query)
    }

    fn entity_names(&self, target: &Target) -> Vec<String> {
        let name = |column: &Column| self.database.quoted(&column.name);
        target.entity.iter().map(name).collect()
    }
}
