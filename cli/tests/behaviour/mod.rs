//! What the command does on every database. The root of each test crate says which one it is.
//! Those of servers include `held` and `hot_row` too.

mod checking;
pub mod doctor;
mod generating;
mod key_columns;
mod keywords;
mod merging;
mod own_triggers;
mod periods;
pub mod project;
pub mod triggers;
mod usage;

use std::process::Command;

use diesel::connection::SimpleConnection;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::{BACKEND, Conn, REFERENCE, TestDatabase};

/// What the command printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The first line, in which `check` says how many faults there are.
    pub fn summary(&self) -> &str {
        self.stdout.lines().next().unwrap_or_default()
    }

    /// Asserts that the command failed and said this.
    #[track_caller]
    pub fn fails(&self, says: &str) {
        let fails = self.code == 1 && self.stderr.contains(says);
        assert!(fails, "{says}: {self:?}");
    }

    /// Asserts that the command printed this.
    #[track_caller]
    pub fn prints(&self, text: &str) {
        assert!(self.stdout.contains(text), "{text}: {self:?}");
    }

    /// Asserts that the command succeeded.
    #[track_caller]
    pub fn works(&self) {
        assert_eq!(self.code, 0, "{self:?}");
    }

    /// Asserts that the command found something wrong, and said this.
    #[track_caller]
    pub fn finds(&self, text: &str) {
        assert_eq!(self.code, 3, "{self:?}");
        self.prints(text);
    }

    /// Asserts that `check` found nothing wrong with its only table.
    #[track_caller]
    pub fn is_good(&self, table: &str) {
        self.works();
        assert_eq!(self.summary(), format!("{table}: good"), "{self:?}");
    }

    /// The faults that `check --json` has found of all tables.
    pub fn all_faults(&self) -> Vec<Value> {
        let report = self.json();
        let tables = report["tables"].as_array().unwrap().iter();
        let faults = tables.flat_map(|table| table["faults"].as_array().unwrap());
        faults.cloned().collect()
    }

    /// The faults that `check --json` has found of its first table.
    pub fn faults(&self) -> Vec<Value> {
        let faults = self.json()["tables"][0]["faults"].clone();
        serde_json::from_value(faults).unwrap()
    }

    /// A folder with the migration that `generate migration --json` has printed.
    pub fn migration(&self) -> TempDir {
        let folder = tempdir().unwrap();
        let migration = folder.path().join("2026-01-01-000000_generated");
        std::fs::create_dir(&migration).unwrap();
        for part in ["up", "down"] {
            let sql = self.json()[part].as_str().unwrap().to_owned();
            std::fs::write(migration.join(format!("{part}.sql")), sql).unwrap();
        }
        folder
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", self.stdout, self.stderr))
    }
}

/// Runs the command, of no database but one that is named.
pub fn run(args: &[&str]) -> Ran {
    run_with(args, None)
}

pub fn run_with(args: &[&str], database_url: Option<&str>) -> Ran {
    ran(&mut command(args, database_url))
}

pub fn command(args: &[&str], database_url: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diesel-counters"));
    command.args(args).env_remove("MIGRATION_DIRECTORY");
    match database_url {
        Some(url) => command.env("DATABASE_URL", url),
        None => command.env_remove("DATABASE_URL"),
    };
    command
}

