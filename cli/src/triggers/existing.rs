//! What a migration does to the counts of rows that exist before its triggers. It adds a sum of
//! rows to every count: what the rows count now, minus what the count already has.

use serde::Serialize;

use super::correction::column_numbers;
use super::counting::Counting;
use super::definition::Existing;
use super::expression::Expression;
use super::plan::Plan;
use super::starts::{Counter, OldCounter, Start};
use super::statement::{COUNTED, Entities, KEPT, RowsToCount, Sign, SumContext, named, numbered};
use super::target::{Source, Target};
use super::values::{Addition, LONG, Query, SumQuery};
use crate::database::MYSQL;

/// How tables are named in the statements. LOCK TABLES on MySQL takes a name only once, so a
/// migration of several definitions or tables adds the tables' names to the aliases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Short,
    WithTable,
}

impl Names {
    pub fn counted(self, counting: &Counting, uses_before: usize) -> String {
        let name = numbered(&counting.unused_name(COUNTED), uses_before);
        self.name(name, &counting.rows.name, counting)
    }

    pub fn kept(self, counting: &Counting, target: &Target) -> String {
        self.name(counting.unused_name(KEPT), &target.table.name, counting)
    }

    /// The table that has a row per entity.
    fn entity(self, counting: &Counting, target: &Target, uses_before: usize) -> String {
        let name = numbered(&counting.unused_name("entity"), uses_before);
        self.name(name, &target.table.name, counting)
    }

    /// The table whose column had the counts before.
    fn before(self, counting: &Counting, target: &Target) -> String {
        self.name(
            counting.unused_name("earlier"),
            &target.table.name,
            counting,
        )
    }

    fn name(self, name: String, table: &str, counting: &Counting) -> String {
        match self {
            Names::Short => name,
            Names::WithTable => counting.database.quoted(&format!("{name}_{table}")),
        }
    }
}

/// Statements under a comment.
#[derive(Debug, Serialize)]
pub struct Step {
    comment: Vec<String>,
    pub statements: Vec<Statement>,
}

/// A statement that adds to the counts of a table.
#[derive(Debug, Serialize)]
pub struct Statement {
    #[serde(flatten)]
    addition: Addition,
    /// The name that the statement gives to an entity's sums.
    sums_name: String,
    /// The tables that it reads, with their aliases.
    #[serde(skip)]
    pub reads: Vec<String>,
    /// The counter to set to 0, because another one has its counts by then.
    emptied: Option<Emptied>,
}

/// A counter that is set to 0 in all rows of its table.
#[derive(Debug, Serialize)]
struct Emptied {
    table: String,
    counter: String,
}

/// Which entities a statement adds to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Onto {
    /// All of them, whatever their count is.
    AnyCount,
    /// Only those that have no count yet.
    NoCount,
}

/// The day that the addition is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Day {
    /// The row's own day, or today if it has none.
    Own,
    /// 1970-01-01.
    Undated,
}

impl Plan {
    /// Returns a statement for every counter that has something to add.
    pub fn steps(&self, names: Names) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        if self.existing == Existing::Later {
            return steps;
        }
        for Counter { target, start } in &self.counters {
            let counting = &self.counting;
            let (comment, statements) = match start {
                _ if self.existing == Existing::Rows => counting.set_to_rows(target, names),
                Start::New => counting.count_missing(target, names),
                Start::Counted(before) => counting.add_difference(target, before, names),
                Start::InColumn(before) => counting.take_along(target, before, names),
                Start::InSlots(before) => counting.take_back(target, before, names),
            };
            match steps.last_mut() {
                _ if statements.is_empty() => {}
                Some(last) if last.comment == comment => last.statements.extend(statements),
                _ => steps.push(Step {
                    comment,
                    statements,
                }),
            }
        }
        steps
    }
}

/// A comment, and the statements below it.
type Commented = (Vec<String>, Vec<Statement>);

fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

impl Counting {
    /// Counts the rows of entities that have no count yet. Other entities keep their count,
    /// whatever it is, because some of it may be older than the rows.
    fn count_missing(&self, target: &Target, names: Names) -> Commented {
        let comment = lines([
            "Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:",
            "`diesel-counters recount` compares them with the rows.",
        ]);
        let addition = if let [source] = &*target.sources {
            let name = names.counted(self, 0);
            let from = self.used_as(&name, &self.rows);
            let rows = rows(target, source, &name, &from);
            let slot = target.slots.as_ref().map(|_| "0");
            let sums = self.sums_of_rows(target, source, &rows, slot);
            let reads = self.reads(target, source, 0, names);
            self.addition(target, sums, &name, reads, Onto::NoCount, names)
        } else {
            let counted = self.counted(target, Sign::Plus, 0, names);
            self.add(target, counted, Day::Own, Onto::NoCount, names)
        };
        (comment, vec![addition])
    }

