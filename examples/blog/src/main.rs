//! The command line of the blog.

use std::net::TcpListener;

use anyhow::Context;
use blog::sample;
use blog::server::{self, App};
use clap::Parser;
use clap::builder::NonEmptyStringValueParser;

/// A small blog that counts its views, likes and comments.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The file of the SQLite database, or the URL of the database that the blog was built for.
    #[arg(long, env, hide_env_values = true, default_value = "blog.sqlite")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    database_url: String,
    /// The address to listen on.
    #[arg(long, env, default_value = "127.0.0.1:3000")]
    listen: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    log.init();
    let options = Options::parse();
    let app = App::open(&options.database_url)?;
    if sample::fill(&mut *app.writes.get()?)? > 0 {
        println!("The blog was empty. It has two years of sample data now.");
    }
    let address = &options.listen;
    let listener = TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address}; choose another address with --listen")
    })?;
    listener.set_nonblocking(true)?;
    println!("http://{}", listener.local_addr()?);
    server::serve(listener, app).await
}
