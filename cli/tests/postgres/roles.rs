//! A database of a role that owns it, and another role that may create objects in its schema.

use crate::behaviour::Execute;
use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use uuid::Uuid;

use crate::behaviour::{Ran, run_with, words};
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

/// Whether the owner is a superuser.
pub const WITH_SUPERUSER: [bool; 2] = [false, true];

/// Counts that are not those of the rows, of tables in one schema.
const WRONG: &str = "
    SELECT pg_catalog.count(*) FROM (
        SELECT code FROM {}.posts WHERE likes <> (SELECT pg_catalog.count(*) FROM {}.likes
            WHERE post = code AND kind <> 'draft')
        UNION ALL SELECT code FROM {}.posts WHERE
            (SELECT pg_catalog.count(*) FROM {}.likes WHERE post = code AND kind <> 'draft')
            <> (SELECT COALESCE(pg_catalog.sum(c.likes), 0) FROM {}.post_counters c WHERE c.post = code)
        UNION ALL SELECT code FROM {}.posts WHERE
            (SELECT COALESCE(pg_catalog.sum(stars), 0) FROM {}.likes WHERE post = code AND kind <> 'draft')
            <> (SELECT COALESCE(pg_catalog.sum(c.stars), 0) FROM {}.post_counters c WHERE c.post = code)
        UNION ALL SELECT 'site' WHERE
            (SELECT pg_catalog.count(*) FROM {}.likes WHERE kind <> 'draft')
            <> (SELECT COALESCE(pg_catalog.sum(likes), 0) FROM {}.site_counters)
    ) AS wrong";

pub fn generate() -> Vec<&'static str> {
    let words = words(
        "generate triggers count_likes --rows likes --count post:post_counters.likes
         --count post:post_counters.stars=stars --count post:posts.likes
         --count site_counters.likes --when",
    );
    [&words[..], &["kind <> 'draft'"]].concat()
}

/// Writes that move all counts, each with its own way to run the triggers.
pub const WRITES: [&str; 8] = [
    "INSERT INTO {}.likes (id, post, stars) VALUES (11, 'a', 3), (12, 'b', 2)",
    "INSERT INTO {}.likes (id, post, kind) VALUES (13, 'c', 'draft'), (14, NULL, 'like')",
    "UPDATE {}.likes SET post = 'b' WHERE id = 11",
    "UPDATE {}.likes SET stars = 5, kind = 'like'",
    "DELETE FROM {}.likes WHERE id = 12",
    "DELETE FROM {}.posts WHERE code = 'b'",
    "TRUNCATE {}.likes",
    "INSERT INTO {}.likes (id, post) VALUES (15, 'a')",
];

pub struct Roles {
    pub database: TestDatabase,
    /// The schema of the tables.
    pub schema: &'static str,
    pub owner: String,
    pub attacker: String,
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
    /// With tables in `schema`, which the owner finds by `path`.
    pub fn with_tables(superuser: bool, schema: &'static str, path: &str) -> Self {
        let id = Uuid::new_v4().simple().to_string();
        let (owner, attacker) = (format!("owner_{id}"), format!("attacker_{id}"));
        let database = TestDatabase::create();
        let name = &database.name;
        for role in [&owner, &attacker] {
            database.create_role(role);
        }
        if superuser {
            database.execute(&format!("ALTER ROLE {owner} SUPERUSER"));
        }
        database.execute(&format!(
            "ALTER DATABASE {name} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner};
             ALTER ROLE {owner} IN DATABASE {name} SET search_path = {path}"
        ));
        let _dropped = Dropped([owner.clone(), attacker.clone()]);
        let roles = Roles {
            database,
            schema,
            owner,
            attacker,
            _dropped,
        };
        if schema != "public" {
            roles.owner().run(&format!("CREATE SCHEMA {schema}"));
        }
        let mut owner = roles.owner();
        let tables = format!(
            "SET search_path = {schema}; {TABLES};
             GRANT USAGE ON SCHEMA {schema} TO PUBLIC; GRANT USAGE, CREATE ON SCHEMA public TO PUBLIC;
             GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON likes TO PUBLIC;
             GRANT SELECT, DELETE ON posts TO PUBLIC"
        );
        owner.run(&tables);
        roles
    }

