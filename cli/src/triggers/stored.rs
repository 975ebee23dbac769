//! Definitions in the database. On PostgreSQL, each is the comment on its function, and a comment
//! in its text, for a database that was restored without comments. Elsewhere it is the text of a
//! view, which is read and never run: a view runs what its owner wants. They stay when the table of
//! the rows is dropped and created again, and its triggers are lost.

use anyhow::{Result, bail};
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};
use serde_json::json;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::counting::Counting;
use super::definition::{Definition, Functions};
use super::functions;
use super::modes::Modes;
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::sql::sql;
use crate::template::render;

/// The only column of such a view.
const COLUMN: &str = "diesel_counters_trigger";

#[derive(Debug, Clone)]
pub struct Stored {
    pub definition: Definition,
    /// As it is stored. Its tables may have no schema.
    pub written: Definition,
    /// The schema of tables without one, or nothing if it is that of the connection.
    pub schema: String,
    /// The function or the view that has it.
    pub function: String,
    /// The role or account that created it.
    pub owner: String,
    /// Whether that is the one of this connection. SQL of others is not run.
    pub is_own: bool,
}

/// A row of the query of the definitions. The first columns are those to sort by.
#[derive(QueryableByName, PartialEq, Eq, PartialOrd, Ord)]
struct StoredRow {
    /// The schema of tables without one, or nothing if it is that of the connection.
    #[diesel(sql_type = Text)]
    tables_in: String,
    /// The name of the function or the view.
    #[diesel(sql_type = Text)]
    stored_in: String,
    #[diesel(sql_type = Text)]
    text: String,
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = Bool)]
    is_own: bool,
}

/// A function of PostgreSQL that has lost its definition.
#[derive(Debug, QueryableByName)]
pub struct Lost {
    #[diesel(sql_type = Text)]
    pub schema: String,
    #[diesel(sql_type = Text)]
    pub name: String,
    /// Whether it is the role's of this connection.
    #[diesel(sql_type = Bool)]
    pub is_own: bool,
}

impl Stored {
    /// Whether the file that it was generated from names the schema of its rows.
    pub fn names_schema(&self) -> bool {
        self.written.rows.contains('.')
    }

    /// Whether a file for these schemas is about it. The first schema of the user's path is an
    /// empty text.
    pub fn is_of(&self, schemas: &[String]) -> bool {
        self.schema.is_empty() || schemas.contains(&self.schema) || self.names_schema()
    }
}

impl Lost {
    /// The name of the definition that it had.
    pub fn definition(&self) -> &str {
        self.name.strip_suffix("_insert").unwrap_or(&self.name)
    }
}

/// The statement that stores a definition, where no function has it.
pub fn create(counting: &Counting) -> Result<String> {
    let database = counting.database;
    let values = json!({
        "name": database.quoted(&counting.definition.name),
        "definition": database.literal_of_lines(&in_ucs2(&counting.definition.json())),
        // A migration that failed half way can have left it.
        "or_replace": database == MYSQL,
    });
    render("view.sql", values)
}

/// JSON without characters of four bytes, which the catalogue does not have.
fn in_ucs2(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        match c {
            '\u{10000}'.. => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units);
                text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
            c => text.push(c),
        }
    }
    text
}

/// The statements that store a definition in place of the one with its name.
pub fn replace(counting: &Counting) -> Result<String> {
    match counting.database {
        POSTGRES => Ok(functions::comment(counting)),
        SQLITE => Ok(drop_view(counting.database, &counting.definition.name) + &create(counting)?),
        _ => create(counting),
    }
}

/// The statement that drops a definition: on PostgreSQL these functions, which are in this schema.
pub fn drop(schema: &str, name: &str, functions: &[String], database: Database) -> String {
    match database {
        POSTGRES => functions::drop_functions(schema, functions),
        database => drop_view(database, name),
    }
}

fn drop_view(database: Database, name: &str) -> String {
    let name = database.quoted(name);
    format!("DROP VIEW IF EXISTS {name};\n")
}

/// The schema of the function of a definition on PostgreSQL. Without one, it is the first of the
/// user's path, in which its migration has created it.
pub fn schema_of(stored: &Stored, conn: &mut AnyConnection) -> Result<String> {
    if conn.database() != POSTGRES || !stored.schema.is_empty() {
        return Ok(stored.schema.clone());
    }
    let first = sql("SELECT (current_setting('diesel_counters.path')::text[])[1]").typed::<Text>();
    Ok(first.get_result(conn)?)
}

/// The schemas of the user's path on PostgreSQL.
pub fn search_path(conn: &mut AnyConnection) -> Result<Vec<String>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let schemas = sql("SELECT unnest(current_setting('diesel_counters.path')::text[])");
    Ok(schemas.typed::<Text>().load(conn)?)
}

/// The definitions of all triggers, by name.
pub fn definitions(conn: &mut AnyConnection) -> Result<Vec<Stored>> {
    let database = conn.database();
    let mut rows: Vec<StoredRow> = sql(super::sql::of(database).definitions).load(conn)?;
    // The order of the database depends on its collation.
    rows.sort();
    let modes = match database {
        MYSQL => Some(Modes::new(conn)?),
        _ => None,
    };
    let mut all: Vec<Stored> = Vec::new();
    for row in rows {
        let Some(mut stored) = read(row, modes.as_ref(), database)? else {
            continue;
        };
        let is_same = |other: &Stored| {
            other.definition.name == stored.definition.name
                && other.schema == stored.schema
                && other.owner == stored.owner
        };
        // An earlier version wrote one of its triggers, and this one another. The function of this
        // version comes later, because its name is longer, and its text counts.
        if let Some(place) = all.iter().position(is_same) {
            all.remove(place);
            stored.definition.functions = Functions::Both;
        }
        all.push(stored);
    }
    Ok(all)
}

