//! The accounts with whose rights triggers run: on PostgreSQL the owner of their function, on MySQL and
//! MariaDB their definer.

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::Dialect;

use super::fault::{Fault, faults};
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::MYSQL;
use crate::sql::sql;
use crate::triggers::{Counting, Trigger, stored};

faults! {
    TRIGGER_OWNER = Wrong, "trigger_owner":
        "Triggers of the table run with the rights of another role, or fail without theirs.";
    TRIGGER_DEFINER = Wrong, "trigger_definer": "Each write of the rows fails.";
}

pub fn check(
    counting: &Counting,
    triggers: &[Trigger],
    owner: &str,
    conn: &mut AnyConnection,
) -> Result<Vec<Fault>> {
    match conn.dialect() {
        Dialect::PostgreSql => of_function(counting, owner, conn),
        Dialect::MySql => of_definers(counting, triggers, conn),
        Dialect::Sqlite => Ok(Vec::new()),
    }
}

/// Whoever owns a table that a function writes could have triggers of the table run as the function's owner.
fn of_function(counting: &Counting, owner: &str, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let name = &counting.definition.name;
    let tables = counting.targets.iter().map(|target| &target.table);
    let mut found = Vec::new();
    for table in [&counting.rows].into_iter().chain(tables) {
        let of_table =
            sql("SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = to_regclass(");
        let of_table = of_table
            .bind(&*counting.database.table_name(table))
            .sql(")");
        let of_table: String = of_table.typed::<Text>().get_result(conn)?;
        if of_table != owner {
            let fault = TRIGGER_OWNER.found(format!(
                "The triggers {name} belong to {owner}, and {table} to {of_table}."
            ));
            found.push(fault.remedy(format!(
                "Give both to one role: ALTER TABLE {table} OWNER TO {owner}, or run the migration as {of_table}."
            )));
        }
    }
    Ok(found)
}

/// Definers that do not exist, and definers without a right.
fn of_definers(
    counting: &Counting,
    triggers: &[Trigger],
    conn: &mut AnyConnection,
) -> Result<Vec<Fault>> {
    let name = &counting.definition.name;
    let mut found: Vec<Fault> = Vec::new();
    for trigger in triggers {
        let definer = sql(
            "SELECT CAST(definer AS CHAR) FROM information_schema.triggers \
             WHERE trigger_schema = DATABASE() AND trigger_name = ",
        );
        let definer = definer.bind(&*trigger.name).typed::<Text>();
        let Some(definer) = definer.get_result::<String>(conn).optional()? else {
            continue;
        };
        let says = format!("as {definer}");
        if found.iter().any(|fault| fault.what.contains(&says)) {
            continue;
        }
        let fault = match missing(&definer, counting, conn)? {
            None => continue,
            Some(Missing::Account) => Fault {
                sql: again(counting, triggers),
                ..TRIGGER_DEFINER
                    .found(format!(
                        "The triggers {name} run {says}, and there is no such account."
                    ))
                    .remedy(format!(
                        "Create the account again, with its rights; or create the triggers as another account, \
                         and then run `diesel-counters recount {name}`."
                    ))
            },
            Some(Missing::Rights(rights, table)) => Fault {
                sql: vec![format!("GRANT {rights} ON {} TO {};", counting.database.table_name(table), account(&definer))],
                ..TRIGGER_DEFINER
                    .found(format!(
                        "The triggers {name} run {says}, which has no {rights} on {table}."
                    ))
                    .remedy("Grant it.")
            },
        };
        found.push(fault);
    }
    Ok(found)
}

/// The statements that create the triggers and their definition again.
fn again(counting: &Counting, triggers: &[Trigger]) -> Vec<String> {
    let triggers = triggers.iter();
    let triggers = triggers.flat_map(|trigger| [trigger.drop.clone(), trigger.create.clone()]);
    let all = [stored(counting)].into_iter().chain(triggers);
    all.map(|sql| sql.trim_end().to_owned()).collect()
}

