//! `claim_slot`.

use diesel_counters::dsl::claim_slot;

use super::*;

/// Claims a number for the connection.
#[derive(Debug, Clone)]
pub struct ClaimSlot;

impl Describe for ClaimSlot {
    fn random() -> impl Strategy<Value = Self> {
        Just(ClaimSlot)
    }

    fn apply(&self, _: &mut Map, _: Place<'_>) -> Expected<Returned> {
        Ok(Returned::new())
    }
}

run!(ClaimSlot, on_tickets, |self, conn| {
    claim_slot().execute(conn)?;
    Ok(Returned::new())
});

examples!(ClaimSlot, |conn| {
    claim_slot: claim_slot().execute(conn);
});
