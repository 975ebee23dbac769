//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed.

use anyhow::Result;
use diesel_counters::Dialect;

use super::statement::{by, conditions};
use super::{
    Counting, Entities, FUNCTION, Function, ParentTable, Plan, Rows, Source, Target, Trigger,
    TriggerSql, in_lines,
};
use crate::catalogue::Parent;
use crate::database::{Database, Postgres};

pub const SQL: TriggerSql = TriggerSql {
    triggers,
    up,
    not_counted,
    today: "CAST(statement_timestamp() AT TIME ZONE 'UTC' AS DATE)",
    undated: "DATE '1970-01-01'",
    days: &[
        ("date", "{}"),
        ("timestamp without time zone", "CAST({} AS DATE)"),
        ("timestamp with time zone", "CAST({} AT TIME ZONE 'UTC' AS DATE)"),
    ],
    week: "CAST(date_trunc('week', CAST({} AS TIMESTAMP)) AS DATE)",
    month: "CAST(date_trunc('month', CAST({} AS TIMESTAMP)) AS DATE)",
    year: "CAST(date_trunc('year', CAST({} AS TIMESTAMP)) AS DATE)",
    integer: "BIGINT",
    zoned: Some("timestamp with time zone"),
    weight: "COALESCE(CAST({} AS BIGINT), 0)",
    sum: "CAST(SUM({}) AS BIGINT)",
    minus: |one, other| format!("{one} - {other}"),
    alias: " AS kept",
    on_conflict: "ON CONFLICT ({}) DO UPDATE SET",
    kept: "kept.{}",
    update: |name, old, value| format!("{name} = {old} + {value}"),
    set: "{}",
    update_from: |table, from, on, set| {
        format!("UPDATE {table} SET {set}\nFROM {from} WHERE {on}")
    },
    new_value: "excluded.{}",
    is_new_value_of_table: false,
    has_if: true,
    differs: |new, old| format!("{new} IS DISTINCT FROM {old}"),
    // An index requires that.
    try_expression: [
        "CREATE TEMPORARY TABLE diesel_counters_try (LIKE {rows})",
        "CREATE INDEX ON pg_temp.diesel_counters_try (({expression}))",
        "",
    ],
    keeps_half: false,
    live: "SELECT n.nspname::text, c.relname::text, t.tgname::text,
            concat_ws(' ', CASE WHEN t.tgtype & 2 <> 0 THEN 'BEFORE' ELSE 'AFTER' END,
                CASE WHEN t.tgtype & 4 <> 0 THEN 'INSERT' END,
                CASE WHEN t.tgtype & 8 <> 0 THEN 'DELETE' END,
                CASE WHEN t.tgtype & 16 <> 0 THEN 'UPDATE' END,
                CASE WHEN t.tgtype & 32 <> 0 THEN 'TRUNCATE' END,
                CASE WHEN t.tgtype & 1 <> 0 THEN 'ROW' END,
                t.tgoldtable, t.tgnewtable, NULLIF(t.tgattr::text, ''), pg_get_expr(t.tgqual, t.tgrelid),
                CASE WHEN NOT p.prosecdef THEN 'SECURITY INVOKER' END,
                CASE WHEN NOT EXISTS (SELECT FROM unnest(p.proconfig) setting
                    WHERE setting LIKE 'search_path=%pg_temp') THEN 'without a search_path' END),
            p.prosrc,
            CASE t.tgenabled WHEN 'D' THEN 'it is disabled'
                WHEN 'R' THEN 'it runs on replicas only'
                WHEN 'A' THEN 'it also runs on replicas, which then count twice' END
        FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
        JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE NOT t.tgisinternal
        UNION ALL
        SELECT n.nspname::text, c.relname::text, r.rulename::text, 'RULE', '', NULL
        FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'p'
        UNION ALL
        SELECT '', relname::text, relname::text, 'VIEW', '', NULL
        FROM pg_class WHERE relkind = 'v' AND pg_table_is_visible(oid)
        UNION ALL
        SELECT '', proname::text, proname::text, 'FUNCTION', prosrc, NULL FROM pg_proc
        WHERE proname = 'diesel_counters_number' AND pg_function_is_visible(oid) ORDER BY 1, 2, 3",
};

/// The columns that the functions read, of the rows of a statement before it and after it.
struct Names {
    /// The table itself, whose name the rows take in a trigger; or a view of it.
    old: String,
    /// A view without rows, whose name the rows take in a trigger.
    new: String,
}