    /// Sets every count to the number of its rows.
    fn set_to_rows(&self, target: &Target, names: Names) -> Commented {
        let comment = lines([
            "Sets the counts to the rows that are there. This can lower counts, such as those that are older than the",
            "rows.",
        ]);
        let mut parts = self.counted(target, Sign::Plus, 0, names);
        parts.push(self.minus_stored(target, names));
        let day = if self.day.is_some() {
            Day::Own
        } else {
            Day::Undated
        };
        (
            comment,
            vec![self.add(target, parts, day, Onto::AnyCount, names)],
        )
    }

    /// Adds what the rows count now, minus what they counted under the earlier definition.
    fn add_difference(&self, target: &Target, before: &OldCounter, names: Names) -> Commented {
        let old = &before.target;
        let comment = lines(["Adds what the rows count now, less what they counted before."]);
        let has_days = self.day.is_some() && before.counting.day.is_some();
        let [now, then] = [self, &before.counting].map(|counting| {
            if has_days {
                counting.clone()
            } else {
                counting.without_day()
            }
        });
        let only_changes = only_of(target) != only_of(old);
        let mut parts = now.counted(target, Sign::Plus, 0, names);
        if parts == then.counted(old, Sign::Plus, 0, names) && !only_changes {
            return (comment, Vec::new());
        }
        let uses_before = target.sources.len();
        let mut old_parts = then.counted(old, Sign::Minus, uses_before, names);
        // If `only` has changed, put it into each of the two sums instead of the row's condition.
        let [mut to, mut old_to] = [target.clone(), old.clone()];
        if only_changes {
            now.only_in_rows(target, &mut parts, 0, names);
            then.only_in_rows(old, &mut old_parts, uses_before, names);
            to.only = None;
            old_to.only = None;
        }
        let day = if has_days { Day::Own } else { Day::Undated };
        if key_names(target) == key_names(old) {
            parts.push(old_parts);
            return (
                comment,
                vec![now.add(&to, parts, day, Onto::AnyCount, names)],
            );
        }
        // The two definitions find the row by different keys.
        let additions = vec![
            now.add(&to, parts, day, Onto::AnyCount, names),
            then.add(&old_to, old_parts, day, Onto::AnyCount, names),
        ];
        (comment, additions)
    }

    /// Moves the counts of a column into slots.
    fn take_along(&self, target: &Target, before: &OldCounter, names: Names) -> Commented {
        let old = &before.target;
        let column = format!("{}.{}", old.table, old.names[0]);
        let column_counts = self.column_counts(target, before, names);
        if let (Some(slots), Some(_)) = (&target.slots, &self.day) {
            let comment = vec![
                format!(
                    "Takes along the counts of {column}: the rows that are there count on their own days, and what"
                ),
                "is beyond them on 1970-01-01.".to_owned(),
            ];
            let mut parts = self.counted(target, Sign::Plus, 0, names);
            let mut undated = self.counted_before(target, before, names);
            undated.push(column_counts.parts(self, target));
            let day = format!(
                "{} AS {}",
                self.sql.undated,
                self.database.quoted(&slots.day.name)
            );
            for query in &mut undated.queries {
                query.columns.insert(target.entity.len(), day.clone());
            }
            parts.push(undated);
            let statement = self.add(target, parts, Day::Own, Onto::NoCount, names);
            return (comment, vec![statement]);
        }
        let comment = vec![format!(
            "Takes along the counts of {column}, on 1970-01-01."
        )];
        if self.counts_as(target, before) {
            return (comment, vec![self.copy(target, column_counts, names)]);
        }
        let now = self.without_day();
        let mut parts = now.counted(target, Sign::Plus, 0, names);
        parts.push(self.counted_before(target, before, names));
        parts.push(column_counts.parts(self, target));
        let statement = now.add(target, parts, Day::Undated, Onto::NoCount, names);
        (comment, vec![statement])
    }

