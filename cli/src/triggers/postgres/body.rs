//! What the triggers run, as values of its template.

use anyhow::Result;
use serde::Serialize;

use crate::catalogue::{Parent, Table};
use crate::database::{Joined, POSTGRES};
use crate::template::render;
use crate::triggers::correction::places;
use crate::triggers::counting::Counting;
use crate::triggers::statement::{Entities, Place, Rows, Sign, named};
use crate::triggers::target::{Source, Target};
use crate::triggers::values::{Addition, Sums, any};
use diesel_counters::Dialect;

/// The rows of a statement before it and after it.
pub const OLD: &str = "old_rows";
pub const NEW: &str = "new_rows";

/// What wrote the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Version {
    This,
    /// One that did not look whose tables the function reads and writes, or whether columns have the names of
    /// variables. It counts the same.
    Earlier,
}

/// The text of a function.
#[derive(Serialize)]
struct Function {
    /// The table whose rows it counts. Whoever has the function could give it rows of another table.
    schema: String,
    table: String,
    guard: Option<Guard>,
    slot: Option<Slot>,
    /// Whether it counts in ordinary columns.
    has_columns: bool,
    insert: Vec<Addition>,
    /// Nothing if no update changes what rows add.
    update: Vec<Addition>,
    delete: Vec<Addition>,
    truncate: Vec<Addition>,
}

/// The tables that must be those of the owner of the function: after a rename, whoever may create tables in its
/// schema can take its name. A table of another role that entities are in is the one that a foreign key of the
/// counters refers to.
#[derive(Serialize)]
struct Guard {
    counters: Vec<String>,
    parents: Vec<String>,
}

/// The slot of the connection.
#[derive(Serialize)]
struct Slot {
    slots: u16,
    /// The setting of the session whose length is the slot.
    setting: String,
    /// The number of the connection.
    number: String,
}

/// Rows that a statement has changed.
#[derive(Clone, Copy)]
struct Changed<'t> {
    table: &'t str,
    sign: Sign,
}

pub fn body(counting: &Counting, version: Version) -> Result<String> {
    let table = POSTGRES.table_name(&counting.rows);
    let old = Changed {
        table: OLD,
        sign: Sign::Minus,
    };
    let new = Changed {
        table: NEW,
        sign: Sign::Plus,
    };
    let all = Changed {
        table: &table,
        sign: Sign::Minus,
    };
    let additions = |changed: &[Changed<'_>]| -> Vec<Addition> {
        let targets = counting.targets.iter();
        targets
            .map(|target| addition(counting, target, changed, version))
            .collect()
    };
    let in_slots = |target: &Target| target.slots.is_some();
    let function = Function {
        schema: POSTGRES.literal(&counting.rows.in_schema),
        table: POSTGRES.literal(&counting.rows.name),
        guard: (version == Version::This).then(|| guard(counting)),
        slot: counting
            .targets
            .iter()
            .any(in_slots)
            .then(|| slot(counting)),
        has_columns: !counting.targets.iter().all(in_slots),
        insert: additions(&[new]),
        update: if counting.has_updates() {
            additions(&[old, new])
        } else {
            Vec::new()
        },
        delete: additions(&[old]),
        truncate: additions(&[all]),
    };
    render("postgres/one_function.sql", function)
}

fn slot(counting: &Counting) -> Slot {
    let slots = counting.definition.slots.max(1);
    Slot {
        slots,
        setting: format!("diesel_counters.slot_{slots}_0_1"),
        number: match slots {
            1 => "0".to_owned(),
            _ => Dialect::PostgreSql.connection_number(),
        },
    }
}

fn guard(counting: &Counting) -> Guard {
    fn oids<'t>(tables: impl Iterator<Item = &'t Table>) -> Vec<String> {
        let mut oids: Vec<String> = Vec::new();
        for table in tables {
            let name = POSTGRES.literal(&POSTGRES.table_name(table));
            let oid = format!("to_regclass({name})");
            if !oids.contains(&oid) {
                oids.push(oid);
            }
        }
        oids
    }
    let parents = counting.targets.iter().flat_map(|target| &target.parents);
    Guard {
        counters: oids(counting.targets.iter().map(|target| &target.table)),
        parents: oids(parents.map(|parent| &parent.table)),
    }
}

