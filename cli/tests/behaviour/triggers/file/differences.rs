//! What a migration does to the counts that it finds: nobody's count is lost by one.

use super::blog;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{likes_of, number, open};
use crate::{BACKEND, TestDatabase};
use diesel_migrations::MigrationHarness;

const COLUMN: &str = "articles.likes";
const SLOTS: &str = "article_counters.likes";

fn count_in(counter: &str, keys: &str) -> String {
    let count = format!("count = [\"article_id:{counter}\"]\n{keys}");
    trigger("count_likes", "article_likes", &count)
}

impl TestDatabase {
    /// The counts of the articles 1, 2 and 3: these have two rows, one, and none.
    fn counts(&self, counter: &str) -> [i64; 3] {
        let conn = &mut open(self);
        [1, 2, 3].map(|article| match counter {
            COLUMN => number(
                &format!("SELECT CAST(likes AS {INTEGER}) FROM articles WHERE id = {article}"),
                conn,
            ),
            _ => likes_of(article, conn),
        })
    }

    fn count_of_day(&self, article: i64, day: &str) -> i64 {
        let sum = format!(
            "SELECT CAST(COALESCE(SUM(likes), 0) AS {INTEGER}) FROM article_counters
             WHERE article_id = {article} AND day = '{day}'"
        );
        number(&sum, &mut open(self))
    }

    /// Gives articles counts that are older than their rows: 100 for the first one, 7 for the third.
    fn has_older_counts(&self, counter: &str) {
        self.execute(match counter {
            COLUMN => {
                "UPDATE articles SET likes = 102 WHERE id = 1; UPDATE articles SET likes = 7 WHERE id = 3"
            }
            _ => {
                "INSERT INTO article_counters (article_id, day, slot, likes)
                 VALUES (1, '2025-01-01', 0, 102), (3, '2025-01-01', 0, 7)"
            }
        });
    }
}

const INTEGER: &str = if BACKEND.len() == 5 {
    "SIGNED"
} else {
    "BIGINT"
};

/// The migration is written beside the developer's database, and runs in production.
#[test]
fn a_migration_keeps_counts_that_it_finds_in_another_database() {
    for counter in [COLUMN, SLOTS] {
        for day in ["", "day = 'created_at'"] {
            let development = blog();
            development.count(&count_in(counter, day));
            assert_eq!(development.counts(counter), [2, 1, 0]);
            let production = blog();
            production.has_older_counts(counter);
            let ran = open(&production)
                .run_pending_migrations(development.migrations())
                .map(drop);
            ran.unwrap();
            assert_eq!(production.counts(counter), [102, 1, 7], "{counter} {day}");
            production.define(&development.defined());
            for words in ["recount --dry-run", "recount"] {
                let recounted = production.command(words);
                let left = format!(
                    "count_likes: no count is too low\n  2 counts of {counter} are higher than their \
                     rows, by 107 in total: --lower lowers them\n"
                );
                assert_eq!(recounted.stdout, left);
            }
            assert_eq!(production.counts(counter), [102, 1, 7]);
            production.command("recount --lower").works();
            assert_eq!(production.counts(counter), [2, 1, 0]);
            production.assert_agrees();
        }
    }
}

/// The command says which counts of its own database aren't those of the rows, and what to do.
#[test]
fn a_migration_that_keeps_other_counts_says_so() {
    for counter in [COLUMN, SLOTS] {
        let database = blog();
        database.has_older_counts(counter);
        let generated = database.generate(&count_in(counter, ""));
        let text = format!(
            "in {counter}, the counts of 2 entities differ from their rows in article_likes, by 107 in \
             total, and the migration keeps them. To count the rows only, remove this migration and \
             generate it with --existing rows. If they are older than the rows, leave them: with deleted \
             = \"kept\", rows that are deleted later stay counted, too"
        );
        assert!(generated.stderr.contains(&text), "{generated:?}");
    }
}

