//! The SQL that differs by database.

mod lock;
mod rows;
mod slot;
mod upsert;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::AstPass;

pub use self::lock::MysqlName;
pub(crate) use self::rows::push_is_wanted;
use super::{CounterBackend, Dialect};
use crate::day::Period;

// Names in the library's SQL. They are long so that no column of an application has them.
pub(crate) const WANTED: &str = "diesel_counters_wanted";
pub(crate) const NUMBER: &str = "diesel_counters_number";
pub(crate) const SUM: &str = "diesel_counters_sum";

/// The names of a key's columns, and of two days, in a list of keys.
pub(crate) const WANTED_KEY: [&str; 7] = [
    "diesel_counters_key",
    "diesel_counters_key_1",
    "diesel_counters_key_2",
    "diesel_counters_key_3",
    "diesel_counters_key_4",
    "diesel_counters_key_5",
    "diesel_counters_key_6",
];

/// Returns a name for the column with the number `i`, from 0.
pub(crate) fn numbered(name: &str, i: usize) -> String {
    match i {
        0 => name.to_owned(),
        _ => format!("{name}_{i}"),
    }
}

/// `abs` of the least integer fails with "integer overflow".
const SQLITE_ELSE_ERROR: &str = " ELSE abs(-9223372036854775807 - 1) END";

