//! A total as an expression in any query.

use std::convert::identity;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::backend::Backend;
use diesel::expression::{AsExpression, Expression, TypedExpressionType, ValidGrouping};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_source::{AppearsInFromClause, Once};
use diesel::sql_types::{BigInt, DieselNumericOps, IntoNullable, Nullable, SqlType};
use diesel::{AppearsOnTable, QueryResult, SelectableExpression};

use crate::day::DayRange;
use crate::key::each_key;
use crate::key::{Columns, HasColumns};
use crate::read::days::{AllDays, Days};
use crate::shape::Name;
use crate::sql::{
    CounterBackend, Dialect, Part as _, Values, each, key_value, numbered, part, where_both,
};
use crate::typed::copied::{CopiedCount, CopiedOne};
use crate::typed::counters::{Counters, KeyType};
use crate::typed::parent::{ChildOf, HasParent};
use crate::typed::table::CounterTable;

/// Returns a counter's total as a Diesel expression, for queries on the parent table.
///
/// It's a `BigInt` that is never NULL: for a row that was never counted, it's 0. Use it in
/// `select`, `filter` and `order`, and in joins, boxed queries and subqueries. It sums all days,
/// unless you set a day with [`on`](Total::on) or a range with [`between`](Total::between).
///
/// You declare the parent table in [`counter_table!`](crate::counter_table). If there are several,
/// this uses the first one. For any other key, use [`of`](Total::of).
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let today = chrono::Utc::now().date_naive();
/// # let monday = today - chrono::Days::new(3);
/// use diesel_counters::dsl::total;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
/// use schema::comments;
///
/// increment(views).of_many([(1_i64, 10), (2, 200)]).execute(conn)?;
///
/// let most_read: Vec<(Article, i64, i64)> = articles::table
///     .select((Article::as_select(), total(views), total(likes).between(monday..=today)))
///     .filter(total(views).gt(100))
///     .order(total(views).desc())
///     .limit(10)
///     .load(conn)?;
/// assert_eq!(most_read[0].0.title, "Two");
/// assert_eq!((most_read[0].1, most_read[0].2), (200, 0));
///
/// // Each comment, with the number of views of its article.
/// let comments: Vec<(String, i64)> = comments::table
///     .select((comments::body, total(views).of(comments::article_id)))
///     .load(conn)?;
/// # let _ = comments;
/// # Ok(())
/// # }
/// ```
///
/// It can be a field of a model: `#[diesel(select_expression = total(article_counters::views))]`.
/// The expression's type is [`Total<C>`].
///
/// # Cost
///
/// It's a subquery that the database runs for each row: in a `select`, for each row of the result;
/// in a `filter` or an `order`, for each row of the table. If the table is large, read the keys of
/// a [`ranking`](crate::dsl::ranking()), or [sort by a
/// column](crate::guide::operations#sorting-by-a-count).
pub fn total<C: Counters<Value = i64>>(_counter: C) -> Total<C> {
    Total {
        days: AllDays,
        entity: ParentRow(PhantomData),
        counter: PhantomData,
    }
}

/// The return type of [`total`](crate::dsl::total()), under the name that Diesel's `auto_type`
/// requires.
#[allow(non_camel_case_types)]
pub type total<C> = Total<C>;

/// A [`total`](crate::dsl::total()) over some of the days: the type of
/// `total(views).between(monday..)`, for a field of a model.
pub type TotalBetween<C> = Total<C, ParentRow<C>, DayRange>;

/// An expression for the total of the counter `C` for the entity `Id` over `Days`; made by
/// [`total`](crate::dsl::total()).
#[must_use = "an expression does nothing until it is part of a query"]
#[derive(Debug, Clone, Copy, QueryId, DieselNumericOps)]
pub struct Total<C, Id = ParentRow<C>, Days = AllDays> {
    days: Days,
    entity: Id,
    counter: PhantomData<C>,
}

impl<C: Counters, Id, Days> Total<C, Id, Days> {
    /// Sums only the counts of `day`; see [`Sums::on`](crate::dsl::Sums::on).
    pub fn on(self, day: NaiveDate) -> Total<C, Id, DayRange> {
        self.with_days(DayRange::period_of(day, C::Table::PERIOD))
    }

