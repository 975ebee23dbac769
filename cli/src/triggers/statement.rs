//! Expressions over the rows to count, which templates have holes for.

use super::counting::Counting;
use super::expression::Expression;
use super::target::{Source, Target};
use super::values::{is_one, plus};
use crate::catalogue::{Column, Kind, Table};
use crate::database::{MYSQL, SQLITE};

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
    /// Returns a trigger's row: `OLD`, which is taken off, or `NEW`, which is added. A trigger
    /// needs no query for it.
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
    /// Returns SQL for the values of a row's key: its entity, and its day if the row has its own.
    pub fn key_values(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
    ) -> Vec<String> {
        let mut key = Vec::new();
        for (column, key_column) in source.entity.iter().zip(&target.entity) {
            let mut value = self.database.column(rows.name, &column.name);
            // SQLite would group a union by the collation of its first query, which can treat
            // different texts as equal.
            let is_looser =
                column.loose_collation.is_some() && key_column.loose_collation.is_none();
            if self.database == SQLITE && is_looser {
                value += " COLLATE BINARY";
            }
            key.push(value);
        }
        if self.day.is_some() && target.slots.is_some() {
            key.push(self.day_of(rows.name));
        }
        key
    }

    /// Returns the columns of the row `row` that name its entity.
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
                let day = start_of(&column.for_row(row, self.database));
                // If a row's day is NULL, it counts without a day.
                if column.can_be_null(self.database) {
                    format!("COALESCE({day}, {})", sql.undated)
                } else {
                    day
                }
            }
        }
    }

    /// Returns what a row adds to every counter, such as `1`, `-1` or `-NEW.stars`.
    pub fn counts(&self, source: &Source, rows: &RowsToCount<'_>) -> Vec<String> {
        let sign = match rows.sign {
            Sign::Plus => "",
            Sign::Minus => "-",
        };
        let counts = source.weights.iter().map(|weight| match weight {
            None => "0".to_owned(),
            Some(weight) if weight.is_one() => format!("{sign}1"),
            Some(weight) => format!("{sign}{}", self.as_integer(weight, rows.name)),
        });
        counts.collect()
    }

    /// Returns SQL for a row's weight as an integer. NULL is 0.
    fn as_integer(&self, weight: &Expression, row: &str) -> String {
        let value = weight.for_row(row, self.database);
        if !self.is_integer_column(weight) {
            self.sql.weight.replace("{}", &value)
        } else if self.has_exact_types() {
            value
        } else {
            format!("CAST({value} AS INTEGER)")
        }
    }

    /// Whether a weight is only the name of an integer column that is never NULL, so that it needs
    /// no conversion.
    fn is_integer_column(&self, weight: &Expression) -> bool {
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

    /// Returns the conditions for rows to count: their entity isn't NULL, it exists, and the
    /// definition's own condition is true.
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
                for (parent, exists) in target.parents.iter().zip(exists) {
                    let (old, new) = (&old[parent.column], &entity[parent.column]);
                    let has_stayed = self.database.are_same(old, new);
                    conditions.push(format!("({exists} OR NOT ({has_stayed}))"));
                }
            }
        }
        if let Some(when) = &self.when {
            conditions.push(when.for_row(rows.name, self.database));
        }
        conditions
    }

    /// Returns what tells apart texts that the rows' collation treats as equal but a key on MySQL
    /// doesn't: `CAST(counted.name AS BINARY)`. `row` is the alias of the rows, or empty if their
    /// columns already have the key's names.
    pub fn exact_values(&self, target: &Target, row: &str) -> Vec<String> {
        let mut values = Vec::new();
        if self.database != MYSQL {
            return values;
        }
        for (index, key) in target.entity.iter().enumerate() {
            let mut columns = target.sources.iter().map(|source| &source.entity[index]);
            let loose_column = columns.find(|column| column.loose_collation.is_some());
            if let Some(column) = loose_column
                && key.loose_collation.is_none()
            {
                let column = if row.is_empty() { key } else { column };
                let value = MYSQL.column(row, &column.name);
                values.push(format!("CAST({value} AS BINARY)"));
            }
        }
        values
    }

    /// Writes a table with its alias in a query: `likes AS counted`.
    pub fn used_as(&self, alias: &str, table: &Table) -> String {
        format!("{} AS {alias}", self.database.table_name(table))
    }

    /// A condition that a row has these values in its key: `counted.article_id = 7`. `row` is the
    /// row's alias.
    pub fn key_equals(&self, key: &[Column], row: &str, values: &[String]) -> String {
        if key.is_empty() {
            return "1 = 1".to_owned();
        }
        let mut conditions = Vec::new();
        for (column, value) in key.iter().zip(values) {
            let column = self.database.column(row, &column.name);
            conditions.push(format!("{column} = {value}"));
        }
        conditions.join(" AND ")
    }

    /// A condition that two rows have the same key: `kept.article_id = counted.article_id`. Both
    /// are given by their aliases.
    pub fn same_key(&self, target: &Target, row: &str, other_row: &str) -> String {
        let values = self.database.columns(other_row, &target.entity);
        self.key_equals(&target.entity, row, &values)
    }

    /// Returns the columns of a target's key that its rows are grouped by: the entity, and the day
    /// if the counted rows have their own.
    pub fn group(&self, target: &Target) -> Vec<String> {
        let mut group = self.database.columns("", &target.entity);
        if let Some(slots) = &target.slots
            && self.day.is_some()
        {
            group.push(self.database.quoted(&slots.day.name));
        }
        group
    }

    /// Returns the names of a target's counters in SQL.
    pub fn counter_names(&self, target: &Target) -> Vec<String> {
        let names = target.names.iter();
        names.map(|name| self.database.quoted(name)).collect()
    }

    /// Returns the condition for the row `row` of an ordinary table to be counted in. Returns
    /// nothing if the definition has no `only`.
    pub fn only(&self, target: &Target, row: &str) -> Vec<String> {
        let only = target.only.iter();
        only.map(|only| only.for_row(row, self.database)).collect()
    }

    /// Writes an assignment that adds a value to a counter, in the row `row` of an ordinary table:
    /// `likes = articles.likes + 1`.
    pub fn add_to_counter(
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
        let assigned_row = if self.database == MYSQL { row } else { "" };
        let column = self.database.column(assigned_row, counter);
        format!("{column} = {sum}")
    }

    /// The sum of a counter and a value: `articles.likes + 1`. It fails if the column can't hold
    /// that. Only SQLite needs more SQL to make it fail.
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
        let (space, fails) = match context {
            SumContext::Trigger => {
                let message = format!("integer overflow of {}.{counter}", target.table);
                let message = self.database.literal(&message);
                (" ", format!("RAISE(ABORT, {message})"))
            }
            // RAISE only works in triggers.
            SumContext::Statement => ("\n    ", OVERFLOW.to_owned()),
        };
        format!("CASE WHEN {sum} BETWEEN {minimum} AND {maximum}{space}THEN {sum} ELSE {fails} END")
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
    /// Returns which entities' rows count. An ordinary table needs no condition: its UPDATE finds
    /// no row for an entity that is gone.
    pub fn entities(&self, source: &Source) -> Entities {
        if self.slots.is_some() && !source.exists {
            Entities::Existing
        } else {
            Entities::All
        }
    }
}

/// Numbers a name for each of its uses: `parent`, and then `parent2`.
pub fn numbered(name: &str, uses_before: usize) -> String {
    match uses_before {
        0 => name.to_owned(),
        uses_before => format!("{name}{}", uses_before + 1),
    }
}

/// Gives every value its name in a query: `SUM(stars) AS stars`.
pub fn named(values: Vec<String>, names: &[String]) -> Vec<String> {
    let pairs = values.iter().zip(names);
    pairs
        .map(|(value, name)| format!("{value} AS {name}"))
        .collect()
}
