//! Errors that a program can handle: errors to retry, and overflows.

use std::error::Error as StdError;

use diesel::QueryResult;
use diesel::result::DatabaseErrorKind::{
    CheckViolation, ExclusionViolation, ForeignKeyViolation, NotNullViolation, RestrictViolation,
    SerializationFailure, UniqueViolation, Unknown,
};
use diesel::result::Error;

/// Returns whether the transaction may succeed if it is run again, as [`retry`](crate::retry())
/// does.
///
/// These are the errors that other transactions cause: deadlocks, serialization failures, lock wait
/// timeouts, write conflicts of a cluster, and a busy SQLite database. The code that began the
/// transaction has to run the whole transaction again. It does not tell the error of a COMMIT from
/// others: behind Vitess, a part of the shards can have committed then.
///
/// Diesel has a kind only for some of these errors. The others are recognized by their text, which
/// servers translate. If the `lc_messages` of the server is not English:
///
/// - on PostgreSQL, a superuser runs `ALTER ROLE app SET lc_messages = 'C'`, with the role of your
///   program. Other users cannot set it;
/// - on MySQL and MariaDB, run `SET lc_messages = 'en_US'` on each connection.
pub fn is_retryable(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(SerializationFailure, _))
        || says_one_of(error, CONFLICTS)
        || says_one_of(error, RETRYABLE)
}

/// Returns whether the error is an overflow: a count, or a sum of counts, that is out of the range
/// of an `i64`, or of its own column. So is a value that another column of the statement can't hold:
/// servers report both alike. On SQLite, a read also overflows if a part of its sum does.
///
/// An overflow is an [`Error::DatabaseError`] on all databases. The statement that failed changed
/// nothing. It is recognized by its text, because Diesel does not return its code. If the
/// `lc_messages` of a server is not English, set it as for [`is_retryable`]. A `CounterBuffer` does
/// not require it.
pub fn is_overflow(error: &Error) -> bool {
    says_one_of(error, OVERFLOWS)
}

/// Returns whether one row of the statement is at fault, and will be again.
pub(crate) fn is_fault_of_row(error: &Error) -> bool {
    match error {
        // A value that cannot be bound, such as a day that no database stores.
        Error::SerializationError(_) => true,
        Error::DatabaseError(
            ForeignKeyViolation | CheckViolation | NotNullViolation | UniqueViolation,
            _,
        ) => true,
        _ => is_overflow(error) || says_one_of(error, FAULTS_OF_ROW),
    }
}

/// Returns whether the error is one of other transactions or of the server, and may pass.
pub(crate) fn is_passing(error: &Error) -> bool {
    is_retryable(error) || says_one_of(error, FAULTS_OF_SERVER) || is_interrupt(error)
}

/// Returns whether it is SQLite's `SQLITE_INTERRUPT`, whose text is one word, which a trigger of
/// the application can use too.
fn is_interrupt(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, info) if info.message() == "interrupted")
}

/// Returns whether this is an error of a COMMIT that the database defines as a rollback. After any
/// other error, the transaction can have committed: a proxy has lost its server, a node of a
/// cluster has lost the others, or a part of the shards has committed. That the connection still
/// works says nothing.
pub(crate) fn is_rolled_back(error: &Error) -> bool {
    let Error::DatabaseError(kind, info) = error else {
        return false;
    };
    // Vitess commits on one shard after the other, and returns the error of one of them.
    if info.message().contains("vttablet: ") {
        return false;
    }
    let is_of_a_constraint = matches!(
        kind,
        UniqueViolation
            | ForeignKeyViolation
            | CheckViolation
            | NotNullViolation
            | ExclusionViolation
            | RestrictViolation
    );
    is_of_a_constraint
        || *kind == SerializationFailure
        || says_one_of(error, CONFLICTS)
        || says_one_of(error, ROLLED_BACK)
}

/// Refuses to do something, with a message that says what to do.
pub(crate) fn refuse<T>(message: impl Into<Box<dyn StdError + Send + Sync>>) -> QueryResult<T> {
    Err(Error::QueryBuilderError(message.into()))
}

/// The error of a statement for which the database reports fewer rows than it was to write: a trigger
/// or a rule can skip rows.
pub(crate) fn not_written<T>(table: &str) -> QueryResult<T> {
    refuse(format!(
        "the database did not write all rows of a statement to `{table}`, so this has failed and must be rolled \
         back: a trigger or a rule of the table may skip rows. `diesel-counters check {table}` lists them"
    ))
}

/// The error of a sum that the library adds up, not the database.
pub(crate) fn overflow() -> Error {
    Error::DatabaseError(Unknown, Box::new(OVERFLOW.to_owned()))
}

