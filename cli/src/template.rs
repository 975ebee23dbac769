//! The SQL that the command generates stands in templates, in `cli/templates`. This is the only place where
//! their holes are filled.
//!
//! A template takes values whose names are quoted and whose texts are literals already. A field that a template
//! names and the values lack is an error.

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
    "heading.sql"
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
    "number.sql"
    "postgres/add.sql"
    "postgres/body.sql"
    "postgres/counter_table.sql"
    "postgres/function.sql"
    "postgres/one_function.sql"
    "postgres/rule.sql"
    "postgres/slot.sql"
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
    "view.sql"
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
    let rendered = template(name)?.render(Value::from(Serde(values)));
    rendered.with_context(|| format!("cannot fill in the template {name}"))
}

/// A block of a template.
pub fn render_block(name: &str, block: &str, values: impl Serialize) -> Result<String> {
    let mut captured = template(name)?
        .render_captured(Value::from(Serde(values)))
        .with_context(|| format!("cannot fill in the template {name}"))?;
    let rendered = captured.with_state_mut(|state| state.render_block(block));
    rendered.with_context(|| format!("cannot fill in the block {block} of the template {name}"))
}

fn template(name: &str) -> Result<Template<'static, 'static>> {
    match &*ENVIRONMENT {
        Ok(environment) => Ok(environment.get_template(name)?),
        Err(error) => bail!("{error:#}"),
    }
}

/// A text with spaces behind it, up to this number of characters, so that columns of SQL are aligned.
fn padded(text: String, width: usize) -> String {
    format!("{text:width$}")
}
