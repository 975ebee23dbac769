//! "A limit on counted rows", a recipe of docs/recipes.md.

use std::sync::Barrier;
use std::thread;

use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::{CheckViolation, Unknown};
use diesel::result::Error::{DatabaseError, RollbackTransaction};
use diesel::sql_query;

use super::recipes::recipe;
use super::{number, open};
use crate::behaviour::Execute;
use crate::{BACKEND, Conn, TestDatabase};

diesel::table! {
    members (team_id, user_id) {
        team_id -> BigInt,
        user_id -> BigInt,
    }
}

const CLIENTS: i64 = 16;
const ATTEMPTS: i64 = 5;

/// What the message of the error has, as the recipe says.
fn full() -> &'static str {
    match BACKEND {
        "sqlite" => "member_count <= capacity",
        _ => "team_is_full",
    }
}

/// The function of the recipe.
fn join(team: i64, user: i64, conn: &mut Conn) -> QueryResult<bool> {
    let member = (members::team_id.eq(team), members::user_id.eq(user));
    match diesel::insert_into(members::table)
        .values(member)
        .execute(conn)
    {
        Err(DatabaseError(_, error)) if error.message().contains(full()) => Ok(false),
        inserted => inserted.map(|_| true),
    }
}

/// The tables of the recipe, with one more team for each of these capacities. Their ids begin at 10.
fn teams(capacities: &[i64]) -> TestDatabase {
    let database = recipe("A limit on counted rows");
    for (team, capacity) in (10..).zip(capacities) {
        database.execute(&format!(
            "INSERT INTO teams (id, capacity) VALUES ({team}, {capacity})"
        ));
    }
    database
}

/// The number of members that is stored, which must be that of the rows.
#[track_caller]
fn members_of(team: i64, conn: &mut Conn) -> i64 {
    let stored = format!("SELECT member_count FROM teams WHERE id = {team}");
    let rows = format!("SELECT COUNT(*) FROM members WHERE team_id = {team}");
    let stored = number(&stored, conn);
    assert_eq!(stored, number(&rows, conn), "team {team}");
    stored
}

/// Asserts that this statement fails because a team is full, and that it changes nothing.
#[track_caller]
fn refuses(statement: &str, conn: &mut Conn) {
    let before = [10, 11].map(|team| members_of(team, conn));
    let error = sql_query(statement).execute(conn).unwrap_err();
    let DatabaseError(kind, information) = &error else {
        panic!("{statement}: {error}")
    };
    let is_expected_kind = match BACKEND {
        "postgres" => {
            matches!(kind, CheckViolation) && information.constraint_name() == Some(full())
        }
        // MySQL's error is of the first kind, MariaDB's of the second one.
        "mysql" => matches!(kind, CheckViolation | Unknown),
        _ => matches!(kind, Unknown),
    };
    assert!(is_expected_kind, "{statement}: {kind:?}");
    assert!(error.to_string().contains(full()), "{statement}: {error}");
    let after = [10, 11].map(|team| members_of(team, conn));
    assert_eq!(before, after, "{statement}");
}

/// Each client inserts rows of its own, and gets no other error than the one of the recipe.
#[test]
fn as_many_rows_as_the_limit_are_stored_by_16_clients() {
    const CAPACITY: i64 = 40;
    let database = teams(&[CAPACITY]);
    let barrier = Barrier::new(CLIENTS as usize);
    let joined: usize = thread::scope(|scope| {
        let clients = Vec::from_iter((0..CLIENTS).map(|client| {
            let (database, barrier) = (&database, &barrier);
            scope.spawn(move || {
                let conn = &mut open(database);
                let users = client * ATTEMPTS..(client + 1) * ATTEMPTS;
                barrier.wait();
                users.filter(|user| join(10, *user, conn).unwrap()).count()
            })
        }));
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    assert_eq!(joined as i64, CAPACITY);
    let conn = &mut open(&database);
    assert_eq!(members_of(10, conn), CAPACITY);
    database.assert_agrees();
}

/// Each client inserts a row again and again, and rolls it back or deletes it.
#[test]
fn places_that_are_freed_are_taken_by_16_clients() {
    let database = teams(&[3]);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let database = &database;
            scope.spawn(move || {
                let conn = &mut open(database);
                let leave =
                    format!("DELETE FROM members WHERE team_id = 10 AND user_id = {client}");
                for attempt in 0..ATTEMPTS * 2 {
                    if attempt % 2 == 0 {
                        let _ = conn.transaction(|conn| {
                            join(10, client, conn).unwrap();
                            Err::<(), _>(RollbackTransaction)
                        });
                    } else if join(10, client, conn).unwrap() {
                        conn.run(&leave);
                    }
                }
            });
        }
    });
    let conn = &mut open(&database);
    assert_eq!(members_of(10, conn), 0);
    let users = Vec::from_iter((1..=4).map(|user| join(10, user, conn).unwrap()));
    assert_eq!(users, [true, true, true, false]);
    database.assert_agrees();
}

