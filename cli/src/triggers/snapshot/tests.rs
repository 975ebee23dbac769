//! Tests that a snapshot is read as it was written, and that branches make one state.

use anyhow::Result;

use super::Snapshot;
use super::migrations::{Migrations, SnapshotMigration};
use crate::database::Joined;
use crate::output::steers;
use crate::triggers::definition::{Count, Definition, Deleted};

const TEXTS: [&str; 6] = [
    "a",
    "it's",
    "say \"a\"",
    "it's \"\\\"",
    "\u{202e}\t\u{7f}\n",
    "é🦀",
];

fn definition(name: &str, when: &str) -> Definition {
    Definition {
        name: name.to_owned(),
        rows: "likes".to_owned(),
        counts: vec![Count::try_from("a:b.c=d".to_owned()).unwrap(); when.len()],
        by: "stars * 2".to_owned(),
        when: Some(when.to_owned()),
        only: None,
        day: None,
        slots: 16,
        deleted: Deleted::Kept,
    }
}

fn snapshot(after: &[&str], definitions: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = Snapshot {
        after: after.iter().map(|name| (*name).to_owned()).collect(),
        backend: "sqlite".to_owned(),
        ..Snapshot::default()
    };
    for (name, when) in definitions {
        snapshot.triggers.push(definition(name, when));
        let made = (
            format!("{name}_insert"),
            "likes".to_owned(),
            (*when).to_owned(),
        );
        snapshot.made.insert((*name).to_owned(), vec![made.into()]);
    }
    snapshot
}

#[test]
fn what_is_written_is_read() {
    let all = snapshot(&TEXTS, &TEXTS.map(|text| (text, text)));
    let toml = all.toml().unwrap();
    assert!(!toml.contains(|c| steers(c) && c != '\n'), "{toml}");
    assert_eq!(toml::from_str::<Snapshot>(&toml).unwrap(), all, "{toml}");
}

fn state(all: &[(&str, Snapshot)]) -> Result<Snapshot> {
    let all = all.iter().map(|(name, snapshot)| SnapshotMigration {
        name: (*name).to_owned(),
        snapshot: snapshot.clone(),
    });
    Migrations { all: all.collect() }.state()
}

fn names(state: &Snapshot) -> String {
    let names = state.triggers.iter().map(|one| one.name.clone());
    names.joined(" ")
}

#[test]
fn branches_that_change_different_definitions_are_one_state() {
    let root = ("1_a", snapshot(&[], &[("a", "x"), ("b", "x")]));
    let one = ("2_b", snapshot(&["1_a"], &[("a", "x"), ("b", "y")]));
    let other = ("3_c", snapshot(&["1_a"], &[("b", "x"), ("c", "x")]));
    let more = (
        "4_d",
        snapshot(&["3_c"], &[("b", "x"), ("c", "x"), ("d", "x")]),
    );
    let merged = state(&[root.clone(), one.clone(), other.clone(), more.clone()]).unwrap();
    assert_eq!(merged.after, ["2_b", "4_d"]);
    assert_eq!(names(&merged), "b c d");
    assert_eq!(merged.definition("b"), one.1.definition("b"));
    assert_eq!(merged.made.len(), 3);
    let last = ("5_e", snapshot(&["2_b", "4_d"], &[("b", "y")]));
    let after = state(&[root, one, other, more, last]).unwrap();
    assert_eq!(
        (names(&after), &*after.after),
        ("b".to_owned(), &["5_e".to_owned()][..])
    );
}

#[test]
fn branches_that_change_one_definition_are_refused_unless_they_agree() {
    let root = ("1_a", snapshot(&[], &[("a", "x"), ("b", "x")]));
    let one = ("2_b", snapshot(&["1_a"], &[("a", "x"), ("b", "y")]));
    let both = ("3_c", snapshot(&["1_a"], &[("a", "x"), ("b", "z")]));
    let refused = state(&[root.clone(), one.clone(), both]).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("2_b and 3_c come from two branches"),
        "{refused}"
    );
    let same = ("3_c", snapshot(&["1_a"], &[("b", "y")]));
    assert_eq!(names(&state(&[root, one, same]).unwrap()), "b");
}

/// Two features that both start from two migrations side by side.
#[test]
fn branches_of_merged_branches_have_all_of_these_in_common() {
    let root = ("1_r", snapshot(&[], &[("a", "x"), ("b", "x")]));
    let one = ("2_a", snapshot(&["1_r"], &[("a", "y"), ("b", "x")]));
    let other = ("3_b", snapshot(&["1_r"], &[("a", "x"), ("b", "y")]));
    let back = ("4_c", snapshot(&["2_a", "3_b"], &[("a", "x"), ("b", "y")]));
    let more = (
        "5_d",
        snapshot(&["2_a", "3_b"], &[("a", "y"), ("b", "y"), ("c", "x")]),
    );
    let merged = state(&[root, one, other, back, more]).unwrap();
    let texts = merged
        .triggers
        .iter()
        .map(|one| format!("{}{}", one.name, one.when.as_deref().unwrap()));
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    assert_eq!(texts, ["ax", "by", "cx"]);
}

#[test]
fn a_migration_that_was_renamed_is_the_one_before() {
    let root = ("1_a", snapshot(&[], &[("a", "x"), ("b", "x")]));
    let renamed = ("3_new", snapshot(&["1_a"], &[("a", "x")]));
    let last = ("4_c", snapshot(&["2_old"], &[("a", "y")]));
    let merged = state(&[root, renamed, last]).unwrap();
    assert_eq!(
        (names(&merged), &*merged.after),
        ("a".to_owned(), &["4_c".to_owned()][..])
    );
}

/// If you join old migrations into one, you keep the snapshot of the last one.
#[test]
fn the_first_snapshot_can_be_after_one_that_is_gone() {
    let only = ("2_b", snapshot(&["1_a"], &[("a", "x")]));
    assert_eq!(state(&[only]).unwrap().triggers.len(), 1);
}
