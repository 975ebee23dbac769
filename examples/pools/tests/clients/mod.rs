//! Sixteen clients of a program, which is asked to stop while they ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// What the program has acknowledged.
#[derive(Debug, PartialEq)]
pub struct Counts {
    pub comments: i64,
    pub views: i64,
}

/// The program is asked to stop after so many answers. The clients go on until it does not answer.
const ANSWERS: usize = 1_000;

/// How an answer begins that acknowledges a count.
pub const OK: &str = "HTTP/1.1 200";

/// Starts the program, and returns after it has ended.
pub fn ask(program: &str, database_url: &str) -> Counts {
    let mut program = Program::start(program, database_url);
    let (send, answers) = channel();
    let counts = thread::scope(|scope| {
        let clients: Vec<_> = (0..16)
            .map(|_| {
                let (address, send) = (&program.address, send.clone());
                scope.spawn(move || client(address, &send))
            })
            .collect();
        drop(send);
        assert_eq!(answers.iter().take(ANSWERS).count(), ANSWERS);
        program.terminate();
        drop(answers);
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .fold([0, 0], |sum, counts| [0, 1].map(|i| sum[i] + counts[i]))
    });
    assert!(program.process.wait().unwrap().success());
    let [comments, views] = counts;
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

/// Returns the answer, or nothing if the program does not answer.
pub fn request(address: &str, head: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("{head}Host: {address}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    // It fails if the program resets the connection after its answer.
    let _ = stream.read_to_string(&mut answer);
    Some(answer).filter(|answer| answer.contains("\r\n"))
}

pub struct Program {
    process: Child,
    pub address: String,
}

impl Program {
    pub fn start(program: &str, database_url: &str) -> Self {
        let mut process = Command::new(program)
            .env("DATABASE_URL", database_url)
            .envs([("LISTEN", "127.0.0.1:0"), ("ROCKET_PORT", "0")])
            .env("ROCKET_CLI_COLORS", "false")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut lines = output.lines().map(Result::unwrap);
        let address = lines.find_map(|line| Some(line.split_once("http://")?.1.to_owned()));
        // Its output must be read, or it waits.
        thread::spawn(|| lines.for_each(drop));
        let address = address.expect("the program has printed its address");
        Program { process, address }
    }

    fn terminate(&self) {
        let pid = self.process.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
