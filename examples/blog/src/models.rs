//! Articles and comments, and what is counted of them.

use chrono::{NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::db::{self, AnyConnection};
use crate::schema::{article_counters, articles, comments};

diesel_counters::has_parent!(article_counters -> articles (id));

/// An article: written here, or known from an access log.
#[derive(Debug, Identifiable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters, slots = 32)]
pub struct Article {
    /// Its number, which is in its address here.
    pub id: i64,
    /// Where it is, or was, on the web.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its text; empty for one that is only known from a log.
    pub body: String,
    /// When the blog first had it, in UTC.
    pub created_at: NaiveDateTime,
}

/// How many comments an article shows: the latest.
const COMMENTS_SHOWN: i64 = 100;

/// How many of the most read articles are named.
const MOST_READ: i64 = 5;

impl Article {
    /// The article of that number.
    pub fn find(id: i64, conn: &mut AnyConnection) -> QueryResult<Self> {
        articles::table
            .find(id)
            .select(Article::as_select())
            .first(conn)
    }

    /// Publishes an article under a path made of its title, and returns its number.
    pub fn publish(title: &str, body: &str, conn: &mut AnyConnection) -> QueryResult<i64> {
        db::write(conn, |conn| {
            let path = free_path(title, conn)?;
            diesel::insert_into(articles::table)
                .values(NewArticle::new(&path, title, body))
                .execute(conn)?;
            id_of(&path, conn)
        })
    }

    /// The most read, as of when the blog was last maintained: an index has them in order.
    pub fn most_read(conn: &mut AnyConnection) -> QueryResult<Vec<Self>> {
        articles::table
            .filter(articles::total_views.gt(0))
            .order((articles::total_views.desc(), articles::id))
            .limit(MOST_READ)
            .select(Article::as_select())
            .load(conn)
    }

    /// Reads its counts.
    pub fn counts(&self, conn: &mut AnyConnection) -> QueryResult<Counts> {
        let (views, likes, comments) = self.counter_value(
            (
                article_counters::views,
                article_counters::likes,
                article_counters::comments,
            ),
            conn,
        )?;
        Ok(Counts {
            views,
            likes,
            comments,
        })
    }

    /// Counts that it was read.
    pub fn count_view(&self, conn: &mut AnyConnection) -> QueryResult<()> {
        self.incr_counter(article_counters::views, conn)
    }

    /// Counts that it was liked.
    pub fn like(&self, conn: &mut AnyConnection) -> QueryResult<()> {
        self.incr_counter(article_counters::likes, conn)
    }

    /// Adds a comment and counts it, both or neither.
    pub fn comment(&self, author: &str, body: &str, conn: &mut AnyConnection) -> QueryResult<()> {
        db::write(conn, |conn| {
            diesel::insert_into(comments::table)
                .values(NewComment {
                    article_id: self.id,
                    author,
                    body,
                    created_at: Utc::now().naive_utc(),
                })
                .execute(conn)?;
            self.incr_counter(article_counters::comments, conn)
        })
    }

    /// Its latest comments, newest first.
    pub fn latest_comments(&self, conn: &mut AnyConnection) -> QueryResult<Vec<Comment>> {
        Comment::belonging_to(self)
            .select(Comment::as_select())
            .order(comments::id.desc())
            .limit(COMMENTS_SHOWN)
            .load(conn)
    }
}

/// What is counted of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct Counts {
    /// How often it was read.
    pub views: i64,
    /// How often it was liked.
    pub likes: i64,
    /// How many comments were written.
    pub comments: i64,
}

/// An article to insert.
#[derive(Insertable)]
#[diesel(table_name = articles)]
pub(crate) struct NewArticle<'a> {
    path: &'a str,
    title: &'a str,
    body: &'a str,
    created_at: NaiveDateTime,
}

impl<'a> NewArticle<'a> {
    pub(crate) fn new(path: &'a str, title: &'a str, body: &'a str) -> Self {
        NewArticle {
            path,
            title,
            body,
            created_at: Utc::now().naive_utc(),
        }
    }
}

/// A comment on an article.
#[derive(Debug, Identifiable, Queryable, Selectable, Associations)]
#[diesel(table_name = comments, belongs_to(Article))]
pub struct Comment {
    /// Its number.
    pub id: i64,
    /// The article.
    pub article_id: i64,
    /// Who wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// When it was written, in UTC.
    pub created_at: NaiveDateTime,
}

#[derive(Insertable)]
#[diesel(table_name = comments)]
struct NewComment<'a> {
    article_id: i64,
    author: &'a str,
    body: &'a str,
    created_at: NaiveDateTime,
}

/// `/blog/hello-world`, or where that is taken `/blog/hello-world-2` and so on.
fn free_path(title: &str, conn: &mut AnyConnection) -> QueryResult<String> {
    let first = format!("/blog/{}", slug(title));
    let mut path = first.clone();
    let mut number = 1;
    while id_of(&path, conn).optional()?.is_some() {
        number += 1;
        path = format!("{first}-{number}");
    }
    Ok(path)
}

fn id_of(path: &str, conn: &mut AnyConnection) -> QueryResult<i64> {
    articles::table
        .filter(articles::path.eq(path))
        .select(articles::id)
        .first(conn)
}

/// `Hello, World!` as `hello-world`.
fn slug(title: &str) -> String {
    let words: Vec<_> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    match words.is_empty() {
        true => "article".to_owned(),
        false => words.join("-"),
    }
}
