//! What triggers cannot count, and cannot run.

use anyhow::{Context, Result, bail};
use diesel::connection::{Connection, SimpleConnection};
use diesel::result::Error;
use diesel::sql_types::Bool;
use diesel::{QueryResult, QueryableByName, RunQueryDsl};

use crate::code_of_others::OfOthers;
use crate::connection::AnyConnection;
use crate::database::{Joined, POSTGRES};
use crate::fault::Fault;
use crate::sql::sql_with;
use crate::triggers::{Compared, Counting, Existing, FunctionName, Plan, Target};
use crate::vetoes;

/// Definitions that do not go together. A counter equals the rows of one definition: another one
/// would set it to its own rows.
pub fn others(new: &[Plan], stay: &[Counting]) -> Result<()> {
    for (place, plan) in new.iter().enumerate() {
        // Each pair of new definitions once.
        let before = new[..place].iter().map(|plan| &plan.counting);
        for other in stay.iter().chain(before) {
            if let Some((table, counter)) = plan.counting.shared_counter(other) {
                bail!(
                    "the triggers {} count in {table}.{counter} already, and a counter can have \
                     the rows of one table only: count in another counter, and add both up in the \
                     program",
                    other.definition.name
                );
            }
        }
    }
    Ok(())
}

/// Tables whose rows a crash or a rollback loses, while the counts stay, or the other way round.
pub fn storage(plan: &Plan) -> Result<()> {
    let counting = &plan.counting;
    let targets = counting.targets.iter().map(|target| &target.table);
    for table in [&counting.rows].into_iter().chain(targets) {
        if let Some(storage) = &table.unsafe_storage {
            bail!(
                "the storage of {table} is {storage}: after a crash or a rollback, its rows and \
                 the counts could differ. Make it LOGGED, on MySQL and MariaDB InnoDB"
            );
        }
    }
    Ok(())
}

/// Tables in which nothing can be counted, or whose own triggers and rules could undo it: what
/// `check` would find as soon as the migration has run.
pub fn vetoes(plan: &Plan, conn: &mut AnyConnection) -> Result<()> {
    if let Some(fault) = vetoes::refusal(&plan.counting, conn)? {
        let Fault {
            what, cost, remedy, ..
        } = fault;
        let targets = plan.counting.targets.iter();
        let tables = targets.map(|target| target.table.to_string()).joined(", ");
        bail!("{tables}: {what} {cost} {remedy}");
    }
    Ok(())
}

/// Tables of other roles: their owners could have code run with the rights of the owner of the
/// counters, at any time after the migration.
pub fn tables_of_others(plan: &Plan, conn: &mut AnyConnection) -> Result<()> {
    if let Some(found) = plan.counting.tables_of_others(conn)?.first() {
        let OfOthers {
            table,
            owner,
            used_by,
        } = found;
        bail!(
            "{table} belongs to {owner}, who could attach code to it, such as a function of an \
             index. It would run with the rights of {used_by}, when rows are counted. Give the \
             tables to one role, or the rights of {used_by} to {owner}: GRANT {used_by} TO \
             {owner}. A counter table without a foreign key to {table} does not require that"
        );
    }
    Ok(())
}

/// A row that is not counted yet can be deleted. The count is then below 0 until the recount.
/// An entity whose last row is deleted before that cannot be told from one that others count.
pub fn later(plan: &Plan) -> Result<()> {
    let counting = &plan.counting;
    if counting.definition.existing != Existing::Later {
        return Ok(());
    }
    let mut targets = counting.targets.iter();
    let is_of_condition =
        |target: &&Target| matches!(counting.compared(target), Compared::WithRows { .. });
    let of_condition = targets.find(is_of_condition);
    if let Some(Target { table, .. }) = of_condition {
        bail!(
            "--existing later: {table} counts the rows of a condition. Say with only in which of \
             its rows, such as only = \"1 = 1\" for all"
        );
    }
    for (table, name) in counting.counters() {
        if table.range(name).is_some_and(|range| *range.start() == 0) {
            bail!(
                "--existing later: {table}.{name} is unsigned, and would refuse to count that an \
                 existing row is deleted: make it signed, or count existing rows now"
            );
        }
        if table.is_guarded(name, false, counting.database) {
            bail!(
                "--existing later: a CHECK keeps {table}.{name} at 0 or more, and would refuse to \
                 count that an existing row is deleted: drop it until the recount, or count \
                 existing rows now"
            );
        }
    }
    Ok(())
}