impl Names {
    fn of(counting: &Counting) -> Self {
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

    fn triggers(&self, counting: &Counting) -> Vec<Trigger> {
        let sources = counting.targets.iter().flat_map(|target| &target.sources);
        let mut columns: Vec<_> = sources
            .flat_map(|source| counting.columns(source))
            .collect();
        columns.sort();
        columns.dedup();
        let columns = Postgres.quoted_list(&columns);
        let rows = Postgres.table_name(&counting.rows);
        let query = format!("SELECT {columns} FROM {rows}");
        let none = Trigger::view(&self.new, &format!("{query} WHERE false"), counting);
        let all = Trigger::view(&self.old, &query, counting);
        let is_view = self.old != counting.rows.name;
        is_view.then_some(all).into_iter().chain([none]).collect()
    }
}

/// The function that claims a number for a connection.
const NUMBER: &str = "diesel_counters_number()";

fn number() -> Trigger {
    let body = format!("\n    SELECT {};\n", Dialect::claim());
    let name = "diesel_counters_number";
    Trigger {
        create: format!(
            "CREATE FUNCTION {NUMBER} RETURNS INTEGER LANGUAGE sql AS $number${body}$number$;\n"
        ),
        drop: format!(
            "DO $$ BEGIN\n    \
             -- The triggers of other tables call it, too.\n    \
             IF NOT EXISTS (SELECT FROM pg_proc WHERE prosrc LIKE '%{NUMBER}%') THEN\n        \
             DROP FUNCTION IF EXISTS {NUMBER};\n    \
             END IF;\nEND $$;\n"
        ),
        table: [String::new(), name.to_owned()],
        name: name.to_owned(),
        event: FUNCTION.to_owned(),
        function: None,
        body,
    }
}

fn has_slots(counting: &Counting) -> bool {
    let mut targets = counting.targets.iter();
    targets.any(|target| target.slots.is_some())
}

fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let names = Names::of(counting);
    let (old, new) = (Postgres.quoted(&names.old), Postgres.quoted(&names.new));
    let (of_old, of_new) = (format!("OLD TABLE AS {old}"), format!("NEW TABLE AS {new}"));
    let mut triggers: Vec<_> = has_slots(counting).then(number).into_iter().collect();
    triggers.extend(names.triggers(counting));
    triggers.extend(Trigger::drifts(counting));
    let both = format!("{of_old} {of_new}");
    let after = |event: &str, referencing: &str, names: &str| {
        let runs = format!("AFTER {event}{names}");
        let referencing = format!("REFERENCING {referencing} ");
        trigger(counting, event, "AFTER", &runs, &referencing)
    };
    triggers.push(after("INSERT", &of_new, &format!(" {}", names.new)));
    if counting.has_updates() {
        triggers.push(after(
            "UPDATE",
            &both,
            &format!(" {} {}", names.old, names.new),
        ));
    }
    triggers.extend([
        after("DELETE", &of_old, &format!(" {}", names.old)),
        trigger(counting, "TRUNCATE", "BEFORE", "BEFORE TRUNCATE", ""),
    ]);
    triggers.extend(counting.rows.partitioned.then(|| no_merge(counting)));
    Ok(triggers)
}

fn trigger(counting: &Counting, event: &str, when: &str, runs: &str, referencing: &str) -> Trigger {
    let name = format!("{}_{}", counting.definition.name, event.to_lowercase());
    let (quoted, table) = (Postgres.quoted(&name), Postgres.table_name(&counting.rows));
    let function = Postgres.quoted(&counting.definition.name);
    let body = body(counting);
    Trigger {
        create: format!(
            "CREATE TRIGGER {quoted} {when} {event} ON {table}\n    {referencing}FOR EACH STATEMENT \
             EXECUTE FUNCTION {function}();\n"
        ),
        drop: format!("DROP TRIGGER IF EXISTS {quoted} ON {table};\n"),
        table: [counting.rows.in_schema.clone(), counting.rows.name.clone()],
        name,
        event: runs.to_owned(),
        function: Some(Function {
            create: create_function(counting, &body),
            protect: format!(
                "REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC;\n\
                 DO $path$ BEGIN\n    \
                 EXECUTE $alter$ALTER FUNCTION {function}() SET search_path = $alter$\n        \
                 || current_setting('search_path') || ', pg_temp';\nEND $path$;\n"
            ),
            drop: format!("DROP FUNCTION IF EXISTS {function}();\n"),
        }),
        body,
    }
}

fn create_function(counting: &Counting, body: &str) -> String {
    format!(
        "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \
         $counting${body}$counting$;\n",
        Postgres.quoted(&counting.definition.name)
    )
}

