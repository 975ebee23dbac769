//! Expressions of the rows to count: what a template has holes for.

use super::counting::Counting;
use super::target::{Source, Target};
use crate::catalogue::{Column, Table};
use crate::database::{Joined, MYSQL, SQLITE};

pub const OLD: &str = "OLD";
pub const NEW: &str = "NEW";

/// Rows to add to the counters, or to take from them.
pub struct Rows<'a> {
    /// The name of a row in expressions, or nothing.
    pub name: &'a str,
    /// The table of the rows, or nothing.
    pub from: &'a str,
    pub sign: Sign,
    pub entities: Entities,
}

/// Whether rows are added or taken off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

/// Whose rows count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entities {
    /// Those of all entities: they exist, an UPDATE finds no row of the others, or the query looks
    /// for them itself.
    All,
    /// Those of entities that exist. A cascade changes and deletes rows after their entity.
    Existing,
    /// Those of entities that exist, and those that an update has moved to another entity, which a
    /// foreign key makes sure of.
    ExistingOrMoved,
}

impl<'a> Rows<'a> {
    /// The old or the new row of a trigger.
    pub fn row(name: &'a str, entities: Entities) -> Self {
        let sign = if name == OLD { Sign::Minus } else { Sign::Plus };
        Rows {
            name,
            from: "",
            sign,
            entities,
        }
    }
}

impl Counting {
    /// The entity of a row, and its own day.
    pub fn key(&self, target: &Target, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let columns = source.entity.iter().zip(&target.entity);
        let entity = columns.map(|(column, key)| {
            let value = self.database.column(rows.name, &column.name);
            // Otherwise SQLite would group by the collation of the first query.
            let is_exact = self.database == SQLITE && key.loose_collation.is_none();
            match &column.loose_collation {
                Some(_) if is_exact => format!("{value} COLLATE BINARY"),
                _ => value,
            }
        });
        let mut key: Vec<_> = entity.collect();
        if self.day.is_some() && target.slots.is_some() {
            key.push(self.day_of(rows.name));
        }
        key
    }

    pub fn entity_of(&self, source: &Source, row: &str) -> Vec<String> {
        self.database.columns(row, &source.entity)
    }

    /// The day on which a row counts.
    pub fn day_of(&self, row: &str) -> String {
        let sql = self.sql;
        let start_of = |day: &str| sql.start_of(self.definition.period, day);
        match &self.day {
            None => start_of(sql.today),
            // A row whose day is NULL counts without a day.
            Some(column) => {
                let day = start_of(&column.of(row, self.database));
                format!("COALESCE({day}, {})", sql.undated)
            }
        }
    }

    /// What a row adds to each counter.
    pub fn counts(&self, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let sign = match rows.sign {
            Sign::Plus => "",
            Sign::Minus => "-",
        };
        let counts = source.weights.iter().map(|weight| match weight {
            None => "0".to_owned(),
            Some(weight) if weight.is_one() => format!("{sign}1"),
            Some(weight) => {
                let value = weight.of(rows.name, self.database);
                sign.to_owned() + &self.sql.weight.replace("{}", &value)
            }
        });
        counts.collect()
    }

    /// The conditions of the rows that count.
    pub fn conditions(&self, target: &Target, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let entity = self.entity_of(source, rows.name);
        let mut conditions = Vec::new();
        for (column, value) in source.entity.iter().zip(&entity) {
            if column.nullable {
                conditions.push(format!("{value} IS NOT NULL"));
            }
        }
        // A name of the parent for each source: MySQL locks each alias once.
        let mut sources = target.sources.iter();
        let place = sources.position(|other| other.entity == source.entity);
        let exists = self.exists(&numbered("parent", place.unwrap_or(0)), target, &entity);
        match rows.entities {
            Entities::All => {}
            Entities::Existing => conditions.extend(exists),
            Entities::ExistingOrMoved => {
                let old = self.entity_of(source, OLD);
                let parents = target.parents.iter().zip(exists);
                conditions.extend(parents.map(|(parent, exists)| {
                    let moved = (self.sql.differs)(&entity[parent.column], &old[parent.column]);
                    format!("({exists} OR {moved})")
                }));
            }
        }
        if let Some(when) = &self.when {
            conditions.push(when.of(rows.name, self.database));
        }
        conditions
    }

    /// Conditions that are true if an entity exists. `entity` has an expression for each column of
    /// its key.
    pub fn exists(&self, used_as: &str, target: &Target, entity: &[String]) -> Vec<String> {
        let parents = target.parents.iter().map(|parent| {
            let column = &target.entity[parent.column];
            let value = &entity[parent.column];
            let alias = self.database.alias(used_as, &parent.table);
            let key = self.database.column(&alias, &parent.key);
            let is_key = self.database.is_same(column, &key, value);
            let table = self.used_as(used_as, &parent.table);
            format!("EXISTS (SELECT 1 FROM {table} WHERE {is_key})")
        });
        parents.collect()
    }

    /// A table under the name that it has in a query.
    pub fn used_as(&self, used_as: &str, table: &Table) -> String {
        let alias = self.database.alias(used_as, table);
        format!("{} AS {alias}", self.database.table_name(table))
    }

