//! `put_back`.

use diesel_counters::dsl::put_back;

use super::*;
use crate::examples::*;

/// Puts tickets back.
#[derive(Debug, Clone)]
pub struct PutBack {
    pub of: Entity,
    pub units: i64,
}

impl Describe for PutBack {
    fn random() -> impl Strategy<Value = Self> {
        (values::entity(), 1..6_i64).prop_map(|(of, units)| PutBack { of, units })
    }

    fn apply(&self, map: &mut Map, _: Place<'_>) -> Expected<Returned> {
        *map.tickets.entry(self.of).or_default() += self.units;
        Ok(Returned::new())
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "put-back",
            does: "Puts a ticket of article 1 back",
            table: Table::Tickets,
            operation: |_| PutBack { of: ONE, units: 1 }.into(),
        }]
    }
}

run!(PutBack, on_tickets, |self, conn| {
    let put = put_back(remaining).of(key(self.of)).by(self.units);
    put.execute(conn)?;
    Ok(Returned::new())
});

examples!(PutBack, |conn| {
    put_back: put_back(tickets::remaining).of(1_i64).by(2).execute(conn);
});
