//! Errors that a program can handle: errors to retry, and overflows.

use std::error::Error as StdError;

use diesel::QueryResult;
use diesel::result::DatabaseErrorKind::{
    CheckViolation, ExclusionViolation, ForeignKeyViolation, NotNullViolation, RestrictViolation,
    SerializationFailure, UniqueViolation, Unknown,
};
use diesel::result::Error;

/// Returns whether the transaction may succeed if you run it again, as [`retry`](crate::retry())
/// does.
///
/// It returns `true` for errors that other transactions cause: deadlocks, serialization failures,
/// lock wait timeouts, write conflicts in a cluster, and a busy SQLite database. The code that
/// began the transaction has to run all of it again. `is_retryable` can't tell whether the error
/// came from a COMMIT: behind Vitess, some of the shards may have committed then.
///
/// Diesel has a kind for only some of these errors. The others are recognized by their text, which
/// servers translate. If your server's `lc_messages` isn't English:
///
/// - on PostgreSQL, have a superuser run `ALTER ROLE app SET lc_messages = 'C'`, with your
///   program's role. Other users can't set it;
/// - on MySQL and MariaDB, run `SET lc_messages = 'en_US'` on each connection.
pub fn is_retryable(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(SerializationFailure, _))
        || says_one_of(error, CONFLICTS)
        || says_one_of(error, RETRYABLE)
}

/// Returns whether the error is an overflow: a count, or a sum of counts, that doesn't fit into an
/// `i64`, or into its own column. It also returns `true` if another column in the statement can't
/// hold its value, because servers report both in the same way. On SQLite, a read also overflows if
/// a part of its sum does.
///
/// An overflow is an [`Error::DatabaseError`] on all databases. The statement that failed changed
/// nothing. The error is recognized by its text, because Diesel doesn't return the database's error
/// code. If your server's `lc_messages` isn't English, set it as described at [`is_retryable`]. A
/// `CounterBuffer` doesn't need this.
pub fn is_overflow(error: &Error) -> bool {
    says_one_of(error, OVERFLOWS)
}

/// Returns whether the error is one row's fault, and would come back if the row were written again.
pub(crate) fn is_row_fault(error: &Error) -> bool {
    match error {
        // A value that can't be bound, such as a day that no database stores.
        Error::SerializationError(_) => true,
        Error::DatabaseError(
            ForeignKeyViolation | CheckViolation | NotNullViolation | UniqueViolation,
            _,
        ) => true,
        _ => is_overflow(error) || says_one_of(error, ROW_FAULTS),
    }
}

/// Returns whether other transactions or the server caused the error, so that it may pass.
pub(crate) fn may_pass(error: &Error) -> bool {
    is_retryable(error) || says_one_of(error, SERVER_FAULTS) || is_interrupt(error)
}

/// Returns whether this is SQLite's `SQLITE_INTERRUPT`. Compares the whole text, because the word
/// can also occur in the message of an application's trigger.
fn is_interrupt(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, info) if info.message() == "interrupted")
}

/// Returns whether a COMMIT that failed with this error was rolled back, because the database
/// defines it so. After any other error, the transaction may have committed: for example, a proxy
/// has lost its server, a node has lost the rest of its cluster, or only some shards have
/// committed. It proves nothing that the connection still works.
pub(crate) fn is_rolled_back(error: &Error) -> bool {
    let Error::DatabaseError(kind, info) = error else {
        return false;
    };
    // Vitess commits on one shard after the other, and returns the error of one of them.
    if info.message().contains("vttablet: ") {
        return false;
    }
    let is_constraint_violation = matches!(
        kind,
        UniqueViolation
            | ForeignKeyViolation
            | CheckViolation
            | NotNullViolation
            | ExclusionViolation
            | RestrictViolation
    );
    is_constraint_violation
        || *kind == SerializationFailure
        || says_one_of(error, CONFLICTS)
        || says_one_of(error, ROLLED_BACK)
}

/// Refuses to do something, with a message that says what to do.
pub(crate) fn refuse<T>(message: impl Into<Box<dyn StdError + Send + Sync>>) -> QueryResult<T> {
    Err(Error::QueryBuilderError(message.into()))
}

/// Fails, because the database reports fewer rows than the statement should have written: a trigger
/// or a rule can skip rows.
pub(crate) fn not_written<T>(table: &str) -> QueryResult<T> {
    refuse(format!(
        "the database wrote fewer rows to `{table}` than it should have, so roll the transaction back. A trigger \
         or a rule on the table may skip rows: `diesel-counters check {table}` lists them"
    ))
}

/// Returns the error for a sum that the library adds up itself and that doesn't fit an `i64`.
pub(crate) fn overflow() -> Error {
    Error::DatabaseError(Unknown, Box::new(OVERFLOW.to_owned()))
}

/// Returns the error for a count that doesn't fit its `INTEGER` column. SQLite would store it, and
/// Diesel would read a different number. `count` describes it, for example "`articles.total_views`
/// of 7 would be 2147483648".
pub(crate) fn integer_overflow(count: &str) -> Error {
    let text = format!("{INTEGER_OVERFLOW}: {count}");
    Error::DatabaseError(Unknown, Box::new(text))
}

/// The text of SQLite's `SQLITE_BUSY`: another connection is writing.
pub(crate) const SQLITE_BUSY: &str = "database is locked";

const OVERFLOW: &str = "a count is out of the range of an i64";

const INTEGER_OVERFLOW: &str = "a count is out of the range of an INTEGER column";

