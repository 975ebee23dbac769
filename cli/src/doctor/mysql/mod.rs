//! What MySQL and MariaDB tell.

mod foreign_keys;
mod history;
mod innodb_status;
mod lock_data;
mod table_waits;
mod views;

use std::collections::HashMap;

use anyhow::Result;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double, Nullable, Text};

use super::Observed;
use super::report::{History, NotSeen, Session, WHO_WAITS, Wait};
use super::target::Target;
use foreign_keys::ForeignKey;
use views::{MARIADB, MYSQL, Views};

pub struct Mysql<'a> {
    conn: &'a mut MysqlConnection,
    target: &'a Target,
    views: Views,
    schema: String,
    foreign_keys: Vec<ForeignKey>,
    version: String,
    performance_schema: bool,
    /// None before that was asked.
    tells_table_waits: Option<bool>,
    not_seen: Vec<NotSeen>,
}

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = BigInt)]
    waiter: i64,
    #[diesel(sql_type = BigInt)]
    holder: i64,
    #[diesel(sql_type = Text)]
    lock_name: String,
    /// Both of its names are quoted.
    #[diesel(sql_type = Text)]
    lock_table: String,
    #[diesel(sql_type = Nullable<Text>)]
    lock_data: Option<String>,
    #[diesel(sql_type = Nullable<Double>)]
    seconds: Option<f64>,
}

#[derive(QueryableByName)]
struct Connected {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Nullable<Text>)]
    user: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    application: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    command: Option<String>,
    #[diesel(sql_type = Nullable<Double>)]
    state_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Double>)]
    transaction_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Text>)]
    statement: Option<String>,
}

impl<'a> Mysql<'a> {
    pub fn new(conn: &'a mut MysqlConnection, target: &'a Target) -> Result<Self> {
        #[derive(QueryableByName)]
        struct Server {
            #[diesel(sql_type = Text)]
            version: String,
            #[diesel(sql_type = Nullable<Text>)]
            schema_name: Option<String>,
            #[diesel(sql_type = BigInt)]
            performance_schema: i64,
        }
        let server: Server = sql_query(
            "SELECT CAST(VERSION() AS CHAR) AS version, CAST(DATABASE() AS CHAR) AS schema_name,
                 CAST(@@performance_schema AS SIGNED) AS performance_schema",
        )
        .get_result(conn)?;
        let schema = target.schema().map(str::to_owned).or(server.schema_name);
        let schema = schema.unwrap_or_default();
        let foreign_keys = foreign_keys::load(&schema, target.name(), conn)?;
        Ok(Mysql {
            conn,
            foreign_keys,
            target,
            views: if server.version.contains("MariaDB") {
                MARIADB
            } else {
                MYSQL
            },
            schema,
            version: server.version,
            performance_schema: server.performance_schema == 1,
            tells_table_waits: None,
            not_seen: Vec::new(),
        })
    }
}

impl Observed for Mysql<'_> {
    fn version(&mut self) -> Result<String> {
        let product = if self.views.mariadb {
            "MariaDB"
        } else {
            "MySQL"
        };
        let version = self.version.split('-').next().unwrap_or_default();
        Ok(format!("{product} {version}"))
    }

    fn waits(&mut self) -> Result<Vec<Wait>> {
        if !self.views.mariadb && !self.performance_schema {
            self.miss(NotSeen::of(
                WHO_WAITS,
                "performance_schema is off; start the server with performance_schema = ON",
            ));
            return Ok(Vec::new());
        }
        let waiting: QueryResult<Vec<Waiting>> = sql_query(self.views.waiting).load(self.conn);
        let mut waiting = self.allowed(WHO_WAITS, waiting)?.unwrap_or_default();
        waiting.retain(|wait| self.is_target(wait) || self.elsewhere(wait).is_some());
        let sessions = self.sessions(waiting.iter().flat_map(|w| [w.waiter, w.holder]))?;
        let ids: Vec<i64> = waiting.iter().map(|w| w.waiter).collect();
        let mut waits: Vec<Wait> = Vec::new();
        for wait in waiting {
            let Some(waiter) = sessions.get(&wait.waiter) else {
                continue;
            };
            let elsewhere = self.elsewhere(&wait);
            // The parent's row may be waited for by whoever does not count.
            if elsewhere.is_some() && waiter.statement_counts != Some(true) {
                continue;
            }
            if waits
                .last()
                .is_none_or(|last| last.waiter.id != wait.waiter)
            {
                let entity = self.target.entity.as_ref().map(|entity| entity.kind);
                let row = wait
                    .lock_data
                    .filter(|_| elsewhere.is_none())
                    .and_then(|data| lock_data::row(&data, entity));
                waits.push(Wait {
                    waiter: waiter.clone(),
                    seconds: wait.seconds.unwrap_or_default(),
                    whole_table: false,
                    lock: wait.lock_name,
                    rows: row.into_iter().collect(),
                    elsewhere,
                    holders: Vec::new(),
                });
            }
            // The others are in the queue, as this one is.
            let holder = sessions
                .get(&wait.holder)
                .filter(|_| !ids.contains(&wait.holder));
            if let (Some(last), Some(holder)) = (waits.last_mut(), holder) {
                last.holders.push(holder.clone());
            }
        }
        let unknown = waits
            .iter()
            .flat_map(|wait| &wait.holders)
            .any(|h| h.statement.is_none());
        if self.views.mariadb && unknown {
            self.miss(NotSeen::of(
                "the last statement of a session that runs none",
                "MariaDB does not show it",
            ));
        }
        waits.extend(self.table_waits()?);
        Ok(waits)
    }

    fn history(&mut self) -> Result<History> {
        self.read_history()
    }

    fn not_seen(&mut self) -> Vec<NotSeen> {
        std::mem::take(&mut self.not_seen)
    }
}

