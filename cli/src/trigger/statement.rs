//! The statement that adds rows to counters: in triggers, in the migration, and in a recount.

use super::definition::Period;
use super::{Counting, Source, Target};
use crate::catalogue::Column;
use crate::database::Database;

/// Rows to add to the counters, or to take from them.
pub struct Rows<'a> {
    /// The name of a row in expressions.
    pub name: &'a str,
    /// ` FROM …`, or nothing.
    pub from: &'a str,
    /// Take them from the counters.
    pub minus: bool,
    pub day: DayOf,
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DayOf {
    /// The row's own day, or else today.
    Today,
    /// The row's own day, or else no day.
    Undated,
}

/// The temporary table of the entities that a recount has locked.
pub const WRONG: &str = "diesel_counters_wrong";

const ENTITY: &str = "entity";
const DAY: &str = "day";

impl Counting {
    /// A query of rows: their entity, their day, and what they add to each counter.
    pub fn query(&self, target: &Target, source: &Source, rows: &Rows<'_>, more: &str) -> String {
        let key = self.key(source, rows).into_iter();
        let names = target.names_of_entity().chain([DAY.to_owned()]);
        let key = key
            .zip(names)
            .map(|(value, name)| format!("{value} AS {name}"));
        let counts = self.counts(source, rows).into_iter().enumerate();
        let counts = counts.map(|(i, value)| format!("{value} AS {}", count(i)));
        let columns: Vec<_> = key.chain(counts).collect();
        let conditions = conditions(self.conditions(target, source, rows));
        format!(
            "SELECT {}{more}{}{conditions}",
            columns.join(", "),
            rows.from
        )
    }

    /// The entity and the day of a row.
    fn key(&self, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let (database, sql) = (self.database, &self.database.facts().trigger);
        let column = |name: &str| format!("{}.{}", rows.name, database.quoted(name));
        let day = match &self.day {
            Some(day) => {
                let day = self.start_of(&day.in_utc.replace("{}", &column(&day.column)));
                format!("COALESCE({day}, {})", sql.undated)
            }
            None if rows.day == DayOf::Undated => sql.undated.to_owned(),
            None => self.start_of(sql.today),
        };
        let entity = source.entity.iter().map(|entity| column(&entity.name));
        entity.chain([day]).collect()
    }

    /// What a row adds to each counter.
    fn counts(&self, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let sql = &self.database.facts().trigger;
        let sign = if rows.minus { "-" } else { "" };
        let counts = source.weights.iter().map(|weight| match weight {
            None => "0".to_owned(),
            Some(weight) if weight.is_one() => format!("{sign}1"),
            Some(weight) => {
                let value = weight.of(rows.name, self.database);
                sign.to_owned() + &sql.weight.replace("{}", &value)
            }
        });
        counts.collect()
    }

    /// The conditions on which a row counts.
    fn conditions(&self, target: &Target, source: &Source, rows: &Rows<'_>) -> Vec<String> {
        let database = self.database;
        let mut conditions = Vec::new();
        let columns = source
            .entity
            .iter()
            .map(|column| database.quoted(&column.name));
        let columns: Vec<_> = columns.collect();
        let of_row = |row: &str| -> Vec<_> {
            columns
                .iter()
                .map(|column| format!("{row}.{column}"))
                .collect()
        };
        let entity = of_row(rows.name);
        conditions.extend(entity.iter().map(|column| format!("{column} IS NOT NULL")));
        let exists = target.exists(source, &entity, database);
        match rows.entities {
            Entities::Existing => conditions.extend(exists),
            Entities::ExistingOrMoved => {
                let differs = database.facts().trigger.differs;
                let old = of_row("OLD");
                let parents = target.parents.iter().zip(exists);
                conditions.extend(parents.map(|(parent, exists)| {
                    let moved = differs(&entity[parent.column], &old[parent.column]);
                    format!("({exists} OR {moved})")
                }));
            }
            _ => {}
        }
        conditions.extend(self.when.as_ref().map(|when| when.of(rows.name, database)));
        conditions
    }

    /// What all rows of the table add to the counters. It is grouped by the row's own day, or not
    /// by day.
    pub fn actual(&self, target: &Target, more: &str) -> String {
        let queries = target.sources.iter().map(|source| {
            let (table, alias) = (self.database.table_name(&self.rows), source.alias());
            let rows = Rows {
                name: &alias,
                from: &format!("\nFROM {table} AS {alias}"),
                minus: false,
                day: DayOf::Undated,
                entities: source.entities(),
            };
            self.query(target, source, &rows, more)
        });
        queries.collect::<Vec<_>>().join(UNION)
    }