#[test]
fn a_migration_can_set_counts_to_their_rows() {
    for counter in [COLUMN, SLOTS] {
        for day in ["", "day = 'created_at'"] {
            let database = blog();
            database.has_older_counts(counter);
            database.define(&count_in(counter, day));
            database
                .command("generate triggers rows --existing rows")
                .works();
            let up = database.last_migration("up.sql");
            assert!(up.contains("This can lower counts"), "{up}");
            database.migrate();
            assert_eq!(database.counts(counter), [2, 1, 0], "{counter} {day}");
            database.assert_agrees();
        }
    }
}

#[test]
fn a_changed_definition_adds_the_difference() {
    for counter in [COLUMN, SLOTS] {
        let database = blog();
        database.has_older_counts(counter);
        // The stars are 3 and 2 of the first article, and 1 of the second one.
        for (keys, expected) in [
            ("", [102, 1, 7]),
            ("when = 'stars > 2'", [101, 0, 7]),
            ("when = 'stars < 3'", [101, 1, 7]),
            ("by = 'stars'", [105, 1, 7]),
            ("by = 'stars'\nday = 'created_at'", [105, 1, 7]),
            (
                "when = 'stars > 2'\nby = 'stars'\nday = 'created_at'",
                [103, 0, 7],
            ),
            ("slots = 8", [102, 1, 7]),
            ("deleted = 'kept'\nwhen = 'stars > 2'", [101, 0, 7]),
        ] {
            let before = database.counts(counter);
            database.count(&count_in(counter, keys));
            assert_eq!(database.counts(counter), expected, "{counter}: {keys}");
            if !keys.is_empty() {
                database.revert();
                assert_eq!(
                    database.counts(counter),
                    before,
                    "{counter}: {keys}, and back"
                );
                database.migrate();
                assert_eq!(
                    database.counts(counter),
                    expected,
                    "{counter}: {keys}, and again"
                );
            }
        }
    }
}

/// Also if it has another name, other rows, or another definition has taken its counter.
#[test]
fn a_counter_that_another_definition_gets_keeps_its_older_counts() {
    for counter in [COLUMN, SLOTS] {
        let database = blog();
        database.execute(
            "CREATE TABLE reactions (id BIGINT NOT NULL PRIMARY KEY, of_article BIGINT NOT NULL,
                 FOREIGN KEY (of_article) REFERENCES articles (id) ON DELETE CASCADE);
             INSERT INTO reactions VALUES (1, 2), (2, 3), (3, 3)",
        );
        database.has_older_counts(counter);
        database.count(&count_in(counter, ""));
        let count = format!("count = [\"article_id:{counter}\"]");
        database.count(&trigger("likes_of_articles", "article_likes", &count));
        assert_eq!(database.counts(counter), [102, 1, 7]);
        let count = format!("count = [\"of_article:{counter}\"]");
        database.count(&trigger("count_reactions", "reactions", &count));
        assert_eq!(database.counts(counter), [100, 1, 9]);
        database.revert();
        assert_eq!(database.counts(counter), [102, 1, 7]);
    }
}

/// In an ordinary column, too.
#[test]
fn a_changed_definition_leaves_nothing_behind() {
    for counter in [COLUMN, SLOTS] {
        for day in ["", "day = 'created_at'\n"] {
            let database = blog();
            database.count(&count_in(counter, day));
            assert_eq!(database.counts(counter), [2, 1, 0]);
            database.count(&count_in(counter, &format!("{day}when = 'stars > 100'")));
            assert_eq!(database.counts(counter), [0, 0, 0]);
            database.assert_agrees();
            database.count(&count_in(counter, &format!("{day}when = 'stars > 1'")));
            assert_eq!(database.counts(counter), [2, 0, 0]);
            database.assert_agrees();
        }
    }
}

