//! The lines of migrations: none is longer than people can read, unless a name or a text of the
//! user's is. `check` prints the statements of triggers without these line breaks.

const WIDTH: usize = 120;

/// Breaks the long lines of a statement. A line is broken where it has a space, so that its words
/// stay what they are.
pub fn broken(sql: &str) -> String {
    let mut lines = String::new();
    for line in sql.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        // Where the quotes of such a line end depends on the database and its settings.
        let is_unclear = text.contains('\\') || text.matches('$').count() > 1;
        if text.chars().count() <= WIDTH || is_unclear || is_definition(text) {
            lines += line;
        } else {
            break_line(text, &mut lines);
            lines += &line[text.len()..];
        }
    }
    lines
}

/// What begins the further lines of a definition in the comment of a function. The SQL that reads
/// it knows it too.
pub const DEFINITION_GOES_ON: &str = "--     ";

/// A comment of a function that has a definition, whose lines are broken where JSON can be.
fn is_definition(line: &str) -> bool {
    line.starts_with("-- diesel_counters: ") || line.starts_with(DEFINITION_GOES_ON)
}

/// Breaks JSON without spaces behind commas that are between its values. A line has room for what
/// stands before and behind it.
pub fn broken_json(json: &str) -> String {
    const ROOM: usize = WIDTH - "    'diesel_counters: ';".len();
    let mut lines = String::new();
    let mut line = String::new();
    for value in values(json) {
        if !line.is_empty() && line.chars().count() + value.chars().count() > ROOM {
            lines += &line;
            lines.push('\n');
            line.clear();
        }
        line += value;
    }
    lines + &line
}

/// JSON in pieces, each of which ends behind a comma, or at the end.
fn values(json: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    let mut is_in_text = false;
    let mut is_escaped = false;
    for (place, c) in json.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_in_text = !is_in_text,
            ',' if !is_in_text => {
                pieces.push(&json[begin..=place]);
                begin = place + 1;
            }
            _ => {}
        }
    }
    pieces.push(&json[begin..]);
    pieces
}

fn break_line(line: &str, lines: &mut String) {
    let content = line.trim_start();
    let indent = &line[..line.len() - content.len()];
    // What the further lines begin with: those of a comment are a comment, too.
    let next = if content.starts_with("-- ") {
        format!("{indent}-- ")
    } else {
        format!("{indent}    ")
    };
    let mut begin = indent.to_owned();
    let mut rest = content;
    loop {
        let room = WIDTH.saturating_sub(begin.chars().count());
        match place(rest, room) {
            Some(place) if rest.chars().count() > room => {
                *lines += &format!("{begin}{}\n", &rest[..place]);
                rest = &rest[place + 1..];
                begin.clone_from(&next);
            }
            _ => {
                *lines += &format!("{begin}{rest}");
                return;
            }
        }
    }
}

/// The space at which a text is broken so that its beginning has room. One before a word such as
/// AND, or behind a comma, is better than one inside of an expression. `None` if it cannot be
/// broken.
fn place(text: &str, room: usize) -> Option<usize> {
    const WORDS: [&str; 10] = [
        "AND ", "OR ", "WHERE ", "FROM ", "WHEN ", "THEN ", "ELSE ", "JOIN ", "SET ", "LOCK ",
    ];
    // The quote that has begun and not ended, the last good place, and the last place.
    let mut quote = None;
    let mut best = None;
    let mut last = None;
    let is_comment = text.starts_with("-- ");
    for (column, (place, c)) in text.char_indices().enumerate() {
        let is_too_far = column > room;
        if is_too_far && last.is_some() {
            break;
        }
        match (quote, c) {
            (None, '\'' | '"' | '`') if !is_comment => quote = Some(c),
            (Some(begun), c) if c == begun => quote = None,
            (None, ' ') => {
                let after = &text[place + 1..];
                let is_good = text[..place].ends_with(',')
                    || WORDS.iter().any(|word| after.starts_with(word));
                // The first place that there is, if all are too far.
                last = Some(place);
                // A good place near the beginning would leave a short line.
                if is_good && column > room / 3 {
                    best = Some(place);
                }
            }
            _ => {}
        }
    }
    best.or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_broken_behind_commas_outside_of_its_texts() {
        let text = r#""a, \"b\", c","#;
        let json = format!("[{}1]", text.repeat(30));
        let broken = broken_json(&json);
        assert_eq!(broken.replace('\n', ""), json);
        let lines: Vec<&str> = broken.lines().collect();
        assert!(lines.len() > 3, "{broken}");
        for line in &lines[1..] {
            assert!(line.starts_with('"') && line.len() <= 96, "{line}");
        }
    }

    #[test]
    fn a_long_line_is_broken_at_spaces_outside_of_quotes() {
        let name = "a b ".repeat(20);
        let long =
            format!("    SELECT \"{name}\" AS \"{name}\" FROM \"{name}\" WHERE '{name}' = x;\n");
        let sql = format!("SELECT 1;\n{long}-- {name}{name}{name}\n");
        let broken = broken(&sql);
        let words = |text: &str| {
            text.replace("\n--", "")
                .split_whitespace()
                .collect::<String>()
        };
        assert_eq!(words(&broken), words(&sql));
        assert!(
            broken.lines().all(|line| line.chars().count() <= WIDTH),
            "{broken}"
        );
        assert!(broken.contains(&format!("\"{name}\"\n")), "{broken}");
        for kept in ["'\\' a b", "$a$ a b"] {
            let kept = format!("{kept}{name}{name}{name}");
            assert_eq!(super::broken(&kept), kept);
        }
    }
}