    /// Moves the counts in slots back to a column, and sets the slots to 0. If the column later
    /// moves to slots again, they take what it has then.
    fn take_back(&self, target: &Target, before: &OldCounter, names: Names) -> Commented {
        let old = &before.target;
        let [column, slots] =
            [target, old].map(|target| format!("{}.{}", target.table, target.names[0]));
        let comment = vec![format!(
            "Takes back the counts of {slots}, so that {column} has what was counted there."
        )];
        let now = self.without_day();
        let mut parts = UnionParts::default();
        let in_column = OldCounter {
            counting: self.clone(),
            target: target.clone(),
        };
        if !before.counting.counts_as(old, &in_column) {
            parts = now.counted(target, Sign::Plus, 0, names);
            parts.push(now.counted_before(target, before, names));
        }
        parts.push(self.slot_counts(target, before, names));
        parts.push(self.minus_stored(target, names));
        let mut statement = now.add(target, parts, Day::Undated, Onto::AnyCount, names);
        // MySQL may run this again after it has emptied the slots.
        let table = self.database.table_name(&old.table);
        let counter = self.database.quoted(&old.names[0]);
        statement.addition.row_conditions.push(format!(
            "EXISTS (SELECT 1 FROM {table} WHERE {counter} <> 0)"
        ));
        statement.emptied = Some(Emptied { table, counter });
        (comment, vec![statement])
    }

    /// Returns what slots have for every entity, row by row.
    fn slot_counts(&self, target: &Target, before: &OldCounter, names: Names) -> UnionParts {
        let old = &before.target;
        let name = names.before(&before.counting, old);
        let from = self.used_as(&name, &old.table);
        let slots = ColumnCounts {
            key: self.database.columns(&name, &old.entity),
            counter: self.database.column(&name, &old.names[0]),
            reads: vec![from.clone()],
            from,
            conditions: Vec::new(),
        };
        slots.parts(self, target)
    }

    /// Returns what a counter already has, to be subtracted.
    fn minus_stored(&self, target: &Target, names: Names) -> UnionParts {
        let kept = names.kept(self, target);
        let mut columns = self.database.columns(&kept, &target.entity);
        if let (Some(slots), Some(_)) = (&target.slots, &self.day) {
            columns.push(self.database.column(&kept, &slots.day.name));
        }
        let counter = &target.names[0];
        columns.push(format!(
            "-{} AS {}",
            self.database.column(&kept, counter),
            self.database.quoted(counter)
        ));
        let from = self.used_as(&kept, &target.table);
        UnionParts {
            reads: vec![from.clone()],
            queries: vec![Query {
                columns,
                from,
                conditions: self.only(target, &kept),
            }],
        }
    }

    /// Returns what the rows counted under the earlier definition, to be subtracted.
    fn counted_before(&self, target: &Target, before: &OldCounter, names: Names) -> UnionParts {
        let then = before.counting.without_day();
        let uses_before = target.sources.len();
        let mut parts = then.counted(&before.target, Sign::Minus, uses_before, names);
        then.only_in_rows(&before.target, &mut parts, uses_before, names);
        parts
    }

    /// Counts what a column has for every entity, on 1970-01-01.
    fn copy(&self, target: &Target, column: ColumnCounts, names: Names) -> Statement {
        let ColumnCounts {
            key,
            counter,
            from,
            mut conditions,
            mut reads,
        } = column;
        let kept = names.kept(self, target);
        reads.push(self.used_as(&kept, &target.table));
        conditions.push(self.has_none(target, &kept, &key));
        let order = column_numbers(key.len());
        let rest = [self.sql.undated.to_owned(), "0".to_owned(), counter];
        Statement {
            addition: Addition {
                to: self.counters_of(target),
                sums: SumQuery {
                    columns: key.into_iter().chain(rest).collect(),
                    from,
                    conditions,
                    order,
                    ..SumQuery::default()
                },
                assignments: Vec::new(),
                row_conditions: Vec::new(),
            },
            sums_name: self.unused_name(COUNTED),
            reads,
            emptied: None,
        }
    }

    /// Whether a row adds the same to both targets.
    fn counts_as(&self, target: &Target, before: &OldCounter) -> bool {
        let text =
            |expression: &Option<Expression>| expression.as_ref().map(|one| one.text.clone());
        let sources = |target: &Target| -> Vec<_> {
            let sources = target.sources.iter();
            sources
                .map(|source| (entity_columns(source), text(&source.weights[0])))
                .collect()
        };
        let old = &before.target;
        text(&self.when) == text(&before.counting.when)
            && old.only.is_none()
            && sources(target) == sources(old)
    }