    /// What is stored in the counters, to be taken from `actual`.
    pub fn stored(&self, target: &Target, more: &str) -> String {
        let (database, alias) = (self.database, target.stored_alias());
        let column = |name: &str| format!("{alias}.{}", database.quoted(name));
        let entity = target
            .counters
            .entity
            .iter()
            .map(|entity| column(&entity.name));
        let day = match &self.day {
            Some(_) => column(&target.counters.day.name),
            None => database.facts().trigger.undated.to_owned(),
        };
        let counts = target.names.iter().map(|name| format!("-{}", column(name)));
        let columns: Vec<_> = entity.chain([day]).chain(counts).collect();
        let table = database.table_name(&target.counters.table);
        format!(
            "SELECT {}{more}\nFROM {table} AS {alias}",
            columns.join(", ")
        )
    }

    /// The statements of a trigger that runs for each row. Of an update, those of the old row come
    /// first. They write nothing if no column that matters has changed, or if the row is not
    /// `updated`.
    pub fn each_row(
        &self,
        rows: &[&str],
        from: &str,
        slot: &str,
        entities: impl Fn(&str, &Source) -> Entities,
        updated: impl Fn(&Source) -> Option<String>,
    ) -> Vec<String> {
        let mut statements = Vec::new();
        for target in &self.targets {
            for name in rows {
                for source in &target.sources {
                    let rows_of = Rows {
                        name,
                        from,
                        minus: *name == "OLD",
                        day: DayOf::Today,
                        entities: entities(name, source),
                    };
                    let add = |changed| self.add_row(target, source, &rows_of, slot, changed);
                    let changed = (rows.len() > 1).then(|| self.changed(source));
                    statements.push(match (changed, updated(source)) {
                        // An IF evaluates the first condition first.
                        (Some(changed), Some(updated)) => format!(
                            "IF {changed}\n    AND {updated} THEN\n{};\nEND IF",
                            in_lines(&add(None), 4)
                        ),
                        (changed, _) => add(changed),
                    });
                }
            }
        }
        statements
    }

    /// Whether an update has changed what a row adds.
    fn changed(&self, source: &Source) -> String {
        let (database, sql) = (self.database, &self.database.facts().trigger);
        let values = |row: &str| {
            let column = |name: &str| format!("{row}.{}", database.quoted(name));
            let entity = source.entity.iter().map(|entity| column(&entity.name));
            let day = self.day.iter();
            let day = day.map(|day| day.in_utc.replace("{}", &column(&day.column)));
            let weights = source.weights.iter().flatten().chain(&self.when);
            let weights = weights.filter(|weight| !weight.is_one());
            let weights = weights.map(|weight| weight.of(row, database));
            entity.chain(day).chain(weights).collect::<Vec<_>>()
        };
        let values = values("NEW").into_iter().zip(values("OLD"));
        let differ = values.map(|(new, old)| (sql.differs)(&new, &old));
        match differ.collect::<Vec<_>>().join(" OR ") {
            none if none.is_empty() => "1 = 0".to_owned(),
            differ => format!("({differ})"),
        }
    }

    /// Adds one row to the counters.
    fn add_row(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
        slot: &str,
        changed: Option<String>,
    ) -> String {
        let sql = &self.database.facts().trigger;
        let counts = self.counts(source, rows);
        let all = target.names.iter().zip(counts).zip(&source.weights);
        let counted = all.filter(|(_, weight)| weight.is_some());
        let counted = counted.map(|((name, value), _)| (self.database.quoted(name), value));
        let (names, values): (Vec<_>, Vec<_>) = counted.unzip();
        let mut all = self.conditions(target, source, rows);
        let mut weights = source.weights.iter().flatten();
        if weights.all(|weight| !weight.is_one()) {
            let not_0 = values.iter().map(|value| format!("{value} <> 0"));
            all.push(format!("({})", not_0.collect::<Vec<_>>().join(" OR ")));
        }
        all.extend(changed);
        let key = self.key(source, rows);
        let query = format!(
            "SELECT {}, {slot}, {}{}{}",
            key.join(", "),
            values.join(", "),
            rows.from,
            conditions(all)
        );
        let new = names.iter().zip(&values);
        let new = new.map(|(name, value)| match sql.is_new_value_of_table {
            true => value.clone(),
            false => sql.new_value.replace("{}", name),
        });
        self.upsert(target, &names, &query, &new.collect::<Vec<_>>())
    }

