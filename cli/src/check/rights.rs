//! Whose the triggers are, what their owner may do, and who could have functions run as their
//! owner. Only PostgreSQL's catalogue tells that.

use anyhow::Result;
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, RunQueryDsl};

use crate::catalogue::{Table, table};
use crate::code_of_others::OfOthers;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::fault::{Fault, note, wrong};
use crate::sql::sql_with;
use crate::triggers::{Counting, Stored};

fn owner_of(table: &Table, conn: &mut AnyConnection) -> Result<String> {
    let owner = sql_with(
        "SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = to_regclass({table})",
        &[("table", &POSTGRES.table_name(table))],
    );
    Ok(owner.typed::<Text>().get_result(conn)?)
}

/// A definition of a role that does not own its tables: anybody can comment on a function of their
/// own. Neither what it would count nor its SQL is printed.
pub fn foreign(stored: &Stored, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    if conn.database() != POSTGRES || stored.is_own {
        return Ok(None);
    }
    let Stored {
        definition, owner, ..
    } = stored;
    let counters = definition.counts.iter().map(|count| &count.table);
    let names = [&definition.rows].into_iter().chain(counters);
    // What is no table is a fault of the definition, and not of its owner.
    let known: Vec<_> = names.filter_map(|name| table(conn, name).ok()).collect();
    let name = &definition.name;
    let rows = &definition.rows;
    if let Some(table) = known.first() {
        let of_table = owner_of(table, conn)?;
        // The role owns the tables, too: only this connection is another one's.
        if of_table == *owner {
            return Ok(None);
        }
        if is_attached(&stored.function, owner, table, conn)? {
            return Ok(Some(attached(name, owner, table, &of_table)));
        }
    }
    let what = format!(
        "The function {name} of {owner} has a comment like the definition of triggers of {rows}."
    );
    let cost = "It is somebody else's, because another role owns the tables. It counts nothing.";
    Ok(Some(note("trigger_foreign", what, cost)))
}

/// The fault of a trigger whose function is `owner`'s, on the table of another role.
fn attached(name: &str, owner: &str, table: &Table, of_table: &str) -> Fault {
    let what = format!("The triggers {name} belong to {owner}, and {table} to {of_table}.");
    let cost = "They run with the rights of another role, and count what that role wants.";
    let remedy = format!(
        "Run their migration again as {of_table}. If you do not know {owner}, drop the triggers of \
         its functions."
    );
    wrong("trigger_owner", what, cost).remedy(remedy)
}

/// Whether a function of this name and role runs as a trigger of the table.
fn is_attached(name: &str, owner: &str, table: &Table, conn: &mut AnyConnection) -> Result<bool> {
    let is_attached = sql_with(
        "SELECT EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
             WHERE t.tgrelid = CAST(to_regclass({table}) AS oid)
                 AND p.proname = {function} AND pg_get_userbyid(p.proowner) = {owner})",
        &[
            ("table", &POSTGRES.table_name(table)),
            ("function", name),
            ("owner", owner),
        ],
    );
    Ok(is_attached.typed::<Bool>().get_result(conn)?)
}

/// Whoever owns a table that a function writes could have triggers of the table run as the
/// function's owner.
pub fn owners(counting: &Counting, owner: &str, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if counting.database != POSTGRES {
        return Ok(faults);
    }
    let name = &counting.definition.name;
    let tables = counting.targets.iter().map(|target| &target.table);
    for table in [&counting.rows].into_iter().chain(tables) {
        let of_table = owner_of(table, conn)?;
        if of_table != owner {
            let what = format!("The triggers {name} belong to {owner}, and {table} to {of_table}.");
            let cost = "Triggers of the table run with the rights of another role, or fail without \
                        theirs.";
            faults.push(wrong("trigger_owner", what, cost).remedy(format!(
                "Give all of their tables to one role, and run their migration again as that role. \
                 Do not give {table} to a role that you do not know."
            )));
        }
    }
    Ok(faults)
}

/// Tables that triggers use, and whose owner could have code run with the rights of the function's
/// owner.
pub fn of_others(counting: &Counting, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let name = &counting.definition.name;
    for found in counting.tables_of_others(conn)? {
        let OfOthers {
            table,
            owner,
            used_by,
        } = found;
        let what =
            format!("{table} belongs to {owner}, and the triggers {name} of {used_by} use it.");
        let cost = "Code that the owner of the table attaches to it, such as a function of an \
                    index, can run with the rights of the triggers; or writes of the rows fail.";
        let one = POSTGRES.quoted(&used_by);
        let other = POSTGRES.quoted(&owner);
        faults.push(wrong("trigger_owner", what, cost).remedy(format!(
            "Give the tables to one role; or GRANT {one} TO {other}, if {owner} may have all \
             rights of {used_by}. A counter table without a foreign key to {table} does not \
             require that."
        )));
    }
    Ok(faults)
}

