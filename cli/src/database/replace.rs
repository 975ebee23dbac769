//! `REPLACE` in SQL text. It deletes the row that it replaces, and a cascade deletes the counts.

use sqlparser::dialect::SQLiteDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::catalogue::Parent;

/// Whether a statement replaces rows of the table: `REPLACE INTO articles`,
/// `UPDATE OR REPLACE articles`. `schema` is the one of a table without a schema.
pub fn replaces(statement: &str, schema: &str, parent: &Parent) -> bool {
    const BETWEEN: [&str; 4] = ["low_priority", "delayed", "into", "table"];
    let words = words(statement);
    (0..words.len()).any(|i| {
        let after = words[i + 1..].iter().map(String::as_str);
        let mut name = after.skip_while(|word| BETWEEN.contains(word));
        let (schema, table) = match (name.next(), name.next(), name.next()) {
            (Some(schema), Some("."), Some(table)) => (schema, table),
            (Some(table), ..) => (schema, table),
            (None, ..) => return false,
        };
        words[i] == "replace"
            && schema.eq_ignore_ascii_case(&parent.in_schema)
            && table.eq_ignore_ascii_case(&parent.table)
    })
}

/// Whether a `CREATE TABLE` has a key that replaces rows. A NOT NULL replaces a value only.
pub fn replaces_on_conflict(definition: &str) -> bool {
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
    let mut tokens = Vec::new();
    // What it cannot read, such as a literal that is cut off, ends the text.
    let _ = Tokenizer::new(&SQLiteDialect {}, text).tokenize_with_location_into_buf(&mut tokens);
    let words = tokens.into_iter().filter_map(|token| match token.token {
        Token::Whitespace(_) => None,
        Token::Word(word) => Some(word.value.to_lowercase()),
        sign => Some(sign.to_string()),
    });
    words.collect()
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
            on_delete: "CASCADE".to_owned(),
            on_update: "NO ACTION".to_owned(),
            deferrable: "NOT DEFERRABLE".to_owned(),
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
        let other = "REPLACE INTO articles VALUES (1)";
        assert!(!replaces(other, "shop", &parent));
        let odd = Parent {
            table: "an \"odd\" one".to_owned(),
            ..parent
        };
        let quoted = "REPLACE INTO \"an \"\"odd\"\" one\" VALUES (1)";
        assert!(replaces(quoted, "blog", &odd));
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
