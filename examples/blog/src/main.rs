//! Starts the blog. The README lists its two environment variables.

use std::env;
use std::net::TcpListener;

use anyhow::{Context, ensure};
use blog::sample;
use blog::server::{self, App};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let variable = |name, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let url = variable("DATABASE_URL", "blog.sqlite");
    let address = variable("LISTEN", "127.0.0.1:3000");
    ensure!(!url.is_empty(), "DATABASE_URL is empty");
    let app = App::open(&url)?;
    if sample::fill(&mut *app.writes.get()?)? > 0 {
        println!("The blog was empty. It has two years of sample data now.");
    }
    // Only the sample needs simulated readers. Other articles have real ones.
    let has_sample = sample::is_in(&mut *app.reads.get()?)?;
    app.sample.switch(has_sample);
    let listener = TcpListener::bind(&address);
    let listener = listener.with_context(|| format!("cannot listen on {address}: set LISTEN"))?;
    println!("http://{}", listener.local_addr()?);
    server::serve(listener, app).await
}
