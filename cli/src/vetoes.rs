//! Triggers, rules and policies of the application on tables that are counted in. One that runs
//! before a row is written can skip it or change it, and the database reports success.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::catalogue::{CounterTable, Table};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined, MYSQL, POSTGRES, SQLITE};
use crate::fault::{Fault, Severity, note, wrong};
use crate::sql::sql;
use crate::triggers::{Counting, Target, definitions};

/// A trigger of a table, which this command has not generated.
struct Other {
    name: String,
    /// When it runs, such as `BEFORE ROW INSERT UPDATE`.
    event: String,
    /// Of `UPDATE OF`. None for all.
    columns: Vec<String>,
    /// The words and the signs of its statements, in lower case.
    body: Vec<String>,
}

/// Those on a counter table. Nothing but the program and triggers of `generate triggers` writes it.
pub fn in_counters(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (table, database) = (&shape.table, conn.database());
    let mut faults = Vec::new();
    for other in others(table, conn)? {
        let is_before = other.event.starts_with("BEFORE ROW");
        let can_veto = match database {
            POSTGRES => is_before,
            MYSQL => is_before && !other.event.ends_with("DELETE"),
            _ => other.ignores(),
        };
        if can_veto {
            faults.push(veto(&format!("The trigger {} of {table}", other.name)));
        } else if other.writes(&table.name) {
            let what = format!("The trigger {} writes {table} too.", other.name);
            let cost = "Its counts can differ from what was counted.";
            faults.push(note("counter_trigger", what, cost));
        }
    }
    if database == POSTGRES {
        faults.extend(rules(table, &["INSERT", "UPDATE"], conn)?);
        faults.extend(policies(table, conn)?);
    }
    Ok(faults)
}

/// Those on an ordinary table with a column that is counted in, which can have triggers that change
/// other columns.
pub fn in_column(target: &Target, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (table, database) = (&target.table, conn.database());
    let mut faults = Vec::new();
    for other in others(table, conn)? {
        let is_of = |name: &String| {
            let mut columns = other.columns.iter();
            other.columns.is_empty() || columns.any(|column| column.eq_ignore_ascii_case(name))
        };
        if !other.event.contains("UPDATE") || !target.names.iter().any(is_of) {
            continue;
        }
        let is_before = other.event.starts_with("BEFORE ROW");
        let mut names = target.names.iter();
        let can_veto = match database {
            POSTGRES => is_before && (other.skips() || names.any(|name| other.sets(name))),
            MYSQL => is_before && names.any(|name| other.sets(name)),
            _ => {
                other.ignores()
                    || other.writes(&table.name) && names.any(|name| other.updates(name))
            }
        };
        if can_veto {
            faults.push(veto(&format!("The trigger {} of {table}", other.name)));
        }
    }
    if database == POSTGRES {
        faults.extend(rules(table, &[], conn)?);
    }
    Ok(faults)
}

/// Why nothing can be counted in a table of a definition, or why counts could be lost while the
/// database reports success.
pub fn refusal(counting: &Counting, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let mut faults = Vec::new();
    for target in &counting.targets {
        match CounterTable::try_from(target.table.clone()) {
            Ok(counters) => {
                faults.extend(deferrable(&counters, conn)?);
                faults.extend(in_counters(&counters, conn)?);
            }
            Err(_) => faults.extend(in_column(target, conn)?),
        }
    }
    let mut faults = faults.into_iter();
    Ok(faults.find(|fault| fault.severity == Severity::Wrong))
}

