//! What was committed and what was read, and when.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use clap::ValueEnum;

use crate::tables::{ARTICLES, FOLDED};

/// Nanoseconds since the process first asked for the time.
pub type Time = u64;

/// The time, which is greater than 0.
pub fn now() -> Time {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let began = BEGAN.get_or_init(Instant::now);
    // 0 is the time of what was there before a round.
    began.elapsed().as_nanos() as Time + 1
}

/// A number that the database keeps: a count of an article, or the number of its rows.
///
/// It is the place of the number among the [`CELLS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Kind {
    Views,
    Comments,
    CommentRows,
    /// Likes have [`NO_DAY`]: triggers count them on the day of the server, which can be over while
    /// a run goes on.
    Likes,
    LikeRows,
    /// Tickets that are left. They have [`NO_DAY`].
    Tickets,
}

/// The day of each cell of a kind that is not told apart by day.
pub const NO_DAY: u8 = 0;

/// The number of kinds.
const KINDS: usize = Kind::Tickets as usize + 1;
/// The number of days that are told apart. All folded days are one.
const DAYS: usize = FOLDED as usize + 1;
/// The number of cells.
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

    /// The cells of all days.
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
    /// The time before which it was not visible.
    pub from: Time,
    /// The time from which on it is visible.
    pub to: Time,
    /// Whether a kill of the server has lost it. Then it was visible until `to` at most. InnoDB
    /// shows a commit to others before it is durable and before it is answered. PostgreSQL does
    /// not.
    pub is_lost: bool,
    /// By how much it changed which cells.
    pub effects: Vec<(Cell, i64)>,
    /// The thread and the work that changed it.
    pub by: String,
}

impl Change {
    /// A change that became visible between `from` and now.
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
    /// The time before which the snapshot was not taken.
    pub from: Time,
    /// The time after which the snapshot was not taken.
    pub to: Time,
    /// What the reader's own transaction had changed.
    pub own: Vec<(Cell, i64)>,
    pub values: Vec<Value>,
    /// The thread and the work that read it.
    pub by: String,
}

impl Seen {
    /// What a snapshot showed that was taken between `from` and now.
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
    /// Kinds and articles whose counts are not known: see [`Round`](crate::check::Round).
    pub unknown: Vec<(Kind, i64)>,
}

/// A value that was read: the sum of some cells, each times a factor.
#[derive(Debug, Clone)]
pub struct Value {
    pub cells: Vec<(Cell, i64)>,
    pub value: i64,
    /// Whether the sum was `value` or less.
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

    /// How many more comments of an article were counted than it has rows.
    pub fn drift(article: i64, value: i64) -> Self {
        let counted = Cell::of(article, Kind::Comments).map(|cell| (cell, 1));
        let rows = Cell::of(article, Kind::CommentRows).map(|cell| (cell, -1));
        Value {
            cells: counted.chain(rows).collect(),
            value,
            at_most: false,
        }
    }

    /// Whether it is a [`drift`](Value::drift).
    fn is_drift(&self) -> bool {
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
