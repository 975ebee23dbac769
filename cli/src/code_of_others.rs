//! Functions of other roles that a statement over a table would run. PostgreSQL runs the functions
//! of a table's triggers, indexes and constraints as the role that reads or writes it: whoever may
//! attach one to a table would have it run as a superuser who merges it. Functions of superusers
//! are trusted, and those that run as their own owner. MySQL and MariaDB run triggers as their
//! definer, and SQLite has no accounts.

use anyhow::{Result, bail};
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::sql::sql_with;

/// What a statement does with the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The planner evaluates expressions of indexes, statistics and constraints whose values are
    /// constants.
    Reads,
    /// It also runs triggers, rules, defaults and generated columns.
    Writes,
}

/// A function that a statement over a table would run.
#[derive(QueryableByName)]
struct Function {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = Text)]
    table_owner: String,
    /// The role of this session.
    #[diesel(sql_type = Text)]
    current_role: String,
}

/// The first function of another role that a statement over `{table}` would run.
///
/// `used` begins with what is attached to the table, and follows the catalogue of dependencies
/// from there: an index needs an operator class, that an operator, and that a function. Each is a
/// catalogue and a number in it, as in `pg_depend`.
const FUNCTIONS: &str = "
    WITH RECURSIVE given AS (
        SELECT CAST(to_regclass({table}) AS oid) AS id
    ), tables AS (
        -- With its partitions and children.
        SELECT id FROM given
        UNION SELECT inhrelid FROM tables JOIN pg_inherits ON inhparent = id
    ), used (classid, objid) AS (
        ({attached})
        UNION SELECT next.classid, next.objid FROM used u CROSS JOIN LATERAL (
            SELECT refclassid AS classid, refobjid AS objid FROM pg_depend d
                WHERE d.classid = u.classid AND d.objid = u.objid
                    AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass,
                        'pg_type'::regclass, 'pg_opclass'::regclass, 'pg_opfamily'::regclass)
            -- A type does not depend on its casts, nor a domain on its CHECKs.
            UNION ALL SELECT CAST('pg_proc'::regclass AS oid), castfunc FROM pg_cast
                WHERE u.classid = 'pg_type'::regclass AND castsource = u.objid
            UNION ALL SELECT CAST('pg_constraint'::regclass AS oid), oid FROM pg_constraint
                WHERE u.classid = 'pg_type'::regclass AND contypid = u.objid
        ) AS next
    )
    SELECT CAST(CAST(p.oid AS regproc) AS text) AS name, r.rolname::text AS owner,
        (SELECT pg_get_userbyid(relowner)::text FROM pg_class JOIN given ON given.id = oid)
            AS table_owner,
        current_user::text AS current_role
    FROM used
    JOIN pg_proc p ON used.classid = 'pg_proc'::regclass AND p.oid = used.objid
    JOIN pg_roles r ON r.oid = p.proowner
    WHERE r.rolname <> current_user AND NOT r.rolsuper AND NOT p.prosecdef
    ORDER BY 1 LIMIT 1";

/// What is attached to a table, and runs when it is read or written.
const ATTACHED: &str = "
        SELECT CAST('pg_class'::regclass AS oid), id FROM tables
        UNION ALL SELECT CAST('pg_class'::regclass AS oid), indexrelid
            FROM pg_index JOIN tables ON indrelid = id
        UNION ALL SELECT CAST('pg_constraint'::regclass AS oid), o.oid
            FROM pg_constraint o JOIN tables ON conrelid = id
        UNION ALL SELECT CAST('pg_statistic_ext'::regclass AS oid), o.oid
            FROM pg_statistic_ext o JOIN tables ON stxrelid = id
        UNION ALL SELECT CAST('pg_policy'::regclass AS oid), o.oid
            FROM pg_policy o JOIN tables ON polrelid = id";

/// What runs besides when it is written.
const ATTACHED_FOR_WRITES: &str = "
        UNION ALL SELECT CAST('pg_trigger'::regclass AS oid), o.oid
            FROM pg_trigger o JOIN tables ON tgrelid = id
            WHERE NOT tgisinternal AND tgenabled <> 'D'
        UNION ALL SELECT CAST('pg_rewrite'::regclass AS oid), o.oid
            FROM pg_rewrite o JOIN tables ON ev_class = id
        UNION ALL SELECT CAST('pg_attrdef'::regclass AS oid), o.oid
            FROM pg_attrdef o JOIN tables ON adrelid = id";

/// A table whose owner could have code run with the rights of another role.
#[derive(QueryableByName)]
pub struct OfOthers {
    /// As SQL.
    #[diesel(sql_type = Text)]
    pub table: String,
    #[diesel(sql_type = Text)]
    pub owner: String,
    /// The role that reads or writes it.
    #[diesel(sql_type = Text)]
    pub used_by: String,
}

/// The first of `{table}`, its partitions and its children whose owner does not have the rights of
/// the owner of `{of}`.
const OF_OTHERS: &str = "
    WITH RECURSIVE tables AS (
        SELECT CAST(to_regclass({table}) AS oid) AS id
        UNION SELECT inhrelid FROM tables JOIN pg_inherits ON inhparent = id
    )
    SELECT CAST(CAST(c.oid AS regclass) AS text) AS \"table\",
        pg_get_userbyid(c.relowner)::text AS owner, pg_get_userbyid(o.relowner)::text AS used_by
    FROM tables
    JOIN pg_class c ON c.oid = tables.id
    JOIN pg_class o ON o.oid = CAST(to_regclass({of}) AS oid)
    WHERE NOT pg_has_role(c.relowner, o.relowner, 'USAGE')
    ORDER BY 1 LIMIT 1";

/// Whether a statement that the owner of `of` runs over a table could run code of another role: the
/// owner of a table, of a partition or of a child can attach some at any time. A role that has the
/// rights of the owner of `of`, such as a superuser, requires no such code.
pub fn of_others(table: &Table, of: &Table, conn: &mut AnyConnection) -> Result<Option<OfOthers>> {
    if conn.database() != POSTGRES {
        return Ok(None);
    }
    let values = [
        ("table", &*POSTGRES.table_name(table)),
        ("of", &*POSTGRES.table_name(of)),
    ];
    Ok(sql_with(OF_OTHERS, &values).get_result(conn).optional()?)
}

/// Says which function of another role would run, and what to do.
pub fn found(table: &Table, access: Access, conn: &mut AnyConnection) -> Result<Option<String>> {
    if conn.database() != POSTGRES {
        return Ok(None);
    }
    let attached = match access {
        Access::Reads => ATTACHED.to_owned(),
        Access::Writes => format!("{ATTACHED}{ATTACHED_FOR_WRITES}"),
    };
    let functions = sql_with(
        &FUNCTIONS.replace("{attached}", &attached),
        &[("table", &POSTGRES.table_name(table))],
    );
    let Some(function) = functions.get_result::<Function>(conn).optional()? else {
        return Ok(None);
    };
    let Function {
        name,
        owner,
        table_owner,
        current_role,
    } = function;
    let remedy = if table_owner == current_role {
        "drop what uses it first".to_owned()
    } else {
        format!("run this as {table_owner}, who owns the table")
    };
    Ok(Some(format!(
        "{table} uses the function {name} of {owner}, in a trigger, an index or a constraint. It \
         would run with the rights of {current_role}: {remedy}"
    )))
}

/// Fails if a function of another role would run.
pub fn refuse(table: &Table, access: Access, conn: &mut AnyConnection) -> Result<()> {
    match found(table, access, conn)? {
        Some(why) => bail!("{why}"),
        None => Ok(()),
    }
}
