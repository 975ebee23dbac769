//! What the triggers run: one function for all triggers of a table.

use diesel_counters::Dialect;

use crate::catalogue::Parent;
use crate::database::POSTGRES;
use crate::triggers::counting::Counting;
use crate::triggers::statement::{Entities, Rows, by, conditions, in_lines};
use crate::triggers::target::{ParentTable, Source, Target};

/// The rows of a statement before it and after it.
pub const OLD: &str = "old_rows";
pub const NEW: &str = "new_rows";

pub fn body(counting: &Counting) -> String {
    let table = POSTGRES.table_name(&counting.rows);
    let [old, new, all] = [OLD, NEW, &table].map(|name| format!("FROM {name}"));
    let of_targets = |statement: &dyn Fn(&Target) -> String| {
        let targets = counting.targets.iter();
        let statements = targets.map(|target| in_lines(&statement(target), 8) + ";\n");
        statements.collect::<String>()
    };
    let insert = of_targets(&|target| inserted(counting, target, &new));
    let update = match counting.has_updates() {
        false => String::new(),
        true => format!(
            "    ELSIF TG_OP = 'UPDATE' THEN\n{}",
            of_targets(&|target| changed(counting, target, &[(&old, true), (&new, false)]))
        ),
    };
    let delete = of_targets(&|target| changed(counting, target, &[(&old, true)]));
    let truncate = of_targets(&|target| changed(counting, target, &[(&all, true)]));
    let has_slots = counting.targets.iter().any(|target| target.slots.is_some());
    let (variables, slot) = match has_slots {
        true => (
            "\n    counting_number INTEGER; counting_slot SMALLINT;\n    \
             counting_node TEXT; counting_index INTEGER; counting_parts INTEGER;",
            in_lines(&Dialect::slot_block(counting.definition.slots), 4) + "\n",
        ),
        false => ("", String::new()),
    };
    let mut targets = counting.targets.iter();
    let sums = match targets.any(|target| target.slots.is_none()) {
        true => "\n    counting_sums RECORD;",
        false => "",
    };
    let declare = match variables.len() + sums.len() {
        0 => String::new(),
        _ => format!("DECLARE{variables}{sums}\n"),
    };
    let [schema, name] = [&counting.rows.in_schema, &counting.rows.name];
    let [schema, name] = [schema, name].map(|name| POSTGRES.literal(name));
    // Whoever has this function could give it rows of another table.
    format!(
        "\n{declare}BEGIN\n    \
         IF TG_TABLE_SCHEMA <> {schema} OR TG_TABLE_NAME <> {name} THEN\n        \
         RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',\n            \
         {schema}, {name}, TG_TABLE_SCHEMA, TG_TABLE_NAME;\n    \
         END IF;\n{slot}    \
         IF TG_OP = 'INSERT' THEN\n{insert}{update}    \
         ELSIF TG_OP = 'DELETE' THEN\n{delete}    \
         ELSE -- TRUNCATE\n        \
         IF current_setting('transaction_isolation') <> 'read committed' THEN\n            \
         RAISE 'TRUNCATE at % cannot see all rows: use READ COMMITTED, or DELETE',\n                \
         current_setting('transaction_isolation');\n        \
         END IF;\n{truncate}    \
         END IF;\n    \
         RETURN NULL;\nEND "
    )
}

/// Adds the rows that an INSERT has written.
fn inserted(counting: &Counting, target: &Target, from: &str) -> String {
    let is_sure = target.sources.iter().all(|source| source.exists) || target.parents.is_empty();
    add_rows(counting, target, &[(from, false)], |entity| {
        match is_sure || target.slots.is_none() {
            true => Vec::new(),
            false => counting.exists(target, entity),
        }
    })
}

/// Adds rows, or takes them off, as a statement has changed them.
fn changed(counting: &Counting, target: &Target, all: &[(&str, bool)]) -> String {
    add_rows(counting, target, all, |entity| {
        exist(target, counting, entity, all.len() > 1)
    })
}

