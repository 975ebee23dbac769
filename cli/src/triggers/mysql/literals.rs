//! A trigger's text as the catalogue has it. Its literals differ from those that were written: they
//! have no introducers, and escapes are replaced by the characters that they stand for. `SHOW
//! CREATE TRIGGER` has the literals as written, but MySQL can't prepare it, and Diesel prepares
//! every query.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the texts that MySQL and MariaDB can have for this body.
pub fn as_stored(body: &str) -> Vec<String> {
    let mut texts = Vec::new();
    // Without literals, the catalogue has the body as it was written.
    if body.contains(['\'', '"']) {
        texts.push(written(body, |value, _| value.to_owned()));
        texts.push(written(body, of_mariadb));
    }
    texts
}

/// Replaces the value of every literal.
fn written(body: &str, value_of: fn(&str, char) -> String) -> String {
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
                let value = value(&mut chars, quote);
                remove_introducer(&mut written);
                written.push(quote);
                // The catalogue can only hold characters of up to three bytes.
                written += &value_of(&value, quote).replace(|c| c > '\u{ffff}', "?");
                written.push(quote);
            }
            other => written.push(other),
        }
    }
    written
}

/// Reads the value of a literal, after its first quote.
fn value(chars: &mut Peekable<Chars<'_>>, quote: char) -> String {
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

/// Removes a character set such as `_utf8mb4` in front of a literal, which may be bytes: `X'e9'`.
/// The spaces on both sides stay.
fn remove_introducer(written: &mut String) {
    let is_word_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let literal = match written.strip_suffix(['X', 'x', 'B', 'b']) {
        // Otherwise it's the end of a word.
        Some(before) if !before.ends_with(is_word_char) => before.len(),
        _ => written.len(),
    };
    let before = written[..literal].trim_end();
    let other = before.trim_end_matches(is_word_char);
    if before[other.len()..].starts_with('_') {
        written.replace_range(other.len()..before.len(), "");
    }
}

/// Writes a value as MariaDB does.
fn of_mariadb(value: &str, quote: char) -> String {
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
