//! A program that is asked over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// The program is asked to stop after so many answers. The clients go on until it does not answer.
const ANSWERS: usize = 1_000;

/// How an answer begins that acknowledges a count.
pub const OK: &str = "HTTP/1.1 200";

/// Starts the program with sixteen clients, and returns after it has ended. A client has the program's address,
/// and sends something for each answer. Returns what the clients return.
pub fn ask_sixteen<T: Send>(
    program: &str,
    database_url: &str,
    client: impl Fn(&str, &Sender<()>) -> T + Sync,
) -> Vec<T> {
    let mut program = Program::start(program, database_url);
    let (send, answers) = channel();
    let told = thread::scope(|scope| {
        let clients: Vec<_> = (0..16)
            .map(|_| {
                let (address, send, client) = (&program.address, send.clone(), &client);
                scope.spawn(move || client(address, &send))
            })
            .collect();
        drop(send);
        assert_eq!(answers.iter().take(ANSWERS).count(), ANSWERS);
        program.terminate();
        drop(answers);
        let told = clients.into_iter().map(|client| client.join().unwrap());
        told.collect()
    });
    assert!(program.process.wait().unwrap().success());
    told
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