/// The error of a count that does not fit into its column. SQLite would store it, and Diesel would
/// read another number.
pub(crate) fn integer_overflow(count: &str) -> Error {
    let text = format!("{INTEGER_OVERFLOW}: {count}");
    Error::DatabaseError(Unknown, Box::new(text))
}

/// The text of SQLite's `SQLITE_BUSY`: another connection writes.
pub(crate) const SQLITE_BUSY: &str = "database is locked";

const OVERFLOW: &str = "a count is out of the range of an i64";

const INTEGER_OVERFLOW: &str = "a count is out of the range of an INTEGER column";

const OVERFLOWS: &[&str] = &[
    OVERFLOW,
    INTEGER_OVERFLOW,
    // PostgreSQL. A trigger counts in a column of any size.
    "bigint out of range",
    "integer out of range",
    "smallint out of range",
    "BIGINT value is out of range", // MySQL, MariaDB
    // From a DIV in an INSERT in strict mode.
    "Truncated incorrect DECIMAL value",
    "Got overflow when converting",
    // A count in an unsigned column that would be below 0.
    "BIGINT UNSIGNED value is out of range",
    "Out of range value for column",
    "integer overflow", // SQLite
];

const FAULTS_OF_ROW: &[&str] = &[
    // PostgreSQL: 22001, 22021
    "value too long for type",
    "invalid byte sequence for encoding",
    // MySQL and MariaDB: 1366, 1406, 1526; MariaDB: 4025, the violation of a CHECK
    "Incorrect string value",
    "Data too long for column",
    "no partition for value",
    "CONSTRAINT `",
    // SQLite: SQLITE_CONSTRAINT_DATATYPE
    "cannot store",
];

const FAULTS_OF_SERVER: &[&str] = &[
    // PostgreSQL: 57014, 53100, 53200
    "canceling statement due to",
    "could not extend file",
    "out of shared memory",
    // MySQL and MariaDB: 1317, 1969, 3024, 1114, 1461, 1041
    "execution was interrupted",
    "' is full",
    "max_prepared_stmt_count",
    "Out of memory",
    // SQLite: SQLITE_FULL; and SQLITE_NOMEM, also of PostgreSQL; SQLITE_IOERR
    "disk is full",
    "out of memory",
    "disk I/O error",
];

/// Conflicts with other transactions. Each of them rolls back, also if a COMMIT fails with it.
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
    // SQLite: SQLITE_BUSY. After a COMMIT the transaction is still open, and Diesel rolls it back.
    SQLITE_BUSY,
];

/// Other errors that are retryable.
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

/// Other errors after which a COMMIT has rolled back.
const ROLLED_BACK: &[&str] = &[
    // MySQL and MariaDB: 1290, if the server was set to read-only after the last statement
    "option so it cannot execute this statement",
    // SQLite: SQLITE_FULL. The next COMMIT overwrites what was written.
    "database or disk is full",
];

/// Returns whether the database's message contains one of these texts.
fn says_one_of(error: &Error, texts: &[&str]) -> bool {
    match error {
        // On MySQL and MariaDB the message contains the value, which can contain one of these
        // texts.
        Error::DatabaseError(UniqueViolation, _) => false,
        // Of any other kind: a later version of Diesel may have a kind for these errors too.
        Error::DatabaseError(_, info) => texts.iter().any(|text| info.message().contains(text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_at_fault_an_error_that_passes_and_a_commit_that_was_rolled_back_differ() {
        let error = |message: &str| Error::DatabaseError(Unknown, Box::new(message.to_owned()));
        let row = error("value too long for type character varying(9)");
        assert!(is_fault_of_row(&row) && !is_passing(&row));
        let null = Error::DatabaseError(NotNullViolation, Box::new(String::new()));
        assert!(is_fault_of_row(&null) && !is_passing(&null));
        let full = error("The table 'article_counters' is full");
        assert!(is_passing(&full) && !is_fault_of_row(&full));
        // Of triggers.
        for text in ["the event is full", "the sale was interrupted"] {
            assert!(!is_passing(&error(text)), "{text}");
        }
        assert!(is_passing(&error("interrupted")));
        // A second try would count twice if these had committed.
        let busy = error(SQLITE_BUSY);
        assert!(is_rolled_back(&busy) && is_passing(&busy));
        let io = error("disk I/O error");
        assert!(!is_rolled_back(&io) && is_passing(&io));
        let full = error("database or disk is full");
        assert!(is_rolled_back(&full) && is_passing(&full));
        let ambiguous = error("result is ambiguous: error=rpc error [exhausted]");
        assert!(!is_rolled_back(&ambiguous) && !is_passing(&ambiguous));
    }
}
