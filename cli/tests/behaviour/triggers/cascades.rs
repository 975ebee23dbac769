//! Comments that several foreign keys delete and change in one statement.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;

use super::{number, open};
use crate::behaviour::project::{key, trigger};
use crate::{BACKEND, Conn, TestDatabase};

const PARENTS: &str = "
    CREATE TABLE tenants (id BIGINT PRIMARY KEY);
    CREATE TABLE users (
        id BIGINT PRIMARY KEY, tenant_id BIGINT NOT NULL,
        CONSTRAINT tenant_of_user FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
    );
    CREATE TABLE articles (
        id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL,
        CONSTRAINT user_of_article FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
    );";

const COUNTERS: &str = "
    CREATE TABLE article_counters (
        article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        comments BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot),
        CONSTRAINT article_of_counter FOREIGN KEY (article_id) REFERENCES articles (id)
            ON DELETE CASCADE {deferrable}
    );
    CREATE TABLE user_counters (
        user_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        comments BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (user_id, day, slot),
        CONSTRAINT user_of_counter FOREIGN KEY (user_id) REFERENCES users (id)
            ON DELETE CASCADE {deferrable}
    );
    CREATE TABLE site_counters (
        day DATE NOT NULL, slot SMALLINT NOT NULL, comments BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (day, slot)
    );";

/// A user can write to himself.
const COMMENTS: &str = "
    CREATE TABLE comments (
        id BIGINT PRIMARY KEY, article_id BIGINT NOT NULL, writer_id BIGINT, reader_id BIGINT,
        CONSTRAINT article_of_comment FOREIGN KEY (article_id) REFERENCES articles (id)
            ON DELETE CASCADE {deferrable},
        CONSTRAINT writer_of_comment FOREIGN KEY (writer_id) REFERENCES users (id)
            ON DELETE SET NULL {deferrable},
        CONSTRAINT reader_of_comment FOREIGN KEY (reader_id) REFERENCES users (id)
            ON DELETE SET NULL {deferrable}
    );";

const ROWS: &str = "
    INSERT INTO tenants VALUES (1), (2);
    INSERT INTO users VALUES (1, 1), (2, 1), (3, 2), (4, 2);
    INSERT INTO articles VALUES (1, 1), (2, 2), (3, 3);
    INSERT INTO comments VALUES
        (1, 1, 1, 1), (2, 1, 1, 2), (3, 1, 2, 1), (4, 1, 3, 3), (5, 1, NULL, 1),
        (6, 2, 1, 1), (7, 2, 1, 3), (8, 2, 2, NULL), (9, 3, 1, 1), (10, 3, 2, 1), (11, 3, 3, 3),
        (12, 1, 4, 4), (13, 2, 4, 1), (14, 3, NULL, 4);";

/// The conditions of a comment to count. One of them changes when a user is deleted.
pub const CONDITIONS: [&str; 2] = ["id > 0", "writer_id IS NOT NULL"];

/// Comments that count for their article, both of their users, and the site.
pub fn counted(comments_first: bool, deferrable: &str, condition: &str) -> TestDatabase {
    let database = TestDatabase::create();
    let [counters, comments] =
        [COUNTERS, COMMENTS].map(|sql| sql.replace("{deferrable}", deferrable));
    let (first, second) = match comments_first {
        true => (comments, counters),
        false => (counters, comments),
    };
    database.execute(&format!("{PARENTS}{first}{second}"));
    let counts = r#"
        count = [
            "article_id:article_counters.comments",
            "writer_id:user_counters.comments",
            "reader_id:user_counters.comments",
            "site_counters.comments",
        ]
        "#;
    let keys = format!("{counts}{}", key("when", condition));
    database.count(&trigger("count_comments", "comments", &keys));
    database.execute(ROWS);
    database
}

/// What to delete. Not on MySQL: rows whose deletion deletes articles, which runs no triggers.
pub fn deleted() -> Vec<&'static str> {
    let mut deleted = vec!["articles WHERE id = 1", "articles", "users WHERE id = 4"];
    if BACKEND != "mysql" {
        deleted.extend(["users WHERE id = 1", "users WHERE id < 3", "users"]);
        deleted.extend(["tenants WHERE id = 1", "tenants"]);
    }
    deleted
}

/// Deletes each of these rows in a transaction, which ends with a statement and a rollback.
pub fn assert_counted(deleted: &[&str], condition: &str, end: &str, conn: &mut Conn) {
    for deleted in deleted {
        conn.run("BEGIN");
        let statement = format!("DELETE FROM {deleted}");
        conn.batch_execute(&statement)
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
        let wrong = number(&wrong(condition), conn);
        assert_eq!(wrong, 0, "{condition}: {statement}");
        conn.run(&format!("{end}; ROLLBACK"));
    }
}

