//! What the triggers run: one function for all triggers of a table.

use diesel_counters::Dialect;

use super::names::Names;
use super::slot::{SLOT, has_slots};
use crate::catalogue::Parent;
use crate::database::POSTGRES;
use crate::triggers::counting::Counting;
use crate::triggers::statement::{Entities, Rows, by, conditions, in_lines};
use crate::triggers::target::{ParentTable, Source, Target};

pub fn create_function(counting: &Counting, body: &str) -> String {
    format!(
        "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \
         $counting${body}$counting$;\n",
        POSTGRES.quoted(&counting.definition.name)
    )
}

pub fn body(counting: &Counting) -> String {
    let slot = Dialect::slot_or(counting.definition.slots, SLOT);
    let [insert, other] = [inserted, changed].map(|statement| {
        let targets = counting.targets.iter();
        let statements = targets.map(|target| in_lines(&statement(counting, target), 8) + ";\n");
        statements.collect::<String>()
    });
    let slot = match has_slots(counting) {
        true => format!("\n    counting_slot SMALLINT := {slot};"),
        false => String::new(),
    };
    let mut targets = counting.targets.iter();
    let sums = match targets.any(|target| target.slots.is_none()) {
        true => "\n    counting_sums RECORD;",
        false => "",
    };
    format!(
        "\nDECLARE counting_path TEXT := CASE WHEN current_schema() IS DISTINCT FROM TG_TABLE_SCHEMA -- renamed\n        \
         THEN set_config('search_path', concat(quote_ident(TG_TABLE_SCHEMA), ', ', current_setting('search_path')), true) END;\
         {slot}{sums}\n\
         BEGIN\n    \
         IF TG_OP = 'INSERT' THEN\n{insert}    ELSE\n        \
         IF TG_OP = 'TRUNCATE' AND current_setting('transaction_isolation') <> 'read committed' THEN\n            \
         RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE', \
         current_setting('transaction_isolation'); END IF;\n\
         {other}    END IF;\n    RETURN NULL; END "
    )
}

/// Adds the rows that an INSERT has written.
fn inserted(counting: &Counting, target: &Target) -> String {
    let names = Names::of(counting);
    let from = format!("FROM {}", POSTGRES.quoted(&names.new));
    let rows = Rows {
        name: "",
        from: &from,
        minus: false,
        entities: Entities::All,
    };
    let is_sure = target.sources.iter().all(|source| source.exists) || target.parents.is_empty();
    match &*target.sources {
        [source] if is_sure || target.slots.is_none() => add(counting, target, |slot| {
            counting.sums_of_one(target, source, &rows, slot)
        }),
        sources => {
            let queries = sources
                .iter()
                .map(|source| counting.query(target, source, &rows, ""));
            let queries: Vec<_> = queries.collect();
            let exists = match is_sure || target.slots.is_none() {
                true => Vec::new(),
                false => counting.exists(target, &moved(target)),
            };
            add(counting, target, |slot| {
                counting.sums(target, &queries, slot, &exists)
            })
        }
    }
}

/// Takes off the old rows, and adds the new ones, if there are any.
fn changed(counting: &Counting, target: &Target) -> String {
    let names = Names::of(counting);
    let condition = condition(target, counting);
    let is_marked = condition.contains(IS_MOVED);
    let queries = [(&names.old, true), (&names.new, false)].into_iter();
    let queries = queries.flat_map(|(name, minus)| {
        let from = format!("FROM {}", POSTGRES.quoted(name));
        let query = |source: &Source| {
            let rows = Rows {
                name: "",
                from: &from,
                minus,
                entities: Entities::All,
            };
            let mark = match (is_marked, minus) {
                (false, _) => "",
                (true, true) => ", false AS is_new",
                (true, false) => ", true AS is_new",
            };
            counting.query(target, source, &rows, mark)
        };
        target.sources.iter().map(query).collect::<Vec<_>>()
    });
    let queries: Vec<_> = queries.collect();
    let more: Vec<_> = (!condition.is_empty())
        .then_some(condition)
        .into_iter()
        .collect();
    add(counting, target, |slot| {
        counting.sums(target, &queries, slot, &more)
    })
}

