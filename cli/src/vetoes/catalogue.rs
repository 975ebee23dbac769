//! The triggers of a table, as each database lists them.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};

use super::other::{OtherTrigger, words};
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::sql::sql_with;
use crate::triggers::{Definition, Stored, definitions};

const OF_MYSQL: &str = "
    SELECT CAST(trigger_name AS CHAR) AS name,
        CAST(CONCAT_WS(' ROW ', action_timing, event_manipulation) AS CHAR) AS event,
        '[]' AS columns, COALESCE(CAST(action_statement AS CHAR), '') AS body,
        '' AS function_name, '' AS function_owner, FALSE AS is_trusted
    FROM information_schema.triggers
    WHERE event_object_schema = {schema} AND event_object_table = {table}
    ORDER BY 1";

/// Its event is in its text.
const OF_SQLITE: &str = "
    SELECT name, '' AS event, '[]' AS columns, sql AS body,
        '' AS function_name, '' AS function_owner, FALSE AS is_trusted
    FROM sqlite_schema
    WHERE type = 'trigger' AND tbl_name = {table} COLLATE NOCASE ORDER BY 1";

/// The bits of `tgtype` are 1 for each row, 2 before it, 4 INSERT, 8 DELETE and 16 UPDATE. A
/// trigger of a partitioned table is listed again for each partition.
const OF_POSTGRES: &str = "
    SELECT DISTINCT t.tgname::text AS name,
        concat_ws(' ',
            CASE WHEN t.tgtype & 2 <> 0 THEN 'BEFORE' ELSE 'AFTER' END,
            CASE WHEN t.tgtype & 1 <> 0 THEN 'ROW' ELSE 'STATEMENT' END,
            CASE WHEN t.tgtype & 4 <> 0 THEN 'INSERT' END,
            CASE WHEN t.tgtype & 8 <> 0 THEN 'DELETE' END,
            CASE WHEN t.tgtype & 16 <> 0 THEN 'UPDATE' END) AS event,
        coalesce((
            SELECT json_agg(a.attname) FROM pg_attribute a
            WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (CAST(t.tgattr AS int2[])))::text,
            '[]') AS columns,
        p.prosrc AS body, p.proname::text AS function_name,
        pg_get_userbyid(p.proowner)::text AS function_owner,
        pg_get_userbyid(p.proowner) = current_user
            OR p.proowner = (SELECT relowner FROM pg_class
                             WHERE oid = CAST(to_regclass({table}) AS oid)) AS is_trusted
    FROM pg_trigger t
    JOIN pg_proc p ON p.oid = t.tgfoid
    JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
        AND t.tgrelid IN (
            SELECT CAST(to_regclass({table}) AS oid)
            UNION SELECT CAST(relid AS oid) FROM pg_partition_tree(to_regclass({table})))
    ORDER BY 1, 2";

/// A trigger, as the catalogue has it.
#[derive(QueryableByName)]
struct TriggerRow {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    event: String,
    /// The columns of `UPDATE OF` on PostgreSQL, as JSON.
    #[diesel(sql_type = Text)]
    columns: String,
    /// The statements; on SQLite the whole `CREATE TRIGGER`.
    #[diesel(sql_type = Text)]
    body: String,
    /// Its function on PostgreSQL, without the schema, and the role that owns the function.
    #[diesel(sql_type = Text)]
    function_name: String,
    #[diesel(sql_type = Text)]
    function_owner: String,
    /// Whether that role is the one of this connection, or owns the table.
    #[diesel(sql_type = Bool)]
    is_trusted: bool,
}

/// What the names of generated triggers have behind the name of their definition.
const ENDS: [&str; 6] = [
    "_insert",
    "_update",
    "_delete",
    "_truncate",
    "_replace_by_insert",
    "_replace_by_update",
];

