//! Counts in ordinary columns, beside counts in slots.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;
use diesel_counters::is_overflow;

use super::{drop_trigger, integer, notes, number, open, refuses};
use crate::behaviour::project::trigger;
use crate::{BACKEND, TestDatabase};

/// Tags of posts. Their users count them too, in a column that a foreign key does not refer to.
const TABLES: &str = "
    CREATE TABLE users (
        id BIGINT NOT NULL PRIMARY KEY, tag_count BIGINT NOT NULL DEFAULT 0,
        post_count BIGINT NOT NULL DEFAULT 0
    );
    CREATE TABLE posts (
        id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT, tag_count BIGINT NOT NULL DEFAULT 0,
        weight BIGINT NOT NULL DEFAULT 0, views INTEGER NOT NULL DEFAULT 0, likes BIGINT DEFAULT 0,
        FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL
    );
    CREATE TABLE tags (id BIGINT NOT NULL PRIMARY KEY);
    CREATE TABLE post_tags (
        post_id BIGINT NOT NULL, tag_id BIGINT NOT NULL, user_id BIGINT, weight INTEGER DEFAULT 1,
        PRIMARY KEY (post_id, tag_id),
        FOREIGN KEY (post_id) REFERENCES posts (id) ON DELETE CASCADE,
        FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE CASCADE
    );
    CREATE TABLE tag_counters (
        tag_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        usages BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tag_id, day, slot),
        FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE CASCADE
    );
    INSERT INTO users (id) VALUES (1), (2), (3);
    INSERT INTO posts (id, user_id) VALUES (1, 1), (2, 2), (3, NULL), (4, 1);
    INSERT INTO tags VALUES (1), (2), (3), (4);
    INSERT INTO post_tags VALUES (1, 1, 1, 3), (1, 2, 9, 0), (2, 1, 2, NULL);
    UPDATE posts SET tag_count = 7 WHERE id = 3";

const DEFINITIONS: &str = r#"
    [[trigger]]
    name = "count_post_tags"
    rows = "post_tags"
    count = [
        "post_id:posts.tag_count", "post_id:posts.weight=weight", "tag_id:tag_counters.usages",
        "user_id:users.tag_count",
    ]
    when = "weight IS NULL OR weight <> 5"

    [[trigger]]
    name = "count_posts"
    rows = "posts"
    count = ["user_id:users.post_count"]
"#;

/// How many counts are not those of the rows.
fn wrong() -> String {
    let tags = |key: &str, of: &str, sum: &str| {
        format!(
            "(SELECT COALESCE(SUM({sum}), 0) FROM post_tags t WHERE t.{key} = {of}.id \
             AND (t.weight IS NULL OR t.weight <> 5))"
        )
    };
    let usages = "(SELECT COALESCE(SUM(usages), 0) FROM tag_counters WHERE tag_id = tags.id)";
    let wrong = [
        format!("posts WHERE tag_count <> {}", tags("post_id", "posts", "1")),
        format!(
            "posts WHERE weight <> {}",
            tags("post_id", "posts", "t.weight")
        ),
        format!("tags WHERE {usages} <> {}", tags("tag_id", "tags", "1")),
        format!("users WHERE tag_count <> {}", tags("user_id", "users", "1")),
        "users WHERE post_count <> (SELECT COUNT(*) FROM posts WHERE user_id = users.id)"
            .to_owned(),
    ];
    let wrong = wrong.map(|from| format!("(SELECT COUNT(*) FROM {from})"));
    format!("SELECT CAST({} AS {})", wrong.join(" + "), integer())
}

/// The tables, whose existing rows have been counted by one migration.
fn counted() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(TABLES);
    database.set_period("tag_counters", "total");
    let ran = database.printed(DEFINITIONS);
    notes(&ran, "name tag_counters.usages in counted_by_database");
    for (part, option) in [("up", ""), ("down", "--down")] {
        let printed = database.command(&format!("generate triggers --print {option}"));
        assert_eq!(printed.stdout, ran.json()[part]);
    }
    database.count(DEFINITIONS);
    database.revert();
    database.migrate();
    database
}

/// Lowers the count of a post without a counted row, which somebody else might keep.
fn lower(database: &TestDatabase) {
    let conn = &mut open(database);
    let recounted = database.command("recount");
    recounted.prints("count_post_tags: no count is too low");
    recounted.prints("1 count of posts.tag_count is higher than its rows, by 7 in total: --lower");
    recounted.prints("count_posts: all counts agree with posts");
    assert_ne!(number(&wrong(), conn), 0);
    let lowered = database.command("recount --lower");
    lowered.prints("posts.tag_count of 3: stored 7, rows 0");
    assert_eq!(number(&wrong(), conn), 0);
}