    /// Sums only the counts of a range of days; see [`Sums::between`](crate::dsl::Sums::between).
    /// The type isn't the same as for a total over all days. If a variable has to hold either, use
    /// `between(..)` for all days.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Total<C, Id, DayRange> {
        self.with_days(DayRange::whole(days, C::Table::PERIOD))
    }

    fn with_days(self, days: DayRange) -> Total<C, Id, DayRange> {
        Total {
            days,
            entity: self.entity,
            counter: PhantomData,
        }
    }
}

impl<C: Counters, Days> Total<C, ParentRow<C>, Days> {
    /// Sets the entity, by an expression for its key, such as a foreign key or the field of an
    /// alias. If the key is NULL, the total is 0. If you use `sql`, name the type, and write the
    /// table before the column, for example `sql::<BigInt>("dependencies.crate_id")`. Without its
    /// table, the column can be taken for the counter table's own.
    ///
    /// If the key has several columns, give a tuple of expressions and values, for example
    /// `(articles::id, "👍")`. None of them can be NULL. If you give fewer than the key has columns,
    /// this is the total of all entities whose keys begin with them.
    pub fn of<Id, N>(self, id: Id) -> Total<C, Id::Parts, Days>
    where
        Id: TotalOf<KeyType<C>, N>,
    {
        Total {
            days: self.days,
            entity: id.into_parts(),
            counter: PhantomData,
        }
    }
}

// Expressions for the first columns of a key.
macro_rules! expressions {
    ($($number:literal: $([$i:tt $S:ident $K:ident])*;)*) => {$(
        #[allow(unused_variables)] // for a key without columns
        impl<$($K: QueryFragment<DB>,)* DB: Backend> Values<DB> for ($($K,)*) {
            fn columns(&self) -> usize {
                $number
            }

            fn push<'b>(
                &'b self,
                column: usize,
                _row: usize,
                out: &mut AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                match column {
                    $($i => self.$i.walk_ast(out.reborrow()),)*
                    _ => Ok(()),
                }
            }
        }
    )*};
}

each_key!(expressions);

/// An expression for the key of a [`Total`], or for its first columns. `Key` has the SQL types of
/// the key. The compiler infers `Columns`, the number of columns.
#[diagnostic::on_unimplemented(
    message = "this doesn't fit the counter table's key, which has the SQL types `{Key}`",
    label = "this is a `{Self}`"
)]
pub trait TotalOf<Key, Columns> {
    /// The expressions, as a tuple.
    #[doc(hidden)]
    type Parts;
    #[doc(hidden)]
    fn into_parts(self) -> Self::Parts;
}

// The expression can be NULL.
#[diagnostic::do_not_recommend]
impl<Id, A, Key> TotalOf<Key, Columns<1>> for Id
where
    Key: HasColumns<1, First = (A,)>,
    Id: Expression<SqlType: IntoNullable<Nullable = Nullable<A>> + SqlType>,
{
    type Parts = (Id,);
    fn into_parts(self) -> (Id,) {
        (self,)
    }
}

macro_rules! total_of {
    ($($number:tt: $([$i:tt $S:ident $K:ident])*;)*) => { $(total_of!(@key $number: $($S $K)*);)* };
    (@key 0:) => {};
    (@key 1: $S:ident $K:ident) => {};
    (@key $number:tt: $($S:ident $K:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<Key, $($K, $S),*> TotalOf<Key, Columns<$number>> for ($($K,)*)
        where
            Key: HasColumns<$number, First = ($($S,)*)>,
            $($K: AsExpression<$S>, $S: SqlType + TypedExpressionType,)*
        {
            type Parts = ($($K::Expression,)*);
            #[allow(non_snake_case)] // The variables have the names of the types.
            fn into_parts(self) -> Self::Parts {
                let ($($K,)*) = self;
                ($($K.as_expression(),)*)
            }
        }
    };
}

each_key!(total_of);

/// The alias of the counter table in the subquery, so that the query around it can use the table's
/// name.
const COUNTED: Name<'static> = Name("diesel_counters_counted");

/// The names of the key's columns in the subquery, if they are renamed.
const KEY_NAMES_IN_SUBQUERY: [&str; 5] =
    numbered!(identity, "diesel_counters_key": "" "_1" "_2" "_3" "_4");

impl<C, D, Id, DB> QueryFragment<DB> for Total<C, Id, D>
where
    C: Counters,
    Id: Values<DB>,
    D: Days,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let db = Dialect::from_pass(&out);
        let shape = C::Table::shape();
        let entity = &shape.entity()[..self.entity.columns()];
        // In a RETURNING on SQLite, Diesel writes the parent's key without its table. If the
        // counter table had a column with the same name, the condition would compare that column
        // with itself. So the counter table's columns are renamed there.
        let is_renamed = db == Dialect::Sqlite;
        let (day, count) = if is_renamed {
            (Name("diesel_counters_day"), Name("diesel_counters_count"))
        } else {
            (shape.day(), C::NAMES[0])
        };
        let is_entity = each(" AND ", entity, |i, column| {
            let column = if is_renamed {
                Name(KEY_NAMES_IN_SUBQUERY[i])
            } else {
                *column
            };
            part!("{COUNTED}.{column} = {key_value(&self.entity, i)}")
        });
        let is_entity = (!entity.is_empty()).then_some(is_entity);
        let renamed_key = each("", entity, |i, column| {
            part!("{*column} AS {Name(KEY_NAMES_IN_SUBQUERY[i])}, ")
        });
        let (stored_day, counter) = (shape.day(), C::NAMES[0]);
        let table = part!(match db {
            Dialect::Sqlite =>
                "(SELECT {renamed_key}{stored_day} AS {day}, {counter} AS {count} FROM {shape.table})",
            _ => "{shape.table}",
        });
        let rows = where_both(is_entity, self.days.condition(day));
        let (select, sum) = (db.select(), db.sum(count));
        part!("({select}{sum} FROM {table} AS {COUNTED}{rows})").walk(out)
    }
}

