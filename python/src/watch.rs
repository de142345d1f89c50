//! Runs work without the interpreter's lock: other threads of Python run, Ctrl-C ends the wait, and a callback gets the
//! progress.

use crate::failure::failed;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The time between two checks of signals and progress: short for a person, and rare enough to cost nothing.
const LOOK: Duration = Duration::from_millis(50);

/// How long is slept while code of Python ends: short beside a person's patience.
const NAP: Duration = Duration::from_millis(2);

/// How far the work is, and whether it should stop.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    done: AtomicU64,
    stop: AtomicBool,
    /// Whether the work runs code of Python just now.
    is_in_python: AtomicBool,
}

impl Watch {
    /// One step more is done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// So many steps are done.
    pub(crate) fn reach(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    /// Returns an error if the caller has stopped waiting. It ends the work.
    pub(crate) fn check(&self) -> PyResult<()> {
        if self.is_stopped() {
            Err(failed("interrupted"))
        } else {
            Ok(())
        }
    }

    /// Runs code of Python. It looks at [`Watch::check`] often, as its end is waited for when the caller has stopped.
    pub(crate) fn in_python<T>(&self, run: impl FnOnce(Python<'_>) -> T) -> T {
        self.is_in_python.store(true, Ordering::Release);
        let result = Python::attach(run);
        self.is_in_python.store(false, Ordering::Release);
        result
    }

    /// Waits until no code of Python runs: the interpreter must not end before it. Another Ctrl-C ends the wait.
    fn wait_for_python(&self, py: Python<'_>) {
        while self.is_in_python.load(Ordering::Acquire) && py.check_signals().is_ok() {
            py.detach(|| std::thread::sleep(NAP));
        }
    }

    /// Returns true if the caller has stopped waiting.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The callback for progress: `progress(done, total)`, with a total of `None` if it is not known.
pub(crate) struct Progress<'py> {
    call: Option<Bound<'py, PyAny>>,
    total: Option<u64>,
    told: Option<u64>,
}

impl<'py> Progress<'py> {
    pub(crate) fn new(call: Option<Bound<'py, PyAny>>, total: Option<u64>) -> Self {
        Self {
            call,
            total,
            told: None,
        }
    }

    /// Calls the callback if the progress has changed.
    pub(crate) fn tell(&mut self, done: u64) -> PyResult<()> {
        let Some(call) = self.call.as_ref().filter(|_| self.told != Some(done)) else {
            return Ok(());
        };
        self.told = Some(done);
        call.call1((done, self.total)).map(|_| ())
    }
}

/// Runs `work` on threads of its own, at most `jobs` at once (0: one for each CPU), and waits for it.
///
/// The threads are made for each call and end with it, so a process that forks has none that its child would lack. After
/// Ctrl-C, or an exception of the callback, the work goes on to the end of its step in the background, and its result is
/// dropped.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    mut progress: Progress<'_>,
    jobs: usize,
    work: impl FnOnce(&Watch) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    // After a panic no result comes, which is made an exception below.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .panic_handler(drop)
        .build()
        .map_err(failed)?;
    let watch = Arc::new(Watch::default());
    let (send, mut receive) = mpsc::sync_channel(1);
    let theirs = Arc::clone(&watch);
    pool.spawn(move || {
        // The receiver is dropped if the caller has stopped waiting.
        let _ = send.send(work(&theirs));
    });
    loop {
        let receive = &mut receive;
        let news = py.detach(move || receive.recv_timeout(LOOK));
        match news {
            Ok(Err(error)) => return Err(error),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "a defect of warmset: the work ended without a result",
                ));
            }
            Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
        let heard = py
            .check_signals()
            .and_then(|()| progress.tell(watch.done.load(Ordering::Relaxed)));
        if let Err(error) = heard {
            watch.stop.store(true, Ordering::Relaxed);
            watch.wait_for_python(py);
            return Err(error);
        }
        if let Ok(done) = news {
            return done;
        }
    }
}
