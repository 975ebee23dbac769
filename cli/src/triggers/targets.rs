//! Finds a definition's targets, and refuses what can't be one.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;

use super::definition::{Count, Definition, Period};
use super::expression::Expression;
use super::keys::{key_of, refuse_others};
use super::target::{DayAndSlot, ParentTable, Target};
use crate::catalogue::{
    self, Column, CounterTable, Kind, Parent, Table, WideForeignKey, is_zero, table,
};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined, POSTGRES};
use crate::sql::sql;

/// Returns a definition's targets, in the order in which it names them. Triggers write and lock
/// them in this order, so if you have several definitions, you can choose one order for all.
pub fn targets(
    definition: &Definition,
    period: Period,
    rows: &Table,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let (found, counter) = find_target(count, definition, period, conn)?;
        refuse_wide_foreign_key(&found)?;
        // Each of these has its own error, with the most general one first.
        let entity = entity(count, &found, rows, conn.database())?;
        refuse_others(count, &entity, &found, rows, conn)?;
        refuse_foreign_keys(&entity, &found, rows)?;
        let weight = count.weight.as_ref().unwrap_or(&definition.by);
        let weight = parsed_weight(weight, rows, conn.database())?;
        let target = shared_target(&mut targets, count, found, conn)?;
        if !target.add(counter, entity, weight) {
            bail!("count has \"{count}\" twice");
        }
    }
    for target in &targets {
        refuse_counter_in_only(target)?;
    }
    Ok(targets)
}

/// Refuses a counter table with a foreign key of several columns.
fn refuse_wide_foreign_key(target: &Target) -> Result<()> {
    let table = &target.table;
    if let Some(WideForeignKey { name, .. }) = table.wide_foreign_keys.first()
        && target.slots.is_some()
    {
        bail!(
            "the foreign key {name} of {table} has several columns. Triggers only work with \
             foreign keys of one column: replace it with one for each column, or drop it and \
             delete the counters in the program"
        );
    }
    Ok(())
}

/// Returns the target for the table of `found`, and adds it if the table has none yet. The counters
/// of one table share a target, which comes where the first of them is.
fn shared_target<'t>(
    targets: &'t mut Vec<Target>,
    count: &Count,
    mut found: Target,
    conn: &mut AnyConnection,
) -> Result<&'t mut Target> {
    let table = &found.table;
    let mut known = targets.iter();
    let index = match known.position(|target| target.table.is(table)) {
        Some(index) if targets[index].entity != found.entity => {
            bail!(
                "\"{count}\": this definition counts in {table} by two keys. Write two \
                 definitions"
            )
        }
        Some(index) => index,
        None => {
            if found.slots.is_some() {
                found.parents = parent_tables(&found, conn)?;
            }
            targets.push(found);
            targets.len() - 1
        }
    };
    Ok(&mut targets[index])
}

/// Refuses a condition on a counter's row that depends on the counter: counting could make the row
/// enter or leave the condition.
fn refuse_counter_in_only(target: &Target) -> Result<()> {
    let mut columns = target.only.iter().flat_map(Expression::columns);
    let is_counter = |name: &&str| target.names.iter().any(|counter| counter == name);
    if let Some(name) = columns.find(is_counter) {
        bail!("only has {name}, which the triggers change");
    }
    Ok(())
}

/// Returns the tables that a counter table's foreign keys refer to, as far as the user may see
/// them.
fn parent_tables(target: &Target, conn: &mut AnyConnection) -> Result<Vec<ParentTable>> {
    let mut tables = Vec::new();
    for (column, parent) in target.parents() {
        if let Some(table) = catalogue::parent(&parent, conn)? {
            tables.push(ParentTable {
                column,
                table,
                deferrable: parent.is_deferrable(),
                key: parent.column,
            });
        }
    }
    Ok(tables)
}

/// Parses a weight. A column with fractions is refused, but an expression may round one to a whole
/// number.
fn parsed_weight(text: &str, rows: &Table, database: Database) -> Result<Expression> {
    let is_decimal = |column: &Column| ["numeric", "decimal"].contains(&&*column.plain_type());
    let has_fraction = |column: &&Column| column.kind == Kind::Real || is_decimal(column);
    if let Some(Column { sql_type, .. }) = rows.column(text).filter(has_fraction) {
        bail!(
            "{rows}.{text} is {sql_type}, and a counter has whole numbers. Give it whole numbers, \
             such as \"ROUND({text} * 100)\""
        );
    }
    Expression::of_rows(text, rows, database)
}