/// The triggers of a table, and of its partitions, that run before or after a row is written.
pub fn other_triggers(table: &Table, conn: &mut AnyConnection) -> Result<Vec<OtherTrigger>> {
    let database = conn.database();
    let query = match database {
        POSTGRES => sql_with(OF_POSTGRES, &[("table", &POSTGRES.table_name(table))]),
        MYSQL => {
            let values = [("schema", &*table.in_schema), ("table", &table.name)];
            sql_with(OF_MYSQL, &values)
        }
        _ => sql_with(OF_SQLITE, &[("table", &table.name)]),
    };
    let mut found: Vec<TriggerRow> = query.load(conn)?;
    // Those of a definition that counts in its own table are triggers of that table, too. On MySQL
    // and MariaDB, there are none.
    if database != MYSQL {
        let definitions = definitions(conn)?;
        found.retain(|trigger| {
            let mut definitions = definitions.iter();
            !definitions.any(|stored| trigger.is_of(stored, table, database))
        });
    }
    let others = found.into_iter().map(|trigger| {
        let body = words(&trigger.body, database);
        let (event, columns) = match database {
            SQLITE => event_of_sqlite(&body),
            _ => {
                let columns = serde_json::from_str(&trigger.columns).unwrap_or_default();
                (trigger.event, columns)
            }
        };
        OtherTrigger {
            name: trigger.name,
            event,
            columns,
            body,
        }
    });
    Ok(others.collect())
}

impl TriggerRow {
    /// Whether it is a trigger of this definition, which counts the rows of its own table.
    fn is_of(&self, stored: &Stored, table: &Table, database: Database) -> bool {
        let Definition { name, rows, .. } = &stored.definition;
        let end = self.name.strip_prefix(&**name);
        if !end.is_some_and(|end| ENDS.contains(&end)) {
            return false;
        }
        // On SQLite, no two triggers have the same name, and there are no roles.
        if database == SQLITE {
            return true;
        }
        // A role that may create triggers on the table can give one this name, and can comment on
        // a function of its own. A generated trigger calls a function of the definition, and none
        // runs before a row.
        // One of an earlier version calls a function with the name of the definition.
        let functions = [&self.name, &stored.function, name];
        let calls_definition =
            functions.contains(&&self.function_name) && self.function_owner == stored.owner;
        let is_before_row = self.event.starts_with("BEFORE ROW");
        self.is_trusted && calls_definition && !is_before_row && table.is_named(rows)
    }
}

/// The event of `CREATE TRIGGER name AFTER UPDATE OF likes ON articles …`, and its columns.
fn event_of_sqlite(words: &[String]) -> (String, Vec<String>) {
    // Behind `create trigger name`. SQLite stores the statement without IF NOT EXISTS, and the name
    // without a schema.
    let rest = words.get(3..).unwrap_or_default();
    let on = rest.iter().position(|word| word == "on");
    let head = &rest[..on.unwrap_or(rest.len())];
    let has = |word: &str| head.iter().any(|other| other == word);
    let when = if has("after") { "AFTER" } else { "BEFORE" };
    // There is one.
    let events = ["insert", "update", "delete"].into_iter();
    let event = events.filter(|event| has(event)).collect::<String>();
    let of = head.iter().position(|word| word == "of");
    let listed = of.map_or(&[][..], |of| &head[of + 1..]);
    let columns = listed.iter().filter(|word| *word != ",").cloned();
    (
        format!("{when} ROW {}", event.to_uppercase()),
        columns.collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_of_sqlite_stands_before_its_table() {
        let event = |sql: &str| event_of_sqlite(&words(sql, SQLITE));
        let of = |event: &str, columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_owned());
            (event.to_owned(), columns.collect::<Vec<_>>())
        };
        assert_eq!(
            event("CREATE TRIGGER a AFTER UPDATE OF likes, \"x\" ON b BEGIN DELETE FROM c; END"),
            of("AFTER ROW UPDATE", &["likes", "x"])
        );
        assert_eq!(
            event("CREATE TRIGGER a INSERT ON b BEGIN SELECT 1; END"),
            of("BEFORE ROW INSERT", &[])
        );
        assert_eq!(event("CREATE TRIGGER"), of("BEFORE ROW ", &[]));
    }
}
