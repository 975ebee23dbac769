//! The handler in the README, as it stands there.

use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::{article_counters, comments};

use crate::{Conn as PgConnection, TestDatabase};

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

fn post_comment(article: &Article, body: &str, conn: &mut PgConnection) -> QueryResult<()> {
    conn.transaction(|conn| {
        let comment = (comments::article_id.eq(article.id), comments::body.eq(body));
        diesel::insert_into(comments::table)
            .values(comment)
            .execute(conn)?;
        article.incr_counter(article_counters::comments, conn)
    })
}

#[test]
fn the_handler_in_the_readme_counts() {
    let code = include_str!("readme.rs").split("\n\n");
    let (model, handler) = (code.clone().nth(3).unwrap(), code.clone().nth(4).unwrap());
    let readme = include_str!("../../README.md");
    assert!(readme.contains(&format!("{model}\n\n{handler}\n```")));

    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let article = Article { id: 1 };
    post_comment(&article, "First!", conn).unwrap();
    let count = article.counter_value(article_counters::comments, conn);
    assert_eq!(count, Ok(1));
}
