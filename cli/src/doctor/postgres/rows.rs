//! Which row is waited for.

use std::time::{Duration, Instant};

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::{Postgres, Waiting};
use crate::doctor::report::{NotSeen, Row};
use crate::doctor::target::Target;

/// For how long rows are looked for: by the transaction that holds them, for which there
/// is no index.
pub const LOOK_FOR_ROWS: Duration = Duration::from_secs(2);

#[derive(QueryableByName)]
struct Key {
    #[diesel(sql_type = Nullable<Text>)]
    entity: Option<String>,
    #[diesel(sql_type = Text)]
    day: String,
    #[diesel(sql_type = BigInt)]
    slot: i64,
}

impl Postgres<'_> {
    pub(super) fn rows(&mut self, wait: &Waiting) -> Result<Vec<Row>> {
        match (wait.ctid.as_deref(), wait.xid.as_deref()) {
            (Some(ctid), _) => {
                let partition = wait.partition.unwrap_or_default();
                let place = format!("ctid = CAST($1 AS tid) AND tableoid = {partition}");
                self.look_for(&place, ctid)
            }
            (None, Some(xid)) => {
                if let Some(rows) = self.rows_held.get(xid) {
                    return Ok(rows.clone());
                }
                let rows = self.look_for("CAST($1 AS xid) IN (xmax, xmin)", xid)?;
                // A row that the holder has made is not seen before it commits.
                if !rows.is_empty() {
                    self.rows_held.insert(xid.to_owned(), rows.clone());
                }
                Ok(rows)
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Looks as long as there is time left.
    fn look_for(&mut self, condition: &str, value: &str) -> Result<Vec<Row>> {
        if self.time_left.as_millis() == 0 {
            return Ok(Vec::new());
        }
        let limit = format!("SET statement_timeout = {}", self.time_left.as_millis());
        self.conn.batch_execute(&limit)?;
        let begun = Instant::now();
        let found = self.select_rows(condition, value);
        self.time_left = self.time_left.saturating_sub(begun.elapsed());
        self.conn.batch_execute("RESET statement_timeout")?;
        let why = match found {
            Ok(rows) => return Ok(rows),
            Err(Error::DatabaseError(_, why)) => why.message().to_owned(),
            Err(error) => return Err(error.into()),
        };
        let mut grant = None;
        if why.contains("denied") {
            self.time_left = Duration::ZERO;
            let user = self.user()?;
            grant = Some(format!(
                "GRANT SELECT ON {} TO {user}",
                self.target.sql_name
            ));
        }
        self.miss(NotSeen {
            grant,
            ..NotSeen::failed("which rows are waited for", &why)
        });
        Ok(Vec::new())
    }

    fn select_rows(&mut self, condition: &str, value: &str) -> QueryResult<Vec<Row>> {
        let Target {
            sql_name,
            entity,
            day,
            slot,
            ..
        } = self.target;
        let entity = entity.as_ref().map_or("CAST(NULL AS text)", |e| &e.as_text);
        let found: Vec<Key> = sql_query(format!(
            "SELECT {entity} AS entity, CAST({day} AS text) AS day, \
             CAST({slot} AS bigint) AS slot FROM {sql_name} WHERE {condition} ORDER BY 1, 2, 3 LIMIT 20"
        ))
        .bind::<Text, _>(value)
        .load(self.conn)?;
        let row = |Key { entity, day, slot }| Row { entity, day, slot };
        Ok(found.into_iter().map(row).collect())
    }
}
