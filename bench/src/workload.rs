//! The workloads: who counts, how many at once, and what.

use std::time::Duration;

use rand::Rng;
use rand::seq::{SliceRandom, index};
use serde::{Deserialize, Serialize};

use crate::database::Engine;
use crate::way::Way;

/// Which entities a transaction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entities {
    One,
    /// Three of five, in random order.
    ThreeOfFive,
}

impl Entities {
    /// How many a transaction counts.
    pub fn number(self) -> u64 {
        match self {
            Entities::One => 1,
            Entities::ThreeOfFive => 3,
        }
    }

    /// The entities of one transaction; `writer` tells its connection from others.
    pub fn choose(self, way: Way, writer: i16, rng: &mut impl Rng) -> Vec<i64> {
        if way == Way::HundredAtOnce {
            let chosen = index::sample(rng, 1_000, 100).into_iter();
            return chosen.map(|index| index as i64 + 1).collect();
        }
        let mut ids = match self {
            Entities::One => vec![1],
            Entities::ThreeOfFive => {
                let mut ids = vec![1, 2, 3, 4, 5];
                ids.shuffle(rng);
                ids.truncate(3);
                ids
            }
        };
        if way == Way::Ceiling {
            ids.iter_mut()
                .for_each(|id| *id += 10_000 + 5 * i64::from(writer));
        }
        ids
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Workload {
    pub entities: Entities,
    pub processes: u32,
    /// Of each process.
    pub threads: u32,
    /// Of each process, in a pool.
    pub connections: u32,
    /// The time between the count and the COMMIT.
    pub hold: Duration,
}

impl Workload {
    pub fn all(engine: Engine) -> Vec<Self> {
        // SQLite has one writer, and connections that wait for it poll: 64 of them for many seconds.
        let connections: &[u32] = if engine.has_slots() {
            &[1, 4, 16, 64]
        } else {
            &[1, 4, 16]
        };
        let mut all = Vec::new();
        for hold in [0, 2_000] {
            let workloads = connections.iter();
            all.extend(workloads.map(|&number| one_process(Entities::One, number, hold)));
        }
        if engine.has_slots() {
            for hold in [0, 2_000] {
                all.extend([16, 64].map(|n| one_process(Entities::ThreeOfFive, n, hold)));
            }
            all.push(Workload {
                threads: 512,
                ..one_process(Entities::ThreeOfFive, 16, 500)
            });
            all.push(Workload {
                processes: 3,
                ..one_process(Entities::ThreeOfFive, 10, 500)
            });
        }
        all
    }

    /// Enough of them to try whether everything works.
    pub fn quick(engine: Engine) -> Vec<Self> {
        let mut all = Self::all(engine);
        all.retain(|workload| {
            workload.all_connections() == 16
                && (workload.entities == Entities::One || !workload.hold.is_zero())
        });
        all
    }

    /// The ways that are compared under this workload.
    pub fn ways(&self, engine: Engine) -> Vec<Way> {
        let mut ways = vec![
            Way::NoCounter,
            Way::Ceiling,
            Way::OneRow,
            Way::PublishedLayout,
            Way::OnConflict,
            Way::ThisCrate,
        ];
        // There the slot is always 0.
        if engine.has_slots() {
            ways.insert(5, Way::RandomSlots);
        }
        let one = self.entities == Entities::One;
        if one && self.connections == 16 {
            ways.push(Way::HundredAtOnce);
        }
        if one && self.hold.is_zero() {
            ways.extend([Way::InsertAlone, Way::Trigger, Way::Column]);
            if engine == Engine::Postgres {
                ways.push(Way::OneStatement);
            }
        }
        if one && engine.has_slots() && self.hold.is_zero() && [1, 16].contains(&self.connections) {
            ways.push(Way::BoundSlot);
            if engine == Engine::Postgres {
                ways.push(Way::Pgbench);
            }
        }
        ways
    }

    /// Of all processes.
    pub fn all_connections(&self) -> u32 {
        self.processes * self.connections
    }

    pub fn name(&self) -> String {
        let plural = if self.connections == 1 { "" } else { "s" };
        let mut name = match self.entities {
            Entities::One => "One entity".to_owned(),
            Entities::ThreeOfFive => "Three of five entities in random order".to_owned(),
        };
        if self.processes > 1 {
            name += &format!(", {} processes of", self.processes);
        } else {
            name += ",";
        }
        if self.threads != self.connections {
            name += &format!(" {} threads over", self.threads);
        }
        name += &format!(" {} connection{plural}", self.connections);
        if self.hold.is_zero() {
            name + ", no hold"
        } else {
            name + &format!(", {} ms hold", self.hold.as_secs_f64() * 1e3)
        }
    }
}

fn one_process(entities: Entities, connections: u32, hold_micros: u64) -> Workload {
    Workload {
        entities,
        processes: 1,
        threads: connections,
        connections,
        hold: Duration::from_micros(hold_micros),
    }
}
