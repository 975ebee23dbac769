//! What the triggers run, as values for the template.

use anyhow::Result;
use serde::Serialize;

use crate::database::POSTGRES;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::functions::Event;
use crate::triggers::statement::{CHANGES, Entities, GONE, KEPT, RowsToCount, Sign, SumContext};
use crate::triggers::target::{Source, Target};
use crate::triggers::values::{Addition, SumQuery};

/// A statement's rows as they were before it, and as they are after it.
pub const OLD: &str = "old_rows";
pub const NEW: &str = "new_rows";

/// The text of an event's function.
#[derive(Serialize)]
struct Function {
    event: Event,
    /// Whether a column is named like a variable that every trigger function has.
    has_variable_name: bool,
    /// The variable for an entity's sums, if it counts in ordinary columns.
    loop_variable: Option<String>,
    additions: Vec<Addition>,
}

/// Rows that a statement has changed.
#[derive(Clone, Copy)]
struct Changed<'t> {
    table: &'t str,
    sign: Sign,
    /// Whether a cascade may have deleted a row's entity.
    can_lack_entities: bool,
}

/// Returns what an event's function runs.
pub fn body(counting: &Counting, event: Event) -> Result<String> {
    let is_column = |name: &&str| {
        let mut tables = counting.tables();
        tables.any(|table| table.column(name).is_some())
    };
    let entity = counting.unused_name("entity");
    let mut targets = counting.targets.iter();
    let has_loop = targets.any(|target| target.slots.is_none());
    let function = Function {
        event,
        has_variable_name: VARIABLES.iter().any(is_column),
        additions: additions(counting, event, &entity),
        loop_variable: has_loop.then_some(entity),
    };
    render("postgres/body.sql", function)
}

/// The variables that PL/pgSQL gives every trigger function.
const VARIABLES: [&str; 15] = [
    "found",
    "new",
    "old",
    "tg_argv",
    "tg_event",
    "tg_level",
    "tg_name",
    "tg_nargs",
    "tg_op",
    "tg_relid",
    "tg_relname",
    "tg_table_name",
    "tg_table_schema",
    "tg_tag",
    "tg_when",
];

/// Returns what an event's function adds to every target. `entity` is the variable with an entity's
/// sums.
fn additions(counting: &Counting, event: Event, entity: &str) -> Vec<Addition> {
    let table = POSTGRES.table_name(&counting.rows);
    let [old_rows, new_rows] = [OLD, NEW].map(|name| counting.unused_name(name));
    // A cascade can have deleted an old row's entity before the row.
    let old = Changed {
        table: &old_rows,
        sign: Sign::Minus,
        can_lack_entities: true,
    };
    let new = Changed {
        table: &new_rows,
        sign: Sign::Plus,
        can_lack_entities: false,
    };
    let all = Changed {
        table: &table,
        sign: Sign::Minus,
        can_lack_entities: counting.has_deferrable_parents(),
    };
    let changed: &[Changed<'_>] = match event {
        Event::Insert => &[new],
        Event::Update => &[old, new],
        Event::Delete => &[old],
        Event::Truncate => &[all],
    };
    let targets = counting.targets.iter();
    targets
        .map(|target| addition(counting, target, changed, entity))
        .collect()
}

/// SQL for the connection's slot.
fn connection_slot(counting: &Counting) -> String {
    match counting.definition.slots {
        0 | 1 => "1".to_owned(),
        slots => format!("diesel_counters_slot({slots})"),
    }
}

