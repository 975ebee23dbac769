//! Pages while a view cannot be counted, for example because another program holds a lock.

use std::sync::Arc;

use axum::http::StatusCode;
use blog::db::{AnyConnection, Database};
use blog::schema::articles;
use diesel::connection::{Connection, TransactionManager};
use diesel::prelude::*;
use tokio::task::JoinSet;

use crate::visit::Blog;

type Transactions = <AnyConnection as Connection>::TransactionManager;

/// Locks all articles, and on SQLite the database, until the connection is dropped.
fn lock(blog: &Blog) -> AnyConnection {
    let mut conn = blog.database.connection();
    Transactions::begin_transaction(&mut conn).unwrap();
    diesel::delete(articles::table).execute(&mut conn).unwrap();
    conn
}

#[tokio::test]
async fn pages_are_shown_while_views_wait_and_the_views_are_counted_later() {
    let blog = Arc::new(Blog::new());
    let id = blog.article("Title");
    let lock = lock(&blog);

    let mut readers = JoinSet::new();
    for _ in 0..12 {
        let blog = Arc::clone(&blog);
        readers.spawn(async move { blog.get(&format!("/articles/{id}")).await.status });
    }
    assert_eq!(readers.join_all().await, [StatusCode::OK; 12]);
    assert_eq!(blog.get("/").await.status, StatusCode::OK);

    drop(lock);
    assert_eq!(blog.counts(id).views, 12);
}

#[tokio::test]
async fn a_view_that_comes_when_too_many_wait_is_not_counted() {
    let blog = Blog::with_waiting(3);
    let ids = ["1", "2", "3", "4", "5"].map(|title| blog.article(title));
    for id in ids {
        let page = blog.get(&format!("/articles/{id}")).await;
        assert_eq!(page.status, StatusCode::OK);
    }
    assert_eq!(ids.map(|id| blog.counts(id).views), [1, 1, 1, 0, 0]);
}

#[tokio::test]
async fn pages_are_shown_while_forms_wait() {
    let blog = Arc::new(Blog::new());
    let id = blog.article("Title");
    let lock = lock(&blog);

    let mut authors = JoinSet::new();
    for _ in 0..12 {
        let blog = Arc::clone(&blog);
        let path = format!("/articles/{id}/comments");
        authors.spawn(async move { blog.post(&path, "body=Hello").await.status });
    }
    for path in ["/", &format!("/articles/{id}")] {
        assert_eq!(blog.get(path).await.status, StatusCode::OK);
    }

    drop(lock);
    assert_eq!(authors.join_all().await, [StatusCode::SEE_OTHER; 12]);
}

#[tokio::test]
async fn pages_are_shown_without_a_connection_to_count_on() {
    let blog = Blog::that_counts_on(Database::from_url("no/such/folder/blog.sqlite").unwrap());
    let id = blog.article("Title");
    let page = blog.get(&format!("/articles/{id}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(blog.views.flush().error.is_some());
    assert_eq!(blog.counts(id).views, 0);
}