/// The rights that the function's owner lacks. Writes of the rows then fail.
pub fn denied(counting: &Counting, owner: &str, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if counting.database != POSTGRES {
        return Ok(faults);
    }
    let role = POSTGRES.quoted(owner);
    for Required {
        table,
        rights,
        columns,
    } in required(counting)
    {
        let name = POSTGRES.table_name(table);
        let schema = POSTGRES.quoted(&table.in_schema);
        let mut grants = Vec::new();
        if !may_use_schema(owner, table, conn)? {
            grants.push(format!("GRANT USAGE ON SCHEMA {schema} TO {role};"));
        }
        for right in rights {
            if !has_right(owner, right, table, &columns, conn)? {
                grants.push(format!("GRANT {right} ON {name} TO {role};"));
            }
        }
        if !grants.is_empty() {
            let triggers = &counting.definition.name;
            let what =
                format!("The owner of the triggers {triggers}, {owner}, lacks a right on {table}.");
            let cost = "Writes of the rows fail: inserts, or deletions.";
            let mut fault = wrong("trigger_denied", what, cost).remedy("Grant it.");
            fault.sql = grants;
            faults.push(fault);
        }
    }
    Ok(faults)
}

fn may_use_schema(role: &str, table: &Table, conn: &mut AnyConnection) -> Result<bool> {
    let may_use = sql_with(
        "SELECT has_schema_privilege({role}, {schema}, 'USAGE')",
        &[("role", role), ("schema", &table.in_schema)],
    );
    Ok(may_use.typed::<Bool>().get_result(conn)?)
}

/// Whether a role has a right on a table. A right to read these columns is enough to read.
fn has_right(
    role: &str,
    right: &str,
    table: &Table,
    columns: &[&String],
    conn: &mut AnyConnection,
) -> Result<bool> {
    let name = POSTGRES.table_name(table);
    let of_table = [("role", role), ("table", &name), ("right", right)];
    let has_on_table = sql_with(
        "SELECT has_table_privilege({role}, CAST(to_regclass({table}) AS oid), {right})",
        &of_table,
    );
    if has_on_table.typed::<Bool>().get_result(conn)? {
        return Ok(true);
    }
    for column in columns {
        let has_on_column = sql_with(
            "SELECT has_column_privilege(
                 {role}, CAST(to_regclass({table}) AS oid), {column}, {right})",
            &[&of_table[..], &[("column", column)]].concat(),
        );
        if right != "SELECT" || !has_on_column.typed::<Bool>().get_result(conn)? {
            return Ok(false);
        }
    }
    Ok(!columns.is_empty())
}

/// A table that the triggers use, and the rights on it.
struct Required<'c> {
    table: &'c Table,
    rights: &'static [&'static str],
    /// The columns that they read.
    columns: Vec<&'c String>,
}

fn required(counting: &Counting) -> Vec<Required<'_>> {
    let sources = counting.targets.iter().flat_map(|target| &target.sources);
    let of_rows = sources.flat_map(|source| &source.entity);
    let mut all = vec![Required {
        table: &counting.rows,
        rights: &["SELECT"],
        columns: of_rows.map(|column| &column.name).collect(),
    }];
    for target in &counting.targets {
        let key = target.key().map(|column| &column.name);
        all.push(Required {
            table: &target.table,
            rights: match target.slots {
                Some(_) => &["SELECT", "INSERT", "UPDATE"],
                None => &["SELECT", "UPDATE"],
            },
            columns: key.chain(&target.names).collect(),
        });
        for parent in &target.parents {
            let table = &parent.table;
            // A parent that is counted in, or whose rows are counted, is there with its rights.
            if !all.iter().any(|known| known.table.is(table)) {
                all.push(Required {
                    table,
                    rights: &["SELECT"],
                    columns: vec![&parent.key],
                });
            }
        }
    }
    all
}

/// The roles that may create triggers on a table, and on each of its partitions.
const GRANTS: &str = "
    SELECT CAST(CAST(c.oid AS regclass) AS text) AS name,
        string_agg(
            -- The grantee 0 is PUBLIC.
            CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
            ', ' ORDER BY a.grantee) AS roles
    FROM pg_class c
    CROSS JOIN LATERAL aclexplode(c.relacl) a
    LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner AND r.rolsuper IS NOT TRUE
        AND c.oid IN (
            SELECT CAST(to_regclass({table}) AS oid)
            UNION SELECT CAST(relid AS oid) FROM pg_partition_tree(to_regclass({table})))
    GROUP BY c.oid ORDER BY 1";

#[derive(QueryableByName)]
struct Granted {
    /// The table, as SQL.
    #[diesel(sql_type = Text)]
    name: String,
    /// As SQL, in a list.
    #[diesel(sql_type = Text)]
    roles: String,
}

/// Who else may create triggers on a table: their functions run as the role that writes it, which
/// is the owner of the function that counts.
pub fn granted(counting: &Counting, owner: &str, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if counting.database != POSTGRES {
        return Ok(faults);
    }
    for table in counting.tables() {
        let grants = sql_with(GRANTS, &[("table", &POSTGRES.table_name(table))]);
        for Granted { name, roles } in grants.load(conn)? {
            let what = format!(
                "{roles} may create triggers on {name}. Their functions run as the role that \
                 writes the table: as {owner}, when rows are counted or a cascade deletes them."
            );
            let revoke = format!("REVOKE TRIGGER ON {name} FROM {roles};");
            let fault = note("trigger_grant", what, "").run(revoke);
            faults.push(fault.remedy("GRANT ALL has that right. Take it from them."));
        }
    }
    Ok(faults)
}
