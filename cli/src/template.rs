//! The SQL that the command generates stands in templates, in `cli/templates`. This is the only place where
//! their holes are filled.
//!
//! A template takes values whose names are quoted and whose texts are literals already. A field that a template
//! names and the values lack is an error.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use serde::Serialize;

/// The files of `cli/templates`.
macro_rules! templates {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../templates/", $name)))),*]
    };
}

const TEMPLATES: &[(&str, &str)] = &templates! {
    "mysql/counter_table.sql"
    "postgres/counter_table.sql"
    "sqlite/counter_table.sql"
};

static ENVIRONMENT: LazyLock<Result<Environment<'static>>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // A line that has tags only is no line of the SQL.
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.add_filter("padded", padded);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
});

/// The template of this name, with these values in its holes.
pub fn render(name: &str, values: impl Serialize) -> Result<String> {
    let environment = ENVIRONMENT
        .as_ref()
        .map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let template = environment.get_template(name)?;
    let rendered = template.render(Value::from(Serde(values)));
    rendered.with_context(|| format!("the template {name} cannot be filled in"))
}

/// A text with spaces behind it, up to this number of characters, so that columns of SQL are aligned.
fn padded(text: String, width: usize) -> String {
    format!("{text:width$}")
}
