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
use crate::sql::sql_with;
use crate::triggers::{Counting, Definition, Stored, Target, definitions};

/// A trigger of a table. Those of a definition that counts in its own table are left out.
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
    let table = &shape.table;
    let database = conn.database();
    let mut faults = Vec::new();
    for other in others(table, conn)? {
        let is_before = other.event.starts_with("BEFORE ROW");
        let can_veto = match database {
            // Its function can do anything with the row.
            POSTGRES => is_before,
            // It can only set columns. A SIGNAL is an error, and no veto.
            MYSQL => {
                let key = table.primary_key.iter();
                let counters = shape.counters.iter().map(|counter| &counter.name);
                is_before && key.chain(counters).any(|name| other.sets(name))
            }
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
        let all = ["INSERT", "UPDATE", "DELETE"];
        faults.extend(rules(table, &all, &["INSERT", "UPDATE"], conn)?);
        faults.extend(policies(table, conn)?);
    }
    Ok(faults)
}

/// Those on an ordinary table with a column that is counted in, which can have triggers that change
/// other columns.
pub fn in_column(target: &Target, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let table = &target.table;
    let database = conn.database();
    let mut faults = Vec::new();
    for other in others(table, conn)? {
        let is_of = |name: &String| {
            let is_it = |column: &String| column.eq_ignore_ascii_case(name);
            other.columns.is_empty() || other.columns.iter().any(is_it)
        };
        if !other.event.contains("UPDATE") || !target.names.iter().any(is_of) {
            continue;
        }
        let is_before = other.event.starts_with("BEFORE ROW");
        let sets = is_before && target.names.iter().any(|name| other.sets(name));
        let updates = target.names.iter().any(|name| other.updates(name));
        let writes_back = updates && other.writes(&table.name);
        let can_veto = match database {
            POSTGRES => is_before && other.skips() || sets || writes_back,
            MYSQL => sets,
            _ => other.ignores() || other.replaces(&table.name) || writes_back,
        };
        if can_veto {
            faults.push(veto(&format!("The trigger {} of {table}", other.name)));
        }
    }
    if database == POSTGRES {
        // Nothing inserts rows of it, or deletes them, to count.
        faults.extend(rules(table, &["UPDATE"], &[], conn)?);
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
    let is_wrong = |fault: &Fault| fault.severity == Severity::Wrong;
    Ok(faults.into_iter().find(is_wrong))
}

/// ON CONFLICT of PostgreSQL takes no key that is checked later.
pub fn deferrable(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let table = POSTGRES.table_name(&shape.table);
    let deferrable = sql_with(
        "SELECT conname::text FROM pg_constraint WHERE contype = 'p' AND condeferrable
             AND conrelid = CAST(to_regclass({table}) AS oid)",
        &[("table", &table)],
    );
    let names: Vec<String> = deferrable.typed::<Text>().load(conn)?;
    let columns = shape.table.primary_key.iter();
    let key = columns.map(|name| POSTGRES.quoted(name)).joined(", ");
    let fault = |name: String| {
        let what = format!("Its primary key {name} is DEFERRABLE.");
        let cost = "ON CONFLICT cannot use it: each increment fails.";
        let remedy = "Create it again without. This builds its index again, and blocks writes.";
        let quoted = POSTGRES.quoted(&name);
        let fault = wrong("deferrable_key", what, cost).remedy(remedy);
        fault.run(format!(
            "ALTER TABLE {table} DROP CONSTRAINT {quoted}, \
             ADD CONSTRAINT {quoted} PRIMARY KEY ({key});"
        ))
    };
    Ok(names.into_iter().map(fault).collect())
}

fn veto(what: &str) -> Fault {
    let what = format!("{what} can skip or change what is written.");
    let cost = "The database reports success, and counts are lost: those of the program, of \
                triggers, of merges and of corrections.";
    wrong("veto", what, cost).remedy(
        "Drop it, or let it leave the counters and their rows alone. Then correct the counts, with \
         `diesel-counters recount` if triggers count them.",
    )
}

/// What a body does is told by its words. That is a guess: whether a statement runs at all is not
/// looked at, and neither are the functions and procedures that it calls, nor the SQL that it puts
/// together.
impl Other {
    fn has(&self, words: &[&str]) -> bool {
        self.body.windows(words.len()).any(|some| some == words)
    }

    /// Whether a function of PostgreSQL can skip an update, or return another row.
    fn skips(&self) -> bool {
        // `new = old` is an assignment at the beginning of a statement, and else a comparison.
        let mut before = [";", "begin", "then", "else"].into_iter();
        let keeps_old = self.has(&["new", ":=", "old"])
            || before.any(|before| self.has(&[before, "new", "=", "old"]));
        let reads_row = self.read_into().iter().any(|name| name == "new");
        keeps_old || reads_row || self.returned().into_iter().any(|value| self.is_skip(value))
    }

    /// The expressions of its RETURNs.
    fn returned(&self) -> Vec<&[String]> {
        let mut all = Vec::new();
        for (place, word) in self.body.iter().enumerate() {
            if word == "return" {
                let rest = &self.body[place + 1..];
                let end = rest.iter().position(|word| word == ";");
                all.push(&rest[..end.unwrap_or(rest.len())]);
            }
        }
        all
    }

    /// Whether a function that returns this skips the row, or keeps the old one.
    fn is_skip(&self, value: &[String]) -> bool {
        let returns = |wanted: &str| {
            (0..value.len()).any(|place| {
                let is_whole = value.get(place + 1).is_none_or(|word| word != ".");
                let before = value[..place].last().map(String::as_str);
                let is_branch = match value[0].as_str() {
                    "case" => before.is_some_and(|word| ["then", "else"].contains(&word)),
                    _ => value[..place].iter().all(|word| word == "("),
                };
                value[place] == wanted && is_whole && is_branch
            })
        };
        // A function for deletions, too, returns OLD for these.
        let is_of_deletions = self.event.contains("DELETE");
        let is_variable = matches!(value, [only] if !["new", "old", "null"].contains(&&**only));
        let has_old = self.has(&[":=", "old", ";"])
            || self.has(&["=", "old", ";"])
            || self.has(&["old", ".", "*", "into"]);
        returns("null") || !is_of_deletions && (returns("old") || is_variable && has_old)
    }

    /// The variables of its INTOs, such as `new.likes`.
    fn read_into(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (place, word) in self.body.iter().enumerate() {
            if word != "into" {
                continue;
            }
            let behind = self.body[place + 1..].iter();
            let rest = behind.filter(|word| *word != "strict");
            // Names and points, up to the first word behind a name.
            let mut name = String::new();
            let mut is_complete = false;
            for word in rest {
                match &**word {
                    "," if is_complete => all.push(std::mem::take(&mut name)),
                    "." => name.push('.'),
                    _ if is_complete => break,
                    word => name += word,
                }
                is_complete = ![",", "."].contains(&&**word);
            }
            all.push(name);
        }
        all
    }

    /// Whether a trigger of SQLite can skip the row.
    fn ignores(&self) -> bool {
        self.has(&["raise", "(", "ignore"])
    }

    /// Whether it can set a column of the row that is written.
    fn sets(&self, name: &str) -> bool {
        const BEFORE: [&str; 7] = ["set", "begin", "then", "else", "loop", "do", ";"];
        let wanted = name.to_lowercase();
        let reads = self.read_into().contains(&format!("new.{wanted}"));
        // A procedure can set what it is called with.
        let passes = self.has(&["call"]) && self.has(&["new", ".", &wanted]);
        let assigns = self.body.windows(5).any(|some| {
            let [before, new, dot, column, after] = some else {
                return false;
            };
            let is_column = [new, dot, column] == ["new", ".", &wanted];
            // As in `SET NEW.a = 1, NEW.b = 2`.
            let is_next = before == "," && [":=", "="].contains(&&**after);
            is_column && (is_next || BEFORE.contains(&&**before))
        });
        assigns || reads || passes
    }

    /// Whether a statement of it changes the table.
    fn writes(&self, table: &str) -> bool {
        self.names(
            table,
            &[
                &["update"],
                &["update", "only"],
                &["update", "or", "abort"],
                &["update", "or", "fail"],
                &["update", "or", "ignore"],
                &["update", "or", "replace"],
                &["update", "or", "rollback"],
                &["delete", "from"],
                &["into"],
            ],
        )
    }

    /// Whether a statement of SQLite puts other rows in place of those of the table.
    fn replaces(&self, table: &str) -> bool {
        self.names(table, &[&["replace", "into"]])
    }

    /// Whether the table stands behind one of these.
    fn names(&self, table: &str, verbs: &[&[&str]]) -> bool {
        let wanted = table.to_lowercase();
        let begins_with_table = |words: &[String]| match words {
            [schema, dot, name, ..] if dot == "." => !schema.is_empty() && *name == wanted,
            [name, ..] => *name == wanted,
            [] => false,
        };
        (0..self.body.len()).any(|place| {
            let rest = &self.body[place..];
            verbs.iter().any(|verb| {
                rest.len() > verb.len()
                    && rest[..verb.len()] == **verb
                    && begins_with_table(&rest[verb.len()..])
            })
        })
    }

    /// Whether an `UPDATE` of it sets a column.
    fn updates(&self, name: &str) -> bool {
        let wanted = name.to_lowercase();
        let is_end = |word: &String| word == ")";
        // As in `SET (a, b) = (1, 2)`.
        let is_in_list = self.body.windows(2).enumerate().any(|(place, some)| {
            let rest = &self.body[place + 2..];
            let list = rest.split(is_end).next().unwrap_or_default();
            let after = rest.get(list.len() + 1);
            let is_list = some[1] == "(" && ["set", ","].contains(&&*some[0]);
            is_list && list.contains(&wanted) && after.is_some_and(|word| word == "=")
        });
        is_in_list || self.has(&["set", &wanted, "="]) || self.has(&[",", &wanted, "="])
    }
}

/// The words and the signs of SQL, in lower case and without comments and quotes.
fn words(body: &str, database: Database) -> Vec<String> {
    let Ok(tokens) = Tokenizer::new(database.grammar(), body).tokenize() else {
        return plain_words(body);
    };
    let word = |token| match token {
        // Comments are whitespace, too.
        Token::Whitespace(_) => None,
        Token::Word(word) => Some(word.value.to_lowercase()),
        sign => Some(sign.to_string().to_lowercase()),
    };
    tokens.into_iter().filter_map(word).collect()
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

const OF_MYSQL: &str = "
    SELECT CAST(trigger_name AS CHAR) AS name,
        CAST(CONCAT_WS(' ROW ', action_timing, event_manipulation) AS CHAR) AS event,
        '[]' AS columns, COALESCE(CAST(action_statement AS CHAR), '') AS body
    FROM information_schema.triggers
    WHERE event_object_schema = {schema} AND event_object_table = {table}
    ORDER BY 1";

/// Its event is in its text.
const OF_SQLITE: &str = "
    SELECT name, '' AS event, '[]' AS columns, sql AS body FROM sqlite_schema
    WHERE type = 'trigger' AND tbl_name = {table} COLLATE NOCASE ORDER BY 1";

/// The bits of `tgtype` are 1 for each row, 2 before it, 4 INSERT, 8 DELETE and 16 UPDATE. A
/// trigger of a partitioned table is listed again for each partition.
const OF_POSTGRES: &str = "
    SELECT DISTINCT t.tgname::text AS name,
        concat_ws(' ',
            CASE WHEN t.tgtype & 2 <> 0 THEN 'BEFORE' ELSE 'AFTER' END,
            CASE WHEN t.tgtype & 1 <> 0 THEN 'ROW' ELSE 'STATEMENT' END,
            CASE WHEN t.tgtype & 4 <> 0 THEN 'INSERT' END,
            CASE WHEN t.tgtype & 8 <> 0 THEN 'DELETE' END,
            CASE WHEN t.tgtype & 16 <> 0 THEN 'UPDATE' END) AS event,
        coalesce((
            SELECT json_agg(a.attname) FROM pg_attribute a
            WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (CAST(t.tgattr AS int2[])))::text,
            '[]') AS columns,
        p.prosrc AS body
    FROM pg_trigger t
    JOIN pg_proc p ON p.oid = t.tgfoid
    JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
        AND t.tgrelid IN (
            SELECT CAST(to_regclass({table}) AS oid)
            UNION SELECT CAST(relid AS oid) FROM pg_partition_tree(to_regclass({table})))
    ORDER BY 1, 2";

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

/// What the names of generated triggers have behind the name of their definition.
const ENDS: [&str; 6] = [
    "_insert",
    "_update",
    "_delete",
    "_truncate",
    "_replace_by_insert",
    "_replace_by_update",
];

/// The triggers of a table, and of its partitions, that run before or after a row is written.
fn others(table: &Table, conn: &mut AnyConnection) -> Result<Vec<Other>> {
    let database = conn.database();
    let query = match database {
        POSTGRES => sql_with(OF_POSTGRES, &[("table", &POSTGRES.table_name(table))]),
        MYSQL => {
            let values = [("schema", &*table.in_schema), ("table", &table.name)];
            sql_with(OF_MYSQL, &values)
        }
        _ => sql_with(OF_SQLITE, &[("table", &table.name)]),
    };
    let mut found: Vec<TriggerRow> = query.load(conn)?;
    // Those of a definition that counts in its own table are triggers of that table, too. On MySQL
    // and MariaDB, there are none.
    if database != MYSQL {
        let definitions = definitions(conn)?;
        found.retain(|trigger| {
            let is_of = |stored: &Stored| {
                let Definition { name, rows, .. } = &stored.definition;
                let end = trigger.name.strip_prefix(&**name);
                // On SQLite, no two triggers have the same name.
                let is_of_rows = database == SQLITE || table.is_named(rows);
                is_of_rows && end.is_some_and(|end| ENDS.contains(&end))
            };
            !definitions.iter().any(is_of)
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
    // Behind `create trigger name`, where the name can have a schema, and a point behind that.
    let has_schema = words.get(3).is_some_and(|word| word == ".");
    let behind_name = if has_schema { 5 } else { 3 };
    let rest = words.get(behind_name..).unwrap_or_default();
    let on = rest.iter().position(|word| word == "on");
    let head = &rest[..on.unwrap_or(rest.len())];
    let has = |word: &str| head.iter().any(|other| other == word);
    let when = if has("after") { "AFTER" } else { "BEFORE" };
    // There is one.
    let events = ["insert", "update", "delete"].into_iter();
    let event = events.filter(|event| has(event)).collect::<String>();
    let of = head.iter().position(|word| word == "of");
    let listed = of.map_or(&[][..], |of| &head[of + 1..]);
    let columns = listed.iter().filter(|word| *word != ",").cloned();
    (
        format!("{when} ROW {}", event.to_uppercase()),
        columns.collect(),
    )
}

/// The rules of a table. Those of the type 1 are for SELECT, which is a view's.
const RULES: &str = "
    SELECT rulename::text AS name,
        CASE ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END AS event,
        is_instead, ev_enabled IN ('O', 'A') AS is_enabled
    FROM pg_rewrite
    WHERE ev_type <> '1' AND ev_class = CAST(to_regclass({table}) AS oid)
    ORDER BY 1";

#[derive(QueryableByName)]
struct Rule {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    event: String,
    /// Whether it runs in place of the statement.
    #[diesel(sql_type = Bool)]
    is_instead: bool,
    #[diesel(sql_type = Bool)]
    is_enabled: bool,
}

/// The rules that run in place of a statement with one of the events `skipped`, and those with one
/// of the events `refused`, with which PostgreSQL refuses ON CONFLICT. It does not look whether one
/// of UPDATE is enabled.
fn rules(
    table: &Table,
    skipped: &[&str],
    refused: &[&str],
    conn: &mut AnyConnection,
) -> Result<Vec<Fault>> {
    let rules = sql_with(RULES, &[("table", &POSTGRES.table_name(table))]);
    let mut faults = Vec::new();
    for rule in rules.load(conn)? {
        let Rule {
            name,
            event,
            is_instead,
            is_enabled,
        } = rule;
        if is_instead && is_enabled && skipped.contains(&&*event) {
            faults.push(veto(&format!("The rule {name} of {table}")));
        } else if refused.contains(&&*event) && (is_enabled || event == "UPDATE") {
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
    let has_policies = sql_with(
        "SELECT relrowsecurity FROM pg_class WHERE oid = CAST(to_regclass({table}) AS oid)",
        &[("table", &POSTGRES.table_name(table))],
    );
    if !has_policies.typed::<Bool>().get_result::<bool>(conn)? {
        return Ok(None);
    }
    let what = "It has row level security.";
    let cost = "A policy can hide rows from the roles that it is for, and refuse theirs: \
                increments fail, and totals have a part of the counts.";
    let remedy = "Count, merge and correct as a role that sees all rows: the owner, without FORCE, \
                  or one with BYPASSRLS.";
    Ok(Some(note("policy", what, cost).remedy(remedy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(event: &str, body: &str, database: Database) -> Other {
        Other {
            name: "own".to_owned(),
            event: event.to_owned(),
            columns: Vec::new(),
            body: words(body, database),
        }
    }

    #[test]
    fn a_function_skips_a_row_or_keeps_the_old_one() {
        let skips = |event, body| trigger(event, body, POSTGRES).skips();
        for body in [
            "BEGIN RETURN NULL; END",
            "BEGIN RETURN OLD; END",
            "BEGIN NEW := OLD; RETURN NEW; END",
            "BEGIN NEW = OLD; RETURN NEW; END",
            "BEGIN RETURN NULL::articles; END",
            "BEGIN RETURN (OLD); END",
            "BEGIN RETURN CASE WHEN NEW.a > 0 THEN NULL ELSE NEW END; END",
            "BEGIN SELECT OLD.* INTO STRICT NEW; RETURN NEW; END",
            "DECLARE r a := OLD; BEGIN RETURN r; END",
        ] {
            assert!(skips("BEFORE ROW UPDATE", body), "{body}");
        }
        for body in [
            "BEGIN IF NEW = OLD THEN x := 1; END IF; RETURN NEW; END",
            "BEGIN -- RETURN NULL\n RETURN NEW; END",
            "BEGIN RETURN COALESCE(NEW, OLD); END",
            "BEGIN RETURN CASE WHEN OLD.a IS NULL THEN NEW ELSE f(NEW, OLD.a) END; END",
            "DECLARE r a := NEW; BEGIN RETURN r; END",
        ] {
            assert!(!skips("BEFORE ROW UPDATE", body), "{body}");
        }
        assert!(!skips("BEFORE ROW DELETE UPDATE", "BEGIN RETURN OLD; END"));
    }

    #[test]
    fn a_trigger_sets_a_column_of_its_row() {
        let sets = |body| trigger("BEFORE ROW UPDATE", body, MYSQL).sets("Likes");
        for body in [
            "SET NEW.likes = 1",
            "SET NEW.a = 1, NEW.`likes` = 2",
            "BEGIN SELECT 1 INTO NEW.likes; END",
            "BEGIN FETCH c INTO a, NEW.id, NEW.likes; END",
            "CALL f(NEW.likes)",
        ] {
            assert!(sets(body), "{body}");
        }
        for body in [
            "SET @a = NEW.likes",
            "SET NEW.a = f(1, NEW.likes)",
            "UPDATE t SET likes = 1",
        ] {
            assert!(!sets(body), "{body}");
        }
    }

    #[test]
    fn a_statement_writes_a_table() {
        let writes = |body| trigger("AFTER ROW INSERT", body, SQLITE).writes("Articles");
        for body in [
            "UPDATE articles SET likes = 1",
            "INSERT OR IGNORE INTO main.\"articles\" VALUES (1)",
            "DELETE FROM articles",
            "UPDATE OR IGNORE articles SET likes = 1",
        ] {
            assert!(writes(body), "{body}");
        }
        for body in [
            "SELECT * FROM articles",
            "UPDATE notes SET articles = 1",
            "UPDATE",
        ] {
            assert!(!writes(body), "{body}");
        }
    }

    #[test]
    fn the_event_of_sqlite_stands_before_its_table() {
        let event = |sql: &str| event_of_sqlite(&words(sql, SQLITE));
        let of = |event: &str, columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_owned());
            (event.to_owned(), columns.collect::<Vec<_>>())
        };
        assert_eq!(
            event("CREATE TRIGGER a AFTER UPDATE OF likes, \"x\" ON b BEGIN DELETE FROM c; END"),
            of("AFTER ROW UPDATE", &["likes", "x"])
        );
        assert_eq!(
            event("CREATE TRIGGER main.a INSERT ON b BEGIN SELECT 1; END"),
            of("BEFORE ROW INSERT", &[])
        );
        assert_eq!(event("CREATE TRIGGER"), of("BEFORE ROW ", &[]));
    }
}
