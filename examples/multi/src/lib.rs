//! One program for all databases: `#[derive(MultiConnection)]` compiles every query once, and the
//! URL chooses the database when the program starts. The counters need [`counter_backend!`] for
//! this.
//!
//! Such a connection doesn't have Diesel's own `ON CONFLICT` and `RETURNING`. To use them, `match`
//! it, as [`insert_article`] does. A program for one database needs none of this.
//!
//! [`counter_backend!`]: diesel_counters::counter_backend!
// Diesel's derives generate items without documentation.
#![allow(missing_docs)]

use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;

#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
    #[cfg(feature = "mysql")]
    Mysql(MysqlConnection),
    // The last one, because SQLite takes any URL as a file name.
    Sqlite(SqliteConnection),
}

diesel_counters::counter_backend!(MultiBackend {
    #[cfg(feature = "postgres")]
    Postgres: PostgreSql,
    #[cfg(feature = "mysql")]
    Mysql: MySql,
    Sqlite: Sqlite,
});

diesel::table! {
    articles (id) {
        id -> BigInt,
        title -> Text,
    }
}

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

diesel_counters::counter_table!(article_counters { parent = articles::id });

#[derive(Identifiable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
pub struct Article {
    pub id: i64,
    pub title: String,
}

/// Inserts an article, unless there is one with this id.
pub fn insert_article(id: i64, title: &str, conn: &mut AnyConnection) -> QueryResult<()> {
    let insert = || {
        diesel::insert_into(articles::table)
            .values((articles::id.eq(id), articles::title.eq(title)))
    };
    match conn {
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(conn) => insert().on_conflict_do_nothing().execute(conn),
        #[cfg(feature = "mysql")]
        AnyConnection::Mysql(conn) => insert()
            .on_conflict(diesel::dsl::DuplicatedKeys)
            .do_nothing()
            .execute(conn),
        AnyConnection::Sqlite(conn) => insert().on_conflict_do_nothing().execute(conn),
    }
    .map(drop)
}

/// Counts a view, and returns the most read articles.
pub fn read(article: &Article, conn: &mut AnyConnection) -> QueryResult<Vec<(Article, i64)>> {
    article.incr_counter(article_counters::views, conn)?;
    let views = total(article_counters::views);
    articles::table
        .order((views.desc(), articles::id))
        .select((Article::as_select(), views))
        .limit(10)
        .load(conn)
}
