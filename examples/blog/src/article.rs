//! Articles, with their comments, likes and counts.

use std::ops::RangeInclusive;

use chrono::{Days, NaiveDate, NaiveDateTime, Utc};
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind::UniqueViolation, Error::DatabaseError};
use diesel_counters::prelude::*;

use crate::db::{Conn, retry};
use crate::schema::{article_counters, article_likes, articles, comments};

// A row of the counter table has the counts of one article, on one day, in one slot. An article's
// page shows 16 slots. The default is 32, twice as many as there are connections that count.
diesel_counters::counter_table! {
    article_counters {
        parent = articles::id,
        slots = 16,
        counted_by_database = (likes),
    }
}

#[derive(Clone, Identifiable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
pub struct Article {
    pub id: i64,
    pub slug: String,
    pub title: String,
    pub author: String,
    pub body: String,
    pub created_at: NaiveDateTime,
}

/// An author, a text and a time.
pub type Comment = (String, String, NaiveDateTime);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct Counts {
    pub views: i64,
    pub likes: i64,
    pub comments: i64,
}

pub fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// Returns the last days, up to today.
pub fn last_days(days: u16) -> RangeInclusive<NaiveDate> {
    today() + Days::new(1) - Days::new(days.into())..=today()
}

impl Article {
    pub fn find(slug: &str, conn: &mut Conn) -> QueryResult<Self> {
        // PostgreSQL fails on a NUL. No slug has a `_`, so such an article isn't found.
        let article = articles::table.filter(articles::slug.eq(slug.replace('\0', "_")));
        article.select(Article::as_select()).first(conn)
    }

    /// **In the caller's transaction**: the comment and its count commit together, or neither does.
    pub fn comment(
        &self,
        author: &str,
        body: &str,
        at: NaiveDateTime,
        conn: &mut Conn,
    ) -> QueryResult<usize> {
        let comment = (
            comments::article_id.eq(self.id),
            comments::author.eq(author),
            comments::body.eq(body),
            comments::created_at.eq(at),
        );
        comment.insert_into(comments::table).execute(conn)?;
        let count = increment(article_counters::comments).of(self);
        count.on(at.date()).execute(conn)
    }

    /// **By triggers**: the database counts the rows of `article_likes`. If a visitor likes twice,
    /// it's still one row.
    pub fn like(&self, visitor: &str, on: NaiveDate, conn: &mut Conn) -> QueryResult<usize> {
        let like = (
            article_likes::article_id.eq(self.id),
            article_likes::visitor.eq(visitor),
            article_likes::created_on.eq(on),
        );
        let like = like.insert_into(article_likes::table);
        unless_present(retry().run(conn, |conn| like.execute(conn)))
    }

    pub fn unlike(&self, visitor: &str, conn: &mut Conn) -> QueryResult<usize> {
        let like = article_likes::table.find((self.id, visitor));
        retry().run(conn, |conn| diesel::delete(like).execute(conn))
    }

    pub fn is_liked_by(&self, visitor: &str, conn: &mut Conn) -> QueryResult<bool> {
        diesel::select(exists(article_likes::table.find((self.id, visitor)))).get_result(conn)
    }

    pub fn latest_comments(&self, conn: &mut Conn) -> QueryResult<Vec<Comment>> {
        let all = comments::table.filter(comments::article_id.eq(self.id));
        let all = all.select((comments::author, comments::body, comments::created_at));
        all.order(comments::id.desc()).limit(50).load(conn)
    }
}

/// Returns 0 if the row was there already.
pub fn unless_present(inserted: QueryResult<usize>) -> QueryResult<usize> {
    match inserted {
        Err(DatabaseError(UniqueViolation, _)) => Ok(0),
        inserted => inserted,
    }
}
