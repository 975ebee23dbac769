//! Expressions over the rows to count, which templates have holes for.

use super::counting::Counting;
use super::expression::Expression;
use super::target::{Source, Target};
use super::values::{is_one, plus};
use crate::catalogue::{Column, Kind, Table};
use crate::database::{Joined, MYSQL, SQLITE};

pub const OLD: &str = "OLD";
pub const NEW: &str = "NEW";

/// Aliases for the rows that are gone, for those that a statement has changed, and for those that
/// exist before the triggers.
pub const GONE: &str = "gone";
pub const CHANGES: &str = "changes";
pub const COUNTED: &str = "counted";

/// The alias for the stored counts.
pub const KEPT: &str = "kept";

/// Rows to add to the counters, or to take off them.
pub struct RowsToCount<'a> {
    /// The row's name in expressions, or nothing.
    pub name: &'a str,
    /// The table of the rows, or nothing.
    pub from: &'a str,
    /// How many queries of other definitions come before, in the same statement.
    pub uses_before: usize,
    pub sign: Sign,
    pub entities: Entities,
}

/// Whether rows are added or taken off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

/// Which entities' rows count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entities {
    /// The rows of all entities: either they all exist, or an UPDATE finds no row for the others,
    /// or the query looks for them itself.
    All,
    /// The rows of entities that exist. A cascade changes and deletes rows after their entity.
    Existing,
    /// The rows of entities that exist, and those that an update has moved to another entity,
    /// because a foreign key makes sure that it exists.
    ExistingOrMoved,
}

impl<'a> RowsToCount<'a> {
    /// A trigger's old or new row.
    pub fn row(name: &'a str, entities: Entities) -> Self {
        let sign = if name == OLD { Sign::Minus } else { Sign::Plus };
        RowsToCount {
            name,
            from: "",
            uses_before: 0,
            sign,
            entities,
        }
    }
}

impl Counting {
    /// Returns a row's entity, and its own day.
    pub fn key(&self, target: &Target, source: &Source, rows: &RowsToCount<'_>) -> Vec<String> {
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

    /// SQL for the day that a row counts on.
    pub fn day_of(&self, row: &str) -> String {
        let sql = self.sql;
        let start_of = |day: &str| sql.start_of(self.period, day);
        match &self.day {
            None => start_of(sql.today),
            Some(column) => {
                let day = start_of(&column.of(row, self.database));
                // If a row's day is NULL, it counts without a day.
                if column.can_be_null(self.database) {
                    format!("COALESCE({day}, {})", sql.undated)
                } else {
                    day
                }
            }
        }
    }

    /// Returns what a row adds to every counter.
    pub fn counts(&self, source: &Source, rows: &RowsToCount<'_>) -> Vec<String> {
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

    /// Whether a weight is an integer column that is never NULL.
    fn is_integer(&self, weight: &Expression) -> bool {
        let mut columns = self.rows.columns.iter();
        let column = columns.find(|column| column.name == weight.text);
        column.is_some_and(|column| {
            // Negating an unsigned number is an error.
            let has_sign = matches!(column.kind, Kind::Integer | Kind::BigInt);
            !column.nullable && has_sign
        })
    }

    /// Whether columns only have values of their type. SQLite allows any value in any column,
    /// unless the table is STRICT.
    fn has_exact_types(&self) -> bool {
        self.database != SQLITE || self.rows.strict
    }

    /// Conditions for rows to count.
    pub fn conditions(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
    ) -> Vec<String> {
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
                let uses_before = self.uses_before(target, source, rows.uses_before);
                conditions.extend(self.exists_at(uses_before, target, &entity));
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

    /// Returns what tells apart texts that the rows' collation treats as equal but a key on MySQL
    /// doesn't. `row` is the alias of the rows, or empty if they have the key's names.
    pub fn exact_values(&self, target: &Target, row: &str) -> Vec<String> {
        let mut values = Vec::new();
        for (index, key) in target.entity.iter().enumerate() {
            let columns = target.sources.iter().map(|source| &source.entity[index]);
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

    /// Writes a table with its alias in a query.
    pub fn used_as(&self, used_as: &str, table: &Table) -> String {
        format!("{} AS {used_as}", self.database.table_name(table))
    }

    /// A condition that the row `row` has this key.
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

    /// A condition that `one` and `other` have the same key.
    pub fn same_key(&self, target: &Target, one: &str, other: &str) -> String {
        let other = self.database.columns(other, &target.entity);
        self.is_key(&target.entity, one, &other)
    }

    /// Returns the columns of an entity's key, and of a row's day.
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

    /// The condition for rows of an ordinary table to be counted in, if there is one.
    pub fn only(&self, target: &Target, row: &str) -> Vec<String> {
        let only = target.only.iter();
        only.map(|only| only.of(row, self.database)).collect()
    }

    /// Adds a value to a counter, in the row `row` of an ordinary table.
    pub fn set(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        context: SumContext,
    ) -> String {
        let sum = self.sum(target, counter, row, value, context);
        // An UPDATE on MySQL can join tables. The others don't allow a table before the column that
        // is set.
        let set_in = if self.database == MYSQL { row } else { "" };
        format!("{} = {sum}", self.database.column(set_in, counter))
    }

    /// The sum of a counter and a value, or an error if the column can't hold it. Only SQLite needs
    /// SQL for that.
    pub fn sum(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        context: SumContext,
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
        let fails = match context {
            SumContext::Trigger => format!("RAISE(ABORT, {})", self.database.literal(&what)),
            // RAISE only works in triggers.
            SumContext::Statement => OVERFLOW.to_owned(),
        };
        let between = match context {
            SumContext::Trigger => " ",
            SumContext::Statement => "\n    ",
        };
        format!(
            "CASE WHEN {sum} BETWEEN {minimum} AND {maximum}{between}THEN {sum} ELSE {fails} END"
        )
    }
}

/// Fails with "integer overflow" on SQLite, because the minimum integer has no `abs`.
pub const OVERFLOW: &str = "abs(-9223372036854775807 - 1)";

/// Where a sum is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SumContext {
    Trigger,
    Statement,
}

impl Target {
    /// Returns which entities' rows count. In an ordinary table, an UPDATE finds no row for an
    /// entity that is gone.
    pub fn entities(&self, source: &Source) -> Entities {
        match self.slots {
            Some(_) if !source.exists => Entities::Existing,
            _ => Entities::All,
        }
    }
}

/// Numbers a name for each of its uses: `parent`, and then `parent2`.
pub fn numbered(used_as: &str, uses_before: usize) -> String {
    match uses_before {
        0 => used_as.to_owned(),
        uses_before => format!("{used_as}{}", uses_before + 1),
    }
}

/// Gives every value its name in a query.
pub fn named(values: Vec<String>, names: &[String]) -> Vec<String> {
    let named = |(value, name)| format!("{value} AS {name}");
    values.into_iter().zip(names).map(named).collect()
}
