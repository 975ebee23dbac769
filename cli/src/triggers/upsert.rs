//! The statements that add to counters.

use super::counting::Counting;
use super::statement::{Rows, conditions, in_lines};
use super::target::{Source, Target};

impl Counting {
    /// The statements of a trigger that runs for each row: they add it, or take it off. They write
    /// nothing unless all of these conditions are true, too.
    pub fn add_row(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
        slot: &str,
        more: Option<String>,
    ) -> String {
        let names = target.names.iter().zip(self.counts(source, rows));
        let counted = names.zip(&source.weights);
        let counted = counted.filter(|(_, weight)| weight.is_some());
        let counted = counted.map(|((name, value), _)| (self.database.quoted(name), value));
        let (names, values): (Vec<_>, Vec<_>) = counted.unzip();
        let mut all = self.conditions(target, source, rows);
        if !source
            .weights
            .iter()
            .flatten()
            .any(|weight| weight.is_one())
        {
            let not_0 = values.iter().map(|value| format!("{value} <> 0"));
            all.push(format!("({})", not_0.collect::<Vec<_>>().join(" OR ")));
        }
        all.extend(more);
        let entity = self.entity_of(source, rows.name);
        if target.slots.is_none() {
            let updates = names.iter().zip(&values);
            let updates = updates.map(|(name, value)| (self.sql.update)(name, name, value));
            let keys = target.entity.iter().zip(&entity);
            let keys =
                keys.map(|(key, value)| format!("{} = {value}", self.database.quoted(&key.name)));
            return format!(
                "UPDATE {} SET {}{}",
                self.database.table_name(&target.table),
                updates.collect::<Vec<_>>().join(", "),
                conditions(keys.chain(all).collect())
            );
        }
        let row = entity
            .into_iter()
            .chain([self.day_of(rows.name), slot.to_owned()]);
        let row = row
            .chain(values.iter().cloned())
            .collect::<Vec<_>>()
            .join(", ");
        let new = names.iter().zip(&values);
        let new: Vec<_> = new
            .map(|(name, value)| match self.sql.is_new_value_of_table {
                true => value.clone(),
                false => self.sql.new_value.replace("{}", name),
            })
            .collect();
        let insert = |query: &str| self.upsert(target, &names, query, &new);
        match (&*all, self.sql.has_if) {
            ([], _) => insert(&format!("VALUES ({row})")),
            (_, false) => insert(&format!("SELECT {row}{}", conditions(all))),
            (_, true) => format!(
                "IF {} THEN\n{};\nEND IF",
                all.join("\n    AND "),
                in_lines(&insert(&format!("VALUES ({row})")), 4)
            ),
        }
    }

    /// Adds the rows of a query to the counters.
    pub fn add(&self, target: &Target, query: &str) -> String {
        let names = self.counter_names(target);
        let new = names
            .iter()
            .map(|name| self.sql.new_value.replace("{}", name));
        let new: Vec<_> = new.collect();
        self.upsert(target, &names, query, &new)
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
        let updates = target.names.iter().map(|counter| {
            let name = self.database.quoted(counter);
            let set = self.sql.set.replace("{table}", &table).replace("{}", &name);
            (self.sql.update)(&set, &format!("{table}.{name}"), &value(counter))
        });
        let (updates, keys) = (
            updates.collect::<Vec<_>>(),
            self.same_key(target, &table, row),
        );
        (self.sql.update_from)(&table, from, &keys, &updates.join(", "))
    }

    /// Adds the rows of a query to the counters `names`. `new` is what a row adds to an existing one.
    fn upsert(&self, target: &Target, names: &[String], query: &str, new: &[String]) -> String {
        let (database, sql) = (self.database, self.sql);
        let table = database.table_name(&target.table);
        let key = target.entity.iter().chain(target.slots.iter().flatten());
        let key: Vec<_> = key.map(|column| database.quoted(&column.name)).collect();
        let updates = names.iter().zip(new).map(|(name, value)| {
            let old = sql.kept.replace("{table}", &table).replace("{}", name);
            (sql.update)(name, &old, value)
        });
        format!(
            "INSERT INTO {table}{} ({}, {})\n{query}\n{} {}",
            sql.alias,
            key.join(", "),
            names.join(", "),
            sql.on_conflict.replace("{}", &key.join(", ")),
            updates.collect::<Vec<_>>().join(", "),
        )
    }
}
