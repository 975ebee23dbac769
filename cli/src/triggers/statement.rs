//! The SQL that reads the rows to count.

use super::counting::Counting;
use super::target::{Source, Target};
use crate::catalogue::{Column, Table};
use crate::database::{Joined, SQLITE};

pub const OLD: &str = "OLD";
pub const NEW: &str = "NEW";

/// Rows to add to the counters, or to take from them.
pub struct Rows<'a> {
    /// The name of a row in expressions, or nothing.
    pub name: &'a str,
    /// `FROM …`, or nothing.
    pub from: &'a str,
    /// Take them from the counters.
    pub minus: bool,
    pub entities: Entities,
}

/// Whose rows count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entities {
    /// Those of all entities: a foreign key of the rows makes sure that they exist.
    All,
    /// Those of entities that exist. A cascade changes and deletes rows after their entity.
    Existing,
    /// Those of entities that exist, and those that an update has moved to another entity, which a
    /// foreign key makes sure of.
    ExistingOrMoved,
}

impl<'a> Rows<'a> {
    pub fn new(name: &'a str, from: &'a str, minus: bool, entities: Entities) -> Self {
        Rows {
            name,
            from,
            minus,
            entities,
        }
    }

    /// The old or the new row of a trigger.
    pub fn row(name: &'a str, entities: Entities) -> Self {
        Rows::new(name, "", name == OLD, entities)
    }
}

impl Counting {
    /// A query of rows: their entity, their own day if they have one, and what they add to each
    /// counter.
    pub fn query(&self, target: &Target, source: &Source, rows: &Rows<'_>, more: &str) -> String {
        let values = self.key(target, source, rows).into_iter();
        let values = values.chain(self.counts(source, rows));
        let names = self.group(target).into_iter();
        let names = names.chain(self.counter_names(target));
        let columns = values.zip(names).map(|(value, name)| {
            match value == name || value == format!("{}.{name}", rows.name) {
                true => value,
                false => format!("{value} AS {name}"),
            }
        });
        let columns = columns.joined(", ");
        let conditions = self.conditions(target, source, rows);
        let conditions = clause(" WHERE ", conditions, " AND ");
        format!("SELECT {columns}{more} {}{conditions}", rows.from)
    }