fn body(counting: &Counting) -> String {
    let slot = Dialect::slot_or_claim(counting.definition.slots, NUMBER);
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
    let from = format!("FROM {}", Postgres.quoted(&names.new));
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
        let from = format!("FROM {}", Postgres.quoted(name));
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
    let keys = target.entity.iter().map(|key| Postgres.quoted(&key.name));
    let keys = keys.map(|key| format!("kept.{key} = counting_sums.{key}"));
    format!(
        "FOR counting_sums IN\n{}\nLOOP\n    UPDATE {} AS kept SET {} WHERE {};\nEND LOOP",
        in_lines(&sums(None), 4),
        Postgres.table_name(&target.table),
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
        let conditions = conditions(self.conditions(target, source, rows)).replace('\n', " ");
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
                .all(|weight| weight.is_one());
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
    key.map(|key| format!("moved.{}", Postgres.quoted(&key.name)))
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
    let table = Postgres.table_name(&target.table);
    let columns = target.entity.iter().zip(moved(target));
    let columns =
        columns.map(|(key, name)| format!("stored.{} = {name}", Postgres.quoted(&key.name)));
    let stored = format!(
        "EXISTS (SELECT 1 FROM {table} AS stored WHERE {})",
        columns.collect::<Vec<_>>().join(" AND ")
    );
    let (parent, later) = (later[0].0, list(later));
    let either = format!("({later} OR {stored} OR {IS_MOVED})");
    all.push((parent, either));
    list(all)
}

/// One statement keeps its lock to its end, also outside of a transaction.
fn up(plans: &[Plan]) -> String {
    let rows = plans
        .iter()
        .map(|plan| Postgres.table_name(&plan.counting.rows));
    let rows = rows.collect::<Vec<_>>().join(", ");
    let number = plans.iter().any(|plan| has_slots(&plan.counting)).then(|| {
        format!(
            "-- Claims a number for the connection, by which it has slots of its own.\n\
             IF to_regprocedure('{NUMBER}') IS NULL THEN\n{}\nEND IF;\n",
            in_lines(&number().create, 4)
        )
    });
    let is_other = |trigger: &Trigger| trigger.event == "RULE";
    let is_view = |trigger: &Trigger| trigger.event == super::VIEW;
    let all = plans.iter().map(|plan| {
        let counting = &plan.counting;
        format!(
            "\n{}{}{}{}{}{}",
            plan.heading(),
            plan.definition,
            plan.create(is_view),
            create_function(counting, &body(counting)),
            plan.create(is_other),
            plan.existing(),
        )
    });
    let of_triggers = plans.iter().map(|plan| {
        let (names, name) = (Names::of(&plan.counting), plan.name());
        let values = [
            name,
            &Postgres.table_name(&plan.counting.rows),
            &names.old,
            &names.new,
        ];
        let values = values.map(|value| Postgres.literal(value));
        format!("({}, {})", values.join(", "), plan.counting.has_updates())
    });
    format!(
        "DO $diesel_counters$ DECLARE counting RECORD; BEGIN\n\
         IF current_setting('transaction_isolation') <> 'read committed' THEN\n    \
         RAISE 'run this migration at READ COMMITTED, to count all rows that are committed';\n\
         END IF;\n\
         -- Until the migration ends, others can read these tables, but not write them.\n\
         LOCK TABLE {rows} IN SHARE ROW EXCLUSIVE MODE;\n\
         {}{}\n\
         FOR counting IN SELECT * FROM (VALUES\n    {}\n\
         ) AS counting (name, rows, old, new, has_updates) LOOP\n    \
         -- Otherwise a temporary table could take the place of the counters.\n    \
         EXECUTE format('ALTER FUNCTION %I() SET search_path = %s, pg_temp', counting.name, \
         current_setting('search_path'));\n    \
         EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', counting.name);\n    \
         -- In a trigger, the names of these tables are those of the rows of the statement.\n    \
         EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %s REFERENCING NEW TABLE AS %I\n        \
         FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_insert', counting.rows, counting.new, counting.name);\n    \
         IF counting.has_updates THEN\n    \
         EXECUTE format('CREATE TRIGGER %I AFTER UPDATE ON %s REFERENCING OLD TABLE AS %I NEW TABLE AS %I\n        \
         FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_update', counting.rows, counting.old, counting.new, counting.name);\n    \
         END IF;\n    \
         EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %s REFERENCING OLD TABLE AS %I\n        \
         FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_delete', counting.rows, counting.old, counting.name);\n    \
         EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %s\n        \
         FOR EACH STATEMENT EXECUTE FUNCTION %I()', counting.name || '_truncate', counting.rows, counting.name);\n\
         END LOOP;\n\
         END $diesel_counters$;\n",
        number.unwrap_or_default(),
        all.collect::<String>(),
        of_triggers.collect::<Vec<_>>().join(",\n    "),
    )
}

/// The server gives triggers of a partitioned table other rows than those that a MERGE wrote. It
/// refuses a MERGE into a table that has a rule.
fn no_merge(counting: &Counting) -> Trigger {
    let name = format!("{}_no_merge", counting.definition.name);
    let (quoted, table) = (Postgres.quoted(&name), Postgres.table_name(&counting.rows));
    Trigger {
        create: format!(
            "-- PostgreSQL passes wrong rows to the triggers of a partitioned table after a MERGE, and\n\
             -- refuses a MERGE into a table with a rule.\n\
             CREATE RULE {quoted} AS ON DELETE TO {table} WHERE false DO ALSO NOTHING;\n"
        ),
        drop: format!("DROP RULE IF EXISTS {quoted} ON {table};\n"),
        table: [counting.rows.in_schema.clone(), counting.rows.name.clone()],
        name,
        event: "RULE".to_owned(),
        function: None,
        body: String::new(),
    }
}

fn not_counted(plan: &Plan) -> Vec<String> {
    let rows = &plan.counting.rows;
    let mut all = vec![
        "Rows that are written with session_replication_role = replica, or while a trigger is disabled."
            .to_owned(),
    ];
    if rows.partitioned {
        all.push(format!(
            "Rows that are written to a partition of {rows} by the name of the partition. A MERGE into \
             {rows} is refused, because PostgreSQL passes wrong rows to its triggers."
        ));
    }
    all
}