/// How many counts are not those of the rows.
fn wrong(condition: &str) -> String {
    let of = |i: u8, rows: &str, counters: &str| {
        format!(
            "SELECT {i} AS c, k FROM ({rows} UNION ALL SELECT {counters}) AS counter_{i} \
             GROUP BY k HAVING SUM(n) <> 0"
        )
    };
    let rows = |key: &str| {
        format!("SELECT {key} AS k, 1 AS n FROM comments WHERE {key} IS NOT NULL AND {condition}")
    };
    let users = format!("{} UNION ALL {}", rows("writer_id"), rows("reader_id"));
    let counters = [
        of(
            1,
            &rows("article_id"),
            "article_id, -comments FROM article_counters",
        ),
        of(2, &users, "user_id, -comments FROM user_counters"),
        of(3, &rows("0"), "0, -comments FROM site_counters"),
    ];
    format!(
        "SELECT COUNT(*) FROM ({}) AS wrong",
        counters.join(" UNION ALL ")
    )
}

/// In each order of the tables. PostgreSQL has a test of its own, with each order of the keys.
#[test]
fn what_several_foreign_keys_change_is_counted() {
    if BACKEND == "postgres" {
        return;
    }
    for (condition, first) in CONDITIONS.map(|one| [(one, true), (one, false)]).concat() {
        let database = counted(first, "", condition);
        assert_counted(&deleted(), condition, "SELECT 1", &mut open(&database));
    }
}

/// A user's articles, and then their comments: MySQL and MariaDB run no trigger for the comments.
#[test]
fn rows_that_two_foreign_keys_delete_in_turn_are_told_or_counted() {
    let database = TestDatabase::create();
    let tables = [COUNTERS, COMMENTS].map(|sql| sql.replace("{deferrable}", ""));
    database.execute(&format!("{PARENTS}{}", tables.concat()));
    let count = "count = ['article_id:article_counters.comments', 'site_counters.comments']";
    let generated = database.count(&trigger("count_comments", "comments", count));
    let chain = "Deleting a row of users also deletes rows of articles, and that deletes rows of \
                 comments.";
    let is_told = BACKEND == "mysql";
    assert_eq!(generated.stderr.contains(chain), is_told, "{generated:?}");
    let mut notes = database.command("check --json").all_faults();
    notes.retain(|fault| fault["fault"] == "cascade");
    assert_eq!(notes.len(), usize::from(is_told), "{notes:?}");
    for note in notes {
        assert_eq!([&note["severity"], &note["what"]], ["note", chain]);
    }

    database.execute(ROWS);
    let dry_run = || database.command("recount --lower --dry-run").code;
    // What the note says to do.
    database.execute("DELETE FROM articles WHERE user_id = 2; DELETE FROM users WHERE id = 2");
    assert_eq!(dry_run(), 0);
    database.execute("DELETE FROM users WHERE id = 1");
    assert_eq!(dry_run(), if is_told { 3 } else { 0 });
    database.command("recount count_comments --lower").works();
    assert_eq!(dry_run(), 0);
}

/// Comments that are no replies. A reply becomes one when its comment is deleted with the article.
#[test]
fn a_row_that_changes_after_its_entity_is_deleted_counts_for_nobody() {
    if BACKEND == "mysql" {
        // It refuses a foreign key to the table itself.
        return;
    }
    const REPLIES: &str = "
        CREATE TABLE comments (
            id BIGINT PRIMARY KEY, article_id BIGINT NOT NULL, reply_to BIGINT,
            FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE,
            FOREIGN KEY (reply_to) REFERENCES comments (id) ON DELETE SET NULL
        );";
    let counters = COUNTERS.replace("{deferrable}", "");
    for tables in [[REPLIES, &counters], [&counters, REPLIES]] {
        let database = TestDatabase::create();
        database.execute(&format!("{PARENTS}{}", tables.concat()));
        database.count(
            r#"
            [[trigger]]
            name = "count_comments"
            rows = "comments"
            count = ["article_id:article_counters.comments"]
            when = "reply_to IS NULL"
            "#,
        );
        let conn = &mut open(&database);
        conn.run(
            "INSERT INTO tenants VALUES (1);
             INSERT INTO users VALUES (1, 1);
             INSERT INTO articles VALUES (1, 1), (2, 1);
             INSERT INTO comments VALUES (1, 1, NULL), (2, 1, 1), (3, 1, 2), (4, 2, NULL), (5, 2, 4), (6, 2, 1);
             DELETE FROM articles WHERE id = 1",
        );
        let comments = "SELECT CAST(SUM(comments) AS BIGINT) FROM article_counters";
        assert_eq!(number(comments, conn), 2);
    }
}
