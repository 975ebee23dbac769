//! `REPLACE INTO` deletes the row that it replaces, and a cascade deletes the counts with it.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::Shape;
use crate::catalogue::{Parent, parent_table};
use crate::connection::AnyConnection;
use crate::output::thousands;
use crate::sql::sql;

pub fn fault(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let parent = shape.entity.first().and_then(|key| key.refers_to.as_ref());
    let Some(parent) = parent.filter(|parent| parent.cascades) else {
        return Ok(None);
    };
    let (found, upsert, remedy) = match shape.dialect {
        // It has no REPLACE.
        Dialect::PostgreSql => return Ok(None),
        Dialect::Sqlite => (
            on_sqlite(parent, conn)?,
            "ON CONFLICT DO UPDATE",
            " Take REPLACE out of what is named here.",
        ),
        Dialect::MySql => (
            on_mysql(parent, conn)?,
            "ON DUPLICATE KEY UPDATE",
            " The server remembers the statement until it restarts, or until \
             performance_schema.events_statements_summary_by_digest is truncated.",
        ),
    };
    let table = &parent.table;
    let instead = format!(
        "Write {table} with {upsert} instead: on_conflict(…).do_update() in Diesel, in place of \
         replace_into."
    );
    const COST: &str =
        "It replaces a row by deleting it, and ON DELETE CASCADE deletes the counts of that row.";
    Ok(Some(match found.is_empty() {
        true => Fault::note(
            "cascade",
            format!("REPLACE INTO {table} can delete counts."),
            COST,
        )
        .remedy(instead),
        false => Fault::wrong("replaced", found.join(" "), COST).remedy(instead + remedy),
    }))
}

/// Triggers and constraints, which say it in their text.
fn on_sqlite(parent: &Parent, conn: &mut AnyConnection) -> Result<Vec<String>> {
    #[derive(QueryableByName)]
    struct Trigger {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        definition: String,
    }
    let triggers: Vec<Trigger> = sql(
        "SELECT name, sql AS definition FROM sqlite_schema WHERE type = 'trigger' ORDER BY name",
    )
    .load(conn)?;
    let table = &parent.table;
    let mut found: Vec<_> = triggers
        .iter()
        .filter(|trigger| replaces(&trigger.definition, &parent.in_schema, parent))
        .map(|trigger| format!("The trigger {} replaces rows of {table}.", trigger.name))
        .collect();
    let definition = parent_table(conn, parent)?.and_then(|table| table.definition);
    if definition.is_some_and(|definition| replaces_on_conflict(&definition)) {
        found.push(format!(
            "{table} has a UNIQUE or PRIMARY KEY with ON CONFLICT REPLACE."
        ));
    }
    Ok(found)
}

/// The statements that the server remembers.
fn on_mysql(parent: &Parent, conn: &mut AnyConnection) -> Result<Vec<String>> {
    #[derive(QueryableByName)]
    struct Statement {
        #[diesel(sql_type = Text)]
        in_schema: String,
        #[diesel(sql_type = Text)]
        statement: String,
        #[diesel(sql_type = BigInt)]
        runs: i64,
        #[diesel(sql_type = Text)]
        last: String,
    }
    let statements = sql(
        "SELECT COALESCE(CAST(schema_name AS CHAR), '') AS in_schema, \
                CAST(digest_text AS CHAR) AS statement, CAST(count_star AS SIGNED) AS runs, \
                CAST(DATE_FORMAT(last_seen, '%Y-%m-%d %H:%i:%s') AS CHAR) AS last \
         FROM performance_schema.events_statements_summary_by_digest \
         WHERE digest_text LIKE '%REPLACE%'",
    );
    // Not everybody may read them, and then none is known.
    let mut statements: Vec<Statement> = statements.load(conn).unwrap_or_default();
    statements.retain(|one| replaces(&one.statement, &one.in_schema, parent));
    let Some(last) = statements.iter().map(|one| one.last.as_str()).max() else {
        return Ok(Vec::new());
    };
    if keeps_counts(parent, conn)? {
        return Ok(Vec::new());
    }
    let runs = match statements.iter().map(|one| one.runs).sum() {
        1 => "once".to_owned(),
        runs => format!("{} times", thousands(runs)),
    };
    Ok(vec![format!(
        "REPLACE INTO {} was run {runs}, last at {last}.",
        parent.table
    )])
}

/// MySQL's own foreign keys, since 9.6 and by default, take a REPLACE for an update where the
/// key stays the same. InnoDB's delete. Another unique key can replace a row of another key.
fn keeps_counts(parent: &Parent, conn: &mut AnyConnection) -> Result<bool> {
    #[derive(QueryableByName)]
    struct Variable {
        #[diesel(sql_type = Text, column_name = "Value")]
        value: String,
    }
    let native: Vec<Variable> =
        sql("SHOW VARIABLES LIKE 'innodb_native_foreign_keys'").load(conn)?;
    let is_other = |columns: &[String]| columns != [parent.column.as_str()];
    Ok(native.iter().any(|native| native.value == "OFF")
        && parent_table(conn, parent)?.is_some_and(|table| {
            let mut indexes = table.indexes.iter();
            !indexes.any(|index| index.unique && is_other(&index.columns))
        }))
}

