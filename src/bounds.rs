//! For code that is generic over the connection, the model, the counter or the table: the traits in
//! the bounds of this crate's functions, and the parameters of their types.
//!
//! Most programs have one type of connection, and never write these names. A library of your
//! own does,
//! and so does a program that runs on several databases. The traits are implemented for
//! everything that
//! they are about: for values of keys, for counters, for rows of queries. Don't implement them:
//! their
//! methods aren't public, and can change in any release. (The exception is [`StoredKey`], for a
//! key of
//! your own SQL type.)
//!
//! # Over the connection
//!
//! A function that is generic over the connection repeats the bounds of what it calls. To
//! count, the backend is a [`CounterBackend`](crate::CounterBackend), and the key can be bound
//! in it:
//!
//! ```rust
//! # include!("../docs/doctest_setup.rs");
//! use diesel::connection::Connection;
//! use diesel::sql_types::BigInt;
//! use diesel_counters::CounterBackend;
//! use diesel_counters::bounds::BindKey;
//! use diesel_counters::prelude::*;
//! use schema::article_counters::views;
//!
//! fn count_view<Conn>(article: i64, conn: &mut Conn) -> QueryResult<usize>
//! where
//!     Conn: Connection<Backend: CounterBackend>,
//!     i64: BindKey<(BigInt,), Conn::Backend>,
//! {
//!     increment(views).of(article).execute(conn)
//! }
//! # fn main() -> QueryResult<()> {
//! # let conn = &mut establish_connection();
//! # assert_eq!(count_view(1, conn)?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! `(BigInt,)` has the SQL types of the key, one for each column. If a bound is missing, the
//! first line of the compiler's error says which one to add. For a model, whose key is a
//! reference, it is `for<'k> &'k i64: BindKey<(BigInt,), Conn::Backend>`. To merge, and to
//! count in a buffer or a `counting_transaction`, the key is an [`OwnedKey`]: `i64:
//! OwnedKey<(BigInt,), Conn::Backend>`.
//!
//! To read, the connection loads rows, and the count can be read from them:
//!
//! ```rust
//! # include!("../docs/doctest_setup.rs");
//! use diesel::connection::LoadConnection;
//! use diesel::deserialize::FromSql;
//! use diesel::sql_types::BigInt;
//! use diesel_counters::CounterBackend;
//! use diesel_counters::bounds::BindKey;
//! use diesel_counters::prelude::*;
//! use schema::article_counters::views;
//!
//! fn read<Conn>(article: i64, conn: &mut Conn) -> QueryResult<i64>
//! where
//!     Conn: LoadConnection<Backend: CounterBackend>,
//!     i64: BindKey<(BigInt,), Conn::Backend> + FromSql<BigInt, Conn::Backend>,
//! {
//!     counter_value(views).of(article).get_result(conn)
//! }
//! # fn main() -> QueryResult<()> {
//! # let conn = &mut establish_connection();
//! # increment(views).of(1_i64).execute(conn)?;
//! # assert_eq!(read(1, conn)?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! If `FromSql` is missing, Diesel says so, or, in a program of one database, that it expected
//! the backend that it knows, such as `Sqlite`.
//!
//! # Over the model and the counter
//!
//! A library can count for models that it does not know:
//!
//! ```rust
//! # include!("../docs/doctest_setup.rs");
//! use diesel::connection::Connection;
//! use diesel_counters::CounterBackend;
//! use diesel_counters::bounds::{BindKey, Counters, CountersOf, KeyOf, KeyType, WholeKey};
//! use diesel_counters::prelude::*;
//!
//! /// Counts a view of any model, in the counter that the caller names.
//! fn viewed<'m, M, C, Conn>(model: &'m M, counter: C, conn: &mut Conn) -> QueryResult<()>
//! where
//!     M: HasCounters,
//!     C: Counters<Table: CountersOf<M>>,
//!     M::KeyRef<'m>: KeyOf<KeyType<C>, M::KeyColumns, Types: WholeKey<KeyType<C>>>
//!         + BindKey<KeyType<C>, Conn::Backend>,
//!     Conn: Connection<Backend: CounterBackend>,
//! {
//!     model.incr_counter(counter, conn)
//! }
//! # fn main() -> QueryResult<()> {
//! # let conn = &mut establish_connection();
//! # let article: Article = articles::table.find(1).first(conn)?;
//! # viewed(&article, schema::article_counters::views, conn)?;
//! # assert_eq!(article.counter_value(schema::article_counters::views, conn)?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Over the table
//!
//! ```rust
//! # include!("../docs/doctest_setup.rs");
//! use diesel::connection::LoadConnection;
//! use diesel_counters::bounds::{OwnedKey, StoredKey};
//! use diesel_counters::dsl::compact;
//! use diesel_counters::{Compacted, CounterBackend, CounterTable};
//!
//! /// Merges a table, and says how many rows are gone.
//! fn merge<T, Conn>(table: T, conn: &mut Conn) -> QueryResult<u64>
//! where
//!     T: CounterTable<KeyType: StoredKey>,
//!     <T::KeyType as StoredKey>::Key: OwnedKey<T::KeyType, Conn::Backend>,
//!     Conn: LoadConnection<Backend: CounterBackend>,
//! {
//!     let Compacted { merged, .. } = compact(table).execute(conn)?;
//!     Ok(merged)
//! }
//! # fn main() -> QueryResult<()> {
//! # let conn = &mut establish_connection();
//! # assert_eq!(merge(schema::article_counters::table, conn)?, 0);
//! # Ok(())
//! # }
//! ```
//!
//! # The order of parameters
//!
//! The types of [`dsl`](crate::dsl) have their parameters in one order: the counters or the
//! table, the entities, how the counts are grouped, the days. What is not set is left out:
//! `CounterValue<views>` is the total of all entities. In a read, `of` makes a [`KeyPrefix`] of
//! a key: the SQL types of its columns, and its value.
//!
//! | expression | type |
//! | --- | --- |
//! | `increment(views).of(1_i64)` | `Increment<views, i64>` |
//! | `counter_value(views)` | `CounterValue<views>` |
//! | `counter_value(views).of(1_i64)` | `CounterValue<views, KeyPrefix<(BigInt,), i64>>` |
//! | `counter_value(views).of(1_i64).on(day)` | `CounterValue<views, KeyPrefix<(BigInt,), i64>, DayRange>` |
//! | `counter_value((views, likes)).of_many(ids)` | `CounterValue<(views, likes), Many<(BigInt,), i64>>` |
//! | `counter_series(views).of(1_i64)` | `Series<views, KeyPrefix<(BigInt,), i64>>` |
//! | `ranking(views)` | `Ranking<views>` |
//! | `total(views)` | `Total<views>` |
//! | `total(views).on(day)` | `TotalBetween<views>` |
//! | `recount(comments, source)` | `Recount<comments, Source>` |
//! | `take(remaining).of(1_i64)` | `Take<remaining, i64>` |

pub use crate::add::countable::Countable;
#[cfg(feature = "postgres")]
pub use crate::add::statement::And;
pub use crate::correct::source::SourceRow;
pub use crate::day::DayRange;
pub use crate::key::{
    AllEntities, AnyOf, BindKey, Entities, HasColumns, KeyOf, KeyPrefix, KeyTypes, OwnedKey,
    StartOf, StoredKey, Together, WholeKey,
};
pub use crate::model::CountersOf;
pub use crate::read::days::{AllDays, Days};
pub use crate::read::ranking::Ranked;
pub use crate::read::series::Per;
pub use crate::read::sums::{GroupColumns, Many, Ungrouped};
pub use crate::read::total::{ParentRow, TotalOf};
pub use crate::read::value::Grouped;
pub use crate::retry::Retried;
pub use crate::sql::Values;
pub use crate::typed::copied::{Copied, TotalColumns};
pub use crate::typed::counters::{Counters, KeyType};
pub use crate::typed::parent::{ChildOf, HasParent};