impl<C: Counters, Days, Id: Expression> Expression for Total<C, Id, Days> {
    type SqlType = BigInt;
}

impl<C: Counters, Days, Id: ValidGrouping<By>, By> ValidGrouping<By> for Total<C, Id, Days> {
    type IsAggregate = Id::IsAggregate;
}

impl<C: Counters, Days, Id: AppearsOnTable<QS>, QS: ?Sized> AppearsOnTable<QS>
    for Total<C, Id, Days>
{
}

#[diagnostic::do_not_recommend]
impl<C, D> CopiedOne for Total<C, ParentRow<C>, D>
where
    C: Counters<Value = i64>,
    D: Days,
{
    type Table = C::Table;
    fn count(&self) -> CopiedCount {
        CopiedCount {
            counter: C::NAMES[0],
            days: self.days.range().copied(),
        }
    }
}

// In a left join, the key can be NULL. The total is 0 then, not NULL.
impl<C: Counters, Days, Id: AppearsOnTable<QS>, QS: ?Sized> SelectableExpression<QS>
    for Total<C, Id, Days>
{
}

/// The primary key of a row of the parent table, as an expression. It is the default entity of a
/// [`Total`].
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ParentRow<C>(PhantomData<C>);

type ParentKey<C> = <<C as Counters>::Table as ChildOf<ParentOf<C>>>::ParentKey;

type ParentOf<C> = <<C as Counters>::Table as HasParent>::Parent;

impl<C, DB> Values<DB> for ParentRow<C>
where
    C: Counters<Table: HasParent>,
    ParentKey<C>: Values<DB>,
    DB: CounterBackend,
{
    fn columns(&self) -> usize {
        C::Table::PARENT_KEY.columns()
    }

    fn push<'b>(
        &'b self,
        column: usize,
        row: usize,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        C::Table::PARENT_KEY.push(column, row, out)
    }
}

impl<C> Expression for ParentRow<C>
where
    C: Counters<Table: HasParent>,
    ParentKey<C>: Expression,
{
    type SqlType = <ParentKey<C> as Expression>::SqlType;
}

impl<C, By> ValidGrouping<By> for ParentRow<C>
where
    C: Counters<Table: HasParent>,
    ParentKey<C>: ValidGrouping<By>,
{
    type IsAggregate = <ParentKey<C> as ValidGrouping<By>>::IsAggregate;
}

impl<C, QS: ?Sized> AppearsOnTable<QS> for ParentRow<C>
where
    C: Counters<Table: HasParent>,
    ParentOf<C>: InQuery<QS>,
{
}

/// A table that occurs exactly once in the query `QS`.
#[diagnostic::on_unimplemented(
    message = "this total requires the table `{Self}`, which is not in this query",
    label = "this query does not have the table `{Self}`",
    note = "help: join `{Self}`, or add the key of the entity, as in `total(…).of(comments::article_id)`"
)]
pub trait InQuery<QS: ?Sized> {}
#[diagnostic::do_not_recommend]
impl<T, QS: AppearsInFromClause<T, Count = Once> + ?Sized> InQuery<QS> for T {}
