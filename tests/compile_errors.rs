//! What the compiler says of wrong use.
//!
//! Each program in `compile_errors/src/bin` has a text of its errors: the line of the program, and
//! what this crate says of it. The compiler's own notes are left out, because they change with it.
//! `UPDATE_EXPECT=1` writes the texts again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use cargo_metadata::Message;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use expect_test::expect_file;

#[test]
fn wrong_use_is_a_readable_compile_error() {
    let mut errors = errors();
    for program in fs::read_dir(folder().join("src/bin")).unwrap() {
        let path = program.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let of_program = errors.remove(name).unwrap_or_default();
        let text = String::from_iter(of_program.into_iter().map(|(_, text)| text));
        if name == "right_use" {
            assert_eq!(text, "");
        } else {
            assert_ne!(text, "", "{name} compiles");
            expect_file![folder().join(name).with_extension("txt")].assert_eq(&text);
        }
    }
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/compile_errors"))
}

/// Builds the programs, and doesn't only check them: some errors are found when code is generated.
/// Returns the errors of each, by the line.
fn errors() -> BTreeMap<String, BTreeSet<(usize, String)>> {
    let root = folder().join("../..");
    // The dependencies of the workspace, of the same versions.
    fs::copy(root.join("Cargo.lock"), folder().join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"))
        .args(["build", "--keep-going", "--message-format=json", "--quiet"])
        .arg("--target-dir")
        .arg(root.join("target/compile_errors"))
        .current_dir(folder())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut without_place: BTreeMap<String, Diagnostic> = BTreeMap::new();
    let messages = std::io::BufReader::new(cargo.stdout.take().unwrap());
    for message in Message::parse_stream(messages) {
        let Message::CompilerMessage(message) = message.unwrap() else {
            continue;
        };
        let (program, said) = (message.target.name, message.message);
        let place = said.spans.iter().find_map(in_program);
        let error = if said.level == DiagnosticLevel::Error {
            said.clone()
        } else if let Some(error) = without_place.remove(&program) {
            // "the above error was encountered while instantiating", with the line of the program.
            error
        } else {
            continue;
        };
        if let Some((line, code)) = place {
            let text = format!("{line}: {code}\n{}\n", ours(&error));
            errors.entry(program).or_default().insert((line, text));
        // The last error only says how many there were.
        } else if !error.message.starts_with("aborting due to") {
            without_place.insert(program, error);
        }
    }
    assert!(
        without_place.is_empty(),
        "no line of the program: {without_place:?}"
    );
    cargo.wait().unwrap();
    errors
}

/// What this crate says of an error.
fn ours(error: &Diagnostic) -> String {
    let message = error.message.trim_start_matches("evaluation panicked: ");
    // Other labels are the compiler's.
    let has_label = error.code.as_ref().is_some_and(|code| code.code == "E0277");
    let labels = error
        .spans
        .iter()
        .filter(|span| span.is_primary && has_label);
    let labels = labels.filter_map(|span| span.label.as_deref());
    let helps = error.children.iter().map(|note| &*note.message);
    let helps = helps.filter(|help| help.starts_with("help: "));
    let all = [message].into_iter().chain(labels).chain(helps);
    let lines = all.flat_map(str::lines);
    lines.map(|line| format!("    {line}\n")).collect()
}

/// The line of the program in which something is, or from which a macro has made it.
fn in_program(span: &DiagnosticSpan) -> Option<(usize, &str)> {
    if span.file_name.starts_with("src/bin") {
        return Some((span.line_start, span.text.first()?.text.trim()));
    }
    in_program(&span.expansion.as_ref()?.span)
}
