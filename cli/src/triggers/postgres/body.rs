//! What the triggers run, as values of its template.

use anyhow::Result;
use serde::Serialize;

use crate::catalogue::Table;
use crate::database::{Joined, POSTGRES};
use crate::template::render;
use crate::triggers::correction::places;
use crate::triggers::counting::Counting;
use crate::triggers::functions::{Event, once};
use crate::triggers::statement::{Entities, Place, Rows, Sign, named};
use crate::triggers::target::{Source, Target};
use crate::triggers::values::{Addition, Sums, any};
use diesel_counters::Dialect;

/// The rows of a statement before it and after it.
pub const OLD: &str = "old_rows";
pub const NEW: &str = "new_rows";

/// The text of the function of an event.
#[derive(Serialize)]
struct Function {
    event: Event,
    /// The table whose rows it counts. Whoever has the function could give it rows of another
    /// table.
    schema_literal: String,
    table_literal: String,
    guard: Guard,
    /// SQL for the slot of this connection, if it counts in slots.
    slot: Option<String>,
    /// Whether it counts in ordinary columns.
    has_ordinary_columns: bool,
    additions: Vec<Addition>,
}

/// The tables that must be those of the owner of the function: after a rename, whoever may create
/// tables in its schema can take its name. The owner of a table that entities are in can also be
/// another role that has the rights of the function's owner.
#[derive(Serialize)]
struct Guard {
    /// The rows and the counters.
    owned: Vec<String>,
    parents: Vec<String>,
    /// The number of both.
    table_count: usize,
}

/// Rows that a statement has changed.
#[derive(Clone, Copy)]
struct Changed<'t> {
    table: &'t str,
    sign: Sign,
}

/// What the function of an event runs.
pub fn body(counting: &Counting, event: Event) -> Result<String> {
    let function = Function {
        event,
        schema_literal: POSTGRES.literal(&counting.rows.in_schema),
        table_literal: POSTGRES.literal(&counting.rows.name),
        guard: guard(counting, event),
        slot: slot(counting),
        has_ordinary_columns: counts_in_columns(counting),
        additions: additions(counting, event),
    };
    render("postgres/body.sql", function)
}

fn additions(counting: &Counting, event: Event) -> Vec<Addition> {
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
    let changed: &[Changed<'_>] = match event {
        Event::Insert => &[new],
        Event::Update => &[old, new],
        Event::Delete => &[old],
        Event::Truncate => &[all],
    };
    let addition = |target| addition(counting, target, changed);
    counting.targets.iter().map(addition).collect()
}

fn counts_in_columns(counting: &Counting) -> bool {
    counting.targets.iter().any(|target| target.slots.is_none())
}

fn slot(counting: &Counting) -> Option<String> {
    let mut targets = counting.targets.iter();
    if !targets.any(|target| target.slots.is_some()) {
        return None;
    }
    Some(match counting.definition.slots {
        0 | 1 => "1".to_owned(),
        slots => format!("1 + {} % {slots}", Dialect::PostgreSql.connection_number()),
    })
}

/// The tables that the statements of an event name.
fn guard(counting: &Counting, event: Event) -> Guard {
    let oid = |table: &Table| {
        let name = POSTGRES.literal(&POSTGRES.table_name(table));
        format!("{name}::regclass")
    };
    let counters = counting.targets.iter().map(|target| &target.table);
    let owned = once([&counting.rows].into_iter().chain(counters).map(oid));
    let is_insert = event == Event::Insert;
    let targets = counting.targets.iter();
    let with_parents = targets.filter(|target| looks_for_entities(target, is_insert));
    let of_parents = with_parents
        .flat_map(|target| &target.parents)
        .map(|parent| oid(&parent.table));
    // A table can be both. It must then be the owner's.
    let parents = once(of_parents.filter(|parent| !owned.contains(parent)));
    Guard {
        table_count: owned.len() + parents.len(),
        owned,
        parents,
    }
}

