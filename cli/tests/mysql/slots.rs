//! The variable of a session that chooses its slot.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;

use super::INSERT;
use crate::behaviour::triggers::{counted_too, open, tables};

/// Anybody can set a variable of its own session, and a pool gives the session to the next user.
#[test]
fn a_session_cannot_choose_a_slot_outside_of_the_table() {
    let database = tables(true);
    counted_too(&database, &["--count", "site_counters.likes"]);
    let mut faults = Vec::new();
    let numbers = [
        "-100",
        "-1",
        "'x'",
        "''",
        "NULL",
        "99999999999999",
        "-9223372036854775808",
        "18446744073709551615",
        "1.7",
        "-0.7",
        "1e300",
        "32767",
        "'7; DROP'",
        "REPEAT('x', 40000)",
        "x'ff'",
        "TRUE",
        "CURRENT_DATE",
    ];
    for number in numbers {
        let conn = &mut open(&database);
        conn.run(&format!("SET @diesel_counters_length = {number}"));
        for statement in [
            INSERT,
            "UPDATE article_likes SET article_id = 2",
            "DELETE FROM article_likes",
        ] {
            if let Err(error) = conn.batch_execute(statement) {
                faults.push(format!("{number}: {error} at {statement}"));
            }
        }
        for table in ["article_counters", "site_counters"] {
            let outside = format!("SELECT COUNT(*) FROM {table} WHERE slot NOT BETWEEN 1 AND 32");
            let outside = crate::behaviour::triggers::number(&outside, conn);
            if outside != 0 {
                faults.push(format!(
                    "{number}: {outside} rows of other slots in {table}"
                ));
            }
            conn.run(&format!("DELETE FROM {table}; DELETE FROM article_likes"));
        }
        conn.run("DELETE FROM site_counters; DELETE FROM article_counters");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
