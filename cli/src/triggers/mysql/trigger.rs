//! A trigger of MySQL and MariaDB.

use crate::database::MYSQL;
use crate::triggers::statement::in_lines;
use crate::triggers::trigger::Trigger;

/// The body of a trigger. Without BEGIN and END, MySQL keeps the semicolon of a migration behind a single
/// statement, and mysqldump writes a trigger that cannot be restored.
pub fn block(statements: &[String]) -> String {
    let lines = statements.iter().map(|one| in_lines(one, 4) + ";\n");
    format!("BEGIN\n{}END", lines.collect::<String>())
}

pub fn trigger(
    name: String,
    (table, sql): ([String; 2], &str),
    event: &str,
    body: String,
) -> Trigger {
    let quoted = MYSQL.quoted(&name);
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {event} ON {sql} FOR EACH ROW\n{body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table,
        event: event.to_owned(),
        function: None,
        body,
        name,
    }
}