    /// The entity of a row, and its own day.
    pub fn key(&self, target: &Target, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let has_day = self.day.is_some() && target.slots.is_some();
        let day = has_day.then(|| self.day_of(rows.name));
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
        entity.chain(day).collect()
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
            Some(day) => {
                let day = start_of(&day.of(row, self.database));
                format!("COALESCE({day}, {})", sql.undated)
            }
        }
    }

    /// What a row adds to each counter.
    pub fn counts(&self, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let sign = if rows.minus { "-" } else { "" };
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

    pub fn conditions(&self, target: &Target, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let entity = self.entity_of(source, rows.name);
        let nullable = source.entity.iter().zip(&entity);
        let nullable = nullable.filter(|(column, _)| column.nullable);
        let not_null = nullable.map(|(_, value)| format!("{value} IS NOT NULL"));
        let mut conditions: Vec<_> = not_null.collect();
        let mut others = target.sources.iter();
        let place = others.position(|other| std::ptr::eq(other, source));
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
        let when = self.when.iter();
        conditions.extend(when.map(|when| when.of(rows.name, self.database)));
        conditions
    }

    /// Conditions that are true if an entity exists. `entity` has an expression for each column of its
    /// key.
    pub fn exists(&self, used_as: &str, target: &Target, entity: &[String]) -> Vec<String> {
        let parents = target.parents.iter().map(|parent| {
            let (column, value) = (&target.entity[parent.column], &entity[parent.column]);
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
        let values = |row: &str| {
            let mut values = self.entity_of(source, row);
            values.extend(self.day.iter().map(|day| day.of(row, self.database)));
            let weights = source.weights.iter().flatten().chain(&self.when);
            let weights = weights.filter(|weight| !weight.is_one());
            values.extend(weights.map(|weight| weight.of(row, self.database)));
            values
        };
        let values = values(NEW).into_iter().zip(values(OLD));
        let differ = values.map(|(new, old)| (self.sql.differs)(&new, &old));
        match &*differ.collect::<Vec<_>>() {
            [] => "1 = 0".to_owned(),
            [one] => one.clone(),
            several => format!("({})", several.join(" OR ")),
        }
    }

    /// The sums of these queries by entity and day, as rows to add to the counters. The entities are in
    /// order, so that two statements that share a slot do not deadlock. Without a slot there are only
    /// the key and the counts.
    pub fn sums(
        &self,
        target: &Target,
        queries: &[String],
        slot: Option<&str>,
        more: &[String],
        order: &[String],
    ) -> String {
        let (group, names) = (self.group(target), self.counter_names(target));
        let sums = names.iter().map(|name| self.sql.sum.replace("{}", name));
        let mut sums: Vec<_> = sums.collect();
        if slot.is_none() {
            sums = named(sums, &names);
        }
        let is_moved = not_0(names.iter().map(|name| format!("SUM({name})")));
        let is_moved = match more.is_empty() || names.len() == 1 {
            true => is_moved,
            false => format!("({is_moved})"),
        };
        let having = [is_moved].into_iter().chain(more.iter().cloned());
        format!(
            "SELECT {} FROM (\n{}\n) AS moved{}\nHAVING {}{}",
            self.row_to_add(group.clone(), slot, sums),
            union(queries),
            by("GROUP", &group),
            having.joined(" AND "),
            by("ORDER", order),
        )
    }

    /// The columns of a row to add to the counters.
    pub fn row_to_add(&self, key: Vec<String>, slot: Option<&str>, counts: Vec<String>) -> String {
        let day = (self.day.is_none() && slot.is_some()).then(|| self.day_of(""));
        let row = key.into_iter().chain(day).chain(slot.map(str::to_owned));
        row.chain(counts).joined(", ")
    }

    /// The columns of an entity's key, and of the day of a row.
    pub fn group(&self, target: &Target) -> Vec<String> {
        let mut group = self.database.columns("", &target.entity);
        let day = target.slots.iter().filter(|_| self.day.is_some());
        group.extend(day.map(|[day, _]| self.database.quoted(&day.name)));
        group
    }

    pub fn counter_names(&self, target: &Target) -> Vec<String> {
        let names = target.names.iter();
        names.map(|name| self.database.quoted(name)).collect()
    }
}

impl Target {
    /// Of which entities rows count. An UPDATE of an ordinary column finds no row of an entity that is
    /// gone.
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

pub fn named(values: Vec<String>, names: &[String]) -> Vec<String> {
    let named = |(value, name)| format!("{value} AS {name}");
    values.into_iter().zip(names).map(named).collect()
}

/// `one <> 0 OR other <> 0`
pub fn not_0(values: impl Iterator<Item = String>) -> String {
    values.map(|value| value + " <> 0").joined(" OR ")
}

/// A clause of these parts, or nothing if there are none.
pub fn clause(begin: &str, parts: Vec<String>, between: &str) -> String {
    match parts.is_empty() {
        true => String::new(),
        false => begin.to_owned() + &parts.join(between),
    }
}

/// `GROUP BY …` or `ORDER BY …`, unless there is nothing to group or order by.
pub fn by(begin: &str, columns: &[String]) -> String {
    clause(&format!(" {begin} BY "), columns.to_vec(), ", ")
}

pub fn union(queries: &[String]) -> String {
    in_lines(&queries.join("\nUNION ALL "), 4)
}

pub fn in_lines(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let lines = text.lines().map(|line| format!("{indent}{line}"));
    lines.joined("\n")
}

/// Indents each line of these statements, and ends them.
pub fn statements(all: impl IntoIterator<Item = String>, indent: usize) -> String {
    let all = all.into_iter();
    all.map(|one| in_lines(&one, indent) + ";\n").collect()
}