    pub fn create(superuser: bool) -> Self {
        Self::with_tables(superuser, "public", "\"$user\", public")
    }

    pub fn owner(&self) -> Conn {
        Conn::establish(&self.database.url_as(&self.owner)).unwrap()
    }

    pub fn attacker(&self) -> Conn {
        Conn::establish(&self.database.url_as(&self.attacker)).unwrap()
    }

    /// The command, run by the owner.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_as(&self.owner, args)
    }

    /// The command, run by this role.
    pub fn run_as(&self, role: &str, args: &[&str]) -> Ran {
        run_with(args, Some(&self.database.url_as(role)))
    }

    /// The migration that the owner generates.
    pub fn migration(&self) -> String {
        let generated = self.run(&generate());
        generated.works();
        generated.stdout
    }

    /// The owner's database counts likes.
    pub fn counted(&self) {
        let up = self.migration();
        self.owner().run(&up);
        self.assert_right();
    }

    /// With what the attacker's functions write of those who call them.
    pub fn planted(self, sql: &str) -> Self {
        let spy = format!(
            "CREATE SEQUENCE public.caught; GRANT USAGE ON SEQUENCE public.caught TO PUBLIC;
             CREATE TABLE public.loot (who NAME, what TEXT); GRANT INSERT ON public.loot TO PUBLIC;
             CREATE FUNCTION public.spy(what TEXT) RETURNS TEXT LANGUAGE plpgsql SET search_path = pg_catalog AS $$
             BEGIN
                 IF current_user <> '{}' THEN
                     -- This stays, if the transaction fails.
                     PERFORM nextval('public.caught');
                     INSERT INTO public.loot VALUES (current_user, what);
                 END IF;
                 RETURN what;
             END $$;",
            self.attacker
        );
        let mut attacker = self.attacker();
        attacker.run(&spy);
        attacker.run(&format!("SET search_path = pg_catalog; {sql}"));
        self
    }

    /// What the attacker's functions did as another role.
    pub fn caught(&self) -> Vec<String> {
        #[derive(QueryableByName)]
        struct Caught {
            #[diesel(sql_type = Text)]
            what: String,
        }
        let query = "SELECT pg_catalog.concat(who, ': ', what, ' ', pg_catalog.count(*)) AS what
            FROM public.loot GROUP BY who, what
            UNION ALL SELECT pg_catalog.concat(last_value, ' calls') FROM public.caught WHERE is_called";
        let caught: Vec<Caught> = diesel::sql_query(query).load(&mut self.checker()).unwrap();
        let caught = caught.into_iter().map(|caught| caught.what);
        caught
            .map(|what| what.replace(&self.owner, "owner"))
            .collect()
    }

    pub fn assert_not_caught(&self, when: &str) {
        assert_eq!(self.caught(), Vec::<String>::new(), "{when}");
    }

    /// A superuser, who uses nothing of others.
    pub fn checker(&self) -> Conn {
        let mut conn = self.database.connect();
        conn.run("SET search_path = pg_catalog");
        conn
    }

    pub fn number(&self, query: &str) -> i64 {
        let query = diesel::dsl::sql::<BigInt>(&format!("({query})"));
        let found = diesel::select(query).get_result(&mut self.checker());
        found.unwrap()
    }

    pub fn wrong(&self) -> i64 {
        self.number(&WRONG.replace("{}", self.schema))
    }

    pub fn assert_right(&self) {
        assert_eq!(self.wrong(), 0);
    }

    /// Runs all [`WRITES`] as the attacker, who has done `first`.
    pub fn write(&self, first: &str) {
        let conn = &mut self.attacker();
        conn.run("SET search_path = pg_catalog");
        conn.run(first);
        for statement in WRITES {
            let statement = statement.replace("{}", self.schema);
            let written = conn.batch_execute(&statement);
            self.assert_not_caught(&statement);
            written.unwrap_or_else(|error| panic!("{error}: {statement}"));
            assert_eq!(self.wrong(), 0, "{statement}");
        }
    }
}
