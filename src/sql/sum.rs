//! Queries, sums and days.

use std::convert::identity;

use super::{CounterBackend, Dialect, Part, Sql, each, numbered, part, sql};
use crate::day::Period;
use crate::shape::Name;

/// `abs` of the smallest integer fails with "integer overflow".
pub(super) const SQLITE_ELSE_ERROR: &str = " ELSE abs(-9223372036854775807 - 1) END";

/// The names of sums in a query.
pub(crate) const SUMS: [&str; 8] =
    numbered!(identity, "total": "" "_1" "_2" "_3" "_4" "_5" "_6" "_7");

impl Dialect {
    /// `SELECT `, at the beginning of a query.
    ///
    /// On MySQL and MariaDB, the query isn't cached: if MariaDB's client library couldn't read the
    /// rows of a prepared query, because of a deadlock or a timeout, it hangs when it runs the
    /// query again.
    pub(crate) fn select<'a, DB: CounterBackend>(self) -> impl Part<'a, DB> + Copy {
        part!(match self {
            Dialect::MySql => "{super::Uncached}SELECT ",
            _ => "SELECT ",
        })
    }

    /// Turns a query of one row into one that can be cached on MySQL and MariaDB too. `columns` is
    /// the number of its columns, which are called [`SUMS`]. The query begins with a plain `SELECT`,
    /// because [`select`](Dialect::select) would keep it from being cached.
    ///
    /// It can be cached because the server reads the row before it sends the first packet of the
    /// result: on MySQL because it's a const table, and on MariaDB because it's part of a `UNION`.
    /// If the row can't be read, the client library gets nothing but an error. The second `SELECT`
    /// has no rows: it only makes the query a `UNION`.
    pub(crate) fn cacheable_row<'a, DB: CounterBackend>(
        self,
        columns: usize,
        query: impl Part<'a, DB> + Copy,
    ) -> impl Part<'a, DB> + Copy {
        let zeros = each(", ", &SUMS[..columns], |_, _| "0");
        part!(match self {
            Dialect::MySql =>
                "SELECT * FROM ({query}) AS totals UNION SELECT {zeros} FROM DUAL WHERE FALSE",
            _ => "{query}",
        })
    }

    /// A condition: the value in the column `day` is a date. SQLite stores and sorts any text
    /// there.
    pub(crate) fn is_day<'a, DB: CounterBackend>(self, day: Name<'a>) -> Option<Sql<'a, DB>> {
        (self == Dialect::Sqlite).then(|| sql!("{day} IS date({day})"))
    }

    /// A text that differs if the stored values of a column differ.
    pub(crate) fn stored_text<'a, DB: CounterBackend>(self, column: Name<'a>) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => sql!("CAST({column} AS TEXT)"),
            Dialect::MySql => sql!("HEX({column})"),
            Dialect::Sqlite => sql!("quote({column})"),
        }
    }

    /// The day under which a fold into periods stores the count of `day`, as SQL: the first day of
    /// its period. This is [`folded_day`](crate::merge::range::folded_day) in the database.
    pub(crate) fn folded_day<'a, DB: CounterBackend>(
        self,
        period: Period,
        day: Name<'a>,
    ) -> Sql<'a, DB> {
        match period {
            Period::Day => sql!("{day}"),
            Period::Week => {
                let later = match self {
                    Dialect::PostgreSql | Dialect::MySql => "GREATEST",
                    Dialect::Sqlite => "max",
                };
                let monday = self.monday_of(day);
                let first_of_month = self.first_of_month(day);
                sql!("{later}({monday}, {first_of_month})")
            }
            Period::Month => self.first_of_month(day),
            Period::Year => self.first_of_year(day),
            Period::Total => match self {
                Dialect::PostgreSql | Dialect::MySql => sql!("DATE '1970-01-01'"),
                Dialect::Sqlite => sql!("'1970-01-01'"),
            },
        }
    }

    /// The Monday of the week that a day is in.
    fn monday_of<'a, DB: CounterBackend>(self, day: Name<'a>) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => postgres_start_of("week", day),
            Dialect::MySql => sql!("({day} - INTERVAL WEEKDAY({day}) DAY)"),
            Dialect::Sqlite => sql!("date({day}, 'weekday 0', '-6 days')"),
        }
    }

    /// The first day of the month that a day is in.
    fn first_of_month<'a, DB: CounterBackend>(self, day: Name<'a>) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => postgres_start_of("month", day),
            Dialect::MySql => sql!("({day} - INTERVAL DAYOFMONTH({day}) - 1 DAY)"),
            Dialect::Sqlite => sql!("date({day}, 'start of month')"),
        }
    }

    /// The first day of the year that a day is in.
    fn first_of_year<'a, DB: CounterBackend>(self, day: Name<'a>) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => postgres_start_of("year", day),
            Dialect::MySql => sql!("({day} - INTERVAL DAYOFYEAR({day}) - 1 DAY)"),
            Dialect::Sqlite => sql!("date({day}, 'start of year')"),
        }
    }

    /// The sum of a counter over the query's rows, as a BIGINT. It's 0 if there are no rows. The
    /// statement fails if the sum doesn't fit a BIGINT.
    pub(crate) fn sum<'a, DB: CounterBackend>(
        self,
        counter: impl Part<'a, DB> + Copy,
    ) -> impl Part<'a, DB> + Copy {
        let sum = part!("COALESCE(SUM({counter}), 0)");
        part!(match self {
            Dialect::PostgreSql => "CAST({sum} AS BIGINT)",
            // If a value isn't an integer, this library didn't write it, and the query fails.
            Dialect::Sqlite => "CASE typeof({sum}) WHEN 'integer' THEN {sum}{SQLITE_ELSE_ERROR}",
            // If the sum doesn't fit, a CAST would return the nearest BIGINT, with a warning.
            Dialect::MySql => "{sum} DIV 1",
        })
    }

    /// The sum of a counter, to insert. The statement fails if it doesn't fit a BIGINT.
    pub(crate) fn sum_to_insert<'a, DB: CounterBackend>(self, counter: Name<'a>) -> Sql<'a, DB> {
        match self {
            // Without strict mode, MySQL would insert the nearest BIGINT.
            Dialect::MySql => sql!("COALESCE(SUM({counter}), 0) DIV 1"),
            _ => sql!("COALESCE(SUM({counter}), 0)"),
        }
    }

    /// The [`sum`](Dialect::sum) of every counter: `… AS total, … AS total_1`.
    pub(crate) fn sums<'a, DB: CounterBackend>(
        self,
        counters: &[Name<'a>],
    ) -> impl Part<'a, DB> + Copy {
        each(", ", counters, move |i, counter| {
            part!("{self.sum(*counter)} AS {SUMS[i]}")
        })
    }
}

/// On PostgreSQL, the first day of the week, month or year that a day is in.
fn postgres_start_of<'a, DB: CounterBackend>(unit: &'static str, day: Name<'a>) -> Sql<'a, DB> {
    // From a date alone, `date_trunc` would make a timestamp with a time zone.
    sql!("CAST(date_trunc('{unit}', CAST({day} AS TIMESTAMP)) AS DATE)")
}
