//! Which triggers and functions of the database are those of a definition. The application, or
//! another role, can have some of the same names.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};

use super::definition::{Count, Definition};
use super::plan::Plan;
use super::trigger::LiveTrigger;
use crate::connection::AnyConnection;
use crate::database::{Database, POSTGRES};
use crate::sql::sql_with;

/// What the database has of a definition.
pub struct Own {
    /// Those of its plan, and those that an earlier definition of its name has left behind.
    pub triggers: Vec<LiveTrigger>,
    /// The names of its functions on PostgreSQL.
    pub functions: Vec<String>,
    /// The names of its plan that other triggers have. Only PostgreSQL has names by table.
    pub taken: Vec<String>,
}

impl Own {
    /// `live` are all triggers, and `schema` is that of the functions.
    pub fn new(
        definition: &Definition,
        schema: &str,
        plan: Option<&Plan>,
        live: &[LiveTrigger],
        conn: &mut AnyConnection,
    ) -> Result<Self> {
        let database = conn.database();
        let planned = plan.map(|plan| &*plan.triggers).unwrap_or_default();
        let is_planned = |live: &LiveTrigger| {
            let mut planned = planned.iter();
            planned.any(|trigger| trigger.name == live.name && trigger.table == live.table)
        };
        if database == POSTGRES {
            let functions = functions(definition, schema, plan, conn)?;
            let calls_one = |live: &LiveTrigger| {
                let mut names = functions.iter().map(|function| &function.in_quotes);
                names.any(|name| Some(name) == live.function.as_ref())
            };
            // A rule calls no function: it is on the table of the triggers.
            let no_merge = format!("{}_no_merge", definition.name);
            let is_rule = |rule: &LiveTrigger| {
                let mut of_table = live.iter().filter(|live| live.table == rule.table);
                rule.event == "RULE" && rule.name == no_merge && of_table.any(calls_one)
            };
            let is_own = |live: &&LiveTrigger| is_planned(live) || calls_one(live) || is_rule(live);
            let of_plan = plan.map(Plan::functions).into_iter().flatten();
            let names = functions.iter().map(|function| function.name.clone());
            return Ok(Own {
                triggers: live.iter().filter(is_own).cloned().collect(),
                functions: {
                    let mut all: Vec<_> = of_plan.chain(names).collect();
                    all.sort();
                    all.dedup();
                    all
                },
                taken: Vec::new(),
            });
        }
        let is_left = |live: &LiveTrigger| {
            live.has_name_of(definition) && live.is_generated(definition, database)
        };
        let (triggers, others): (Vec<_>, Vec<_>) = live
            .iter()
            .cloned()
            .partition(|live| is_planned(live) || is_left(live));
        let names = planned.iter().map(|trigger| trigger.name.clone());
        let is_it = |other: &LiveTrigger, name: &str| database.is_same_trigger(&other.name, name);
        let is_taken = |name: &String| others.iter().any(|other| is_it(other, name));
        Ok(Own {
            triggers,
            functions: Vec::new(),
            taken: names.filter(is_taken).collect(),
        })
    }
}

/// A function for triggers.
#[derive(QueryableByName)]
struct Function {
    #[diesel(sql_type = Text)]
    name: String,
    /// With its schema, as in [`LiveTrigger::function`].
    #[diesel(sql_type = Text)]
    in_quotes: String,
    /// Whether its comment or its text is one that is generated.
    #[diesel(sql_type = Bool)]
    is_generated: bool,
}

/// The functions of a definition that there are. Without a plan, one that was changed by hand is
/// not known.
fn functions(
    definition: &Definition,
    schema: &str,
    plan: Option<&Plan>,
    conn: &mut AnyConnection,
) -> Result<Vec<Function>> {
    const FUNCTIONS: &str = "
        SELECT p.proname::text AS name,
            quote_ident(n.nspname) || '.' || quote_ident(p.proname) AS in_quotes,
            d.description LIKE 'diesel_counters: {%' IS TRUE
                OR p.prosrc LIKE '% AS counters (%' OR p.prosrc LIKE '%FOR entity%' AS is_generated
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        LEFT JOIN pg_description d
            ON d.objoid = p.oid AND d.classoid = CAST('pg_proc'::regclass AS oid)
                AND d.objsubid = 0
        WHERE CASE {schema} WHEN '' THEN pg_function_is_visible(p.oid) ELSE n.nspname = {schema} END
            AND p.prorettype = CAST('trigger'::regtype AS oid)
            AND p.proname::text IN ({name} || '_insert', {name} || '_update', {name} || '_delete',
                {name} || '_truncate')
        ORDER BY p.oid";
    let values = [("schema", schema), ("name", &definition.name)];
    let mut functions: Vec<Function> = sql_with(FUNCTIONS, &values).load(conn)?;
    let planned = plan.map(Plan::functions).unwrap_or_default();
    functions.retain(|function| function.is_generated || planned.contains(&function.name));
    Ok(functions)
}

impl LiveTrigger {
    /// Whether it has a name that a trigger of this definition can have.
    fn has_name_of(&self, definition: &Definition) -> bool {
        const ENDS: [&str; 8] = [
            "insert",
            "update",
            "delete",
            "lock_insert",
            "lock_update",
            "lock_delete",
            "replace_by_insert",
            "replace_by_update",
        ];
        let end = self
            .name
            .strip_prefix(&definition.name)
            .and_then(|rest| rest.strip_prefix('_'));
        end.is_some_and(|end| ENDS.contains(&end) || self.is_of_cascade(end))
    }

    /// Whether it counts what a foreign key of MySQL changes: its name ends with that of a column,
    /// as a trigger of somebody else's can. The body tells.
    fn is_of_cascade(&self, end: &str) -> bool {
        let has_name = end.starts_with("of_") || end.starts_with("after_");
        has_name && self.body.contains("@@foreign_key_checks")
    }

    /// Whether its body is generated: it has what nobody writes by hand, or it names a counter of
    /// this definition, or of one that this has replaced.
    fn is_generated(&self, definition: &Definition, database: Database) -> bool {
        const OWN_WORDS: [&str; 3] = [
            "@@foreign_key_checks",
            "@diesel_counters_",
            "pragma_recursive_triggers",
        ];
        if OWN_WORDS.iter().any(|word| self.body.contains(word)) {
            return true;
        }
        // The table can have another name now.
        let is_named = |count: &Count| has_word(&self.body, &database.quoted(&count.counter));
        let of_replaced = definition.replaced.iter().flatten();
        let of_name = of_replaced.filter(|replaced| replaced.name == definition.name);
        let all = [definition].into_iter().chain(of_name);
        all.flat_map(|one| &one.counts).any(is_named)
    }
}

/// Whether SQL has a name, and not only as a part of another one.
fn has_word(sql: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    sql.match_indices(word).any(|(place, _)| {
        let before = sql[..place].chars().next_back();
        let behind = sql[place + word.len()..].chars().next();
        !before.is_some_and(is_letter) && !behind.is_some_and(is_letter)
    })
}
