//! What was committed and what was read, and when.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use clap::ValueEnum;

use crate::tables::{ARTICLES, FOLDED};

/// Nanoseconds since the run began.
pub type Time = u64;

pub fn now() -> Time {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let began = BEGAN.get_or_init(Instant::now);
    // 0 is the time of what was there before.
    began.elapsed().as_nanos() as Time + 1
}

/// A number that the database keeps: a count of an article, or the number of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Kind {
    Views,
    Comments,
    CommentRows,
    /// Likes are not told apart by day: the database counts them on its own today.
    Likes,
    LikeRows,
    /// Tickets that are left. They are of no day.
    Tickets,
}

const KINDS: usize = Kind::Tickets as usize + 1;
const DAYS: usize = FOLDED as usize + 1;
pub const CELLS: usize = ARTICLES as usize * KINDS * DAYS;

impl Cell {
    pub fn new(article: i64, kind: Kind, day: u8) -> Self {
        let article = (article - 1) as usize;
        Cell((article * KINDS + kind as usize) * DAYS + usize::from(day))
    }

    pub fn article(self) -> i64 {
        (self.0 / DAYS / KINDS) as i64 + 1
    }

    pub fn kind(self) -> Kind {
        Kind::value_variants()[self.0 / DAYS % KINDS]
    }

    pub fn of(article: i64, kind: Kind) -> impl Iterator<Item = Cell> {
        (0..=FOLDED).map(move |day| Cell::new(article, kind, day))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let article = self.article();
        let kind = self.kind();
        let day = self.0 % DAYS;
        write!(f, "{kind:?} of article {article}, day {day}")
    }
}

/// A change that committed.
#[derive(Debug, Clone)]
pub struct Change {
    /// It was not visible before.
    pub from: Time,
    /// It was visible after.
    pub to: Time,
    /// It did not survive the server, and was visible at most until `to`. InnoDB shows a commit to
    /// others before it is durable and before it is answered; PostgreSQL does not.
    pub is_lost: bool,
    pub effects: Vec<(Cell, i64)>,
    pub by: String,
}

impl Change {
    /// It became visible after `from`, and has by now.
    pub fn since(from: Time, cell: Cell, amount: i64) -> Self {
        Change {
            from,
            to: now(),
            is_lost: false,
            effects: vec![(cell, amount)],
            by: String::new(),
        }
    }
}

/// What one snapshot of the database showed.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The snapshot was not taken before.
    pub from: Time,
    /// It was not taken after.
    pub to: Time,
    /// What the reader's own transaction had changed.
    pub own: Vec<(Cell, i64)>,
    pub values: Vec<Value>,
    pub by: String,
}

impl Seen {
    /// The snapshot was taken after `from`, and has been by now.
    pub fn since(from: Time, values: Vec<Value>) -> Self {
        Seen {
            from,
            to: now(),
            own: Vec::new(),
            values,
            by: String::new(),
        }
    }
}

/// What a thread has recorded.
#[derive(Default)]
pub struct Recorded {
    pub changes: Vec<Change>,
    pub seen: Vec<Seen>,
    pub unknown: Vec<(Kind, i64)>,
}

/// A value that was read: the sum of these cells, each times a factor.
#[derive(Debug, Clone)]
pub struct Value {
    pub cells: Vec<(Cell, i64)>,
    pub value: i64,
    /// It was this value or less.
    pub at_most: bool,
}

impl Value {
    pub fn sum(cells: impl IntoIterator<Item = Cell>, value: i64) -> Self {
        Value {
            cells: cells.into_iter().map(|cell| (cell, 1)).collect(),
            value,
            at_most: false,
        }
    }

    /// The difference between the comments counted and the rows.
    pub fn drift(article: i64, value: i64) -> Self {
        let counted = Cell::of(article, Kind::Comments).map(|cell| (cell, 1));
        let rows = Cell::of(article, Kind::CommentRows).map(|cell| (cell, -1));
        Value {
            cells: counted.chain(rows).collect(),
            value,
            at_most: false,
        }
    }

    /// Whether it is such a difference.
    pub fn is_drift(&self) -> bool {
        self.cells.iter().any(|(_, factor)| *factor < 0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, _) = self.cells[0];
        let article = first.article();
        let kind = first.kind();
        let most = if self.at_most { "at most " } else { "" };
        match self.cells.as_slice() {
            [_] => write!(f, "{first}: {}", self.value),
            _ if self.is_drift() => {
                let drift = self.value;
                write!(f, "{kind:?} of article {article}: {drift} more than rows")
            }
            _ => write!(f, "{kind:?} of article {article}: {most}{}", self.value),
        }
    }
}
