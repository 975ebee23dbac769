//! What triggers cannot be named, and cannot count.

use anyhow::{Context, Result, bail};
use diesel::connection::{Connection, SimpleConnection};
use diesel::result::Error;
use diesel::sql_types::Bool;
use diesel::{QueryResult, RunQueryDsl};

use crate::catalogue::tables;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::sql::sql;
use crate::triggers::{Counting, Plan, definitions};

/// The longest name of a trigger on PostgreSQL.
const NAME: usize = 63;

pub fn names(plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
    let known = definitions(conn)?;
    let tables = tables(conn)?;
    for (i, plan) in plans.iter().enumerate() {
        let mut names = plan.triggers.iter().map(|trigger| &trigger.name);
        if let Some(name) = names.find(|name| name.len() > NAME) {
            bail!(
                "a trigger would be named {name}, which is longer than {NAME} bytes: choose a shorter name"
            );
        }
        let name = plan.name();
        if known.iter().any(|other| other.definition.name == name)
            || plans[..i].iter().any(|other| other.name() == name)
        {
            bail!(
                "there are triggers {name} already: choose another name, or revert their migration"
            );
        }
        let database = plan.counting.database;
        let taken = match database {
            POSTGRES => {
                let schema = &plan.counting.rows.in_schema;
                let function = database.quoted_in(Some(schema), name) + "()";
                let found = sql("SELECT to_regprocedure(").bind(&*function);
                let found = found.sql(") IS NOT NULL").typed::<Bool>();
                found.get_result::<bool>(conn)?.then_some("function")
            }
            // MySQL would replace a view.
            _ => {
                let view = format!("SELECT 1 FROM {} WHERE 1 = 0", database.quoted(name));
                let is_table = tables.iter().any(|table| table.name == name);
                (is_table || sql(view).execute(conn).is_ok()).then_some("table or view")
            }
        };
        if let Some(what) = taken {
            bail!("there is a {what} {name} already: choose another name, such as count_{name}");
        }
    }
    Ok(())
}

/// A counter equals the rows of one definition: another one would set it to its own rows.
pub fn second_definitions(plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
    let known = definitions(conn)?.into_iter();
    let known: Vec<_> = known
        .filter_map(|other| Counting::new(other.definition, conn).ok())
        .collect();
    for (i, plan) in plans.iter().enumerate() {
        let before = plans[..i].iter().map(|plan| &plan.counting);
        for other in known.iter().chain(before) {
            if let Some((table, counter)) = plan.counting.shared_counter(other) {
                bail!(
                    "the triggers {} count in {table}.{counter} already, and a counter can have the rows \
                     of one table only: count in another counter, and add both up in the program",
                    other.definition.name
                );
            }
        }
    }
    Ok(())
}

/// Asks the database whether an expression can have another value at another time.
pub fn changing_expressions(plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
    for plan in plans {
        let counting = &plan.counting;
        let [table, index, drop] = counting.sql.try_expression;
        let rows = counting.database.table_name(&counting.rows);
        for expression in counting.expressions() {
            if expression.is_one() {
                continue;
            }
            let text = expression.text();
            let mut refused = None;
            let tried: QueryResult<()> = conn.transaction(|conn| {
                conn.batch_execute(&table.replace("{rows}", &rows))?;
                let index = index.replace("{expression}", text);
                refused = conn.batch_execute(&index).err();
                Err(Error::RollbackTransaction)
            });
            if !drop.is_empty() {
                conn.batch_execute(drop)?;
            }
            match (refused, tried) {
                (Some(error), _) => bail!(
                    "the database refuses the SQL expression {text:?}: {error}. It must have the same \
                     value whenever it is evaluated, and name functions with their schema unless they are the \
                     server's own"
                ),
                (None, Err(Error::RollbackTransaction)) => {}
                (None, tried) => {
                    tried.with_context(|| format!("cannot check {text:?} in a temporary table"))?;
                }
            }
        }
    }
    Ok(())
}
