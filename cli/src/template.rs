//! Fills in the templates in `cli/templates`, which hold the SQL of migrations and recounts.
//! Statements of one line, such as those of a remedy, are written in the code.
//!
//! The values are SQL already: names are quoted, and texts are literals. It's an error if a
//! template uses a field that the values don't have.

use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Template, UndefinedBehavior, Value};
use serde::Serialize;

/// Includes the files in `cli/templates`.
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
    // The values are SQL already, and the engine would escape them as HTML.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // A line that has only tags leaves no line in the SQL.
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
    // This parses all templates at once, so that a mistake in any of them fails every test.
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
});

/// Fills in the template of this name.
pub fn render(name: &str, values: impl Serialize) -> Result<String> {
    fill_in(name, None, values)
}

/// Fills in one block of a template.
pub fn render_block(name: &str, block: &str, values: impl Serialize) -> Result<String> {
    fill_in(name, Some(block), values)
}

/// Fills in a template, or only one of its blocks.
fn fill_in(name: &str, block: Option<&str>, values: impl Serialize) -> Result<String> {
    let template = template(name)?;
    let filled = Value::from(Serde(&values));
    let rendered = match block {
        None => template.render(filled),
        // Render the block in its template's state, which has the macros that the template imports.
        Some(block) => template
            .render_captured(filled)
            .and_then(|mut captured| captured.with_state_mut(|state| state.render_block(block))),
    };
    let sql = rendered.with_context(|| format!("cannot fill in the template {name}"))?;
    #[cfg(debug_assertions)]
    cases::record(name, block, &values, &sql)?;
    Ok(sql)
}

/// Returns the template with this name. Fails if a mistake in one of the templates kept them from
/// being read.
fn template(name: &str) -> Result<Template<'static, 'static>> {
    match &*ENVIRONMENT {
        Ok(environment) => Ok(environment.get_template(name)?),
        Err(error) => bail!("{error:#}"),
    }
}

/// Writes a list with commas, in as many lines as it needs. Every line but the first starts with
/// `next`.
pub fn wrapped(items: &[String], next: &str) -> String {
    // SQL has lines of up to 120 characters. The rest is for the indentation and what stands before
    // the list.
    const WIDTH: usize = 100;
    let mut list = String::new();
    let mut line_length = 0;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
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

/// Pads a text with spaces up to this width, so that columns of SQL are aligned.
fn padded(text: String, width: usize) -> String {
    format!("{text:width$}")
}

/// Records what templates were given and what they made of it. The tests keep some of these cases
/// and compare.
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

    /// Adds a case to the file that the environment variable names, if it's set.
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
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::cases::Case;
    use super::*;

    /// A file per database, with one case per line.
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");

    /// Reads all cases.
    fn cases() -> Vec<Case> {
        let mut cases = Vec::new();
        for file in std::fs::read_dir(CASES).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            for line in text.lines() {
                cases.push(serde_json::from_str(line).unwrap());
            }
        }
        cases
    }

    /// Fills in a case's template with these values.
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
        let cases = cases();
        let with_case: BTreeSet<&str> = cases.iter().map(|case| &*case.template).collect();
        for (name, text) in TEMPLATES {
            // A file of macros is filled in through the templates that import it.
            let is_imported = text.contains("{% macro ");
            assert!(is_imported || with_case.contains(name), "{name}");
        }
    }

    /// Adds the paths of all fields in these values to `found`, for example `/columns/0/name`.
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
                for (index, value) in list.iter().enumerate() {
                    fields(value, &format!("{path}/{index}"), found);
                }
            }
            _ => {}
        }
    }

    /// In some places the engine reads a missing field as nothing: defaults of arguments, `is
    /// none`, and filters.
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
