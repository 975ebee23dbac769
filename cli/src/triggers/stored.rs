//! Definitions in the database. On PostgreSQL, each is the comment on its function. Elsewhere it is the text of a
//! view, which is read and never run: a view runs what its owner wants. They stay when the table of
//! the rows is dropped and created again, and its triggers are lost.

use anyhow::{Result, bail};
use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};
use serde_json::json;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::counting::Counting;
use super::definition::Definition;
use super::functions;
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};
use crate::sql::sql;
use crate::template::render;

/// The only column of such a view.
const COLUMN: &str = "diesel_counters_trigger";

#[derive(Debug, Clone)]
pub struct Stored {
    pub definition: Definition,
    /// The schema of its functions on PostgreSQL, or nothing if they are found without it.
    pub schema: String,
}

/// A row of the query of the definitions. The first columns are those to sort by.
#[derive(QueryableByName, PartialEq, Eq, PartialOrd, Ord)]
struct StoredRow {
    #[diesel(sql_type = Text)]
    schema: String,
    /// The name of the function or the view.
    #[diesel(sql_type = Text)]
    stored_in: String,
    #[diesel(sql_type = Text)]
    text: String,
}

/// The statement that stores a definition, where no function has it.
pub fn create(counting: &Counting) -> Result<String> {
    let database = counting.database;
    let values = json!({
        "name": database.quoted(&counting.definition.name),
        "definition": database.literal(&in_ucs2(&counting.definition.json())),
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
pub fn drop(schema: Option<&str>, name: &str, functions: &[String], database: Database) -> String {
    match database {
        POSTGRES => functions::drop_functions(schema, functions),
        database => drop_view(database, name),
    }
}

fn drop_view(database: Database, name: &str) -> String {
    let name = database.quoted(name);
    format!("DROP VIEW IF EXISTS {name};\n")
}

/// The definitions of all triggers, by name. On PostgreSQL these are of the schemas of the user's
/// path, and those that name a schema: every tenant has its own.
pub fn definitions(conn: &mut AnyConnection) -> Result<Vec<Stored>> {
    let database = conn.database();
    let mut rows: Vec<StoredRow> = sql(super::sql::of(database).definitions).load(conn)?;
    // The order of the database depends on its collation.
    rows.sort();
    let mut all = Vec::new();
    for row in rows {
        all.extend(read(row, database)?);
    }
    Ok(all)
}

/// Reads a definition. Returns `None` for one of another schema.
fn read(row: StoredRow, database: Database) -> Result<Option<Stored>> {
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
    let Some(mut definition) = json.and_then(|json| serde_json::from_str::<Definition>(&json).ok())
    else {
        bail!(
            "cannot read the definition of the triggers {name}: generate them again with this \
             version of diesel-counters"
        );
    };
    if !row.schema.is_empty() && !definition.rows.contains('.') {
        return Ok(None);
    }
    // The function or the view has the name of the definition, whatever its text says.
    let name = match database {
        POSTGRES => functions::definition_of(&name).unwrap_or(&name),
        _ => &name,
    };
    name.clone_into(&mut definition.name);
    Ok(Some(Stored {
        definition,
        schema: row.schema,
    }))
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