/// Returns the columns of the row that name the entity, one for every column of the target's key.
fn entity(count: &Count, target: &Target, rows: &Table, database: Database) -> Result<Vec<Column>> {
    let table = &target.table;
    let key = &target.entity;
    let names = count.columns.as_deref().unwrap_or_default();
    if key.len() != names.len() {
        let (entity, columns) = match key.len() {
            0 => ("one thing only".to_owned(), String::new()),
            len => {
                let key_names = key.iter().map(|column| &column.name).joined(", ");
                let columns = vec!["COLUMN"; len].join(",");
                (format!("every {key_names}"), columns + ":")
            }
        };
        bail!(
            "{table} counts for {entity}: write \"{columns}{table}.COUNTER\" in count, with the \
             columns of {rows} that name it"
        );
    }
    if target.slots.is_some() && table.is(rows) {
        bail!("{rows} is the counter table itself");
    }
    let pairs = names.iter().zip(key);
    pairs
        .map(|(name, key)| entity_column(name, key, table, rows, database))
        .collect()
}

/// Returns the column of the rows that has this name. Fails if its values can't be those of a key
/// column of the table with the counts.
fn entity_column(
    name: &str,
    key: &Column,
    table: &Table,
    rows: &Table,
    database: Database,
) -> Result<Column> {
    let column = rows.column(name).with_context(|| {
        let did_you_mean = rows.did_you_mean(name);
        format!(
            "{rows} has no column {name}{did_you_mean}: name the entity with columns, not with \
             expressions"
        )
    })?;
    let column_name = format!("{rows}.{name}");
    let key_name = format!("{table}.{}", key.name);
    let kind = database.stored_as(column.kind);
    if !kind.fits(database.stored_as(key.kind)) {
        let column_type = &column.sql_type;
        let key_type = &key.sql_type;
        bail!(
            "{column_name} is {column_type}, and {key_name} is {key_type}: they cannot have the \
             same values"
        );
    }
    // If a foreign key treats texts as equal, they are one entity. Without one, an exact key counts
    // each of them separately. PostgreSQL can't compare two collations.
    let has_no_foreign_key = column.refers_to.is_none() && key.refers_to.is_none();
    let is_exact = database != POSTGRES && has_no_foreign_key && key.loose_collation.is_none();
    if column.loose_collation != key.loose_collation && !is_exact {
        bail!(
            "{column_name} and {key_name} have different collations: the same texts could be one \
             entity in one of them, and two in the other. Give them the same collation first"
        );
    }
    Ok(column.clone())
}

/// Refuses foreign keys that would change counts or refuse them.
fn refuse_foreign_keys(entity: &[Column], target: &Target, rows: &Table) -> Result<()> {
    refuse_wide_on_update(target, rows)?;
    for (number, parent_of_counts) in target.parents() {
        let pair = KeyPair {
            rows,
            column: &entity[number],
            target,
            key_column: &target.entity[number],
            parent_of_counts: &parent_of_counts,
        };
        pair.refuse_on_update()?;
        pair.refuse_shared_update()?;
        pair.refuse_deferrable()?;
    }
    Ok(())
}

/// Refuses a foreign key of several columns through which an update of a row with a counter changes
/// the counted rows.
fn refuse_wide_on_update(target: &Target, rows: &Table) -> Result<()> {
    let table = &target.table;
    let moves_rows = |key: &&WideForeignKey| key.parent.updates() && table.is_parent(&key.parent);
    let foreign_key = rows.wide_foreign_keys.iter().find(moves_rows);
    if let Some(WideForeignKey { name, parent }) = foreign_key
        && target.slots.is_none()
    {
        let action = &parent.on_update;
        bail!(
            "the foreign key {name} of {rows} has ON UPDATE {action}: an update of its key in \
             {table} would count its rows twice. Remove ON UPDATE {action} first"
        );
    }
    Ok(())
}

/// A column of the counted rows, and the key column of the counts that has the same values.
struct KeyPair<'c> {
    rows: &'c Table,
    column: &'c Column,
    target: &'c Target,
    key_column: &'c Column,
    /// What the key column refers to. For an ordinary table, that's the column itself.
    parent_of_counts: &'c Parent,
}

