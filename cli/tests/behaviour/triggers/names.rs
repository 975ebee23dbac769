//! Columns and tables that have the names which generated SQL uses itself.

use super::{number, open, tables};
use crate::behaviour::{Execute, quote};
use crate::{BACKEND, Conn, TestDatabase};

/// The names that statements, triggers and recounts give.
const NAMES: &str = "
    new moved kept old gone changes parent stored counted counted_rows kept_rows counters drift locked same other
    excluded stored_likes date sum";

/// The variables of PL/pgSQL and of a function, its queries, and what the server calls columns.
const OF_POSTGRES: &str = "
    found tg_op entity place timezone coalesce";

fn names() -> String {
    let of_database = if BACKEND == "postgres" {
        OF_POSTGRES
    } else {
        ""
    };
    format!("{NAMES} {of_database}")
}

/// Rows name two entities of a parent table, which has counts in columns and in a counter table.
const TABLES: &str = "
    CREATE TABLE [parents] ([key] BIGINT NOT NULL PRIMARY KEY, [total] BIGINT NOT NULL DEFAULT 0,
        likes BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE [counters] ([of] BIGINT NOT NULL, the_day DATE NOT NULL, the_slot SMALLINT NOT NULL,
        [total] BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY ([of], the_day, the_slot),
        FOREIGN KEY ([of]) REFERENCES [parents] ([key]) ON DELETE CASCADE);
    CREATE TABLE [rows] (id BIGINT NOT NULL PRIMARY KEY, [one] BIGINT, two BIGINT, [weight] BIGINT NOT NULL,
        FOREIGN KEY ([one]) REFERENCES [parents] ([key]) ON DELETE CASCADE);
    INSERT INTO [parents] ([key]) VALUES (1), (2), (3);
    INSERT INTO [rows] VALUES (1, 1, 2, 5), (2, 1, 1, 7)";

const DEFINITION: &str = "
    [[trigger]]
    name = '<it>'
    rows = '<rows>'
    count = [
        '<one>:<counters>.<total>=[weight]', '<one>:<counters>.likes', 'two:<counters>.likes',
        '<one>:<parents>.<total>=[weight]', '<one>:<parents>.likes',
    ]
    when = '[weight] <> 100'";

const STATEMENTS: [&str; 5] = [
    "SELECT 1",
    "INSERT INTO [rows] VALUES (3, 2, 2, 9), (4, 3, 1, 1)",
    "UPDATE [rows] SET [weight] = 3, [one] = 2 WHERE id = 1",
    "DELETE FROM [rows] WHERE id = 2",
    "DELETE FROM [parents] WHERE [key] = 3",
];

/// The number of entities with a wrong count.
const WRONG: &str = "
    SELECT COUNT(*) FROM [parents] p WHERE
        [total] <> (SELECT COALESCE(SUM([weight]), 0) FROM [rows] r WHERE r.[one] = p.[key])
        OR p.likes <> (SELECT COUNT(*) FROM [rows] r WHERE r.[one] = p.[key])
        OR (SELECT COALESCE(SUM([weight]), 0) FROM [rows] r WHERE r.[one] = p.[key])
            <> (SELECT COALESCE(SUM(c.[total]), 0) FROM [counters] c WHERE c.[of] = p.[key])
        OR (SELECT COUNT(*) FROM [rows] r WHERE r.[one] = p.[key])
            + (SELECT COUNT(*) FROM [rows] r WHERE r.two = p.[key])
            <> (SELECT COALESCE(SUM(c.likes), 0) FROM [counters] c WHERE c.[of] = p.[key])";

const PARTS: [&str; 8] = [
    "parents", "counters", "rows", "key", "of", "one", "weight", "total",
];

/// What the tables of a definition and their columns are called: these parts have this name, and
/// the others one of their own.
struct Case<'c> {
    parts: &'c [&'c str],
    name: &'c str,
}

impl Case<'_> {
    /// SQL in which `[part]` is a quoted name, and `<part>` the name.
    fn of(&self, sql: &str) -> String {
        let quote = quote();
        let mut sql = sql.replace("<it>", &format!("triggers_{}", self.name));
        for part in PARTS {
            let name = match self.parts.contains(&part) {
                true => self.name.to_owned(),
                false => format!("it_{}_{part}", self.name),
            };
            sql = sql.replace(&format!("[{part}]"), &format!("{quote}{name}{quote}"));
            sql = sql.replace(&format!("<{part}>"), &name);
        }
        sql
    }

    #[track_caller]
    fn assert_right(&self, conn: &mut Conn, when: &str) {
        let wrong = number(&self.of(WRONG), conn);
        assert_eq!(wrong, 0, "{} as {:?}: {when}", self.name, self.parts);
    }
}

