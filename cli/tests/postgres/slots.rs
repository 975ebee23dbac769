//! Settings of a session, which anybody can write: the number of its connection and its partition.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::increment;

use super::roles::Roles;
use crate::hot_row::article_counters;

const NUMBERS: &str = "-100|-1|-0|x|99999999999999|2147483647|2147483648|-2147483648|32767|32768|\
    | 7|7 |+7|0x10|1_000|1e3|7.5|NaN|٣";

const PARTITIONS: &str = "1/0|5/3|-1/3|3/3|0/99999|0/-1|x|/|0/|/3| 0/3|0/3 |0/3/5|\
    2147483647/2147483647|-100/3|1/3; SELECT 1";

const OUTSIDE: &str = "SELECT (SELECT count(*) FROM public.post_counters WHERE slot NOT BETWEEN 1 AND 32 AND day > '2000-01-01')
    + (SELECT count(*) FROM public.site_counters WHERE slot NOT BETWEEN 1 AND 32 AND day > '2000-01-01')";

#[test]
fn a_session_cannot_choose_a_slot_outside_of_the_table() {
    let roles = Roles::create(false);
    roles.counted();
    let roles = roles.planted("SELECT 1");
    let mut faults = Vec::new();
    let long = "x".repeat(40_000);
    let lengths = format!("|x|-7|é|{}|{long}", &long[..33]);
    for (setting, values, may_refuse) in [
        ("number", NUMBERS, false),
        ("slot_32_0_1", &lengths, false),
        ("partition", PARTITIONS, true),
    ] {
        for value in values.split('|') {
            let conn = &mut roles.attacker();
            conn.run(&format!("SET diesel_counters.{setting} = '{value}'"));
            // The one that set it, and the next user of a connection of a pool.
            for user in ["the session", "the next user"] {
                let written = conn.batch_execute(
                    "INSERT INTO public.likes (id, post) SELECT COALESCE(max(id), 0) + 1, 'a' FROM public.likes;
                     UPDATE public.likes SET stars = stars + 1 WHERE id = 1",
                );
                if let Err(error) = &written
                    && !may_refuse
                {
                    faults.push(format!("{setting} '{value}': {user} got {error}"));
                }
                let outside = roles.number(OUTSIDE);
                if outside != 0 {
                    faults.push(format!(
                        "{setting} '{value}': {user} wrote {outside} rows of other slots"
                    ));
                    roles.checker().run(
                        "DELETE FROM public.likes; DELETE FROM public.site_counters;
                             DELETE FROM public.post_counters; UPDATE public.posts SET likes = 0",
                    );
                }
            }
            // A pool's `DISCARD ALL`.
            conn.run("DISCARD ALL");
            let next = conn.batch_execute("UPDATE public.likes SET stars = stars + 1");
            if let Err(error) = next {
                faults.push(format!("{setting} '{value}': after DISCARD ALL: {error}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    roles.assert_right();
}

/// A transaction pooler gives the session of one user to the next one.
#[test]
fn a_number_that_cannot_be_read_is_claimed_anew() {
    let roles = Roles::create(false);
    roles.counted();
    for value in ["x", "-100", "99999999999999"] {
        let conn = &mut roles.attacker();
        conn.run(&format!("SET diesel_counters.number = '{value}'"));
        let inserted = conn.batch_execute(
            "INSERT INTO public.likes (id, post) SELECT max(id) + 1, 'a' FROM public.likes",
        );
        assert_eq!(
            inserted.map_err(|error| error.to_string()),
            Ok(()),
            "{value}"
        );
        assert_eq!(roles.number(OUTSIDE), 0, "{value}");
    }
    roles.assert_right();
}

/// An increment of the library takes its slot by the same number.
#[test]
fn an_increment_of_the_next_user_of_a_connection_has_a_slot_of_the_table() {
    let database = crate::behaviour::doctor::with_counters();
    // Another role can create functions with the names of the server's own.
    for function in [
        "ts_rewrite(text, text)",
        "ts_rewrite(varchar, text)",
        "ts_rewrite(tsquery, varchar)",
        "replace(varchar, varchar, text)",
        "current_setting(varchar, boolean)",
        "octet_length(varchar)",
        "set_config(varchar, text, boolean)",
        "split_part(varchar, varchar, integer)",
        "string_to_array(text, varchar)",
        "repeat(varchar, integer)",
        "generate_series(integer, bigint)",
    ] {
        database.execute(&format!(
            "CREATE FUNCTION public.{function} RETURNS text LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'a function of another role was run'; END $$"
        ));
    }
    let mut faults = Vec::new();
    let long = "x".repeat(40_000);
    let numbers = NUMBERS.split('|').map(|number| ("number", number));
    let lengths = ["", "é", &long[..33], &long].map(|text| ("slot_32_0_1", text));
    for (setting, number) in numbers.chain(lengths) {
        let conn = &mut database.connect();
        conn.run(&format!("SET diesel_counters.{setting} = '{number}'"));
        for _ in 0..2 {
            if let Err(error) = increment(article_counters::views).of(7).execute(conn) {
                faults.push(format!("'{number}': {error}"));
            }
        }
        let outside = "SELECT count(*) FROM article_counters WHERE slot NOT BETWEEN 1 AND 32";
        let outside = crate::behaviour::triggers::number(outside, conn);
        if outside != 0 {
            faults.push(format!("'{number}': {outside} rows of other slots"));
        }
        conn.run("DELETE FROM article_counters");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
