//! Finds the session that holds the lock of a merge. Anyone who can connect can take that lock.

use diesel::QueryResult;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::__private::{Name, TableName};

use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::sql::sql_with;

/// Looks up the lock that the library's `merge_lock` takes, by its two numbers. A role may not be
/// allowed to see the state of another role's session.
const POSTGRES_QUERY: &str = "
    SELECT concat_ws(', ',
        format('session %s of the role %I (to end it: SELECT pg_terminate_backend(%s))',
            a.pid, a.usename, a.pid),
        a.state,
        'application ' || quote_literal(nullif(a.application_name, '')))
    FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    -- Locks of two numbers have the objsubid 2.
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        -- The number of the lock can be negative. The catalogue has it without a sign.
        AND CAST(l.classid AS bigint)
            = CAST(hashtext('diesel_counters/merge') AS bigint) & 4294967295
        AND l.objid = CAST(to_regclass({table}) AS oid)";

/// Looks up the same lock on MySQL and MariaDB, where it has a name.
const MYSQL_QUERY: &str = "
    SELECT CAST(CONCAT('session ', h.id,
        COALESCE(CONCAT(' of the account ', p.user, '@', p.host),
            ' of an account that this one cannot see (that requires PROCESS)'),
        ' (to end it: KILL ', h.id, ')') AS CHAR)
    FROM (
        SELECT IS_USED_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters',
            COALESCE(NULLIF({schema}, ''), DATABASE()), {table}), 224)) AS id
    ) h
    LEFT JOIN information_schema.processlist p ON p.id = h.id
    WHERE h.id IS NOT NULL";

/// Returns the session that holds the lock of a merge of this table, or `None` if it has ended or
/// isn't visible.
pub fn merge_lock_holder(table: TableName<'_>, conn: &mut AnyConnection) -> Option<String> {
    let Name(name) = table.name;
    let schema = table.schema.map(|Name(schema)| schema);
    let query = match conn.database() {
        POSTGRES => sql_with(
            POSTGRES_QUERY,
            &[("table", &POSTGRES.quoted_in(schema, name))],
        ),
        MYSQL => sql_with(
            MYSQL_QUERY,
            &[("schema", schema.unwrap_or_default()), ("table", name)],
        ),
        // SQLite has no such locks.
        _ => return None,
    };
    let found: QueryResult<String> = query.typed::<Text>().get_result(conn);
    found.ok()
}