/// ON CONFLICT of PostgreSQL takes no key that is checked later.
pub fn deferrable(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let table = POSTGRES.table_name(&shape.table);
    let found = sql(
        "SELECT conname::text FROM pg_constraint WHERE contype = 'p' AND condeferrable
             AND conrelid = CAST(to_regclass(",
    );
    let found = found.bind(&table).sql(") AS oid)").typed::<Text>();
    let key = shape.table.primary_key.iter();
    let key = key.map(|name| POSTGRES.quoted(name)).joined(", ");
    let names: Vec<String> = found.load(conn)?;
    let fault = |name: String| {
        let what = format!("Its primary key {name} is DEFERRABLE.");
        let cost = "ON CONFLICT cannot use it: each increment fails.";
        let remedy = "Create it again without. This builds its index again, and blocks writes.";
        let name = POSTGRES.quoted(&name);
        let again = format!("DROP CONSTRAINT {name}, ADD CONSTRAINT {name} PRIMARY KEY ({key})");
        let fault = wrong("deferrable_key", what, cost).remedy(remedy);
        fault.run(format!("ALTER TABLE {table} {again};"))
    };
    Ok(names.into_iter().map(fault).collect())
}

fn veto(what: &str) -> Fault {
    let what = format!("{what} can skip or change what is written.");
    let cost = "The database reports success, and counts are lost: those of the program, of triggers, of merges \
                and of corrections.";
    wrong("veto", what, cost).remedy(
        "Drop it, or let it leave the counters and their rows alone. Then correct the counts, with \
         `diesel-counters recount` if triggers count them.",
    )
}

impl Other {
    fn has(&self, words: &[&str]) -> bool {
        self.body.windows(words.len()).any(|some| some == words)
    }

    /// Whether a function of PostgreSQL can skip an update, or return the row as it was.
    fn skips(&self) -> bool {
        let is_of_updates = self.event == "BEFORE ROW UPDATE";
        let returns_old = is_of_updates && self.has(&["return", "old"]);
        let mut before = [";", "begin", "then", "else"].into_iter();
        let keeps_old = self.has(&["new", ":=", "old"])
            || before.any(|before| self.has(&[before, "new", "=", "old"]));
        self.has(&["return", "null"]) || returns_old || keeps_old
    }

    /// Whether a trigger of SQLite can skip the row.
    fn ignores(&self) -> bool {
        self.has(&["raise", "(", "ignore"])
    }

    /// Whether it sets a column of the row that is written.
    fn sets(&self, name: &str) -> bool {
        const BEFORE: [&str; 8] = ["set", "into", "begin", "then", "else", "loop", "do", ";"];
        let name = name.to_lowercase();
        self.body.windows(5).any(|some| {
            let [before, new, dot, column, after] = some else {
                return false;
            };
            let is_column = [new, dot, column] == ["new", ".", &name];
            let is_next = before == "," && [":=", "="].contains(&&**after);
            is_column && (is_next || BEFORE.contains(&&**before))
        })
    }

    /// Whether a statement of it changes the table.
    fn writes(&self, table: &str) -> bool {
        let table = table.to_lowercase();
        let verbs: [&[&str]; 4] = [
            &["update"],
            &["update", "only"],
            &["delete", "from"],
            &["into"],
        ];
        let names = |rest: &[String]| match rest {
            [schema, dot, name, ..] if dot == "." => !schema.is_empty() && *name == table,
            [name, ..] => *name == table,
            [] => false,
        };
        (0..self.body.len()).any(|place| {
            let rest = &self.body[place..];
            let mut verbs = verbs.iter();
            verbs.any(|verb| {
                rest.len() > verb.len()
                    && rest[..verb.len()] == **verb
                    && names(&rest[verb.len()..])
            })
        })
    }

    /// Whether an `UPDATE` of it sets a column.
    fn updates(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.has(&["set", &name, "="]) || self.has(&[",", &name, "="])
    }
}

/// The words and the signs of SQL, in lower case and without comments and quotes.
fn words(body: &str, database: Database) -> Vec<String> {
    let Ok(tokens) = Tokenizer::new(database.grammar(), body).tokenize() else {
        return plain_words(body);
    };
    let words = tokens.into_iter().filter_map(|token| match token {
        Token::Whitespace(_) => None,
        Token::Word(word) => Some(word.value.to_lowercase()),
        token => Some(token.to_string().to_lowercase()),
    });
    words.collect()
}

/// Those of a text that the tokenizer cannot read.
fn plain_words(body: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_in_word = false;
    for c in body.to_lowercase().chars() {
        let is_of_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word) if is_in_word && is_of_word => word.push(c),
            _ if c.is_whitespace() => {}
            _ => words.push(c.to_string()),
        }
        is_in_word = is_of_word;
    }
    words
}

const OF_MYSQL: [&str; 2] = [
    "SELECT CAST(trigger_name AS CHAR) AS name,
         CAST(CONCAT_WS(' ROW ', action_timing, event_manipulation) AS CHAR) AS event,
         '[]' AS columns, COALESCE(CAST(action_statement AS CHAR), '') AS body
     FROM information_schema.triggers WHERE event_object_schema = ",
    " AND event_object_table = ",
];

/// Its event is in its text.
const OF_SQLITE: &str = "SELECT name, '' AS event, '[]' AS columns, sql AS body FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ";