const OVERFLOWS: &[&str] = &[
    OVERFLOW,
    INTEGER_OVERFLOW,
    // PostgreSQL. The column that a trigger counts in can have any size.
    "bigint out of range",
    "integer out of range",
    "smallint out of range",
    "BIGINT value is out of range", // MySQL, MariaDB
    // From a DIV in an INSERT in strict mode.
    "Truncated incorrect DECIMAL value",
    "Got overflow when converting",
    // A count in an unsigned column would go below 0.
    "BIGINT UNSIGNED value is out of range",
    "Out of range value for column",
    "integer overflow", // SQLite
];

const ROW_FAULTS: &[&str] = &[
    // PostgreSQL: 22001, 22021
    "value too long for type",
    "invalid byte sequence for encoding",
    // MySQL and MariaDB: 1366, 1406, 1526; MariaDB: 4025, a violated CHECK
    "Incorrect string value",
    "Data too long for column",
    "no partition for value",
    "CONSTRAINT `",
    // SQLite: SQLITE_CONSTRAINT_DATATYPE
    "cannot store",
];

const SERVER_FAULTS: &[&str] = &[
    // PostgreSQL: 57014, 53100, 53200
    "canceling statement due to",
    "could not extend file",
    "out of shared memory",
    // MySQL and MariaDB: 1317, 1969, 3024, 1114, 1461, 1041
    "execution was interrupted",
    "' is full",
    "max_prepared_stmt_count",
    "Out of memory",
    // SQLite: SQLITE_FULL; SQLITE_NOMEM, which PostgreSQL has too; SQLITE_IOERR
    "disk is full",
    "out of memory",
    "disk I/O error",
];

/// Conflicts with other transactions. After each of these, the transaction is rolled back, even if
/// the COMMIT failed with it.
const CONFLICTS: &[&str] = &[
    // PostgreSQL: 40P01, which a deferred trigger can return at the COMMIT
    "deadlock detected",
    // MySQL and MariaDB: 1213, which a COMMIT on Galera returns, and Galera's own
    "Deadlock found when trying to get lock",
    "WSREP detected deadlock/conflict",
    // MySQL Group Replication: 3101, when another node changed the row first
    // (https://bugs.mysql.com/bug.php?id=96758), and 1180, when it needs a row that is locked
    "Plugin instructed the server to rollback the current transaction",
    "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT",
    // TiDB: 8002, 8022, 8028, 9007
    // (https://docs.pingcap.com/tidb/stable/dev-guide-transaction-troubleshoot)
    "can not retry select for update statement",
    "KV error safe to retry",
    "Information schema is changed during the execution of the statement",
    "Write conflict",
    // SQLite: SQLITE_BUSY. After a failed COMMIT, the transaction is still open, and Diesel rolls
    // it back.
    SQLITE_BUSY,
];

/// Other retryable errors.
const RETRYABLE: &[&str] = &[
    // PostgreSQL: 55P03
    "canceling statement due to lock timeout",
    "could not obtain lock on",
    // MySQL and MariaDB: 1205, 3572, 1020
    "Lock wait timeout exceeded",
    "NOWAIT is set",
    "Record has changed since last read",
    // SQLite: SQLITE_LOCKED
    "database table is locked",
    "database schema is locked",
];

/// Other errors that mean that a COMMIT was rolled back.
const ROLLED_BACK: &[&str] = &[
    // MySQL and MariaDB: 1290, if the server was set to read-only after the last statement
    "option so it cannot execute this statement",
    // SQLite: SQLITE_FULL. The next COMMIT overwrites what was written.
    "database or disk is full",
];

/// Returns whether the database's message contains one of these texts.
fn says_one_of(error: &Error, texts: &[&str]) -> bool {
    match error {
        // On MySQL and MariaDB, the message contains the value, which can contain one of these
        // texts.
        Error::DatabaseError(UniqueViolation, _) => false,
        // Any other kind, because a later version of Diesel may have kinds for these errors too.
        Error::DatabaseError(_, info) => texts.iter().any(|text| info.message().contains(text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error with this message, of no kind that Diesel knows.
    fn error(message: &str) -> Error {
        Error::DatabaseError(Unknown, Box::new(message.to_owned()))
    }

    #[test]
    fn a_row_fault_does_not_pass() {
        let too_long = error("value too long for type character varying(9)");
        assert!(is_row_fault(&too_long) && !may_pass(&too_long));
        let null = Error::DatabaseError(NotNullViolation, Box::new(String::new()));
        assert!(is_row_fault(&null) && !may_pass(&null));
    }

    #[test]
    fn a_server_fault_may_pass() {
        let full = error("The table 'article_counters' is full");
        assert!(may_pass(&full) && !is_row_fault(&full));
        assert!(may_pass(&error("interrupted")));
    }

    #[test]
    fn the_message_of_a_trigger_is_not_a_server_fault() {
        for text in ["the event is full", "the sale was interrupted"] {
            assert!(!may_pass(&error(text)), "{text}");
        }
    }

    // After a COMMIT that may have succeeded, a second try would count twice.
    #[test]
    fn a_commit_is_rolled_back_only_if_the_database_says_so() {
        assert!(is_rolled_back(&error(SQLITE_BUSY)));
        assert!(is_rolled_back(&error("database or disk is full")));
        assert!(!is_rolled_back(&error("disk I/O error")));
        let ambiguous = "result is ambiguous: error=rpc error [exhausted]";
        assert!(!is_rolled_back(&error(ambiguous)));
    }

    #[test]
    fn an_error_of_a_commit_may_pass_unless_its_result_is_ambiguous() {
        assert!(may_pass(&error(SQLITE_BUSY)));
        assert!(may_pass(&error("database or disk is full")));
        assert!(may_pass(&error("disk I/O error")));
        assert!(!may_pass(&error(
            "result is ambiguous: error=rpc error [exhausted]"
        )));
    }
}
