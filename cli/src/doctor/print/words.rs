//! Statements and times in few words, and what others wrote.

/// On one line, and no longer than a line.
pub fn short(statement: &str) -> String {
    const LENGTH: usize = 160;
    let words: Vec<_> = statement.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What a terminal would obey is written out: others chose the keys and the statements.
pub fn visible(text: &str) -> String {
    let turns_text = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || turns_text(c) {
            true => visible.extend(c.escape_default()),
            false => visible.push(c),
        }
    }
    visible
}

pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => "less than 1 ms".to_owned(),
        s if s < 0.1 => format!("{:.1} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        let key = "é\u{1b}[2J\r\n\u{9b}31m\u{202e}";
        assert_eq!(visible(key), r"é\u{1b}[2J\r\n\u{9b}31m\u{202e}");
    }
}
