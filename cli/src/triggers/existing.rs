//! What counts the rows that are there before the triggers.

use super::correction::places;
use super::counting::Counting;
use super::expression::Expression;
use super::statement::{COUNTED, KEPT, Place, Rows, Sign, numbered};
use super::target::{Source, Target};
use super::values::{Addition, LONG, Sums};
use crate::database::MYSQL;

/// The names of tables in the statements. LOCK TABLES of MySQL takes a name once, so a migration of
/// several definitions or tables adds those of the tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Short,
    OfTables,
}

impl Names {
    pub fn counted(self, counting: &Counting, place: usize) -> String {
        let name = numbered(&counting.free(COUNTED), place);
        match self {
            Names::Short => name,
            Names::OfTables => {
                let rows = &counting.rows.name;
                counting.database.quoted(&format!("{name}_{rows}"))
            }
        }
    }

    pub fn kept(self, counting: &Counting, target: &Target) -> String {
        match self {
            Names::Short => counting.free(KEPT),
            Names::OfTables => {
                let kept = counting.free(KEPT);
                counting
                    .database
                    .quoted(&format!("{kept}_{}", target.table.name))
            }
        }
    }
}

impl Counting {
    /// One statement for each counter. An entity keeps the count that it has, whatever it is: some
    /// of it can be older than the rows.
    pub fn existing(&self, names: Names) -> Vec<Addition> {
        let mut additions = Vec::new();
        for target in &self.targets {
            for counter in 0..target.names.len() {
                additions.push(self.existing_of(&target.only_counter(counter), names));
            }
        }
        additions
    }

    fn existing_of(&self, target: &Target, names: Names) -> Addition {
        let slot = target.slots.as_ref().map(|_| "0");
        let all_rows = self.free(COUNTED);
        let mut sums = if let [source] = &*target.sources {
            let name = names.counted(self, 0);
            let from = self.used_as(&name, &self.rows);
            self.sums_of_rows(target, source, &rows(target, source, &name, &from), slot)
        } else {
            let mut union = Vec::new();
            for (place, source) in target.sources.iter().enumerate() {
                let name = names.counted(self, place);
                let from = self.used_as(&name, &self.rows);
                let rows = rows(target, source, &name, &from);
                union.push(self.rows_of(target, source, &rows, &[]));
            }
            self.sums_of(target, (&all_rows, union), slot)
        };
        let row = match &*target.sources {
            [_] => names.counted(self, 0),
            _ => String::new(),
        };
        sums.group.extend(self.exact_values(target, &row));
        // Without a GROUP BY, there is a sum of no rows, too. And MySQL 9.7 inserts nothing if a HAVING
        // without one has both an aggregate and a query of the same table.
        if sums.group.is_empty() && target.slots.is_some() {
            sums.group = places(2);
            sums.having.clear();
        }
        let mut assignments = Vec::new();
        let mut row_conditions = Vec::new();
        if target.slots.is_some() {
            self.keep(target, names, &mut sums);
        } else {
            let table = self.database.quoted(&target.table.name);
            for counter in &target.names {
                let value = self.database.column(&all_rows, counter);
                let mut weights = target.sources.iter().flat_map(|source| &source.weights);
                assignments.push(
                    if weights.all(|one| one.as_ref().is_some_and(Expression::is_one)) {
                        // A number of rows is in the range of any column.
                        let set_in = if self.database == MYSQL { &*table } else { "" };
                        format!("{} = {value}", self.database.column(set_in, counter))
                    } else {
                        self.set(target, counter, &table, &value, Place::Statement)
                    },
                );
            }
            row_conditions.push(self.same_key(target, &table, &all_rows));
            row_conditions.extend(self.only(target, &table));
            for counter in &target.names {
                row_conditions.push(format!("{} = 0", self.database.column(&table, counter)));
            }
            sums.order.clear();
        }
        Addition {
            to: self.counters_of(target),
            sums,
            assignments,
            row_conditions,
        }
    }

    /// Adds the condition that an entity has no count yet.
    fn keep(&self, target: &Target, names: Names, sums: &mut Sums) {
        let kept = names.kept(self, target);
        let entity = match &*target.sources {
            [source] => self.entity_of(source, &names.counted(self, 0)),
            _ => self.database.columns(&self.free(COUNTED), &target.entity),
        };
        let counter = self.database.quoted(&target.names[0]);
        let table = self.used_as(&kept, &target.table);
        let sum = format!("SELECT COALESCE(SUM({counter}), 0) FROM {table}");
        let where_entity = match &*target.entity {
            [] => String::new(),
            key => format!("WHERE {}", self.is_key(key, &kept, &entity)),
        };
        let between = if sum.len() + where_entity.len() > LONG {
            "\n    "
        } else {
            " "
        };
        let query = [sum, where_entity].join(between);
        let has_none = format!("(\n    {}\n) = 0", query.trim_end());
        sums.having.insert(0, has_none);
    }
}

/// The rows of a source, to be added.
fn rows<'r>(target: &Target, source: &Source, name: &'r str, from: &'r str) -> Rows<'r> {
    Rows {
        name,
        from,
        sign: Sign::Plus,
        entities: target.entities(source),
    }
}
