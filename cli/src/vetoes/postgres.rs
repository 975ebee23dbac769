//! Rules and row level security, which only PostgreSQL has.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};

use super::veto::veto;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::fault::{Fault, note, wrong};
use crate::sql::sql_with;

/// The rules of a table. Those of the type 1 are for SELECT, which is a view's.
const RULES: &str = "
    SELECT rulename::text AS name,
        CASE ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END AS event,
        is_instead, ev_enabled IN ('O', 'A') AS is_enabled
    FROM pg_rewrite
    WHERE ev_type <> '1' AND ev_class = CAST(to_regclass({table}) AS oid)
    ORDER BY 1";

#[derive(QueryableByName)]
struct Rule {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    event: String,
    /// Whether it runs in place of the statement.
    #[diesel(sql_type = Bool)]
    is_instead: bool,
    #[diesel(sql_type = Bool)]
    is_enabled: bool,
}

/// The rules that run in place of a statement with one of the events `skipped`, and those with one
/// of the events `refused`, with which PostgreSQL refuses ON CONFLICT. It does not look whether one
/// of UPDATE is enabled.
pub fn rules(
    table: &Table,
    skipped: &[&str],
    refused: &[&str],
    conn: &mut AnyConnection,
) -> Result<Vec<Fault>> {
    let rules = sql_with(RULES, &[("table", &POSTGRES.table_name(table))]);
    let mut faults = Vec::new();
    for rule in rules.load(conn)? {
        let Rule {
            name,
            event,
            is_instead,
            is_enabled,
        } = rule;
        if is_instead && is_enabled && skipped.contains(&&*event) {
            faults.push(veto(&format!("The rule {name} of {table}")));
        } else if refused.contains(&&*event) && (is_enabled || event == "UPDATE") {
            let what = format!("The rule {name} of {table} is for each {event}.");
            let cost =
                "PostgreSQL refuses ON CONFLICT on a table with such a rule: increments fail.";
            faults.push(wrong("veto", what, cost).remedy("Drop it, or replace it by a trigger."));
        }
    }
    Ok(faults)
}

/// Row level security of a counter table.
pub fn policies(table: &Table, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let has_policies = sql_with(
        "SELECT relrowsecurity FROM pg_class WHERE oid = CAST(to_regclass({table}) AS oid)",
        &[("table", &POSTGRES.table_name(table))],
    );
    if !has_policies.typed::<Bool>().get_result::<bool>(conn)? {
        return Ok(None);
    }
    let what = "It has row level security.";
    let cost = "A policy can hide rows from the roles that it is for, and refuse theirs: \
                increments fail, and totals have a part of the counts.";
    let remedy = "Count, merge and correct as a role that sees all rows: the owner, without FORCE, \
                  or one with BYPASSRLS.";
    Ok(Some(note("policy", what, cost).remedy(remedy)))
}