/// The bits of `tgtype` are 1 for each row, 2 before it, 4 INSERT, 8 DELETE and 16 UPDATE. A
/// trigger of a partitioned table is listed again for each partition.
const OF_POSTGRES: [&str; 2] = [
    "SELECT DISTINCT t.tgname::text AS name, concat_ws(' ',
            CASE WHEN t.tgtype & 2 <> 0 THEN 'BEFORE' ELSE 'AFTER' END,
            CASE WHEN t.tgtype & 1 <> 0 THEN 'ROW' ELSE 'STATEMENT' END,
            CASE WHEN t.tgtype & 4 <> 0 THEN 'INSERT' END,
            CASE WHEN t.tgtype & 8 <> 0 THEN 'DELETE' END,
            CASE WHEN t.tgtype & 16 <> 0 THEN 'UPDATE' END) AS event,
        coalesce((SELECT json_agg(a.attname) FROM pg_attribute a
            WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (CAST(t.tgattr AS int2[])))::text, '[]') AS columns,
        p.prosrc AS body
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgrelid IN (
        SELECT CAST(to_regclass(",
    ") AS oid) UNION SELECT CAST(relid AS oid) FROM pg_partition_tree(to_regclass(",
];

/// A trigger, as the catalogue has it.
#[derive(QueryableByName)]
struct TriggerRow {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    event: String,
    /// The columns of `UPDATE OF` on PostgreSQL, as JSON.
    #[diesel(sql_type = Text)]
    columns: String,
    /// The statements; on SQLite the whole `CREATE TRIGGER`.
    #[diesel(sql_type = Text)]
    body: String,
}

/// The triggers of a table, and of its partitions, that run before or after a row is written.
fn others(table: &Table, conn: &mut AnyConnection) -> Result<Vec<Other>> {
    let database = conn.database();
    let query = match database {
        POSTGRES => {
            let name = POSTGRES.table_name(table);
            let [of_table, of_partitions] = OF_POSTGRES;
            let found = sql(of_table).bind(&name).sql(of_partitions);
            found.bind(&name).sql("))) ORDER BY 1, 2")
        }
        MYSQL => {
            let [of_schema, of_table] = OF_MYSQL;
            let found = sql(of_schema).bind(&table.in_schema).sql(of_table);
            found.bind(&table.name).sql(" ORDER BY 1")
        }
        _ => sql(OF_SQLITE)
            .bind(&table.name)
            .sql(" COLLATE NOCASE ORDER BY 1"),
    };
    let mut found: Vec<TriggerRow> = query.load(conn)?;
    if database == SQLITE {
        // Those of a definition that counts in its own table are triggers of that table, too.
        let definitions = definitions(conn)?;
        found.retain(|trigger| {
            let mut names = definitions.iter().map(|stored| &stored.definition.name);
            !names.any(|definition| trigger.name.starts_with(&format!("{definition}_")))
        });
    }
    let others = found.into_iter().map(|trigger| {
        let body = words(&trigger.body, database);
        let (event, columns) = match database {
            SQLITE => event_of_sqlite(&body),
            _ => {
                let columns = serde_json::from_str(&trigger.columns).unwrap_or_default();
                (trigger.event, columns)
            }
        };
        Other {
            name: trigger.name,
            event,
            columns,
            body,
        }
    });
    Ok(others.collect())
}

/// The event of `CREATE TRIGGER name AFTER UPDATE OF likes ON articles …`, and its columns.
fn event_of_sqlite(words: &[String]) -> (String, Vec<String>) {
    // Behind the name, which can have a schema.
    let has_schema = words.get(3).is_some_and(|word| word == ".");
    let words = words
        .get(if has_schema { 5 } else { 3 }..)
        .unwrap_or_default();
    let on = words
        .iter()
        .position(|word| word == "on")
        .unwrap_or(words.len());
    let head = &words[..on];
    let is = |word: &str| head.iter().any(|one| one == word);
    let when = if is("after") { "AFTER" } else { "BEFORE" };
    let events = ["insert", "update", "delete"].into_iter();
    let event = events.filter(|event| is(event)).collect::<String>();
    let of = head
        .iter()
        .position(|word| word == "of")
        .map_or(on, |of| of + 1);
    let columns = head[of..].iter().filter(|word| *word != ",");
    (
        format!("{when} ROW {}", event.to_uppercase()),
        columns.cloned().collect(),
    )
}

#[derive(QueryableByName)]
struct Rule {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    event: String,
    /// Whether it runs in place of the statement.
    #[diesel(sql_type = Bool)]
    is_instead: bool,
}

/// The rules that skip an update or a deletion, and those with these events, which have ON CONFLICT
/// refused.
fn rules(table: &Table, refused: &[&str], conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let found = sql(
        "SELECT rulename::text AS name,
             CASE ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END AS event, is_instead
         FROM pg_rewrite WHERE ev_type <> '1' AND ev_enabled IN ('O', 'A') AND ev_class = CAST(to_regclass(",
    );
    let found = found
        .bind(&POSTGRES.table_name(table))
        .sql(") AS oid) ORDER BY 1");
    let mut faults = Vec::new();
    for rule in found.load(conn)? {
        let Rule {
            name,
            event,
            is_instead,
        } = rule;
        if is_instead {
            faults.push(veto(&format!("The rule {name} of {table}")));
        } else if refused.contains(&&*event) {
            let what = format!("The rule {name} of {table} is for each {event}.");
            let cost =
                "PostgreSQL refuses ON CONFLICT on a table with such a rule: increments fail.";
            faults.push(wrong("veto", what, cost).remedy("Drop it, or replace it by a trigger."));
        }
    }
    Ok(faults)
}

/// Row level security of a counter table.
fn policies(table: &Table, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let found = sql("SELECT relrowsecurity FROM pg_class WHERE oid = CAST(to_regclass(");
    let found = found.bind(&POSTGRES.table_name(table)).sql(") AS oid)");
    if !found.typed::<Bool>().get_result::<bool>(conn)? {
        return Ok(None);
    }
    let what = "It has row level security.";
    let cost = "A policy can hide rows from the roles that it is for, and refuse theirs: increments fail, and totals \
                have a part of the counts.";
    let remedy = "Count, merge and correct as a role that sees all rows: the owner, without FORCE, or one with \
                  BYPASSRLS.";
    Ok(Some(note("policy", what, cost).remedy(remedy)))
}
