//! A number for each thread, which slots are dealt by.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// This thread's number, from a start that differs between processes.
pub(crate) fn thread_number() -> u32 {
    static START: LazyLock<u32> = LazyLock::new(|| rand::random_range(0..1 << 16));
    // A thread that counts while it is being torn down has no number any more.
    *START + THREAD.try_with(|thread| thread.0).unwrap_or_default()
}

thread_local! {
    static THREAD: ThreadNumber = ThreadNumber::take();
}

/// The least number that no other living thread has.
///
/// Numbers are handed back, so that the threads alive at a time have neighbouring
/// ones however many came and went: web servers keep making new threads.
struct ThreadNumber(u32);

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers {
    unused_from: 0,
    returned: BinaryHeap::new(),
});

impl ThreadNumber {
    fn take() -> Self {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        ThreadNumber(numbers.take())
    }
}

impl Drop for ThreadNumber {
    fn drop(&mut self) {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.put_back(self.0);
    }
}

struct Numbers {
    unused_from: u32,
    returned: BinaryHeap<Reverse<u32>>,
}

impl Numbers {
    fn take(&mut self) -> u32 {
        if let Some(Reverse(number)) = self.returned.pop() {
            return number;
        }
        self.unused_from += 1;
        self.unused_from - 1
    }

    fn put_back(&mut self, number: u32) {
        self.returned.push(Reverse(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_neighbours_however_many_were_put_back() {
        let mut numbers = Numbers {
            unused_from: 0,
            returned: BinaryHeap::new(),
        };
        let mut alive: Vec<u32> = (0..8).map(|_| numbers.take()).collect();
        for i in 0..1000 {
            numbers.put_back(alive.swap_remove(i * 7 % 8));
            alive.push(numbers.take());
        }
        alive.sort_unstable();
        assert_eq!(alive, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
