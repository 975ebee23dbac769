//! Where an order of statements starts.

use clap::ValueEnum;

use crate::tables::{PAST, day};

/// What is stored before the statements of a case run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum State {
    /// One row of today
    OneRow,
    /// No counters
    Empty,
    /// Several slots of old days, which no merge has merged
    Unmerged,
    /// Old days that were merged and folded
    Merged,
    /// One row of today, and the row that corrections lock
    Locked,
    /// Only the row that corrections lock, with zeros
    LockOnly,
    /// Counts that are not those of the rows
    Drift,
}

/// A row of counters: the article, the number of the day or none for 1970-01-01, the slot, the
/// views, the likes and the comments.
type Row = (i64, Option<u8>, i16, i64, i64, i64);

impl State {
    /// The rows of counters. In each state but [`Empty`](State::Empty), the articles 1 and 2 each
    /// have a comment and a like.
    fn rows(self) -> &'static [Row] {
        match self {
            State::Empty => &[],
            State::OneRow => &[(1, Some(0), 5, 300, 1, 1), (2, Some(0), 5, 500, 1, 1)],
            State::Unmerged => &[
                (1, Some(0), 1, 300, 1, 0),
                (1, Some(PAST), 1, 100, 0, 1),
                (1, Some(PAST), 2, 200, 0, 0),
                (2, Some(PAST), 1, 500, 1, 1),
                (2, Some(PAST), 2, 600, 0, 0),
            ],
            State::Merged => &[
                (1, None, 0, 300, 1, 0),
                (1, Some(PAST), 0, 200, 0, 1),
                (1, Some(PAST), 1, 100, 0, 0),
                (2, Some(PAST), 0, 500, 1, 1),
            ],
            State::Locked => &[
                (1, None, 0, 0, 0, 0),
                (1, Some(0), 1, 300, 1, 1),
                (2, None, 0, 0, 0, 0),
                (2, Some(0), 1, 500, 1, 1),
            ],
            State::LockOnly => &[(1, None, 0, 0, 0, 0), (2, None, 0, 0, 0, 0)],
            State::Drift => &[(1, Some(0), 5, 400, 3, 4), (2, Some(PAST), 5, 500, 0, 0)],
        }
    }

    /// The slots of the tickets of article 1, and how many tickets are in each.
    fn tickets(self) -> &'static [(i16, i64)] {
        match self {
            State::Empty => &[],
            State::OneRow => &[(1, 3)],
            State::Unmerged => &[(1, 1), (2, 2)],
            State::Merged => &[(0, 3)],
            State::Locked => &[(0, 0), (2, 4)],
            State::LockOnly => &[(0, 0)],
            State::Drift => &[(1, 1), (2, 1), (3, 1)],
        }
    }

    /// The statements that make the state.
    pub fn sql(self) -> String {
        let on = match self {
            State::OneRow | State::Locked | State::LockOnly | State::Drift => day(0),
            State::Empty | State::Unmerged | State::Merged => day(PAST),
        };
        let rows = match self {
            State::Empty => String::new(),
            _ => format!(
                "INSERT INTO article_likes (article_id, user_id) VALUES (1, 1), (2, 2);
                 INSERT INTO comments (id, article_id, day) VALUES (1, 1, '{on}'), (2, 2, '{on}');"
            ),
        };
        // The triggers count likes, so the counters are written last.
        format!(
            "DELETE FROM article_likes; DELETE FROM comments; DELETE FROM article_counters;
             DELETE FROM articles; INSERT INTO articles (id) VALUES (1), (2), (3); {rows} {}",
            self.counters_sql()
        )
    }

    /// The statements that make the counters and the columns of the state, if the rows that are
    /// counted are stored already.
    pub fn counters_sql(self) -> String {
        let likes = match self {
            State::Empty => 0,
            State::Drift => 5,
            _ => 1,
        };
        let tickets = self.tickets().iter().map(|(slot, number)| {
            format!("INSERT INTO tickets VALUES (1, '1970-01-01', {slot}, {number});")
        });
        let tickets = String::from_iter(tickets);
        let empty = format!(
            "DELETE FROM article_counters; DELETE FROM label_counters; DELETE FROM tickets;
             {tickets}
             UPDATE articles
             SET total_views = 0, like_count = CASE id WHEN 3 THEN 0 ELSE {likes} END
             WHERE total_views <> 0 OR like_count <> CASE id WHEN 3 THEN 0 ELSE {likes} END;"
        );
        let rows = self.rows().iter();
        let rows = rows.map(|(article, on, slot, views, likes, comments)| {
            let on = on.map_or_else(|| "1970-01-01".to_owned(), |on| day(on).to_string());
            // Labels a and b of article 1 have the views and comments of articles 1 and 2.
            let label = if *article == 1 { 'a' } else { 'b' };
            (
                format!("({article}, '{on}', {slot}, {views}, {likes}, {comments})"),
                format!("(1, '{label}', '{on}', {slot}, {views}, {comments})"),
            )
        });
        let (rows, of_labels): (Vec<_>, Vec<_>) = rows.unzip();
        match rows.len() {
            0 => empty,
            _ => format!(
                "{empty}
                 INSERT INTO article_counters (article_id, day, slot, views, likes, comments)
                 VALUES {};
                 INSERT INTO label_counters (article_id, label, day, slot, views, comments)
                 VALUES {};",
                rows.join(", "),
                of_labels.join(", ")
            ),
        }
    }
}
