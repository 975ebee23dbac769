//! The last deadlock, in the words of `SHOW ENGINE INNODB STATUS`.

use anyhow::Result;
use diesel::dsl;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Double, Nullable, Text};

use super::lock_data::row_of_fields;
use super::locks::allowed;
use crate::catalogue::Kind;
use crate::connection::{AnyConnection, MultiBackend};
use crate::doctor::looks::Looks;
use crate::doctor::report::{Deadlock, Deadlocked, Row};

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
    let counters = looks.counters;
    let table = &counters.table;
    let entity: Vec<_> = counters.entity.iter().map(|entity| entity.kind).collect();
    let deadlock = read(&status, &table.in_schema, &table.name, &entity);
    let Some(mut deadlock) = deadlock else {
        return Ok(None);
    };
    // The time is by the clock of the server's system.
    let ago = dsl::sql::<Nullable<Double>>("1e0 * TIMESTAMPDIFF(SECOND, ")
        .bind::<Text, _>(deadlock.at.clone())
        .sql(", CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM'))");
    deadlock.seconds_ago = diesel::select(ago).get_result(looks.conn)?;
    Ok(Some(deadlock))
}

fn read(status: &str, schema: &str, table: &str, entity: &[Kind]) -> Option<Deadlock> {
    let (_, section) = status.split_once("LATEST DETECTED DEADLOCK\n")?;
    let section = section.split("\n------------\nTRANSACTIONS").next()?;
    let table = format!("of table `{schema}`.`{table}` ");
    if !section.contains(&table) {
        return None;
    }
    let at = section
        .lines()
        .find(|line| line.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut transactions: Vec<_> = section
        .split(" TRANSACTION:\n")
        .skip(1)
        .map(|text| transaction(text, &table, entity))
        .collect();
    let victim = section.split("*** WE ROLL BACK TRANSACTION (").nth(1);
    let victim = victim.and_then(|rest| rest.split(')').next()?.parse::<usize>().ok());
    if let Some(victim) = victim.and_then(|number| transactions.get_mut(number.checked_sub(1)?)) {
        victim.rolled_back = true;
    }
    Some(Deadlock {
        at: at.get(..19).unwrap_or(at).to_owned(),
        seconds_ago: None,
        transactions,
    })
}

fn transaction(text: &str, table: &str, entity: &[Kind]) -> Deadlocked {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains(" thread id "));
    let id = lines.next().and_then(|line| {
        let (_, id) = line.split_once(" thread id ")?;
        id.split(',').next()?.parse().ok()
    });
    let statement: Vec<_> = lines
        .take_while(|line| !line.is_empty() && !line.starts_with("***"))
        .collect();
    Deadlocked {
        id,
        statement: (!statement.is_empty()).then(|| statement.join(" ")),
        waited_for: waited_for(text, table, entity),
        rolled_back: false,
    }
}

fn waited_for(text: &str, table: &str, entity: &[Kind]) -> Option<Row> {
    let (_, lock) = text.split_once("WAITING FOR THIS LOCK TO BE GRANTED:\n")?;
    let mut lines = lock.lines();
    let head = lines.next()?;
    if !head.contains(table) || !head.contains("index PRIMARY ") {
        return None;
    }
    let fields: Vec<_> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once("; hex ")?.1.split(';').next())
        .collect();
    row_of_fields(&fields, entity)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = include_str!("deadlock.txt");

    #[test]
    fn a_deadlock_is_read() {
        let deadlock = read(STATUS, "blog", "article_counters", &[Kind::BigInt]).unwrap();
        assert_eq!(deadlock.at, "2026-11-21 13:53:57");
        let waited_for = Row {
            entity: Some("7".to_owned()),
            day: "2026-11-21".to_owned(),
            slot: 3,
        };
        let transaction = |id, statement: &str, waited_for, rolled_back| Deadlocked {
            id: Some(id),
            statement: Some(statement.to_owned()),
            waited_for,
            rolled_back,
        };
        let insert = "insert into article_counters values (7, ?, 3, 1)";
        let first = transaction(20, insert, Some(waited_for), false);
        let second = transaction(21, "delete from article_counters", None, true);
        assert_eq!(deadlock.transactions, [first, second]);
    }

    #[test]
    fn a_deadlock_of_another_table_is_not_this_ones() {
        assert_eq!(read(STATUS, "blog", "articles", &[]), None);
        assert_eq!(read("nothing of the kind", "blog", "articles", &[]), None);
    }
}