/// Asks the database whether an expression can have another value at another time.
pub fn changing_expressions(plan: &Plan, conn: &mut AnyConnection) -> Result<()> {
    let counting = &plan.counting;
    let trial = &counting.sql.trial;
    for (table, expression) in counting.expressions().filter(|(_, one)| !one.is_one()) {
        let rows = counting.database.table_name(table);
        let text = &expression.text;
        let create_table = trial.create_table.replace("{rows}", &rows);
        let require = trial.require_constant.replace("{expression}", text);
        let mut refused = None;
        let tried: QueryResult<()> = conn.transaction(|conn| {
            conn.batch_execute(&create_table)?;
            // The error of this statement is one of the expression; others are of the trial itself.
            refused = conn.batch_execute(&require).err();
            // Nothing of it stays.
            Err(Error::RollbackTransaction)
        });
        if let Some(drop_table) = trial.drop_table {
            conn.batch_execute(drop_table)?;
        }
        if let Some(error) = refused {
            bail!(
                "the database refuses the SQL expression {text:?}: {error}. It must have the same \
                 value whenever it is evaluated, and name functions with their schema unless they \
                 are the server's own"
            );
        }
        match tried {
            Err(Error::RollbackTransaction) => {}
            other => {
                other.with_context(|| format!("cannot check {text:?} in a temporary table"))?;
            }
        }
    }
    Ok(())
}

/// The functions `{schema}.{name}` that are not the server's own.
const FUNCTIONS: &str = "
    SELECT pg_get_userbyid(p.proowner) <> current_user AND NOT r.rolsuper AS is_of_others,
        l.lanname IN ('sql', 'plpgsql') AND NOT EXISTS (
            SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%')
            AS searches
    FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_language l ON l.oid = p.prolang
    JOIN pg_roles r ON r.oid = p.proowner
    WHERE n.nspname <> 'pg_catalog' AND n.nspname = {schema} AND p.proname = {name}";

#[derive(QueryableByName)]
struct Function {
    #[diesel(sql_type = Bool)]
    is_of_others: bool,
    /// Whether it looks up names in the schemas of the session.
    #[diesel(sql_type = Bool)]
    searches: bool,
}

/// Inside the counting on PostgreSQL, only the server's own schema is searched. A function of
/// another role would run as the owner of the counters, and one that looks up its names in the
/// session would not find them.
pub fn functions(plan: &Plan, conn: &mut AnyConnection) -> Result<()> {
    if plan.counting.database != POSTGRES {
        return Ok(());
    }
    let expressions = plan.counting.expressions();
    for named in expressions.flat_map(|(_, expression)| &expression.functions) {
        let FunctionName { schema, name } = named;
        let values = [("schema", &**schema), ("name", name)];
        // There can be several, with other arguments.
        for found in sql_with(FUNCTIONS, &values).load::<Function>(conn)? {
            let function = POSTGRES.quoted_in(Some(schema), name);
            let schema = POSTGRES.quoted(schema);
            if found.is_of_others {
                bail!(
                    "the function {function} belongs to another role, and would run with the \
                     rights of the owner of the counters: create one of your own"
                );
            }
            if found.searches {
                bail!(
                    "the function {function} looks up names in the schemas of the session, and \
                     triggers search the server's own only. Run ALTER FUNCTION {function} SET \
                     search_path = {schema}"
                );
            }
        }
    }
    Ok(())
}