impl KeyPair<'_> {
    /// Returns the foreign key of the rows, if it refers to the entity that is counted.
    fn parent_of_rows(&self) -> Option<&Parent> {
        let mut parents = self.column.parents();
        parents.find(|parent| parent.is_same(self.parent_of_counts))
    }

    /// Refuses an ON UPDATE that would count rows again. If an entity's key changes, its counts
    /// move along. But the foreign key also changes the rows, and a trigger can't tell that from an
    /// update that moves a row to another entity.
    fn refuse_on_update(&self) -> Result<()> {
        let (table, column, parent) = if self.target.slots.is_some() {
            (
                &self.target.table,
                self.key_column,
                Some(self.parent_of_counts),
            )
        } else {
            (self.rows, self.column, self.parent_of_rows())
        };
        if let Some(parent) = parent.filter(|parent| parent.updates()) {
            let name = &column.name;
            let action = &parent.on_update;
            let parent_table = &parent.table;
            let parent_column = &parent.column;
            bail!(
                "the foreign key of {table}.{name} has ON UPDATE {action}: an update of \
                 {parent_table}.{parent_column} would count its rows twice. Remove ON UPDATE \
                 {action} first"
            );
        }
        Ok(())
    }

    /// Refuses foreign keys through which a counted row and the row with its counter would both
    /// follow the same update, one after the other.
    fn refuse_shared_update(&self) -> Result<()> {
        let followed = |column: &Column| column.parents().find(|parent| parent.updates()).cloned();
        if let Some(parent) = followed(self.column)
            && followed(self.key_column).is_some()
            && self.target.slots.is_none()
        {
            let KeyPair { rows, target, .. } = self;
            let table = &target.table;
            let column = &self.column.name;
            let key_column = &self.key_column.name;
            let action = &parent.on_update;
            let parent_table = &parent.table;
            bail!(
                "the foreign keys of {rows}.{column} and {table}.{key_column} change with an \
                 update of {parent_table}, which would count its rows twice. Remove ON UPDATE \
                 {action} first"
            );
        }
        Ok(())
    }

    /// Refuses a foreign key that lets a row come before its entity, unless the counts can also
    /// come before it: the row is counted when it's inserted.
    fn refuse_deferrable(&self) -> Result<()> {
        let Some(parent) = self.parent_of_rows() else {
            return Ok(());
        };
        let deferrable = &parent.deferrable;
        let of_key = &self.parent_of_counts.deferrable;
        if !parent.is_deferrable() || deferrable == of_key {
            return Ok(());
        }
        let KeyPair { rows, target, .. } = self;
        let table = &target.table;
        let column = &self.column.name;
        if target.slots.is_none() {
            bail!(
                "the foreign key of {rows}.{column} is {deferrable}: a row that is there before \
                 its row of {table} would not be counted in it. Make it NOT DEFERRABLE, or count \
                 in a counter table"
            );
        }
        let key_column = &self.key_column.name;
        let parent_table = &parent.table;
        bail!(
            "the foreign key of {rows}.{column} is {deferrable}, and that of {table}.{key_column} \
             is {of_key}: it would refuse the count of a row that is there before its row of \
             {parent_table}. Make it {deferrable} too: ALTER TABLE {table} ALTER CONSTRAINT … \
             {deferrable}"
        );
    }
}

/// Returns the table that a count names, as a target without sources, and the counter's name.
fn find_target(
    count: &Count,
    definition: &Definition,
    period: Period,
    conn: &mut AnyConnection,
) -> Result<(Target, String)> {
    match CounterTable::try_from(table(conn, &count.table)?) {
        Ok(counters) => {
            let target = in_counter_table(count, definition, period, counters, conn.database())?;
            Ok((target, count.counter.clone()))
        }
        // The error is the table itself, if it isn't a counter table.
        Err(table) => in_ordinary_table(count, definition, table, conn),
    }
}

/// Returns a counter table as a target. Fails if triggers can't count in this counter.
fn in_counter_table(
    count: &Count,
    definition: &Definition,
    period: Period,
    counters: CounterTable,
    database: Database,
) -> Result<Target> {
    let table = &counters.table;
    refuse_other_period(&counters, period)?;
    if definition.only.is_some() {
        bail!(
            "only is a condition on the row that has the counter, and {table} has several: \
             write a separate definition for it"
        );
    }
    if count.key.is_some() {
        bail!("{table} is a counter table, which is found by its primary key: don't name a key");
    }
    let column = counter_column(&count.counter, &counters)?;
    refuse_deferrable_key(table)?;
    refuse_missing_default(column, table)?;
    refuse_stock(column, &counters, database)?;
    Ok(Target {
        slots: Some(DayAndSlot {
            day: counters.day,
            slot: counters.slot,
        }),
        entity: counters.entity,
        table: counters.table,
        ..Target::default()
    })
}

/// Refuses a counter table with another period than the definition's other tables.
fn refuse_other_period(counters: &CounterTable, period: Period) -> Result<()> {
    let table = &counters.table;
    if let Some(mark) = counters.mark()
        && mark.period != period
    {
        let of_table = mark.period;
        bail!(
            "{table} has the period {of_table}, as the comment on its day says, and another table \
             of this definition has the period {period}: write a definition for each period"
        );
    }
    Ok(())
}

