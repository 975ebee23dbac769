//! A recount of counts that `fold` has merged.

use super::{integer, number, open};
use crate::TestDatabase;
use crate::behaviour::{Execute, check_of};

/// Votes on their own days, which count in votes and in points.
fn voted(weight: &str, keys: &str) -> TestDatabase {
    voted_by("day", weight, keys)
}

fn voted_by(period: &str, weight: &str, keys: &str) -> TestDatabase {
    let database = TestDatabase::create();
    let [votes, points] = ["votes", "points"].map(check_of);
    database.execute(&format!(
        "CREATE TABLE article_counters (
             article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             votes BIGINT NOT NULL DEFAULT 0 {votes}, points BIGINT NOT NULL DEFAULT 0 {points},
             PRIMARY KEY (article_id, day, slot)
         );
         CREATE TABLE votes (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, given_on DATE,
             points INTEGER NOT NULL
         )"
    ));
    database.set_period("article_counters", period);
    database.count(&defined(weight, &format!("day = 'given_on'\n{keys}")));
    // Two years of a vote every five days for the first article, and every eight for the second one.
    let first = chrono::NaiveDate::from_ymd_opt(2024, 1, 2).unwrap();
    let votes = (0..146_i64).flat_map(|index| {
        let day = first + chrono::Days::new(5 * index as u64);
        let later = first + chrono::Days::new(8 * index as u64 / 2);
        let points = index % 5 - 1;
        [
            format!("({}, 1, '{day}', {points})", 2 * index),
            format!("({}, 2, '{later}', {points})", 2 * index + 1),
        ]
    });
    let votes = votes.collect::<Vec<_>>().join(", ");
    database.execute(&format!("INSERT INTO votes VALUES {votes}"));
    database
}

fn defined(weight: &str, keys: &str) -> String {
    format!(
        r#"
        [[trigger]]
        name = "count_votes"
        rows = "votes"
        count = ["article_id:article_counters.votes", "article_id:article_counters.points={weight}"]
        {keys}
        "#
    )
}

impl TestDatabase {
    #[track_caller]
    fn fold(&self, into: &str, before: &str) {
        let fold = format!("fold article_counters --into {into} --before {before}");
        self.command(&fold).works();
    }

    /// The votes that are stored where this is true.
    fn votes(&self, condition: &str) -> i64 {
        let sum = format!("CAST(COALESCE(SUM(votes), 0) AS {})", integer());
        let query = format!("SELECT {sum} FROM article_counters WHERE {condition}");
        number(&query, &mut open(self))
    }

    /// Without the row by which a recount locks an article.
    fn counter_rows(&self) -> i64 {
        let rows = "SELECT COUNT(*) FROM article_counters WHERE day > '1970-01-01'";
        number(rows, &mut open(self))
    }

    #[track_caller]
    fn is_right(&self) {
        let ran = self.command("recount --dry-run --lower");
        ran.works();
        ran.prints("count_votes: all counts agree with votes\n");
    }

    /// Asserts that a recount finds nothing wrong, changes nothing, and finds days that were merged
    /// only if it's told to.
    #[track_caller]
    fn is_right_and_merged(&self) {
        let rows = self.counter_rows();
        for recount in [
            "recount --dry-run",
            "recount --dry-run --lower",
            "recount",
            "recount count_votes --of 1 --dry-run --lower",
        ] {
            let ran = self.command(recount);
            ran.works();
            ran.prints("count_votes: all counts agree with votes\n");
        }
        assert_eq!(self.counter_rows(), rows);
        self.command("recount --dry-run --unfold")
            .finds("would be corrected");
    }
}

const PERIODS: [&str; 4] = ["week", "month", "year", "total"];

/// For a nightly check.
#[test]
fn what_a_fold_has_merged_is_compared_with_the_rows_of_its_period() {
    for into in PERIODS {
        let database = voted("points + 1", "");
        database.assert_agrees();
        database.command("compact article_counters").works();
        database.assert_agrees();
        database.fold(into, "2025-11-01");
        database.is_right_and_merged();
    }
}

