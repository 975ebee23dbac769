//! What the text of a trigger writes, as far as it can be read: `UPDATE t … SET c =`, and
//! `INSERT INTO t … DO UPDATE SET c =`. Comments and texts in it count for nothing, and neither does SQL
//! that it puts together.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

/// Whether this SQL sets a column of a table, whatever the table's schema is.
pub fn sets(sql: &str, table: &str, column: &str) -> bool {
    let tokens = tokens(sql);
    let is = |token: Option<&Token>, name: &str| word(token).is_some_and(|word| word == name);
    let (table, column) = (table.to_lowercase(), column.to_lowercase());
    (0..tokens.len()).any(|i| {
        let after = match () {
            () if is(tokens.get(i), "update") => i + 1,
            () if is(tokens.get(i), "into") => i + 1,
            () => return false,
        };
        let after = after + usize::from(is(tokens.get(after), "only"));
        let (name, mut at) = name(&tokens, after);
        if name.as_deref() != Some(&*table) {
            return false;
        }
        // Up to the end of the statement.
        let mut in_set = false;
        while let Some(token) = tokens.get(at) {
            match word(Some(token)).as_deref() {
                // ON DUPLICATE KEY UPDATE
                Some("update") if is(tokens.get(at - 1), "key") => in_set = true,
                Some("set") => in_set = true,
                Some("where" | "from" | "returning" | "select" | "values") => in_set = false,
                Some(word) if in_set && word == column && is_assigned(&tokens[at + 1..]) => {
                    return true;
                }
                _ if *token == Token::SemiColon => return false,
                _ => {}
            }
            at += 1;
        }
        false
    })
}

/// Whether this SQL has a name.
pub fn names(sql: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let tokens = tokens(sql);
    tokens
        .iter()
        .any(|token| word(Some(token)).as_ref() == Some(&name))
}

/// Whether a column before these tokens is set: `c =`, or `(…, c, …) =`.
fn is_assigned(after: &[Token]) -> bool {
    let is_list = |token: &&Token| matches!(token, Token::Comma | Token::Word(_) | Token::RParen);
    let list = after.iter().take_while(is_list).count();
    let is_closed = list == 0 || after[list - 1] == Token::RParen;
    is_closed && after.get(list) == Some(&Token::Eq)
}

/// Without spaces and comments. What cannot be read ends it.
fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut all = Vec::new();
    // It returns what it has read before an error.
    let _ = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location_into_buf(&mut all);
    for token in all {
        if !matches!(token.token, Token::Whitespace(_)) {
            tokens.push(token.token);
        }
    }
    tokens
}

/// The last part of a name such as `a.b`, and the place after it.
fn name(tokens: &[Token], mut at: usize) -> (Option<String>, usize) {
    let mut name = word(tokens.get(at));
    at += 1;
    while tokens.get(at) == Some(&Token::Period) {
        name = word(tokens.get(at + 1));
        at += 2;
    }
    (name, at)
}

fn word(token: Option<&Token>) -> Option<String> {
    match token {
        Some(Token::Word(word)) => Some(word.value.to_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::sets;

    #[test]
    fn only_what_is_written_counts() {
        for writes in [
            "UPDATE posts SET comments = comments + 1 WHERE id = NEW.post_id",
            "BEGIN update only public.\"posts\" AS p SET a = 1, \"comments\"=2; END",
            "UPDATE posts JOIN x ON x.id = posts.id SET posts.comments = 1",
            "INSERT INTO posts (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET comments = 1",
            "INSERT INTO posts (id) VALUES (1) ON DUPLICATE KEY UPDATE comments = comments + 1",
            "UPDATE a SET b = (SELECT 1 WHERE x); UPDATE posts SET (a, comments) = (1, 2)",
        ] {
            assert!(sets(writes, "posts", "comments"), "{writes}");
        }
        for reads in [
            "-- UPDATE posts SET comments = 1\nSELECT comments FROM posts",
            "/* UPDATE posts SET comments = 1 */ PERFORM 1",
            "UPDATE posts SET seen = 1 WHERE comments = 3",
            "UPDATE posts SET last = (SELECT MAX(id) FROM comments)",
            "INSERT INTO log (text) SELECT comments FROM posts",
            "UPDATE others SET comments = 1",
            "RAISE 'UPDATE posts SET comments = 1'",
            "UPDATE posts SET seen = 1; IF comments = 1 THEN END IF",
        ] {
            assert!(!sets(reads, "posts", "comments"), "{reads}");
        }
    }
}
