//! A background thread that waits, works, and can be stopped, and the errors of its work.

use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use diesel::result::Error;

use crate::slot::OfThread;

/// Why a run of a [`Compactor`](crate::Compactor) or a write of a
/// [`CounterBuffer`](crate::CounterBuffer) failed. Its [`source`](StdError::source) is the error of the
/// function that returns connections, or of the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackgroundError {
    /// There was no connection.
    Connection(Box<dyn StdError + Send + Sync>),
    /// The database returned an error. What was committed before it stays.
    Database(Error),
    /// The application panicked, with this message: in `today` or in Diesel's instrumentation, for
    /// example. What was committed before it stays.
    Panicked(String),
    /// This process is a fork of the one that started the buffer. It writes nothing, because the
    /// other process does.
    Forked,
}

pub(crate) const FORKED: &str =
    "this process is a fork of the one that started the buffer; start the buffer after the fork";

impl fmt::Display for BackgroundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackgroundError::Connection(_) => f.write_str("could not get a connection"),
            BackgroundError::Database(_) => f.write_str("the database returned an error"),
            BackgroundError::Panicked(message) => write!(f, "panicked: {message}"),
            BackgroundError::Forked => f.write_str(FORKED),
        }
    }
}

impl StdError for BackgroundError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            BackgroundError::Connection(error) => Some(&**error),
            BackgroundError::Database(error) => Some(error),
            BackgroundError::Panicked(_) | BackgroundError::Forked => None,
        }
    }
}

/// Prints an error and its source.
pub(crate) struct WithSource<'a>(pub(crate) &'a BackgroundError);

impl fmt::Display for WithSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(source) => write!(f, "{}: {source}", self.0),
            None => self.0.fmt(f),
        }
    }
}

/// Returns a connection, or an error.
pub(crate) type Source<Conn> =
    dyn Fn() -> Result<Conn, Box<dyn StdError + Send + Sync>> + Send + Sync;

pub(crate) fn source<Conn, E>(
    connect: impl Fn() -> Result<Conn, E> + Send + Sync + 'static,
) -> Box<Source<Conn>>
where
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    Box::new(move || connect().map_err(Into::into))
}

/// Runs code of the application. If it panics, returns the message, which was already printed. What the
/// code holds must be usable after a panic.
pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, BackgroundError> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let message = panic.downcast::<String>().map(|message| *message);
        BackgroundError::Panicked(message.unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<&str>();
            message.copied().unwrap_or("no message").to_owned()
        }))
    })
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread, until it is told to stop.
#[derive(Debug)]
pub(crate) struct Background(Mutex<Option<Running>>);

#[derive(Debug)]
struct Running {
    stop: Arc<Stop>,
    /// It is closed when the thread ends, also by a panic.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Background {
    /// Starts a thread, which has the default slot of this one.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&Stop) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(Stop(AtomicBool::new(false)));
        let until = Arc::clone(&stop);
        let (ends, ended) = mpsc::channel();
        let slot = OfThread::now();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            let _ends = ends;
            slot.within(|| work(&until));
        })?;
        Ok(Background(Mutex::new(Some(Running {
            stop,
            ended,
            thread,
        }))))
    }

    /// Tells the thread to end, and waits for this time at most until it has ended. Does not wait on the
    /// thread itself.
    pub(crate) fn stop(&self, patience: Duration) {
        let Some(running) = lock(&self.0).take() else {
            return;
        };
        running.stop.0.store(true, Ordering::SeqCst);
        running.thread.thread().unpark();
        if running.thread.thread().id() != thread::current().id() {
            // It returns an error at the end of the thread or of the time.
            let _ = running.ended.recv_timeout(patience);
        }
    }

    /// Forgets a thread that is not one of this process.
    pub(crate) fn forget(&self) {
        std::mem::forget(lock(&self.0).take());
    }
}

/// Whether the thread has to stop.
#[derive(Debug)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    pub(crate) fn is_now(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Waits for this time, or until the thread has to stop.
    pub(crate) fn wait(&self, time: Duration) {
        let begun = Instant::now();
        while !self.is_now() {
            match time.checked_sub(begun.elapsed()) {
                // Others may unpark the thread too.
                Some(left) if !left.is_zero() => thread::park_timeout(left),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_thread_has_to_stop_and_the_stop_when_the_thread_has_ended() {
        for time in [Duration::from_secs(86_400), Duration::MAX] {
            let (waiting, waits) = mpsc::channel();
            let work = move |stop: &Stop| {
                waiting.send("waits").unwrap();
                stop.wait(time);
                assert!(stop.is_now());
                waiting.send("ends").unwrap();
            };
            let thread = Background::start("test", work).unwrap();
            assert_eq!(waits.recv(), Ok("waits"));
            thread.stop(Duration::MAX);
            assert_eq!(waits.try_recv(), Ok("ends"));
            // Again, it does nothing.
            thread.stop(Duration::MAX);
        }
    }

    #[test]
    fn a_wait_is_as_long_as_it_has_to_be() {
        let (begun, time) = (Instant::now(), Duration::from_millis(20));
        thread::current().unpark();
        Stop(AtomicBool::new(false)).wait(time);
        assert!(begun.elapsed() >= time);
    }
}
