//! What triggers would count wrong is refused.

use super::{OF_ARTICLES, count_likes, number, open, tables};
use crate::behaviour::Execute;
use crate::behaviour::project::{key, trigger};
use crate::{BACKEND, TestDatabase};

/// Counts the likes of a post in its row.
const OF_POSTS: &str = "count = ['post_id:posts.likes']";

/// Counts the likes of articles for which this is true.
fn likes_when(condition: &str) -> String {
    count_likes(&format!("{OF_ARTICLES}{}", key("when", condition)))
}

/// A cascade changes the rows after their entity: a trigger would add them to what the entity holds already.
#[test]
fn a_foreign_key_that_changes_the_key_of_a_count_in_a_column_is_refused_or_counted() {
    for action in ["ON UPDATE CASCADE", "ON UPDATE SET NULL"] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE article_likes (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT,
                 FOREIGN KEY (post_id) REFERENCES posts (id) {action});
             INSERT INTO posts (id) VALUES (1), (3);
             INSERT INTO article_likes VALUES (1, 1), (2, 1), (3, 1), (4, 3)"
        ));
        let generated = database.generate(&count_likes(OF_POSTS));
        if generated.code != 0 {
            generated.fails("ON UPDATE");
            continue;
        }
        database.migrate();
        let conn = &mut open(&database);
        conn.run("UPDATE posts SET id = 2 WHERE id = 1");
        let wrong = "SELECT COUNT(*) FROM posts WHERE likes <> (SELECT COUNT(*) FROM article_likes WHERE post_id = posts.id)";
        assert_eq!(number(wrong, conn), 0, "{action}");
    }
}

/// The one does not depend on the time zone of the session, and the other one does.
#[test]
fn a_time_can_be_compared_with_null() {
    let zoned = match BACKEND {
        "postgres" => "TIMESTAMPTZ",
        _ => "TIMESTAMP",
    };
    let database = tables(true);
    let at = format!("ALTER TABLE article_likes ADD COLUMN at {zoned} NULL");
    database.execute(&at);
    database.printed(&likes_when("at IS NOT NULL")).works();
    let compared = database.printed(&likes_when("at <= '2026-01-01'"));
    assert_eq!(compared.code == 1, BACKEND != "sqlite", "{compared:?}");
}

/// A row that is not counted yet is taken off: the count is below 0 until the recount.
#[test]
fn existing_rows_of_a_column_that_stays_above_0_are_not_counted_later() {
    for check in [
        "likes >= 0",
        "likes > -1",
        "0 <= likes",
        "NOT (likes < 0)",
        "likes BETWEEN 0 AND 1000000",
    ] {
        let database = tables(true);
        database.execute(&format!(
            "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0, CHECK ({check}));
             CREATE TABLE post_likes (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL)"
        ));
        let generated = database.printed(
            r#"
            [[trigger]]
            name = "count_it"
            rows = "post_likes"
            count = ["post_id:posts.likes"]
            "#,
        );
        generated.works();
        let later = database.command("generate triggers --json --existing later");
        later.fails("a CHECK keeps posts.likes at 0 or more");
    }
}

/// The database evaluates some only when it meets such a row.
#[test]
fn an_expression_whose_value_can_change_is_refused() {
    let columns: &[&str] = match BACKEND {
        "postgres" => &["at TIMESTAMP"],
        "mysql" => &["at DATETIME", "opens TIME", "closes TIME"],
        _ => &["at TIMESTAMP"],
    };
    let (refused, accepted): (&[&str], &[&str]) = match BACKEND {
        "postgres" => (
            &[
                "at < timestamp 'today 10:00'",
                "at < 'today 10:00'",
                "at < CAST('10:00 yesterday' AS TIMESTAMP)",
                "at < 'tomorrow, allballs UTC'::timestamp",
            ],
            &["kind <> 'now hiring'", "at < timestamp '2026-01-01 10:00'"],
        ),
        "mysql" => (
            &[
                "UNIX_TIMESTAMP(at) > 0",
                "CAST(opens AS DATETIME) < at",
                "opens < at",
                "TIMESTAMP(opens) < at",
                "COALESCE(opens, at) < at",
                "opens < '18:00'",
            ],
            &[
                "opens IS NOT NULL",
                "kind <> _latin1 X'e9' AND kind <> _utf8mb4'é'",
            ],
        ),
        _ => (
            &[
                "unixepoch()",
                "unixepoch('subsec')",
                "strftime('%s')",
                "CURRENT_TIMESTAMP > at",
                "date(at, 'localtime') > '2026-01-01'",
            ],
            &[
                "strftime('%Y', at) > '2020'",
                "date(at, '+1 day') > '2026-01-01'",
            ],
        ),
    };
    let database = tables(true);
    for column in columns.iter().chain(&["kind VARCHAR(20)"]) {
        let add = format!("ALTER TABLE article_likes ADD COLUMN {column}");
        database.execute(&add);
    }
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes (id, article_id, kind) VALUES (1, 1, 'closed')");
    let generate = |condition: &str| {
        // SQLite calls functions of the row that is there.
        let when = match BACKEND {
            "sqlite" => format!("CASE WHEN kind = 'open' THEN {condition} ELSE 1 END"),
            _ => condition.to_owned(),
        };
        database.printed(&likes_when(&when))
    };
    for condition in accepted {
        generate(condition).works();
    }
    let works = refused
        .iter()
        .filter(|condition| generate(condition).code == 0);
    assert_eq!(works.collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// The foreign key to the table with the counters can be any of them.
#[test]
fn each_foreign_key_of_a_column_is_looked_at() {
    let of_posts = "FOREIGN KEY (post_id) REFERENCES posts (id) ON UPDATE CASCADE";
    let of_others = "FOREIGN KEY (post_id) REFERENCES others (id)";
    for [first, second] in [[of_posts, of_others], [of_others, of_posts]] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE others (id BIGINT NOT NULL PRIMARY KEY);
             CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE article_likes (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT,
                 CONSTRAINT key_1 {first}, CONSTRAINT key_2 {second});
             INSERT INTO others VALUES (1), (2);
             INSERT INTO posts (id) VALUES (1);
             INSERT INTO article_likes VALUES (1, 1), (2, 1)"
        ));
        let generated = database.generate(&count_likes(OF_POSTS));
        if generated.code != 0 {
            generated.fails("ON UPDATE");
            continue;
        }
        database.migrate();
        open(&database).run("UPDATE posts SET id = 2 WHERE id = 1");
        database.assert_agrees();
    }
}

#[test]
fn a_mistyped_table_of_rows_is_answered_with_the_nearest_one() {
    let database = tables(true);
    let mistyped = trigger("count_likes", "artcle_likes", OF_ARTICLES);
    let refused = database.generate(&mistyped);
    refused.fails("there is no ordinary table artcle_likes (did you mean article_likes?)");
    let other = trigger("count_likes", "votes", OF_ARTICLES);
    database
        .generate(&other)
        .fails("there is no ordinary table votes; its counter tables are");
}
