//! What `show` prints.

use super::{Counted, Shown};
use crate::output::{bar, columns, printable, thousands, width};

/// How wide the bars of one counter are at least, and at most.
const BARS: (usize, usize) = (8, 40);

pub fn of(shown: &Shown) -> String {
    let mut text = heading(shown);
    text += "\n";
    text += &totals(shown);
    if shown.first_day.is_some() {
        text += "\n";
        text += &days(shown);
    }
    text
}

fn heading(shown: &Shown) -> String {
    let mut lines = vec![("rows", thousands(shown.rows))];
    if let Some(size) = &shown.size {
        lines.push(("bytes", format!("{} ({})", thousands(size.bytes), size.of)));
    }
    if let (Some(entities), None) = (shown.entities, &shown.entity) {
        lines.push(("entities", thousands(entities)));
    }
    lines.push((
        "days",
        match (shown.first_day, shown.last_day) {
            (Some(first), Some(last)) if first == last => first.to_string(),
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ if shown.rows > 0 => "none: all counts are stored without a day".to_owned(),
            _ => "none".to_owned(),
        },
    ));
    lines.push(("slots in use", thousands(shown.slots.unwrap_or(0))));
    let to_merge = shown.rows_to_merge.map(thousands);
    lines.extend(to_merge.map(|rows| ("rows to merge", rows)));

    let of = shown.entity.as_ref().map_or(String::new(), |entity| {
        format!(", of {}", printable(entity))
    });
    let lines = lines
        .into_iter()
        .map(|(what, value)| vec![format!("  {what}"), value]);
    format!(
        "{}{of}\n{}",
        printable(&shown.table),
        columns(&[], &[], lines.collect())
    )
}

fn totals(shown: &Shown) -> String {
    let rows = shown
        .counters
        .iter()
        .map(|c| vec![c.counter.clone(), thousands(c.total)]);
    columns(&["counter", "total"], &[1], rows.collect())
}

/// The counters side by side where there is room for their bars, or else below each other.
fn days(shown: &Shown) -> String {
    let room = width().saturating_sub("2026-01-01  ".len());
    let fits = |counters: &[Counted]| bar_width(counters, room) >= BARS.0;
    let mut text = String::new();
    let mut left = shown.counters.as_slice();
    while !left.is_empty() {
        let beside = (1..=left.len())
            .rev()
            .find(|n| fits(&left[..*n]))
            .unwrap_or(1);
        let (now, later) = left.split_at(beside);
        if !text.is_empty() {
            text.push('\n');
        }
        text += &table_of_days(now, bar_width(now, room).clamp(BARS.0, BARS.1));
        left = later;
    }
    text
}

fn bar_width(counters: &[Counted], room: usize) -> usize {
    let numbers: usize = counters
        .iter()
        .map(|counter| number_width(counter) + 6)
        .sum();
    room.saturating_sub(numbers) / counters.len().max(1)
}

fn number_width(counter: &Counted) -> usize {
    let counts = counter
        .days
        .iter()
        .map(|of_day| thousands(of_day.count).len());
    counts
        .chain([counter.counter.chars().count()])
        .max()
        .unwrap_or(0)
}

fn table_of_days(counters: &[Counted], bar_width: usize) -> String {
    let Some(first) = counters.first() else {
        return String::new();
    };
    let mut header = vec!["day"];
    header.extend(
        counters
            .iter()
            .flat_map(|counter| [counter.counter.as_str(), ""]),
    );
    let numbers: Vec<_> = (0..counters.len()).map(|i| 2 * i + 1).collect();
    let rows = first.days.iter().enumerate().map(|(i, of_day)| {
        let cells = counters.iter().flat_map(|counter| {
            let greatest = counter
                .days
                .iter()
                .map(|of_day| of_day.count)
                .max()
                .unwrap_or(0);
            let count = counter.days[i].count;
            [thousands(count), bar(count, greatest, bar_width)]
        });
        [of_day.day.to_string()].into_iter().chain(cells).collect()
    });
    columns(&header, &numbers, rows.collect())
}