/// Rows of merged days are deleted, move to other days and other articles, and come.
#[test]
fn rows_of_merged_days_can_change() {
    for into in PERIODS {
        let database = voted("points + 1", "");
        database.fold(into, "2025-11-01");
        let conn = &mut open(&database);
        for statement in [
            "DELETE FROM votes WHERE id % 7 = 3",
            "UPDATE votes SET given_on = '2024-06-12' WHERE id % 11 = 1",
            "UPDATE votes SET article_id = 3 - article_id WHERE id % 5 = 1",
            "UPDATE votes SET points = points + 2 WHERE id % 3 = 1",
            "INSERT INTO votes VALUES (1000, 1, '2024-01-01', 3), (1001, 2, '2024-02-29', 3),
                 (1002, 1, '2025-12-31', 3), (1003, 2, NULL, 3)",
        ] {
            conn.run(statement);
            database.is_right();
        }
        database.command("compact article_counters").works();
        database.is_right();
        database.fold(into, "2025-12-01");
        database.is_right_and_merged();
    }
}

/// The last days stay, then come weeks, months, years and one row, of which each began at another time.
#[test]
fn each_period_can_be_folded_into_the_next_one() {
    let database = voted("points + 1", "");
    let conn = &mut open(&database);
    for (into, before) in [
        ("week", "2025-10-10"),
        ("month", "2025-07-01"),
        ("year", "2025-01-01"),
        ("total", "2024-05-05"),
        ("month", "2025-10-01"),
        ("total", "2025-03-14"),
        ("year", "2025-01-01"),
    ] {
        database.fold(into, before);
        database.is_right();
        conn.run(
            "UPDATE votes SET given_on = '2024-03-08' WHERE id = (SELECT id FROM (
                 SELECT MIN(id) AS id FROM votes WHERE given_on > '2025-02-01') AS next)",
        );
        database.is_right();
    }
    database.is_right_and_merged();
}

/// Nothing else is: the other days stay merged.
#[test]
fn a_wrong_total_of_merged_days_is_corrected_in_their_row() {
    for (into, first, on, rows) in [
        ("week", "2025-06-09", " on 2025-06-09", 2),
        ("month", "2025-06-01", " on 2025-06-01", 6),
        ("year", "2024-01-01", " on 2024-01-01", 73),
        ("total", "1970-01-01", "", 134),
    ] {
        let database = voted("1", "");
        database.fold(into, "2025-11-01");
        let conn = &mut open(&database);
        let counters = database.counter_rows();
        for (stored, lower) in [(rows - 1, ""), (rows + 2, " --lower")] {
            conn.run(&format!(
                "UPDATE article_counters SET votes = {stored}
                 WHERE article_id = 1 AND day = '{first}' AND slot = 0"
            ));
            let line = format!(
                "article_counters.votes of 1{on} (merged days): stored {stored}, rows {rows}\n"
            );
            let dry = database.command(&format!("recount --dry-run{lower}"));
            dry.finds("count_votes: 1 count would be corrected\n");
            dry.prints(&line);
            let json = database.command(&format!("recount --dry-run --json{lower}"));
            let wrong = &json.json()["triggers"][0]["wrong"][0];
            assert_eq!(
                (&wrong["day"], &wrong["merged"]),
                (&first.into(), &true.into())
            );
            let recounted = database.command(&format!("recount{lower}"));
            recounted.prints("count_votes: 1 count corrected\n");
            recounted.prints(&line);
            assert_eq!(database.counter_rows(), counters, "{into}");
            database.is_right();
        }
        // Without --lower, more than the rows stays.
        conn.run(&format!(
            "UPDATE article_counters SET votes = votes + 2
             WHERE article_id = 1 AND day = '{first}' AND slot = 0"
        ));
        let dry = database.command("recount --dry-run");
        dry.works();
        dry.prints("1 count of article_counters.votes is higher than its rows, by 2 in total");
    }
}

/// It has counts on other days, so that its own days are compared.
#[test]
fn a_period_that_was_not_merged_is_corrected_day_by_day() {
    let database = voted("1", "");
    let conn = &mut open(&database);
    // 2025-06-01 has no row, and 2025-06-15 one.
    conn.run(
        "INSERT INTO article_counters VALUES (1, '2025-06-01', 1, 3, 0);
         UPDATE article_counters SET votes = 0 WHERE article_id = 1 AND day = '2025-06-15'",
    );
    let dry = database.command("recount --dry-run --lower");
    dry.finds("2 counts would be corrected");
    dry.prints("of 1 on 2025-06-01: stored 3, rows 0\n");
    dry.prints("of 1 on 2025-06-15: stored 0, rows 1\n");
    database.command("recount --lower").works();
    database.assert_agrees();
}

