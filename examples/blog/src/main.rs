//! The command line of the blog.

use anyhow::Context;
use blog::server::{self, App};
use blog::{db, sample};
use clap::Parser;
use clap::builder::NonEmptyStringValueParser;
use tokio::net::TcpListener;

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
    /// The password of the button that merges. Without one, only clients on this machine have it.
    #[arg(long, env, hide_env_values = true)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    admin_password: Option<String>,
    /// Begin with an empty blog, without the sample articles.
    #[arg(long)]
    empty: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    log.init();
    let options = Options::parse();
    let pool = db::open(&options.database_url)?;
    if !options.empty && sample::fill(&mut *pool.get()?)? {
        println!("The blog was empty. It has a year of sample data now.");
    }
    let address = &options.listen;
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| {
        format!("cannot listen on {address}; choose another address with --listen")
    })?;
    println!("http://{}", listener.local_addr()?);
    server::serve(listener, App::new(pool, options.admin_password)?).await
}
