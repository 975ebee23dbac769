//! A server that can be killed and started again.

use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};

#[derive(Debug)]
pub struct Server {
    command: String,
    process: Mutex<Child>,
}

impl Server {
    /// Starts the server. The shell command has to end in an `exec` of the server.
    pub fn run(command: String) -> Result<Self> {
        let process = Mutex::new(start(&command)?);
        Ok(Server { command, process })
    }

    /// Starts the server if it has ended. A server can end while it starts, because processes of
    /// the killed one are still there.
    pub fn start_again(&self) -> Result<()> {
        let mut process = self.process.lock().expect("no thread panics");
        if process.try_wait()?.is_some() {
            *process = start(&self.command)?;
        }
        Ok(())
    }

    /// Kills the server and its processes with SIGKILL.
    pub fn kill(&self) -> Result<()> {
        let mut process = self.process.lock().expect("no thread panics");
        let id = process.id().to_string();
        // A stopped server starts no more processes, so that the list is complete.
        signal("-STOP", [id.as_str()])?;
        let children = Command::new("pgrep").args(["-P", &id]).output();
        process.kill()?;
        let children = String::from_utf8(children.context("cannot run pgrep")?.stdout)?;
        // Some of them can have ended.
        let _ = signal("-KILL", children.split_whitespace());
        process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn start(command: &str) -> Result<Child> {
    Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the server")
}

/// Sends a signal to processes.
fn signal<'a>(signal: &str, processes: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let status = Command::new("kill")
        .arg(signal)
        .args(processes)
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "cannot send {signal} to the server");
    Ok(())
}