#[test]
fn a_row_counts_in_slots_and_in_columns() {
    let database = counted();
    lower(&database);
    let conn = &mut open(&database);
    let mut then = |statement: &str| {
        conn.run(statement);
        assert_eq!(number(&wrong(), conn), 0, "{statement}");
    };
    then("SELECT 1");
    then("INSERT INTO post_tags VALUES (3, 1, NULL, 2), (4, 1, 1, 2), (1, 3, 2, 5), (1, 4, 3, -2)");
    then("UPDATE post_tags SET post_id = 2 WHERE post_id = 1 AND tag_id > 1");
    then("UPDATE post_tags SET weight = 5 WHERE tag_id = 1");
    then("UPDATE post_tags SET weight = weight + 1");
    then("UPDATE post_tags SET weight = 2 WHERE weight = 5");
    then("UPDATE post_tags SET user_id = 3, weight = NULL WHERE tag_id = 1");
    then("UPDATE posts SET user_id = 3 - user_id WHERE user_id < 3");
    then("DELETE FROM post_tags WHERE post_id = 4");
    then("DELETE FROM posts WHERE id = 2");
    then("DELETE FROM tags WHERE id = 1");
    then("DELETE FROM users WHERE id = 1");
    then("INSERT INTO post_tags VALUES (1, 3, 9, 1), (4, 2, 2, 1), (3, 4, 2, 1)");
    then("BEGIN; DELETE FROM post_tags; ROLLBACK");
    if BACKEND == "postgres" {
        then("BEGIN; TRUNCATE post_tags; ROLLBACK");
        then("TRUNCATE post_tags");
    }
    then("DELETE FROM post_tags; DELETE FROM posts");
    let checked = database.run(&["check", "--json"]).stdout;
    assert!(!checked.contains("\"trigger_"), "{checked}");
    database.assert_agrees();
}

#[test]
fn a_recount_corrects_columns() {
    let database = counted();
    lower(&database);
    let conn = &mut open(&database);
    conn.run(
        "UPDATE posts SET tag_count = 40, weight = 0; UPDATE users SET post_count = 1;
         UPDATE tag_counters SET usages = usages + 1 WHERE tag_id = 2",
    );
    let dry = database.command("recount --dry-run --lower");
    dry.prints("posts.tag_count of 1: stored 40, rows 2\n");
    dry.prints("users.post_count of 1: stored 1, rows 2\n");
    let ran = database.command("recount --lower");
    let corrected = dry.stdout.replace("would be corrected", "corrected");
    assert_eq!(ran.stdout, corrected, "{ran:?}");
    assert_eq!(number(&wrong(), conn), 0);
}

/// Something else may count there too, so the migration only adds the difference between what the
/// rows count now and what they counted before. A recount lowers the rest only if it's told to.
#[test]
fn a_changed_definition_changes_the_counts_by_the_difference() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (
             id BIGINT NOT NULL PRIMARY KEY, kind VARCHAR(9) NOT NULL, likes BIGINT NOT NULL DEFAULT 0
         );
         CREATE TABLE post_likes (
             id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, approved BOOLEAN NOT NULL,
             secret BOOLEAN NOT NULL, FOREIGN KEY (post_id) REFERENCES posts (id) ON DELETE CASCADE
         );
         INSERT INTO posts VALUES (1, 'a', 0), (2, 'a', 0), (3, 'b', 7), (4, 'b', 7);
         INSERT INTO post_likes VALUES (1, 1, TRUE, FALSE), (2, 2, TRUE, TRUE), (3, 4, TRUE, FALSE)",
    );
    let likes = |conn: &mut _| {
        let of = |id| format!("SELECT likes FROM posts WHERE id = {id}");
        [1, 2, 3, 4].map(|id| number(&of(id), conn))
    };
    let conn = &mut open(&database);
    database.count(
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "post_likes"
        count = ["post_id:posts.likes"]
        when = "approved"
        only = "kind = 'a'"
        "#,
    );
    assert_eq!(likes(conn), [1, 1, 7, 7]);
    let changed = r#"
        [[trigger]]
        name = "count_likes"
        rows = "post_likes"
        count = ["post_id:posts.likes"]
        when = "approved AND NOT secret"
        "#;
    database.count(changed);
    // The like of post 2 doesn't count any more, and that of post 4 counts now.
    assert_eq!(likes(conn), [1, 0, 7, 8]);
    database.revert();
    assert_eq!(likes(conn), [1, 1, 7, 7]);
    database.migrate();
    assert_eq!(likes(conn), [1, 0, 7, 8]);
    let left = "2 counts of posts.likes are higher than their rows, by 14 in total";
    database.command("recount").prints(left);
    assert_eq!(likes(conn), [1, 0, 7, 8]);
    database.command("recount --lower").works();
    assert_eq!(likes(conn), [1, 0, 0, 1]);
}

