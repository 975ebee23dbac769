//! "Renaming a key with triggers" in docs/recipes.md, while others insert rows.

use std::sync::mpsc::channel;
use std::thread;

use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::DatabaseError;
use diesel_counters::retry;

use super::recipes::recipe;
use super::{number, open};
use crate::behaviour::Execute;
use crate::{BACKEND, Conn};

fn run(sql: &str, conn: &mut Conn) -> QueryResult<usize> {
    retry()
        .attempts(1_000)
        .run(conn, |conn| diesel::sql_query(sql).execute(conn))
}

/// A like is moved with its page, or refused and then inserted for the new slug.
#[test]
fn no_like_is_lost_while_its_page_is_renamed() {
    let database = recipe("Renaming a key with triggers");
    let (liked, likes) = channel();
    let mut answered = 2; // by the recipe
    thread::scope(|scope| {
        for writer in 0..4 {
            let (database, liked) = (&database, liked.clone());
            scope.spawn(move || {
                let conn = &mut open(database);
                let mut slug = "new";
                let mut left = 5;
                let mut user = 10 + writer;
                while left > 0 {
                    let like = format!("INSERT INTO page_likes VALUES ('{slug}', {user})");
                    match run(&like, conn) {
                        Ok(_) => {
                            liked.send(()).unwrap();
                            user += 4;
                        }
                        Err(DatabaseError(ForeignKeyViolation, _)) if slug == "new" => {
                            slug = "newest";
                        }
                        Err(error) => panic!("{error}"),
                    }
                    left -= i32::from(slug == "newest");
                }
            });
        }
        drop(liked);
        answered += likes.iter().take(20).count() as i64;
        let renamed = retry().attempts(1_000).run(&mut open(&database), |conn| {
            conn.transaction(|conn| {
                if BACKEND != "sqlite" {
                    let lock = "SELECT slug FROM pages WHERE slug = 'new' FOR UPDATE";
                    diesel::sql_query(lock).execute(conn)?;
                }
                for sql in [
                    "INSERT INTO pages VALUES ('newest')",
                    "UPDATE page_likes SET slug = 'newest' WHERE slug = 'new'",
                    "DELETE FROM pages WHERE slug = 'new'",
                ] {
                    diesel::sql_query(sql).execute(conn)?;
                }
                QueryResult::Ok(())
            })
        });
        assert_eq!(renamed, Ok(()));
    });
    answered += likes.iter().count() as i64;
    let conn = &mut open(&database);
    assert_eq!(number("SELECT COUNT(*) FROM page_likes", conn), answered);
    assert_eq!(database.rows_and_sum("page_counters", "likes").1, answered);
    database.assert_agrees();
    conn.run("DELETE FROM pages");
    assert_eq!(database.rows_and_sum("page_counters", "likes").1, 0);
}