impl Dialect {
    /// Writes `SELECT `, at the beginning of a query.
    ///
    /// On MySQL and MariaDB the query is not cached: MariaDB's client library hangs when it runs a
    /// prepared query again whose rows it could not read, because of a deadlock or a timeout.
    pub(crate) fn push_select<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.unsafe_to_cache_prepared();
        }
        out.push_sql("SELECT ");
    }

    /// Writes a query of one row, whose columns [`numbered`] `SUM` are those that `push_query` writes.
    /// It is cached, also on MySQL and MariaDB: as const table on MySQL, and as part of a `UNION` on
    /// MariaDB, the row is read before the first packet of the result is sent. If it cannot be read,
    /// the client library gets an error alone.
    pub(crate) fn push_one_row<'b, DB: Backend>(
        self,
        columns: usize,
        push_query: impl FnOnce(&mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        if self != Dialect::MySql {
            return push_query(out);
        }
        out.push_sql("SELECT * FROM (");
        push_query(out)?;
        out.push_sql(") AS diesel_counters_read UNION SELECT 0");
        for _ in 1..columns {
            out.push_sql(", 0");
        }
        out.push_sql(" FROM DUAL WHERE FALSE");
        Ok(())
    }

    /// Writes another condition: the value in the column `day` is a day. SQLite stores any text
    /// there, and sorts it as text.
    pub(crate) fn push_and_is_day<DB: Backend>(
        self,
        day: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        if self == Dialect::Sqlite {
            out.push_sql(" AND ");
            out.push_identifier(day)?;
            out.push_sql(" IS date(");
            out.push_identifier(day)?;
            out.push_sql(")");
        }
        Ok(())
    }

    /// Writes the bytes that are stored in a column, as a text.
    pub(crate) fn push_stored_text<DB: Backend>(
        self,
        column: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        out.push_sql(match self {
            Dialect::PostgreSql => "CAST(",
            Dialect::MySql => "HEX(",
            Dialect::Sqlite => "quote(",
        });
        out.push_identifier(column)?;
        out.push_sql(match self {
            Dialect::PostgreSql => " AS TEXT)",
            Dialect::MySql | Dialect::Sqlite => ")",
        });
        Ok(())
    }

    /// Writes the first day of the period that the day in the column `day` is in, as
    /// [`Period::start`] returns it.
    pub(crate) fn push_start<DB: Backend>(
        self,
        period: Period,
        day: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        for (i, sql) in self.start(period).split("{}").enumerate() {
            if i > 0 {
                out.push_identifier(day)?;
            }
            out.push_sql(sql);
        }
        Ok(())
    }

    fn start(self, period: Period) -> &'static str {
        match (period, self) {
            (Period::Day, _) => "{}",
            // Of a date alone, `date_trunc` would make a timestamp with a time zone.
            (Period::Week, Dialect::PostgreSql) => {
                "CAST(date_trunc('week', CAST({} AS TIMESTAMP)) AS DATE)"
            }
            (Period::Month, Dialect::PostgreSql) => {
                "CAST(date_trunc('month', CAST({} AS TIMESTAMP)) AS DATE)"
            }
            (Period::Year, Dialect::PostgreSql) => {
                "CAST(date_trunc('year', CAST({} AS TIMESTAMP)) AS DATE)"
            }
            (Period::Week, Dialect::MySql) => "({} - INTERVAL WEEKDAY({}) DAY)",
            (Period::Month, Dialect::MySql) => "({} - INTERVAL DAYOFMONTH({}) - 1 DAY)",
            (Period::Year, Dialect::MySql) => "({} - INTERVAL DAYOFYEAR({}) - 1 DAY)",
            (Period::Week, Dialect::Sqlite) => "date({}, 'weekday 0', '-6 days')",
            (Period::Month, Dialect::Sqlite) => "date({}, 'start of month')",
            (Period::Year, Dialect::Sqlite) => "date({}, 'start of year')",
            (Period::Total, Dialect::Sqlite) => "'1970-01-01'",
            (Period::Total, _) => "DATE '1970-01-01'",
        }
    }

    /// Writes the sum of a counter over the rows of the query. It is a BIGINT, and 0 if there are no
    /// rows. The statement fails if the sum is out of the range of a BIGINT.
    pub(crate) fn push_sum<DB: Backend>(
        self,
        counter: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql => {
                out.push_sql("CAST(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" AS BIGINT)");
            }
            // A value that is not an integer was not written by this library: the query fails.
            Dialect::Sqlite => {
                out.push_sql("CASE typeof(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(") WHEN 'integer' THEN ");
                push_sum_or_zero(counter, out)?;
                out.push_sql(SQLITE_ELSE_ERROR);
            }
            // A CAST would return the nearest BIGINT, with a warning.
            Dialect::MySql => {
                push_sum_or_zero(counter, out)?;
                out.push_sql(" DIV 1");
            }
        }
        Ok(())
    }

    /// Writes the sum of a counter as [`push_sum`](Dialect::push_sum) does, in an `INSERT`. There, what
    /// MySQL's and MariaDB's `DIV` fails with depends on `sql_mode`.
    pub(crate) fn push_sum_to_insert<DB: Backend>(
        self,
        counter: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        if self != Dialect::MySql {
            return self.push_sum(counter, out);
        }
        out.push_sql("CASE WHEN ");
        push_sum_or_zero(counter, out)?;
        out.push_sql(" BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(");
        push_sum_or_zero(counter, out)?;
        out.push_sql(" AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END");
        Ok(())
    }

    /// Writes the sum of a counter as [`push_sum`](Dialect::push_sum) does. If it is out of the range
    /// of a BIGINT, the result is the nearest BIGINT.
    pub(crate) fn push_nearest_sum<DB: Backend>(
        self,
        counter: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql => {
                out.push_sql("CAST(LEAST(GREATEST(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(", -9223372036854775808), 9223372036854775807) AS BIGINT)");
            }
            Dialect::MySql => {
                out.push_sql("CAST(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" AS SIGNED)");
            }
            // `SUM` fails if it overflows. The sums of both halves do not: their values have 32 bits.
            Dialect::Sqlite => {
                let push_high = |out: &mut AstPass<'_, '_, DB>| {
                    push_sum_of(["", " >> 32"], counter, out)?;
                    out.push_sql(" + (");
                    push_sum_of(["", " & 4294967295"], counter, out)?;
                    out.push_sql(" >> 32)");
                    QueryResult::Ok(())
                };
                out.push_sql("CASE WHEN ");
                push_high(out)?;
                out.push_sql(" > 2147483647 THEN 9223372036854775807 WHEN ");
                push_high(out)?;
                out.push_sql(" < -2147483648 THEN -9223372036854775807 - 1 WHEN ");
                push_sum_of(["typeof(", ") <> 'integer'"], counter, out)?;
                out.push_sql(" = 0 THEN ((");
                push_high(out)?;
                out.push_sql(") << 32) | (");
                push_sum_of(["", " & 4294967295"], counter, out)?;
                out.push_sql(" & 4294967295)");
                out.push_sql(SQLITE_ELSE_ERROR);
            }
        }
        Ok(())
    }

    /// Writes the number of different values of these columns.
    pub(crate) fn push_count_distinct<DB: Backend>(
        self,
        columns: &[&str],
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        out.push_sql("COUNT(DISTINCT ");
        match self {
            // The literals of SQLite: of different values, they are different.
            Dialect::Sqlite if columns.len() > 1 => {
                for (i, column) in columns.iter().enumerate() {
                    out.push_sql(if i == 0 {
                        "quote("
                    } else {
                        " || ',' || quote("
                    });
                    out.push_identifier(column)?;
                    out.push_sql(")");
                }
            }
            Dialect::PostgreSql if columns.len() > 1 => {
                out.push_sql("(");
                push_names(columns, out)?;
                out.push_sql(")");
            }
            _ => push_names(columns, out)?,
        }
        out.push_sql(")");
        Ok(())
    }

    /// Writes `-MIN(…)` of a counter. The statement fails if it is out of the range of a BIGINT.
    pub(crate) fn push_negative_min<DB: Backend>(
        self,
        counter: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        let push_min = |before: &str, out: &mut AstPass<'_, '_, DB>| {
            out.push_sql(before);
            out.push_sql("MIN(");
            out.push_identifier(counter)?;
            out.push_sql(")");
            QueryResult::Ok(())
        };
        if self != Dialect::Sqlite {
            return push_min("-", out);
        }
        // SQLite's `-` returns a REAL when it overflows.
        push_min("CASE typeof(-", out)?;
        push_min(") WHEN 'integer' THEN -", out)?;
        out.push_sql(SQLITE_ELSE_ERROR);
        Ok(())
    }
}

