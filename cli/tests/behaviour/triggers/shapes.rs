//! Rows of each shape that a table can have: they are inserted, moved and deleted, and after each
//! statement the counts are those of the rows.

use super::{integer, number, open};
use crate::behaviour::Execute;
use crate::{BACKEND, Conn, TEXT, TestDatabase};

/// Tables with rows in them, and the triggers that count these rows.
struct Shape {
    /// It ends before the database is dropped.
    conn: Conn,
    database: TestDatabase,
    /// Queries for the number of entities and days with another count than that of their rows.
    wrong: Vec<String>,
}

impl Shape {
    /// `counts` has a query of the rows and one of what is stored for each counter. Both have the
    /// entity, the day or another column of the key, and a number.
    fn new(tables: &str, definition: &str, counts: &[[&str; 2]]) -> Self {
        let database = TestDatabase::create();
        database.execute(tables);
        database.count(definition);
        let mut wrong = Vec::new();
        for [rows, stored] in counts {
            wrong.push(format!(
                "SELECT COUNT(*) FROM (
                     SELECT k FROM (
                         SELECT {rows} UNION ALL SELECT {stored}
                     ) AS counts GROUP BY k, d HAVING SUM(n) <> 0
                 ) AS wrong"
            ));
        }
        let conn = open(&database);
        let mut shape = Shape {
            conn,
            database,
            wrong,
        };
        shape.then("SELECT 1");
        shape
    }

    /// Runs a statement. All counts are right afterwards, and a recount agrees.
    #[track_caller]
    fn then(&mut self, statement: &str) {
        self.conn.run(statement);
        for query in &self.wrong {
            let wrong = number(query, &mut self.conn);
            assert_eq!(wrong, 0, "{statement}: {query}");
        }
        self.database.assert_agrees();
    }
}

/// A like can be of no article, and on no day. No foreign key keeps it when its article is deleted.
#[test]
fn a_row_without_an_entity_counts_for_nobody_and_one_without_a_day_counts_undated() {
    for day in ["DATE", "TIMESTAMP NULL"] {
        let mut likes = Shape::new(
            &format!(
                "CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, likes INTEGER NOT NULL DEFAULT 0);
                 CREATE TABLE article_counters (
                     article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                     likes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot),
                     FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
                 );
                 CREATE TABLE likes (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, liked_at {day});
                 INSERT INTO articles (id) VALUES (1), (2), (3);
                 INSERT INTO likes VALUES (1, 1, '2026-01-01'), (2, 1, NULL), (3, NULL, '2026-01-01'),
                     (4, NULL, NULL), (5, 99, NULL)"
            ),
            r#"
            [[trigger]]
            name = "count_likes"
            rows = "likes"
            count = ["article_id:article_counters.likes", "article_id:articles.likes"]
            day = "liked_at"
            "#,
            &[
                [
                    "article_id AS k, COALESCE(date(liked_at), date('1970-01-01')) AS d, 1 AS n
                     FROM likes WHERE article_id IN (SELECT id FROM articles)",
                    "article_id, day, -likes FROM article_counters",
                ],
                [
                    "article_id AS k, 0 AS d, 1 AS n
                     FROM likes WHERE article_id IN (SELECT id FROM articles)",
                    "id, 0, -likes FROM articles",
                ],
            ],
        );
        likes.then(
            "INSERT INTO likes VALUES (6, 2, NULL), (7, 2, '2026-01-02'), (8, NULL, NULL), (9, 99, '2026-01-02')",
        );
        likes.then("UPDATE likes SET article_id = 2 WHERE id IN (2, 3, 4, 5)");
        likes.then("UPDATE likes SET article_id = NULL WHERE id = 7");
        likes.then("UPDATE likes SET liked_at = '2026-01-03' WHERE id IN (2, 8)");
        likes.then("UPDATE likes SET liked_at = NULL");
        likes.then("UPDATE likes SET article_id = 3, liked_at = '2026-01-04' WHERE id < 4");
        likes.then("DELETE FROM likes WHERE id IN (4, 8)");
        likes.then("DELETE FROM articles WHERE id = 3");
        likes.then("UPDATE likes SET article_id = 1 WHERE id = 2");
        likes.then("DELETE FROM likes");
    }
}

