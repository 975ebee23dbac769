//! Each public type can be written in a signature. The functions are compiled, and not called.
#![allow(dead_code)]

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::query_builder::AsQuery;
use diesel::sql_types::BigInt;
use diesel_counters::bounds::*;
use diesel_counters::buffer::{BufferError, CounterBufferBuilder, Dropped, Pending, Write};
use diesel_counters::compactor::{CompactorBuilder, Done, Run};
use diesel_counters::dsl::*;
use diesel_counters::prelude::*;
use diesel_counters::{
    BackgroundError, Compacted, Compactor, CounterBuffer, CountingTransaction, Dialect, Drift,
    ParsePeriodError, Period, Retry, Slot, counting_transaction, retry,
};
use diesel_counters_tests::examples::tickets;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, likes, views};
use diesel_counters_tests::schema::articles;

use crate::Conn;

type Id = KeyPrefix<(BigInt,), i64>;

pub fn one() -> Increment<views, i64> {
    increment(views).of(1_i64)
}

pub fn several() -> IncrementMany<(views, likes), i64> {
    increment((views, likes)).of_many([(1, (2, 3))])
}

pub fn value() -> CounterValue<views> {
    counter_value(views)
}

pub fn value_of(day: NaiveDate) -> CounterValue<views, Id, DayRange> {
    counter_value(views).of(1_i64).on(day)
}

pub fn sums() -> Sums<views, Id, Ungrouped, AllDays> {
    counter_value(views).of(1_i64)
}

pub fn values() -> CounterValue<(views, likes), Many<(BigInt,), i64>> {
    counter_value((views, likes)).of_many([1, 2])
}

pub fn sum_of_some<Q>(query: CounterValue<views, AnyOf<Q>>) -> CounterValue<views, AnyOf<Q>> {
    query
}

pub fn sql_types_of_the_key() -> PhantomData<KeyType<views>> {
    PhantomData
}

pub fn grouped() -> Sums<views, Id, Grouped<article_counters::day>> {
    counter_value(views)
        .of(1_i64)
        .group_by(article_counters::day)
}

pub fn series() -> Series<views, Id> {
    counter_series(views).of(1_i64)
}

pub fn series_of_all() -> Sums<views, (), ByPeriod, DayRange> {
    counter_series(views)
}

pub fn counts() -> PeriodCounts<views> {
    Vec::new()
}

pub fn grouped_counts() -> GroupedCounts<NaiveDate, views> {
    Vec::new()
}

pub fn most_viewed() -> Ranking<views> {
    ranking(views)
}

pub fn most_viewed_days() -> Sums<views, (), ByTotal<(article_counters::day,)>, DayRange> {
    ranking(views).group_by(article_counters::day)
}

pub fn total_views() -> Total<views> {
    total(views)
}

pub fn total_views_on(day: NaiveDate) -> Total<views, ParentRow<views>, DayRange> {
    total(views).on(day)
}

pub fn recent_views(first: NaiveDate) -> TotalBetween<views> {
    total(views).between(first..)
}

pub fn set() -> SetCounter<views, i64> {
    set_counter(views).of(1_i64).to(2)
}

pub fn import() -> SetDays<views, i64> {
    set_counter(views).of_days(Vec::<(i64, NaiveDate, i64)>::new())
}

pub fn recount_all<S: AsQuery>(
    recount: Recount<comments, S::Query, AllEntities>,
) -> Recount<comments, S::Query> {
    recount
}

pub fn delete() -> DeleteCounters<article_counters::table, Id> {
    delete_counters(article_counters::table).of(1_i64)
}

pub fn take_one() -> Take<tickets::remaining, i64> {
    take(tickets::remaining).of(1_i64)
}

pub fn merge(before: NaiveDate) -> CompactOf<article_counters::table> {
    compact(article_counters::table).before(before)
}

pub fn merge_years() -> Fold<article_counters::table> {
    fold(article_counters::table).per(Period::Year)
}

pub fn of_any_size(work: Compact<'static, (BigInt,), i64>) -> Compact<'static, (BigInt,), i64> {
    work
}

pub fn copy() -> Materialize<'static, (BigInt,), i64> {
    Article::materialize(views, articles::total_views)
}

pub fn copy_of() -> MaterializeOf<views, articles::total_views, i64> {
    Article::materialize(views, articles::total_views)
}

pub fn claim() -> ClaimSlot {
    claim_slot()
}

pub fn retries() -> Retry<'static, diesel::result::Error> {
    retry()
}

pub fn in_transaction(tx: &mut CountingTransaction<'_, Conn>) {
    tx.count(increment(views).of(1_i64));
}

pub fn transaction(conn: &mut Conn) -> QueryResult<()> {
    counting_transaction(conn, |tx| {
        in_transaction(tx);
        Ok(())
    })
}

pub type Connect = fn() -> ConnectionResult<Conn>;

pub fn buffer_of(connect: Connect) -> CounterBufferBuilder<Conn> {
    CounterBuffer::builder(connect)
}

pub fn start(buffer: CounterBufferBuilder<Conn>) -> io::Result<CounterBuffer<Conn>> {
    buffer.start()
}

pub fn count(buffer: &CounterBuffer<Conn>) -> Result<(), BufferError> {
    buffer.count(increment(views).of(1_i64))
}

pub fn pending(pending: &Pending<'_, Conn>) -> i64 {
    pending.of(views, &1_i64)
}

pub fn lost(write: &Write) -> (&[Dropped], Option<&BackgroundError>) {
    (&write.unknown, write.error.as_ref())
}

pub fn compactor_of(connect: Connect) -> CompactorBuilder<Conn> {
    Compactor::builder(connect)
}

pub fn merged(run: &Run) -> Option<Compacted> {
    match run.result {
        Ok(Done::Compacted(compacted)) => Some(compacted),
        _ => None,
    }
}

pub fn wrong(drift: &Drift<i64>) -> i64 {
    drift.actual - drift.stored
}

pub fn parse(period: &str) -> Result<Period, ParsePeriodError> {
    period.parse()
}

pub fn slot_of<T: diesel_counters::CounterTable>() -> Slot {
    T::SLOT
}

pub fn name(dialect: Dialect) -> String {
    format!("{dialect:?}")
}

#[cfg(feature = "postgres")]
pub fn in_one_statement<S, I, C: Counters>(
    statement: CountingStatement<S, I>,
    increment: Increment<C, i64>,
) -> CountingStatement<S, WithIncrement<I, Increment<C, i64>>> {
    statement.counting(increment)
}

#[test]
fn each_public_type_is_in_a_signature() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = fs::read_to_string(root.join("behaviour/signatures.rs")).unwrap();
    let (signatures, _) = here.split_once("#[test]").unwrap();
    let api = fs::read_to_string(root.join("../docs/public-api.txt")).unwrap();
    let mut types = 0;
    for line in api.lines() {
        let line = line.trim_start_matches("#[non_exhaustive] ");
        let of_kind = ["pub struct ", "pub enum ", "pub type "];
        let Some(item) = of_kind.iter().find_map(|kind| line.strip_prefix(kind)) else {
            continue;
        };
        let path = item.split(['<', '(', ' ']).next().unwrap();
        let (module, name) = path.rsplit_once("::").unwrap();
        let is_type = name.starts_with(char::is_uppercase);
        let is_of_a_type = module.contains(char::is_uppercase) || item.contains(">::");
        // `ClaimSlots` requires the feature `r2d2`.
        if !is_type || is_of_a_type || name == "ClaimSlots" {
            continue;
        }
        types += 1;
        assert!(signatures.contains(name), "{line}");
    }
    assert!(types > 40, "{types}");
}
