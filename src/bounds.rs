//! The traits in the bounds of this crate's functions, and the parameters of its types: for code
//! that is generic over the connection, the model, the counter or the table.
//!
//! If your program has only one type of connection, as most do, you never write these names. You
//! need them in a library of your own, or in a program that runs on several databases. The traits
//! are implemented for everything they're about: keys, counters and the rows of queries. Don't
//! implement them yourself: their methods aren't public and can change in any release. (The
//! exception is [`StoredKey`], for a key with an SQL type of your own.)
//!
//! # Over the connection
//!
//! A function that is generic over the connection repeats the bounds of what it calls. To count, it
//! needs a backend that is a [`CounterBackend`](crate::CounterBackend), and a key that can be bound
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
//! `(BigInt,)` lists the SQL types of the key's columns. If a bound is missing, the first line of
//! the compiler's error says which one to add. A model's key is a reference, so its bound is
//! `for<'k> &'k i64: BindKey<(BigInt,), Conn::Backend>`. To merge, or to count in a buffer or a
//! `counting_transaction`, you need a key that is an [`OwnedKey`]:
//! `i64: OwnedKey<(BigInt,), Conn::Backend>`.
//!
//! To read, it needs a connection that can load rows, and a count that can be read from them:
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
//! If you leave out `FromSql`, the compiler's error says so. In a program with only one database,
//! it says instead that it expected the backend it knows, for example `Sqlite`.
//!
//! # Over the model and the counter
//!
//! A library can count for models it knows nothing about:
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
//! The types in [`dsl`](crate::dsl) all have their parameters in the same order: the counters or
//! the table, the entities, how the counts are grouped, the days. What you don't set is left out.
//! For example, `CounterValue<views>` is the total over all entities. In a read, `of` turns a key
//! into a [`KeyPrefix`]: the SQL types of the key's columns, and its value.
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
pub use crate::add::statement::WithIncrement;
pub use crate::correct::source::SourceRow;
pub use crate::day::DayRange;
pub use crate::key::{
    AllEntities, AnyOf, BindKey, Entities, HasColumns, KeyOf, KeyPrefix, KeyTypes, OwnedKey,
    StartOf, StoredKey, Together, WholeKey,
};
pub use crate::model::CountersOf;
pub use crate::read::days::{AllDays, Days};
pub use crate::read::ranking::ByTotal;
pub use crate::read::series::ByPeriod;
pub use crate::read::sums::{GroupColumns, Many, Ungrouped};
pub use crate::read::total::{ParentRow, TotalOf};
pub use crate::read::value::Grouped;
pub use crate::retry::Retried;
pub use crate::sql::Values;
pub use crate::typed::copied::{Copied, TotalColumns};
pub use crate::typed::counters::{Counters, KeyType};
pub use crate::typed::parent::{ChildOf, HasParent};
