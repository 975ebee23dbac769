//! `set_counter` of a stock.

use diesel_counters::dsl::set_counter;

use super::*;
use crate::examples::*;

/// Sets how many tickets are left, and returns how many were.
#[derive(Debug, Clone)]
pub struct SetStock {
    pub of: Entity,
    pub to: i64,
}

impl Describe for SetStock {
    fn random() -> impl Strategy<Value = Self> {
        (values::entity(), -1..20_i64).prop_map(|(of, to)| SetStock { of, to })
    }

    fn apply(&self, map: &mut Map, _: Place<'_>) -> Expected<Returned> {
        if self.to < 0 {
            return Err(Fault::Refused);
        }
        let before = map.tickets.insert(self.of, self.to);
        Ok(number(before.unwrap_or(0)))
    }

    fn scripts() -> Vec<Script> {
        vec![Script {
            name: "set-stock",
            does: "Sets the number of tickets of article 1",
            table: Table::Tickets,
            operation: |_| SetStock { of: ONE, to: 5 }.into(),
        }]
    }
}

run!(SetStock, on_tickets, |self, conn| {
    let set = set_counter(remaining).of(key(self.of)).to(self.to);
    Ok(number(set.execute(conn)?))
});

examples!(SetStock, |conn| {
    set_stock: set_counter(tickets::remaining).of(1_i64).to(3).execute(conn);
});
