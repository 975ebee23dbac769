//! The backends, and the SQL dialect of each.

use diesel::QueryResult;
use diesel::query_builder::AstPass;
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue};

use super::Binds;

/// A Diesel backend that counters support.
///
/// It is implemented for Diesel's `Pg`, `Mysql` and `Sqlite`, with the features `postgres`, `mysql`
/// and `sqlite`. For a [`MultiConnection`], write [`counter_backend!`](crate::counter_backend).
///
/// [`MultiConnection`]: diesel::MultiConnection
#[diagnostic::on_unimplemented(
    message = "diesel_counters does not support the backend `{Self}`",
    label = "enable a feature of diesel_counters: `postgres`, `mysql` or `sqlite`",
    note = "for a `#[derive(MultiConnection)]`, write `diesel_counters::counter_backend!(MultiBackend {{ … }});`"
)]
pub trait CounterBackend: Binds + 'static {
    /// The only [`dialect`](CounterBackend::dialect), if there is one.
    #[doc(hidden)]
    const DIALECT: Option<Dialect> = None;

    /// Whether a bind value can be an array, so that one statement takes any number of rows.
    #[doc(hidden)]
    const HAS_ARRAYS: bool = false;

    /// Returns the SQL dialect of the backend.
    fn dialect(&self) -> Dialect;

    /// Writes an array.
    #[doc(hidden)]
    fn push_array<'b, ST, T>(_: &'b [T], _: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>
    where
        Self: HasSqlType<ST>,
        T: ToSql<ST, Self>,
        ST: SingleValue,
    {
        Err(diesel::result::Error::QueryBuilderError(
            "this backend has no arrays".into(),
        ))
    }
}

/// Implements [`CounterBackend`] for the backend of a [`MultiConnection`]. Give the [`Dialect`] of each
/// variant. If a variant has a `#[cfg(…)]`, write the same one before it.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # mod connection {
/// # use diesel::SqliteConnection;
/// #[derive(diesel::MultiConnection)]
/// pub enum AnyConnection {
///     Sqlite(SqliteConnection),
///     // Postgres(PgConnection),
///     // Mysql(MysqlConnection),
/// }
///
/// diesel_counters::counter_backend!(MultiBackend {
///     Sqlite: Sqlite,
///     // Postgres: PostgreSql,
///     // Mysql: MySql,
/// });
/// # }
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut connection::AnyConnection::Sqlite(establish_connection());
/// # let article: Article = articles::table.find(1).first(conn)?;
/// article.incr_counter(article_counters::views, conn)?;
/// # assert_eq!(article.counter_value(article_counters::views, conn)?, 1);
/// # Ok(())
/// # }
/// ```
///
/// [`MultiConnection`]: diesel::MultiConnection
#[macro_export]
macro_rules! counter_backend {
    ($Backend:ident { $($(#[$attribute:meta])* $Variant:ident: $Dialect:ident),+ $(,)? }) => {
        impl $crate::CounterBackend for $Backend {
            fn dialect(&self) -> $crate::Dialect {
                match self {
                    $($(#[$attribute])* $Backend::$Variant(_) => $crate::Dialect::$Dialect,)+
                }
            }
        }
    };
}

/// The SQL dialect of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL 8.0 and later, MariaDB 10.6 and later.
    MySql,
    /// SQLite 3.35 and later.
    Sqlite,
}

#[cfg(feature = "postgres")]
impl CounterBackend for diesel::pg::Pg {
    const DIALECT: Option<Dialect> = Some(Dialect::PostgreSql);
    const HAS_ARRAYS: bool = true;

    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }

    fn push_array<'b, ST, T>(values: &'b [T], out: &mut AstPass<'_, 'b, Self>) -> QueryResult<()>
    where
        Self: HasSqlType<ST>,
        T: ToSql<ST, Self>,
        ST: SingleValue,
    {
        out.push_bind_param::<diesel::sql_types::Array<ST>, _>(values)
    }
}

#[cfg(feature = "mysql")]
impl CounterBackend for diesel::mysql::Mysql {
    const DIALECT: Option<Dialect> = Some(Dialect::MySql);

    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }
}

#[cfg(feature = "sqlite")]
impl CounterBackend for diesel::sqlite::Sqlite {
    const DIALECT: Option<Dialect> = Some(Dialect::Sqlite);

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

impl Dialect {
    /// Whether a connection to the backend `DB` can have this dialect.
    pub(crate) fn may_be_of<DB: CounterBackend>(self) -> bool {
        DB::DIALECT.is_none_or(|dialect| dialect == self)
    }

    /// Returns the dialect of the backend that `out` writes for.
    pub(crate) fn of<DB: CounterBackend>(out: &AstPass<'_, '_, DB>) -> Self {
        out.backend().dialect()
    }
}
