//! The tags of an image board: each transaction tags a post, and triggers count the posts of the
//! site, the tags of each post, and the usages of each tag. The tables and the transactions have the
//! shape of those of `liamw1/oxibooru`, which counts with row triggers on plain rows.
//!
//! There, the triggers on plain rows are deferred to the COMMIT, tags are replaced by a DELETE and one
//! INSERT of several rows, and the row of the site counts posts, not tags.
//!
//! The triggers of this crate are what `diesel-counters generate trigger` writes: a test of the command
//! compares them.

use anyhow::{Result, ensure};
use diesel::prelude::*;
use rand::seq::index;

use crate::Plan;
use crate::compare::{Cell, commit, compare, on_threads};
use crate::count::wait_for_sessions;
use crate::database::{Engine, for_each_connection, migration, with_connection};
use crate::server::on_each;
use crate::tally::Tally;
use crate::way::Ways;

const CONNECTIONS: i64 = 16;
const TAGS: i64 = 50;
const TAGS_OF_A_POST: usize = 5;
/// The posts of a connection that exist at the beginning. No other connection tags them.
const POSTS: i64 = 100;

diesel::table! {
    bench_posts (id) {
        id -> BigInt,
    }
}

diesel::table! {
    bench_post_tags (post_id, tag_id) {
        post_id -> BigInt,
        tag_id -> BigInt,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Uncounted,
    /// As a user writes them by hand.
    RowTriggers,
    /// As oxibooru has them.
    DeferredRowTriggers,
    /// Those of `diesel-counters generate trigger`.
    ThisCrate,
}

impl Way {
    const ALL: [(Way, &str); 4] = [
        (Way::Uncounted, "uncounted"),
        (Way::RowTriggers, "row triggers on plain rows"),
        (Way::DeferredRowTriggers, "the same, deferred to the COMMIT"),
        (Way::ThisCrate, "this crate's triggers"),
    ];

    /// What creates its triggers.
    fn triggers(self, engine: Engine) -> Option<String> {
        let [row_triggers, count_posts, count_post_tags] = migrations(engine).map(|[up, _]| up);
        match self {
            Way::Uncounted => None,
            Way::RowTriggers => Some(row_triggers.to_owned()),
            Way::DeferredRowTriggers => Some(
                row_triggers
                    .replace("CREATE TRIGGER", "CREATE CONSTRAINT TRIGGER")
                    .replace("FOR EACH ROW", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"),
            ),
            Way::ThisCrate => Some(format!("{count_posts}\n{count_post_tags}")),
        }
    }

    /// How the tables that it counts in end.
    fn counted_in(self) -> Option<&'static str> {
        match self {
            Way::Uncounted => None,
            Way::RowTriggers | Way::DeferredRowTriggers => Some("statistics"),
            Way::ThisCrate => Some("counters"),
        }
    }
}

/// Which post a transaction tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Post {
    /// It is inserted and tagged.
    New,
    /// Its tags are replaced.
    OneOfMany,
}

const POSTS_AND_TITLES: [(Post, &str); 2] = [
    (
        Post::New,
        "16 connections, each inserts posts with 5 of 50 tags",
    ),
    (
        Post::OneOfMany,
        "16 connections, each replaces the 5 of 50 tags of posts",
    ),
];

trait Tagging: Ways {
    fn insert_post(&mut self, post: i64) -> QueryResult<()>;
    fn delete_tags(&mut self, post: i64) -> QueryResult<()>;
    /// In one statement, as oxibooru does.
    fn insert_tags(&mut self, post: i64, tags: [i64; TAGS_OF_A_POST]) -> QueryResult<()>;
}

for_each_connection!(
    impl Tagging {
        fn insert_post(&mut self, post: i64) -> QueryResult<()> {
            diesel::insert_into(bench_posts::table)
                .values(bench_posts::id.eq(post))
                .execute(self)
                .map(drop)
        }

        fn delete_tags(&mut self, post: i64) -> QueryResult<()> {
            use bench_post_tags::{post_id, table};
            diesel::delete(table.filter(post_id.eq(post)))
                .execute(self)
                .map(drop)
        }

        fn insert_tags(&mut self, post: i64, tags: [i64; TAGS_OF_A_POST]) -> QueryResult<()> {
            use bench_post_tags::{post_id, table, tag_id};
            diesel::insert_into(table)
                .values(tags.map(|tag| (post_id.eq(post), tag_id.eq(tag))))
                .execute(self)
                .map(drop)
        }
    }
);

/// Prints a table for each database and kind of transaction.
pub fn run(plan: &Plan) -> Result<()> {
    on_each(&plan.databases, |engine, url| {
        with_connection!(engine, measure(engine, url, plan))
    })
}

fn measure<C: Tagging>(engine: Engine, url: &str, plan: &Plan) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let others = conn.number(C::OTHER_SESSIONS)?;
    let mut ways = Way::ALL.to_vec();
    ways.retain(|(way, _)| *way != Way::DeferredRowTriggers || engine == Engine::Postgres);
    let names: Vec<_> = ways.iter().map(|(_, name)| *name).collect();
    for (post, title) in POSTS_AND_TITLES {
        let table = compare(title, &names, &[("uncounted", 0)], plan.rounds(5), |i| {
            wait_for_sessions(conn, others)?;
            create_tables(conn, engine, ways[i].0)?;
            let cell = cell::<C>(url, post, plan.seconds(2.0))?;
            check(conn, ways[i], post, &cell.tally)?;
            Ok(cell)
        })?;
        println!("{table}");
    }
    Ok(drop_tables(conn, engine)?)
}

