//! A table in Markdown, aligned for a terminal.

use std::fmt;

pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Table {
            rows: vec![header.into_iter().map(Into::into).collect()],
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default().max(4)
    }
}

/// The first column is text, and the others are numbers.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows[0].len();
        let widths: Vec<_> = (0..columns).map(|column| self.width(column)).collect();
        for (i, row) in self.rows.iter().enumerate() {
            write!(f, "| {:<1$} |", row[0], widths[0])?;
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                write!(f, " {cell:>width$} |")?;
            }
            writeln!(f)?;
            if i == 0 {
                write!(f, "| {} |", "-".repeat(widths[0]))?;
                for width in &widths[1..] {
                    write!(f, " {}: |", "-".repeat(width - 1))?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// The number with three digits, or with more if it has more before the point.
pub fn three_digits(number: f64) -> String {
    let decimals = match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_markdown() {
        let mut table = Table::new(["days", "1 slot"]);
        table.row(vec!["365".to_owned(), three_digits(1.5)]);
        let lines = [
            "| days | 1 slot |",
            "| ---- | -----: |",
            "| 365  |   1.50 |",
        ];
        assert_eq!(table.to_string().lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_number_has_three_digits() {
        let numbers = [0.123, 9.994, 9.996, 99.94, 99.96, 1234.5];
        let texts = numbers.map(three_digits);
        assert_eq!(texts, ["0.12", "9.99", "10.0", "99.9", "100", "1234"]);
    }
}