/// Whether a statement replaces rows of the table: `REPLACE INTO articles`,
/// `UPDATE OR REPLACE articles`. A table without a schema is in `schema`.
fn replaces(statement: &str, schema: &str, parent: &Parent) -> bool {
    const BETWEEN: [&str; 4] = ["low_priority", "delayed", "into", "table"];
    let words = words(statement);
    let mut after = words
        .iter()
        .enumerate()
        .filter(|(_, word)| *word == "replace");
    after.any(|(i, _)| {
        let mut name = words[i + 1..].iter().map(String::as_str);
        let mut name = name.by_ref().skip_while(|word| BETWEEN.contains(word));
        let (schema, table) = match (name.next(), name.next(), name.next()) {
            (Some(schema), Some("."), Some(table)) => (schema, table),
            (Some(table), ..) => (schema, table),
            (None, ..) => return false,
        };
        schema.eq_ignore_ascii_case(&parent.in_schema) && table.eq_ignore_ascii_case(&parent.table)
    })
}

/// Whether a `CREATE TABLE` has a key that replaces rows. A NOT NULL replaces a value only.
fn replaces_on_conflict(definition: &str) -> bool {
    let words = words(definition);
    let mut places = words.windows(3).enumerate();
    places.any(|(i, place)| {
        let mut before = words[..i].iter().map(String::as_str).rev().peekable();
        before.next_if(|word| ["asc", "desc"].contains(word));
        // The columns.
        if before.next_if_eq(&")").is_some() {
            before.by_ref().find(|word| *word == "(");
        }
        place == ["on", "conflict", "replace"]
            && before
                .next()
                .is_some_and(|word| ["unique", "key"].contains(&word))
    })
}

/// The words and signs of an SQL text, in lower case, without comments. A literal is one sign.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let until = |end: &str, from: usize| {
            rest[from..]
                .find(end)
                .map_or((rest.len(), rest.len()), |at| {
                    (from + at, from + at + end.len())
                })
        };
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        let (word, end) = match first {
            '-' if rest.starts_with("--") => ("", until("\n", 2).1),
            '/' if rest.starts_with("/*") => ("", until("*/", 2).1),
            '\'' => ("'", until("'", 1).1),
            '"' | '`' | '[' => {
                let quote = if first == '[' { ']' } else { first };
                let (end, after) = until(&quote.to_string(), 1);
                (&rest[1..end], after)
            }
            _ => {
                let end = match is_of_word(first) {
                    true => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
                    false => first.len_utf8(),
                };
                (&rest[..end], end)
            }
        };
        if !word.is_empty() {
            words.push(word.to_lowercase());
        }
        rest = rest[end..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_replace_into_the_table_itself_counts() {
        let parent = Parent {
            in_schema: "blog".to_owned(),
            table: "articles".to_owned(),
            column: "id".to_owned(),
            cascades: true,
        };
        for statement in [
            "REPLACE INTO `articles` VALUES (...)",
            "REPLACE LOW_PRIORITY INTO `blog` . `articles` VALUES (...)",
            "REPLACE `articles` SELECT ?, ...",
            "insert or replace into \"Articles\" values (1)",
            "UPDATE OR REPLACE [articles] SET id = 1",
            "BEGIN SELECT replace(a, 'b', 'c'); REPLACE /* one */ INTO articles DEFAULT VALUES; END",
            "LOAD DATA INFILE ? REPLACE INTO TABLE `articles`",
        ] {
            assert!(replaces(statement, "blog", &parent), "{statement}");
        }
        for statement in [
            "REPLACE INTO `articles_old` VALUES (...)",
            "REPLACE INTO `shop` . `articles` VALUES (...)",
            "INSERT INTO log VALUES ('it''s REPLACE INTO articles') -- REPLACE INTO articles",
            "UPDATE articles SET title = replace(articles.title, 'a', 'b')",
            "INSERT INTO articles VALUES (1); REPLACE INTO log SELECT * FROM articles",
            "REPLACE",
            "SELECT 'REPLACE INTO articles",
        ] {
            assert!(!replaces(statement, "blog", &parent), "{statement}");
        }
        assert!(!replaces(
            "REPLACE INTO articles VALUES (1)",
            "shop",
            &parent
        ));
    }

    #[test]
    fn only_a_key_that_replaces_counts() {
        for columns in [
            "id BIGINT PRIMARY KEY DESC ON CONFLICT REPLACE",
            "id BIGINT, slug TEXT UNIQUE ON CONFLICT REPLACE",
            "id BIGINT, slug TEXT, UNIQUE (id, slug) ON CONFLICT REPLACE",
        ] {
            let table = format!("CREATE TABLE articles ({columns})");
            assert!(replaces_on_conflict(&table), "{columns}");
        }
        for columns in [
            "id BIGINT PRIMARY KEY, slug TEXT NOT NULL ON CONFLICT REPLACE DEFAULT ''",
            "id BIGINT PRIMARY KEY ON CONFLICT IGNORE, slug TEXT DEFAULT 'UNIQUE ON CONFLICT REPLACE'",
        ] {
            let table = format!("CREATE TABLE articles ({columns})");
            assert!(!replaces_on_conflict(&table), "{columns}");
        }
    }
}
