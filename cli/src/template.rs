//! The SQL of migrations and of recounts stands in templates, in `cli/templates`. This is the only
//! place where their holes are filled. Statements of one line, such as those of a remedy, stand in
//! the code.
//!
//! A template takes values whose names are quoted and whose texts are literals already. A field
//! that a template names and the values lack is an error.

use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Template, UndefinedBehavior, Value};
use serde::Serialize;

/// The files of `cli/templates`.
macro_rules! templates {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../templates/", $name)))),*]
    };
}

const TEMPLATES: &[(&str, &str)] = &templates! {
    "correct.sql"
    "existing.sql"
    "kept_counts.sql"
    "mysql/add.sql"
    "mysql/after.sql"
    "mysql/after_update.sql"
    "mysql/before.sql"
    "mysql/cascade.sql"
    "mysql/counter_table.sql"
    "mysql/lock.sql"
    "mysql/referring.sql"
    "mysql/trigger.sql"
    "mysql/up.sql"
    "mysql/write.sql"
    "postgres/add.sql"
    "postgres/body.sql"
    "postgres/counter_table.sql"
    "postgres/function.sql"
    "postgres/rule.sql"
    "postgres/trigger.sql"
    "postgres/up.sql"
    "postgres/write.sql"
    "recount.sql"
    "rows.sql"
    "sqlite/after.sql"
    "sqlite/counter_table.sql"
    "sqlite/replace.sql"
    "sqlite/row.sql"
    "sqlite/trigger.sql"
    "sqlite/up.sql"
    "sqlite/write.sql"
    "temporary.sql"
};

static ENVIRONMENT: LazyLock<Result<Environment<'static>>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The values are SQL already. What the engine escapes is HTML.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // A line that has tags only is no line of the SQL.
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.add_filter("padded", padded);
    environment.add_filter("wrapped", |items: Vec<String>, next: Option<String>| {
        wrapped(&items, next.as_deref().unwrap_or("\n    "))
    });
    // Each is parsed here, with the first one that is used: a mistake in any fails each test.
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
});

/// The template of this name, with these values in its holes.
pub fn render(name: &str, values: impl Serialize) -> Result<String> {
    fill_in(name, None, values)
}

/// A block of a template.
pub fn render_block(name: &str, block: &str, values: impl Serialize) -> Result<String> {
    fill_in(name, Some(block), values)
}

fn fill_in(name: &str, block: Option<&str>, values: impl Serialize) -> Result<String> {
    let template = template(name)?;
    let filled = Value::from(Serde(&values));
    let rendered = match block {
        None => template.render(filled),
        // A block is rendered in the state of its template, with the macros that it imports.
        Some(block) => template
            .render_captured(filled)
            .and_then(|mut captured| captured.with_state_mut(|state| state.render_block(block))),
    };
    let sql = rendered.with_context(|| format!("cannot fill in the template {name}"))?;
    #[cfg(debug_assertions)]
    cases::record(name, block, &values, &sql)?;
    Ok(sql)
}

fn template(name: &str) -> Result<Template<'static, 'static>> {
    match &*ENVIRONMENT {
        Ok(environment) => Ok(environment.get_template(name)?),
        Err(error) => bail!("{error:#}"),
    }
}

/// A list with commas, in as many lines as it takes. `next` is what each further line begins with.
pub fn wrapped(items: &[String], next: &str) -> String {
    // What stands before a list, and the indentation, take the rest of 120 characters.
    const WIDTH: usize = 100;
    let mut list = String::new();
    let mut line_length = 0;
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            list.push(',');
            if line_length + item.len() > WIDTH {
                list += next;
                line_length = 0;
            } else {
                list.push(' ');
            }
        }
        list += item;
        line_length += item.len() + 2;
    }
    list
}

/// A text with spaces behind it, up to this number of characters, so that columns of SQL are
/// aligned.
fn padded(text: String, width: usize) -> String {
    format!("{text:width$}")
}

/// What templates were given, and what they made of it: the tests keep some of these, and compare.
#[cfg(debug_assertions)]
mod cases {
    use std::fs::OpenOptions;
    use std::io::Write;

    use anyhow::Result;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    pub struct Case {
        pub template: String,
        pub block: Option<String>,
        pub values: serde_json::Value,
        pub sql: String,
    }

    /// Adds a case to the file that this variable names, if it is set.
    pub fn record(
        name: &str,
        block: Option<&str>,
        values: impl Serialize,
        sql: &str,
    ) -> Result<()> {
        let Some(path) = std::env::var_os("DIESEL_COUNTERS_CASES") else {
            return Ok(());
        };
        let case = Case {
            template: name.to_owned(),
            block: block.map(str::to_owned),
            values: serde_json::to_value(values)?,
            sql: sql.to_owned(),
        };
        let line = serde_json::to_string(&case)? + "\n";
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(line.as_bytes())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::cases::Case;
    use super::*;

    /// One case a line, in a file for each database.
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");

    fn cases() -> Vec<Case> {
        let mut cases = Vec::new();
        for file in std::fs::read_dir(CASES).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            cases.extend(
                text.lines()
                    .map(|line| serde_json::from_str::<Case>(line).unwrap()),
            );
        }
        cases
    }

    fn filled(case: &Case, values: &Value) -> Result<String> {
        fill_in(&case.template, case.block.as_deref(), values)
    }

    #[test]
    fn templates_make_what_they_made() {
        for case in cases() {
            let sql = filled(&case, &case.values).unwrap();
            assert_eq!(sql, case.sql, "{}", case.template);
        }
    }

    #[test]
    fn each_template_has_a_case() {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let cases = cases();
        for case in &cases {
            *numbers.entry(&case.template).or_default() += 1;
        }
        for (name, text) in TEMPLATES {
            // A file of macros is filled in with the templates that import it.
            let is_imported = text.contains("{% macro ");
            assert!(is_imported || numbers.contains_key(name), "{name}");
        }
    }

    /// The places of all fields in these values.
    fn fields(values: &Value, path: &str, found: &mut Vec<String>) {
        match values {
            Value::Object(map) => {
                for (name, value) in map {
                    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    fields(value, &path, found);
                    found.push(path);
                }
            }
            Value::Array(list) => {
                for (place, value) in list.iter().enumerate() {
                    fields(value, &format!("{path}/{place}"), found);
                }
            }
            _ => {}
        }
    }

    /// The engine has places in which a missing field is nothing: a default of an argument, `is
    /// none`, filters.
    #[test]
    fn a_missing_field_is_an_error_wherever_it_matters() {
        for case in cases() {
            let mut paths = Vec::new();
            fields(&case.values, "", &mut paths);
            for path in paths {
                let mut values = case.values.clone();
                let (parent_path, escaped) = path.rsplit_once('/').unwrap();
                let parent = values.pointer_mut(parent_path).unwrap();
                let name = escaped.replace("~1", "/").replace("~0", "~");
                parent.as_object_mut().unwrap().remove(&name);
                if let Ok(sql) = filled(&case, &values) {
                    assert_eq!(sql, case.sql, "{} without {path}", case.template);
                }
            }
        }
    }

    #[test]
    fn a_value_is_not_a_template() {
        let name = "x{{ 7*7 }}{% raw %}\"y'<&>";
        let values = serde_json::json!({ "name": name, "table": "t" });
        let sql = render("postgres/rule.sql", values).unwrap();
        assert!(sql.contains(name), "{sql}");
    }
}
