//! Articles, their comments and their counters.

use chrono::{NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::db::{self, AnyConnection};
use crate::schema::{article_counters, articles, comments};

diesel_counters::counter_table! {
    article_counters {
        parent = articles::id,
        slots = 32,
        counted_by_database = (likes),
    }
}

/// An article: written here, or created from an access log.
#[derive(Debug, Identifiable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
pub struct Article {
    /// The key, which is part of its address here.
    pub id: i64,
    /// The path of its page, here or in the log.
    pub path: String,
    /// The title.
    pub title: String,
    /// The text; empty if the article was created from a log.
    pub body: String,
    /// When it was created in the blog, in UTC.
    pub created_at: NaiveDateTime,
}

/// The number of comments that a page shows: the latest ones.
const COMMENTS_SHOWN: i64 = 100;

/// The number of most read articles that a page lists.
const MOST_READ: i64 = 5;

impl Article {
    /// Finds an article by its key.
    pub fn find(id: i64, conn: &mut AnyConnection) -> QueryResult<Self> {
        articles::table
            .find(id)
            .select(Article::as_select())
            .first(conn)
    }

    /// Publishes an article under a path made from its title. Returns its key.
    pub fn publish(title: &str, body: &str, conn: &mut AnyConnection) -> QueryResult<i64> {
        db::write(conn, |conn| {
            let path = free_path(title, conn)?;
            diesel::insert_into(articles::table)
                .values(NewArticle::new(&path, title, body))
                .execute(conn)?;
            id_of(&path, conn)
        })
    }

    /// Returns the most read articles, as of the last maintenance run, in the order of an index.
    pub fn most_read(conn: &mut AnyConnection) -> QueryResult<Vec<Self>> {
        articles::table
            .filter(articles::total_views.gt(0))
            .order((articles::total_views.desc(), articles::id))
            .limit(MOST_READ)
            .select(Article::as_select())
            .load(conn)
    }

    /// Reads all its counters, in one query.
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

    /// Adds a comment and counts it, in one transaction.
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

    /// Returns the latest comments, newest first.
    pub fn latest_comments(&self, conn: &mut AnyConnection) -> QueryResult<Vec<Comment>> {
        Comment::belonging_to(self)
            .select(Comment::as_select())
            .order(comments::id.desc())
            .limit(COMMENTS_SHOWN)
            .load(conn)
    }
}

/// The counts of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct Counts {
    /// The number of views.
    pub views: i64,
    /// The number of likes.
    pub likes: i64,
    /// The number of comments.
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
    /// The key.
    pub id: i64,
    /// The key of the article.
    pub article_id: i64,
    /// The name of the author.
    pub author: String,
    /// The text.
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

/// Returns `/blog/hello-world`, or `/blog/hello-world-2` and so on if that path is taken.
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

/// Returns `hello-world` for `Hello, World!`.
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