/// A merged period with counts on other days, too, has no right total: each day is corrected, and the
/// next fold merges them again.
#[test]
fn merged_days_with_counts_and_a_wrong_total_return_to_their_days() {
    let database = voted("1", "");
    database.fold("month", "2025-11-01");
    let conn = &mut open(&database);
    conn.run(
        "UPDATE votes SET given_on = '2025-06-20' WHERE article_id = 1 AND given_on = '2025-06-15';
         UPDATE article_counters SET votes = votes - 1
         WHERE article_id = 1 AND day = '2025-06-01' AND slot = 0",
    );
    database
        .command("recount --dry-run")
        .finds("of 1 on 2025-06-20: stored 1, rows 2\n");
    database.command("recount").works();
    assert_eq!(database.votes("article_id = 1 AND day = '2025-06-20'"), 2);
    database.is_right_and_merged();
    database.fold("month", "2025-11-01");
    assert_eq!(database.votes("article_id = 1 AND day = '2025-06-20'"), 0);
    database.is_right_and_merged();
}

#[test]
fn merged_counts_return_to_the_days_of_their_rows_if_they_are_told_to() {
    for into in PERIODS {
        let database = voted("points + 1", "");
        let rows = database.counter_rows();
        database.fold(into, "2025-11-01");
        assert!(database.counter_rows() < rows);
        database.command("recount --unfold").prints("corrected");
        database.assert_agrees();
        assert_eq!(database.votes("article_id = 1 AND day = '2025-06-15'"), 1);
    }
}

/// The points of a month can then be less than those of its first day, or 0.
#[test]
fn rows_that_add_less_than_0_can_be_merged() {
    for into in PERIODS {
        let database = voted("0 - points", "");
        database.fold(into, "2025-11-01");
        let conn = &mut open(&database);
        conn.run("DELETE FROM votes WHERE id % 7 = 3");
        database.is_right_and_merged();
    }
}

#[test]
fn periods_of_a_table_are_merged_into_longer_ones() {
    for (period, into) in [("week", "month"), ("month", "year"), ("year", "total")] {
        let database = voted_by(period, "points", "");
        database.assert_agrees();
        database.fold(into, "2025-01-01");
        open(&database).run("DELETE FROM votes WHERE id % 7 = 3");
        database.is_right_and_merged();
    }
}

/// Rows are gone, and their counts stay: they are not counted again.
#[test]
fn merged_days_of_counts_that_stay_are_not_counted_again() {
    for into in PERIODS {
        let database = voted("1", "deleted = 'kept'");
        open(&database).run("DELETE FROM votes WHERE id % 7 = 3");
        database.fold(into, "2025-11-01");
        let before = database.votes("1 = 1");
        database.assert_merged_counts_stay();
        // One more comes to a merged day, and the next fold merges it.
        open(&database).run("INSERT INTO votes VALUES (1000, 1, '2024-06-12', 3)");
        database.fold(into, "2025-11-01");
        database.assert_merged_counts_stay();
        assert_eq!(database.votes("1 = 1"), before + 1, "{into}");
    }
}

/// Rows have counted on the day on which they came.
#[test]
fn counts_from_before_the_definition_had_a_day_move_to_it() {
    let database = voted("1", "");
    let conn = &mut open(&database);
    database.count(&defined("1", ""));
    conn.run("INSERT INTO votes VALUES (1000, 1, '2024-06-12', 3), (1001, 2, '2025-06-15', 3)");
    database.count(&defined("1", "day = 'given_on'"));
    database
        .command("recount --unfold")
        .prints("count_votes: 8 counts corrected");
    database.assert_agrees();
}

impl TestDatabase {
    #[track_caller]
    fn assert_merged_counts_stay(&self) {
        for recount in ["recount --dry-run", "recount"] {
            let ran = self.command(recount);
            ran.works();
            ran.prints("count_votes: no count is too low\n");
        }
    }
}
