//! Accounts that are gone or lost a right, views that others planted, and settings of an account.

use crate::behaviour::Execute;
use diesel::connection::{Connection, SimpleConnection};

use super::INSERT;
use crate::TestDatabase;
use crate::behaviour::doctor::with_counters;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{
    OF_ARTICLES, count_likes, counted_likes, likes_of, number, open, tables,
};
use crate::behaviour::{Ran, words};

/// An account of this test's own, which goes when this is dropped.
pub struct Account<'a> {
    database: &'a TestDatabase,
    name: String,
}

impl<'a> Account<'a> {
    /// With these rights on all tables of the database.
    pub fn create(database: &'a TestDatabase, rights: &str) -> Self {
        // Digits with an e in between would be a number.
        let name = format!("u{}", &uuid::Uuid::new_v4().simple().to_string()[..15]);
        let schema = &database.name;
        database.execute(&format!(
            "CREATE USER {name}@'%'; GRANT {rights} ON {schema}.* TO {name}@'%'"
        ));
        Account { database, name }
    }

    pub fn url(&self) -> String {
        let url = self.database.url();
        let (_, host) = url.rsplit_once('@').unwrap();
        format!("mysql://{}@{host}", self.name)
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        let _ = self
            .database
            .connect()
            .batch_execute(&format!("DROP USER IF EXISTS {}@'%'", self.name));
    }
}

/// Runs the migration to these definitions as an account that is not the one of the tests.
fn counted_by(account: &Account<'_>, toml: &str) {
    let Account { database, name } = account;
    database.generate(toml).works();
    // With a binary log, to create triggers.
    database.execute(&format!("GRANT SUPER ON *.* TO {name}@'%'"));
    database.migrate_in(&mut crate::Conn::establish(&account.url()).unwrap());
    database.execute(&format!("REVOKE SUPER ON *.* FROM {name}@'%'"));
}

/// A function that a view calls runs as the account that reads the view, if its author wants it.
#[test]
fn a_view_of_another_account_is_not_read() {
    let database = tables(true);
    let attacker = Account::create(&database, "ALL");
    database.count(&count_likes(OF_ARTICLES));
    database.execute(INSERT);
    let name = &attacker.name;
    database.execute(&format!(
        "CREATE TABLE loot (who VARCHAR(100)) ENGINE = MyISAM;
         CREATE DEFINER = {name}@'%' FUNCTION spy() RETURNS INTEGER DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
         BEGIN INSERT INTO loot VALUES (CURRENT_USER()); RETURN 7; END;
         CREATE DEFINER = {name}@'%' SQL SECURITY INVOKER VIEW planted_counters AS
             SELECT CURRENT_DATE AS day, 1 AS slot, spy() AS likes"
    ));
    let assert_not_read = |ran: Ran| {
        let conn = &mut open(&database);
        for table in ["loot", "site_counters"] {
            let rows = number(&format!("SELECT COUNT(*) FROM {table}"), conn);
            assert_eq!(rows, 0, "{table}: {ran:?}");
        }
        assert_eq!(likes_of(1, conn), 1);
    };
    for line in [
        "recount --dry-run",
        "recount",
        "recount count_likes",
        "check",
        "check planted_counters",
        "compact planted_counters",
        "compact article_counters",
        "fold planted_counters --before 2026-01-01",
        "doctor",
        "doctor planted_counters",
    ] {
        assert_not_read(database.command(line));
    }
    for (rows, counter) in [
        ("planted_counters", "site_counters.likes"),
        ("article_likes", "planted_counters.likes"),
    ] {
        let count = format!("count = ['{counter}']");
        database.define(&trigger("count_planted", rows, &count));
        for line in ["generate triggers --json", "check", "recount"] {
            assert_not_read(database.command(line));
        }
    }
}

/// Has the server set `sql_safe_updates` for the sessions of an account, until this is dropped.
struct SafeUpdates<'a>(&'a TestDatabase);