/// Returns the column of a counter.
fn counter_column<'c>(counter: &str, counters: &'c CounterTable) -> Result<&'c Column> {
    let mut columns = counters.counters.iter();
    if let Some(column) = columns.find(|column| column.name == counter) {
        return Ok(column);
    }
    let table = &counters.table;
    let names = counters.counters.iter().map(|column| &*column.name);
    match &*names.joined(", ") {
        "" => bail!("{table} has no counters"),
        names => bail!("{table} has no counter {counter}; its counters are {names}"),
    }
}

/// Refuses a counter table whose primary key is deferrable, because an upsert can't use that.
fn refuse_deferrable_key(table: &Table) -> Result<()> {
    let mut indexes = table.indexes.iter();
    if indexes.any(|index| index.primary && index.deferrable) {
        bail!(
            "the primary key of {table} is DEFERRABLE: `diesel-counters check {table}` says how to change it"
        );
    }
    Ok(())
}

/// Refuses a counter that isn't NOT NULL DEFAULT 0: other programs also insert rows, without a
/// value for it.
fn refuse_missing_default(column: &Column, table: &Table) -> Result<()> {
    let has_zero = column.default.as_deref().is_some_and(is_zero);
    if column.nullable || !has_zero {
        let counter = &column.name;
        bail!(
            "{table}.{counter} must be NOT NULL DEFAULT 0: `diesel-counters check {table}` says how to \
             change it"
        );
    }
    Ok(())
}

/// Refuses a counter that can't be below 0 in a single slot.
fn refuse_stock(column: &Column, counters: &CounterTable, database: Database) -> Result<()> {
    let counter = &column.name;
    let table = &counters.table;
    let mark = counters.mark();
    let stock = mark.iter().flat_map(|mark| &mark.stock);
    let guarded = counters.guarded(database);
    if stock.chain(&guarded).any(|name| name == counter) {
        bail!(
            "{table}.{counter} is a stock, or a CHECK keeps it at 0 or more. A trigger \
             takes a deleted row off the row of the connection, which can be below 0 while \
             the count is not: count in another counter"
        );
    }
    Ok(())
}

/// Returns an ordinary table as a target, and the name of the column to count in, as the table has
/// it. Fails if triggers can't count in this column.
fn in_ordinary_table(
    count: &Count,
    definition: &Definition,
    table: Table,
    conn: &mut AnyConnection,
) -> Result<(Target, String)> {
    let counter = &*count.counter;
    let is_only_row = matches!(count.columns.as_deref(), Some([]));
    let key = if is_only_row && count.key.is_none() {
        Vec::new()
    } else {
        key_of(count, &table)?
    };
    let is_in_key =
        |name: &String| table.primary_key.contains(name) || key.iter().any(|key| key.name == *name);
    let column = table.column(counter);
    let Some(column) = column.filter(|column| !is_in_key(&column.name)) else {
        let did_you_mean = table.did_you_mean(counter);
        bail!("{table} has no column {counter} to count in, apart from its key{did_you_mean}");
    };
    if let Some(why) = why_no_counter(column) {
        let must = "the column to count in must be an integer NOT NULL DEFAULT 0";
        bail!("{table}.{counter} {why}: {must}");
    }
    if is_only_row {
        refuse_several_rows(count, &table, conn)?;
    }
    if key.is_empty() && !is_only_row {
        bail!("{table} has no primary key: {counter} cannot be counted in it");
    }
    let only = match &definition.only {
        Some(text) => Some(Expression::of_rows(text, &table, conn.database())?),
        None => None,
    };
    let name = column.name.clone();
    let target = Target {
        table,
        entity: key,
        only,
        ..Target::default()
    };
    Ok((target, name))
}

/// Returns why triggers can't count in a column, if they can't: a new row must start at 0, and `+`
/// must give an integer.
fn why_no_counter(column: &Column) -> Option<String> {
    let default = column.default.as_deref();
    if column.generated {
        Some("is generated by the database".to_owned())
    } else if !column.kind.is_integer() {
        Some(format!("is {}", column.sql_type))
    } else if column.nullable {
        Some("may be NULL".to_owned())
    } else if let Some(default) = default {
        (!is_zero(default)).then(|| format!("has the default {default}"))
    } else {
        Some("has no default".to_owned())
    }
}

/// Refuses to count in the only row of a table that has several rows. This is only checked now. If
/// a second row is added later, it would be counted in, too.
fn refuse_several_rows(count: &Count, table: &Table, conn: &mut AnyConnection) -> Result<()> {
    let name = conn.database().table_name(table);
    let query = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT 2) AS few");
    let number: i64 = sql(query).typed::<BigInt>().get_result(conn)?;
    if number > 1 {
        bail!("\"{count}\" counts in the only row of {table}, which has several rows");
    }
    Ok(())
}