/// Adds the rows of these tables, or takes them off, as a statement has changed them.
fn addition(counting: &Counting, target: &Target, changed: &[Changed<'_>]) -> Addition {
    let slot = target.slots.as_ref().map(|_| "counting.counting_slot");
    // The rows of one table that name one entity are summed up directly, without a union.
    let sums = match (&*target.sources, changed) {
        ([source], [rows]) => sums_of_one(counting, target, source, *rows, slot),
        _ => sums(counting, target, changed, slot),
    };
    let mut assignments = Vec::new();
    let mut row_conditions = Vec::new();
    if target.slots.is_none() {
        assignments.extend(target.names.iter().map(|counter| {
            let value = POSTGRES.column("counting_sums", counter);
            counting.set(target, counter, "kept", &value, Place::Trigger)
        }));
        row_conditions.push(counting.same_key(target, "kept", "counting_sums"));
        row_conditions.extend(counting.only(target, "kept"));
    }
    Addition {
        to: counting.counters_of(target),
        sums,
        assignments,
        row_conditions,
    }
}

/// The sums of rows of several tables, or that name several entities.
fn sums(counting: &Counting, target: &Target, changed: &[Changed<'_>], slot: Option<&str>) -> Sums {
    let entity = POSTGRES.columns("moved", &target.entity);
    let exist = exist(target, counting, &entity, changed);
    let is_marked = exist.iter().any(|exists| exists.contains(IS_MOVED));
    let mut union = Vec::new();
    for changed_rows in changed {
        let is_old = changed_rows.sign == Sign::Minus;
        let mut mark = Vec::new();
        if is_marked {
            mark.push(format!("{} AS is_new", !is_old));
        }
        for source in &target.sources {
            // Only an old row that stays where it is is taken off: its new row is added again.
            let from = if is_old && counting.keeps_deleted() {
                staying(counting, source)
            } else {
                changed_rows.table.to_owned()
            };
            let rows = changed_rows.of(&from);
            union.push(counting.rows_of(target, source, &rows, &mark));
        }
    }
    // The other columns have names of the server's choice, such as `sum`.
    let order = places(counting.group(target).len());
    counting.sums_of(target, union, slot, &exist, order)
}

/// The old rows of an update that stay with their entity and their day, and still count.
fn staying(counting: &Counting, source: &Source) -> String {
    let conditions = counting.stays(source, "becomes", "was");
    let stays = if conditions.is_empty() {
        "TRUE".to_owned()
    } else {
        conditions.join(" AND ")
    };
    // A key does not tell which new row an old one has become: an update can change it, and two
    // foreign keys can change one row twice in a statement. The place in these tables does: the
    // server adds the old and the new row at the same time. Their numbers differ only if a trigger
    // removes a row that moves to another partition.
    let place = counting.free("place");
    let lost = POSTGRES.literal(&format!(
        "a trigger removed a row of {} that an UPDATE moved to another partition, number ",
        counting.rows
    ));
    let in_places =
        |table: &str| format!("(SELECT *, row_number() OVER () AS {place} FROM {table})");
    // A session keeps its first plan, which can be made for one row. A FULL JOIN is never a nested
    // loop. If the planner saw that it returns no row without the other one, it would make an inner
    // join of it. It does not look into a CASE.
    format!(
        "(SELECT was.* FROM {} AS was FULL JOIN {} AS becomes ON was.{place} = becomes.{place} \
         WHERE CASE WHEN was.{place} = becomes.{place} THEN {stays} \
         ELSE CAST({lost} || COALESCE(was.{place}, becomes.{place}) AS BOOLEAN) END) AS staying",
        in_places(OLD),
        in_places(NEW)
    )
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
    // The condition that an entity exists needs a name for the rows.
    let from = if exist.is_empty() {
        changed.table.to_owned()
    } else {
        format!("{} AS moved", changed.table)
    };
    let rows = changed.of(&from);
    let mut sums = Vec::new();
    // The only source of a target has a weight for each of its counters.
    let weights = source.weights.iter().flatten();
    for (weight, value) in weights.zip(counting.counts(source, &rows)) {
        sums.push(match (weight.is_one(), changed.sign) {
            (true, Sign::Plus) => "COUNT(*)".to_owned(),
            (true, Sign::Minus) => "-COUNT(*)".to_owned(),
            (false, _) => counting.sql.sum.replace("{}", &value),
        });
    }
    let mut key = counting.key(target, source, &rows);
    let places = places(key.len());
    let mut having = Vec::new();
    // Without a GROUP BY, there is a sum of no rows, too. If no counter counts each row as 1, the
    // sums of an entity can be 0.
    if key.is_empty() || !source.has_one() {
        let changes = sums.iter().map(|sum| format!("{sum} <> 0")).joined(" OR ");
        having.push(format!("({changes})"));
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
/// for nobody. A cascade changes and deletes rows after their entity. An UPDATE of an ordinary
/// column finds no row then.
fn exist(
    target: &Target,
    counting: &Counting,
    entity: &[String],
    changed: &[Changed<'_>],
) -> Vec<String> {
    let is_insert = changed.iter().all(|rows| rows.sign == Sign::Plus);
    if !looks_for_entities(target, is_insert) {
        return Vec::new();
    }
    let is_sure = is_sure(target);
    let conditions = counting.exists("parent", target, entity);
    let mut can_come_later = Vec::new();
    let mut now = Vec::new();
    for (parent, exists) in target.parents.iter().zip(conditions) {
        if is_sure && parent.deferrable {
            can_come_later.push(exists);
        } else {
            now.push(exists);
        }
    }
    if can_come_later.is_empty() {
        return now;
    }
    // An entity can come after its rows. If it is gone, a cascade has deleted its counters.
    let stored = format!(
        "EXISTS (SELECT 1 FROM {} AS stored WHERE {})",
        POSTGRES.table_name(&target.table),
        counting.is_key(&target.entity, "stored", entity)
    );
    let mut any_of = vec![can_come_later.join(" AND "), stored];
    if changed.len() > 1 {
        any_of.push(IS_MOVED.to_owned());
    }
    now.push(any(any_of, true));
    now
}

/// Whether foreign keys of the rows make sure that all entities exist.
fn is_sure(target: &Target) -> bool {
    target.sources.iter().all(|source| source.exists)
}

/// Whether a statement looks whether entities exist.
fn looks_for_entities(target: &Target, is_insert: bool) -> bool {
    target.slots.is_some() && !(is_insert && is_sure(target))
}
