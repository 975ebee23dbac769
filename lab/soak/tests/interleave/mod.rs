//! The enumerator finds no wrong count in this crate, and finds each fault that is planted.

use std::process::{Command, Output};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Written while orders are run: MariaDB says how many sessions of the server wait, but not which.
static SERVER: RwLock<()> = RwLock::new(());

/// Waits while orders are run on the server, if they have to be alone there.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    SERVER.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `soak interleave` on the database, or on a new file.
fn interleave(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let alone = || SERVER.write().unwrap_or_else(PoisonError::into_inner);
    let _alone = crate::IS_MYSQL.then(alone);
    let file = || folder.path().join("interleave.db").display().to_string();
    Command::new(env!("CARGO_BIN_EXE_soak"))
        .arg("interleave")
        .arg(crate::url().unwrap_or_else(file))
        .args(["--seed", "1"])
        .args(arguments)
        .output()
        .unwrap()
}

fn is_right(arguments: &[&str]) {
    let output = interleave(arguments);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{output:?}");
    println!("{printed}");
}

#[test]
fn no_order_of_two_operations_gives_a_wrong_count() {
    // Two orders of 200 pairs, always the same ones. `scripts/interleave` runs many of all pairs.
    is_right(&["--limit", "1", "--per-level", "400"]);
}

#[test]
fn no_order_of_three_operations_gives_a_wrong_count() {
    is_right(&["--at-once", "3", "--limit", "1", "--per-level", "60"]);
}

#[test]
fn no_order_of_operations_at_different_levels_gives_a_wrong_count() {
    // SQLite has one level.
    if crate::HAS_SLOTS {
        is_right(&["--level", "beside", "--limit", "1", "--per-level", "10"]);
    }
}

#[test]
fn an_operation_of_another_database_is_refused() {
    let is_postgres = crate::HAS_SLOTS && !crate::IS_MYSQL;
    if is_postgres {
        is_right(&["--only", "counting,set", "--limit", "1", "--per-level", "1"]);
        return;
    }
    for which in [
        ["--only", "counting,set"],
        ["--replay", "counting:own,set:own one-row slots AB"],
    ] {
        let output = interleave(&which);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            printed.contains("counting runs on PostgreSQL only"),
            "{printed}"
        );
    }
}

/// The fault has to be found at one isolation level at least. Returns what was printed.
fn finds(fault: &str) -> String {
    let output = interleave(&["--fault", fault, "--limit", "100"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}{output:?}");
    assert!(printed.contains(" WRONG\n"), "{printed}");
    println!("{printed}");
    printed
}

/// What follows `before` in what was printed, up to a quotation mark.
fn quoted<'a>(before: &str, printed: &'a str) -> &'a str {
    let (_, after) = printed.split_once(before).unwrap();
    after.split('"').next().unwrap()
}

#[test]
fn an_order_that_was_printed_is_wrong_again() {
    let printed = finds("recount-deletes-first");
    let level = quoted("--level \"", &printed);
    let replay = quoted("--replay \"", &printed);
    let output = interleave(&["--level", level, "--replay", replay]);
    let again = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{again}");
    assert!(again.contains(replay), "{again}");
}

#[test]
fn a_command_that_takes_another_lock_is_found() {
    if crate::HAS_SLOTS {
        finds("command-under-another-lock"); // SQLite has one writer: there it is right.
    }
}

#[test]
fn a_sum_without_locks_is_found() {
    if crate::HAS_SLOTS && !crate::IS_MYSQL {
        finds("sum-without-locks"); // InnoDB reads the latest rows after it has waited.
    }
}

#[test]
fn a_recount_that_does_not_wait_for_another_one_is_found() {
    finds("recount-without-a-lock");
}

#[test]
fn a_deletion_that_locks_nothing_is_found() {
    if crate::HAS_SLOTS {
        finds("delete-without-a-lock");
    }
}

#[test]
fn a_merge_without_locks_is_found() {
    if crate::HAS_SLOTS {
        finds("merge-without-locks");
    }
}

#[test]
fn a_deletion_in_one_statement_is_found() {
    if crate::HAS_SLOTS {
        finds("delete-in-one-statement");
    }
}

#[test]
fn a_count_outside_of_its_transaction_is_found() {
    finds("count-outside-of-the-transaction");
}

#[test]
fn a_lost_row_is_found() {
    finds("row-lost");
}