/// Adds the rows of these tables as a statement has changed them, or takes them off. `entity` is
/// the variable with an entity's sums.
fn addition(
    counting: &Counting,
    target: &Target,
    changed: &[Changed<'_>],
    entity: &str,
) -> Addition {
    let slots = target.slots.as_ref();
    let slot = slots.map(|_| connection_slot(counting));
    // If all rows are in one table and each names a single entity, sum them up directly, without a
    // union.
    let sums = match (&*target.sources, changed) {
        ([source], [rows]) => direct_sums(counting, target, source, *rows, slot.as_deref()),
        _ => union_sums(counting, target, changed, slot.as_deref()),
    };
    let mut assignments = Vec::new();
    let mut row_conditions = Vec::new();
    if target.slots.is_none() {
        let table = POSTGRES.quoted(&target.table.name);
        assignments.extend(target.names.iter().map(|counter| {
            let value = POSTGRES.column(entity, counter);
            counting.add_to_counter(target, counter, &table, &value, SumContext::Trigger)
        }));
        row_conditions.push(counting.same_key(target, &table, entity));
        row_conditions.extend(counting.only(target, &table));
    }
    Addition {
        to: counting.counters_of(target),
        sums,
        assignments,
        row_conditions,
    }
}

/// Sums up rows of several tables, or rows that each name several entities.
fn union_sums(
    counting: &Counting,
    target: &Target,
    changed: &[Changed<'_>],
    slot: Option<&str>,
) -> SumQuery {
    let changes = counting.unused_name(CHANGES);
    let entity = POSTGRES.columns(&changes, &target.entity);
    let entity_exists = entity_exists(target, counting, &entity, changed);
    let uses_is_new = entity_exists.iter().any(|exists| exists.contains(IS_MOVED));
    let mut union = Vec::new();
    for changed_rows in changed {
        let is_old = changed_rows.sign == Sign::Minus;
        let mut extra_columns = Vec::new();
        if uses_is_new {
            extra_columns.push(format!("{} AS is_new", !is_old));
        }
        for source in &target.sources {
            // Only take an old row off if it stays where it is: its new row is then added again.
            let from = if is_old && counting.keeps_deleted() {
                staying_rows(counting, source)
            } else {
                changed_rows.table.to_owned()
            };
            let rows = changed_rows.rows_from(&from);
            union.push(counting.rows_of(target, source, &rows, &extra_columns));
        }
    }
    let mut sums = counting.sums_of(target, (&changes, union), slot);
    require_entity(&mut sums, entity_exists, counting, target);
    sums
}

/// Adds the conditions that an entity exists to the query's HAVING. They apply to a whole group,
/// because a session keeps its query plans: a plan for a condition on rows, if it was made for many
/// of them, would join all entities.
fn require_entity(
    sums: &mut SumQuery,
    entity_exists: Vec<String>,
    counting: &Counting,
    target: &Target,
) {
    if entity_exists.is_empty() {
        return;
    }
    for condition in &mut sums.having {
        if condition.contains(" OR ") {
            *condition = format!("({condition})");
        }
    }
    sums.comment = counting.why_existing(target);
    sums.having.extend(entity_exists);
}

/// Writes a query for the old rows of an update that keep their entity and their day, and still
/// count.
fn staying_rows(counting: &Counting, source: &Source) -> String {
    let conditions = counting.stays(source, "becomes", "was");
    let stays = if conditions.is_empty() {
        "TRUE".to_owned()
    } else {
        conditions.join(" AND ")
    };
    // A key doesn't tell which new row an old one has become: an update can change the key, and two
    // foreign keys can change the same row twice in one statement. But the server adds the old and
    // the new row to these tables at the same time, so their positions match. They only differ if a
    // trigger removes a row that moves to another partition.
    let position = counting.unused_name("place");
    let lost = POSTGRES.literal(&format!(
        "a trigger removed a row of {} that an UPDATE moved to another partition, number ",
        counting.rows
    ));
    let numbered = |table: &str| {
        let table = counting.unused_name(table);
        format!("(SELECT *, row_number() OVER () AS {position} FROM {table})")
    };
    let [old_rows, new_rows] = [OLD, NEW].map(numbered);
    // A session keeps its first plan, which may have been made for a single row. A FULL JOIN is
    // never a nested loop. The planner would turn it into an inner join if it saw that it returns
    // only matching rows, but it doesn't look into a CASE.
    format!(
        "(
    SELECT was.* FROM {old_rows} AS was
    FULL JOIN {new_rows} AS becomes ON was.{position} = becomes.{position}
    WHERE CASE WHEN was.{position} = becomes.{position} THEN {stays}
        ELSE CAST({lost} || COALESCE(was.{position}, becomes.{position}) AS BOOLEAN) END
) AS staying"
    )
}

impl Changed<'_> {
    /// Describes the rows that a query reads from a table, or from a query in parentheses.
    fn rows_from<'f>(&self, from: &'f str) -> RowsToCount<'f> {
        RowsToCount {
            uses_before: 0,
            name: "",
            from,
            sign: self.sign,
            entities: Entities::All,
        }
    }
}