impl<'a> SafeUpdates<'a> {
    fn set(account: &Account<'a>) -> Self {
        let name = &account.name;
        account.database.execute(&format!(
            "SET GLOBAL init_connect =
                 \"SET SESSION sql_safe_updates = IF(CURRENT_USER() = '{name}@%', 1, 0)\""
        ));
        SafeUpdates(account.database)
    }
}

impl Drop for SafeUpdates<'_> {
    fn drop(&mut self) {
        self.0.execute("SET GLOBAL init_connect = ''");
    }
}

/// What a server sets for the sessions of some accounts.
#[test]
fn a_recount_works_with_safe_updates() {
    let database = tables(true);
    database.execute("ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0");
    let account = Account::create(&database, "ALL");
    let counts = "count = ['article_id:article_counters.likes', 'article_id:articles.likes']";
    counted_by(&account, &count_likes(counts));
    let conn = &mut open(&database);
    conn.run(&format!(
        "{INSERT}; UPDATE article_counters SET likes = 7; UPDATE articles SET likes = 7"
    ));
    let safe_updates = SafeUpdates::set(&account);
    let is_set = number(
        "SELECT CAST(@@sql_safe_updates AS SIGNED)",
        &mut crate::Conn::establish(&account.url()).unwrap(),
    );
    let ran = database.run_as(&account.url(), &["recount", "--lower"]);
    drop(safe_updates);
    assert_eq!(is_set, 1);
    ran.works();
    assert_eq!(likes_of(1, conn), 1);
    let likes = "SELECT CAST(SUM(likes) AS SIGNED) FROM articles";
    assert_eq!(number(likes, conn), 1);
}

#[test]
fn a_missing_right_is_named() {
    let database = with_counters();
    let account = Account::create(&database, "SELECT");
    let look = |args: &[&str]| database.run_as(&account.url(), args);
    let answers = [look(&["doctor", "article_counters"]), look(&["doctor"])];
    let of_table = look(&["doctor", "article_counters", "--json"]);
    let of_all = look(&["doctor", "--json"]);
    for answer in answers {
        answer.prints("GRANT PROCESS ON *.* TO");
        answer.prints("article_counters: can't tell whether there is contention");
        // A script does not take it for a table without contention.
        answer.fails("could not see all waits");
    }
    for report in [
        of_table.json(),
        of_all.json(),
        of_all.json()["tables"][0].clone(),
    ] {
        assert_eq!(report["contention"], serde_json::Value::Null);
    }
}

/// To it they are missing.
#[test]
fn an_account_that_may_not_see_the_triggers_is_told_which_right_it_lacks() {
    let database = counted_likes();
    let account = Account::create(&database, "ALL");
    let schema = &database.name;
    let may = |rights: &str| {
        let name = &account.name;
        database.execute(&format!(
            "REVOKE ALL ON {schema}.* FROM {name}@'%'; GRANT {rights} ON {schema}.* TO {name}@'%'"
        ));
        database.run_as(&account.url(), &["check", "--json"])
    };
    may("SELECT").finds("GRANT TRIGGER ON");
    may("SELECT, TRIGGER").works();
}

/// The last `@` is before the host.
#[test]
fn an_account_can_have_an_at_sign_in_its_name() {
    let database = tables(true);
    let account = Account::create(&database, "ALL");
    let name = &account.name;
    let schema = &database.name;
    database.execute(&format!(
        "CREATE USER '{name}@b'@'%'; GRANT ALL ON {schema}.* TO '{name}@b'@'%'"
    ));
    let url = account.url().replace(name, &format!("{name}%40b"));
    let looked = database.run_as(&url, &["doctor", "article_counters"]);
    database.execute(&format!("GRANT SUPER ON *.* TO '{name}@b'@'%'"));
    database.define(&count_likes(OF_ARTICLES));
    let generated = database.run_as(&url, &words("generate triggers count_likes"));
    database.execute(&format!("DROP USER '{name}@b'@'%'"));
    let printed = looked.stdout + &looked.stderr;
    let grant = format!("GRANT PROCESS ON *.* TO `{name}@b`@`%`;");
    assert!(printed.contains(&grant), "{printed}");
    generated.works();
    assert!(!generated.stderr.contains("1419"), "{generated:?}");
}
