//! The names of the rows of a statement.

use crate::database::POSTGRES;
use crate::triggers::counting::Counting;
use crate::triggers::trigger::Trigger;

/// The columns that the functions read, of the rows of a statement before it and after it.
pub struct Names {
    /// The table itself, whose name the rows take in a trigger; or a view of it.
    pub old: String,
    /// A view without rows, whose name the rows take in a trigger.
    pub new: String,
}

impl Names {
    pub fn of(counting: &Counting) -> Self {
        let (rows, name) = (&counting.rows, &counting.definition.name);
        let mut targets = counting.targets.iter();
        // The rows of a trigger cannot have the name of a table that it updates.
        let is_target = targets.any(|target| {
            (&target.table.in_schema, &target.table.name) == (&rows.in_schema, &rows.name)
        });
        Names {
            old: match is_target {
                true => format!("{name}_old"),
                false => rows.name.clone(),
            },
            new: format!("{name}_new"),
        }
    }

    pub fn triggers(&self, counting: &Counting) -> Vec<Trigger> {
        let sources = counting.targets.iter().flat_map(|target| &target.sources);
        let mut columns: Vec<_> = sources
            .flat_map(|source| counting.columns(source))
            .collect();
        columns.sort();
        columns.dedup();
        let columns = POSTGRES.quoted_list(&columns);
        let rows = POSTGRES.table_name(&counting.rows);
        let query = format!("SELECT {columns} FROM {rows}");
        let none = Trigger::view(&self.new, &format!("{query} WHERE false"), counting);
        let all = Trigger::view(&self.old, &query, counting);
        let is_view = self.old != counting.rows.name;
        is_view.then_some(all).into_iter().chain([none]).collect()
    }
}
