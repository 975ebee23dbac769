//! Whose the triggers are, what their owner may do, and who could have functions run as their
//! owner. Only PostgreSQL's catalogue tells that.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{Bool, Text};

use crate::catalogue::{Table, table};
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::fault::{Fault, note, wrong};
use crate::sql::sql;
use crate::triggers::{Counting, Stored};

fn owner_of(table: &Table, conn: &mut AnyConnection) -> Result<String> {
    let found =
        sql("SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = to_regclass(");
    let found = found.bind(&POSTGRES.table_name(table)).sql(")");
    Ok(found.typed::<Text>().get_result(conn)?)
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
    let known: Vec<_> = names.filter_map(|name| table(conn, name).ok()).collect();
    let first = known
        .first()
        .map(|table| owner_of(table, conn))
        .transpose()?;
    if first.as_ref() == Some(owner) {
        return Ok(None);
    }
    let (name, rows) = (&definition.name, &definition.rows);
    if let (Some(table), Some(of_table)) = (known.first(), &first)
        && is_attached(&stored.function, owner, table, conn)?
    {
        let what = format!("The triggers {name} belong to {owner}, and {table} to {of_table}.");
        let cost = "They run with the rights of another role, and count what that role wants.";
        let remedy = format!(
            "Run their migration again as {of_table}. If you do not know {owner}, drop the triggers of its functions."
        );
        return Ok(Some(wrong("trigger_owner", what, cost).remedy(remedy)));
    }
    let what = format!(
        "The function {name} of {owner} has a comment like the definition of triggers of {rows}."
    );
    let cost = "It is somebody else's, because another role owns the tables. It counts nothing.";
    Ok(Some(note("trigger_foreign", what, cost)))
}

/// Whether a function of this name and role runs as a trigger of the table.
fn is_attached(name: &str, owner: &str, table: &Table, conn: &mut AnyConnection) -> Result<bool> {
    let found = sql(
        "SELECT EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
             WHERE t.tgrelid = CAST(to_regclass(",
    );
    let found = found
        .bind(&POSTGRES.table_name(table))
        .sql(") AS oid) AND p.proname = ");
    let found = found.bind(name).sql(" AND pg_get_userbyid(p.proowner) = ");
    let found = found.bind(owner).sql(")").typed::<Bool>();
    Ok(found.get_result(conn)?)
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
            let cost = "Triggers of the table run with the rights of another role, or fail without theirs.";
            faults.push(wrong("trigger_owner", what, cost).remedy(format!(
                "Give all of their tables to one role, and run their migration again as that role. Do not give \
                 {table} to a role that you do not know."
            )));
        }
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
    for (table, rights) in required(counting) {
        let name = POSTGRES.table_name(table);
        let schema = POSTGRES.quoted(&table.in_schema);
        let mut grants = Vec::new();
        let in_schema = sql("SELECT has_schema_privilege(").bind(owner).sql(", ");
        let in_schema = in_schema.bind(&table.in_schema).sql(", 'USAGE')");
        if !in_schema.typed::<Bool>().get_result::<bool>(conn)? {
            grants.push(format!("GRANT USAGE ON SCHEMA {schema} TO {role};"));
        }
        for right in rights {
            // A right to read the columns of the key is enough.
            let has = match *right {
                "SELECT" => sql("SELECT has_any_column_privilege("),
                _ => sql("SELECT has_table_privilege("),
            };
            let has = has.bind(owner).sql(", CAST(to_regclass(");
            let has = has.bind(&name).sql(") AS oid), ").bind(right).sql(")");
            if !has.typed::<Bool>().get_result::<bool>(conn)? {
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

/// The tables that the triggers use, and the rights on them.
fn required(counting: &Counting) -> Vec<(&Table, &'static [&'static str])> {
    let mut all: Vec<(&Table, &'static [&'static str])> = vec![(&counting.rows, &["SELECT"])];
    for target in &counting.targets {
        all.push(match target.slots {
            Some(_) => (&target.table, &["SELECT", "INSERT", "UPDATE"]),
            None => (&target.table, &["SELECT", "UPDATE"]),
        });
        for parent in &target.parents {
            if !all.iter().any(|(table, _)| table.is(&parent.table)) {
                all.push((&parent.table, &["SELECT"]));
            }
        }
    }
    all
}

/// Who else may create triggers on a table: their functions run as the role that writes it, which
/// is the owner of the function that counts.
pub fn granted(counting: &Counting, owner: &str, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if counting.database != POSTGRES {
        return Ok(faults);
    }
    for table in counting.tables() {
        let found = sql(
            "SELECT CAST(CAST(c.oid AS regclass) AS text), string_agg(
                 CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', '
                 ORDER BY a.grantee)
             FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
             WHERE a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner AND r.rolsuper IS NOT TRUE
                 AND c.oid IN (SELECT CAST(to_regclass(",
        );
        let name = POSTGRES.table_name(table);
        let found = found
            .bind(&name)
            .sql(") AS oid) UNION SELECT CAST(relid AS oid) FROM pg_partition_tree(to_regclass(");
        let found = found.bind(&name).sql("))) GROUP BY c.oid ORDER BY 1");
        for (name, roles) in found
            .typed::<(Text, Text)>()
            .load::<(String, String)>(conn)?
        {
            let what = format!(
                "{roles} may create triggers on {name}. Their functions run as the role that writes the table: as \
                 {owner}, when rows are counted or a cascade deletes them."
            );
            let revoke = format!("REVOKE TRIGGER ON {name} FROM {roles};");
            let fault = note("trigger_grant", what, "").run(revoke);
            faults.push(fault.remedy("GRANT ALL has that right. Take it from them."));
        }
    }
    Ok(faults)
}
