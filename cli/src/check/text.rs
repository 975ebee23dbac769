//! What `check` prints.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::Checked;
use super::fault::{Fault, Severity};
use crate::output::{printable, width, wrapped};

pub fn of(tables: &[Checked]) -> String {
    let mut text = String::new();
    for (i, table) in tables.iter().enumerate() {
        if i > 0 && !(table.faults.is_empty() && tables[i - 1].faults.is_empty()) {
            text.push('\n');
        }
        push_table(table, &mut text);
    }
    text
}

fn push_table(checked: &Checked, text: &mut String) {
    let count = |is: fn(&Fault) -> bool| checked.faults.iter().filter(|fault| is(fault)).count();
    let mut summary = match count(|fault| !fault.severity.is_good()) {
        0 => "good".to_owned(),
        1 => "1 fault".to_owned(),
        faults => format!("{faults} faults"),
    };
    summary += &match count(|fault| fault.severity == Severity::Hint) {
        0 => String::new(),
        1 => ", 1 hint".to_owned(),
        hints => format!(", {hints} hints"),
    };
    push_line(text, "", &format!("{}: {summary}", checked.table));
    for fault in &checked.faults {
        text.push('\n');
        push_fault(fault, text);
    }
}

fn push_fault(fault: &Fault, text: &mut String) {
    let (word, color) = match fault.severity {
        Severity::Wrong => ("wrong", AnsiColor::Red),
        Severity::Slow => ("slow ", AnsiColor::Yellow),
        Severity::Hint => ("hint ", AnsiColor::Cyan),
        Severity::Note => ("note ", AnsiColor::Cyan),
    };
    let style = Style::new().bold().fg_color(Some(color.into()));
    let lines = [&fault.what, &fault.cost, &fault.remedy];
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    let lines = lines.flat_map(|line| wrapped(line, width().saturating_sub(9)));
    for (i, line) in lines.enumerate() {
        match i {
            0 => push_line(text, &format!("  {style}{word}{style:#}  "), &line),
            _ => push_line(text, "         ", &line),
        }
    }
    push_sql(&fault.sql, "           ", text);
}

/// The SQL is not wrapped, so that it can be copied.
fn push_sql(statements: &[String], indent: &str, text: &mut String) {
    for line in statements.iter().flat_map(|statement| statement.lines()) {
        push_line(text, indent, line);
    }
}

fn push_line(text: &mut String, indent: &str, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{indent}{}", printable(line));
}