/// The rows of an ordinary table in which rows are counted can be other ones then.
#[test]
fn entities_that_are_not_counted_in_any_more_lose_their_rows() {
    let database = blog();
    database.has_older_counts(COLUMN);
    for (only, expected) in [
        ("only = 'id > 1'", [102, 1, 7]),
        ("only = 'id <> 2'", [104, 0, 7]),
        ("", [104, 1, 7]),
        ("only = 'id = 2'\nwhen = 'stars > 100'", [102, 0, 7]),
    ] {
        database.count(&count_in(COLUMN, only));
        assert_eq!(database.counts(COLUMN), expected, "{only}");
    }
}

/// Without a day, or with one: the rows count on their own days then.
#[test]
fn a_column_that_moves_to_slots_takes_its_counts_along() {
    for (keys, then, expected, undated) in [
        ("", "", [102, 1, 7], 102),
        ("", "day = 'created_at'", [102, 1, 7], 100),
        ("when = 'stars > 2'", "when = 'stars > 2'", [102, 0, 7], 102),
        ("", "when = 'stars > 2'", [101, 0, 7], 101),
        (
            "",
            "when = 'stars > 2'\nday = 'created_at'",
            [101, 0, 7],
            100,
        ),
    ] {
        let database = blog();
        database.has_older_counts(COLUMN);
        database.count(&count_in(COLUMN, keys));
        let before = database.counts(COLUMN);
        database.count(&count_in(SLOTS, then));
        assert_eq!(database.counts(SLOTS), expected, "{then}");
        assert_eq!(database.count_of_day(1, "1970-01-01"), undated, "{then}");
        assert_eq!(database.counts(COLUMN), before);
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id, stars) VALUES (9, 3, 9)");
        assert_eq!(database.counts(SLOTS)[2], 8);
        assert_eq!(database.counts(COLUMN), before);
    }
}

/// Two columns that count the same rows, by other weights.
#[test]
fn each_column_goes_to_its_own_counter() {
    let database = blog();
    database.execute("ALTER TABLE articles ADD COLUMN comments INTEGER NOT NULL DEFAULT 0");
    database.has_older_counts(COLUMN);
    let counts = |table: &str| {
        let counts = format!(
            "count = [\"article_id:{table}.likes\", \"article_id:{table}.comments=stars\"]"
        );
        trigger("count_likes", "article_likes", &counts)
    };
    database.count(&counts("articles"));
    database.count(&counts("article_counters"));
    assert_eq!(database.counts(SLOTS), [102, 1, 7]);
    let stars = format!("SELECT CAST(SUM(comments) AS {INTEGER}) FROM article_counters");
    assert_eq!(number(&stars, &mut open(&database)), 6);
}

/// Likes and flags are rows of one table, and move together: each has its own older counts.
#[test]
fn columns_of_several_definitions_move_together() {
    let database = blog();
    database.execute("ALTER TABLE articles ADD COLUMN flags INTEGER NOT NULL DEFAULT 0");
    database.execute("UPDATE articles SET likes = 100, flags = 7 WHERE id = 1");
    let both = |table: &str, flags: &str| {
        let likes = format!("count = [\"article_id:{table}.likes\"]\nwhen = 'stars > 2'");
        let flags = format!("count = [\"article_id:{table}.{flags}\"]\nwhen = 'stars < 3'");
        trigger("count_likes", "article_likes", &likes)
            + &trigger("count_flags", "article_likes", &flags)
    };
    database.count(&both("articles", "flags"));
    database.count(&both("article_counters", "comments"));
    assert_eq!(database.counts(SLOTS), [100, 0, 0]);
    let flags = format!(
        "SELECT CAST(SUM(comments) AS {INTEGER}) FROM article_counters WHERE article_id = 1"
    );
    assert_eq!(number(&flags, &mut open(&database)), 7);
}

