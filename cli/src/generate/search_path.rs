//! What runs inside the counting on PostgreSQL, where only the server's own schema is searched: functions
//! in expressions, and the application's own triggers of the tables that are counted in.

use anyhow::{Result, bail};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_counters::Dialect;

use crate::connection::AnyConnection;
use crate::sql::sql;
use crate::triggers::Plan;

/// A function of another role would run as the owner of the counters, and one that looks up its names in
/// the session would not find them.
pub fn refuse_functions(plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
    let is_postgres = conn.dialect() == Dialect::PostgreSql;
    for plan in plans.iter().filter(|_| is_postgres) {
        let expressions = plan.counting.expressions();
        for (schema, name) in expressions.flat_map(|expression| expression.functions()) {
            let found = sql(
                "SELECT pg_get_userbyid(p.proowner) <> current_user AND NOT r.rolsuper, \
                        l.lanname IN ('sql', 'plpgsql') AND NOT EXISTS (
                            SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%')
                 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                 JOIN pg_language l ON l.oid = p.prolang JOIN pg_roles r ON r.oid = p.proowner
                 WHERE n.nspname <> 'pg_catalog' AND n.nspname = ",
            );
            let found = found.bind(&*schema).sql(" AND p.proname = ").bind(&*name);
            for (is_of_others, searches) in
                found.typed::<(Bool, Bool)>().load::<(bool, bool)>(conn)?
            {
                if is_of_others {
                    bail!(
                        "the function {schema}.{name} belongs to another role, and would run with the rights \
                         of the owner of the counters: create one of your own"
                    );
                }
                if searches {
                    bail!(
                        "the function {schema}.{name} looks up names in the schemas of the session, and \
                         triggers search the server's own only. Run ALTER FUNCTION {schema}.{name} SET \
                         search_path = {schema}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// The triggers of the tables that are counted in, whose functions look up names in the session.
pub fn own_triggers(plan: &Plan, conn: &mut AnyConnection) -> Result<Vec<String>> {
    if conn.dialect() != Dialect::PostgreSql {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for target in &plan.counting.targets {
        let found = sql(
            "SELECT t.tgname::text, quote_ident(n.nspname) || '.' || quote_ident(p.proname), n.nspname::text
             FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
             JOIN pg_language l ON l.oid = p.prolang
             WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 20 <> 0
                 AND l.lanname NOT IN ('c', 'internal') AND NOT EXISTS (
                     SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%')
                 AND t.tgrelid = CAST(to_regclass(",
        );
        let found = found.bind(&*plan.counting.database.table_name(&target.table));
        let found = found
            .sql(") AS oid) ORDER BY 1")
            .typed::<(Text, Text, Text)>();
        for (trigger, function, schema) in found.load::<(String, String, String)>(conn)? {
            all.push(format!(
                "{trigger} of {}: ALTER FUNCTION {function}() SET search_path = {schema};",
                target.table
            ));
        }
    }
    Ok(all)
}
