//! The links of the chapters.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Addresses on each page of rustdoc. A link to a heading of this name would lead there.
const OF_RUSTDOC: [&str; 4] = ["settings", "search", "help", "main-content"];

/// `docs/links.md` says where a label leads on docs.rs, and the end of a chapter where it leads in the
/// repository.
#[test]
fn each_link_of_a_chapter_leads_somewhere() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let read = |file: &str| fs::read_to_string(docs.join(file)).unwrap();
    let links = read("links.md");
    let on_docs_rs = definitions(&links);
    let modules = read("../src/guide.rs");
    let files = modules.split("\"../docs/").skip(1);
    let files = files.map(|rest| rest.split('"').next().unwrap());
    for chapter in files.filter(|file| *file != "links.md") {
        let text = read(chapter);
        for heading in headings(&text) {
            assert!(!OF_RUSTDOC.contains(&&*heading), "{chapter}: {heading}");
        }
        for target in text.split("](").skip(1) {
            let is_on_docs_rs = target.starts_with("http") || target.starts_with('#');
            assert!(is_on_docs_rs, "{chapter}: needs a label: {target:.50}");
        }
        for (label, here) in definitions(&text) {
            let link = format!("{chapter}: [{label}]");
            let there = on_docs_rs
                .get(label)
                .unwrap_or_else(|| panic!("{link} is not in links.md"));
            if let Some(there) = there.strip_prefix("crate::guide::") {
                let (module, rest) = there.split_at(there.find('#').unwrap_or(there.len()));
                assert_eq!(
                    here,
                    format!("{}.md{rest}", module.replace('_', "-")),
                    "{link}"
                );
            }
            assert!(
                text.matches(&format!("[{label}]")).count() > 1,
                "{link} is not used"
            );
            if here.starts_with("http") {
                continue;
            }
            let (file, heading) = here.split_once('#').unwrap_or((here, ""));
            assert!(docs.join(file).exists(), "{link}: there is no {here}");
            assert!(
                heading.is_empty() || headings(&read(file)).any(|of| of == heading),
                "{link}: {here}"
            );
        }
    }
}

/// Each function of the public API, but those that set options.
#[test]
fn the_chapter_on_pools_has_each_call() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let read = |file: &str| fs::read_to_string(docs.join(file)).unwrap();
    let chapter = read("pools.md");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = chapter.split(|c| !is_word(c)).collect();
    let api = read("public-api.txt");
    let functions = api
        .lines()
        .filter_map(|line| line.strip_prefix("pub fn diesel_counters::"));
    let mut calls = 0;
    for function in functions {
        let path = path_of(function);
        let path: Vec<&str> = path.split("::").collect();
        let name = match path[..] {
            [
                "dsl" | "prelude" | "HasCounters" | "CounterBuffer" | "Compactor",
                name,
            ] => name,
            ["prelude", "CountingDsl", name] | [name] => name,
            [
                ..,
                name @ ("execute" | "load" | "run" | "transaction" | "dry_run"),
            ] => name,
            _ => continue,
        };
        calls += 1;
        assert!(words.contains(&name), "pools.md: {function}");
    }
    assert!(calls > 40, "{calls}");
}

/// The path of a function, without the parameters of its types: `CounterBuffer::count`.
fn path_of(function: &str) -> String {
    let mut depth = 0;
    let mut path = String::new();
    for c in function.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            c if depth == 0 => path.push(c),
            _ => {}
        }
    }
    path
}

#[test]
fn the_chapter_on_pools_has_the_versions_that_are_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let (chapter, lock) = (read("docs/pools.md"), read("Cargo.lock"));
    for package in ["diesel-async", "deadpool", "bb8"] {
        let entry = format!("name = \"{package}\"\nversion = \"");
        let (_, version) = lock.split_once(&entry).unwrap();
        let minor: Vec<&str> = version.split('.').take(2).collect();
        let version = format!("{package} {}", minor.join("."));
        assert!(chapter.contains(&version), "{version}");
    }
}

/// `[label]: target`
fn definitions(text: &str) -> HashMap<&str, &str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    lines.filter_map(|line| line.split_once("]: ")).collect()
}

/// As they stand in the address of a page.
fn headings(page: &str) -> impl Iterator<Item = String> {
    let lines = page.lines().filter(|line| line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once("# "))
        .map(|(_, heading)| {
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
}
