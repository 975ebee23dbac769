//! What to do about those who hold what is waited for.

use diesel_counters::Dialect;

use super::waits::Found;
use crate::doctor::print::duration;
use crate::doctor::report::{Advice, Report, Session};
use crate::doctor::target::Target;

/// A transaction that is idle for longer may have been forgotten.
const FORGOTTEN_SECONDS: f64 = 10.0;

pub fn foreign_key(found: &Found, target: &Target) -> Option<Advice> {
    let (table, name) = found
        .elsewhere
        .iter()
        .find_map(|elsewhere| Some((&elsewhere.table, elsewhere.foreign_key.as_ref()?)))?;
    let (what, why) = match target.dialect {
        Dialect::PostgreSql => (
            format!(
                "Do not lock rows of {table} FOR UPDATE: FOR NO KEY UPDATE lets the check of the foreign \
                 key pass. Or drop the foreign key {name}, and delete counters with what they count."
            ),
            "and whoever has locked it FOR UPDATE, deletes it or changes its key keeps that from it",
        ),
        _ => (
            format!(
                "Change rows of {table} last in a transaction, and commit at once. Or drop the foreign \
                 key {name}, and delete counters with what they count."
            ),
            "and whoever changes it or has locked it FOR UPDATE keeps that from it",
        ),
    };
    Some(Advice {
        name: "foreign_key",
        what,
        why: format!(
            "what is waited for is a row of {table} and no counter's: a new row of a counter locks it \
             for the foreign key, {why}"
        ),
        sql: Vec::new(),
    })
}

pub fn end_holder(report: &Report, target: &Target) -> Option<Advice> {
    let holder = report
        .waits
        .iter()
        .flat_map(|wait| &wait.holders)
        .find(|holder| is_idle_for_long(holder))?;
    Some(Advice {
        name: "end_holder",
        what: format!(
            "Look at what the program of session {} is at. End the session only if its transaction \
             is known to be forgotten: what it has not committed is lost.",
            holder.id
        ),
        why: format!(
            "it has run nothing for {}, and others wait",
            duration(holder.idle_seconds.unwrap_or_default())
        ),
        sql: vec![match target.dialect {
            Dialect::PostgreSql => format!("SELECT pg_terminate_backend({})", holder.id),
            _ => format!("KILL {}", holder.id),
        }],
    })
}

pub fn prepared(report: &Report) -> Option<Advice> {
    let mut holders = report.waits_known().flat_map(|wait| &wait.holders);
    let (holder, gid) =
        holders.find_map(|holder| Some((holder, holder.prepared_transaction.as_ref()?)))?;
    let literal = format!("'{}'", gid.replace('\'', "''"));
    Some(Advice {
        name: "prepared_transaction",
        what: format!(
            "Let its transaction manager end the prepared transaction {gid}. Only if that has forgotten it, \
             end it as its owner, in this database: COMMIT PREPARED {literal} keeps what it has done, \
             ROLLBACK PREPARED {literal} undoes it."
        ),
        why: format!(
            "it is {}, and belongs to no session that could be ended",
            holder.state
        ),
        sql: Vec::new(),
    })
}

/// However long its transaction has run, one that still runs statements is at work.
fn is_idle_for_long(session: &Session) -> bool {
    session.idle_in_transaction && session.idle_seconds >= Some(FORGOTTEN_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_transaction_that_works_is_not_forgotten() {
        let working = Session {
            idle_in_transaction: true,
            idle_seconds: Some(0.002),
            transaction_seconds: Some(3600.0),
            ..Session::default()
        };
        assert!(!is_idle_for_long(&working));
        let idle = Session {
            idle_seconds: Some(FORGOTTEN_SECONDS),
            ..working
        };
        assert!(is_idle_for_long(&idle));
    }
}
