//! A background thread that waits, works and can be stopped, and the errors that it reports.

use std::error::Error as StdError;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Duration;

use diesel::result::Error;

/// Why a run of a [`Compactor`](crate::Compactor) or a write of a
/// [`CounterBuffer`](crate::CounterBuffer) failed. Its [`source`](StdError::source) is the error
/// from your function that returns connections, or from the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackgroundError {
    /// Your function returned an error instead of a connection.
    Connection(Box<dyn StdError + Send + Sync>),
    /// The database returned an error. What was committed before that stays committed.
    Database(Error),
    /// Your code panicked with this message, or the buffer's thread has ended. What was committed
    /// before that stays committed.
    Panicked(String),
    /// This process is a fork of the one that started the buffer. What was counted before the fork
    /// is written by the original process.
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

/// Runs the application's code. If it panics, returns the message, which was already printed.
/// Everything the code uses must still be usable after a panic.
pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, BackgroundError> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text: Option<&str> = match panic.downcast_ref::<String>() {
            Some(text) => Some(text.as_str()),
            None => panic.downcast_ref::<&str>().copied(),
        };
        BackgroundError::Panicked(text.unwrap_or("no message").to_owned())
    })
}

/// Locks the mutex, even if another thread has panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that works again and again until it's told to stop. Each time, it returns an `Answer`.
#[derive(Debug)]
pub(crate) struct Background<Answer = ()> {
    running: Mutex<Option<Running<Answer>>>,
    thread: ThreadId,
    process: u32,
}

#[derive(Debug)]
struct Running<Answer> {
    /// Makes the thread work at once, and send its answer to the sender that it gets.
    requests: Sender<Sender<Answer>>,
    /// Once this is dropped, [`Stop`] tells the work to end.
    wanted: Arc<()>,
    handle: JoinHandle<()>,
}

impl<Answer: Send + 'static> Background<Answer> {
    /// Starts a thread that calls `work` after `wait`, or as soon as it is asked. `work` returns
    /// the answer, and how long to wait before the next call.
    pub(crate) fn start(
        name: &str,
        mut wait: Duration,
        mut work: impl FnMut(&Stop) -> (Answer, Duration) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (requests, receiver) = mpsc::channel::<Sender<Answer>>();
        let wanted = Arc::new(());
        let stop = Stop(Arc::downgrade(&wanted));
        let body = move || {
            loop {
                let asker = match receiver.recv_timeout(wait) {
                    Ok(asker) => Some(asker),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                let (answer, next_wait) = work(&stop);
                wait = next_wait;
                if let Some(asker) = asker {
                    // This fails if the thread that asked is gone.
                    let _ = asker.send(answer);
                }
            }
        };
        let thread = thread::Builder::new().name(name.into());
        let handle = thread.spawn(body)?;
        let thread = handle.thread().id();
        let running = Running {
            requests,
            wanted,
            handle,
        };
        Ok(Background {
            running: Mutex::new(Some(running)),
            thread,
            process: process::id(),
        })
    }

    /// Makes the thread work once more after what it's doing now, and waits for the answer. Returns
    /// `None` if the thread has ended. Don't call it on the thread itself or in a fork: it would
    /// wait forever.
    pub(crate) fn ask(&self) -> Option<Answer> {
        let (asker, answer) = mpsc::channel();
        let requests = lock(&self.running).as_ref()?.requests.clone();
        requests.send(asker).ok()?;
        // This fails if the thread ends, because it then drops the other end of the channel.
        answer.recv().ok()
    }
}

impl<Answer> Background<Answer> {
    /// Whether this process is a fork of the one that has the thread. Asks the operating system.
    pub(crate) fn is_forked(&self) -> bool {
        process::id() != self.process
    }

    /// Whether this is the thread itself.
    pub(crate) fn is_current(&self) -> bool {
        thread::current().id() == self.thread
    }

    /// Tells the thread to end, and waits for it unless this is the thread itself. Does nothing in
    /// a fork, which doesn't have the thread.
    pub(crate) fn stop(&self) {
        let Some(running) = lock(&self.running).take() else {
            return;
        };
        if self.is_forked() {
            // Dropping the handle would detach a thread that this process doesn't have.
            return mem::forget(running);
        }
        let Running {
            requests,
            wanted,
            handle,
        } = running;
        drop(wanted); // tells the work to end
        drop(requests); // ends the thread's loop
        if !self.is_current() {
            // This returns an error if the thread has panicked.
            let _ = handle.join();
        }
    }
}

/// Tells the work whether the thread has to stop.
#[derive(Debug)]
pub(crate) struct Stop(Weak<()>);

impl Stop {
    /// Whether the thread has to stop: [`Background::stop`] has dropped `wanted`.
    pub(crate) fn is_now(&self) -> bool {
        self.0.strong_count() == 0
    }
}
