//! Whose row is waited for: the counter table's, or one that its foreign key looks at.

use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::Text;
use diesel_counters::Dialect;

use super::{Mysql, Waiting};
use crate::doctor::report::Elsewhere;
use crate::sql::quoted;

#[derive(QueryableByName)]
pub struct ForeignKey {
    #[diesel(sql_type = Text)]
    parent_schema: String,
    #[diesel(sql_type = Text)]
    parent: String,
    #[diesel(sql_type = Text)]
    name: String,
}

const FOREIGN_KEYS: &str = "
    SELECT DISTINCT CAST(referenced_table_schema AS CHAR) AS parent_schema,
        CAST(referenced_table_name AS CHAR) AS parent, CAST(constraint_name AS CHAR) AS name
    FROM information_schema.key_column_usage
    WHERE table_schema = ? AND table_name = ? AND referenced_table_name IS NOT NULL";

pub fn load(schema: &str, table: &str, conn: &mut MysqlConnection) -> QueryResult<Vec<ForeignKey>> {
    let query = sql_query(FOREIGN_KEYS)
        .bind::<Text, _>(schema)
        .bind::<Text, _>(table);
    query.load(conn)
}

impl Mysql<'_> {
    pub(super) fn is_target(&self, wait: &Waiting) -> bool {
        is_of(wait, &self.schema, self.target.name())
    }

    pub(super) fn elsewhere(&self, wait: &Waiting) -> Option<Elsewhere> {
        let mut keys = self.foreign_keys.iter();
        let key = keys.find(|key| is_of(wait, &key.parent_schema, &key.parent))?;
        Some(Elsewhere {
            table: key.parent.clone(),
            foreign_key: Some(key.name.clone()),
        })
    }
}

/// MariaDB writes the partition behind the name.
fn is_of(wait: &Waiting, schema: &str, table: &str) -> bool {
    let sql = |name| quoted(Dialect::MySql, name);
    let name = wait.lock_table.split(" /*").next();
    name == Some(&format!("{}.{}", sql(schema), sql(table)))
}
