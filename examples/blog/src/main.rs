//! The command line of the blog.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use blog::Thousands;
use blog::db::{AnyConnection, Database};
use blog::import::{Summary, import_excerpt, import_log};
use blog::maintain::{self, Maintained};
use blog::server::{self, App, Limits};
use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// A small blog that counts its views, likes and comments.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// postgres://…, mysql://…, or the file of an SQLite database.
    // Its value is hidden, because --help would show the password.
    #[arg(
        long,
        env,
        hide_env_values = true,
        global = true,
        default_value = "blog.sqlite"
    )]
    database_url: String,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the blog. This is the default command.
    Serve {
        /// The address to listen on.
        #[arg(long, default_value = DEFAULT_ADDRESS)]
        listen: String,
        #[command(flatten)]
        limits: Limits,
    },
    /// Count the page views of an access log, a CSV of time,method,path,status.
    ///
    /// Lines that were counted before are not counted again.
    ImportLog {
        /// The log.
        file: PathBuf,
        /// The number of lines that one transaction counts.
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        batch: u32,
    },
    /// Merge the counts of past days into fewer rows, and update the list of the most read
    /// articles.
    ///
    /// A running server does this once an hour.
    Maintain,
}

const DEFAULT_ADDRESS: &str = "127.0.0.1:3000";

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("blog: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let database = Database::from_url(&cli.database_url)?;
    let mut conn = database.migrated()?;
    match cli.command {
        None => serve(database, conn, DEFAULT_ADDRESS, Limits::default()),
        Some(Command::Serve { listen, limits }) => serve(database, conn, &listen, limits),
        Some(Command::ImportLog { file, batch }) => import(&file, batch as usize, &mut conn),
        Some(Command::Maintain) => maintain(&mut conn),
    }
}

fn serve(database: Database, mut conn: AnyConnection, address: &str, limits: Limits) -> Result<()> {
    if let Some(summary) = import_excerpt(&mut conn)? {
        tracing::info!(
            views = summary.views,
            articles = summary.new_articles,
            "counted the excerpt of an access log that comes with this blog"
        );
    }
    drop(conn);

    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot serve on {address}; `blog serve --listen` chooses another address")
        })?;
        println!("blog: http://{}", listener.local_addr()?);
        let app = App::new(database)?;
        // Runs until the server has stopped.
        let _compactor = maintain::in_background(app.writers.clone())?;
        server::serve(listener, app, limits).await?;
        Ok(())
    });
    // Does not wait for statements that wait for a lock.
    runtime.shutdown_background();
    served
}

fn import(path: &Path, batch: usize, conn: &mut AnyConnection) -> Result<()> {
    let cannot_read = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(cannot_read)?;
    let bytes = file.metadata().with_context(cannot_read)?.len();
    let bar = ProgressBar::new(bytes).with_style(ProgressStyle::with_template(
        "{wide_bar} {percent:>3}%  {bytes} of {total_bytes}  {eta} left",
    )?);

    let log = BufReader::new(bar.wrap_read(file));
    let skipped = |line, reason: &str| bar.suspend(|| eprintln!("line {line}: {reason}"));
    let summary = import_log(log, batch, conn, skipped);
    bar.finish_and_clear();
    print_summary(&summary.with_context(|| format!("cannot import {}", path.display()))?);
    Ok(())
}

fn maintain(conn: &mut AnyConnection) -> Result<()> {
    let bar = ProgressBar::new(0).with_style(ProgressStyle::with_template(
        "{wide_bar} {percent:>3}%  {human_pos} of {human_len} rows  {eta} left",
    )?);
    let maintained = maintain::maintain(conn, |so_far| {
        bar.set_length(so_far.merged + so_far.left);
        bar.set_position(so_far.merged);
    });
    bar.finish_and_clear();
    let Maintained { compacted, totals } = maintained.context("cannot maintain the database")?;
    println!("{compacted}");
    println!("new totals of views: {}", Thousands(i64::try_from(totals)?));
    Ok(())
}

fn print_summary(summary: &Summary) {
    for (number, what) in [
        (summary.lines, "lines"),
        (summary.counted_before, "counted before"),
        (summary.skipped, "malformed, skipped"),
        (summary.views, "views counted"),
        (summary.new_articles, "new articles"),
    ] {
        println!("{:>9} {what}", Thousands(number));
    }
    if summary.lines == summary.counted_before {
        println!("All lines were counted before.");
    }
}
