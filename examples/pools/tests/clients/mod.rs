//! Sixteen clients of a program, which is asked to stop while they ask it.

mod program;

use std::sync::mpsc::Sender;
use std::{fs, process};

pub use program::*;

/// A name for an SQLite database, whose files are removed at the end of the test.
pub struct File(pub String);

impl File {
    pub fn new(folder: &str, name: &str) -> Self {
        File(format!("{folder}/{name}_{}", process::id()))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-shm", "-wal"] {
            let _ = fs::remove_file(format!("{}{end}", self.0));
        }
    }
}

/// What the program has acknowledged.
#[derive(Debug, PartialEq)]
pub struct Counts {
    pub comments: i64,
    pub views: i64,
}

/// Starts the program, and returns after it has ended.
pub fn ask(program: &str, database_url: &str) -> Counts {
    let counts = ask_sixteen(program, database_url, client).into_iter();
    let [comments, views] = counts.fold([0, 0], |sum, counts| [0, 1].map(|i| sum[i] + counts[i]));
    Counts { comments, views }
}

/// Comments and reads in turns. Returns the numbers of comments and of views that were acknowledged.
fn client(address: &str, answers: &Sender<()>) -> [i64; 2] {
    let mut counts = [0, 0];
    let mut turn = 0;
    while let Some(answer) = [comment, view][turn](address) {
        assert!(answer.starts_with(OK), "{answer}");
        counts[turn] += 1;
        turn = 1 - turn;
        let _ = answers.send(());
    }
    counts
}

pub fn comment(address: &str) -> Option<String> {
    let head = "POST /articles/1/comments HTTP/1.1\r\nContent-Length: 5\r\n";
    request(address, head, "Nice!")
}

fn view(address: &str) -> Option<String> {
    request(address, "GET /articles/1 HTTP/1.1\r\n", "")
}