    /// Returns what the old column has, for entities that exist.
    fn column_counts(&self, target: &Target, before: &OldCounter, names: Names) -> ColumnCounts {
        let old = &before.target;
        let name = names.before(&before.counting, old);
        let key = self.database.columns(&name, &old.entity);
        let counter = self.database.column(&name, &old.names[0]);
        let from = self.used_as(&name, &old.table);
        let mut conditions = vec![format!("{counter} <> 0")];
        conditions.extend(before.counting.only(old, &name));
        let mut reads = vec![from.clone()];
        // A row of the old table proves that its own entity exists.
        if target
            .parents
            .iter()
            .any(|parent| !parent.table.is(&old.table))
        {
            let uses_before = target.sources.len() + old.sources.len();
            conditions.extend(self.exists_at(uses_before, target, &key));
            reads.extend(self.parents_at(uses_before, target));
        }
        ColumnCounts {
            key,
            counter,
            from,
            conditions,
            reads,
        }
    }

    /// Returns the same definition, but with rows that have no day of their own.
    fn without_day(&self) -> Counting {
        let mut counting = self.clone();
        counting.day = None;
        counting
    }

    /// Returns the rows that count. `uses_before` is how many queries come before, in the same
    /// statement.
    fn counted(&self, target: &Target, sign: Sign, uses_before: usize, names: Names) -> UnionParts {
        let mut parts = UnionParts::default();
        for (index, source) in target.sources.iter().enumerate() {
            let number = uses_before + index;
            let name = names.counted(self, number);
            let from = self.used_as(&name, &self.rows);
            let rows = RowsToCount {
                sign,
                uses_before,
                ..rows(target, source, &name, &from)
            };
            parts.queries.push(self.rows_of(target, source, &rows, &[]));
            parts
                .reads
                .extend(self.reads(target, source, uses_before, names));
        }
        parts
    }

    /// Leaves out entities if their row doesn't meet the definition's `only`.
    fn only_in_rows(
        &self,
        target: &Target,
        parts: &mut UnionParts,
        uses_before: usize,
        names: Names,
    ) {
        if target.only.is_none() {
            return;
        }
        for (index, (query, source)) in parts.queries.iter_mut().zip(&target.sources).enumerate() {
            let number = uses_before + index;
            let counted = names.counted(self, number);
            let row = names.entity(self, target, number);
            let entity = self.entity_of(source, &counted);
            let mut conditions = vec![self.is_key(&target.entity, &row, &entity)];
            conditions.extend(self.only(target, &row));
            let from = self.used_as(&row, &target.table);
            query.conditions.push(format!(
                "EXISTS (SELECT 1 FROM {from} WHERE {})",
                conditions.join(" AND ")
            ));
            parts.reads.push(from);
        }
    }

    /// Returns the tables that a source's query reads, with their aliases.
    fn reads(
        &self,
        target: &Target,
        source: &Source,
        uses_before: usize,
        names: Names,
    ) -> Vec<String> {
        let uses_before = self.uses_before(target, source, uses_before);
        let counted = names.counted(self, uses_before);
        let mut reads = vec![self.used_as(&counted, &self.rows)];
        if target.entities(source) == Entities::Existing {
            reads.extend(self.parents_at(uses_before, target));
        }
        reads
    }

    /// Adds the sums of queries.
    fn add(
        &self,
        target: &Target,
        parts: UnionParts,
        day: Day,
        onto: Onto,
        names: Names,
    ) -> Statement {
        let slot = target.slots.as_ref().map(|_| "0");
        let name = self.unused_name(COUNTED);
        let mut sums = self.sums_of(target, (&name, parts.queries), slot);
        if target.slots.is_some() && day == Day::Undated {
            sums.columns[target.entity.len()] = self.sql.undated.to_owned();
        }
        self.addition(target, sums, &name, parts.reads, onto, names)
    }