/// A counter is the weight of another one: both definitions change, or only one of them. MariaDB can
/// refuse the migration with error 1442, as docs/triggers.md says.
#[test]
fn a_counter_that_is_a_weight_changes_with_its_definition() {
    if BACKEND == "mysql" {
        let is_mariadb = "SELECT CAST(VERSION() LIKE '%MariaDB%' AS SIGNED)";
        if number(is_mariadb, &mut open(&blog())) == 1 {
            return;
        }
    }
    let counts = |likes: &str, sums: &str, name: &str| {
        let likes = format!("count = [\"article_id:articles.likes\"]\n{likes}");
        let sums = format!("count = [\"site_counters.likes\"]\nby = 'likes'\n{sums}");
        trigger("count_likes", "article_likes", &likes) + &trigger(name, "articles", &sums)
    };
    let site = |database: &TestDatabase| {
        let sum = format!("SELECT CAST(COALESCE(SUM(likes), 0) AS {INTEGER}) FROM site_counters");
        number(&sum, &mut open(database))
    };
    for (likes, sums, name, expected) in [
        ("when = 'stars > 2'", "", "sum_likes", 1),
        ("when = 'stars > 2'", "when = 'id < 3'", "sum_likes", 1),
        ("by = 'stars'", "", "sum_of_likes", 6),
        ("by = 'stars'", "when = 'id > 1'", "sum_of_likes", 1),
        ("", "when = 'id > 1'", "sum_likes", 1),
    ] {
        let database = blog();
        database.count(&counts("", "", "sum_likes"));
        assert_eq!(site(&database), 3);
        database.count(&counts(likes, sums, name));
        assert_eq!(site(&database), expected, "{likes}, {sums}, {name}");
        database.assert_agrees();
        database.revert();
        assert_eq!(site(&database), 3, "{likes}, {sums}, {name}, and back");
        database.migrate();
        assert_eq!(
            site(&database),
            expected,
            "{likes}, {sums}, {name}, and again"
        );
    }
}

/// A table of statistics can have rows of entities that are gone.
#[test]
fn a_column_of_an_entity_that_is_gone_moves_nowhere() {
    let database = blog();
    database.execute(
        "CREATE TABLE article_stats (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL UNIQUE,
             likes BIGINT NOT NULL DEFAULT 0);
         INSERT INTO article_stats VALUES (7, 1, 5), (8, 2, 0), (9, 99, 4)",
    );
    for day in ["", "day = 'created_at'"] {
        database.count(&count_in("article_stats(article_id).likes", day));
        database.count(&count_in(SLOTS, day));
        assert_eq!(database.counts(SLOTS), [5, 1, 0], "{day}");
        database.count("");
        database.execute(
            "DELETE FROM article_counters; UPDATE article_stats SET likes = 5 WHERE article_id = 1",
        );
        database.execute("UPDATE article_stats SET likes = 0 WHERE article_id = 2");
    }
}

/// Two columns of the key, and of the row, that refer to one table.
#[test]
fn a_key_of_two_columns_of_one_parent_is_counted() {
    let database = blog();
    database.execute(&format!(
        "CREATE TABLE friends (a BIGINT NOT NULL, b BIGINT NOT NULL, n INTEGER NOT NULL DEFAULT 1);
         INSERT INTO friends VALUES (1, 2, 1), (1, 2, 2), (2, 1, 1), (1, 99, 1);
         CREATE TABLE pair_counters (a BIGINT NOT NULL, b BIGINT NOT NULL, day DATE NOT NULL,
             slot SMALLINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0 {},
             PRIMARY KEY (a, b, day, slot),
             FOREIGN KEY (a) REFERENCES users (id) ON DELETE CASCADE,
             FOREIGN KEY (b) REFERENCES users (id) ON DELETE CASCADE)",
        crate::behaviour::check_of("likes")
    ));
    let sum = format!("SELECT CAST(COALESCE(SUM(likes), 0) AS {INTEGER}) FROM pair_counters");
    for (keys, expected) in [("", 3), ("when = 'n > 1'", 1), ("by = 'n'", 4)] {
        let count = format!("count = [\"a,b:pair_counters.likes\"]\n{keys}");
        database.count(&trigger("count_pairs", "friends", &count));
        assert_eq!(number(&sum, &mut open(&database)), expected, "{keys}");
        database.assert_agrees();
    }
}