/// Adds the rows of these tables, or takes them off, where `exist` is true for the entity.
fn add_rows(
    counting: &Counting,
    target: &Target,
    all: &[(&str, bool)],
    exist: impl Fn(&[String]) -> Vec<String>,
) -> String {
    let rows = |from, minus| Rows {
        name: "",
        from,
        minus,
        entities: Entities::All,
    };
    if let ([source], [(from, minus)]) = (&*target.sources, all) {
        let exist = exist(&counting.entity_of(source, "moved"));
        let from = match exist.is_empty() {
            true => (*from).to_owned(),
            false => format!("{from} AS moved"),
        };
        let rows = rows(&from, *minus);
        return add(counting, target, |slot| {
            counting.sums_of_one(target, source, &rows, slot, &exist)
        });
    }
    let entity = target.entity.iter();
    let entity = entity.map(|key| format!("moved.{}", POSTGRES.quoted(&key.name)));
    let exist = exist(&entity.collect::<Vec<_>>());
    let is_marked = exist.iter().any(|exists| exists.contains(IS_MOVED));
    let queries = all.iter().flat_map(|(from, minus)| {
        let mark = match is_marked {
            true => format!(", {} AS is_new", !minus),
            false => String::new(),
        };
        let sources = target.sources.iter();
        let query = |source| counting.query(target, source, &rows(from, *minus), &mark);
        sources.map(query).collect::<Vec<_>>()
    });
    let queries: Vec<_> = queries.collect();
    add(counting, target, |slot| {
        counting.sums(target, &queries, slot, &exist)
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
    format!(
        "FOR counting_sums IN\n{}\nLOOP\n    UPDATE {} AS kept SET {} WHERE {};\nEND LOOP",
        in_lines(&sums(None), 4),
        POSTGRES.table_name(&target.table),
        updates.collect::<Vec<_>>().join(", "),
        counting.same_key(target, "kept", "counting_sums"),
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
        more: &[String],
    ) -> String {
        let conditions = conditions(self.conditions(target, source, rows)).replace("\n    ", " ");
        let weights = source.weights.iter().flatten();
        let sums = weights.zip(self.counts(source, rows));
        let sums: Vec<_> = sums
            .map(|(weight, value)| match (weight.is_one(), rows.minus) {
                (true, false) => "COUNT(*)".to_owned(),
                (true, true) => "-COUNT(*)".to_owned(),
                (false, _) => self.sql.sum.replace("{}", &value),
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
        let not_0 = sums.iter().map(|sum| format!("{sum} <> 0"));
        let not_0 = format!("({})", not_0.collect::<Vec<_>>().join(" OR "));
        let having = (!is_counted).then_some(&not_0).into_iter().chain(more);
        let having = match &*having.cloned().collect::<Vec<_>>().join(" AND ") {
            "" => String::new(),
            having => format!("\nHAVING {having}"),
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

/// All rows of the entity are new: the update has moved them to it.
const IS_MOVED: &str = "bool_and(is_new)";

/// Whose rows count: old and new rows alike, so that an update of a row whose entity is gone counts
/// for nobody. A cascade changes and deletes rows after their entity. An UPDATE of an ordinary column
/// finds no row then.
fn exist(target: &Target, counting: &Counting, entity: &[String], moves: bool) -> Vec<String> {
    if target.slots.is_none() {
        return Vec::new();
    }
    let is_sure = target.sources.iter().all(|source| source.exists);
    let exists = counting.exists(target, entity);
    let parents = target.parents.iter().zip(exists);
    let (later, all): (Vec<_>, Vec<_>) = parents.partition(|(parent, _)| {
        let refers_to = &target.entity[parent.column].refers_to;
        is_sure && refers_to.as_ref().is_some_and(Parent::is_deferrable)
    });
    let conditions = |all: Vec<(&ParentTable, String)>| {
        let conditions = all.into_iter().map(|(_, exists)| exists);
        conditions.collect::<Vec<_>>()
    };
    let (later, mut all) = (conditions(later), conditions(all));
    if later.is_empty() {
        return all;
    }
    // An entity can come after its rows. If it is gone, a cascade has deleted its counters.
    let columns = target.entity.iter().zip(entity).map(|(key, name)| {
        let stored = format!("stored.{}", POSTGRES.quoted(&key.name));
        POSTGRES.is_same(key, &stored, name)
    });
    let stored = format!(
        "EXISTS (SELECT 1 FROM {} AS stored WHERE {})",
        POSTGRES.table_name(&target.table),
        columns.collect::<Vec<_>>().join(" AND ")
    );
    let or_moved = match moves {
        true => format!(" OR {IS_MOVED}"),
        false => String::new(),
    };
    all.push(format!("({} OR {stored}{or_moved})", later.join(" AND ")));
    all
}