    /// `row` is the alias of the rows that are summed up.
    fn addition(
        &self,
        target: &Target,
        mut sums: SumQuery,
        row: &str,
        mut reads: Vec<String>,
        onto: Onto,
        names: Names,
    ) -> Statement {
        let is_union = !sums.union.is_empty();
        sums.group
            .extend(self.exact_values(target, if is_union { "" } else { row }));
        let sums_name = self.unused_name(COUNTED);
        let mut assignments = Vec::new();
        let mut row_conditions = Vec::new();
        if target.slots.is_some() {
            // Without a GROUP BY, even no rows have a sum. And if a HAVING without GROUP BY has
            // both an aggregate and a query of the same table, MySQL 9.7 inserts nothing.
            if sums.group.is_empty() {
                sums.group = column_numbers(2);
                if !is_union {
                    sums.having.clear();
                }
            }
            if onto == Onto::NoCount {
                let kept = names.kept(self, target);
                reads.push(self.used_as(&kept, &target.table));
                let entity = match &*target.sources {
                    [source] if !is_union => self.entity_of(source, row),
                    _ => self.database.columns(row, &target.entity),
                };
                sums.having.insert(0, self.has_none(target, &kept, &entity));
            }
        } else {
            let table = self.database.quoted(&target.table.name);
            let counter = &target.names[0];
            let value = self.database.column(&sums_name, counter);
            let mut weights = target.sources.iter().flat_map(|source| &source.weights);
            let is_number = weights.all(|one| one.as_ref().is_some_and(Expression::is_one));
            let is_set = onto == Onto::NoCount && is_number;
            assignments.push(if is_set {
                // A number of rows is in the range of any column.
                let set_in = if self.database == MYSQL { &*table } else { "" };
                format!("{} = {value}", self.database.column(set_in, counter))
            } else {
                self.set(target, counter, &table, &value, SumContext::Statement)
            });
            row_conditions.push(self.same_key(target, &table, &sums_name));
            row_conditions.extend(self.only(target, &table));
            if onto == Onto::NoCount {
                row_conditions.push(format!("{} = 0", self.database.column(&table, counter)));
            }
            sums.order.clear();
        }
        Statement {
            addition: Addition {
                to: self.counters_of(target),
                sums,
                assignments,
                row_conditions,
            },
            sums_name,
            reads,
            emptied: None,
        }
    }

    /// The condition that an entity has no count yet.
    fn has_none(&self, target: &Target, kept: &str, entity: &[String]) -> String {
        let counter = self.database.quoted(&target.names[0]);
        let table = self.used_as(kept, &target.table);
        let sum = format!("SELECT COALESCE(SUM({counter}), 0) FROM {table}");
        let where_entity = match &*target.entity {
            [] => String::new(),
            key => format!("WHERE {}", self.is_key(key, kept, entity)),
        };
        let between = if sum.len() + where_entity.len() > LONG {
            "\n    "
        } else {
            " "
        };
        let query = [sum, where_entity].join(between);
        format!("(\n    {}\n) = 0", query.trim_end())
    }
}

/// What a column has for every entity.
struct ColumnCounts {
    key: Vec<String>,
    counter: String,
    from: String,
    conditions: Vec<String>,
    reads: Vec<String>,
}

impl ColumnCounts {
    /// Turns this into a query whose columns have the target's names.
    fn parts(self, counting: &Counting, target: &Target) -> UnionParts {
        let mut names = counting.database.columns("", &target.entity);
        names.extend(counting.counter_names(target));
        let values = self.key.into_iter().chain([self.counter]).collect();
        UnionParts {
            reads: self.reads,
            queries: vec![Query {
                columns: named(values, &names),
                from: self.from,
                conditions: self.conditions,
            }],
        }
    }
}

/// Queries that are added up, and the tables that they read, with their aliases.
#[derive(Debug, Default, PartialEq, Eq)]
struct UnionParts {
    queries: Vec<Query>,
    reads: Vec<String>,
}

impl UnionParts {
    fn push(&mut self, other: UnionParts) {
        self.queries.extend(other.queries);
        self.reads.extend(other.reads);
    }
}

/// Returns the columns of the row that name the entity.
pub fn entity_columns(source: &Source) -> Vec<String> {
    source
        .entity
        .iter()
        .map(|column| column.name.clone())
        .collect()
}

fn key_names(target: &Target) -> Vec<&str> {
    target.entity.iter().map(|key| &*key.name).collect()
}

fn only_of(target: &Target) -> Option<&str> {
    target.only.as_ref().map(|only| &*only.text)
}

/// The rows of a source, to be added.
fn rows<'r>(target: &Target, source: &Source, name: &'r str, from: &'r str) -> RowsToCount<'r> {
    RowsToCount {
        name,
        from,
        uses_before: 0,
        sign: Sign::Plus,
        entities: target.entities(source),
    }
}