#[test]
fn a_missing_trigger_of_a_column_is_found() {
    let database = counted();
    database.execute(&drop_trigger("count_posts_insert", "posts"));
    let checked = database.run(&["check", "--json"]);
    checked.prints("posts has no trigger count_posts_insert.");
}

/// Posts are counted in, and their rows are counted by triggers of another definition.
#[test]
fn the_triggers_of_another_definition_are_known() {
    let database = counted();
    let checked = database.command("check --json");
    assert!(!checked.stdout.contains("other_triggers"), "{checked:?}");
}

#[test]
fn a_column_that_cannot_be_counted_in_is_refused() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    database.execute(
        "ALTER TABLE posts ADD COLUMN stars BIGINT NOT NULL DEFAULT 5;
         ALTER TABLE posts ADD COLUMN mean REAL NOT NULL DEFAULT 0;
         CREATE VIEW post_statistics AS SELECT id, tag_count FROM posts",
    );
    refuses(
        &database,
        "post_tags",
        "
        post_id:posts.stars                | posts.stars has the default
        post_id:posts.mean                 | must be an integer NOT NULL DEFAULT 0
        :posts.views                       | the only row of posts, which has several rows
        post_id:posts.likes                | posts.likes may be NULL
        post_id:posts.loves                | posts has no column loves to count in
        post_id,tag_id:posts.tag_count     | counts for every id
        post_id:post_statistics.tag_count  | there is no ordinary table post_statistics",
    );
    let of_post_tags = |keys: &str| trigger("count_it", "post_tags", keys);
    let in_slots = "count = ['tag_id:tag_counters.usages']\nonly = 'usages'";
    let generated = database.generate(&of_post_tags(in_slots));
    generated.fails("only is a condition on the row");
    let of_itself = "count = ['post_id:posts.tag_count']\nonly = 'tag_count < 9'";
    let generated = database.generate(&of_post_tags(of_itself));
    generated.fails("which the triggers change");
    for rows in ["post_tag", "post_statistics"] {
        let why = format!("post_id:posts.tag_count | there is no ordinary table {rows}");
        refuses(&database, rows, &why);
    }
}

/// The database stores no other number in place of the count, whatever its mode.
#[test]
fn a_row_that_a_column_cannot_count_is_refused() {
    let sizes: &[(&str, i64, i64)] = match BACKEND {
        "mysql" => &[
            ("TINYINT", -128, 127),
            ("SMALLINT UNSIGNED", 0, 65_535),
            ("MEDIUMINT", -8_388_608, 8_388_607),
            ("INT UNSIGNED", 0, 4_294_967_295),
        ],
        _ => &[
            ("SMALLINT", -32_768, 32_767),
            ("INTEGER", -2_147_483_648, 2_147_483_647),
        ],
    };
    for (sql_type, least, greatest) in sizes {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, likes {sql_type} NOT NULL DEFAULT 0);
             CREATE TABLE gifts (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, likes BIGINT NOT NULL);
             INSERT INTO posts (id) VALUES (1)"
        ));
        let ran = database.printed(
            r#"
            [[trigger]]
            name = "count_gifts"
            rows = "gifts"
            count = ["post_id:posts.likes=likes"]
            "#,
        );
        let conn = &mut open(&database);
        if BACKEND == "mysql" {
            conn.run("SET sql_mode = ''");
        }
        conn.run(ran.json()["up"].as_str().unwrap());
        for (all, one) in [(greatest, 1), (least, -1)] {
            conn.run(&format!("INSERT INTO gifts VALUES (1, 1, {all})"));
            let insert = format!("INSERT INTO gifts VALUES (2, 1, {one})");
            let error = conn.batch_execute(&insert).unwrap_err();
            // PostgreSQL names the statement in the context of its error.
            let names_column = error.to_string().contains("likes") || BACKEND == "postgres";
            assert!(names_column, "{sql_type}: {error}");
            assert!(is_overflow(&error), "{sql_type}: {error}");
            let likes = format!("SELECT CAST(likes AS {}) FROM posts", integer());
            assert_eq!(number(&likes, conn), *all, "{sql_type}");
            conn.run("DELETE FROM gifts");
        }
        database.assert_agrees();
    }
}

