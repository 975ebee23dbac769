//! What a page shows of the race.

use diesel::prelude::*;

use crate::db::{Conn, DATABASE, HAS_SLOTS};
use crate::pages::number;
use crate::race::{CONNECTIONS, HOLD, LASTS, Lane, Progress, Race};
use crate::schema::race_counters;

pub struct RaceView {
    pub is_local: bool,
    pub is_running: bool,
    pub lanes: [LaneView; 2],
    /// How many times as fast the slots were, for example `14.6`.
    pub times: Option<String>,
    /// Whether a count is wrong, or the race failed.
    pub has_failed: bool,
    pub said: String,
}

pub struct LaneView {
    pub id: &'static str,
    pub name: &'static str,
    /// What every transaction runs: HTML that says where a narrow page can break it.
    pub code: &'static str,
    pub rate: Option<i64>,
    pub commits: i64,
    /// What the bar says.
    pub bar: String,
    /// The CSS classes of the squares that stand for connections.
    pub connections: [&'static str; CONNECTIONS],
    /// What the connections are doing.
    pub words: String,
    /// The counts of the rows.
    pub rows: Vec<i64>,
    pub sum: String,
}

/// How many transactions a lane would commit if they only held their locks, and none waited. Its
/// bar ends there.
pub const MOST: i64 = CONNECTIONS as i64 * LASTS.as_millis() as i64 / HOLD.as_millis() as i64;

/// What the page says before the race has run.
const WORK: &str = "Sixteen connections each insert a comment, count it, hold their locks for 2 ms and commit, again \
                    and again: for three seconds they count in one row, and for three in slots.";

impl RaceView {
    pub fn load(race: Option<&Race>, is_local: bool, conn: &mut Conn) -> QueryResult<Self> {
        let lanes = [Lane::OneRow, Lane::Slots].map(|lane| LaneView::load(lane, race, conn));
        let [one_row, slots] = lanes;
        let mut view = RaceView {
            is_local,
            is_running: false,
            lanes: [one_row?, slots?],
            times: None,
            has_failed: false,
            said: WORK.to_owned(),
        };
        if !is_local {
            view.said += " Only a visitor on the server's own machine can start it.";
        }
        let Some(race) = race else {
            return Ok(view);
        };
        match race.outcome() {
            None => {
                view.is_running = true;
                let step = if race.lane(Lane::Slots).has_begun() {
                    "Step 2 of 2: sixteen connections count in slots."
                } else {
                    "Step 1 of 2: sixteen connections count in one row."
                };
                view.said = step.to_owned();
            }
            Some(Err(error)) => {
                view.has_failed = true;
                view.said = format!("The race failed: {error}");
            }
            Some(Ok(outcome)) => {
                view.has_failed = outcome.committed != outcome.counted;
                let times = race.lane(Lane::Slots).rate() / race.lane(Lane::OneRow).rate().max(1.0);
                view.times = Some(format!("{times:.1}"));
                view.said = format!(
                    "{} comments committed, {} counted. The two ways ran on this {DATABASE}, one after the other, and \
                     differ in the statement that counts. Each transaction then held its locks for 2 ms.",
                    number(&outcome.committed.iter().sum()),
                    number(&outcome.counted.iter().sum())
                );
            }
        }
        Ok(view)
    }
}

impl LaneView {
    fn load(lane: Lane, race: Option<&Race>, conn: &mut Conn) -> QueryResult<Self> {
        let progress = race.map(|race| race.lane(lane));
        let progress = progress.filter(|progress| progress.has_begun());
        let mut view = match lane {
            Lane::OneRow => Self::one_row(),
            Lane::Slots => Self::slots(),
        };
        let Some(progress) = progress else {
            return Ok(view);
        };
        view.show(progress);
        view.rows = match lane {
            Lane::OneRow => vec![view.commits],
            Lane::Slots => {
                let rows = race_counters::table.order(race_counters::slot);
                rows.select(race_counters::comments).load(conn)?
            }
        };
        view.sum = match view.rows.len() {
            1 => "The counter is 1 row of a table.".to_owned(),
            rows => {
                let sum = number(&view.rows.iter().sum());
                format!("The counter is {rows} rows of a table. Their sum is {sum}.")
            }
        };
        Ok(view)
    }

    fn one_row() -> Self {
        LaneView {
            id: "one",
            name: "One row",
            code: "update(article)<wbr>.set(comments.eq(comments + 1))<wbr>.execute(conn)?",
            rate: None,
            commits: 0,
            bar: "0 commits".to_owned(),
            connections: [""; CONNECTIONS],
            words: "16 connections".to_owned(),
            rows: vec![0],
            sum: "The counter is 1 row of a table.".to_owned(),
        }
    }

    fn slots() -> Self {
        let rows = if HAS_SLOTS { CONNECTIONS } else { 1 };
        LaneView {
            id: "slots",
            name: "Slots",
            code: "article.incr_counter(comments, conn)?",
            rows: vec![0; rows],
            sum: if HAS_SLOTS {
                "The counter is 16 rows of a table.".to_owned()
            } else {
                "On SQLite, the counter is 1 row too.".to_owned()
            },
            ..Self::one_row()
        }
    }

    fn show(&mut self, progress: &Progress) {
        self.rate = Some(progress.rate().round() as i64);
        self.commits = progress.commits();
        self.bar = format!("{} commits", number(&self.commits));
        if progress.has_ended() {
            self.bar += &format!(" in {:.2} s", progress.elapsed().as_secs_f64());
            let slowest = progress.slowest().as_millis() as i64;
            self.words = format!("The slowest transaction took {} ms.", number(&slowest));
            return;
        }
        let (holding, waiting) = progress.holding_and_waiting();
        self.connections = std::array::from_fn(|place| match place {
            _ if place < holding => "holds",
            _ if place < holding + waiting => "waits",
            _ => "",
        });
        self.words = format!("{waiting} of 16 connections wait. Holding a row: {holding}.");
    }
}
