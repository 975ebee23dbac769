//! `take`.

use diesel_counters::dsl::take;

use super::*;
use crate::examples::*;

/// Takes tickets if there are enough, and returns 1 if there were.
#[derive(Debug, Clone)]
pub struct Take {
    pub of: Entity,
    pub units: i64,
}

impl Describe for Take {
    const WEIGHT: u32 = 2;

    fn random() -> impl Strategy<Value = Self> {
        (values::entity(), 0..6_i64).prop_map(|(of, units)| Take { of, units })
    }

    fn apply(&self, map: &mut Map, _: Place<'_>) -> Expected<Returned> {
        if self.units < 1 {
            return Err(Fault::Refused);
        }
        let left = map.tickets.entry(self.of).or_default();
        let is_taken = *left >= self.units;
        if is_taken {
            *left -= self.units;
        }
        Ok(number(is_taken.into()))
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "take",
            does: "Takes two tickets of article 1",
            table: Table::Tickets,
            operation: |_| Take { of: ONE, units: 2 }.into(),
        }]
    }
}

run!(Take, on_tickets, |self, conn| {
    let take = take(remaining).of(key(self.of)).by(self.units);
    Ok(number(take.execute(conn)?.into()))
});

examples!(Take, |conn| {
    take: take(tickets::remaining).of(1_i64).execute(conn);
    take_the_rest: take(tickets::remaining).of(1_i64).by(3).execute(conn);
    take_too_many: take(tickets::remaining).of(1_i64).by(4).execute(conn);
});
