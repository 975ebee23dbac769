//! Transactions that fail with an error that `retry` does not know.

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::{counting_transaction, retry};

enum AppError {
    SoldOut,
    Database(Error),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        AppError::Database(error)
    }
}

fn buy(_: &mut SqliteConnection) -> Result<(), AppError> {
    Err(AppError::SoldOut)
}

fn error_of_a_function(conn: &mut SqliteConnection) -> Result<(), AppError> {
    retry().transaction(conn, buy)
}

fn error_of_a_closure(conn: &mut SqliteConnection) -> Result<(), AppError> {
    retry().transaction(conn, |conn| {
        if conn.execute_returning_count(&diesel::sql_query("SELECT 1"))? == 0 {
            return Err(AppError::SoldOut);
        }
        Ok(())
    })
}

fn in_a_transaction_of_its_own(conn: &mut SqliteConnection) -> Result<(), AppError> {
    retry().attempts(3).run(conn, |conn| counting_transaction(conn, |tx| buy(tx.conn())))
}

fn no_result(conn: &mut SqliteConnection) -> QueryResult<()> {
    retry().transaction(conn, |conn| {
        conn.begin_test_transaction()?;
    })
}

fn main() {}
