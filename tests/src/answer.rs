//! Errors that answer a COMMIT, and the messages of PostgreSQL's and MySQL's protocols that carry them.

/// An error with which a server, or a proxy before it, answers a COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// MySQL's number. PostgreSQL has none.
    number: u16,
    sqlstate: &'static str,
    message: &'static str,
    /// Whether the database defines it as a rollback. After any other error, the transaction can have
    /// committed.
    pub is_rollback: bool,
}

const fn unknown(number: u16, sqlstate: &'static str, message: &'static str) -> Answer {
    Answer {
        number,
        sqlstate,
        message,
        is_rollback: false,
    }
}

const fn rolls_back(number: u16, sqlstate: &'static str, message: &'static str) -> Answer {
    Answer {
        is_rollback: true,
        ..unknown(number, sqlstate, message)
    }
}

#[rustfmt::skip] // A line for each.
const OF_POSTGRES: &[Answer] = &[
    rolls_back(0, "40001", "could not serialize access due to concurrent update"),
    rolls_back(0, "40001", "restart transaction: TransactionRetryWithProtoRefreshError"),
    rolls_back(0, "40P01", "deadlock detected"),
    unknown(0, "40003", "result is ambiguous: error=rpc error [exhausted]"),
    unknown(0, "08006", "server closed the connection unexpectedly"),
    unknown(0, "08007", "transaction resolution unknown"),
    unknown(0, "57P01", "terminating connection due to administrator command"),
    unknown(0, "57014", "canceling statement due to user request"),
    unknown(0, "53100", "could not extend file: No space left on device"),
    unknown(0, "58000", "the server of shard 2 did not answer"),
    unknown(0, "XX000", "could not open relation with OID 16384"),
    unknown(0, "P0001", "a trigger of the application"),
];

#[rustfmt::skip]
const OF_MYSQL: &[Answer] = &[
    rolls_back(1213, "40001", "Deadlock found when trying to get lock; try restarting transaction"),
    rolls_back(1213, "40001", "WSREP detected deadlock/conflict and aborted the transaction. Try restarting the transaction"),
    rolls_back(3101, "HY000", "Plugin instructed the server to rollback the current transaction."),
    rolls_back(1180, "HY000", "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"),
    rolls_back(1290, "HY000", "The MariaDB server is running with the --read-only option so it cannot execute this statement"),
    rolls_back(9007, "HY000", "Write conflict, txnStartTS=416617006551793665 [try again later]"),
    rolls_back(8022, "HY000", "Error: KV error safe to retry [try again later]"),
    unknown(1180, "HY000", "Got error 28 - 'No space left on device' during COMMIT"),
    unknown(2013, "HY000", "Lost connection to MySQL server during query"),
    unknown(1053, "08S01", "Server shutdown in progress"),
    unknown(1317, "70100", "Query execution was interrupted"),
    unknown(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction"),
    unknown(8501, "HY000", "execution result undetermined"),
    // Vitess
    unknown(1105, "HY000", "target: two.80-.primary: vttablet: rpc error: code = Unavailable desc = error reading from server: EOF"),
    unknown(1317, "70100", "target: two.80-.primary: vttablet: rpc error: code = Aborted desc = transaction 7: ended (exceeded timeout: 30s)"),
    unknown(1213, "40001", "target: two.80-.primary: vttablet: rpc error: code = Aborted desc = Deadlock found when trying to get lock; try restarting transaction (errno 1213) (sqlstate 40001)"),
];

impl Answer {
    pub fn all(is_mysql: bool) -> &'static [Answer] {
        if is_mysql { OF_MYSQL } else { OF_POSTGRES }
    }

    /// The message of the server. The transaction has ended, and the connection lives.
    pub fn to_message(self, is_mysql: bool) -> Vec<u8> {
        if is_mysql {
            // ERR_Packet, the first after the client's packet.
            let mut body = vec![0xff];
            body.extend(self.number.to_le_bytes());
            body.extend(format!("#{}{}", self.sqlstate, self.message).bytes());
            return packet(1, &body);
        }
        // ErrorResponse, and ReadyForQuery out of a transaction.
        let fields = format!("SERROR\0VERROR\0C{}\0M{}\0\0", self.sqlstate, self.message);
        let mut both = message_of(b'E', fields.as_bytes());
        both.extend(message_of(b'Z', b"I"));
        both
    }
}

/// Whether the message of a client is a COMMIT. Diesel sends it as a text.
pub fn is_commit(message: &[u8]) -> bool {
    // PostgreSQL's text ends with a zero.
    message.ends_with(b"COMMIT") || message.ends_with(b"COMMIT\0")
}

/// The message of a client that rolls back.
pub fn rollback(is_mysql: bool) -> Vec<u8> {
    if is_mysql {
        packet(0, b"\x03ROLLBACK")
    } else {
        message_of(b'Q', b"ROLLBACK\0")
    }
}

/// A packet of MySQL's protocol: the length in three bytes, the number, the body.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    let mut packet = length[..3].to_vec();
    packet.push(number);
    packet.extend(body);
    packet
}

/// A message of PostgreSQL's protocol: the kind, the length with its own four bytes, the body.
fn message_of(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    let mut message = vec![kind];
    message.extend(length);
    message.extend(body);
    message
}