/// The rows and both tables that count them have one collation, by which `Foo` and `foo` are two
/// tags, or one.
#[test]
fn a_text_counts_for_the_entity_that_its_collation_finds() {
    let ignores_case = match BACKEND {
        "mysql" => "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "postgres" => "TEXT COLLATE ignore_case",
        _ => "TEXT COLLATE NOCASE",
    };
    let collation = match BACKEND {
        "postgres" => {
            "CREATE COLLATION ignore_case (
                 provider = icu, locale = 'und-u-ks-level2', deterministic = false
             );"
        }
        _ => "",
    };
    for (text, other_tag) in [(TEXT, ", ('foo')"), (ignores_case, "")] {
        let mut tags = Shape::new(
            &format!(
                "{collation}
                 CREATE TABLE tags (name {text} NOT NULL PRIMARY KEY, uses BIGINT NOT NULL DEFAULT 0);
                 CREATE TABLE tag_counters (
                     tag {text} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                     uses BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tag, day, slot),
                     FOREIGN KEY (tag) REFERENCES tags (name) ON DELETE CASCADE
                 );
                 CREATE TABLE post_tags (
                     id BIGINT NOT NULL PRIMARY KEY, tag {text},
                     FOREIGN KEY (tag) REFERENCES tags (name) ON DELETE CASCADE
                 );
                 INSERT INTO tags (name) VALUES ('Foo'), ('bar'){other_tag};
                 INSERT INTO post_tags VALUES (1, 'Foo'), (2, 'foo'), (3, 'bar'), (4, NULL)"
            ),
            r#"
            [[trigger]]
            name = "count_tags"
            rows = "post_tags"
            count = ["tag:tag_counters.uses", "tag:tags.uses"]
            "#,
            &[
                [
                    "tag AS k, 0 AS d, 1 AS n FROM post_tags WHERE tag IS NOT NULL",
                    "tag, 0, -uses FROM tag_counters",
                ],
                [
                    "tag AS k, 0 AS d, 1 AS n FROM post_tags WHERE tag IS NOT NULL",
                    "name, 0, -uses FROM tags",
                ],
            ],
        );
        tags.then("INSERT INTO post_tags VALUES (5, 'foo'), (6, 'Foo'), (7, NULL)");
        tags.then("UPDATE post_tags SET tag = 'foo' WHERE tag = 'Foo'");
        tags.then("UPDATE post_tags SET tag = 'bar' WHERE id IN (1, 4)");
        tags.then("UPDATE post_tags SET tag = NULL WHERE id = 2");
        tags.then("UPDATE post_tags SET tag = 'Foo' WHERE id IN (3, 6)");
        tags.then("DELETE FROM post_tags WHERE id = 5");
        tags.then("DELETE FROM tags WHERE name = 'foo'");
        tags.then("DELETE FROM post_tags");
    }
}

/// Replies to a reply, in counters that refer to the table of the rows.
fn replies(foreign_key: &str) -> Shape {
    let counters = "
        CREATE TABLE reply_counters (
            reply_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            replies BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (reply_id, day, slot),
            FOREIGN KEY (reply_id) REFERENCES replies (id) ON DELETE CASCADE
        );";
    Shape::new(
        &format!(
            "CREATE TABLE replies (id BIGINT NOT NULL PRIMARY KEY, parent_id BIGINT {foreign_key});
             {counters}
             INSERT INTO replies VALUES (1, NULL);
             INSERT INTO replies VALUES (2, 1), (3, 1);
             INSERT INTO replies VALUES (4, 2), (5, 2), (7, NULL);
             INSERT INTO replies VALUES (6, 4)"
        ),
        r#"
        [[trigger]]
        name = "count_replies"
        rows = "replies"
        count = ["parent_id:reply_counters.replies"]
        "#,
        &[[
            "parent_id AS k, 0 AS d, 1 AS n FROM replies WHERE parent_id IN (SELECT id FROM replies)",
            "reply_id, 0, -replies FROM reply_counters",
        ]],
    )
}

/// The counts of a reply are deleted with it, before or after those that reply to it.
#[test]
fn replies_count_for_the_reply_above_them_until_either_is_deleted() {
    const CASCADES: &str = ", FOREIGN KEY (parent_id) REFERENCES replies (id) ON DELETE CASCADE";
    let foreign_keys: &[&str] = match BACKEND {
        // It refuses a cascade to the rows' own table.
        "mysql" => &[""],
        _ => &["", CASCADES],
    };
    for foreign_key in foreign_keys {
        let mut replies = replies(foreign_key);
        replies.then("INSERT INTO replies VALUES (8, 7), (9, 7), (10, 1)");
        replies.then("INSERT INTO replies VALUES (11, 8), (12, 8), (13, 9)");
        replies.then("UPDATE replies SET parent_id = 7 WHERE id = 3");
        // A reply that none follows, one that others follow, and one with some that follow it.
        replies.then("DELETE FROM replies WHERE id = 6");
        replies.then("DELETE FROM replies WHERE id = 2");
        replies.then("DELETE FROM replies WHERE id IN (8, 11)");
        replies.then("UPDATE replies SET parent_id = NULL WHERE id = 9");
        replies.then("UPDATE replies SET parent_id = 10 WHERE id IN (12, 13)");
        replies.then("DELETE FROM replies WHERE id IN (10, 1)");
        replies.then("DELETE FROM replies");
    }
}

