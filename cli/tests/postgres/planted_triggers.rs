//! Triggers that another role has planted beside a definition of its own.

use super::roles::{Roles, generate};
use crate::behaviour::Execute;

/// A definition is any comment on a function. This one is not attached to a table.
const DEFINITION: &str = r#"
    CREATE FUNCTION public.bait_insert() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RETURN NULL; END';
    COMMENT ON FUNCTION public.bait_insert() IS
        'diesel_counters: {"name":"bait","rows":"posts","count":["code:posts.likes"]}';
    "#;

/// The function runs with the rights of its own role.
const VETO: &str = "
    CREATE FUNCTION public.veto() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
        'BEGIN RETURN NULL; END';
    CREATE TRIGGER bait_update BEFORE UPDATE ON public.posts
        FOR EACH ROW EXECUTE FUNCTION public.veto()";

#[test]
fn a_definition_of_another_role_hides_no_veto() {
    for superuser in [false, true] {
        let roles = Roles::create(superuser);
        roles.counted();
        roles.owner().run("GRANT TRIGGER ON posts TO PUBLIC");
        roles.attacker().run(DEFINITION);
        roles.attacker().run(VETO);
        roles.run(&["check"]).finds("The trigger bait_update of");
        let changed = roles.run(&[&generate()[..], &["--slots", "16"]].concat());
        changed.fails("The trigger bait_update of");
    }
}

/// The owner of the table has a definition of this name, and another role a trigger.
#[test]
fn a_trigger_with_the_name_of_one_that_is_generated_hides_no_veto() {
    let roles = Roles::create(false);
    roles.counted();
    roles.owner().run("GRANT TRIGGER ON posts TO PUBLIC");
    roles.owner().run(DEFINITION);
    roles.attacker().run(VETO);
    roles.run(&["check"]).finds("The trigger bait_update of");
}

/// Anybody can create functions for its own session, with any names.
#[test]
fn a_definition_of_another_role_takes_a_name_in_its_schema_only() {
    let roles = Roles::create(false);
    let attacker = &mut roles.attacker();
    let definition = r#"
        CREATE FUNCTION public.count_likes_insert() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RETURN NULL; END';
        COMMENT ON FUNCTION public.count_likes_insert() IS
            'diesel_counters: {"name":"count_likes","rows":"posts","count":["code:posts.likes"]}'"#;
    attacker.run(definition);
    roles
        .run(&generate())
        .fails("there are triggers count_likes already");
    attacker.run("DROP FUNCTION public.count_likes_insert");
    attacker.run(&definition.replace("public.", "pg_temp."));
    roles.counted();
    roles.run(&["check"]).works();
}