/// Reads a definition. Returns `None` for one of others that cannot be read: they can create what
/// only looks like one.
fn read(row: StoredRow, modes: Option<&Modes>, database: Database) -> Result<Option<Stored>> {
    let name = row.stored_in;
    if row.text.is_empty() {
        let view = database.quoted(&name);
        bail!(
            "cannot read the view {name}, which has the definition of triggers: GRANT SHOW VIEW ON \
             {view} TO this account"
        );
    }
    let json = match database {
        POSTGRES => row.text.strip_prefix(functions::COMMENT).map(str::to_owned),
        _ => literal(&row.text, database),
    };
    let has_no_escapes = modes.is_some_and(|modes| modes.has_no_escapes(&name));
    let Some(mut definition) = json.and_then(|json| parsed(&json, has_no_escapes)) else {
        if row.is_own {
            bail!(
                "cannot read the definition of the triggers {name}: generate them again with this \
                 version of diesel-counters"
            );
        }
        return Ok(None);
    };
    // A view, and the one function of an earlier version, have the name of the definition, whatever
    // its text says.
    if database == POSTGRES && functions::has_definition(&name, &definition.name) {
        definition.functions = Functions::ByEvent;
    } else {
        definition.functions = Functions::One;
        definition.name.clone_from(&name);
    }
    let written = definition.clone();
    definition.look_in(&row.tables_in);
    Ok(Some(Stored {
        definition,
        written,
        schema: row.tables_in,
        function: name,
        owner: row.owner,
        is_own: row.is_own,
    }))
}

/// The functions of PostgreSQL that count rows, by their text, and have no definition. An earlier
/// version stored it in the comment only.
pub fn lost(conn: &mut AnyConnection) -> Result<Vec<Lost>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let functions = sql("
        SELECT n.nspname::text AS schema, p.proname::text AS name,
            pg_get_userbyid(p.proowner) = current_user AS is_own
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        LEFT JOIN pg_description d
            ON d.objoid = p.oid AND d.classoid = CAST('pg_proc'::regclass AS oid)
                AND d.objsubid = 0
        WHERE p.prorettype = CAST('trigger'::regtype AS oid)
            AND d.description LIKE 'diesel_counters: {%' IS NOT TRUE
            AND p.prosrc NOT LIKE chr(10) || '-- diesel_counters: {%'
            -- The function of another event names the one that has the definition.
            AND NOT EXISTS (
                SELECT FROM pg_proc other
                WHERE other.pronamespace = p.pronamespace AND other.proowner = p.proowner
                    AND p.prosrc LIKE chr(10) || '-- diesel_counters: see %'
                    AND split_part(p.prosrc, chr(10), 2)
                        = '-- diesel_counters: see ' || other.proname || '()')
            -- The text of an error that each of these functions has.
            AND position('this function counts the rows of %.%, not those of %.%' IN p.prosrc) > 0
        ORDER BY 1, 2");
    Ok(functions.load(conn)?)
}

/// A definition. A session without escapes has stored each backslash twice: [`Database::literal`]
/// writes them for the others.
fn parsed(json: &str, has_no_escapes: bool) -> Option<Definition> {
    let once = json.replace(r"\\", r"\");
    let texts = if has_no_escapes {
        [&*once, json]
    } else {
        [json, &once]
    };
    let mut definitions = texts.iter().map(|text| serde_json::from_str(text).ok());
    definitions.find_map(|definition| definition)
}

/// The text in the query of a view that selects it, and nothing else.
fn literal(view: &str, database: Database) -> Option<String> {
    const SELECTS: [&str; 4] = ["select", "_utf8mb4", "_utf8mb3", "_latin1"];
    let mut tokens = Tokenizer::new(database.grammar(), view).tokenize().ok()?;
    tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
    use Token::{SingleQuotedString, Word};
    let [
        before @ ..,
        Word(select),
        SingleQuotedString(text),
        Word(name),
        Word(column),
    ] = &*tokens
    else {
        return None;
    };
    let is_text = |token: &Token| matches!(token, SingleQuotedString(_));
    let is_only = !before.iter().any(is_text) && column.value.eq_ignore_ascii_case(COLUMN);
    let selects = SELECTS.contains(&&*select.value.to_ascii_lowercase());
    (is_only && selects && name.value.eq_ignore_ascii_case("as")).then(|| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_that_runs_something_is_no_definition() {
        let view = "CREATE VIEW \"v\" AS SELECT 'it''s \\' AS diesel_counters_trigger";
        assert_eq!(literal(view, SQLITE).as_deref(), Some("it's \\"));
        let view = "select _utf8mb4'it\\'s \\\\ \\\"x\\\"' AS `diesel_counters_trigger`";
        assert_eq!(literal(view, MYSQL).as_deref(), Some("it's \\ \"x\""));
        for wrong in [
            "select evil('a') AS `diesel_counters_trigger`",
            "select 'a' AS `diesel_counters_trigger` from evil",
            "select concat('a',evil()) AS `diesel_counters_trigger`",
            "select 'a",
        ] {
            assert_eq!(literal(wrong, MYSQL), None, "{wrong}");
        }
    }
}