/// Runs a program.
fn ran(program: &mut Command) -> Ran {
    let output = program.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The words and options of a command line.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

impl TestDatabase {
    /// With the reference counter table.
    pub fn with_article_counters() -> Self {
        let database = Self::create();
        database.execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY)");
        database.execute("INSERT INTO articles VALUES (1), (2), (3), (10)");
        database.execute(REFERENCE);
        database
    }

    /// Creates a counter table without a foreign key. The key begins with this column.
    pub fn create_counters(&self, table: &str, column: &str) {
        let (name, _) = column.split_once(' ').unwrap();
        self.execute(&format!(
            "CREATE TABLE {table} (
                 {column} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY ({name}, day, slot)
             )"
        ));
    }

    pub fn execute(&self, sql: &str) {
        self.connect().run(sql);
    }

    /// Runs the command on it, with these words and options.
    pub fn command(&self, words: &str) -> Ran {
        self.run(&self::words(words))
    }

    /// Says by which period a counter table counts, in the comment of its column of days.
    pub fn set_period(&self, table: &str, period: &str) {
        let mark = format!("diesel_counters: period = {period}");
        self.execute(&match BACKEND {
            "postgres" => format!("COMMENT ON COLUMN {table}.day IS '{mark}'"),
            "mysql" => format!("ALTER TABLE {table} MODIFY day DATE NOT NULL COMMENT '{mark}'"),
            // It is a comment in the text of the table.
            _ => format!(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET sql = substr(sql, 1, instr(sql, '(')) || '-- {mark}' || char(10)
                     || substr(sql, instr(sql, '(') + 1) WHERE name = '{table}';
                 PRAGMA writable_schema = RESET"
            ),
        });
    }

    /// The number of rows of a table, and the sum of a counter.
    pub fn rows_and_sum(&self, table: &str, counter: &str) -> (i64, i64) {
        let conn = &mut self.connect();
        let integer = triggers::integer();
        let sum = format!("CAST(COALESCE(SUM({counter}), 0) AS {integer})");
        let [rows, sum] = ["COUNT(*)", &sum]
            .map(|what| triggers::number(&format!("SELECT {what} FROM {table}"), conn));
        (rows, sum)
    }

    /// The faults of triggers that `check` finds, of a table or of all.
    pub fn trigger_faults(&self, table: &str) -> Vec<Value> {
        let mut faults = self.command(&format!("check {table} --json")).all_faults();
        faults.retain(|one| {
            let name = one["fault"].as_str().unwrap();
            name.starts_with("trigger") || name == "definition"
        });
        faults
    }

    /// The faults of all tables that `check` finds, without notes.
    pub fn faults(&self) -> Vec<Value> {
        let mut faults = self.command("check --json").all_faults();
        faults.retain(|fault| fault["severity"] != "note");
        faults
    }

    /// Runs the SQL of a fault, in one session.
    pub fn mend(&self, fault: &Value) {
        let conn = &mut self.connect();
        for sql in fault["sql"].as_array().unwrap() {
            conn.run(sql.as_str().unwrap());
        }
    }

    /// Asserts that all counts are those of the rows, each on its day.
    #[track_caller]
    pub fn assert_agrees(&self) {
        let recounted = self.run(&["recount", "--dry-run", "--unfold"]);
        let mut lines = recounted.stdout.lines();
        let agrees = lines.all(|line| {
            // Counts of rows that were deleted can be higher.
            line.contains("all counts agree") || line.ends_with(": no count is too low")
        });
        assert!(agrees && recounted.code == 0, "{recounted:?}");
    }

    /// Runs the command on it, in the folder of the project.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_as(&self.url(), args)
    }

    /// The same, with another URL, such as that of another role.
    pub fn run_as(&self, url: &str, args: &[&str]) -> Ran {
        ran(command(args, Some(url)).current_dir(self.project()))
    }
}

/// The quote of names.
fn quote() -> char {
    match BACKEND {
        "mysql" => '`',
        _ => '"',
    }
}

/// The constraint that `check` wants of a counter's column.
fn check_of(counter: &str) -> String {
    match BACKEND {
        "sqlite" => format!("CHECK (typeof({counter}) = 'integer')"),
        _ => String::new(),
    }
}

/// A connection that runs statements.
pub trait Execute {
    fn run(&mut self, sql: &str);
}

impl Execute for Conn {
    #[track_caller]
    fn run(&mut self, sql: &str) {
        let ran = self.batch_execute(sql);
        ran.unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
}

/// Compares with a file in `tests/snapshots/` of this database's own.
fn assert_snapshot(name: &str, printed: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("{name}_{}", crate::BACKEND), printed));
}