/// Adds the rows of these tables, or takes them off, as a statement has changed them.
fn addition(
    counting: &Counting,
    target: &Target,
    changed: &[Changed<'_>],
    version: Version,
) -> Addition {
    let slot = target.slots.as_ref().map(|[_, slot]| match version {
        // Without a name of its own, it would have that of a column.
        Version::This => format!("counting.counting_slot AS {}", POSTGRES.quoted(&slot.name)),
        Version::Earlier => "counting_slot".to_owned(),
    });
    let sums = match (&*target.sources, changed) {
        ([source], [rows]) => sums_of_one(counting, target, source, *rows, slot.as_deref()),
        _ => sums(counting, target, changed, slot.as_deref(), version),
    };
    let mut updates = Vec::new();
    let mut is_row = Vec::new();
    if target.slots.is_none() {
        updates.extend(target.names.iter().map(|counter| {
            let value = POSTGRES.column("counting_sums", counter);
            counting.set(target, counter, "kept", &value, Place::Trigger)
        }));
        is_row.push(counting.same_key(target, "kept", "counting_sums"));
        is_row.extend(counting.only(target, "kept"));
    }
    Addition {
        to: counting.counters_of(target),
        sums,
        updates,
        is_row,
    }
}

/// The sums of rows of several tables, or that name several entities.
fn sums(
    counting: &Counting,
    target: &Target,
    changed: &[Changed<'_>],
    slot: Option<&str>,
    version: Version,
) -> Sums {
    let entity = POSTGRES.columns("moved", &target.entity);
    let exist = exist(target, counting, &entity, changed);
    let is_marked = exist.iter().any(|exists| exists.contains(IS_MOVED));
    let mut union = Vec::new();
    for rows in changed {
        let mut mark = Vec::new();
        if is_marked {
            mark.push(format!("{} AS is_new", rows.sign == Sign::Plus));
        }
        for source in &target.sources {
            let rows = rows.of(rows.table);
            union.push(counting.rows_of(target, source, &rows, &mark));
        }
    }
    let group = counting.group(target);
    let order = match version {
        // The other columns have names of the server's choice, such as `sum`.
        Version::This => places(group.len()),
        Version::Earlier => group,
    };
    counting.sums_of(target, union, slot, &exist, order)
}

impl Changed<'_> {
    fn of<'f>(&self, from: &'f str) -> Rows<'f> {
        Rows {
            name: "",
            from,
            sign: self.sign,
            entities: Entities::All,
        }
    }
}

/// The sums of the rows of a table that name one entity.
fn sums_of_one(
    counting: &Counting,
    target: &Target,
    source: &Source,
    changed: Changed<'_>,
    slot: Option<&str>,
) -> Sums {
    let entity = counting.entity_of(source, "moved");
    let exist = exist(target, counting, &entity, &[changed]);
    let from = match exist.is_empty() {
        true => changed.table.to_owned(),
        false => format!("{} AS moved", changed.table),
    };
    let rows = changed.of(&from);
    let weights = source.weights.iter().flatten();
    let sums = weights.zip(counting.counts(source, &rows));
    let sums = sums.map(|(weight, value)| match (weight.is_one(), changed.sign) {
        (true, Sign::Plus) => "COUNT(*)".to_owned(),
        (true, Sign::Minus) => "-COUNT(*)".to_owned(),
        (false, _) => counting.sql.sum.replace("{}", &value),
    });
    let mut sums: Vec<_> = sums.collect();
    let mut key = counting.key(target, source, &rows);
    let places = places(key.len());
    let mut having = Vec::new();
    if key.is_empty() || !source.has_one() {
        having.push(format!(
            "({})",
            sums.iter().map(|sum| format!("{sum} <> 0")).joined(" OR ")
        ));
    }
    having.extend(exist);
    if slot.is_none() {
        key = named(key, &counting.group(target));
        sums = named(sums, &counting.counter_names(target));
    }
    Sums {
        columns: counting.row_of_sums(key, slot, sums),
        union: Vec::new(),
        conditions: counting.conditions(target, source, &rows),
        from,
        group: places.clone(),
        having,
        order: places,
    }
}

/// All rows of the entity are new: the update has moved them to it.
const IS_MOVED: &str = "bool_and(is_new)";

/// Whose rows count: old and new rows alike, so that an update of a row whose entity is gone counts
/// for nobody. A cascade changes and deletes rows after their entity. An UPDATE of an ordinary column
/// finds no row then.
fn exist(
    target: &Target,
    counting: &Counting,
    entity: &[String],
    changed: &[Changed<'_>],
) -> Vec<String> {
    let is_sure = target.sources.iter().all(|source| source.exists);
    let is_insert = changed.iter().all(|rows| rows.sign == Sign::Plus);
    if target.slots.is_none() || is_insert && is_sure {
        return Vec::new();
    }
    let exists = counting.exists("parent", target, entity);
    let mut later = Vec::new();
    let mut now = Vec::new();
    for (parent, exists) in target.parents.iter().zip(exists) {
        let refers_to = &target.entity[parent.column].refers_to;
        if is_sure && refers_to.as_ref().is_some_and(Parent::is_deferrable) {
            later.push(exists);
        } else {
            now.push(exists);
        }
    }
    if later.is_empty() {
        return now;
    }
    // An entity can come after its rows. If it is gone, a cascade has deleted its counters.
    let stored = format!(
        "EXISTS (SELECT 1 FROM {} AS stored WHERE {})",
        POSTGRES.table_name(&target.table),
        counting.is_key(&target.entity, "stored", entity)
    );
    let mut any_of = vec![later.join(" AND "), stored];
    if changed.len() > 1 {
        any_of.push(IS_MOVED.to_owned());
    }
    now.push(any(any_of, true));
    now
}