fn assert_counted(names: &str, parts: &[&str]) {
    let database = TestDatabase::create();
    let conn = &mut open(&database);
    let cases = names.split_whitespace().map(|name| Case { parts, name });
    let cases: Vec<_> = cases.collect();
    let all = |sql: &str| cases.iter().map(|case| case.of(sql)).collect::<Vec<_>>();
    conn.run(&all(TABLES).join(";"));
    database.count(&all(DEFINITION).concat());
    for case in &cases {
        for statement in STATEMENTS {
            conn.run(&case.of(statement));
            case.assert_right(conn, statement);
        }
        conn.run(&case.of(
            "UPDATE [parents] SET likes = 70 WHERE [key] = 2; UPDATE [counters] SET likes = likes + 3",
        ));
    }
    let recounted = database.command("recount --lower");
    for case in &cases {
        case.assert_right(conn, &format!("{recounted:?}"));
    }
    recounted.works();
}

#[test]
fn columns_can_have_the_names_that_triggers_use() {
    assert_counted(&names(), &["key", "of", "one"]);
    assert_counted(&names(), &["weight", "total"]);
}

#[test]
fn tables_can_have_the_names_that_triggers_use() {
    for (index, part) in ["rows", "counters", "parents"].into_iter().enumerate() {
        // SQLite would take the table for the new row of an upsert.
        let is_refused =
            |name: &str| BACKEND == "sqlite" && part == "counters" && name == "excluded";
        // A server is slow: it has each name in one place only.
        let is_here = |number: usize| BACKEND == "sqlite" || number % 3 == index;
        let all = names();
        let names = all.split_whitespace().enumerate();
        let names = names.filter(|(number, name)| is_here(*number) && !is_refused(name));
        let names: Vec<_> = names.map(|(_, name)| name).collect();
        assert_counted(&names.join(" "), &[part]);
    }
}

#[test]
fn a_counter_table_with_the_name_of_a_row_is_counted_or_refused() {
    for (name, refused_on) in [("excluded", "sqlite"), ("new", "mysql"), ("old", "mysql")] {
        let database = TestDatabase::create();
        let case = Case {
            parts: &["counters"],
            name,
        };
        database.execute(&case.of(TABLES));
        let generated = database.generate(&case.of(DEFINITION));
        assert_eq!(generated.code == 1, BACKEND == refused_on, "{generated:?}");
    }
}

/// A server has names of up to 63 bytes, which two of these share but for their ends.
#[test]
fn counters_can_have_long_names() {
    let [one, other] = ["a", "b"].map(|end| format!("{}{end}", "n".repeat(62)));
    let database = TestDatabase::create();
    database.execute(&format!(
        "CREATE TABLE sites (id BIGINT PRIMARY KEY, {one} BIGINT NOT NULL DEFAULT 0,
             {other} BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE hits (id BIGINT PRIMARY KEY, site_id BIGINT NOT NULL, bytes INTEGER NOT NULL);
         INSERT INTO sites (id) VALUES (1);
         INSERT INTO hits VALUES (1, 1, 5), (2, 1, 7)"
    ));
    database.count(&format!(
        "[[trigger]]
         name = 'count_hits'
         rows = 'hits'
         count = ['site_id:sites.{one}', 'site_id:sites.{other}=bytes']"
    ));
    let conn = &mut open(&database);
    conn.run(&format!("UPDATE sites SET {one} = 9, {other} = 9"));
    let recounted = database.command("recount --lower");
    recounted.prints("2 counts corrected");
    let right = format!("SELECT COUNT(*) FROM sites WHERE {one} = 2 AND {other} = 12");
    assert_eq!(number(&right, conn), 1);
}

/// The name of a trigger is that of its definition, with an end that another definition can have.
#[test]
fn two_definitions_with_a_trigger_of_the_same_name_are_refused() {
    let names: &[[&str; 3]] = match BACKEND {
        "mysql" => &[
            ["votes", "votes_lock", "votes_lock_insert"],
            ["votes", "Votes", "votes_insert"],
        ],
        "sqlite" => &[
            ["votes", "votes_replace_by", "votes_replace_by_insert"],
            ["votes", "Votes", "votes_insert"],
        ],
        // The names of PostgreSQL have other ends.
        _ => &[],
    };
    for [one, other, trigger] in names {
        let database = tables(true);
        database.execute("ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0");
        let generated = database.generate(&format!(
            "[[trigger]]
             name = '{one}'
             rows = 'article_likes'
             count = ['article_id:articles.likes']
             [[trigger]]
             name = '{other}'
             rows = 'article_likes'
             count = ['user_id:user_counters.stars']"
        ));
        generated.fails(&format!(
            "{one} and {other} would both have a trigger {trigger}"
        ));
    }
}