fn push_sum_or_zero<DB: Backend>(counter: &str, out: &mut AstPass<'_, '_, DB>) -> QueryResult<()> {
    push_sum_of(["", ""], counter, out)
}

fn push_sum_of<DB: Backend>(
    [before, after]: [&str; 2],
    counter: &str,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    out.push_sql("COALESCE(SUM(");
    out.push_sql(before);
    out.push_identifier(counter)?;
    out.push_sql(after);
    out.push_sql("), 0)");
    Ok(())
}

/// `"a", "b", "c"`
pub(crate) fn push_names<DB: Backend>(
    names: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push_sql(", ");
        }
        out.push_identifier(name)?;
    }
    Ok(())
}

/// Writes `(a, b) > (?, ?)`, or with ` <= `. `push_value` writes the value of one column. `entity` is
/// the number of the columns of an entity's key among them.
///
/// MySQL has no index range for row values. If the entity has one column, the databases read all of its
/// rows again with the simplest form, which are few. An entity of several columns begins with a value
/// that most rows can have.
pub(crate) fn push_compare<'b, DB: CounterBackend>(
    key: &[&str],
    entity: usize,
    compare: &str,
    mut push_value: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()> {
    let is_row_value = entity > 1 && Dialect::of(out) != Dialect::MySql;
    if is_row_value {
        out.push_sql("(");
        push_names(key, out)?;
        out.push_sql(")");
        out.push_sql(compare);
        for column in 0..key.len() {
            out.push_sql(if column == 0 { "(" } else { ", " });
            push_value(column, out)?;
        }
        out.push_sql(")");
        return Ok(());
    }
    let (strict, or_equal) = match compare {
        " > " => (" > ", " >= "),
        _ => (" < ", " <= "),
    };
    let last = key.len() - 1;
    out.push_sql(if entity > 1 { "(" } else { "" });
    for (column, name) in key.iter().enumerate() {
        let comparisons = match (column == last, entity > 1) {
            (true, _) => &[(compare, "")][..],
            (false, false) => &[(or_equal, " AND ("), (strict, " OR ")],
            (false, true) => &[(strict, " OR "), (" = ", " AND (")],
        };
        for (compare, after) in comparisons {
            out.push_identifier(name)?;
            out.push_sql(compare);
            push_value(column, out)?;
            out.push_sql(after);
        }
    }
    out.push_sql(&")".repeat(last + usize::from(entity > 1)));
    Ok(())
}
