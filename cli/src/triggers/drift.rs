//! The counts that are wrong: a query of them, and the statement that corrects them.

use super::counting::Counting;
use super::statement::{Rows, by, clause, numbered, union};
use super::target::Target;
use crate::database::Joined;

/// The entities whose counts are compared with their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    All,
    /// Those with a row that counts.
    WithRows,
}

impl Counting {
    /// The entities whose counts are corrected. An ordinary column that has the rows of a condition may
    /// be kept by others for entities without such a row, unless the definition says which rows are its own.
    pub fn compared(&self, target: &Target) -> Compared {
        let is_own = target.only.is_some() || target.entity.is_empty();
        match target.slots.is_none() && self.when.is_some() && !is_own {
            true => Compared::WithRows,
            false => Compared::All,
        }
    }

    /// The query of the wrong counts, as a table of the name `drift_name`: the key, the day of the row if it
    /// has one, the true count of each counter, and its stored count. `batch` is the name of a table of the
    /// entities to compare, for each of its uses.
    pub fn drift(
        &self,
        target: &Target,
        compared: Compared,
        batch: Option<&dyn Fn(usize) -> String>,
    ) -> String {
        let (group, names) = (self.group(target), self.counter_names(target));
        let stored = target.names.iter().map(|name| self.stored_name(name));
        let stored: Vec<_> = stored.collect();
        let [counted_rows, kept_rows] = ["counted_rows", "kept_rows"].map(|name| self.free(name));
        let counted = (compared == Compared::WithRows).then_some(&counted_rows);
        let kept = target.can_lack_entities().then_some(&kept_rows);
        let marks: Vec<_> = counted.into_iter().chain(kept).collect();
        let mark = |rows: &String| -> String {
            let mark = |name: &&String| format!(", {} AS {name}", u8::from(*name == rows));
            marks.iter().map(mark).collect()
        };
        let none = stored.iter().map(|name| format!(", 0 AS {name}"));
        let none = none.collect::<String>() + &mark(&counted_rows);
        let in_batch = |place: usize, entity: &[String]| {
            let is_same = self.is_key(&target.entity, "locked", entity);
            let join = |batch| format!(" JOIN {batch} AS locked ON {is_same}");
            batch.map_or(String::new(), |batch| join(batch(place)))
        };
        let queries = target.sources.iter().enumerate().map(|(place, source)| {
            let used_as = numbered("counted", place);
            let name = self.database.alias(&used_as, &self.rows);
            let in_batch = in_batch(place, &self.entity_of(source, &name));
            let from = format!("FROM {}{in_batch}", self.used_as(&used_as, &self.rows));
            let rows = Rows::new(&name, &from, false, target.entities(source));
            self.query(target, source, &rows, &none)
        });
        let kept = self.database.alias("kept", &target.table);
        let of_kept = |name: &String| format!("{kept}.{name}");
        let zeros = names.iter().map(|_| "0".to_owned());
        let columns = group.iter().map(of_kept).chain(zeros);
        let columns = columns.chain(names.iter().map(of_kept));
        let entity = self.database.columns(&kept, &target.entity);
        let kept = format!(
            "SELECT {}{} FROM {}{}{}",
            columns.joined(", "),
            mark(&kept_rows),
            self.used_as("kept", &target.table),
            in_batch(target.sources.len(), &entity),
            clause(" WHERE ", self.only(target, &kept), ""),
        );
        let queries: Vec<_> = queries.chain([kept]).collect();
        let sums = names.iter().chain(&stored);
        let sums = sums.map(|name| format!("SUM({name}) AS {name}"));
        let columns = group.iter().cloned().chain(sums).joined(", ");
        let differ = names.iter().zip(&stored);
        let differ = differ.map(|(name, stored)| format!("SUM({name}) <> SUM({stored})"));
        let mut having = differ.joined(" OR ");
        if !marks.is_empty() {
            let marked = marks.iter().map(|name| format!("SUM({name}) > 0"));
            having = format!("({having}) AND {}", marked.joined(" AND "));
        }
        format!(
            "(SELECT {columns} FROM (\n{}\n) AS moved{} HAVING {having}) AS {}",
            union(&queries),
            by("GROUP", &group),
            self.drift_name(),
        )
    }

    pub fn stored_name(&self, counter: &str) -> String {
        let stored = self.free("stored");
        self.database.quoted(&format!("{stored}_{counter}"))
    }

    /// The name of a query of wrong counts, or of a table of them.
    pub fn drift_name(&self) -> String {
        self.free("drift")
    }

    /// Adds what the counters lack. `from` is the query of the wrong counts, or a table of them, of the
    /// name `drift_name`; `merged` is the slot of merged rows.
    pub fn correct(&self, target: &Target, from: &str, merged: &str) -> String {
        let drift = self.drift_name();
        let missing = |counter: &str| {
            let [name, stored] = [self.database.quoted(counter), self.stored_name(counter)];
            format!("{drift}.{name} - {drift}.{stored}")
        };
        if target.slots.is_none() {
            let missing = |counter: &str| format!("({})", missing(counter));
            return self.add_to_column(target, from, &drift, missing);
        }
        let whole = |counter: &String| self.sql.whole(missing(counter));
        let counts = target.names.iter().map(whole).collect();
        self.add_from(target, from, self.day.is_some(), merged, counts)
    }

    /// Adds 0 to the row of 1970-01-01 of the entities of a table that exist, and so locks them as other
    /// corrections do. `from` ends in the name `locked`.
    pub fn lock_in_slots(&self, target: &Target, from: &str, merged: &str) -> String {
        let zeros = target.names.iter().map(|_| "0".to_owned());
        let key = self.database.columns("locked", &target.entity);
        let exist = clause(" WHERE ", self.exists("parent", target, &key), " AND ");
        let from = format!("{from}{exist}");
        self.add_from(target, &from, false, merged, zeros.collect())
    }

    /// Adds rows, which have a day of their own or count on 1970-01-01.
    fn add_from(
        &self,
        target: &Target,
        from: &str,
        own_day: bool,
        slot: &str,
        counts: Vec<String>,
    ) -> String {
        let mut key = self.group(target);
        key.truncate(target.entity.len() + usize::from(own_day));
        // The name of another column could be the same, such as that of a date.
        let places = (1..=key.len()).map(|place| place.to_string());
        let mut order = by("ORDER", &places.collect::<Vec<_>>());
        if order.is_empty() {
            // Otherwise SQLite takes what follows for a part of a join.
            order += " WHERE true";
        }
        let undated = (!own_day).then(|| self.sql.undated.to_owned());
        let columns = key.into_iter().chain(undated).chain([slot.to_owned()]);
        let columns = columns.chain(counts).joined(", ");
        self.add(target, &format!("SELECT {columns} FROM {from}{order}"))
    }
}