    /// Adds up the queries by entity and day, and adds the sums that are not 0 to the counters. The
    /// entities are in order, so that two statements that share a slot do not deadlock.
    pub fn add(&self, target: &Target, queries: &[String], slot: &str) -> String {
        self.add_if("", target, queries, slot)
    }

    /// The same, for the entities for which a condition of `moved.entity` is true.
    pub fn add_if(
        &self,
        condition: &str,
        target: &Target,
        queries: &[String],
        slot: &str,
    ) -> String {
        let sql = &self.database.facts().trigger;
        let group = target.group();
        let sums = (0..target.names.len()).map(|i| sql.sum.replace("{}", &count(i)));
        let query = format!(
            "SELECT {group}, {slot}, {}\nFROM (\n{}\n) AS moved\nGROUP BY {group}\nHAVING {}\n\
             ORDER BY {group}",
            sums.collect::<Vec<_>>().join(", "),
            in_lines(&queries.join(UNION), 4),
            match condition {
                "" => target.is_moved(),
                condition => format!("({})\n    AND {condition}", target.is_moved()),
            },
        );
        let names = target.names.iter().map(|name| self.database.quoted(name));
        let names: Vec<_> = names.collect();
        let new = names.iter().map(|name| sql.new_value.replace("{}", name));
        self.upsert(target, &names, &query, &new.collect::<Vec<_>>())
    }

    /// A query of the entities whose counts are wrong.
    pub fn wrong_entities(&self, target: &Target) -> String {
        let queries = [self.actual(target, ""), self.stored(target, "")];
        format!(
            "SELECT DISTINCT {}\nFROM (\n{}\n) AS moved\nGROUP BY {}\nHAVING {}",
            self.key_of_wrong(target),
            in_lines(&queries.join(UNION), 4),
            target.group(),
            target.is_moved(),
        )
    }

    /// The columns of [`WRONG`].
    pub fn key_of_wrong(&self, target: &Target) -> String {
        match target.counters.entity.is_empty() {
            true => DAY.to_owned(),
            false => target.entity(),
        }
    }

    /// Locks the entities in [`WRONG`] as corrections of the library do: it adds nothing to the row of
    /// 1970-01-01 in slot 0. An entity that was deleted meanwhile is left out.
    pub fn lock_wrong(&self, target: &Target) -> String {
        let undated = self.database.facts().trigger.undated;
        let query = match target.counters.entity.is_empty() {
            false => {
                let entity = target.entity();
                let of_wrong = target.names_of_entity();
                let of_wrong: Vec<_> = of_wrong.map(|name| format!("{WRONG}.{name}")).collect();
                let exists = target.sources.first().map_or(Vec::new(), |source| {
                    target.exists(source, &of_wrong, self.database)
                });
                let exists = conditions(exists);
                format!("SELECT {entity}, {undated}, 0, 0\nFROM {WRONG}{exists}\nORDER BY {entity}")
            }
            true => format!("SELECT {undated}, 0, 0\nWHERE 1 = 1"),
        };
        let name = self.database.quoted(&target.names[0]);
        self.upsert(target, &[name], &query, &["0".to_owned()])
    }

    /// Adds what is missing to the counters of the entities in [`WRONG`].
    pub fn correct_wrong(&self, target: &Target) -> String {
        let query = self.of_wrong(target, [self.actual(target, ""), self.stored(target, "")]);
        self.add(target, &[query], "0")
    }

    /// The rows of these queries whose entity is in [`WRONG`].
    fn of_wrong(&self, target: &Target, queries: [String; 2]) -> String {
        let queries = queries.join(UNION);
        let entity = target.entity();
        let (before, after) = match target.counters.entity.len() {
            0 => return queries,
            1 => ("", ""),
            _ => ("(", ")"),
        };
        format!(
            "SELECT *\nFROM (\n{}\n) AS counted\nWHERE {before}{entity}{after} IN (SELECT {entity} FROM \
             {WRONG})",
            in_lines(&queries, 4)
        )
    }

