//! The SQL that adds rows to counters.

use super::counting::Counting;
use super::definition::Period;
use super::expression::column;
use super::target::{Source, Target};
use crate::catalogue::{Column, Table};

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

impl Counting {
    /// A query of rows: their entity, their own day if they have one, and what they add to each
    /// counter.
    pub fn query(&self, target: &Target, source: &Source, rows: &Rows<'_>, more: &str) -> String {
        let values = self.key(target, source, rows).into_iter();
        let values = values.chain(self.counts(source, rows));
        let names = self.group(target).into_iter();
        let names = names.chain(self.counter_names(target));
        let columns = values.zip(names).map(|(value, name)| {
            match value == name || value == column(rows.name, &name) {
                true => value,
                false => format!("{value} AS {name}"),
            }
        });
        let columns = columns.collect::<Vec<_>>().join(", ") + more;
        let conditions = match &*self.conditions(target, source, rows).join(" AND ") {
            "" => String::new(),
            conditions => format!(" WHERE {conditions}"),
        };
        format!("SELECT {columns} {}{conditions}", rows.from)
    }

    /// The entity of a row, and its own day.
    pub(super) fn key(&self, target: &Target, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let entity = self.entity_of(source, rows.name).into_iter();
        let has_day = self.day.is_some() && target.slots.is_some();
        let day = has_day.then(|| self.day_of(rows.name));
        entity.chain(day).collect()
    }

    pub fn entity_of(&self, source: &Source, row: &str) -> Vec<String> {
        let entity = source.entity.iter();
        let entity = entity.map(|entity| column(row, &self.database.quoted(&entity.name)));
        entity.collect()
    }

    /// The day on which a row counts.
    pub fn day_of(&self, row: &str) -> String {
        let Some(day) = &self.day else {
            return self.start_of(self.sql.today);
        };
        let value = column(row, &self.database.quoted(&day.column));
        let start = self.start_of(&day.in_utc.replace("{}", &value));
        format!("COALESCE({start}, {})", self.sql.undated)
    }

