//! The last deadlock, in the words of `SHOW ENGINE INNODB STATUS`.

use anyhow::Result;
use diesel::dsl;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Double, Nullable, Text};

use super::looks::Looks;
use super::mysql::allowed;
use super::seen::Deadlock;
use crate::connection::{AnyConnection, MultiBackend};

/// `SHOW ENGINE INNODB STATUS`
#[derive(QueryId)]
struct Status;

impl QueryFragment<MultiBackend> for Status {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql("SHOW ENGINE INNODB STATUS");
        Ok(())
    }
}

impl Query for Status {
    type SqlType = (Text, Text, Text);
}

impl RunQueryDsl<AnyConnection> for Status {}

/// The server describes this statement's rows only when it has run once, and Diesel asks
/// before: so it runs twice, as the one prepared statement that its type makes it.
fn status(conn: &mut AnyConnection) -> QueryResult<String> {
    Status.execute(conn)?;
    let (_engine, _name, status): (String, String, String) = Status.get_result(conn)?;
    Ok(status)
}

/// The server's last deadlock, if a row of this table had a part in it.
pub fn last_deadlock(looks: &mut Looks<'_>) -> Result<Option<Deadlock>> {
    let Some(status) = allowed(looks, "the last deadlock", status)? else {
        return Ok(None);
    };
    let table = &looks.counters.table;
    let Some(mut deadlock) = read(&status, &table.in_schema, &table.name) else {
        return Ok(None);
    };
    // The time is by the clock of the server's system.
    let ago = dsl::sql::<Nullable<Double>>("1e0 * TIMESTAMPDIFF(SECOND, ")
        .bind::<Text, _>(deadlock.at.clone())
        .sql(", CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM'))");
    deadlock.seconds_ago = diesel::select(ago).get_result(looks.conn)?;
    Ok(Some(deadlock))
}

/// The server's own words, without the bytes of rows.
fn read(status: &str, schema: &str, table: &str) -> Option<Deadlock> {
    let (_, section) = status.split_once("LATEST DETECTED DEADLOCK\n")?;
    let section = section.split("\n------------\nTRANSACTIONS").next()?;
    if !section.contains(&format!("of table `{schema}`.`{table}` ")) {
        return None;
    }
    let is_told =
        |line: &&str| !(line.trim().is_empty() || line.contains("; hex ") || line.starts_with('-'));
    let lines: Vec<_> = section.lines().filter(is_told).map(str::to_owned).collect();
    Some(Deadlock {
        at: lines.first()?.get(..19)?.to_owned(),
        seconds_ago: None,
        status: lines,
    })
}