/// Tags posts on all connections at the same time.
fn cell<C: Tagging>(url: &str, post: Post, seconds: f64) -> Result<Cell> {
    let mut writers = Vec::new();
    for writer in 0..CONNECTIONS {
        let mut conn = C::connect(url)?;
        conn.claim()?;
        // After the posts that exist, and far from those of the other connections.
        writers.push((conn, writer, 1_000_000 * (writer + 1)..));
    }
    on_threads(writers, seconds, |(conn, writer, new_posts), end, tally| {
        let tags = index::sample_array(&mut rand::rng(), TAGS as usize);
        let tags = tags
            .expect("fewer tags than there are")
            .map(|index| index as i64 + 1);
        let id = match post {
            Post::New => new_posts.next().expect("no last post"),
            Post::OneOfMany => *writer * POSTS + rand::random_range(1..=POSTS),
        };
        commit(end, tally, || {
            conn.write(|conn| {
                match post {
                    Post::New => conn.insert_post(id)?,
                    Post::OneOfMany => conn.delete_tags(id)?,
                }
                conn.insert_tags(id, tags)
            })
        })
    })
}

/// Whether each count is the number of its rows.
fn check<C: Tagging>(
    conn: &mut C,
    (way, name): (Way, &str),
    post: Post,
    tally: &Tally,
) -> Result<()> {
    let posts = CONNECTIONS * POSTS + tally.committed as i64 * i64::from(post == Post::New);
    ensure!(
        conn.number("SELECT COUNT(*) FROM bench_posts")? == posts,
        "there are not the {posts} posts that were inserted"
    );
    let Some(counted_in) = way.counted_in() else {
        return Ok(());
    };
    let counted = format!("SELECT SUM(post_count) FROM bench_site_{counted_in}");
    ensure!(
        conn.number(&counted)? == posts,
        "the site has not {posts} posts"
    );
    let posts = match way {
        Way::ThisCrate => "SELECT id, tag_count AS count FROM bench_posts".to_owned(),
        _ => format!("SELECT post_id AS id, tag_count AS count FROM bench_post_{counted_in}"),
    };
    let tags = format!("SELECT tag_id AS id, usage_count AS count FROM bench_tag_{counted_in}");
    for (entity, counts) in [("post", posts), ("tag", tags)] {
        let wrong = conn.number(&format!(
            "SELECT COUNT(*) FROM (
                 SELECT id, SUM(count) AS difference FROM (
                     {counts}
                     UNION ALL
                     SELECT {entity}_id, -1 FROM bench_post_tags
                 ) AS counts
                 GROUP BY id
             ) AS differences
             WHERE difference <> 0"
        ))?;
        ensure!(wrong == 0, "{name}: {wrong} of {entity}s are wrong");
    }
    Ok(())
}

/// The migrations of a database, up and down: triggers by hand, and two of this crate.
fn migrations(engine: Engine) -> [[&'static str; 2]; 3] {
    macro_rules! migrations {
        ($database:literal) => {
            [
                migration!("../tagging/", $database, "/row_triggers"),
                migration!("../tagging/", $database, "/bench_count_posts"),
                migration!("../tagging/", $database, "/bench_count_post_tags"),
            ]
        };
    }
    match engine {
        Engine::Postgres => migrations!("postgres"),
        Engine::Mariadb | Engine::Mysql => migrations!("mysql"),
        Engine::Sqlite => migrations!("sqlite"),
    }
}

/// Creates the tables again, with the posts that exist, and then the triggers of `way`, which count
/// what exists.
fn create_tables<C: Tagging>(conn: &mut C, engine: Engine, way: Way) -> QueryResult<()> {
    let values = |ids: i64| {
        let ids: Vec<_> = (1..=ids).map(|id| format!("({id})")).collect();
        ids.join(", ")
    };
    drop_tables(conn, engine)?;
    conn.batch_execute(include_str!("../tagging/tables.sql"))?;
    conn.batch_execute(&format!(
        "INSERT INTO bench_posts (id) VALUES {};
         INSERT INTO bench_tags VALUES {};
         INSERT INTO bench_post_tags SELECT bench_posts.id, bench_tags.id
             FROM bench_posts JOIN bench_tags ON bench_posts.id % 10 = bench_tags.id % 10",
        values(CONNECTIONS * POSTS),
        values(TAGS),
    ))?;
    match way.triggers(engine) {
        Some(triggers) => conn.batch_execute(&triggers),
        None => Ok(()),
    }
}

fn drop_tables<C: Tagging>(conn: &mut C, engine: Engine) -> QueryResult<()> {
    for [_, down] in migrations(engine) {
        conn.batch_execute(down)?;
    }
    conn.batch_execute(include_str!("../tagging/drop.sql"))
}
