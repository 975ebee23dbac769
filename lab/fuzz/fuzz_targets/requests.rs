//! No request makes the blog fail, and its counts are those of the requests that it accepted.

#![no_main]

use std::cell::RefCell;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use blog::article::{Article, today};
use blog::db::Conn;
use blog::schema::{article_counters, article_likes, articles, comments};
use blog::server::{self, App};
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
    Stats { query: &'a str },
    Show,
    Act,
    Comment,
}

struct Blog {
    runtime: Runtime,
    router: Router,
    conn: Conn,
    article: Article,
    number: u64,
}

thread_local! {
    static BLOG: RefCell<Blog> = RefCell::new(new_blog());
}

fn new_blog() -> Blog {
    let file = std::env::temp_dir().join(format!("fuzz-requests-{}.sqlite", std::process::id()));
    let url = file.to_str().unwrap();
    let app = App::open(url).unwrap();
    let mut conn = Conn::establish(url).unwrap();
    let article = publish(0, &mut conn);
    Blog {
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap(),
        router: server::router(app),
        conn,
        article,
        number: 0,
    }
}

fn publish(number: u64, conn: &mut Conn) -> Article {
    let slug = format!("title-{number}");
    let article = (
        articles::slug.eq(&slug),
        articles::title.eq("Title"),
        articles::author.eq("Ann"),
        articles::body.eq("Text"),
        articles::created_at.eq(today().and_hms_opt(12, 0, 0).unwrap()),
    );
    let article = article.insert_into(articles::table);
    article.execute(conn).unwrap();
    Article::find(&slug, conn).unwrap()
}

fuzz_target!(|input: Input| {
    BLOG.with_borrow_mut(|blog| {
        let article = format!("/articles/{}", blog.article.slug);
        let is_comment = matches!(input.address, Address::Comment);
        let mut body = input.body.to_vec();
        let (method, path) = match input.address {
            Address::Any { post: false, path } => (Method::GET, path.to_owned()),
            Address::Any { post: true, path } => (Method::POST, path.to_owned()),
            Address::List { query } => (Method::GET, format!("/?{query}")),
            Address::Stats { query } => (Method::GET, format!("/stats?{query}")),
            Address::Show => (Method::GET, article),
            Address::Act => (Method::POST, article),
            Address::Comment => {
                body.splice(0..0, *b"action=comment&author=&");
                (Method::POST, article)
            }
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("cookie", input.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(body));
        // Not every text is a header or an address.
        let Ok(request) = request else { return };
        let before = stored_comments(&mut blog.conn);
        let response = blog.router.clone().oneshot(request);
        let status = blog.runtime.block_on(response).unwrap().status();
        assert!(!status.is_server_error(), "{status}");

        let comments = stored_comments(&mut blog.conn);
        if is_comment {
            let accepted = i64::from(status == StatusCode::SEE_OTHER);
            assert_eq!(comments - before, accepted);
        }
        let likes = article_likes::table.count();
        let likes: i64 = likes.get_result(&mut blog.conn).unwrap();
        let counters = (article_counters::comments, article_counters::likes);
        let counted = counter_value(counters).get_result(&mut blog.conn);
        assert_eq!(counted, Ok((comments, likes)));
        if comments > 10 {
            blog.number += 1;
            blog.article = publish(blog.number, &mut blog.conn);
            let others = articles::table.filter(articles::id.ne(blog.article.id));
            diesel::sql_query("PRAGMA foreign_keys = ON")
                .execute(&mut blog.conn)
                .unwrap();
            diesel::delete(others).execute(&mut blog.conn).unwrap();
        }
    });
});

fn stored_comments(conn: &mut Conn) -> i64 {
    comments::table.count().get_result(conn).unwrap()
}
