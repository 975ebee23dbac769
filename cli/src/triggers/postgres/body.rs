//! What the triggers run: one function for all triggers of a table.

use crate::catalogue::{Parent, Table};
use crate::database::{Joined, POSTGRES};
use crate::partition::slot_block;
use crate::triggers::counting::Counting;
use crate::triggers::statement::{Entities, Rows, by, clause, in_lines, named, not_0, statements};
use crate::triggers::target::{Source, Target};

/// The rows of a statement before it and after it.
pub const OLD: &str = "old_rows";
pub const NEW: &str = "new_rows";

/// What wrote the function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    This,
    /// One that did not look whose tables the function reads and writes, or whether columns have the names of
    /// variables. It counts the same.
    Earlier,
}

pub fn body(counting: &Counting) -> String {
    written(counting, Version::This)
}

pub fn earlier_body(counting: &Counting) -> String {
    written(counting, Version::Earlier)
}

/// An error if a table that the function names is that of another role: after a rename, whoever may create
/// tables in its schema can take its name. A table of another role that entities are in is the one that a
/// foreign key of the counters refers to.
fn guard(counting: &Counting) -> String {
    let oids = |tables: &mut dyn Iterator<Item = &Table>| {
        let mut oids: Vec<String> = Vec::new();
        for table in tables {
            let name = POSTGRES.literal(&POSTGRES.table_name(table));
            let oid = format!("to_regclass({name})");
            if !oids.contains(&oid) {
                oids.push(oid);
            }
        }
        oids.join(", ")
    };
    let targets = oids(&mut counting.targets.iter().map(|target| &target.table));
    let parents = counting.targets.iter().flat_map(|target| &target.parents);
    let parents = oids(&mut parents.map(|parent| &parent.table));
    let of_parents = match &*parents {
        "" => String::new(),
        parents => format!(
            " OR oid IN ({parents})\n        \
             AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid IN ({targets})\n            \
             AND confrelid = pg_class.oid)"
        ),
    };
    format!(
        "    IF EXISTS (SELECT FROM pg_class WHERE pg_get_userbyid(relowner) <> current_user\n        \
         AND (oid IN ({targets}){of_parents})) THEN\n        \
         RAISE 'a table that % names is not of its owner: generate the triggers again', TG_NAME;\n    \
         END IF;\n"
    )
}

