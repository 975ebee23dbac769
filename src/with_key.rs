//! A model with the rest of a counter table's key.

use crate::key::Columns;
use crate::model::{CountersOf, HasCounters};

/// The model `M` with the second column of a counter table's key; made by
/// [`with_key`](HasCounters::with_key).
#[derive(Debug, Clone, Copy)]
pub struct WithKey<'m, M, K> {
    model: &'m M,
    second: K,
}

impl<'m, M, K> WithKey<'m, M, K> {
    pub(crate) fn new(model: &'m M, second: K) -> Self {
        WithKey { model, second }
    }
}

impl<M: HasCounters<KeyColumns = Columns<1>>, K> HasCounters for WithKey<'_, M, K> {
    type Key = (M::Key, K);
    type KeyRef<'a>
        = (M::KeyRef<'a>, &'a K)
    where
        Self: 'a;
    type KeyColumns = Columns<2>;
    type CounterTables = M::CounterTables;

    fn counter_key(&self) -> Self::KeyRef<'_> {
        (self.model.counter_key(), &self.second)
    }
}

impl<M, K, T: CountersOf<M>> CountersOf<WithKey<'_, M, K>> for T {}
