//! Where and when a run was.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use serde::Serialize;

#[derive(Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory: String,
    pub os: String,
    pub kernel: String,
    pub date: String,
    pub git_commit: String,
}

impl Machine {
    pub fn this() -> Self {
        Machine {
            cpu: value_in("/proc/cpuinfo", "model name", ':'),
            cores: available_parallelism().map_or(1, |cores| cores.get()),
            memory: gibibytes(&value_in("/proc/meminfo", "MemTotal", ':')),
            os: value_in("/etc/os-release", "PRETTY_NAME", '='),
            kernel: output("uname", &["-sr"]),
            date: chrono::Utc::now().format("%Y-%m-%d %H:%M UTC").to_string(),
            git_commit: output("git", &["describe", "--always", "--dirty"]),
        }
    }
}

const UNKNOWN: &str = "unknown";

/// The value of a line `key: value`, in a file that only Linux has.
fn value_in(file: &str, key: &str, separator: char) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(name, _)| name.trim() == key)
        .map_or(UNKNOWN, |(_, value)| value.trim().trim_matches('"'))
        .to_owned()
}

/// `24684096 kB` is 23.5 GiB.
fn gibibytes(kibibytes: &str) -> String {
    match kibibytes.trim_end_matches(" kB").parse::<f64>() {
        Ok(number) => format!("{:.1} GiB", number / 1024.0 / 1024.0),
        Err(_) => UNKNOWN.to_owned(),
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => UNKNOWN.to_owned(),
    }
}
