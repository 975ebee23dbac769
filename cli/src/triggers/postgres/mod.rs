//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed.

mod body;
mod names;
mod slot;

use anyhow::Result;

use super::counting::Counting;
use super::plan::Plan;
use super::statement::in_lines;
use super::trigger::{Function, Trigger, VIEW};
use crate::database::POSTGRES;
use body::{body, create_function};
use names::Names;
use slot::{SLOT, function, has_slots};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let names = Names::of(counting);
    let (old, new) = (POSTGRES.quoted(&names.old), POSTGRES.quoted(&names.new));
    let (of_old, of_new) = (format!("OLD TABLE AS {old}"), format!("NEW TABLE AS {new}"));
    let mut triggers: Vec<_> = has_slots(counting).then(function).into_iter().collect();
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
    let (quoted, table) = (POSTGRES.quoted(&name), POSTGRES.table_name(&counting.rows));
    let function = POSTGRES.quoted(&counting.definition.name);
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

/// One statement keeps its lock to its end, also outside of a transaction.
pub fn up(plans: &[Plan]) -> String {
    // The tables of entities come first, as in a program that writes an entity, and then its rows.
    let columns = plans.iter().flat_map(|plan| {
        let targets = plan.counting.targets.iter();
        targets.filter(|target| target.slots.is_none())
    });
    let mut tables: Vec<_> = columns
        .map(|target| &target.table)
        .chain(plans.iter().map(|plan| &plan.counting.rows))
        .map(|table| POSTGRES.table_name(table))
        .collect();
    let mut seen = Vec::new();
    tables.retain(|table| {
        !seen.contains(table) && {
            seen.push(table.clone());
            true
        }
    });
    let rows = tables.join(", ");
    let slot = plans.iter().any(|plan| has_slots(&plan.counting)).then(|| {
        format!(
            "-- The slot of the connection: it claims a number.\n\
             IF to_regprocedure('{SLOT}(integer)') IS NULL THEN\n{}\nEND IF;\n",
            in_lines(&function().create, 4)
        )
    });
    let is_other = |trigger: &Trigger| trigger.event == "RULE";
    let is_view = |trigger: &Trigger| trigger.event == VIEW;
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
            &POSTGRES.table_name(&plan.counting.rows),
            &names.old,
            &names.new,
        ];
        let values = values.map(|value| POSTGRES.literal(value));
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
        slot.unwrap_or_default(),
        all.collect::<String>(),
        of_triggers.collect::<Vec<_>>().join(",\n    "),
    )
}

/// The server gives triggers of a partitioned table other rows than those that a MERGE wrote. It
/// refuses a MERGE into a table that has a rule.
fn no_merge(counting: &Counting) -> Trigger {
    let name = format!("{}_no_merge", counting.definition.name);
    let (quoted, table) = (POSTGRES.quoted(&name), POSTGRES.table_name(&counting.rows));
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

pub fn not_counted(plan: &Plan) -> Vec<String> {
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
