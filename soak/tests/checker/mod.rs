//! The checker finds nothing in this crate, and finds each fault that is planted.

use std::process::{Command, Output};

/// Runs `soak` in a folder of its own, with this fault.
fn soak(fault: Option<&str>, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let url = crate::url().unwrap_or_else(|| folder.path().join("soak.db").display().to_string());
    Command::new(env!("CARGO_BIN_EXE_soak"))
        .current_dir(&folder)
        .args([&url, "--session", crate::SESSION])
        .args(fault.iter().flat_map(|fault| ["--fault", fault]))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn no_count_is_lost_or_doubled() {
    let output = soak(None, &["--seconds", "15", "--client-seconds", "5"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(printed.contains(" 0 lost or doubled"), "{printed}");
    println!("{printed}");
}

/// The fault has to be found before the time is over, which is long after it is found.
fn finds(fault: &str) {
    let arguments = [
        "--seconds",
        "600",
        "--cut-down-seconds",
        "10",
        "--threads",
        "8",
        "--kill-every",
        "1",
    ];
    let output = soak(Some(fault), &arguments);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed.contains("WRONG"), "{printed}");
    assert!(printed.contains("The same history again"), "{printed}");
    print!("{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_merge_that_locks_nothing_is_found() {
    finds("merge-without-locks");
}

#[test]
fn a_recount_that_deletes_first_is_found() {
    finds("recount-deletes-first");
}

#[test]
fn a_delete_in_one_statement_is_found() {
    if crate::HAS_SLOTS {
        finds("delete-in-one-statement"); // SQLite has one writer: there it is right.
    }
}

#[test]
fn an_increment_outside_of_its_transaction_is_found() {
    finds("count-outside-of-the-transaction");
}

#[test]
fn a_row_that_a_kill_lost_is_found() {
    finds("row-lost-after-a-kill");
}