    /// A condition that is true if the row `row` has this key.
    pub fn is_key(&self, key: &[Column], row: &str, values: &[String]) -> String {
        if key.is_empty() {
            return "1 = 1".to_owned();
        }
        let keys = key.iter().zip(values).map(|(key, value)| {
            let name = self.database.column(row, &key.name);
            self.database.is_same(key, &name, value)
        });
        keys.joined(" AND ")
    }

    /// A condition that is true if `one` and `other` have the same key.
    pub fn same_key(&self, target: &Target, one: &str, other: &str) -> String {
        let other = self.database.columns(other, &target.entity);
        self.is_key(&target.entity, one, &other)
    }

    /// Whether an update has changed what a row adds.
    pub fn changed(&self, source: &Source) -> String {
        let values_of = |row: &str| {
            let mut values = self.entity_and_day(source, row);
            let expressions = source.weights.iter().flatten().chain(&self.when);
            let variable = expressions.filter(|one| !one.is_one());
            values.extend(variable.map(|one| one.of(row, self.database)));
            values
        };
        let pairs = values_of(NEW).into_iter().zip(values_of(OLD));
        let differ = pairs.map(|(new, old)| (self.sql.differs)(&new, &old));
        match &*differ.collect::<Vec<_>>() {
            // A row that always adds 1 to the only row of a table.
            [] => "1 = 0".to_owned(),
            [one] => one.clone(),
            several => format!("({})", several.join(" OR ")),
        }
    }

    /// Conditions that are true if an update leaves a row with its entity and its day, and it still
    /// counts. `new` and `old` are the names of the row.
    pub fn stays(&self, source: &Source, new: &str, old: &str) -> Vec<String> {
        let new_values = self.entity_and_day(source, new);
        let old_values = self.entity_and_day(source, old);
        let pairs = new_values.into_iter().zip(old_values);
        let same = pairs.map(|(new, old)| format!("NOT ({})", (self.sql.differs)(&new, &old)));
        let counts = self.when.iter().map(|when| when.of(new, self.database));
        same.chain(counts).collect()
    }

    /// The columns of a row that name its entity, and its own day if it has one: as the row has it,
    /// and not the first day of its period.
    fn entity_and_day(&self, source: &Source, row: &str) -> Vec<String> {
        let mut values = self.entity_of(source, row);
        values.extend(self.day.iter().map(|day| day.of(row, self.database)));
        values
    }

    /// The columns of an entity's key, and of the day of a row.
    pub fn group(&self, target: &Target) -> Vec<String> {
        let mut group = self.database.columns("", &target.entity);
        if let Some(slots) = &target.slots
            && self.day.is_some()
        {
            group.push(self.database.quoted(&slots.day.name));
        }
        group
    }

    pub fn counter_names(&self, target: &Target) -> Vec<String> {
        let names = target.names.iter();
        names.map(|name| self.database.quoted(name)).collect()
    }

    /// The condition of the rows of an ordinary table in which rows are counted, if there is one.
    pub fn only(&self, target: &Target, row: &str) -> Vec<String> {
        let only = target.only.iter();
        only.map(|only| only.of(row, self.database)).collect()
    }

    /// Sets a counter of the row `row` of an ordinary table to the sum of it and a value.
    pub fn set(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        place: Place,
    ) -> String {
        let sum = self.sum(target, counter, row, value, place);
        // An UPDATE of MySQL can join tables. The others name a column that is set by itself.
        let set_in = if self.database == MYSQL { row } else { "" };
        format!("{} = {sum}", self.database.column(set_in, counter))
    }

    /// The sum of a counter and a value, or an error if it is out of the range of the column.
    pub fn sum(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        place: Place,
    ) -> String {
        let sum = format!("{} + {value}", self.database.column(row, counter));
        let Some(range) = target.table.range(counter) else {
            return self.sql.whole(sum);
        };
        let least = range.start();
        let greatest = range.end();
        let overflow = match place {
            Place::Trigger => self.sql.overflow.in_trigger,
            Place::Statement => self.sql.overflow.elsewhere,
        };
        let what = format!("integer overflow of {}.{counter}", target.table);
        let fails = overflow
            .replace("{what}", &self.database.literal(&what))
            .replace("{sum}", &sum);
        format!("CASE WHEN {sum} BETWEEN {least} AND {greatest} THEN {sum} ELSE {fails} END")
    }
}

/// Where a sum is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Trigger,
    Statement,
}

impl Target {
    /// Of which entities rows count. An UPDATE of an ordinary column finds no row of an entity that
    /// is gone.
    pub fn entities(&self, source: &Source) -> Entities {
        match self.slots {
            Some(_) if !source.exists => Entities::Existing,
            _ => Entities::All,
        }
    }
}

/// `parent`, and then `parent2`: a name for each of several uses.
pub fn numbered(used_as: &str, place: usize) -> String {
    match place {
        0 => used_as.to_owned(),
        place => format!("{used_as}{}", place + 1),
    }
}

/// Values, each with the name that it has in a query.
pub fn named(values: Vec<String>, names: &[String]) -> Vec<String> {
    let named = |(value, name)| format!("{value} AS {name}");
    values.into_iter().zip(names).map(named).collect()
}
