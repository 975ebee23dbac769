//! The `diesel-counters` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    diesel_counters_cli::main()
}
