//! A blog on a database of its own, asked without a network.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fmt, fs, process};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderName, Method, Request, StatusCode, header};
pub use blog::article::today;
use blog::article::{Article, Counts};
use blog::db::{Conn, Pool};
use blog::schema::article_counters::{comments, likes, views};
use blog::schema::articles;
use blog::server::{self, App};
use chrono::Utc;
use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::prelude::*;
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection};
use diesel_counters::prelude::*;
use tower::ServiceExt;

/// A browser's name. Views of programs are not counted.
pub const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

/// The page of an article with the title `Title`.
pub const PATH: &str = "/articles/title";

/// A database that ends with its test.
pub struct TestDatabase {
    pub url: String,
    name: String,
    /// The server that it is on; none for SQLite.
    server: Option<String>,
}

impl TestDatabase {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("blog_test_{}_{number}", process::id());
        let server = match cfg!(any(feature = "postgres", feature = "mysql")) {
            true => Some(env::var("TEST_DATABASE_URL").expect("TEST_DATABASE_URL names a server")),
            false => None,
        };
        let url = match &server {
            Some(server) => {
                on_server(server, &format!("DROP DATABASE IF EXISTS {name}"));
                on_server(server, &format!("CREATE DATABASE {name}"));
                let (address, _) = server.rsplit_once('/').unwrap();
                format!("{address}/{name}")
            }
            None => {
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
                folder.join(&name).display().to_string()
            }
        };
        TestDatabase { url, name, server }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        match &self.server {
            Some(server) if server.starts_with("postgres") => {
                on_server(server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
            }
            Some(server) => on_server(server, &format!("DROP DATABASE {}", self.name)),
            None => {
                for end in ["", "-shm", "-wal"] {
                    let _ = fs::remove_file(format!("{}{end}", self.url));
                }
            }
        }
    }
}

/// Begins a transaction that others wait for if they write a comment or a count. Nobody who reads does.
pub fn lock(url: &str) -> Conn {
    let mut conn = Conn::establish(url).unwrap();
    conn.batch_execute(match cfg!(any(feature = "postgres", feature = "mysql")) {
        true => "BEGIN; SELECT id FROM articles FOR UPDATE",
        false => "PRAGMA busy_timeout = 60000; BEGIN IMMEDIATE",
    })
    .unwrap();
    conn
}

fn on_server(url: &str, sql: &str) {
    Conn::establish(url).unwrap().batch_execute(sql).unwrap();
}

pub struct Blog {
    router: Router,
    pub app: App,
    pub pool: Pool,
    // The last field: its drop takes the database away.
    pub database: TestDatabase,
}

type BeforeQuery = dyn Fn(&str) + Send + Sync;

struct Watched(Arc<BeforeQuery>);

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl CustomizeConnection<Conn, r2d2::Error> for Watched {
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), r2d2::Error> {
        let f = Arc::clone(&self.0);
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { query, .. } = event {
                f(&query.to_string());
            }
        });
        Ok(())
    }
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Blog {
    pub fn new() -> Self {
        let database = TestDatabase::new();
        let app = App::open(&database.url).unwrap();
        Blog {
            router: server::router(app.clone()),
            pool: app.writes.clone(),
            app,
            database,
        }
    }

    /// Has the connections of pages call this with each query, before they run it.
    pub fn before_each_read(&mut self, f: impl Fn(&str) + Send + Sync + 'static) {
        let manager = ConnectionManager::new(&self.database.url);
        let watched = Box::new(Watched(Arc::new(f)));
        let pool = Pool::builder().connection_customizer(watched);
        self.app.reads = pool.build(manager).unwrap();
        self.router = server::router(self.app.clone());
    }

    pub fn article(&self, title: &str) -> Article {
        let conn = &mut self.pool.get().unwrap();
        let slug = title.to_lowercase().replace(' ', "-");
        let article = (
            articles::slug.eq(&slug),
            articles::title.eq(title),
            articles::author.eq("Ann"),
            articles::body.eq("Text"),
            articles::created_at.eq(Utc::now().naive_utc()),
        );
        let article = article.insert_into(articles::table);
        article.execute(conn).unwrap();
        Article::find(&slug, conn).unwrap()
    }

    /// The counts of an article that are written.
    pub fn counts(&self, article: &Article) -> Counts {
        self.app.views.flush();
        let conn = &mut self.pool.get().unwrap();
        let counts = counter_value((views, likes, comments)).of(article.id);
        counts.get_result(conn).unwrap()
    }

    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.request(Method::GET, path, headers, "").await
    }

    pub async fn post(&self, path: &str, headers: &[(&str, &str)], form: &str) -> Answer {
        self.request(Method::POST, path, headers, form).await
    }

    pub async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        form: &str,
    ) -> Answer {
        let peer = "203.0.113.7:40000";
        self.from(peer, method, path, headers, form).await
    }

    /// Asks as the client with this address.
    pub async fn from(
        &self,
        peer: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        form: &str,
    ) -> Answer {
        let peer: SocketAddr = peer.parse().unwrap();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .extension(ConnectInfo(peer))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form.to_owned()))
            .unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.into()).unwrap(),
        }
    }

    /// Returns the cookie of a new visitor.
    pub async fn visitor(&self, article: &Article) -> String {
        let path = format!("/articles/{}", article.slug);
        let answer = self.post(&path, &[], "action=unlike").await;
        let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
}