/// Cents of amounts with decimals. A gift of nothing, or one that was taken back, adds nothing.
#[test]
fn amounts_with_decimals_are_summed_up_in_slots_and_in_a_column() {
    let cents = "CAST(COALESCE(ROUND(amount * 100), 0) AS INTEGER)";
    let cents = cents.replace("INTEGER", integer());
    let counted = format!(
        "{cents} AS n FROM gifts WHERE team_id IS NOT NULL AND (taken_back IS NULL OR NOT taken_back)"
    );
    let rows = format!("team_id AS k, 0 AS d, {counted}");
    let mut gifts = Shape::new(
        "CREATE TABLE teams (id BIGINT NOT NULL PRIMARY KEY, cents BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE team_counters (
             team_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             cents BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (team_id, day, slot),
             FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE
         );
         CREATE TABLE gifts (
             id BIGINT NOT NULL PRIMARY KEY, team_id BIGINT, amount DECIMAL(10, 2), taken_back BOOLEAN,
             FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE SET NULL
         );
         INSERT INTO teams (id) VALUES (1), (2), (3);
         INSERT INTO gifts VALUES (1, 1, 12.34, NULL), (2, 1, 0.10, FALSE), (3, 2, NULL, NULL),
             (4, 2, 99.99, TRUE), (5, NULL, 5, NULL), (6, 3, 0, FALSE)",
        r#"
        [[trigger]]
        name = "count_gifts"
        rows = "gifts"
        count = ["team_id:team_counters.cents", "team_id:teams.cents"]
        by = "ROUND(amount * 100)"
        when = "taken_back IS NULL OR NOT taken_back"
        "#,
        &[
            [&rows, "team_id, 0, -cents FROM team_counters"],
            [&rows, "id, 0, -cents FROM teams"],
        ],
    );
    gifts
        .then("INSERT INTO gifts VALUES (7, 2, 3.50, NULL), (8, 2, -1.25, FALSE), (9, 3, 7, TRUE)");
    gifts.then("UPDATE gifts SET amount = 12.35 WHERE id = 1");
    gifts.then("UPDATE gifts SET amount = NULL WHERE id = 2");
    gifts.then("UPDATE gifts SET taken_back = NULL WHERE id IN (4, 9)");
    gifts.then("UPDATE gifts SET taken_back = TRUE, team_id = 1 WHERE id = 7");
    gifts.then("UPDATE gifts SET team_id = 3 WHERE id IN (1, 5)");
    gifts.then("DELETE FROM gifts WHERE id IN (1, 8)");
    gifts.then("DELETE FROM teams WHERE id = 2");
    gifts.then("DELETE FROM gifts");
}

/// A reaction counts once where it comes, also when it gets an article, an emoji or a day.
#[test]
fn what_a_row_without_a_key_or_a_day_gets_later_is_counted_and_kept() {
    let database = TestDatabase::create();
    database.execute(&format!(
        "CREATE TABLE reactions (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, emoji {TEXT}, given_on DATE
         );
         CREATE TABLE reaction_counters (
             article_id BIGINT NOT NULL, emoji {TEXT} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             given BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, emoji, day, slot)
         );
         INSERT INTO reactions VALUES (1, 1, 'joy', NULL), (2, 1, NULL, '2026-01-01'), (3, NULL, 'joy', NULL)"
    ));
    database.count(
        r#"
        [[trigger]]
        name = "count_reactions"
        rows = "reactions"
        count = ["article_id,emoji:reaction_counters.given"]
        day = "given_on"
        deleted = "kept"
        "#,
    );
    let conn = &mut open(&database);
    let given = |which: &str, conn: &mut Conn| {
        let sum = format!("CAST(COALESCE(SUM(given), 0) AS {})", integer());
        let of_joy = format!("SELECT {sum} FROM reaction_counters WHERE emoji = 'joy' AND {which}");
        number(&of_joy, conn)
    };
    for (statement, undated, dated) in [
        ("SELECT 1", 1, 0),
        ("UPDATE reactions SET emoji = 'joy' WHERE id = 2", 1, 1),
        ("UPDATE reactions SET article_id = 1 WHERE id = 3", 2, 1),
        (
            "UPDATE reactions SET given_on = '2026-01-02' WHERE id = 1",
            2,
            2,
        ),
        ("UPDATE reactions SET given_on = NULL WHERE id = 2", 3, 2),
        ("UPDATE reactions SET article_id = NULL WHERE id = 1", 3, 2),
        ("UPDATE reactions SET emoji = NULL WHERE id = 2", 3, 2),
        (
            "INSERT INTO reactions VALUES (4, 1, 'joy', '2026-01-02')",
            3,
            3,
        ),
        ("DELETE FROM reactions", 3, 3),
    ] {
        conn.run(statement);
        let counts = [
            "day = '1970-01-01'",
            "day > '2026-01-01'",
            "day = '2026-01-01'",
        ];
        let [of_no_day, later, first] = counts.map(|which| given(which, conn));
        assert_eq!([of_no_day, later + first], [undated, dated], "{statement}");
        database.assert_agrees();
    }
}
