//! The workloads: who counts, how many at once, and what.

use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::database::Engine;
use crate::way::{LAST_UNITS, Way};

/// Which entities a transaction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entities {
    One,
    /// One, whose stock has only [`LAST_UNITS`].
    LastUnits,
    /// Three of five, in random order.
    ThreeOfFive,
    /// One of a thousand.
    OneOfAThousand,
}

impl Entities {
    /// How many a transaction counts.
    pub fn number(self) -> u64 {
        match self {
            Entities::One | Entities::LastUnits | Entities::OneOfAThousand => 1,
            Entities::ThreeOfFive => 3,
        }
    }

    /// Returns the entities of one transaction. `writer` is a number that no other connection has.
    pub fn choose(self, way: Way, writer: i16, rng: &mut impl Rng) -> Vec<i64> {
        let mut ids = match self {
            Entities::One | Entities::LastUnits => vec![1],
            Entities::OneOfAThousand => vec![rng.random_range(1..=1_000)],
            Entities::ThreeOfFive => {
                let mut ids = vec![1, 2, 3, 4, 5];
                ids.shuffle(rng);
                ids.truncate(3);
                ids
            }
        };
        // No other connection counts these.
        if way == Way::Ceiling {
            ids.iter_mut()
                .for_each(|id| *id += 10_000 + 5 * i64::from(writer));
        }
        ids
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Workload {
    pub entities: Entities,
    pub threads: u32,
    /// The size of the pool that the threads share.
    pub connections: u32,
    /// The time between the count and the COMMIT.
    pub hold: Duration,
}

impl Workload {
    pub fn all(engine: Engine) -> Vec<Self> {
        // SQLite has one writer at a time, and connections that wait for it poll. With 64
        // connections, some wait for many seconds.
        let connections: &[u32] = if engine.has_slots() {
            &[1, 4, 16, 64]
        } else {
            &[1, 4, 16]
        };
        let mut all = Vec::new();
        for hold in [0, 2_000] {
            let workloads = connections.iter();
            all.extend(workloads.map(|&number| each_with_a_thread(Entities::One, number, hold)));
        }
        if engine.has_slots() {
            for hold in [0, 2_000] {
                all.extend([16, 64].map(|n| each_with_a_thread(Entities::ThreeOfFive, n, hold)));
                all.push(each_with_a_thread(Entities::LastUnits, 16, hold));
            }
            all.push(Workload {
                threads: 512,
                ..each_with_a_thread(Entities::ThreeOfFive, 16, 500)
            });
        }
        all
    }

    /// The ways that are compared under this workload.
    pub fn ways(&self, engine: Engine) -> Vec<Way> {
        if self.entities == Entities::LastUnits {
            return vec![Way::OneRowOfStock, Way::Take];
        }
        let mut ways = vec![
            Way::NoCounter,
            Way::Ceiling,
            Way::OneRow,
            Way::PublishedLayout,
            Way::OnConflict,
            Way::ThisCrate,
        ];
        if engine.has_slots() {
            let after_others = ways.len() - 1;
            ways.insert(after_others, Way::RandomSlots);
        }
        let one = self.entities == Entities::One;
        if one {
            ways.extend([Way::OneRowOfStock, Way::Take]);
        }
        if one && self.hold.is_zero() {
            ways.extend([Way::InsertAlone, Way::Trigger, Way::Column]);
            if engine == Engine::Postgres {
                ways.push(Way::OneStatement);
            }
        }
        ways
    }

    pub fn name(&self) -> String {
        let plural = if self.connections == 1 { "" } else { "s" };
        let mut name = match self.entities {
            Entities::One => "One entity,".to_owned(),
            Entities::LastUnits => format!("The last {LAST_UNITS} units of a stock,"),
            Entities::OneOfAThousand => "One of a thousand entities,".to_owned(),
            Entities::ThreeOfFive => "Three of five entities in random order,".to_owned(),
        };
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

pub fn each_with_a_thread(entities: Entities, connections: u32, hold_micros: u64) -> Workload {
    Workload {
        entities,
        threads: connections,
        connections,
        hold: Duration::from_micros(hold_micros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_slots_are_measured_where_there_are_slots() {
        let workload = each_with_a_thread(Entities::ThreeOfFive, 16, 2_000);
        let ways = workload.ways(Engine::Mysql);
        assert!(
            ways.ends_with(&[Way::RandomSlots, Way::ThisCrate]),
            "{ways:?}"
        );
        assert!(!workload.ways(Engine::Sqlite).contains(&Way::RandomSlots));
        let name = "Three of five entities in random order, 16 connections, 2 ms hold";
        assert_eq!(workload.name(), name);
    }

    #[test]
    fn connections_at_the_ceiling_share_no_entity() {
        let choose = |writer| {
            let mut random = rand::rng();
            Entities::ThreeOfFive.choose(Way::Ceiling, writer, &mut random)
        };
        for _ in 0..100 {
            let other = choose(2);
            assert!(choose(1).iter().all(|id| !other.contains(id)));
        }
    }
}
