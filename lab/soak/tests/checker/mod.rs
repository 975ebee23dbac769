//! The checker finds nothing in this crate, and finds each fault that is planted.

use std::process::{Command, Output};

/// Runs `soak` in a folder of its own, with this fault.
fn run(subcommand: &[&str], fault: Option<&str>, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let _others = crate::interleave::beside_others();
    let url = crate::url().unwrap_or_else(|| folder.path().join("soak.db").display().to_string());
    Command::new(env!("CARGO_BIN_EXE_soak"))
        .current_dir(&folder)
        .args(subcommand)
        .arg(&url)
        .args(fault.iter().flat_map(|fault| ["--fault", fault]))
        .args(arguments)
        .output()
        .unwrap()
}

fn is_right(subcommand: &[&str], arguments: &[&str]) {
    let output = run(subcommand, None, arguments);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let is_exact = [" 0 lost or doubled", " 0 doubled, and lost only by"];
    assert!(
        is_exact.iter().any(|says| printed.contains(says)),
        "{printed}"
    );
    println!("{printed}");
}

fn is_wrong(subcommand: &[&str], fault: &str, arguments: &[&str], what: &str) {
    let output = run(subcommand, Some(fault), arguments);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed.contains("WRONG"), "{printed}");
    assert!(printed.contains(what), "{printed}");
    print!("{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn no_count_is_lost_or_doubled() {
    is_right(&[], &["--seconds", "15", "--client-seconds", "5"]);
}

#[test]
fn sessions_at_another_isolation_level_are_right_too() {
    if !crate::HAS_SLOTS {
        return; // SQLite has one level.
    }
    let session = if crate::IS_MYSQL {
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    } else {
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
    };
    is_right(&[], &["--seconds", "5", "--session", session]);
}

/// The fault has to be found before the time is over, which is long after it is found.
fn finds(fault: &str) {
    let time = ["--seconds", "600", "--threads", "8", "--kill-every", "1"];
    is_wrong(&[], fault, &time, &format!("--fault {fault} --seed "));
}

#[test]
fn a_merge_that_locks_nothing_is_found() {
    if crate::HAS_SLOTS {
        finds("merge-without-locks"); // SQLite has one slot: there is nothing to merge.
    }
}

#[test]
fn a_recount_that_deletes_first_is_found() {
    finds("recount-deletes-first");
}

#[test]
fn an_increment_outside_of_its_transaction_is_found() {
    finds("count-outside-of-the-transaction");
}

#[test]
fn a_take_without_a_lock_is_found() {
    if crate::HAS_SLOTS {
        finds("take-without-a-lock"); // SQLite has one writer: there it is right.
    }
}

#[test]
fn a_refused_take_of_the_last_tickets_is_found() {
    finds("take-refuses-the-last");
}

#[test]
fn a_row_that_a_kill_lost_is_found() {
    finds("row-lost-after-a-kill");
}

#[test]
fn killed_buffers_write_nothing_twice_and_lose_only_what_was_pending() {
    is_right(&["buffered"], &["--kills", "10"]);
}

// The faults of buffers are found within seconds: in most rounds of 25 kills.

#[test]
fn a_buffer_that_writes_again_without_asking_is_found() {
    // SQLite answers each COMMIT.
    if crate::url().is_some() {
        is_wrong(&["buffered"], "counted-again", &[], " times");
    }
}

#[test]
fn a_written_row_of_a_buffer_that_is_lost_is_found() {
    is_wrong(&["buffered"], "row-lost", &[], " was written, and lost");
}
