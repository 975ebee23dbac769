use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use blog::db::{Database, Pool};
use blog::models::{Article, Counts};
use blog::schema::article_counters;
use blog::server;
use chrono::{NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::HasCounters;
use tower::ServiceExt;

use crate::database::{PATIENCE, TestDatabase};

/// A blog on a database of its own, asked without a network.
pub struct Blog {
    router: Router,
    pub pool: Pool,
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
        Blog::with_pool(|database| {
            diesel::r2d2::Pool::builder()
                .max_size(connections)
                .min_idle(Some(1))
                .connection_timeout(PATIENCE)
                .build_unchecked(database)
        })
    }

    pub fn with_pool(pool: impl FnOnce(Database) -> Pool) -> Self {
        let database = TestDatabase::new();
        drop(database.connection());
        let pool = pool(database.database());
        Blog {
            router: server::router(pool.clone()),
            pool,
            database,
        }
    }

    pub fn article(&self, title: &str) -> i64 {
        Article::publish(title, "Text", &mut self.pool.get().unwrap()).unwrap()
    }

    pub fn add_views(&self, id: i64, number: i64, on: NaiveDate) {
        Article::increment(article_counters::views)
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

    pub async fn request(
        &self,
        method: Method,
        path: &str,
        visitor: Option<&str>,
        form: &str,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(visitor) = visitor {
            // A browser sends the cookies of other programs on the host too.
            request = request.header(header::COOKIE, format!("other=1; visitor={visitor}"));
        }
        let request = request.body(Body::from(form.to_owned())).unwrap();
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