enum Missing<'c> {
    Account,
    Rights(&'static str, &'c Table),
}

fn missing<'c>(
    definer: &str,
    counting: &'c Counting,
    conn: &mut AnyConnection,
) -> Result<Option<Missing<'c>>> {
    let grantee = account(definer);
    let any = |from: &str, conn: &mut AnyConnection| -> QueryResult<i64> {
        let any = sql(format!("SELECT COUNT(*) FROM {from} = ")).bind(&*grantee);
        any.typed::<BigInt>().get_result(conn)
    };
    // An account sees the grants of others if it can read the server's own tables, and roles are not looked
    // up: what is not certain is not reported.
    let is_own = sql("SELECT COUNT(*) FROM (SELECT 1 WHERE CURRENT_USER() = ").bind(definer);
    let is_own = is_own
        .sql(") AS own")
        .typed::<BigInt>()
        .get_result::<i64>(conn)?
        > 0;
    let sees_all = sql("SELECT COUNT(*) FROM mysql.user").execute(conn).is_ok();
    if !(is_own || sees_all) {
        return Ok(None);
    }
    if any("information_schema.user_privileges WHERE grantee", conn)? == 0 {
        return Ok(Some(Missing::Account));
    }
    let has_roles = [
        "mysql.role_edges WHERE CONCAT('''', to_user, '''@''', to_host, '''')",
        "mysql.roles_mapping WHERE CONCAT('''', user, '''@''', host, '''')",
    ];
    if has_roles
        .iter()
        .any(|roles| any(roles, conn).is_ok_and(|number| number > 0))
    {
        return Ok(None);
    }
    let rows = ["TRIGGER", "SELECT"].map(|right| (right, &counting.rows));
    let targets = counting.targets.iter().map(|target| &target.table);
    let targets =
        targets.flat_map(|table| ["INSERT", "UPDATE", "SELECT"].map(|right| (right, table)));
    for (right, table) in rows.into_iter().chain(targets) {
        let is_column = counting
            .targets
            .iter()
            .any(|target| target.slots.is_none() && target.is_of(table));
        if is_column && right == "INSERT" {
            continue;
        }
        let of = |views: &str, more: &str| {
            format!("information_schema.{views} WHERE privilege_type = '{right}'{more} AND grantee")
        };
        let schema = counting.database.literal(&table.in_schema);
        let name = counting.database.literal(&table.name);
        let in_schema = format!(" AND {schema} LIKE table_schema");
        let of_table = format!(" AND table_schema = {schema} AND table_name = {name}");
        let granted = any(&of("user_privileges", ""), conn)?
            + any(&of("schema_privileges", &in_schema), conn)?
            + any(&of("table_privileges", &of_table), conn)?
            + any(&of("column_privileges", &of_table), conn)?;
        if granted == 0 {
            return Ok(Some(Missing::Rights(right, table)));
        }
    }
    Ok(None)
}

/// `'me'@'%'` of `me@%`.
fn account(definer: &str) -> String {
    let (user, host) = definer.rsplit_once('@').unwrap_or((definer, ""));
    format!("'{user}'@'{host}'")
}

/// Those of these triggers that are there. MySQL and MariaDB list no triggers without the right TRIGGER, and
/// then return another error for one that is there than for one that is not.
pub fn hidden<'t>(
    missing: impl Iterator<Item = &'t Trigger>,
    conn: &mut AnyConnection,
) -> QueryResult<Vec<String>> {
    if conn.dialect() != Dialect::MySql {
        return Ok(Vec::new());
    }
    let mut show = |name: &str| {
        let show = format!("SHOW CREATE TRIGGER {}", MYSQL.quoted(name));
        conn.batch_execute(&show)
            .err()
            .map(|error| error.to_string())
    };
    let mut names = missing.map(|trigger| trigger.name.clone()).peekable();
    if names.peek().is_none() {
        return Ok(Vec::new());
    }
    let is_none = show("diesel_counters_no_such_trigger");
    Ok(names.filter(|name| show(name) != is_none).collect())
}
