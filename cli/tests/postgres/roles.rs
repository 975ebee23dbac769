//! A database of a role that owns its tables, and another role that writes rows.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use uuid::Uuid;

use crate::behaviour::Ran;
use crate::behaviour::triggers::number;
use crate::{Conn, TestDatabase};

/// Likes of posts, whose key is text, are counted in slots, in a column and for the whole site.
const TABLES: &str = "
    CREATE TABLE posts (code VARCHAR(20) PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE post_counters (
        post VARCHAR(20) NOT NULL REFERENCES posts ON DELETE CASCADE,
        day DATE NOT NULL, slot SMALLINT NOT NULL,
        likes BIGINT NOT NULL DEFAULT 0, stars BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (post, day, slot)
    );
    CREATE TABLE site_counters (
        day DATE NOT NULL, slot SMALLINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (day, slot)
    );
    CREATE TABLE likes (
        id BIGINT PRIMARY KEY, post VARCHAR(20) REFERENCES posts ON DELETE CASCADE,
        stars INTEGER NOT NULL DEFAULT 1, kind VARCHAR(9) NOT NULL DEFAULT 'like',
        day DATE NOT NULL DEFAULT '2026-01-01'
    );
    INSERT INTO posts VALUES ('a'), ('b'), ('c');
    INSERT INTO likes (id, post) VALUES (1, 'a'), (2, 'a'), (3, 'b')";

/// Counts that are not those of the rows.
const WRONG: &str = "
    SELECT count(*) FROM (
        SELECT code FROM posts WHERE likes <> (SELECT count(*) FROM likes
            WHERE post = code AND kind <> 'draft')
        UNION ALL SELECT code FROM posts WHERE
            (SELECT count(*) FROM likes WHERE post = code AND kind <> 'draft')
            <> (SELECT COALESCE(sum(c.likes), 0) FROM post_counters c WHERE c.post = code)
        UNION ALL SELECT code FROM posts WHERE
            (SELECT COALESCE(sum(stars), 0) FROM likes WHERE post = code AND kind <> 'draft')
            <> (SELECT COALESCE(sum(c.stars), 0) FROM post_counters c WHERE c.post = code)
        UNION ALL SELECT 'site' WHERE
            (SELECT count(*) FROM likes WHERE kind <> 'draft')
            <> (SELECT COALESCE(sum(likes), 0) FROM site_counters)
    ) AS wrong";

pub const COUNT_LIKES: &str = r#"
[[trigger]]
name = "count_likes"
rows = "likes"
count = [
    "post:post_counters.likes",
    "post:post_counters.stars=stars",
    "post:posts.likes",
    "site_counters.likes",
]
when = "kind <> 'draft'"
"#;

/// Writes that move all counts, each with its own way to run the triggers.
pub const WRITES: [&str; 8] = [
    "INSERT INTO likes (id, post, stars) VALUES (11, 'a', 3), (12, 'b', 2)",
    "INSERT INTO likes (id, post, kind) VALUES (13, 'c', 'draft'), (14, NULL, 'like')",
    "UPDATE likes SET post = 'b' WHERE id = 11",
    "UPDATE likes SET stars = 5, kind = 'like'",
    "DELETE FROM likes WHERE id = 12",
    "DELETE FROM posts WHERE code = 'b'",
    "TRUNCATE likes",
    "INSERT INTO likes (id, post) VALUES (15, 'a')",
];

pub struct Roles {
    pub database: TestDatabase,
    pub owner: String,
    pub writer: String,
    // The last field: a role can be dropped when its database is gone.
    _dropped: Dropped,
}

struct Dropped([String; 2]);

impl Drop for Dropped {
    fn drop(&mut self) {
        let server = std::env::var("POSTGRES_URL").unwrap();
        let mut conn = Conn::establish(&server).unwrap();
        for role in &self.0 {
            let _ = conn.batch_execute(&format!("DROP ROLE {role}"));
        }
    }
}

impl Roles {
    pub fn create(superuser: bool) -> Self {
        let id = Uuid::new_v4().simple().to_string();
        let (owner, writer) = (format!("owner_{id}"), format!("writer_{id}"));
        let database = TestDatabase::create();
        let name = &database.name;
        for role in [&owner, &writer] {
            database.create_role(role);
        }
        if superuser {
            database.execute(&format!("ALTER ROLE {owner} SUPERUSER"));
        }
        database.execute(&format!(
            "ALTER DATABASE {name} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner}"
        ));
        let _dropped = Dropped([owner.clone(), writer.clone()]);
        let roles = Roles {
            database,
            owner,
            writer,
            _dropped,
        };
        roles.owner().run(&format!(
            "{TABLES};
             GRANT USAGE ON SCHEMA public TO PUBLIC;
             GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON likes TO PUBLIC;
             GRANT SELECT, DELETE, UPDATE (likes) ON posts TO PUBLIC;
             GRANT SELECT, INSERT, UPDATE ON post_counters, site_counters TO PUBLIC"
        ));
        roles
    }

    pub fn owner(&self) -> Conn {
        Conn::establish(&self.database.url_as(&self.owner)).unwrap()
    }

    pub fn writer(&self) -> Conn {
        Conn::establish(&self.database.url_as(&self.writer)).unwrap()
    }

    /// The command, run by the owner.
    pub fn run(&self, args: &[&str]) -> Ran {
        let url = self.database.url_as(&self.owner);
        self.database.run_as(&url, args)
    }

    /// The owner writes the migration to these definitions.
    pub fn generate(&self, toml: &str) -> Ran {
        self.database.define(toml);
        self.run(&["generate", "triggers", "step"])
    }

    /// Runs the migration in this session.
    pub fn migrate_in(&self, conn: &mut Conn) -> Result<(), String> {
        self.database.migrate_in(conn)
    }

    /// The owner has the database count what these definitions say.
    #[track_caller]
    pub fn count(&self, toml: &str) {
        self.generate(toml).works();
        self.migrate_in(&mut self.owner()).unwrap();
    }

    /// The owner's database counts likes.
    #[track_caller]
    pub fn counted(&self) {
        self.count(COUNT_LIKES);
        self.assert_right();
    }

    /// What a superuser finds, who sees all rows.
    pub fn number(&self, query: &str) -> i64 {
        number(query, &mut self.database.connect())
    }

    pub fn wrong(&self) -> i64 {
        self.number(WRONG)
    }

    pub fn assert_right(&self) {
        assert_eq!(self.wrong(), 0);
    }

    /// Runs all [`WRITES`], and asserts that each is counted.
    #[track_caller]
    pub fn write(&self, conn: &mut Conn) {
        for statement in WRITES {
            conn.run(statement);
            assert_eq!(self.wrong(), 0, "{statement}");
        }
    }
}
