//! Copying totals, or the counts of some days, into columns of the parent table.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::Expression;
use diesel::associations::HasTable;

use crate::day::DayRange;
use crate::merge::MAX_BATCH;
use crate::shape::{Name, Shape, TableName};
use crate::typed::copied::{Copied, CopiedCount, TotalColumn, TotalColumns};
use crate::typed::names::{ColumnNames, RenderName, table_name};
use crate::typed::parent::ChildOf;
use crate::typed::table::CounterTable;

/// Copies counts into columns of the parent table; made by
/// [`HasCounters::materialize`](crate::HasCounters::materialize), which has an example.
///
/// It compares the columns with the counts in every row of the parent table, and writes the rows
/// that differ. The keys have the SQL types `Types` and the Rust type `K`.
#[must_use = "totals are not copied until this is executed"]
pub struct Materialize<'p, Types, K> {
    pub(super) shape: &'static Shape<'static>,
    pub(super) counts: Vec<CopiedCount>,
    /// The parent table.
    pub(super) table: TableName<'static>,
    /// Its primary key. These columns correspond to the first columns of the counter table's key,
    /// or to all of them.
    pub(super) key: Vec<Name<'static>>,
    /// Its columns to write, one for each count.
    pub(super) columns: &'static [TotalColumn],
    /// The days to copy, for counts that have no days of their own.
    pub(super) days: DayRange,
    pub(super) batch: usize,
    pub(super) is_stopped: Box<dyn Fn() -> bool + Send + 'p>,
    of: PhantomData<fn() -> (Types, K)>,
}

opaque_debug!(Materialize<'p, Types, K>);

/// Copies the counts into the columns `Into` of a parent table with keys of the type `K`.
pub(crate) fn materialize_columns<C, Into, K>(copied: &C) -> MaterializeOf<C, Into, K>
where
    C: Copied<Table: ChildOf<Into::Table>>,
    Into: TotalColumns<Table: HasTable<Table = Into::Table> + RenderName>,
{
    let key_columns = ParentKey::<C, Into>::column_names().into_iter();
    Materialize {
        shape: C::Table::shape(),
        counts: copied.counts(),
        table: table_name(Into::Table::table()),
        key: key_columns.map(|(name, _sql_type)| name).collect(),
        columns: Into::COLUMNS,
        days: DayRange::ALL,
        batch: MAX_BATCH,
        is_stopped: Box::new(|| false),
        of: PhantomData,
    }
}

type ParentKey<C, Into> =
    <<C as Copied>::Table as ChildOf<<Into as TotalColumns>::Table>>::ParentKey;

/// The [`Materialize`] that copies the counters or totals `C` into the columns `Into` of a parent
/// table with keys of the type `K`.
pub type MaterializeOf<C, Into, K> =
    Materialize<'static, <ParentKey<C, Into> as Expression>::SqlType, K>;

impl<'p, Types, K> Materialize<'p, Types, K> {
    /// Copies the counts of these days, or of the whole periods that overlap them, instead of the
    /// totals. For the last 90 days, for example, give `first..`, where `first` is 89 days before
    /// today. As the days move on, a row's count can get smaller, and the next run writes that too.
    /// A [`total`](crate::dsl::total()) that has days of its own keeps them.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, self.shape.period);
        self
    }

    /// Stops the run when `f` returns `true`. It's called before every read of a range of rows, and
    /// before every statement that writes. If you call this twice, either function can stop the
    /// run.
    pub fn stop_when(mut self, f: impl Fn() -> bool + Send + 'p) -> Self {
        let earlier = self.is_stopped;
        self.is_stopped = Box::new(move || earlier() || f());
        self
    }

    /// Says what this does, for example `materialize article_counters into total_views`.
    pub(crate) fn description(&self) -> String {
        let columns = Vec::from_iter(self.columns.iter().map(|column| column.name.0)).join(", ");
        format!("materialize {} into {columns}", self.shape.label)
    }

    /// Sets how many rows one statement writes. It's clamped to 1 to 1,000, and defaults to 1,000.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows.clamp(1, MAX_BATCH);
        self
    }
}
