//! What a page shows of the race.

use diesel::prelude::*;

use crate::db::{Conn, DATABASE, SLOTS};
use crate::pages::number;
use crate::race::{CONNECTIONS, HOLD, LASTS, Lane, Progress, Race};
use crate::schema::race_counters;

pub struct RaceView {
    pub is_local: bool,
    pub is_running: bool,
    pub lanes: [LaneView; 2],
    /// How many times as fast slots were, such as `14.6`.
    pub times: Option<String>,
    /// Whether a count is wrong, or the race failed.
    pub has_failed: bool,
    pub said: String,
}

pub struct LaneView {
    pub id: &'static str,
    pub name: &'static str,
    /// What is run in each transaction.
    pub code: &'static str,
    pub rate: Option<i64>,
    pub commits: i64,
    /// The classes of the squares that stand for connections.
    pub connections: [&'static str; CONNECTIONS],
    pub words: String,
    /// The counts of the rows.
    pub rows: Vec<i64>,
}

/// How many transactions a lane would commit if they did nothing but hold their locks, and none waited: where
/// its bar ends.
pub const MOST: i64 = CONNECTIONS as i64 * LASTS.as_millis() as i64 / HOLD.as_millis() as i64;

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
            said: format!(
                "Sixteen connections of this server insert a comment, count it, hold their locks for 2 ms and \
                 commit: three seconds in one row, then three in slots.{}",
                if is_local {
                    ""
                } else {
                    " Only a visitor on the server's own machine can start it."
                }
            ),
        };
        let Some(race) = race else {
            return Ok(view);
        };
        match race.outcome() {
            None => {
                view.is_running = true;
                let is_second = race.lane(Lane::Slots).has_begun();
                let lane = if is_second { "slots" } else { "one row" };
                view.said = format!("The connections count in {lane}, for three seconds.");
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
                    "{} comments committed, {} counted. Both lanes wrote the same comments to this {DATABASE}, one \
                     after the other.",
                    number(&outcome.committed),
                    number(&outcome.counted)
                );
            }
        }
        Ok(view)
    }
}

impl LaneView {
    fn load(lane: Lane, race: Option<&Race>, conn: &mut Conn) -> QueryResult<Self> {
        let progress = race
            .map(|race| race.lane(lane))
            .filter(|lane| lane.has_begun());
        let mut view = LaneView {
            id: "one",
            name: "One row",
            code: "update(article).set(comments.eq(comments + 1))",
            rate: progress.map(|progress| progress.rate().round() as i64),
            commits: progress.map_or(0, Progress::commits),
            connections: [""; CONNECTIONS],
            words: "16 connections, one row".to_owned(),
            rows: vec![0],
        };
        if lane == Lane::Slots {
            view.id = "slots";
            view.name = "Slots";
            view.code = "article.incr_counter(comments, conn)?";
            view.rows = vec![0; if SLOTS == 0 { 1 } else { CONNECTIONS }];
            view.words = match SLOTS {
                0 => "16 connections, one row: SQLite has one slot".to_owned(),
                _ => "16 connections, 16 rows".to_owned(),
            };
        }
        let Some(progress) = progress else {
            return Ok(view);
        };
        view.rows = match lane {
            Lane::OneRow => vec![view.commits],
            Lane::Slots => {
                let rows = race_counters::table.order(race_counters::slot);
                rows.select(race_counters::comments).load(conn)?
            }
        };
        view.words = match progress.has_ended() {
            true => format!(
                "{} commits in {:.1} s; the slowest took {} ms",
                number(&view.commits),
                progress.elapsed().as_secs_f64(),
                number(&(progress.slowest().as_millis() as i64))
            ),
            false => {
                let (holding, waiting) = progress.holding_and_waiting();
                view.connections = std::array::from_fn(|place| match place {
                    _ if place < holding => "holds",
                    _ if place < holding + waiting => "waits",
                    _ => "",
                });
                match waiting {
                    0 => "none waits".to_owned(),
                    1 => "1 of 16 connections waits".to_owned(),
                    _ => format!("{waiting} of 16 connections wait"),
                }
            }
        };
        Ok(view)
    }
}
