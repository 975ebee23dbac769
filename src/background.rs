//! A background thread that waits, works, and can be stopped, and the errors of its work.

use std::error::Error as StdError;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
    /// The application panicked, with this message. What was committed before it stays.
    Panicked(String),
    /// This process is a fork of the one that started the buffer, which writes what was counted before.
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

/// A thread that works again and again, until it is told to stop.
#[derive(Debug)]
pub(crate) struct Background {
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
    process: u32,
}

impl Background {
    /// Starts a thread, which has the default slot of this one. After `wait`, it calls `work`, which
    /// returns the time to wait before the next call.
    pub(crate) fn start(
        name: &str,
        mut wait: Duration,
        mut work: impl FnMut(&Stop) -> Duration + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let stop = Stop(Mutex::new(receiver));
        let slot = OfThread::now();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            slot.within(|| {
                while !stop.within(wait) {
                    wait = work(&stop);
                }
            });
        })?;
        Ok(Background {
            thread: Mutex::new(Some((sender, thread))),
            process: process::id(),
        })
    }

    /// Whether this process is a fork of the one that has the thread. It asks the operating system.
    pub(crate) fn is_forked(&self) -> bool {
        process::id() != self.process
    }

    /// Tells the thread to end, and waits until it has ended, unless this is the thread itself, or a
    /// fork, which does not have the thread.
    pub(crate) fn stop(&self) {
        let Some((sender, thread)) = lock(&self.thread).take() else {
            return;
        };
        if self.is_forked() {
            return mem::forget((sender, thread));
        }
        drop(sender);
        if thread.thread().id() != thread::current().id() {
            // It returns an error if the thread has panicked.
            let _ = thread.join();
        }
    }
}

/// Whether the thread has to stop: when the sender is dropped.
#[derive(Debug)]
pub(crate) struct Stop(Mutex<Receiver<()>>);

impl Stop {
    pub(crate) fn is_now(&self) -> bool {
        self.within(Duration::ZERO)
    }

    /// Waits for this time, or until the thread has to stop.
    fn within(&self, time: Duration) -> bool {
        lock(&self.0).recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
    }
}