/// Sums up the rows of one table, each of which names a single entity, without a union.
fn direct_sums(
    counting: &Counting,
    target: &Target,
    source: &Source,
    changed: Changed<'_>,
    slot: Option<&str>,
) -> SumQuery {
    let table = changed.table;
    let is_gone = changed.sign == Sign::Minus;
    let name = if is_gone {
        counting.unused_name(GONE)
    } else {
        table.to_owned()
    };
    let entity = counting.entity_of(source, &name);
    let entity_exists = entity_exists(target, counting, &entity, &[changed]);
    // Only the condition that an entity exists uses the alias.
    let from = if is_gone && !entity_exists.is_empty() {
        format!("{table} AS {name}")
    } else {
        table.to_owned()
    };
    let rows = changed.rows_from(&from);
    let mut sums = counting.sums_of_rows(target, source, &rows, slot);
    require_entity(&mut sums, entity_exists, counting, target);
    sums
}

/// True if all of an entity's rows are new, so that the update has moved them to it.
const IS_MOVED: &str = "bool_and(is_new)";

/// Returns the conditions that an entity exists, so that its rows count. They apply to old and new
/// rows alike, so an update of a row whose entity is gone counts for nobody. That happens because a
/// cascade changes and deletes rows after their entity. An ordinary column needs no condition: its
/// UPDATE finds no row then.
fn entity_exists(
    target: &Target,
    counting: &Counting,
    entity: &[String],
    changed: &[Changed<'_>],
) -> Vec<String> {
    let has_foreign_keys = target.sources.iter().all(|source| source.exists);
    // A row that is inserted, or still exists, has its entity.
    let exists_anyway = has_foreign_keys && changed.iter().all(|rows| !rows.can_lack_entities);
    if target.slots.is_none() || exists_anyway {
        return Vec::new();
    }
    let conditions = counting.exists(target, entity);
    let mut exists_later = Vec::new();
    let mut exists_now = Vec::new();
    for (parent, exists) in target.parents.iter().zip(conditions) {
        if has_foreign_keys && parent.deferrable {
            exists_later.push(exists);
        } else {
            exists_now.push(exists);
        }
    }
    if exists_later.is_empty() {
        return exists_now;
    }
    // An entity that doesn't exist may be inserted after its rows. Or it was deleted, and then a
    // cascade has deleted its counters, too.
    let mut any_of = vec![
        exists_later.join(" AND "),
        has_counters(target, counting, entity),
    ];
    if changed.len() > 1 {
        any_of.push(IS_MOVED.to_owned());
    }
    exists_now.push(format!("({})", any_of.join(" OR ")));
    exists_now
}

/// A condition that a counter table has a row for this entity.
fn has_counters(target: &Target, counting: &Counting, entity: &[String]) -> String {
    let kept = counting.unused_name(KEPT);
    let table = POSTGRES.table_name(&target.table);
    let is_entity = counting.key_equals(&target.entity, &kept, entity);
    format!("EXISTS (SELECT FROM {table} AS {kept} WHERE {is_entity})")
}
