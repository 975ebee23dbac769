//! The days that a query reads.

use diesel::backend::Backend;
use diesel::query_builder::QueryId;

use crate::day::DayRange;
use crate::shape::Name;
use crate::sql::{Sql, sql};

/// The days that a query reads.
pub trait Days {
    /// A condition on the column `day`.
    fn condition<'b, DB: Backend>(&'b self, day: Name<'b>) -> Option<Sql<'b, DB>>;
}

/// All days.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AllDays;

impl Days for AllDays {
    fn condition<'b, DB: Backend>(&'b self, _: Name<'b>) -> Option<Sql<'b, DB>> {
        None
    }
}

impl Days for DayRange {
    fn condition<'b, DB: Backend>(&'b self, day: Name<'b>) -> Option<Sql<'b, DB>> {
        Some(sql!("{day} BETWEEN {&self.first} AND {&self.last}"))
    }
}

impl DayRange {
    /// A condition, unless it has all days.
    pub(crate) fn unless_all<'b, DB: Backend>(&'b self, day: Name<'b>) -> Option<Sql<'b, DB>> {
        self.condition(day).filter(|_| !self.is_all())
    }
}
