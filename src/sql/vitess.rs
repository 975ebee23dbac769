//! Vitess, which cannot run some statements on a keyspace of several shards.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;

use super::{Binds as _, CounterBackend, Dialect, Uncached, load, sql};
use crate::error::refuse;

/// A directive after the first word of a statement, which Vitess refuses before it plans the statement. MySQL
/// and MariaDB read it as a comment. Without it, Vitess ends the connection when it plans some statements, and
/// MariaDB's client library crashes when it reads the rows of others.
pub(crate) const REFUSED: &str = "/*vt+ PRIORITY=none */ ";

/// Returns whether it is the error of [`REFUSED`].
pub(crate) fn is_refused(error: &Error) -> bool {
    let Error::DatabaseError(_, information) = error else {
        return false;
    };
    information.message().contains("Invalid priority value")
}

/// Fails on a connection to several shards of Vitess, on which `work` would fail or crash the client.
pub(crate) fn refuse_shards<Conn>(work: &str, conn: &mut Conn) -> QueryResult<()>
where
    Conn: LoadConnection<Backend: CounterBackend>,
{
    if !Dialect::MySql.may_be_of::<Conn::Backend>() {
        return Ok(());
    }
    let is_vitess = load(
        conn,
        |db| match db {
            Dialect::MySql => sql!("{db.select()}{REFUSED}0"),
            _ => sql!("SELECT 0"),
        },
        |_| Ok(()),
    );
    match is_vitess {
        Err(error) if is_refused(&error) => {}
        other => return other.map(drop),
    }
    let text = |query: &'static str, conn: &mut Conn| {
        load(
            conn,
            |_| sql!("{Uncached}{query}"),
            |row| Conn::Backend::text(row, 0),
        )
    };
    // `blog`, or `blog:-80` on a connection to one shard.
    let keyspace = text("SELECT DATABASE()", conn)?.concat();
    let shards = match keyspace.contains(':') {
        true => Vec::new(),
        false => text("SHOW VITESS_SHARDS", conn)?,
    };
    let of_keyspace = shards.iter().filter_map(|shard| shard.split_once('/'));
    let number = of_keyspace.filter(|(of, _)| *of == keyspace).count();
    if number < 2 {
        return Ok(());
    }
    refuse(format!(
        "{work} does not run on all {number} shards of the Vitess keyspace `{keyspace}` at once: run it on a \
         connection to each shard, such as mysql://…/{keyspace}:-80"
    ))
}