/// If one of two definitions has no day, the difference can be on no day of a row.
#[test]
fn a_difference_without_a_day_stands_on_1970() {
    let database = blog();
    database.count(&count_in(SLOTS, "day = 'created_at'"));
    assert_eq!(database.count_of_day(1, "2026-01-01"), 2);
    database.count(&count_in(SLOTS, "when = 'stars > 2'"));
    assert_eq!(database.counts(SLOTS), [1, 0, 0]);
    assert_eq!(database.count_of_day(1, "1970-01-01"), -1);
    database.count(&count_in(SLOTS, "day = 'created_at'"));
    assert_eq!(database.counts(SLOTS), [2, 1, 0]);
    assert_eq!(database.count_of_day(1, "1970-01-01"), 0);
    database.assert_agrees();
}

/// A row can have moved to another day past the triggers: no total is lowered then.
#[test]
fn a_recount_moves_counts_between_days_and_lowers_no_total() {
    let database = blog();
    database.count(&count_in(SLOTS, "day = 'created_at'"));
    let conn = &mut open(&database);
    conn.run("UPDATE article_counters SET day = '2026-02-02' WHERE article_id = 1");
    conn.run("UPDATE article_counters SET likes = 5 WHERE article_id = 2");
    conn.run("INSERT INTO article_counters (article_id, day, slot, likes) VALUES (2, '2026-03-03', 0, 1)");
    let recounted = database.command("recount");
    recounted.prints("count_likes: 2 counts corrected");
    recounted.prints("1 count of article_counters.likes is higher than its rows, by 5 in total: --lower lowers it");
    assert_eq!(database.counts(SLOTS), [2, 6, 0]);
    assert_eq!(database.count_of_day(1, "2026-01-01"), 2);
    assert_eq!(database.count_of_day(2, "2026-03-03"), 1);
    // With too few on the whole, all of its days are those of the rows.
    conn.run("UPDATE article_counters SET likes = -5 WHERE article_id = 2 AND day = '2026-01-01'");
    database
        .command("recount")
        .prints("count_likes: 2 counts corrected");
    assert_eq!(database.counts(SLOTS), [2, 1, 0]);
    database.assert_agrees();
}

/// For a nightly check: counts that stay as they are, are not wrong.
#[test]
fn a_dry_run_exits_with_3_if_a_count_is_too_low() {
    let database = blog();
    database.count(&count_in(SLOTS, ""));
    database.command("recount --dry-run").works();
    let conn = &mut open(&database);
    conn.run("UPDATE article_counters SET likes = 9 WHERE article_id = 2");
    database.command("recount --dry-run").works();
    database
        .command("recount --dry-run --lower")
        .finds("1 count would be corrected");
    conn.run("UPDATE article_counters SET likes = 0 WHERE article_id = 2");
    database
        .command("recount --dry-run")
        .finds("1 count would be corrected");
    database.command("recount").works();
    database.command("recount --dry-run").works();
}

/// Otherwise it would correct the counts to another condition than the one that the triggers have.
#[test]
fn a_recount_is_refused_beside_other_triggers() {
    let database = blog();
    let [all, approved] = ["", "when = 'stars > 2'"].map(|keys| count_in(SLOTS, keys));
    database.count(&all);
    database.generate(&approved).works();
    for words in ["recount", "recount --dry-run", "recount count_likes --of 1"] {
        database
            .command(words)
            .fails("are not those of counters.toml");
    }
    assert_eq!(database.counts(SLOTS), [2, 1, 0]);
    database.migrate();
    database.command("recount").works();
    database.define(&all);
    database
        .command("recount")
        .fails("are not those of counters.toml");
}
