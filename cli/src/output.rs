//! Numbers and texts as people read them.

use indicatif::HumanCount;

use crate::database::Joined;

/// Writes a number in groups of three digits: `1,234,567`.
pub fn thousands(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", HumanCount(number.unsigned_abs()))
}

/// Wraps a text into lines of up to `width` characters. A longer word gets its own line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Whether a character could steer the terminal, or change the direction of text.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes control characters that could steer the terminal, and those that change the direction of
/// text. Use it for every text that the command didn't write itself.
pub fn printable(text: &str) -> String {
    let mut printable = String::new();
    for c in text.chars() {
        if steers(c) {
            printable.extend(c.escape_default());
        } else {
            printable.push(c);
        }
    }
    printable
}

/// Escapes what could steer the terminal, like [`printable`], but keeps line breaks.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(printable).joined("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_between_its_words() {
        assert_eq!(wrapped("a bc def ghi", 4), ["a bc", "def", "ghi"]);
        assert_eq!(wrapped("longer é f", 3), ["longer", "é f"]);
    }

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        let text = "gr\u{fc}n \u{1b}[31m\r\u{9b}\u{200e}\u{200f}\u{202e}\u{2066}\u{61c}\u{feff}";
        let escaped = r"grün \u{1b}[31m\r\u{9b}\u{200e}\u{200f}\u{202e}\u{2066}\u{61c}";
        assert_eq!(printable(text), format!("{escaped}\u{feff}"));
    }
}