    /// What a row adds to each counter.
    pub(super) fn counts(&self, source: &Source, rows: &Rows<'_>) -> Vec<String> {
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

    /// The conditions on which a row counts.
    pub(super) fn conditions(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
    ) -> Vec<String> {
        let entity = self.entity_of(source, rows.name);
        let nullable = source.entity.iter().zip(&entity);
        let nullable = nullable.filter(|(column, _)| column.nullable);
        let mut conditions: Vec<_> = nullable
            .map(|(_, value)| format!("{value} IS NOT NULL"))
            .collect();
        let mut others = target.sources.iter();
        let place = others.position(|other| std::ptr::eq(other, source));
        let exists = self.exists_as(&numbered("parent", place.unwrap_or(0)), target, &entity);
        match rows.entities {
            Entities::All => {}
            Entities::Existing => conditions.extend(exists),
            Entities::ExistingOrMoved => {
                let old = self.entity_of(source, "OLD");
                let parents = target.parents.iter().zip(exists);
                conditions.extend(parents.map(|(parent, exists)| {
                    let moved = (self.sql.differs)(&entity[parent.column], &old[parent.column]);
                    format!("({exists} OR {moved})")
                }));
            }
        }
        let when = self.when.as_ref();
        conditions.extend(when.map(|when| when.of(rows.name, self.database)));
        conditions
    }

    /// Conditions that are true if an entity exists. `entity` has an expression for each column of its
    /// key.
    pub fn exists(&self, target: &Target, entity: &[String]) -> Vec<String> {
        self.exists_as("parent", target, entity)
    }

    fn exists_as(&self, used_as: &str, target: &Target, entity: &[String]) -> Vec<String> {
        let of = |table: &Table, keys: Vec<String>| {
            let (table, keys) = (self.used_as(used_as, table), keys.join(" AND "));
            format!("EXISTS (SELECT 1 FROM {table} WHERE {keys})")
        };
        let is = |column: &Column, table: &Table, key: &str, value: &str| {
            let alias = self.database.alias(used_as, table);
            let key = format!("{alias}.{}", self.database.quoted(key));
            self.database.is_same(column, &key, value)
        };
        if target.slots.is_none() {
            let keys = target.entity.iter().zip(entity);
            let keys = keys.map(|(key, value)| is(key, &target.table, &key.name, value));
            let keys = keys.collect();
            return vec![of(&target.table, keys)];
        }
        let parents = target.parents.iter().map(|parent| {
            let column = &target.entity[parent.column];
            let key = is(column, &parent.table, &parent.key, &entity[parent.column]);
            of(&parent.table, vec![key])
        });
        parents.collect()
    }

    /// A table under the name that it has in a query.
    pub fn used_as(&self, used_as: &str, table: &Table) -> String {
        let alias = self.database.alias(used_as, table);
        format!("{} AS {alias}", self.database.table_name(table))
    }

    /// Whether an update has changed what a row adds.
    pub fn changed(&self, source: &Source) -> String {
        let values = |row: &str| {
            let entity = self.entity_of(source, row).into_iter();
            let day = self.day.iter();
            let day = day.map(|day| {
                let value = column(row, &self.database.quoted(&day.column));
                day.in_utc.replace("{}", &value)
            });
            let weights = source.weights.iter().flatten().chain(&self.when);
            let weights = weights.filter(|weight| !weight.is_one());
            let weights = weights.map(|weight| weight.of(row, self.database));
            entity.chain(day).chain(weights).collect::<Vec<_>>()
        };
        let values = values("NEW").into_iter().zip(values("OLD"));
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
    ) -> String {
        let group = self.group(target).join(", ");
        let names = self.counter_names(target);
        let sums = names.iter().map(|name| self.sql.sum.replace("{}", name));
        let day = (self.day.is_none() && slot.is_some()).then(|| self.day_of(""));
        let columns: Vec<_> = (!group.is_empty())
            .then(|| group.clone())
            .into_iter()
            .chain(day)
            .chain(slot.map(str::to_owned))
            .chain(match slot {
                Some(_) => sums.collect::<Vec<_>>(),
                None => sums
                    .zip(&names)
                    .map(|(sum, name)| format!("{sum} AS {name}"))
                    .collect(),
            })
            .collect();
        let is_moved = names.iter().map(|name| format!("SUM({name}) <> 0"));
        let is_moved = is_moved.collect::<Vec<_>>().join(" OR ");
        let having = match (more, &*names) {
            ([], _) => is_moved,
            (more, [_]) => format!("{is_moved} AND {}", more.join(" AND ")),
            (more, _) => format!("({is_moved}) AND {}", more.join(" AND ")),
        };
        format!(
            "SELECT {} FROM (\n{}\n) AS moved{}\nHAVING {having}{}",
            columns.join(", "),
            union(queries),
            by("GROUP", &group),
            by("ORDER", &group),
        )
    }

    /// A condition that is true if `one` and `other` have the same key.
    pub fn same_key(&self, target: &Target, one: &str, other: &str) -> String {
        let keys = target.entity.iter().map(|key| {
            let name = self.database.quoted(&key.name);
            let [one, other] = [one, other].map(|row| format!("{row}.{name}"));
            self.database.is_same(key, &one, &other)
        });
        match keys.collect::<Vec<_>>().join(" AND ") {
            keys if keys.is_empty() => "1 = 1".to_owned(),
            keys => keys,
        }
    }

    /// The columns of an entity's key, and of the day of a row.
    pub fn group(&self, target: &Target) -> Vec<String> {
        let entity = target
            .entity
            .iter()
            .map(|entity| self.database.quoted(&entity.name));
        let day = target.slots.iter().filter(|_| self.day.is_some());
        let day = day.map(|[day, _]| self.database.quoted(&day.name));
        entity.chain(day).collect()
    }

    pub fn counter_names(&self, target: &Target) -> Vec<String> {
        let names = target.names.iter();
        names.map(|name| self.database.quoted(name)).collect()
    }

    fn start_of(&self, day: &str) -> String {
        let sql = self.sql;
        match self.definition.period {
            Period::Day => day.to_owned(),
            Period::Week => sql.week.replace("{}", day),
            Period::Month => sql.month.replace("{}", day),
            Period::Year => sql.year.replace("{}", day),
            Period::Total => sql.undated.to_owned(),
        }
    }
}

impl Source {
    /// Of which entities rows count when all rows are counted again.
    pub fn entities(&self) -> Entities {
        match self.exists {
            true => Entities::All,
            false => Entities::Existing,
        }
    }
}

impl Target {
    /// Of which entities a trigger counts rows. An UPDATE of an ordinary column finds no row of an
    /// entity that is gone.
    pub fn entities(&self, source: &Source) -> Entities {
        match self.slots {
            Some(_) => source.entities(),
            None => Entities::All,
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

pub fn conditions(all: Vec<String>) -> String {
    match all.is_empty() {
        true => String::new(),
        false => format!("\nWHERE {}", all.join("\n    AND ")),
    }
}

/// All rows of these queries.
pub fn union(queries: &[String]) -> String {
    in_lines(&queries.join("\nUNION ALL "), 4)
}

/// `GROUP BY …` or `ORDER BY …`, unless there is nothing to group or order by.
pub fn by(clause: &str, columns: &str) -> String {
    match columns {
        "" => String::new(),
        columns => format!(" {clause} BY {columns}"),
    }
}

/// Indents each line.
pub fn in_lines(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let lines: Vec<_> = text.lines().map(|line| format!("{indent}{line}")).collect();
    lines.join("\n")
}
