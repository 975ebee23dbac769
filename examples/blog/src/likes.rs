//! Likes: a row for each visitor who likes an article. Triggers of the database count the
//! rows, so a like is one statement.

use diesel::dsl::exists;
use diesel::prelude::*;

use crate::db::{self, AnyConnection};
use crate::models::Article;
use crate::schema::article_likes;

impl Article {
    /// Adds a visitor's like, unless there is one.
    pub fn like(id: i64, visitor: &str, conn: &mut AnyConnection) -> QueryResult<()> {
        let like = (
            article_likes::article_id.eq(id),
            article_likes::visitor.eq(visitor),
        );
        let insert = || diesel::insert_into(article_likes::table).values(like);
        // A `MultiConnection` has no ON CONFLICT. An app for one database writes one of these.
        // On MySQL, likes and unlikes of one visitor at the same time can deadlock.
        db::retry()
            .run(conn, |conn| match conn {
                #[cfg(feature = "sqlite")]
                AnyConnection::Sqlite(conn) => insert().on_conflict_do_nothing().execute(conn),
                #[cfg(feature = "postgres")]
                AnyConnection::Postgres(conn) => insert().on_conflict_do_nothing().execute(conn),
                #[cfg(feature = "mysql")]
                AnyConnection::Mysql(conn) => insert()
                    .on_conflict(diesel::dsl::DuplicatedKeys)
                    .do_nothing()
                    .execute(conn),
            })
            .map(drop)
    }

    /// Deletes a visitor's like, if there is one.
    pub fn unlike(id: i64, visitor: &str, conn: &mut AnyConnection) -> QueryResult<()> {
        let like = article_likes::table.find((id, visitor));
        db::retry()
            .run(conn, |conn| diesel::delete(like).execute(conn))
            .map(drop)
    }

    /// Returns whether a visitor likes it.
    pub fn is_liked_by(&self, visitor: &str, conn: &mut AnyConnection) -> QueryResult<bool> {
        diesel::select(exists(article_likes::table.find((self.id, visitor)))).get_result(conn)
    }
}
