//! Which connection runs its next statement: all orders, depth first, and random ones.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A point of an order at which several connections have a statement to run.
#[derive(Debug)]
struct Choice {
    ready: Vec<usize>,
    /// The place in `ready` of the one that runs.
    chosen: usize,
}

/// How the connection that runs is chosen.
#[derive(Debug)]
enum Way {
    DepthFirst,
    Random(Box<StdRng>),
    /// As this order says, and otherwise the first one.
    Given(Vec<usize>),
}

/// The orders of the statements of a case. Each is run from the start, with the choices of the one
/// before it up to the last that has another connection to try.
#[derive(Debug)]
pub struct Orders {
    way: Way,
    /// The choices of the current order, depth first.
    path: Vec<Choice>,
    /// The connection that ran each statement of the current order.
    ran: Vec<usize>,
    /// The orders that were run.
    seen: HashSet<Vec<usize>>,
    /// How many orders have ended, also those that had been run before.
    number: usize,
    limit: usize,
    /// The seed of random orders.
    seed: u64,
}

impl Orders {
    /// At most `limit` orders depth first. If there are more, as many again at random.
    pub fn all(limit: usize, seed: u64) -> Self {
        Orders {
            way: Way::DepthFirst,
            path: Vec::new(),
            ran: Vec::new(),
            seen: HashSet::new(),
            number: 0,
            limit,
            seed,
        }
    }

    /// The order in which these connections run their statements, once.
    pub fn given(connections: Vec<usize>) -> Self {
        Orders {
            way: Way::Given(connections),
            ..Self::all(1, 0)
        }
    }

    /// Chooses one of the connections that have a statement to run.
    pub fn choose(&mut self, ready: &[usize]) -> usize {
        let at = self.ran.len();
        let chosen = match &mut self.way {
            Way::Random(random) => ready[random.random_range(..ready.len())],
            Way::Given(given) => {
                let wanted = given.get(at).filter(|wanted| ready.contains(wanted));
                wanted.copied().unwrap_or(ready[0])
            }
            Way::DepthFirst => {
                // The choices can be others than in the order before: a server can end a deadlock
                // with the error of another connection.
                if self
                    .path
                    .get(at)
                    .is_some_and(|choice| choice.ready != ready)
                {
                    self.path.truncate(at);
                }
                if at == self.path.len() {
                    self.path.push(Choice {
                        ready: ready.to_vec(),
                        chosen: 0,
                    });
                }
                self.path[at].ready[self.path[at].chosen]
            }
        };
        self.ran.push(chosen);
        chosen
    }

    /// The connection that ran each statement of the current order.
    pub fn ran(&self) -> &[usize] {
        &self.ran
    }

    /// Notes that the current order has been run. Returns whether it was the first time.
    pub fn is_new(&mut self) -> bool {
        self.seen.insert(self.ran.clone())
    }

    /// Goes on to the next order. Returns whether there is one.
    pub fn next(&mut self) -> bool {
        self.number += 1;
        self.path.truncate(self.ran.len());
        self.ran.clear();
        match self.way {
            Way::Given(_) => false,
            Way::Random(_) => self.number < 2 * self.limit,
            Way::DepthFirst => {
                while let Some(last) = self.path.last_mut() {
                    last.chosen += 1;
                    if last.chosen < last.ready.len() {
                        if self.number == self.limit {
                            self.way = Way::Random(Box::new(StdRng::seed_from_u64(self.seed)));
                        }
                        return true;
                    }
                    self.path.pop();
                }
                false
            }
        }
    }

    /// Whether there were too many orders to run all.
    pub fn is_sampled(&self) -> bool {
        matches!(self.way, Way::Random(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The orders of `statements[i]` statements of each connection `i`.
    fn orders_of(statements: &[usize], limit: usize) -> (Vec<Vec<usize>>, bool) {
        let mut orders = Orders::all(limit, 1);
        let mut all = Vec::new();
        loop {
            let mut left = statements.to_vec();
            while left.iter().any(|&left| left > 0) {
                let ready: Vec<_> = (0..left.len()).filter(|&i| left[i] > 0).collect();
                left[orders.choose(&ready)] -= 1;
            }
            if orders.is_new() {
                all.push(orders.ran().to_vec());
            }
            if !orders.next() {
                return (all, orders.is_sampled());
            }
        }
    }

    #[test]
    fn each_order_is_run_once() {
        let (orders, is_sampled) = orders_of(&[2, 3], 100);
        assert_eq!(orders.len(), 10); // 5 over 2
        assert!(!is_sampled);
        assert_eq!(orders_of(&[1, 1, 2], 100).0.len(), 12);
        assert_eq!(orders_of(&[2, 3], 10).0.len(), 10);
    }

    #[test]
    fn of_too_many_orders_some_are_random() {
        let (orders, is_sampled) = orders_of(&[6, 6], 20);
        assert!(is_sampled);
        assert!((20..=40).contains(&orders.len()), "{}", orders.len());
        assert!(
            orders[..20]
                .iter()
                .all(|order| order[..6] == orders[0][..6] || order[0] == 0)
        );
        assert!(orders.iter().any(|order| order[0] == 1));
    }
}
