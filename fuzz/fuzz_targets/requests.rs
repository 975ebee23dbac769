//! No request makes the blog fail, and its counts are those of the requests that it accepted.

#![no_main]

use std::cell::RefCell;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use blog::db::{AnyConnection, Database};
use blog::models::Article;
use blog::schema::{article_counters, article_likes, comments};
use blog::server;
use blog::server::App;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;
use tower::ServiceExt;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    address: Address<'a>,
    cookie: &'a str,
    body: &'a [u8],
}

#[derive(Debug, Arbitrary)]
enum Address<'a> {
    Any { post: bool, path: &'a str },
    List { query: &'a str },
    Publish,
    Show,
    Comment,
    Like,
    Unlike,
}

struct Blog {
    runtime: Runtime,
    router: Router,
    conn: AnyConnection,
    article: i64,
}

thread_local! {
    static BLOG: RefCell<Blog> = RefCell::new(new_blog());
}

fn new_blog() -> Blog {
    let file = std::env::temp_dir().join(format!("fuzz-requests-{}.sqlite", std::process::id()));
    let database = Database::from_url(file.to_str().unwrap()).unwrap();
    let mut conn = database.migrated().unwrap();
    let article = Article::publish("Title", "Text", &mut conn).unwrap();
    Blog {
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap(),
        router: server::router(App::new(database).expect("threads can be created")),
        conn,
        article,
    }
}

fuzz_target!(|input: Input| {
    BLOG.with_borrow_mut(|blog| {
        let id = blog.article;
        let is_comment = matches!(input.address, Address::Comment);
        let (method, path) = match input.address {
            Address::Any { post: false, path } => (Method::GET, path.to_owned()),
            Address::Any { post: true, path } => (Method::POST, path.to_owned()),
            Address::List { query } => (Method::GET, format!("/?{query}")),
            Address::Publish => (Method::POST, "/articles".to_owned()),
            Address::Show => (Method::GET, format!("/articles/{id}")),
            Address::Comment => (Method::POST, format!("/articles/{id}/comments")),
            Address::Like => (Method::POST, format!("/articles/{id}/likes")),
            Address::Unlike => (Method::POST, format!("/articles/{id}/likes/delete")),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("cookie", input.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(input.body.to_vec()));
        // Not every text is a header or an address.
        let Ok(request) = request else { return };
        let before = stored_comments(&mut blog.conn);
        let response = blog.router.clone().oneshot(request);
        let status = blog.runtime.block_on(response).unwrap().status();
        assert!(!status.is_server_error(), "{status}");

        let comments = stored_comments(&mut blog.conn);
        if is_comment {
            assert_eq!(
                comments - before,
                i64::from(status == StatusCode::SEE_OTHER)
            );
        }
        let likes: i64 = article_likes::table
            .count()
            .get_result(&mut blog.conn)
            .unwrap();
        let counted: (i64, i64) = Article::find(id, &mut blog.conn)
            .unwrap()
            .counter_value(
                (article_counters::comments, article_counters::likes),
                &mut blog.conn,
            )
            .unwrap();
        assert_eq!(counted, (comments, likes));
        if comments > 10 {
            let id = Article::publish("Title", "Text", &mut blog.conn).unwrap();
            diesel::delete(blog::schema::articles::table.filter(blog::schema::articles::id.ne(id)))
                .execute(&mut blog.conn)
                .unwrap();
            blog.article = id;
        }
    });
});

fn stored_comments(conn: &mut AnyConnection) -> i64 {
    comments::table.count().get_result(conn).unwrap()
}
