//! Accounts that are gone or lost a right, definitions that others planted, and settings of an
//! account.

use crate::behaviour::Execute;
use diesel::connection::{Connection, SimpleConnection};

use super::INSERT;
use crate::TestDatabase;
use crate::behaviour::doctor::with_counters;
use crate::behaviour::run_with;
use crate::behaviour::triggers::{
    LIKES_OF_ARTICLES, counted, counted_likes, generate, likes_of, number, open, tables,
};

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

/// Runs the migration of likes as an account that is not the one of the tests.
fn counted_by(account: &Account<'_>, more: &[&str]) {
    let args = [&LIKES_OF_ARTICLES[..], more].concat();
    let (ran, folder) = generate(account.database, &args);
    ran.works();
    // With a binary log, to create triggers.
    account
        .database
        .execute(&format!("GRANT SUPER ON *.* TO {}@'%'", account.name));
    let migrations = diesel_migrations::FileBasedMigrations::from_path(folder.path()).unwrap();
    let mut conn = crate::Conn::establish(&account.url()).unwrap();
    diesel_migrations::MigrationHarness::run_pending_migrations(&mut conn, migrations).unwrap();
    account
        .database
        .execute(&format!("REVOKE SUPER ON *.* FROM {}@'%'", account.name));
}

/// A function that a view calls runs as the account that reads the view, if its author wants it.
#[test]
fn a_view_of_another_account_is_not_read() {
    let database = tables(true);
    let attacker = Account::create(&database, "ALL");
    counted(&database, &LIKES_OF_ARTICLES);
    database.execute(INSERT);
    let name = &attacker.name;
    let definition = "{\"definition\":{\"name\":\"planted_too\",\"rows\":\"article_likes\",\"count\":[\"site_counters.likes\"],\
        \"by\":\"1\",\"period\":\"day\",\"slots\":32},\"targets\":[{\"view\":\"planted_drift\",\"table\":\"site_counters\",\
        \"key\":[],\"slots\":[\"day\",\"slot\"],\"counters\":[\"likes\"]}]}";
    database.execute(&format!(
        "CREATE TABLE loot (who VARCHAR(100)) ENGINE = MyISAM;
         CREATE DEFINER = {name}@'%' FUNCTION spy() RETURNS INTEGER DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
         BEGIN INSERT INTO loot VALUES (CURRENT_USER()); RETURN 7; END;
         CREATE DEFINER = {name}@'%' SQL SECURITY INVOKER VIEW planted AS SELECT CAST(spy() AS CHAR) AS diesel_counters_trigger;
         CREATE DEFINER = {name}@'%' SQL SECURITY INVOKER VIEW planted_too AS SELECT '{definition}' AS diesel_counters_trigger;
         CREATE DEFINER = {name}@'%' SQL SECURITY INVOKER VIEW planted_drift AS
             SELECT spy() AS likes, 0 AS stored_likes;
         CREATE DEFINER = {name}@'%' SQL SECURITY INVOKER VIEW planted_counters AS
             SELECT CURRENT_DATE AS day, 1 AS slot, spy() AS likes"
    ));
    for line in [
        "recount --dry-run",
        "recount",
        "check",
        "check planted_counters",
        "compact planted_counters",
        "compact article_counters",
        "fold planted_counters --before 2026-01-01",
        "doctor",
        "doctor planted_counters",
        "generate triggers planted_drift --rows article_likes --count site_counters.likes",
        "generate triggers count_planted --rows planted_counters --count site_counters.likes",
        "generate triggers count_planted --rows article_likes --count planted_counters.likes",
        "recount count_likes",
        "generate triggers count_again --rows article_likes --count site_counters.likes",
    ] {
        let ran = database.command(line);
        let conn = &mut open(&database);
        for table in ["loot", "site_counters"] {
            let rows = number(&format!("SELECT COUNT(*) FROM {table}"), conn);
            assert_eq!(rows, 0, "{table}: {ran:?}");
        }
        assert_eq!(likes_of(1, conn), 1);
    }
}

/// A view runs what its author wants as the account that queries it: nothing that is found by its
/// name is queried.
#[test]
fn a_view_with_the_name_of_a_trigger_is_not_queried() {
    let database = tables(true);
    let attacker = Account::create(&database, "ALL");
    let name = &attacker.name;
    database.execute(&format!(
        "CREATE TABLE loot (who VARCHAR(100)) ENGINE = MyISAM;
         CREATE DEFINER = {name}@'%' FUNCTION evil() RETURNS INTEGER DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
         BEGIN INSERT INTO loot VALUES (CURRENT_USER()); RETURN 7; END;
         CREATE DEFINER = {name}@'%' SQL SECURITY INVOKER VIEW count_likes AS SELECT evil() AS likes"
    ));
    let (ran, _) = generate(&database, &LIKES_OF_ARTICLES);
    ran.fails("there is a table or view count_likes already");
    let loot = number("SELECT COUNT(*) FROM loot", &mut open(&database));
    assert_eq!(loot, 0, "{ran:?}");
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
    counted_by(&account, &["--count", "article_id:articles.likes"]);
    let conn = &mut open(&database);
    conn.run(&format!(
        "{INSERT}; UPDATE article_counters SET likes = 7; UPDATE articles SET likes = 7"
    ));
    let safe_updates = SafeUpdates::set(&account);
    let is_set = number(
        "SELECT CAST(@@sql_safe_updates AS SIGNED)",
        &mut crate::Conn::establish(&account.url()).unwrap(),
    );
    let ran = run_with(&["recount"], Some(&account.url()));
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
    let look = |args: &[&str]| run_with(args, Some(&account.url()));
    let answers = [look(&["doctor", "article_counters"]), look(&["doctor"])];
    let of_table = look(&["doctor", "article_counters", "--json"]);
    let of_all = look(&["doctor", "--json"]);
    for answer in answers {
        answer.prints("GRANT PROCESS ON *.* TO");
        answer.prints("article_counters: it is not known whether there is contention");
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
        run_with(&["check"], Some(&account.url()))
    };
    let checked = may("SELECT");
    checked.fails("GRANT SHOW VIEW ON count_likes");
    let checked = may("SELECT, SHOW VIEW");
    assert_eq!(checked.code, 3, "{checked:?}");
    checked.prints("GRANT TRIGGER ON");
    let checked = may("SELECT, SHOW VIEW, TRIGGER");
    checked.works();
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
    let looked = run_with(&["doctor", "article_counters"], Some(&url));
    database.execute(&format!("GRANT SUPER ON *.* TO '{name}@b'@'%'"));
    let words = crate::behaviour::words(
        "generate triggers count_likes --rows article_likes --count article_id:article_counters.likes",
    );
    let generated = run_with(&words, Some(&url));
    database.execute(&format!("DROP USER '{name}@b'@'%'"));
    let printed = looked.stdout + &looked.stderr;
    let grant = format!("GRANT PROCESS ON *.* TO `{name}@b`@`%`;");
    assert!(printed.contains(&grant), "{printed}");
    generated.works();
    assert!(!generated.stderr.contains("1419"), "{generated:?}");
}