/// Replies are rows of the table whose column counts them.
#[test]
fn rows_can_count_in_their_own_table() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE comments (
             id BIGINT NOT NULL PRIMARY KEY, reply_to BIGINT, replies BIGINT NOT NULL DEFAULT 0,
             FOREIGN KEY (reply_to) REFERENCES comments (id)
         )",
    );
    let replies = r#"
        [[trigger]]
        name = "count_replies"
        rows = "comments"
        count = ["reply_to:comments.replies"]
        "#;
    if BACKEND == "mysql" {
        let generated = database.generate(replies);
        generated.fails("cannot change the table of its own row");
        return;
    }
    database.count(replies);
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO comments (id, reply_to) VALUES (1, NULL);
         INSERT INTO comments (id, reply_to) VALUES (2, 1), (3, 1);
         INSERT INTO comments (id, reply_to) VALUES (4, 2);
         UPDATE comments SET reply_to = 3 WHERE id = 4;
         DELETE FROM comments WHERE id = 2",
    );
    let replies = |id| format!("SELECT replies FROM comments WHERE id = {id}");
    assert_eq!([1, 3, 4].map(|id| number(&replies(id), conn)), [1, 1, 0]);
    database.assert_agrees();
}

/// Comments have likes, and a post's score is the likes of its comments.
#[test]
fn a_column_that_is_counted_in_can_be_a_weight() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, score BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE comments (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL,
             likes BIGINT NOT NULL DEFAULT 0, FOREIGN KEY (post_id) REFERENCES posts (id) ON DELETE CASCADE);
         CREATE TABLE comment_likes (comment_id BIGINT NOT NULL, user_id BIGINT NOT NULL,
             PRIMARY KEY (comment_id, user_id),
             FOREIGN KEY (comment_id) REFERENCES comments (id) ON DELETE CASCADE);
         INSERT INTO posts VALUES (1, 0), (2, 0);
         INSERT INTO comments VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0);
         INSERT INTO comment_likes VALUES (1, 1), (1, 2), (2, 1), (3, 1)",
    );
    let scores = r#"
        [[trigger]]
        name = "count_scores"
        rows = "comments"
        count = ["post_id:posts.score=likes"]
        "#;
    let likes = r#"
        [[trigger]]
        name = "count_likes"
        rows = "comment_likes"
        count = ["comment_id:comments.likes"]
        "#;
    let in_order = database.printed(&format!("{likes}{scores}")).json();
    let scores_first = format!("{scores}{likes}");
    let printed = database.printed(&scores_first).json();
    for part in ["up", "down"] {
        assert_eq!(printed[part], in_order[part]);
    }
    database.count(&scores_first);
    let conn = &mut open(&database);
    let score = |id| format!("SELECT score FROM posts WHERE id = {id}");
    for (statement, scores) in [
        ("SELECT 1", [3, 1]),
        ("INSERT INTO comment_likes VALUES (3, 2), (2, 2)", [4, 2]),
        ("UPDATE comments SET post_id = 2 WHERE id = 1", [2, 4]),
    ] {
        conn.run(statement);
        assert_eq!([1, 2].map(|id| number(&score(id), conn)), scores);
    }
    database.assert_agrees();
}

/// Triggers lock rows in the order of the definitions, also by way of others. SQLite has one
/// writer.
#[test]
fn rows_are_locked_in_one_order() {
    let database = TestDatabase::create();
    database.execute(TABLES);
    let posts = r#"["user_id:users.post_count"]"#;
    let of_tags = r#"["user_id:users.post_count=tag_count"]"#;
    let posts_first = r#"["post_id:posts.tag_count", "user_id:users.tag_count"]"#;
    let and_tags = r#"["post_id:posts.tag_count", "tag_id:tag_counters.usages"]"#;
    let users_first = r#"["user_id:users.tag_count", "post_id:posts.tag_count"]"#;
    let order = "post_tags, posts, users";
    for (post_tags, posts, order) in [
        (posts_first, posts, order),
        // The user of a post is locked with the post.
        (and_tags, of_tags, order),
        (users_first, posts, ""),
    ] {
        let definitions = [("post_tags", post_tags), ("posts", posts)].map(|(rows, counts)| {
            let name = format!("count_{rows}");
            trigger(&name, rows, &format!("count = {counts}"))
        });
        database.define(&definitions.concat());
        let ran = database.command("generate triggers --print");
        match order {
            _ if BACKEND == "sqlite" => ran.works(),
            "" => ran.fails(
                "a row of posts locks a row of posts before one of users, and a row of post_tags locks \
                 users before posts",
            ),
            order => ran.prints(&format!("as the program must lock them:\n-- {order}.\n")),
        }
    }
}