impl Mysql<'_> {
    fn sessions(&mut self, ids: impl Iterator<Item = i64>) -> Result<HashMap<i64, Session>> {
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let query = sql_query(self.views.sessions).bind::<Text, _>(ids.join(","));
        let found: QueryResult<Vec<Connected>> = query.load(self.conn);
        let found = self
            .allowed("who the sessions are", found)?
            .unwrap_or_default();
        Ok(found.into_iter().map(|s| (s.id, self.session(s))).collect())
    }

    fn session(&self, found: Connected) -> Session {
        let sleeps = found.command.as_deref() == Some("Sleep");
        let idle_in_transaction = sleeps && found.transaction_seconds.is_some();
        let state = match (idle_in_transaction, sleeps) {
            (true, _) => "idle in transaction",
            (false, true) => "idle",
            (false, false) => "active",
        };
        Session {
            id: found.id,
            user: found.user,
            application: found.application,
            state: state.to_owned(),
            idle_in_transaction,
            idle_seconds: found.state_seconds.filter(|_| idle_in_transaction),
            transaction_seconds: found.transaction_seconds,
            statement_counts: found
                .statement
                .as_deref()
                .and_then(|sql| self.target.is_counted_by(sql)),
            statement: found.statement,
            ..Session::default()
        }
    }

    /// What was found; or None, when that takes a privilege that this user lacks, or a lock.
    fn allowed<T>(&mut self, what: &str, found: QueryResult<T>) -> Result<Option<T>> {
        let why = match found {
            Ok(found) => return Ok(Some(found)),
            Err(Error::DatabaseError(DatabaseErrorKind::Unknown, why))
                if why.message().contains("denied") =>
            {
                why.message().to_owned()
            }
            Err(Error::DatabaseError(_, why)) if why.message().contains("Lock wait timeout") => {
                self.miss(NotSeen::failed(what, why.message()));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let right = if why.contains("PROCESS") {
            "PROCESS ON *.*"
        } else {
            "SELECT ON performance_schema.*"
        };
        let grant = Some(format!("GRANT {right} TO {}", self.account()?));
        self.miss(NotSeen {
            grant,
            ..NotSeen::failed(what, &why)
        });
        Ok(None)
    }

    fn is_blind(&self) -> bool {
        self.not_seen.iter().any(|missed| missed.what == WHO_WAITS)
    }

    fn account(&mut self) -> QueryResult<String> {
        #[derive(QueryableByName)]
        struct Account {
            #[diesel(sql_type = Text)]
            account: String,
        }
        let sql =
            "SELECT CONCAT('`', REPLACE(CAST(CURRENT_USER() AS CHAR), '@', '`@`'), '`') AS account";
        Ok(sql_query(sql).get_result::<Account>(self.conn)?.account)
    }

    fn miss(&mut self, not_seen: NotSeen) {
        if !self.not_seen.contains(&not_seen) {
            self.not_seen.push(not_seen);
        }
    }
}
