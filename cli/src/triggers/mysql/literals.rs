//! A trigger's text as the catalogue has it. Its literals differ from those that were written: they
//! have no introducers, and escapes are replaced by the characters that they stand for. `SHOW
//! CREATE TRIGGER` has the literals as written, but MySQL can't prepare it, and Diesel prepares
//! every query.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the texts that the catalogues of MySQL and MariaDB can have for this body, apart from
/// the body itself.
pub fn as_stored(body: &str) -> Vec<String> {
    let mut texts = Vec::new();
    // Only literals differ from the body as it was written.
    if body.contains(['\'', '"']) {
        let as_mysql = |value: &str, _quote: char| value.to_owned();
        texts.push(with_literals(body, as_mysql));
        texts.push(with_literals(body, as_mariadb));
    }
    texts
}

/// Writes the text between the quotes of every literal in another way. `write` gets a literal's
/// value and its quote.
fn with_literals(body: &str, write: fn(&str, char) -> String) -> String {
    let mut written = String::new();
    let mut chars = body.chars().peekable();
    while let Some(quote) = chars.next() {
        match quote {
            // Keep a name as it is. A name with a doubled quote is read as two names, which are
            // also written as they were.
            '`' => {
                let name: String = chars.by_ref().take_while(|c| *c != '`').collect();
                written += &format!("`{name}`");
            }
            '\'' | '"' => {
                let value = read_value(&mut chars, quote);
                // The catalogue can only hold characters of up to three bytes.
                let text = write(&value, quote).replace(|c| c > '\u{ffff}', "?");
                remove_introducer(&mut written);
                written += &format!("{quote}{text}{quote}");
            }
            other => written.push(other),
        }
    }
    written
}

/// Reads the value of a literal, after its first quote. Takes the characters up to its last quote.
fn read_value(chars: &mut Peekable<Chars<'_>>, quote: char) -> String {
    let mut value = String::new();
    while let Some(c) = chars.next() {
        if c == quote {
            if chars.next_if_eq(&quote).is_none() {
                break;
            }
            value.push(quote);
        } else if c == '\\' {
            match chars.next().unwrap_or_default() {
                '0' => value.push('\0'),
                'b' => value.push('\u{8}'),
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                'Z' => value.push('\u{1a}'),
                // Only LIKE gives these a meaning.
                wildcard @ ('%' | '_') => value.extend(['\\', wildcard]),
                other => value.push(other),
            }
        } else {
            value.push(c);
        }
    }
    value
}

/// Removes a character set such as `_utf8mb4` at the end of the SQL before a literal's quote. The
/// literal may be bytes: `_latin1 X'e9'`. The spaces on both sides stay.
fn remove_introducer(sql: &mut String) {
    let is_word_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before_literal = match sql.strip_suffix(['X', 'x', 'B', 'b']) {
        Some(before) if !before.ends_with(is_word_char) => before,
        // The letter is the end of a word.
        _ => sql.as_str(),
    };
    let up_to_word = before_literal.trim_end();
    let word_start = up_to_word.trim_end_matches(is_word_char).len();
    let word_end = up_to_word.len();
    if up_to_word[word_start..].starts_with('_') {
        sql.replace_range(word_start..word_end, "");
    }
}

/// Writes a value as MariaDB does.
fn as_mariadb(value: &str, quote: char) -> String {
    let mut written = String::new();
    for c in value.chars() {
        match c {
            '\0' => written += "\\0",
            '\n' => written += "\\n",
            '\r' => written += "\\r",
            '\t' => written += "\\t",
            '\u{1a}' => written += "\\Z",
            c if c == quote => written.extend([quote, quote]),
            c => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_written_as_the_server_does() {
        let body = r#"`it's` = _utf8mb4 'a\\b\t''\%' AND "x"" \"" <> _latin1 x'61'"#;
        let [of_mysql, of_mariadb] = &*as_stored(body) else {
            panic!("two texts");
        };
        assert_eq!(of_mysql, "`it's` =  'a\\b\t'\\%' AND \"x\" \"\" <>  x'61'");
        let of = r#"`it's` =  'a\b\t''\%' AND "x"" """ <>  x'61'"#;
        assert_eq!(of_mariadb, of);
        assert_eq!(as_stored("`a` = 1"), Vec::<String>::new());
    }
}
