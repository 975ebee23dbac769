//! The checker finds nothing in this crate, and finds each fault that is planted.

use std::process::{Command, Output};
use std::sync::PoisonError;

/// Runs a history 100 times, and returns what was printed.
pub fn replay(history: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.json");
    std::fs::write(&file, history).unwrap();
    let replay = ["--replay", file.to_str().unwrap()];
    let output = soak(None, &[&replay, arguments].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A transaction with these steps, as JSON.
pub fn transaction(steps: &str) -> String {
    format!(r#"{{"Transaction":{{"isolation":"Default","steps":[{steps}],"fails":false}}}}"#)
}

#[test]
fn what_a_replay_left_is_not_taken_for_a_fault_of_clients() {
    let miscount = r#"{"Miscount":{"article":1,"comments":3}}"#;
    let count = r#"{"Count":{"article":7,"day":0,"views":5}}"#;
    let transaction = transaction(&[miscount, count].join(","));
    let history = format!(r#"[[{transaction},{{"Delete":7}}]]"#);
    replay(&history, &["--client-seconds", "1"]);
}

#[test]
fn each_comment_of_a_thread_can_be_deleted() {
    let comment = transaction(r#"{"Comment":{"article":1,"day":0,"views":1}}"#);
    let uncomment = transaction(r#""Uncomment""#);
    let history = [
        &comment, &comment, &comment, &uncomment, &uncomment, &uncomment,
    ];
    let printed = replay(
        &format!("[[{}]]", history.map(String::as_str).join(",")),
        &[],
    );
    // A comment counts views too.
    assert!(printed.contains(" 900 increments"), "{printed}");
}

/// Runs `soak` in a folder of its own, with this fault.
fn soak(fault: Option<&str>, arguments: &[&str]) -> Output {
    let session = ["--session", crate::SESSION];
    run(&[], fault, &[&session, arguments].concat())
}

fn run(subcommand: &[&str], fault: Option<&str>, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let server = crate::interleave::SERVER.read();
    let _others = server.unwrap_or_else(PoisonError::into_inner);
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
    let again = format!("--fault {fault} --replay ");
    assert!(printed.contains(&again), "{printed}");
    print!("{}", String::from_utf8_lossy(&output.stderr));
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
fn a_recount_that_does_not_wait_for_another_one_is_found() {
    finds("recount-without-a-lock");
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

#[test]
fn killed_buffers_write_nothing_twice_and_lose_only_what_was_pending() {
    let output = run(&["buffered"], None, &["--kills", "10"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(printed.contains(" 0 lost or doubled"), "{printed}");
    println!("{printed}");
}

/// It is found within seconds: in most rounds of 25 kills.
fn finds_in_buffers(fault: &str, what: &str) {
    let output = run(&["buffered"], Some(fault), &[]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed.contains(what), "{printed}");
}

#[test]
fn a_buffer_that_writes_again_without_asking_is_found() {
    // SQLite answers each COMMIT.
    if crate::url().is_some() {
        finds_in_buffers("without-table", " times");
    }
}

#[test]
fn a_written_row_of_a_buffer_that_is_lost_is_found() {
    finds_in_buffers("row-lost", " was written, and lost");
}