fn written(counting: &Counting, version: Version) -> String {
    let is_earlier = version == Version::Earlier;
    let label = if is_earlier {
        ""
    } else {
        "#variable_conflict use_column\n<<counting>>\n"
    };
    let guard = if is_earlier {
        String::new()
    } else {
        guard(counting)
    };
    let table = POSTGRES.table_name(&counting.rows);
    let [old, new, all] = [OLD, NEW, &table].map(|name| format!("FROM {name}"));
    let of_targets = |statement: &dyn Fn(&Target) -> String| {
        statements(counting.targets.iter().map(statement), 8)
    };
    let changed =
        |rows: &[(&str, bool)]| of_targets(&|target| add_rows(counting, target, rows, version));
    let insert = changed(&[(&new, false)]);
    let update = match counting.has_updates() {
        false => String::new(),
        true => format!(
            "    ELSIF TG_OP = 'UPDATE' THEN\n{}",
            changed(&[(&old, true), (&new, false)])
        ),
    };
    let delete = changed(&[(&old, true)]);
    let truncate = changed(&[(&all, true)]);
    let in_slots = |target: &Target| target.slots.is_some();
    let mut targets = counting.targets.iter();
    let (mut declare, mut slot) = (String::new(), String::new());
    if counting.targets.iter().any(in_slots) {
        declare += "\n    counting_slot SMALLINT; counting_node TEXT; counting_index INTEGER; \
                    counting_parts INTEGER;";
        slot = in_lines(&slot_block(counting.definition.slots), 4) + "\n";
    }
    if !targets.all(in_slots) {
        declare += "\n    counting_sums RECORD;";
    }
    if !declare.is_empty() {
        declare = format!("{label}DECLARE{declare}\n");
    }
    let [schema, name] = [&counting.rows.in_schema, &counting.rows.name];
    let [schema, name] = [schema, name].map(|name| POSTGRES.literal(name));
    // Whoever has this function could give it rows of another table.
    format!(
        "\n{declare}BEGIN\n    \
         IF TG_TABLE_SCHEMA <> {schema} OR TG_TABLE_NAME <> {name} THEN\n        \
         RAISE 'this function counts the rows of %.%, not those of %.%: generate the triggers again',\n            \
         {schema}, {name}, TG_TABLE_SCHEMA, TG_TABLE_NAME;\n    \
         END IF;\n{guard}{slot}    \
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

/// Adds the rows of these tables, or takes them off, as a statement has changed them.
fn add_rows(
    counting: &Counting,
    target: &Target,
    all: &[(&str, bool)],
    version: Version,
) -> String {
    let rows = |from, minus| Rows::new("", from, minus, Entities::All);
    if let ([source], [(from, minus)]) = (&*target.sources, all) {
        let exist = exist(target, counting, &counting.entity_of(source, "moved"), all);
        let from = match exist.is_empty() {
            true => (*from).to_owned(),
            false => format!("{from} AS moved"),
        };
        let rows = rows(&from, *minus);
        return add(counting, target, version, |slot| {
            counting.sums_of_one(target, source, &rows, slot, &exist)
        });
    }
    let exist = exist(
        target,
        counting,
        &POSTGRES.columns("moved", &target.entity),
        all,
    );
    let is_marked = exist.iter().any(|exists| exists.contains(IS_MOVED));
    let mut queries = Vec::new();
    for (from, minus) in all {
        let mark = match is_marked {
            true => format!(", {} AS is_new", !minus),
            false => String::new(),
        };
        let query = |source| counting.query(target, source, &rows(from, *minus), &mark);
        queries.extend(target.sources.iter().map(query));
    }
    let group = counting.group(target);
    let order = match version {
        // The other columns have names of the server's choice, such as `sum`.
        Version::This => places(group.len()),
        Version::Earlier => group,
    };
    add(counting, target, version, |slot| {
        counting.sums(target, &queries, slot, &exist, &order)
    })
}

/// The numbers of the first columns.
fn places(len: usize) -> Vec<String> {
    (1..=len).map(|place| place.to_string()).collect()
}

/// Adds sums to slots, or to the rows of an ordinary table, one after the other in the order of keys.
fn add(
    counting: &Counting,
    target: &Target,
    version: Version,
    sums: impl Fn(Option<&str>) -> String,
) -> String {
    if let Some([_, slot]) = &target.slots {
        let slot = match version {
            // Without a name of its own, it would have that of a column.
            Version::This => format!("counting.counting_slot AS {}", POSTGRES.quoted(&slot.name)),
            Version::Earlier => "counting_slot".to_owned(),
        };
        return counting.add(target, &sums(Some(&slot)));
    }
    let updates = target.names.iter().map(|counter| {
        let value = POSTGRES.column("counting_sums", counter);
        counting.set(target, counter, "kept", &value, true)
    });
    let keys = [counting.same_key(target, "kept", "counting_sums")].into_iter();
    let keys = keys.chain(counting.only(target, "kept"));
    format!(
        "FOR counting_sums IN\n{}\nLOOP\n    UPDATE {} AS kept SET {} WHERE {};\nEND LOOP",
        in_lines(&sums(None), 4),
        POSTGRES.table_name(&target.table),
        updates.joined(", "),
        keys.joined(" AND "),
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
        let conditions = clause("\nWHERE ", self.conditions(target, source, rows), " AND ");
        let weights = source.weights.iter().flatten();
        let sums = weights.zip(self.counts(source, rows));
        let sums = sums.map(|(weight, value)| match (weight.is_one(), rows.minus) {
            (true, false) => "COUNT(*)".to_owned(),
            (true, true) => "-COUNT(*)".to_owned(),
            (false, _) => self.sql.sum.replace("{}", &value),
        });
        let mut sums: Vec<_> = sums.collect();
        let mut key = self.key(target, source, rows);
        let places = places(key.len());
        let is_counted = !key.is_empty() && source.has_one();
        let not_0 = format!("({})", not_0(sums.iter().cloned()));
        let having = (!is_counted).then_some(not_0).into_iter();
        let having = having.chain(more.iter().cloned()).collect();
        if slot.is_none() {
            key = named(key, &self.group(target));
            sums = named(sums, &self.counter_names(target));
        }
        format!(
            "SELECT {} {}{conditions}{}{}{}",
            self.row_to_add(key, slot, sums),
            rows.from,
            by("GROUP", &places),
            clause("\nHAVING ", having, " AND "),
            by("ORDER", &places),
        )
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
    all: &[(&str, bool)],
) -> Vec<String> {
    let is_sure = target.sources.iter().all(|source| source.exists);
    let is_insert = !all.iter().any(|(_, minus)| *minus);
    if target.slots.is_none() || is_insert && is_sure {
        return Vec::new();
    }
    let exists = counting.exists("parent", target, entity);
    let parents = target.parents.iter().zip(exists);
    let (mut later, mut now) = (Vec::new(), Vec::new());
    for (parent, exists) in parents {
        let refers_to = &target.entity[parent.column].refers_to;
        match is_sure && refers_to.as_ref().is_some_and(Parent::is_deferrable) {
            true => later.push(exists),
            false => now.push(exists),
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
    later = vec![later.join(" AND "), stored];
    later.extend((all.len() > 1).then(|| IS_MOVED.to_owned()));
    now.push(format!("({})", later.join(" OR ")));
    now
}
