//! The rows that a query returns, for each of the keys that it was asked for.

use std::collections::BTreeMap;

use diesel::QueryResult;
use diesel::sql_types::SqlType;

use crate::key::is_exact;
use crate::keys::{Keys, ListKeys};

/// Loads the rows of these keys, of the SQL type `ST`, in as few queries as `M` needs.
///
/// A database may take two texts for one key, by their case or for spaces at their end. It
/// returns one of them, or a third one. So a key that is not returned is asked for again,
/// without those that were, and in the end alone.
pub(super) fn rows_by_key<'a, ST, M, K, Row>(
    keys: Vec<&'a K>,
    mut load: impl FnMut(Keys<&'a K>) -> QueryResult<Vec<(K, Row)>>,
) -> QueryResult<BTreeMap<&'a K, Vec<Row>>>
where
    ST: SqlType,
    M: ListKeys,
    K: Ord,
{
    let mut found = BTreeMap::new();
    let mut left = Keys::chunks::<M>(keys);
    while let Some(keys) = left.pop() {
        let mut rows = BTreeMap::<K, Vec<Row>>::new();
        for (key, row) in load(Keys::listed::<M>(keys.clone()))? {
            rows.entry(key).or_default().push(row);
        }
        if rows.is_empty() {
            continue;
        }
        let number = keys.len();
        let mut missing = keys;
        missing.retain(|&key| match rows.remove(key) {
            Some(rows) => found.insert(key, rows).is_some(),
            None => true,
        });
        if is_exact::<ST>() {
            continue;
        }
        match &missing[..] {
            [] => (),
            [one] if number == 1 => {
                found.insert(*one, rows.into_values().flatten().collect());
            }
            _ => {
                if missing.len() == number {
                    left.push(missing.split_off(number / 2));
                }
                left.push(missing);
            }
        }
    }
    Ok(found)
}
