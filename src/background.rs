//! A background thread that waits, works, and can be stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::slot::OfThread;

#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&Stop) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let until = Arc::clone(&stop);
        let slot = OfThread::now();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            let _ended = Ended(&until);
            slot.set();
            work(&until);
        })?;
        Ok(Background {
            stop,
            thread: Some(thread),
        })
    }

    /// Tells the thread to end, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        self.end(|_| true);
    }

    /// Tells the thread to end, and waits for this time at most until it has ended.
    pub(crate) fn stop_within(&mut self, time: Duration) {
        self.end(|stop| stop.has_ended_within(time));
    }

    fn end(&mut self, waits: impl FnOnce(&Stop) -> bool) {
        self.stop.now();
        let thread = self.thread.take();
        let another = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = thread.filter(another) {
            if waits(&self.stop) {
                // If the thread panicked, the panic was already printed.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.now();
    }
}

/// Runs code of the application. If it panics, returns the message, which was already printed. What the
/// code holds must be usable after a panic.
pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let message = panic.downcast::<String>().map(|message| *message);
        message.unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<&str>();
            message.copied().unwrap_or("no message").to_owned()
        })
    })
}

/// Tells the thread to stop, and whether it has ended.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stops: bool,
    has_ended: bool,
}

/// Tells that the thread has ended, when this is dropped: also if it panics.
struct Ended<'a>(&'a Stop);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

impl Stop {
    fn now(&self) {
        self.lock().stops = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_now(&self) -> bool {
        self.lock().stops
    }

    /// Waits until this moment, or until the thread has to stop.
    pub(crate) fn wait_until(&self, moment: DateTime<Utc>) {
        self.wait((moment - Utc::now()).to_std().unwrap_or_default());
    }

    /// Waits for this time, or until the thread has to stop.
    pub(crate) fn wait(&self, time: Duration) {
        drop(self.wait_while(time, |state| !state.stops));
    }

    /// Waits for the end of the thread, and returns whether it has ended.
    fn has_ended_within(&self, time: Duration) -> bool {
        self.wait_while(time, |state| !state.has_ended).has_ended
    }

    fn wait_while(
        &self,
        time: Duration,
        condition: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), time, |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_thread_has_to_stop() {
        let waits: [fn(&Stop); 2] = [
            |stop| stop.wait(Duration::from_secs(86_400)),
            |stop| stop.wait_until(DateTime::<Utc>::MAX_UTC),
        ];
        for wait in waits {
            let stop = &Stop::default();
            let (waiting, waits) = std::sync::mpsc::channel();
            thread::scope(|scope| {
                scope.spawn(move || {
                    waiting.send(()).unwrap();
                    wait(stop);
                    assert!(stop.is_now());
                });
                waits.recv().unwrap();
                stop.now();
            });
        }
    }

    #[test]
    fn a_thread_that_ends_in_time_is_waited_for() {
        let stops = [Background::stop, |thread: &mut Background| {
            thread.stop_within(Duration::from_secs(86_400));
        }];
        for stop in stops {
            let (ending, ends) = std::sync::mpsc::channel();
            let work = move |stop: &Stop| {
                stop.wait(Duration::from_secs(86_400));
                ending.send(()).unwrap();
            };
            let mut thread = Background::start("test", work).unwrap();
            stop(&mut thread);
            assert_eq!(ends.try_recv(), Ok(()));
        }
    }

    #[test]
    fn the_longest_wait_is_no_overflow() {
        let stop = Stop::default();
        stop.now();
        stop.wait_until(DateTime::<Utc>::MAX_UTC);
    }
}
