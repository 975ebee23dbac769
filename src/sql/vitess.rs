//! Vitess, which cannot run some statements on a keyspace of several shards.

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;

use super::{Binds as _, CounterBackend, Dialect, Uncached, load, sql};
use crate::error::refuse;

/// A directive after the first word of a statement, which Vitess refuses before it plans the
/// statement. MySQL and MariaDB read it as a comment. Without it, Vitess ends the connection when
/// it plans some statements, and MariaDB's client library crashes when it reads the rows of others.
pub(crate) const REFUSED: &str = "/*vt+ PRIORITY=none */ ";

/// Returns whether it is the error of [`REFUSED`].
pub(crate) fn is_refused(error: &Error) -> bool {
    let Error::DatabaseError(_, information) = error else {
        return false;
    };
    information.message().contains("Invalid priority value")
}

/// Fails on a connection to several shards of Vitess, on which `work` would fail or crash the
/// client.
pub(crate) fn refuse_shards<Conn>(work: &str, conn: &mut Conn) -> QueryResult<()>
where
    Conn: LoadConnection<Backend: CounterBackend>,
{
    if !Dialect::MySql.may_be_of::<Conn::Backend>() {
        return Ok(());
    }
    let answer = load(
        conn,
        |db| match db {
            Dialect::MySql => sql!("{db.select()}{REFUSED}0"),
            _ => sql!("SELECT 0"),
        },
        |_| Ok(()),
    );
    match answer {
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
    let target = text("SELECT COALESCE(DATABASE(), '')", conn)?.concat();
    let shards = text("SHOW VITESS_SHARDS", conn)?;
    let shards = shards_of(&target, &shards);
    let [first, _, ..] = shards[..] else {
        return Ok(());
    };
    let number = shards.len();
    let first = first.replacen('/', ":", 1);
    refuse(format!(
        "{work} does not run on {number} shards of Vitess at once: run it on a connection to each shard, such \
         as mysql://…/{first}"
    ))
}

/// Returns those of these shards, such as `blog/-80`, on which statements of the session run. Its
/// target is `blog`, or `blog:-80` or `blog/-80` for one shard, with `@replica` or another type of
/// tablet after it. If it has no keyspace, Vitess looks for one that has the table.
fn shards_of<'a>(target: &str, shards: &'a [String]) -> Vec<&'a str> {
    let (keyspace, _) = target.split_once('@').unwrap_or((target, ""));
    let is_of = |shard: &&str| match shard.split_once('/') {
        Some((of, _)) => keyspace.is_empty() || of == keyspace,
        None => false,
    };
    shards.iter().map(String::as_str).filter(is_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_session_says_on_which_shards_it_runs() {
        let all = ["blog/-80", "blog/80-", "one/0"].map(str::to_owned);
        let both = ["blog/-80", "blog/80-"];
        assert_eq!(shards_of("blog", &all), both);
        assert_eq!(shards_of("blog@primary", &all), both);
        assert_eq!(shards_of("one", &all), ["one/0"]);
        assert_eq!(shards_of("", &all).len(), 3);
        assert_eq!(shards_of("@primary", &all).len(), 3);
        let one = shards_of("blog:-80", &all).len() + shards_of("blog/-80@replica", &all).len();
        assert_eq!(one, 0);
    }
}
