//! What operations change on nodes that replicate to each other.

use std::collections::HashSet;

use crate::interleave::operation::Operation;
use crate::interleave::state::PAST;
use crate::postgres::on::operations::amount;
use crate::record::{Cell, Kind};
use crate::tables::{TODAY, day, number_of};

/// Returns what a transaction of an operation has changed, if it returned this. Operations that
/// correct or merge change nothing: see [`unknown`].
pub fn effects(
    operation: Operation,
    transaction: usize,
    node: usize,
    returned: &str,
) -> Vec<(Cell, i64)> {
    // The same numbers as in `operations`.
    let amount = amount(node);
    let to = 1_000 * amount;
    // What was there before, or a number of rows.
    let number = returned.parse::<i64>().unwrap_or_default();
    let today = |article, kind, amount| (Cell::new(article, kind, TODAY), amount);
    match operation {
        Operation::Increment => vec![today(1, Kind::Views, amount)],
        Operation::Past => {
            let past = number_of(day(PAST));
            vec![(Cell::new(1, Kind::Views, past), amount)]
        }
        Operation::Many | Operation::Buffer | Operation::CountingTransaction => {
            vec![today(1, Kind::Views, amount), today(2, Kind::Views, amount)]
        }
        Operation::CountThenSet if transaction == 0 => vec![today(1, Kind::Views, amount)],
        Operation::Set | Operation::SetDay | Operation::CountThenSet => {
            vec![today(1, Kind::Views, to - number)]
        }
        Operation::Counting | Operation::Comment => {
            vec![today(1, Kind::Comments, 1), today(1, Kind::CommentRows, 1)]
        }
        Operation::Like => vec![
            today(1, Kind::Likes, number),
            today(1, Kind::LikeRows, number),
        ],
        Operation::Unlike => vec![
            today(1, Kind::Likes, -number),
            today(1, Kind::LikeRows, -number),
        ],
        _ => Vec::new(),
    }
}

/// The counts of an article.
pub fn all_kinds(article: i64) -> impl Iterator<Item = (Kind, i64)> {
    [Kind::Views, Kind::Comments, Kind::Likes]
        .map(|kind| (kind, article))
        .into_iter()
}

/// Returns the counts that are not known after an operation, if they were `before`. A deletion
/// removes what has arrived on its node, and an import sets what it sees there. Two nodes that both
/// correct a wrong count add the same difference twice.
pub fn unknown(operation: Operation, before: &[i64]) -> HashSet<(Kind, i64)> {
    let total = |article, kind| -> i64 {
        let cells = Cell::of(article, kind);
        cells.map(|cell| before[cell.0]).sum()
    };
    let wrong = |counted, rows| {
        let articles = (1..=2).filter(move |&one| total(one, counted) != total(one, rows));
        articles.map(move |article| (counted, article))
    };
    match operation {
        Operation::Delete => all_kinds(1).collect(),
        Operation::DeleteMany => all_kinds(1).chain(all_kinds(2)).collect(),
        Operation::SetDays => HashSet::from([(Kind::Views, 1), (Kind::Views, 2)]),
        Operation::Recount
        | Operation::RecountByDay
        | Operation::RecountAll
        | Operation::RecountAllByDay => wrong(Kind::Comments, Kind::CommentRows).collect(),
        Operation::RecountTriggers => wrong(Kind::Likes, Kind::LikeRows).collect(),
        _ => HashSet::new(),
    }
}
