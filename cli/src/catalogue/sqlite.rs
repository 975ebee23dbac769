//! SQLite's catalogue.

use sqlparser::tokenizer::{Token, Tokenizer};

use super::rows::Catalogue;
use super::table::{Kind, Table};
use crate::database::SQLITE;

pub const CATALOGUE: Catalogue = Catalogue {
    columns: "
    SELECT NULL AS schema_name, t.schema AS in_schema, t.name AS table_name,
           t.strict AS is_strict, 0 AS is_partitioned, NULL AS part_of, NULL AS inherited_by,
           NULL AS unsafe_storage,
           c.name AS column_name, c.type AS column_type,
           c.\"notnull\" = 0 AS is_nullable, c.dflt_value AS column_default,
           -- A primary key without an index of its own is the number of the row. An INTEGER PRIMARY
           -- KEY DESC has an index, and so have all keys of a table WITHOUT ROWID.
           c.pk = 1 AND NOT EXISTS (SELECT * FROM pragma_index_list(t.name) l
                                    WHERE l.origin = 'pk') AS is_auto_increment,
           c.hidden IN (2, 3) AS is_generated,
           -- REPLACE compares with the collation of a unique index. No pragma has that of a column:
           -- see `add_collations`.
           (SELECT upper(x.coll) FROM pragma_index_list(t.name) l, pragma_index_xinfo(l.name) x
            WHERE l.\"unique\" AND x.key AND x.cid = c.cid AND upper(x.coll) <> 'BINARY' LIMIT 1)
               AS loose_collation,
           0 AS is_not_stored, NULL AS column_comment
    FROM pragma_table_list t, pragma_table_xinfo(t.name) c
    WHERE {where}
    ORDER BY t.name, c.cid",
    indexes: "
    SELECT t.schema AS in_schema, t.name AS table_name, 'PRIMARY KEY' AS index_name,
           1 AS is_unique, 1 AS is_primary, 0 AS is_partial, 0 AS is_deferrable,
           c.name AS column_name,
           (SELECT upper(x.coll) FROM pragma_index_list(t.name) l, pragma_index_xinfo(l.name) x
            WHERE l.origin = 'pk' AND x.key AND x.cid = c.cid) AS collation,
           0 AS is_included, 0 AS is_expression, c.pk AS position
    FROM pragma_table_list t JOIN pragma_table_info(t.name) c ON c.pk > 0
    WHERE {where}
    UNION ALL
    SELECT t.schema, t.name, l.name,
           l.\"unique\", 0, l.partial, 0,
           -- The columns have the numbers -1 for the rowid, and -2 for an expression.
           coalesce(x.name, '(expression)'), upper(x.coll), 0, x.cid = -2, x.seqno
    FROM pragma_table_list t
    JOIN pragma_index_list(t.name) l ON l.origin <> 'pk'
    JOIN pragma_index_xinfo(l.name) x ON x.key
    WHERE {where}
    ORDER BY table_name, is_primary DESC, index_name, position",
    foreign_keys: "
    SELECT t.schema AS in_schema, t.name AS table_name, f.\"from\" AS column_name,
           -- A foreign key has no name here.
           CASE WHEN EXISTS (SELECT * FROM pragma_foreign_key_list(t.name) o
                             WHERE o.id = f.id AND o.seq > 0)
               THEN 'to ' || f.\"table\" END AS wide_name,
           t.schema AS parent_schema, COALESCE(p.name, f.\"table\") AS parent_table,
           -- Without a column it refers to the primary key.
           COALESCE((SELECT c.name FROM pragma_table_info(p.name) c
                     WHERE CASE WHEN f.\"to\" IS NULL THEN c.pk = 1
                           ELSE c.name = f.\"to\" COLLATE NOCASE END),
                    f.\"to\", 'rowid') AS parent_column,
           f.on_delete AS on_delete, f.on_update AS on_update, 'NOT DEFERRABLE' AS deferrability,
           1 AS is_valid
    FROM pragma_table_list t
    JOIN pragma_foreign_key_list(t.name) f
      ON f.seq = 0
    -- SQLite keeps the name as it was written, in upper or lower case.
    LEFT JOIN pragma_table_list p ON p.schema = t.schema AND p.name = f.\"table\" COLLATE NOCASE
    WHERE {where}
    ORDER BY t.name, f.id",
    // Reads the statement of the table and those of its indexes. Triggers also have this
    // `tbl_name`. The index of a constraint has no SQL.
    checks: "
    SELECT t.schema AS in_schema, t.name AS table_name, s.sql AS check_sql
    FROM pragma_table_list t
    JOIN sqlite_schema s
      ON s.tbl_name = t.name AND s.type IN ('table', 'index') AND s.sql IS NOT NULL
    WHERE {where}
    ORDER BY t.name, s.type DESC, s.name",
    all: "t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    by_name: "t.type = 'table' AND t.schema = 'main' AND t.name = {name} COLLATE NOCASE",
    by_schema: "t.type = 'table' AND t.schema = {schema} AND t.name = {name} COLLATE NOCASE",
    kind_of,
    complete: add_collations,
};

/// Adds the collations of columns, which are only in the table's SQL.
fn add_collations(table: &mut Table) {
    // On SQLite, the first of `checks` is the CREATE TABLE.
    let create_table = table.checks.first().map(String::as_str).unwrap_or_default();
    let declared = collations(create_table);
    for column in &mut table.columns {
        // The query has read a unique index's collation already.
        if column.loose_collation.is_some() {
            continue;
        }
        let has_name = |one: &&Collation| one.column.eq_ignore_ascii_case(&column.name);
        // If a column has several collations, the last one is in force.
        let in_force = declared.iter().rfind(has_name).map(|one| &one.name);
        column.loose_collation = in_force.filter(|name| *name != "BINARY").cloned();
    }
}

/// A COLLATE in a column's definition.
#[derive(Debug, PartialEq, Eq)]
struct Collation {
    column: String,
    name: String,
}

/// Returns the collations in a table's statement, in order. If a column has several, the last one
/// is in force.
fn collations(create_table: &str) -> Vec<Collation> {
    let mut found = Vec::new();
    for definition in definitions(create_table) {
        let Some((column, rest)) = definition.split_first() else {
            continue;
        };
        for (keyword, collation) in rest.iter().zip(rest.iter().skip(1)) {
            if is_collate(keyword) {
                found.push(Collation {
                    column: name_in(column).to_owned(),
                    name: name_in(collation).to_uppercase(),
                });
            }
        }
    }
    found
}

/// Returns the tokens of every column and constraint in a `CREATE TABLE`, without what they have
/// in parentheses: `likes`, `BIGINT`, `CHECK` for `likes BIGINT CHECK (likes >= 0)`.
fn definitions(create_table: &str) -> Vec<Vec<Token>> {
    let tokens = Tokenizer::new(SQLITE.grammar(), create_table).tokenize();
    let mut definitions: Vec<Vec<Token>> = Vec::new();
    // Definitions stand between commas, within one pair of parentheses.
    let mut depth = 0;
    for token in tokens.unwrap_or_default() {
        match token {
            Token::Whitespace(_) => {}
            Token::LParen => {
                depth += 1;
                if depth == 1 {
                    definitions.push(Vec::new());
                }
            }
            Token::RParen => depth -= 1,
            _ if depth != 1 => {}
            Token::Comma => definitions.push(Vec::new()),
            _ => {
                if let Some(definition) = definitions.last_mut() {
                    definition.push(token);
                }
            }
        }
    }
    definitions
}

fn is_collate(token: &Token) -> bool {
    matches!(token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("collate"))
}

/// Returns the name in a token, or an empty text if it isn't a name.
fn name_in(token: &Token) -> &str {
    match token {
        Token::Word(word) => &word.value,
        // SQLite accepts a text where it expects a name.
        Token::SingleQuotedString(text) => text,
        _ => "",
    }
}

/// Returns the kind of a declared type. This mostly agrees with `diesel print-schema`, which has
/// different sizes for some integers. Here they all end up with one size: see
/// `Database::stored_as`.
fn kind_of(declared_type: &str) -> Kind {
    let declared = declared_type.to_ascii_lowercase();
    let is_any = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    match declared.split('(').next().unwrap_or_default().trim() {
        "smallint" | "int2" | "int16" => Kind::SmallInt,
        "bigint" | "int8" | "int64" => Kind::BigInt,
        "date" => Kind::Date,
        "timestamp" | "datetime" => Kind::Timestamp,
        "uuid" => Kind::Uuid,
        _ if is_any(&["char", "clob", "text"]) => Kind::Text,
        _ if is_any(&["blob", "binary"]) || declared.is_empty() => Kind::Binary,
        _ if is_any(&["real", "float", "double", "numeric", "decimal"]) => Kind::Real,
        _ if is_any(&["int"]) => Kind::Integer,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collation_is_that_of_its_column() {
        let create = "CREATE TABLE \"a (b\" (
            id INTEGER PRIMARY KEY, -- COLLATE NOCASE
            one TEXT NOT NULL DEFAULT (lower('x' COLLATE NOCASE)) COLLATE rtrim CHECK (one <> '') ,
            'two, three' COLLATE \"NoCase\", [collate] TEXT, four TEXT COLLATE NOCASE collate binary,
            UNIQUE (one COLLATE NOCASE)
        ) STRICT";
        let found = collations(create);
        let found: Vec<_> = found.iter().map(|one| (&*one.column, &*one.name)).collect();
        let expected = [
            ("one", "RTRIM"),
            ("two, three", "NOCASE"),
            ("four", "NOCASE"),
            ("four", "BINARY"),
        ];
        assert_eq!(found, expected);
        assert_eq!(collations(""), []);
    }
}
