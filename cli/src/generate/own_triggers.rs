//! The application's own triggers of the tables that are counted in. They run inside the counting,
//! which searches the schema of the server only.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{Bool, Text};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::sql::sql;
use crate::triggers::Plan;

/// Between names. It is in none of them.
const BETWEEN: &str = "\u{1}";

/// What to run so that their functions find what they name in the session. A function that names
/// only what is the server's own needs nothing.
pub fn to_alter(plan: &Plan, conn: &mut AnyConnection) -> Result<Vec<String>> {
    let mut all = Vec::new();
    if plan.counting.database != POSTGRES {
        return Ok(all);
    }
    for target in &plan.counting.targets {
        let found = sql(
            "SELECT t.tgname::text, quote_ident(n.nspname) || '.' || quote_ident(p.proname), quote_ident(n.nspname),
                 CASE WHEN l.lanname = 'plpgsql' THEN p.prosrc ELSE '' END
             FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
             JOIN pg_language l ON l.oid = p.prolang
             -- 4 is INSERT, and 16 UPDATE.
             WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 20 <> 0
                 AND l.lanname NOT IN ('c', 'internal') AND NOT EXISTS (
                     SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%')
                 AND t.tgrelid = CAST(to_regclass(",
        );
        let table = POSTGRES.table_name(&target.table);
        let found = found.bind(&table).sql(") AS oid) ORDER BY 1");
        let found = found.typed::<(Text, Text, Text, Text)>();
        for (trigger, function, schema, body) in
            found.load::<(String, String, String, String)>(conn)?
        {
            if searches(&body, conn)? {
                let alter = format!("ALTER FUNCTION {function}() SET search_path = {schema};");
                all.push(format!("{trigger} of {}: {alter}", target.table));
            }
        }
    }
    Ok(all)
}

/// Whether a function of PL/pgSQL names anything that there is outside of the server's own schema:
/// a table, a function, a type, an operator, or a column whose type has operators there. What it
/// executes can name anything, and what is in another language, of which the body is not read, too.
fn searches(body: &str, conn: &mut AnyConnection) -> Result<bool> {
    let Some([names, columns]) = names(body) else {
        return Ok(true);
    };
    let found = sql("SELECT EXISTS (
            SELECT FROM (
                SELECT relname AS name, relnamespace AS namespace FROM pg_class
                UNION ALL SELECT proname, pronamespace FROM pg_proc
                UNION ALL SELECT typname, typnamespace FROM pg_type
                UNION ALL SELECT collname, collnamespace FROM pg_collation
                UNION ALL SELECT cfgname, cfgnamespace FROM pg_ts_config
            ) AS named JOIN pg_namespace n ON n.oid = named.namespace
            WHERE n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
                AND named.name::text = ANY (string_to_array(");
    let found = found.bind(&names.join(BETWEEN)).sql(
        ", chr(1)))
        ) OR EXISTS (
            SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
            LEFT JOIN pg_type base ON base.oid = t.typbasetype
            JOIN pg_namespace n ON n.oid = coalesce(base.typnamespace, t.typnamespace)
            WHERE n.nspname <> 'pg_catalog' AND coalesce(base.typtype, t.typtype) = 'b' AND t.typelem = 0
                AND a.attname::text = ANY (string_to_array(",
    );
    let found = found.bind(&columns.join(BETWEEN)).sql(
        ", chr(1)))
        ) OR EXISTS (
            SELECT FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
            LEFT JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
            WHERE n.nspname <> 'pg_catalog' AND r.typnamespace = CAST('pg_catalog'::regnamespace AS oid)
                AND coalesce(l.typnamespace, r.typnamespace) = r.typnamespace
                AND strpos(",
    );
    let found = found
        .bind(body)
        .sql(", o.oprname::text) > 0)")
        .typed::<Bool>();
    Ok(found.get_result(conn)?)
}

/// The names in the body of a function that can be looked up, and those that can be of columns. A
/// name after a point is not looked up. `None` if it can have others.
fn names(body: &str) -> Option<[Vec<String>; 2]> {
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
    (!all.is_empty()).then_some([looked_up, all])
}