    /// Adds the rows of a query to the counters `names`. `new` is what a row adds to an existing one.
    fn upsert(&self, target: &Target, names: &[String], query: &str, new: &[String]) -> String {
        let (database, sql) = (self.database, &self.database.facts().trigger);
        let table = &target.counters;
        let key = table.entity.iter().chain([&table.day, &table.slot]);
        let key: Vec<_> = key.map(|column| database.quoted(&column.name)).collect();
        let updates = names.iter().zip(new);
        let updates = updates.map(|(name, value)| (sql.update)(name, value));
        format!(
            "INSERT INTO {}{} ({}, {})\n{query}\n{} {}",
            database.table_name(&table.table),
            sql.alias,
            key.join(", "),
            names.join(", "),
            sql.on_conflict.replace("{}", &key.join(", ")),
            updates.collect::<Vec<_>>().join(", "),
        )
    }

    /// A query of the entities and days whose count is wrong: the entity and the day as text, what is
    /// stored, and what it should be. If they are `locked`, of the entities in [`WRONG`] only.
    pub fn drift(&self, target: &Target, counter: usize, locked: bool) -> String {
        let (facts, sql) = (self.database.facts(), &self.database.facts().trigger);
        let entity = target.counters.entity.iter().zip(target.names_of_entity());
        let entity = entity.map(|(column, name)| Column {
            name,
            ..column.clone()
        });
        let entity: Vec<_> = entity.collect();
        let entity = match entity.is_empty() {
            false => self.database.key_as_text(&entity),
            true => facts.text.replace("{}", "''"),
        };
        let one = target.of_counter(counter);
        let kept = format!(
            ", {}.{}",
            one.stored_alias(),
            self.database.quoted(&one.names[0])
        );
        let queries = [self.actual(&one, ", 0 AS kept"), self.stored(&one, &kept)];
        let queries = match locked {
            true => self.of_wrong(target, queries),
            false => queries.join(UNION),
        };
        let group = one.group();
        format!(
            "SELECT {entity}, {}, {}, {}\nFROM (\n{}\n) AS moved\nGROUP BY {group}\nHAVING {}\n\
             ORDER BY {group}",
            facts.text.replace("{}", DAY),
            sql.total.replace("{}", "kept"),
            sql.total.replace("{}", &format!("kept + {}", count(0))),
            in_lines(&queries, 4),
            one.is_moved(),
        )
    }

    fn start_of(&self, day: &str) -> String {
        let sql = &self.database.facts().trigger;
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
    /// Conditions that are true if an entity exists, if the counters require that. `entity` has an
    /// expression for each column of its key.
    pub fn exists(
        &self,
        source: &Source,
        entity: &[String],
        database: &dyn Database,
    ) -> Vec<String> {
        let parents = self.parents.iter().map(|parent| {
            let (table, key) = (
                database.table_name(&parent.table),
                database.quoted(&parent.key),
            );
            let alias = source.parent_alias(parent.column);
            let entity = &entity[parent.column];
            format!("EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {alias}.{key} = {entity})")
        });
        parents.collect()
    }

    /// The names of the columns of the entity's key in queries of rows: `entity`, `entity_2`.
    pub fn names_of_entity(&self) -> impl Iterator<Item = String> {
        (1..=self.counters.entity.len()).map(|number| match number {
            1 => ENTITY.to_owned(),
            _ => format!("{ENTITY}_{number}"),
        })
    }

    /// The same, as a list.
    fn entity(&self) -> String {
        self.names_of_entity().collect::<Vec<_>>().join(", ")
    }

    fn group(&self) -> String {
        let names = self.names_of_entity().chain([DAY.to_owned()]);
        names.collect::<Vec<_>>().join(", ")
    }

    fn is_moved(&self) -> String {
        let sums = (0..self.names.len()).map(|i| format!("SUM({}) <> 0", count(i)));
        sums.collect::<Vec<_>>().join(" OR ")
    }
}

const UNION: &str = "\nUNION ALL\n";

fn count(i: usize) -> String {
    format!("count_{}", i + 1)
}

fn conditions(all: Vec<String>) -> String {
    match all.is_empty() {
        true => String::new(),
        false => format!("\nWHERE {}", all.join("\n    AND ")),
    }
}

/// Indents each line.
pub fn in_lines(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let lines: Vec<_> = text.lines().map(|line| format!("{indent}{line}")).collect();
    lines.join("\n")
}