/// Adds sums to slots, or to the rows of an ordinary table, one after the other in the order of keys.
fn add(counting: &Counting, target: &Target, sums: impl Fn(Option<&str>) -> String) -> String {
    if target.slots.is_some() {
        return counting.add(target, &sums(Some("counting_slot")));
    }
    let names = counting.counter_names(target);
    let updates = names
        .iter()
        .map(|name| format!("{name} = kept.{name} + counting_sums.{name}"));
    let keys = target.entity.iter().map(|key| POSTGRES.quoted(&key.name));
    let keys = keys.map(|key| format!("kept.{key} = counting_sums.{key}"));
    format!(
        "FOR counting_sums IN\n{}\nLOOP\n    UPDATE {} AS kept SET {} WHERE {};\nEND LOOP",
        in_lines(&sums(None), 4),
        POSTGRES.table_name(&target.table),
        updates.collect::<Vec<_>>().join(", "),
        keys.collect::<Vec<_>>().join(" AND "),
    )
}

impl Counting {
    /// The sums of the rows of a table that name one entity.
    fn sums_of_one(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
        slot: Option<&str>,
    ) -> String {
        let conditions = conditions(self.conditions(target, source, rows)).replace("\n    ", " ");
        let weights = source.weights.iter().flatten();
        let sums = weights.zip(self.counts(source, rows));
        let sums: Vec<_> = sums
            .map(|(weight, value)| match weight.is_one() {
                true => "COUNT(*)".to_owned(),
                false => self.sql.sum.replace("{}", &value),
            })
            .collect();
        let key = self.key(target, source, rows);
        let places = (1..=key.len()).map(|place| place.to_string());
        let places = places.collect::<Vec<_>>().join(", ");
        let is_counted = !key.is_empty()
            && source
                .weights
                .iter()
                .flatten()
                .any(|weight| weight.is_one());
        let having = match is_counted {
            true => String::new(),
            false => {
                let not_0 = sums.iter().map(|sum| format!("{sum} <> 0"));
                format!(" HAVING {}", not_0.collect::<Vec<_>>().join(" OR "))
            }
        };
        let day = (self.day.is_none() && slot.is_some()).then(|| self.day_of(""));
        let named = |values: Vec<String>, names: Vec<String>| -> Vec<String> {
            let named = values.into_iter().zip(names);
            match slot {
                Some(_) => named.map(|(value, _)| value).collect(),
                None => named
                    .map(|(value, name)| format!("{value} AS {name}"))
                    .collect(),
            }
        };
        let key = named(key, self.group(target)).into_iter();
        let columns = key.chain(day).chain(slot.map(str::to_owned));
        let columns = columns.chain(named(sums, self.counter_names(target)));
        format!(
            "SELECT {} {}{conditions}{}{having}{}",
            columns.collect::<Vec<_>>().join(", "),
            rows.from,
            by("GROUP", &places),
            by("ORDER", &places),
        )
    }
}

/// The entity of sums.
fn moved(target: &Target) -> Vec<String> {
    let key = target.entity.iter();
    key.map(|key| format!("moved.{}", POSTGRES.quoted(&key.name)))
        .collect()
}

/// All rows of the entity are new: the update has moved them to it.
const IS_MOVED: &str = "bool_and(is_new)";

/// Whose rows count: old and new rows alike, so that an update of a row whose entity is gone counts
/// for nobody. A cascade changes and deletes rows after their entity. An UPDATE of an ordinary column
/// finds no row then.
fn condition(target: &Target, counting: &Counting) -> String {
    if target.slots.is_none() {
        return String::new();
    }
    let is_sure = target.sources.iter().all(|source| source.exists);
    let exists = counting.exists(target, &moved(target));
    let parents = target.parents.iter().zip(exists);
    let (later, mut all): (Vec<_>, Vec<_>) = parents.partition(|(parent, _)| {
        let refers_to = &target.entity[parent.column].refers_to;
        is_sure && refers_to.as_ref().is_some_and(Parent::is_deferrable)
    });
    let list = |conditions: Vec<(&ParentTable, String)>| {
        let conditions: Vec<_> = conditions.into_iter().map(|(_, exists)| exists).collect();
        conditions.join(" AND ")
    };
    if later.is_empty() {
        return list(all);
    }
    // An entity can come after its rows. If it is gone, a cascade has deleted its counters.
    let table = POSTGRES.table_name(&target.table);
    let columns = target.entity.iter().zip(moved(target));
    let columns =
        columns.map(|(key, name)| format!("stored.{} = {name}", POSTGRES.quoted(&key.name)));
    let stored = format!(
        "EXISTS (SELECT 1 FROM {table} AS stored WHERE {})",
        columns.collect::<Vec<_>>().join(" AND ")
    );
    let (parent, later) = (later[0].0, list(later));
    let either = format!("({later} OR {stored} OR {IS_MOVED})");
    all.push((parent, either));
    list(all)
}