#[test]
fn what_would_exceed_the_limit_writes_nothing() {
    let database = teams(&[2, 2]);
    let conn = &mut open(&database);
    conn.run("INSERT INTO members VALUES (10, 1), (10, 2), (11, 3)");
    for statement in [
        "INSERT INTO members VALUES (10, 4)",
        "INSERT INTO members VALUES (11, 4), (10, 4)",
        "INSERT INTO members VALUES (11, 4), (11, 5)",
        "INSERT INTO members SELECT 11, user_id FROM members WHERE team_id = 10",
        "UPDATE members SET team_id = 10 WHERE team_id = 11",
    ] {
        refuses(statement, conn);
    }
    let ignoring: &[&str] = match BACKEND {
        "postgres" => &["INSERT INTO members VALUES (11, 4), (10, 4) ON CONFLICT DO NOTHING"],
        "mysql" => &[
            "INSERT INTO members VALUES (11, 4), (10, 4) ON DUPLICATE KEY UPDATE user_id = user_id",
            "INSERT IGNORE INTO members VALUES (11, 4), (10, 4)",
            "REPLACE INTO members VALUES (11, 4), (10, 4)",
            "UPDATE IGNORE members SET team_id = 10 WHERE team_id = 11",
        ],
        _ => &[
            "INSERT INTO members VALUES (11, 4), (10, 4) ON CONFLICT DO NOTHING",
            "INSERT OR IGNORE INTO members VALUES (11, 4), (10, 4)",
            "INSERT OR FAIL INTO members VALUES (11, 4), (10, 4)",
            "INSERT OR REPLACE INTO members VALUES (11, 4), (10, 4)",
            "UPDATE OR IGNORE members SET team_id = 10 WHERE team_id = 11",
        ],
    };
    for statement in ignoring {
        refuses(statement, conn);
    }
    database.assert_agrees();
}

#[test]
fn a_deleted_or_moved_row_frees_a_place() {
    let database = teams(&[2, 2]);
    let conn = &mut open(&database);
    conn.run("INSERT INTO members VALUES (10, 1), (10, 2)");
    for (user, statement) in [
        (3, "DELETE FROM members WHERE user_id = 1"),
        (4, "UPDATE members SET team_id = 11 WHERE user_id = 2"),
        (5, "UPDATE teams SET capacity = 3 WHERE id = 10"),
    ] {
        assert_eq!(join(10, user, conn), Ok(false));
        conn.run(statement);
        assert_eq!(join(10, user, conn), Ok(true), "{statement}");
    }
    assert_eq!(members_of(10, conn), 3);
    assert_eq!(members_of(11, conn), 1);
    database.assert_agrees();
}

#[test]
fn a_limit_below_the_count_is_refused() {
    let database = teams(&[2, 2]);
    let conn = &mut open(&database);
    conn.run("INSERT INTO members VALUES (10, 1), (10, 2)");
    let lower = sql_query("UPDATE teams SET capacity = 1 WHERE id >= 10").execute(conn);
    let error = lower.unwrap_err().to_string();
    assert!(error.contains("team_is_full"), "{error}");
    let lowered = "SELECT COUNT(*) FROM teams WHERE capacity = 1";
    assert_eq!(number(lowered, conn), 0);
}

/// PostgreSQL continues a transaction after an error only if the statement is in a nested one.
#[test]
fn a_transaction_goes_on_after_a_refused_row() {
    let database = teams(&[1, 1]);
    let conn = &mut open(&database);
    let joined = conn.transaction(|conn| {
        let first = join(10, 1, conn)?;
        let insert = sql_query("INSERT INTO members VALUES (10, 2)");
        let refused = conn.transaction(|conn| insert.execute(conn));
        assert!(refused.unwrap_err().to_string().contains(full()));
        Ok::<_, diesel::result::Error>([first, join(11, 2, conn)?])
    });
    assert_eq!(joined, Ok([true, true]));
    assert_eq!([10, 11].map(|team| members_of(team, conn)), [1, 1]);
    database.assert_agrees();
}
