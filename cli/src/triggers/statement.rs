//! Expressions of the rows to count: what a template has holes for.

use super::counting::Counting;
use super::expression::Expression;
use super::target::{Source, Target};
use super::values::{is_one, plus};
use crate::catalogue::{Column, Kind, Table};
use crate::database::{Joined, MYSQL, POSTGRES, SQLITE};

pub const OLD: &str = "OLD";
pub const NEW: &str = "NEW";

/// Rows that are gone, and those that a statement has changed; and the rows that are there before
/// the triggers.
pub const GONE: &str = "gone";
pub const CHANGES: &str = "changes";
pub const COUNTED: &str = "counted";

/// What is stored already.
pub const KEPT: &str = "kept";

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
            Some(column) => {
                let day = start_of(&column.of(row, self.database));
                // A row whose day is NULL counts without a day.
                if column.can_be_null(self.database) {
                    format!("COALESCE({day}, {})", sql.undated)
                } else {
                    day
                }
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
                let is_integer = self.is_integer(weight);
                if is_integer && self.has_exact_types() {
                    sign.to_owned() + &value
                } else if is_integer {
                    format!("{sign}CAST({value} AS INTEGER)")
                } else {
                    sign.to_owned() + &self.sql.weight.replace("{}", &value)
                }
            }
        });
        counts.collect()
    }

    /// Whether a weight is a column of integers that isn't NULL in any row.
    fn is_integer(&self, weight: &Expression) -> bool {
        let mut columns = self.rows.columns.iter();
        let column = columns.find(|column| column.name == weight.text);
        column.is_some_and(|column| {
            // The negative of a number without a sign is an error.
            let has_sign = matches!(column.kind, Kind::Integer | Kind::BigInt);
            !column.nullable && has_sign
        })
    }

    /// Whether a column has values of its type only. SQLite lets any value be in a column, unless
    /// the table is STRICT.
    fn has_exact_types(&self) -> bool {
        self.database != SQLITE || self.rows.strict
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
        match rows.entities {
            Entities::All => {}
            Entities::Existing => {
                let used_as = self.parent_of(target, source);
                conditions.extend(self.exists_in(used_as.as_deref(), target, &entity));
            }
            Entities::ExistingOrMoved => {
                let exists = self.exists(target, &entity);
                let old = self.entity_of(source, OLD);
                let parents = target.parents.iter().zip(exists);
                conditions.extend(parents.map(|(parent, exists)| {
                    let (old, new) = (&old[parent.column], &entity[parent.column]);
                    format!("({exists} OR NOT ({}))", self.database.are_same(old, new))
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
    pub fn exists(&self, target: &Target, entity: &[String]) -> Vec<String> {
        self.exists_in(None, target, entity)
    }

    /// The same, with another name for the tables of the parents.
    fn exists_in(&self, used_as: Option<&str>, target: &Target, entity: &[String]) -> Vec<String> {
        let something = if self.database == POSTGRES { "" } else { " 1" };
        let parents = target.parents.iter().map(|parent| {
            let value = &entity[parent.column];
            let table = self.database.table_name(&parent.table);
            let (from, name) = match used_as {
                None => (table.clone(), table),
                Some(alias) => (format!("{table} AS {alias}"), alias.to_owned()),
            };
            let key = self.database.column(&name, &parent.key);
            format!("EXISTS (SELECT{something} FROM {from} WHERE {key} = {value})")
        });
        parents.collect()
    }

    /// What a parent's table is called in the query of a source, if that isn't its own name. A
    /// statement of MySQL that runs under LOCK TABLES can use a name once.
    fn parent_of(&self, target: &Target, source: &Source) -> Option<String> {
        let mut sources = target.sources.iter();
        let place = sources.position(|other| other.entity == source.entity);
        match place {
            Some(place @ 1..) if self.database == MYSQL => {
                let name = format!("parent{}_{}", place + 1, target.table.name);
                Some(self.database.quoted(&name))
            }
            _ => None,
        }
    }

    /// What tells apart the texts of a key of MySQL that the rows' own collation takes as equal.
    /// `row` is the name of the rows, or nothing if they have the names of the key.
    pub fn exact_values(&self, target: &Target, row: &str) -> Vec<String> {
        let mut values = Vec::new();
        for (place, key) in target.entity.iter().enumerate() {
            let columns = target.sources.iter().map(|source| &source.entity[place]);
            let mut loose = columns.filter(|column| column.loose_collation.is_some());
            let (Some(column), None, MYSQL) = (loose.next(), &key.loose_collation, self.database)
            else {
                continue;
            };
            let column = if row.is_empty() { key } else { column };
            values.push(format!(
                "CAST({} AS BINARY)",
                self.database.column(row, &column.name)
            ));
        }
        values
    }

    /// Says why the counts of an entity that is gone aren't changed.
    pub fn why_existing(&self, target: &Target) -> String {
        let tables = target.parents.iter().map(|parent| parent.table.to_string());
        match &*tables.joined(" and ") {
            "" => String::new(),
            tables => format!("Where {tables} are being deleted, their counts go with them."),
        }
    }

    /// The tables in which the query of a source looks for entities, under the names that they have
    /// there.
    pub fn parents_in_query(&self, target: &Target, source: &Source) -> Vec<String> {
        let used_as = self.parent_of(target, source);
        let tables = target.parents.iter().map(|parent| match &used_as {
            None => self.database.table_name(&parent.table),
            Some(alias) => self.used_as(alias, &parent.table),
        });
        tables.collect()
    }

    /// A table under the name that it has in a query.
    pub fn used_as(&self, used_as: &str, table: &Table) -> String {
        format!("{} AS {used_as}", self.database.table_name(table))
    }

    /// A condition that is true if the row `row` has this key.
    pub fn is_key(&self, key: &[Column], row: &str, values: &[String]) -> String {
        if key.is_empty() {
            return "1 = 1".to_owned();
        }
        let keys = key
            .iter()
            .zip(values)
            .map(|(key, value)| format!("{} = {value}", self.database.column(row, &key.name)));
        keys.joined(" AND ")
    }

    /// A condition that is true if `one` and `other` have the same key.
    pub fn same_key(&self, target: &Target, one: &str, other: &str) -> String {
        let other = self.database.columns(other, &target.entity);
        self.is_key(&target.entity, one, &other)
    }

    /// Whether an update has changed what a row adds.
    pub fn changed(&self, target: &Target, source: &Source) -> String {
        self.differ(|row| self.values(target, source, row))
    }

    /// Whether an update has changed what a row adds anywhere.
    pub fn changed_anywhere(&self) -> String {
        self.differ(|row| {
            let sources = self.sources();
            let all = sources.flat_map(|(target, source)| self.values(target, source, row));
            let mut values: Vec<String> = Vec::new();
            for value in all {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            values
        })
    }

    /// All that decides what a row adds.
    fn values(&self, target: &Target, source: &Source, row: &str) -> Vec<String> {
        let columns = source.entity.iter();
        let mut values: Vec<_> = columns.map(|column| self.exactly(column, row)).collect();
        // A row that keeps its count counts again on another day.
        if target.slots.is_some() || self.keeps_deleted() {
            values.extend(self.exact_day(row));
        }
        let expressions = source.weights.iter().flatten().chain(&self.when);
        let variable = expressions.filter(|one| !one.is_one());
        values.extend(variable.map(|one| one.of(row, self.database)));
        values
    }

    fn differ(&self, values_of: impl Fn(&str) -> Vec<String>) -> String {
        let (old, new) = (values_of(OLD), values_of(NEW));
        match (self.database, &*old) {
            // A row that always adds 1 to the only row of a table.
            (_, []) => "1 = 0".to_owned(),
            (SQLITE, [old]) => format!("{old} IS NOT {}", new[0]),
            (SQLITE, _) => format!("({}) IS NOT ({})", old.join(", "), new.join(", ")),
            (database, _) => {
                let pairs = old.iter().zip(&new);
                let same: Vec<_> = pairs
                    .map(|(old, new)| database.are_same(old, new))
                    .collect();
                // A line of three comparisons would be long.
                let and = if same.len() > 2 {
                    "\n        AND "
                } else {
                    " AND "
                };
                format!("NOT ({})", same.join(and))
            }
        }
    }

    /// Conditions that are true if an update leaves a row with its entity and its day, and it still
    /// counts. `new` and `old` are the names of the row.
    pub fn stays(&self, source: &Source, new: &str, old: &str) -> Vec<String> {
        let new_values = self.entity_and_day(source, new);
        let old_values = self.entity_and_day(source, old);
        let pairs = old_values.iter().zip(&new_values);
        let same = pairs.map(|(old, new)| self.database.are_same(old, new));
        let counts = self.when.iter().map(|when| when.of(new, self.database));
        same.chain(counts).collect()
    }

    /// The columns of a row that name its entity, and its own day if it has one: as the row has it,
    /// and not the first day of its period.
    fn entity_and_day(&self, source: &Source, row: &str) -> Vec<String> {
        let columns = source.entity.iter();
        let mut values: Vec<_> = columns.map(|column| self.exactly(column, row)).collect();
        values.extend(self.exact_day(row));
        values
    }

    /// A row's own day.
    fn exact_day(&self, row: &str) -> Option<String> {
        let day = self.day.as_ref()?;
        Some(match &*day.sql_type {
            "date" => self.database.column(row, &day.name),
            _ => day.of(row, self.database),
        })
    }

    /// A column of a row, as a value that differs from each other one. A collation can take several
    /// texts as equal.
    fn exactly(&self, column: &Column, row: &str) -> String {
        let value = self.database.column(row, &column.name);
        match (self.database, &column.loose_collation) {
            (MYSQL, Some(_)) => format!("CAST({value} AS BINARY)"),
            (SQLITE, Some(_)) => format!("{value} COLLATE BINARY"),
            _ => value,
        }
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

    /// The sum of a counter and a value, or an error if it is out of the range of the column. SQLite
    /// alone has to be told.
    pub fn sum(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        place: Place,
    ) -> String {
        let sum = plus(&self.database.column(row, counter), value);
        if self.database != SQLITE || is_one(value) {
            return sum;
        }
        let Some(range) = target.table.range(counter) else {
            return self.sql.whole(sum);
        };
        let (minimum, maximum) = (range.start(), range.end());
        let what = format!("integer overflow of {}.{counter}", target.table);
        let fails = match place {
            Place::Trigger => format!("RAISE(ABORT, {})", self.database.literal(&what)),
            // RAISE is known in triggers only.
            Place::Statement => OVERFLOW.to_owned(),
        };
        format!("CASE WHEN {sum} BETWEEN {minimum} AND {maximum} THEN {sum} ELSE {fails} END")
    }
}

/// `abs` of the minimum integer fails with "integer overflow" on SQLite.
pub const OVERFLOW: &str = "abs(-9223372036854775807 - 1)";

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
