//! The function of the owner's triggers in a trigger of somebody else's table. `pg_restore
//! --no-acl` leaves it to everybody.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

use super::roles::{Roles, generate};

/// What a restore without rights leaves.
const NO_ACL: &str = "DO $$ DECLARE one RECORD; BEGIN
    FOR one IN SELECT oid::regprocedure AS name FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', one.name);
    END LOOP; END $$";

#[derive(QueryableByName)]
struct Trigger {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    create: String,
    #[diesel(sql_type = Nullable<Text>)]
    old_rows: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    new_rows: Option<String>,
}

fn triggers(roles: &Roles) -> Vec<Trigger> {
    diesel::sql_query(
        "SELECT tgname::text AS name, pg_get_triggerdef(oid) AS create, tgoldtable::text AS old_rows,
             tgnewtable::text AS new_rows
         FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = 'public.likes'::regclass ORDER BY tgname",
    )
    .load(&mut roles.checker())
    .unwrap()
}

/// Tables of the attacker, which its triggers are for.
const TABLES: [(&str, &str); 4] = [
    ("theft.other", ""),
    ("theft.likes", ""),
    ("pg_temp.likes", ""),
    // Its key and what is counted are of the attacker's types, whose casts are functions of the
    // attacker.
    ("theft.typed", "evil"),
];

const TYPES: &str = "
    CREATE SCHEMA theft;
    CREATE TYPE theft.evil AS (a BIGINT);
    CREATE FUNCTION theft.to_bigint(theft.evil) RETURNS BIGINT LANGUAGE plpgsql AS
        'BEGIN PERFORM public.spy(''cast''); RETURN 7; END';
    CREATE FUNCTION theft.to_text(theft.evil) RETURNS VARCHAR LANGUAGE plpgsql AS
        'BEGIN PERFORM public.spy(''cast''); RETURN ''a''; END';
    CREATE FUNCTION theft.is_not(theft.evil, theft.evil) RETURNS BOOLEAN LANGUAGE plpgsql AS
        'BEGIN PERFORM public.spy(''operator''); RETURN true; END';
    CREATE FUNCTION theft.is_not(theft.evil, TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS
        'BEGIN PERFORM public.spy(''operator''); RETURN true; END';
    CREATE OPERATOR public.<> (LEFTARG = theft.evil, RIGHTARG = theft.evil, FUNCTION = theft.is_not);
    CREATE OPERATOR public.<> (LEFTARG = theft.evil, RIGHTARG = TEXT, FUNCTION = theft.is_not);";

/// Only the owner of a type, or a superuser, may create its casts: the attacker is its owner.
const CASTS: &str = "
    CREATE CAST (theft.evil AS BIGINT) WITH FUNCTION theft.to_bigint(theft.evil) AS IMPLICIT;
    CREATE CAST (theft.evil AS VARCHAR) WITH FUNCTION theft.to_text(theft.evil) AS IMPLICIT";

#[test]
fn the_function_of_a_trigger_counts_the_rows_of_its_own_table_only() {
    for superuser in [false, true] {
        let roles = Roles::create(superuser);
        roles.counted();
        let name = &roles.database.name;
        roles
            .checker()
            .run(&format!("GRANT CREATE ON DATABASE {name} TO PUBLIC"));
        let roles = roles.planted(&format!("{TYPES}{CASTS}"));
        roles.owner().run(NO_ACL);
        let of_owner = triggers(&roles);
        assert!(of_owner.len() >= 4);
        for (table, types) in TABLES {
            attach(&roles, table, types, &of_owner);
        }
        // The owner's own rows are counted.
        roles.write("SELECT 1");
    }
}

/// Creates the owner's triggers for a table of the attacker, and writes there.
fn attach(roles: &Roles, table: &str, types: &str, of_owner: &[Trigger]) {
    let conn = &mut roles.attacker();
    let (text, number) = match types {
        "" => ("VARCHAR(20)", "BIGINT"),
        _ => ("theft.evil", "theft.evil"),
    };
    conn.run(&format!(
        "SET search_path = pg_catalog;
         CREATE TABLE {table} (id BIGINT PRIMARY KEY, post {text}, stars {number}, kind {text}, day DATE)"
    ));
    for trigger in of_owner {
        let create = trigger
            .create
            .replace("ON public.likes", &format!("ON {table}"));
        // A function that is not the attacker's may be refused here, too.
        let _ = conn.batch_execute(&create);
        let Trigger {
            name,
            old_rows,
            new_rows,
            ..
        } = trigger;
        // For each row, the rows of the statement have any name: the attacker's tables can take it.
        if old_rows.is_some() || new_rows.is_some() {
            let create = format!(
                "CREATE TRIGGER {name}_row AFTER INSERT OR UPDATE OR DELETE ON {table}
                     FOR EACH ROW EXECUTE FUNCTION public.{name}()"
            );
            let _ = conn.batch_execute(&create);
        }
    }
    let values = match types {
        "" => ["(1, 'a', 3, 'like'), (2, 'b', 3, 'like')", "'b'"],
        _ => [
            "(1, ROW(1)::theft.evil, ROW(2)::theft.evil, ROW(3)::theft.evil)",
            "ROW(9)::theft.evil",
        ],
    };
    for statement in [
        format!(
            "INSERT INTO {table} (id, post, stars, kind) VALUES {}",
            values[0]
        ),
        format!("UPDATE {table} SET post = {}", values[1]),
        format!("DELETE FROM {table}"),
        format!("TRUNCATE {table}"),
        // Without the triggers of the statement before, which may refuse.
        format!("ALTER TABLE {table} DISABLE TRIGGER ALL"),
        format!(
            "INSERT INTO {table} (id, post, stars, kind) VALUES {}",
            values[0]
        ),
        format!("ALTER TABLE {table} ENABLE TRIGGER ALL"),
        format!("UPDATE {table} SET post = {}", values[1]),
        format!("DELETE FROM {table}"),
        format!("TRUNCATE {table}"),
    ] {
        let _ = conn.batch_execute(&statement);
        roles.assert_not_caught(&statement);
        assert_eq!(roles.wrong(), 0, "{statement}");
    }
}

/// A trigger of the attacker's own table has the name of one that the definition could have.
#[test]
fn triggers_of_other_roles_do_not_stop_a_migration() {
    let roles = Roles::create(false);
    roles.counted();
    roles.attacker().run(
        "CREATE TABLE public.own (id INTEGER);
         CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER count_likes_insert AFTER INSERT ON public.own EXECUTE FUNCTION public.nothing();
         CREATE TRIGGER count_likes_no_merge AFTER INSERT ON public.own EXECUTE FUNCTION public.nothing()",
    );
    let changed = roles.run(&[&generate()[..], &["--slots", "16"]].concat());
    changed.works();
    roles.owner().run(&changed.stdout);
    roles.assert_right();
}
