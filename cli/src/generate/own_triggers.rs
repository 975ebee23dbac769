//! The application's own triggers of the tables that are counted in. They run inside the counting,
//! which searches the schema of the server only.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::sql::sql_with;
use crate::triggers::Plan;

/// The triggers of `{table}` that run when it is counted in, and whose function searches the
/// schemas of the session.
const OWN_TRIGGERS: &str = "
    SELECT t.tgname::text AS name,
        quote_ident(n.nspname) || '.' || quote_ident(p.proname) AS function,
        (SELECT string_agg(quote_ident(path.schema), ', ' ORDER BY path.place)
         FROM (SELECT * FROM unnest(current_setting('diesel_counters.path')::text[])
                   WITH ORDINALITY AS path (schema, place)
               UNION SELECT n.nspname::text, 1000000
               WHERE n.nspname <> ALL (current_setting('diesel_counters.path')::text[])
              ) AS path) AS path,
        CASE WHEN l.lanname = 'plpgsql' THEN p.prosrc ELSE '' END AS body
    FROM pg_trigger t
    JOIN pg_proc p ON p.oid = t.tgfoid
    JOIN pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_language l ON l.oid = p.prolang
    -- 4 is INSERT, and 16 UPDATE.
    WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 20 <> 0
        AND l.lanname NOT IN ('c', 'internal')
        AND NOT EXISTS (
            SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%')
        AND t.tgrelid = CAST(to_regclass({table}) AS oid)
    ORDER BY 1";

#[derive(QueryableByName)]
struct OwnTrigger {
    #[diesel(sql_type = Text)]
    name: String,
    /// Its function, as SQL.
    #[diesel(sql_type = Text)]
    function: String,
    /// The schemas in which a session finds what the function names, as SQL: those of this session,
    /// and then the function's own.
    #[diesel(sql_type = Text)]
    path: String,
    /// The body, if it is in PL/pgSQL. Others are not read.
    #[diesel(sql_type = Text)]
    body: String,
}

/// Between names. It is in none of them.
const BETWEEN: &str = "\u{1}";

/// Whether there is anything that a body names outside of the server's own schema. `{names}` and
/// `{columns}` are lists with [`BETWEEN`] between the names.
const NAMES_ANYTHING: &str = "
    SELECT EXISTS (
        SELECT FROM (
            SELECT relname AS name, relnamespace AS namespace FROM pg_class
            UNION ALL SELECT proname, pronamespace FROM pg_proc
            UNION ALL SELECT typname, typnamespace FROM pg_type
            UNION ALL SELECT collname, collnamespace FROM pg_collation
            UNION ALL SELECT cfgname, cfgnamespace FROM pg_ts_config
        ) AS named JOIN pg_namespace n ON n.oid = named.namespace
        WHERE n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
            AND named.name::text = ANY (string_to_array({names}, chr(1)))
    ) OR EXISTS (
        -- A column whose type, or whose domain's type, has its operators elsewhere. Types of rows
        -- and arrays have those of the server.
        SELECT FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_type base ON base.oid = t.typbasetype
        JOIN pg_namespace n ON n.oid = coalesce(base.typnamespace, t.typnamespace)
        WHERE n.nspname <> 'pg_catalog' AND coalesce(base.typtype, t.typtype) = 'b'
            AND t.typelem = 0
            AND a.attname::text = ANY (string_to_array({columns}, chr(1)))
    ) OR EXISTS (
        -- An operator of others for types of the server.
        SELECT FROM pg_operator o
        JOIN pg_namespace n ON n.oid = o.oprnamespace
        LEFT JOIN pg_type l ON l.oid = o.oprleft
        JOIN pg_type r ON r.oid = o.oprright
        WHERE n.nspname <> 'pg_catalog'
            AND r.typnamespace = CAST('pg_catalog'::regnamespace AS oid)
            AND coalesce(l.typnamespace, r.typnamespace) = r.typnamespace
            AND strpos({body}, o.oprname::text) > 0)";

/// What to run so that their functions find what they name in the session. A function that names
/// only what is the server's own needs nothing.
pub fn to_alter(plan: &Plan, conn: &mut AnyConnection) -> Result<Vec<String>> {
    let mut all = Vec::new();
    if plan.counting.database != POSTGRES {
        return Ok(all);
    }
    for target in &plan.counting.targets {
        let table = POSTGRES.table_name(&target.table);
        let own = sql_with(OWN_TRIGGERS, &[("table", &table)]);
        for trigger in own.load::<OwnTrigger>(conn)? {
            if searches(&trigger.body, conn)? {
                let OwnTrigger {
                    name,
                    function,
                    path,
                    ..
                } = trigger;
                let alter = format!("ALTER FUNCTION {function}() SET search_path = {path};");
                all.push(format!("{name} of {}: {alter}", target.table));
            }
        }
    }
    Ok(all)
}

/// Whether a function of PL/pgSQL names anything that there is outside of the server's own schema:
/// a table, a function, a type, an operator, or a column whose type has operators there. What it
/// executes can name anything, and what is in another language, of which the body is not read, too.
fn searches(body: &str, conn: &mut AnyConnection) -> Result<bool> {
    let Some(names) = names(body) else {
        return Ok(true);
    };
    let names_anything = sql_with(
        NAMES_ANYTHING,
        &[
            ("names", &names.looked_up.join(BETWEEN)),
            ("columns", &names.all.join(BETWEEN)),
            ("body", body),
        ],
    );
    Ok(names_anything.typed::<Bool>().get_result(conn)?)
}

/// The names in the body of a function.
struct Names {
    /// Those that can be looked up. A name after a point is not.
    looked_up: Vec<String>,
    /// Those that can be of columns. A name in a literal is not one.
    all: Vec<String>,
}

/// The names in the body of a function. Returns `None` if not all of them are known, because the
/// body executes a text or is not read.
fn names(body: &str) -> Option<Names> {
    let tokens = Tokenizer::new(POSTGRES.grammar(), body).tokenize().ok()?;
    let mut looked_up = Vec::new();
    let mut all = Vec::new();
    let mut is_after_point = false;
    for token in &tokens {
        match token {
            Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::EXECUTE => {
                return None;
            }
            Token::Word(word) => {
                let name = match word.quote_style {
                    Some(_) => word.value.clone(),
                    None => word.value.to_lowercase(),
                };
                if !is_after_point {
                    looked_up.push(name.clone());
                }
                all.push(name);
            }
            // As in nextval('numbers').
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => {
                let is_between = |c: char| !c.is_alphanumeric() && !"_$.".contains(c);
                let parts = text.split(is_between).filter(|part| !part.contains('.'));
                looked_up.extend(parts.map(str::to_lowercase));
            }
            Token::DollarQuotedString(_) | Token::UnicodeStringLiteral(_) => return None,
            _ => {}
        }
        is_after_point = *token == Token::Period;
    }
    (!all.is_empty()).then_some(Names { looked_up, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_unless_they_follow_a_point() {
        let body = "BEGIN NEW.Title := pg_catalog.lower(\"F\"('the_seq', 'a.b')); END";
        let names = names(body).unwrap();
        assert_eq!(
            names.looked_up,
            ["begin", "new", "pg_catalog", "F", "the_seq", "end"]
        );
        assert_eq!(
            names.all,
            ["begin", "new", "title", "pg_catalog", "lower", "F", "end"]
        );
    }

    #[test]
    fn what_a_body_executes_is_not_known() {
        for body in ["", "EXECUTE 'x'", "DO $$ x $$", "a U&'x'"] {
            assert!(names(body).is_none(), "{body}");
        }
    }
}
