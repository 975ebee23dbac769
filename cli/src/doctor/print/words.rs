//! Statements and times in few words.

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
