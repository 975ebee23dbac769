//! The statements that add to counters.

use diesel_counters::Dialect;

use super::counting::Counting;
use super::statement::{Rows, clause, in_lines, not_0};
use super::target::{Source, Target};
use crate::database::{Joined, MYSQL, SQLITE};

/// What a row of a trigger adds to a target.
pub struct Added {
    pub names: Vec<String>,
    pub values: Vec<String>,
    /// When it adds that. In an ordinary table, these conditions are of the row that has the counters.
    pub conditions: Vec<String>,
}

impl Counting {
    /// `more` is a condition of the trigger's own.
    pub fn added(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
        more: Option<String>,
    ) -> Added {
        let counted = target.names.iter().zip(self.counts(source, rows));
        let counted = counted.zip(&source.weights);
        let counted = counted.filter_map(|(one, weight)| weight.as_ref().map(|_| one));
        let (names, values): (Vec<_>, Vec<_>) = counted.map(|(n, v)| (n.clone(), v)).unzip();
        let mut conditions = Vec::new();
        if target.slots.is_none() {
            let keys = self.database.columns("", &target.entity).into_iter();
            let keys = keys.zip(self.entity_of(source, rows.name));
            conditions.extend(keys.map(|(key, value)| format!("{key} = {value}")));
            conditions.extend(self.only(target, ""));
        }
        conditions.extend(self.conditions(target, source, rows));
        if !source.has_one() {
            conditions.push(format!("({})", not_0(values.iter().cloned())));
        }
        conditions.extend(more);
        Added {
            names,
            values,
            conditions,
        }
    }

    /// The statements of a trigger that runs for each row: they add it, or take it off. They write
    /// nothing unless all of the conditions are true.
    pub fn add_row(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
        slot: &str,
        added: &Added,
    ) -> String {
        let Added { names, values, .. } = added;
        let all = &added.conditions;
        let where_all = clause("\nWHERE ", all.clone(), "\n    AND ");
        if target.slots.is_none() {
            let updates = names.iter().zip(values);
            let updates = updates.map(|(name, value)| self.set(target, name, "", value, true));
            return format!(
                "UPDATE {} SET {}{where_all}",
                self.database.table_name(&target.table),
                updates.joined(", "),
            );
        }
        let quoted = names.iter().map(|name| self.database.quoted(name));
        let quoted: Vec<_> = quoted.collect();
        let row = self.entity_of(source, rows.name).into_iter();
        let row = row.chain([self.day_of(rows.name), slot.to_owned()]);
        let row = row.chain(values.iter().cloned()).joined(", ");
        // When SQLite renames the table, it changes `excluded` in triggers to the name of the table.
        let new = (self.database == SQLITE).then_some(&**values);
        let insert = |query: &str| self.upsert(target, &quoted, query, new);
        match (&**all, self.database) {
            ([], _) => insert(&format!("VALUES ({row})")),
            (_, SQLITE) => insert(&format!("SELECT {row}{where_all}")),
            _ => format!(
                "IF {} THEN\n{};\nEND IF",
                all.join("\n    AND "),
                in_lines(&insert(&format!("VALUES ({row})")), 4)
            ),
        }
    }

    /// Adds the rows of a query to the counters.
    pub fn add(&self, target: &Target, query: &str) -> String {
        self.upsert(target, &self.counter_names(target), query, None)
    }

    /// Adds the rows of a query, or of a view, to an ordinary column. `row` is the name of a row.
    pub fn add_to_column(
        &self,
        target: &Target,
        from: &str,
        row: &str,
        value: impl Fn(&str) -> String,
    ) -> String {
        let table = self.database.table_name(&target.table);
        let updates = target.names.iter();
        let updates =
            updates.map(|counter| self.set(target, counter, &table, &value(counter), false));
        let updates = updates.joined(", ");
        let keys = [self.same_key(target, &table, row)].into_iter();
        let keys = keys.chain(self.only(target, &table)).joined(" AND ");
        match self.database {
            MYSQL => format!("UPDATE {table} JOIN {from} ON {keys} SET {updates}"),
            _ => format!("UPDATE {table} SET {updates}\nFROM {from} WHERE {keys}"),
        }
    }

    /// Adds a value to a counter of the row `row` of an ordinary table.
    pub fn set(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        is_in_trigger: bool,
    ) -> String {
        let sum = self.sum(target, counter, row, value, is_in_trigger);
        let row = if self.database == MYSQL { row } else { "" };
        format!("{} = {sum}", self.database.column(row, counter))
    }

    /// The sum of a counter and a value, or an error if it is out of the range of the column.
    pub fn sum(
        &self,
        target: &Target,
        counter: &str,
        row: &str,
        value: &str,
        is_in_trigger: bool,
    ) -> String {
        let sum = format!("{} + {value}", self.database.column(row, counter));
        match target.table.range(counter) {
            None => self.sql.whole(sum),
            Some([least, greatest]) => {
                let [in_trigger, elsewhere] = self.sql.overflow;
                let fails = if is_in_trigger { in_trigger } else { elsewhere };
                let what = format!("integer overflow of {}.{counter}", target.table);
                let fails = fails.replace("{what}", &self.database.literal(&what));
                let fails = fails.replace("{sum}", &sum);
                format!(
                    "CASE WHEN {sum} BETWEEN {least} AND {greatest} THEN {sum} ELSE {fails} END"
                )
            }
        }
    }

    /// The condition of the rows of an ordinary table in which rows are counted, if there is one.
    pub fn only(&self, target: &Target, row: &str) -> Vec<String> {
        let only = target.only.iter();
        only.map(|only| only.of(row, self.database)).collect()
    }

    /// Adds the rows of a query to the counters `names`. `new` is what the row adds to an existing one, if there
    /// is one row.
    fn upsert(
        &self,
        target: &Target,
        names: &[String],
        query: &str,
        new: Option<&[String]>,
    ) -> String {
        let table = self.database.table_name(&target.table);
        let key = target.entity.iter().chain(target.slots.iter().flatten());
        let key = self.database.columns("", key).join(", ");
        let (alias, row) = match self.database.0 {
            Dialect::PostgreSql => (" AS kept", "kept."),
            Dialect::MySql => ("", &*format!("{table}.")),
            Dialect::Sqlite => ("", ""),
        };
        let on_conflict = match self.database {
            MYSQL => "ON DUPLICATE KEY UPDATE".to_owned(),
            _ => format!("ON CONFLICT ({key}) DO UPDATE SET"),
        };
        let updates = names.iter().enumerate().map(|(i, name)| {
            let new = match new {
                Some(new) => new[i].clone(),
                None if self.database == MYSQL => format!("VALUES({name})"),
                None => format!("excluded.{name}"),
            };
            self.sql.update(name, &format!("{row}{name}"), &new)
        });
        format!(
            "INSERT INTO {table}{alias} ({key}, {})\n{query}\n{on_conflict} {}",
            names.join(", "),
            updates.joined(", "),
        )
    }
}
