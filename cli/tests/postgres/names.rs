//! Names that need quotes, or that mean something in a function.

use super::roles::{COUNT_LIKES, Roles};
use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::project::{key, trigger};
use crate::behaviour::triggers::{OF_ARTICLES, number, open, tables};

/// The counter table refers to a table whose names would end the text of a function, or a comment.
#[test]
fn names_do_not_end_the_text_of_a_function() {
    let end = "$$; CREATE TABLE planted (); --";
    for [table, column] in [
        [end, "id"],
        ["words", end],
        ["$counting1$ $$", "*/ 'id\" $$"],
    ] {
        let database = TestDatabase::create();
        let [quoted_table, quoted_column] =
            [table, column].map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
        database.execute(&format!(
            "CREATE TABLE {quoted_table} ({quoted_column} BIGINT PRIMARY KEY);
             INSERT INTO {quoted_table} VALUES (1);
             CREATE TABLE word_counters (
                 word BIGINT NOT NULL REFERENCES {quoted_table} ON DELETE CASCADE,
                 day DATE NOT NULL, slot SMALLINT NOT NULL, uses BIGINT NOT NULL DEFAULT 0,
                 PRIMARY KEY (word, day, slot)
             );
             CREATE TABLE uses (id BIGINT PRIMARY KEY, word BIGINT)"
        ));
        let count = "count = ['word:word_counters.uses']";
        database.count(&trigger("count_uses", "uses", count));
        let conn = &mut open(&database);
        conn.run("INSERT INTO uses VALUES (1, 1), (2, 1); DELETE FROM uses WHERE id = 1");
        let uses = "SELECT CAST(SUM(uses) AS BIGINT) FROM word_counters";
        assert_eq!(number(uses, conn), 1);
        let planted = "SELECT COUNT(*) FROM pg_class WHERE relname = 'planted'";
        assert_eq!(number(planted, conn), 0);
        assert!(database.trigger_faults("word_counters").is_empty());
    }
}

/// A name can be anything that is in one line.
#[test]
fn a_definition_can_have_any_name() {
    let database = tables(true);
    let name = key("name", "it's \"$x$ -- */ \\ é🦀");
    let rows = key("rows", "article_likes");
    database.count(&format!("[[trigger]]\n{name}{rows}{OF_ARTICLES}"));
    database.execute("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
    assert!(database.trigger_faults("article_counters").is_empty());
    database.assert_agrees();
}

/// PL/pgSQL has variables with these names in each trigger.
#[test]
fn columns_can_have_the_names_of_variables() {
    let names = [
        "found",
        "tg_op",
        "tg_argv",
        "tg_table_name",
        "tg_relid",
        "new",
        "old",
        "number",
        "entity",
    ];
    for name in names {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE articles ({name} BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE sums (id BIGINT PRIMARY KEY, {name} BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE article_counters (
                 {name} BIGINT NOT NULL REFERENCES articles ON DELETE CASCADE, day DATE NOT NULL,
                 slot SMALLINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY ({name}, day, slot)
             );
             CREATE TABLE site_counters (
                 day DATE NOT NULL, slot SMALLINT NOT NULL, {name} BIGINT NOT NULL DEFAULT 0,
                 PRIMARY KEY (day, slot)
             );
             CREATE TABLE likes (id BIGINT PRIMARY KEY, {name} BIGINT, stars BIGINT NOT NULL DEFAULT 1);
             INSERT INTO articles VALUES (1), (2); INSERT INTO sums VALUES (1), (2);
             INSERT INTO likes VALUES (1, 1), (2, NULL)"
        ));
        database.count(&format!(
            r#"
            [[trigger]]
            name = "count_likes"
            rows = "likes"
            count = [
                "{name}:articles.likes",
                "{name}:sums.{name}",
                "{name}:article_counters.likes",
                "site_counters.{name}=stars",
            ]
            when = "{name} < 9"
            "#
        ));
        let conn = &mut open(&database);
        for statement in [
            "INSERT INTO likes VALUES (3, 1, 2), (4, 2, 3), (5, 9, 4)".to_owned(),
            format!("UPDATE likes SET {name} = 2, stars = 7 WHERE id IN (1, 2)"),
            "DELETE FROM likes WHERE id = 4".to_owned(),
            format!("DELETE FROM articles WHERE {name} = 1"),
            "TRUNCATE likes".to_owned(),
        ] {
            conn.run(&statement);
            database.assert_agrees();
        }
        assert!(
            database.trigger_faults("article_counters").is_empty(),
            "{name}"
        );
    }
}

/// A line of SQL is indented, also in a name.
#[test]
fn names_of_several_lines_are_refused() {
    let roles = Roles::create(false);
    roles
        .owner()
        .run("ALTER TABLE posts RENAME COLUMN code TO \"co\nde\"");
    roles.generate(COUNT_LIKES).fails("control character");
}
