//! Commands whose lock another session has.

use crate::behaviour::Execute;
use crate::behaviour::doctor::with_counters;
use crate::behaviour::triggers::counted_likes;
use crate::hot_row::{session_id, wait_until};
use crate::{BACKEND, Conn, TestDatabase};

/// Two rows that can be merged.
const ROWS: &str =
    "INSERT INTO article_counters VALUES (1, '2025-01-01', 1, 1), (1, '2025-01-01', 2, 1)";

/// The statement of anybody who may connect.
fn lock() -> &'static str {
    match BACKEND {
        "postgres" => {
            "DO $$ BEGIN PERFORM pg_advisory_lock(hashtext('diesel_counters/merge'),
                CAST(CAST('article_counters' AS regclass) AS oid)::int4); END $$"
        }
        _ => {
            "DO GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE(), 'article_counters'), 224), 0)"
        }
    }
}

fn held() -> (TestDatabase, Conn, i64) {
    let database = with_counters();
    database.execute(ROWS);
    let mut holder = database.connect();
    holder.run(lock());
    let session = session_id(&mut holder);
    (database, holder, session)
}

#[test]
fn a_merge_that_another_session_blocks_names_it_and_does_not_succeed() {
    let (database, holder, session) = held();
    for command in [
        "compact article_counters",
        "fold article_counters --before 2026-01-01",
    ] {
        let ran = database.command(command);
        assert_eq!(ran.code, 4, "{ran:?}");
        ran.prints(&format!("session {session}"));
        let json = database.command(&format!("{command} --json"));
        assert_eq!(json.code, 4, "{json:?}");
        assert_eq!(json.json()["already_running"], true);
        let holder = json.json()["holder"].as_str().unwrap().to_owned();
        assert!(holder.contains(&format!("session {session}")), "{holder}");
    }
    database
        .command("compact article_counters --dry-run")
        .works();
    drop(holder);
    // The server ends the session only after its client has gone.
    wait_until("the lock stays", || {
        database.command("compact article_counters").code != 4
    });
    assert_eq!(database.rows_and_sum("article_counters", "views"), (1, 2));
}

/// The other tables are merged.
#[test]
fn a_merge_of_all_tables_that_another_session_blocks_in_one_does_not_succeed() {
    let (database, _holder, session) = held();
    database.create_counters("page_counters", "page_id BIGINT");
    database.execute(&ROWS.replace("article", "page"));
    let ran = database.command("compact");
    assert_eq!(ran.code, 4, "{ran:?}");
    ran.prints("article_counters: nothing was merged");
    ran.prints(&format!("session {session}"));
    ran.prints("page_counters: 2 rows before");
    assert_eq!(database.rows_and_sum("page_counters", "views"), (1, 2));
}

#[test]
fn rows_that_another_transaction_has_locked_are_left_and_told() {
    let database = with_counters();
    database.execute(ROWS);
    let holder = &mut database.connect();
    holder.run("BEGIN; UPDATE article_counters SET views = 5 WHERE article_id = 1 AND day = '2025-01-01' AND slot = 2");
    let ran = database.command("compact article_counters");
    ran.works();
    ran.prints("1 rows before");
    ran.prints(" merged, 1 left; ");
    ran.prints("\n  Other transactions have locked or just written the rows that are left.");
    holder.run("COMMIT");
    let next = database.command("compact article_counters");
    next.prints(" merged, 0 left; ");
    assert_eq!(next.stdout.lines().count(), 1, "{next:?}");
    assert_eq!(database.rows_and_sum("article_counters", "views"), (1, 6));
}

/// Another correction of the article, which doesn't end.
#[test]
fn a_recount_that_waits_for_too_long_names_its_counter() {
    let database = counted_likes();
    database.execute(
        "INSERT INTO article_likes (id, article_id) VALUES (1, 1); UPDATE article_counters SET likes = 0",
    );
    let holder = &mut database.connect();
    holder.run(
        "BEGIN; INSERT INTO article_counters (article_id, day, slot) VALUES (1, '1970-01-01', 0)",
    );
    let ran = database.command("recount");
    ran.fails("diesel-counters: count_likes: article_counters.likes: ");
    ran.fails("see `diesel-counters doctor TABLE`");
    holder.run("ROLLBACK");
    database.command("recount").prints("1 count corrected");
}

#[test]
fn no_command_hangs_behind_a_lock() {
    let database = counted_likes();
    let holder = &mut database.connect();
    holder.run(match BACKEND {
        "postgres" => "BEGIN; LOCK TABLE article_counters",
        _ => "LOCK TABLES article_counters WRITE",
    });
    for command in [
        "compact article_counters",
        "compact article_counters --dry-run",
        "fold article_counters --before 2026-01-01",
        "recount",
    ] {
        let ran = database.command(command);
        ran.fails("see `diesel-counters doctor TABLE`");
    }
}
