use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, Method, Request, StatusCode, header};
use blog::db::{AnyConnection, Database, Pool};
use blog::models::{Article, Counts};
use blog::schema::article_counters;
use blog::server::{self, App};
use blog::views::{self, Views};
use chrono::{NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::dsl::CounterBufferBuilder;
use diesel_counters::prelude::*;
use tower::ServiceExt;

use crate::database::{PATIENCE, TestDatabase};

/// A blog on a database of its own, asked without a network.
pub struct Blog {
    router: Router,
    pub pool: Pool,
    pub views: Arc<Views>,
    // The last field: its drop takes the database away.
    pub database: TestDatabase,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Blog {
    pub fn new() -> Self {
        Blog::with_connections(4)
    }

    /// Nobody is turned away for having waited: the machine may be busy.
    pub fn with_connections(connections: u32) -> Self {
        Blog::with_pool(|database| patient(connections, database))
    }

    /// The views of up to so many articles can wait.
    pub fn with_waiting(most_waiting: usize) -> Self {
        Blog::with_views(
            |database| patient(4, database),
            |writers| views::buffer(writers).max_keys(most_waiting),
        )
    }

    pub fn with_pool(pool: impl Fn(Database) -> Pool) -> Self {
        Blog::with_views(pool, views::buffer)
    }

    /// Counts the views on another database.
    pub fn that_counts_on(other: Database) -> Self {
        Blog::with_views(
            |database| patient(4, database),
            |_| views::buffer(other.writers()),
        )
    }

    /// Views are written only by `counts`.
    fn with_views(
        pool: impl Fn(Database) -> Pool,
        views: impl FnOnce(Pool) -> CounterBufferBuilder<AnyConnection>,
    ) -> Self {
        let database = TestDatabase::new();
        drop(database.connection());
        let writers = pool(database.database());
        let never = Duration::from_secs(1_000_000);
        let app = App {
            readers: pool(database.database()),
            views: Arc::new(views(writers.clone()).every(never).start().unwrap()),
            writers,
        };
        Blog {
            router: server::router(app.clone()),
            pool: app.readers,
            views: app.views,
            database,
        }
    }

    pub fn article(&self, title: &str) -> i64 {
        Article::publish(title, "Text", &mut self.pool.get().unwrap()).unwrap()
    }

    pub fn add_views(&self, id: i64, number: i64, on: NaiveDate) {
        increment(article_counters::views)
            .of(id)
            .by(number)
            .on(on)
            .execute(&mut self.pool.get().unwrap())
            .unwrap();
    }

    pub fn add_likes(&self, id: i64, number: i64) {
        let conn = &mut self.pool.get().unwrap();
        for number in 0..number {
            Article::like(id, &visitor(number), conn).unwrap();
        }
    }

    pub fn counts(&self, id: i64) -> Counts {
        self.views.flush();
        let conn = &mut self.pool.get().unwrap();
        Article::find(id, conn).unwrap().counts(conn).unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path, None, "").await
    }

    pub async fn post(&self, path: &str, form: &str) -> Answer {
        self.request(Method::POST, path, None, form).await
    }

    pub async fn get_as(&self, visitor: &str, path: &str) -> Answer {
        self.request(Method::GET, path, Some(visitor), "").await
    }

    pub async fn post_as(&self, visitor: &str, path: &str) -> Answer {
        self.request(Method::POST, path, Some(visitor), "").await
    }

    pub async fn get_with(&self, headers: &[(&str, &str)], path: &str) -> Answer {
        self.request_with(Method::GET, headers, path, "").await
    }

    /// Posts a form with these headers, which tell where it comes from.
    pub async fn post_with(&self, headers: &[(&str, &str)], path: &str, form: &str) -> Answer {
        self.request_with(Method::POST, headers, path, form).await
    }

    async fn request_with(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        path: &str,
        form: &str,
    ) -> Answer {
        let mut request = form_request(method, path, form);
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        self.send(request).await
    }

    pub async fn request(
        &self,
        method: Method,
        path: &str,
        visitor: Option<&str>,
        form: &str,
    ) -> Answer {
        let mut request = form_request(method, path, form);
        if let Some(visitor) = visitor {
            // A browser sends the cookies of other programs on the host too.
            let cookies = format!("other=1; visitor={visitor}").parse().unwrap();
            request.headers_mut().insert(header::COOKIE, cookies);
        }
        self.send(request).await
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self
            .router
            .clone()
            .oneshot(request)
            .await
            .unwrap()
            .into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.into()).unwrap(),
        }
    }
}

fn patient(connections: u32, database: Database) -> Pool {
    Pool::builder()
        .max_size(connections)
        .min_idle(Some(1))
        .connection_timeout(PATIENCE)
        .build_unchecked(database)
}

fn form_request(method: Method, path: &str, form: &str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()))
        .unwrap()
}

impl Answer {
    pub fn location(&self) -> &str {
        self.headers[header::LOCATION].to_str().unwrap()
    }

    pub fn shows_counts(&self, views: i64, likes: i64, comments: i64) -> bool {
        [("Views", views), ("Likes", likes), ("Comments", comments)]
            .iter()
            .all(|(name, count)| {
                let shown = format!("<dt>{name}</dt><dd>{count}</dd>");
                self.body.contains(&shown)
            })
    }
}

/// The id of a visitor, as in a cookie.
pub fn visitor(number: i64) -> String {
    format!("{number:032x}")
}

pub fn today() -> NaiveDate {
    Utc::now().date_naive()
}
