//! The counts that are wrong: a query of them, and the statement that corrects them.

use super::counting::Counting;
use super::statement::{Rows, by, numbered, union};
use super::target::Target;

/// The entities whose counts are compared with their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    All,
    /// Those with a row that counts.
    WithRows,
    /// Those without one.
    WithoutRows,
}

/// The name of a query of wrong counts, or of a table of them.
pub const DRIFT: &str = "drift";

impl Counting {
    /// The entities whose counts are corrected. An ordinary column that has the rows of a condition may
    /// be kept by others for entities without such a row.
    pub fn compared(&self, target: &Target) -> Compared {
        match target.slots.is_none() && self.when.is_some() {
            true => Compared::WithRows,
            false => Compared::All,
        }
    }

    /// The query of the wrong counts, as a table of the name [`DRIFT`]: the key, the day of the row if it
    /// has one, the true count of each counter, and its stored count.
    pub fn drift(&self, target: &Target, compared: Compared) -> String {
        let names = self.counter_names(target);
        let stored = names.iter().zip(&target.names);
        let stored: Vec<_> = stored.map(|(_, name)| self.stored_name(name)).collect();
        let marked = compared != Compared::All;
        let mark = |is_row: u8| match marked {
            true => format!(", {is_row} AS counted_rows"),
            false => String::new(),
        };
        let none = stored.iter().map(|name| format!(", 0 AS {name}"));
        let none = none.collect::<String>() + &mark(1);
        let queries = target.sources.iter().enumerate().map(|(place, source)| {
            let used_as = numbered("counted", place);
            let from = format!("FROM {}", self.used_as(&used_as, &self.rows));
            let name = self.database.alias(&used_as, &self.rows);
            let rows = Rows {
                name: &name,
                from: &from,
                minus: false,
                entities: source.entities(),
            };
            self.query(target, source, &rows, &none)
        });
        let zeros = names.iter().map(|_| "0".to_owned());
        let of_stored = self.group(target).into_iter().chain(zeros);
        let of_stored: Vec<_> = of_stored.chain(names.iter().cloned()).collect();
        let of_stored = format!(
            "SELECT {}{} FROM {}",
            of_stored.join(", "),
            mark(0),
            self.used_as("kept", &target.table)
        );
        let queries: Vec<_> = queries.chain([of_stored]).collect();
        let sums = names.iter().chain(&stored);
        let sums = sums.map(|name| format!("SUM({name}) AS {name}"));
        let group = self.group(target);
        let columns: Vec<_> = group.iter().cloned().chain(sums).collect();
        let differ = names.iter().zip(&stored);
        let differ = differ.map(|(name, stored)| format!("SUM({name}) <> SUM({stored})"));
        let differ = differ.collect::<Vec<_>>().join(" OR ");
        let having = match compared {
            Compared::All => differ,
            Compared::WithRows => format!("({differ}) AND SUM(counted_rows) > 0"),
            Compared::WithoutRows => format!("({differ}) AND SUM(counted_rows) = 0"),
        };
        format!(
            "(SELECT {} FROM (\n{}\n) AS moved{} HAVING {having}) AS {DRIFT}",
            columns.join(", "),
            union(&queries),
            by("GROUP", &group.join(", ")),
        )
    }

    /// The column with the stored count of a counter.
    pub fn stored_name(&self, counter: &str) -> String {
        self.database.quoted(&format!("stored_{counter}"))
    }

    /// Adds what the counters lack. `from` is the query of the wrong counts, or a table of them, of the
    /// name [`DRIFT`]; `merged` is the slot of merged rows.
    pub fn correct(&self, target: &Target, from: &str, merged: &str) -> String {
        let missing = |counter: &str| {
            let [name, stored] = [self.database.quoted(counter), self.stored_name(counter)];
            (self.sql.minus)(&format!("{DRIFT}.{name}"), &format!("{DRIFT}.{stored}"))
        };
        if target.slots.is_none() {
            return self.add_to_column(target, from, DRIFT, missing);
        }
        let day = match self.group(target).last() {
            Some(day) if self.day.is_some() => day.clone(),
            _ => self.sql.undated.to_owned(),
        };
        let counts = target.names.iter().map(|counter| missing(counter));
        self.add_from(target, from, &day, merged, counts.collect())
    }

    /// Adds 0 to the row of 1970-01-01 of the entities of a table, and so locks them as other corrections
    /// do.
    pub fn lock_in_slots(&self, target: &Target, from: &str, merged: &str) -> String {
        let zeros = target.names.iter().map(|_| "0".to_owned()).collect();
        self.add_from(target, from, self.sql.undated, merged, zeros)
    }

    fn add_from(
        &self,
        target: &Target,
        from: &str,
        day: &str,
        slot: &str,
        counts: Vec<String>,
    ) -> String {
        let key = target.entity.iter();
        let key = key.map(|key| self.database.quoted(&key.name));
        let key: Vec<_> = key.collect();
        let columns = key.iter().cloned();
        let columns = columns.chain([day.to_owned(), slot.to_owned()]);
        let columns: Vec<_> = columns.chain(counts).collect();
        let has_own_day = self.day.is_some() && day != self.sql.undated;
        let order = key.into_iter().chain(has_own_day.then(|| day.to_owned()));
        let order = match &*order.collect::<Vec<_>>().join(", ") {
            // Otherwise SQLite takes what follows for a part of a join.
            "" => " WHERE true".to_owned(),
            order => by("ORDER", order),
        };
        let query = format!("SELECT {} FROM {from}{order}", columns.join(", "));
        self.add(target, &query)
    }
}
