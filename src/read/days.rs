//! The days that a query reads.

use diesel::query_builder::QueryId;

use crate::day::DayRange;
use crate::shape::Name;
use crate::sql::{CounterBackend, Part, Sql, part, sql};

/// The days that a query reads.
pub trait Days {
    /// The range, or `None` if it reads all days.
    #[doc(hidden)]
    fn range(&self) -> Option<&DayRange>;

    /// A condition on the column `day`, or `None` if it reads all days.
    #[doc(hidden)]
    fn condition<'b, DB: CounterBackend>(
        &'b self,
        day: Name<'b>,
    ) -> Option<impl Part<'b, DB> + Copy> {
        let range = self.range();
        range.map(|range| part!("{day} BETWEEN {&range.first} AND {&range.last}"))
    }
}

/// All days.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AllDays;

impl Days for AllDays {
    fn range(&self) -> Option<&DayRange> {
        None
    }
}

impl Days for DayRange {
    fn range(&self) -> Option<&DayRange> {
        Some(self)
    }
}

impl DayRange {
    /// A condition on the column `day`, or `None` if the range has all days.
    pub(crate) fn condition_unless_all<'b, DB: CounterBackend>(
        &'b self,
        day: Name<'b>,
    ) -> Option<Sql<'b, DB>> {
        if self.is_all() {
            return None;
        }
        self.condition(day).map(|is_in| sql!("{is_in}"))
    }
}
