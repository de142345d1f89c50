//! Waiting: for the timer, for pressure, or for a signal, whichever is first.
//!
//! The kernel's pressure trigger is the safety net under the forecast: it fires when tasks have stalled
//! for so long within a window, at most once a window. It is late by nature, so it shortens a wait and
//! decides nothing. A kernel without it leaves timer and signals.

use crate::writes;
use pressure::config::Wake;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Window that unprivileged users may ask for.
const UNPRIVILEGED_WINDOW: Duration = Duration::from_secs(2);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The time is over.
    Timer,
    /// Tasks stalled for memory.
    Pressure,
    /// SIGTERM or SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
}

/// What a wait listens to.
#[derive(Debug)]
pub(crate) struct Alarm {
    trigger: Option<OwnedFd>,
    /// Why there is no trigger.
    pub(crate) without: Option<String>,
    stop: UnixStream,
    reload: UnixStream,
    signals: Vec<SigId>,
}

impl Alarm {
    /// Listens to this process's signals and, on a live machine, to pressure.
    pub(crate) fn new(root: &Path, wake: &Wake) -> io::Result<Self> {
        let (stop, stop_writer) = UnixStream::pair()?;
        let (reload, reload_writer) = UnixStream::pair()?;
        [&stop, &reload]
            .into_iter()
            .try_for_each(|end| end.set_nonblocking(true))?;
        let again = stop_writer.try_clone()?;
        let signals = vec![
            signal_hook::low_level::pipe::register(SIGTERM, stop_writer)?,
            signal_hook::low_level::pipe::register(SIGINT, again)?,
            signal_hook::low_level::pipe::register(SIGHUP, reload_writer)?,
        ];
        let (trigger, without) = match trigger(root, wake) {
            Ok(trigger) => (Some(trigger), None),
            Err(error) => (None, Some(format!("no pressure trigger: {error}"))),
        };
        Ok(Self {
            trigger,
            without,
            stop,
            reload,
            signals,
        })
    }

    /// Waits for at most `patience`. Allocates nothing.
    pub(crate) fn wait(&mut self, patience: Duration) -> Woken {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            let input = |end| PollFd::new(end, PollFlags::IN);
            let pressure = match &self.trigger {
                Some(trigger) => PollFd::new(trigger, PollFlags::PRI),
                None => PollFd::new(&self.stop, PollFlags::empty()),
            };
            let mut ends = [input(&self.stop), input(&self.reload), pressure];
            match poll(&mut ends, Some(&timeout)) {
                Err(Errno::INTR) => continue,
                Ok(0) | Err(_) => return Woken::Timer,
                Ok(_) => {}
            }
            let [stop, reload, pressure] = ends.map(|end| end.revents());
            if !stop.is_empty() {
                drain(&mut self.stop);
                return Woken::Stop;
            }
            if !reload.is_empty() {
                drain(&mut self.reload);
                return Woken::Reload;
            }
            if pressure.contains(PollFlags::ERR) {
                // What the trigger watched is gone.
                self.trigger = None;
            } else if pressure.contains(PollFlags::PRI) {
                return Woken::Pressure;
            }
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
    }
}

fn drain(end: &mut UnixStream) {
    let mut buffer = [0; 16];
    while end.read(&mut buffer).is_ok_and(|length| length > 0) {}
}

/// Asks the kernel to tell when some task stalls for `pressure_stall` within `pressure_window`.
fn trigger(root: &Path, wake: &Wake) -> io::Result<OwnedFd> {
    if root != Path::new("/") {
        return Err(io::Error::other("this is a recorded machine"));
    }
    let stall = wake.pressure_stall.get();
    let window = wake.pressure_window.get();
    register(stall, window).or_else(|error| match Errno::from_io_error(&error) {
        // Only privileged users may ask for a window that is no multiple of two seconds.
        Some(Errno::INVAL | Errno::PERM) => register(
            stall * (UNPRIVILEGED_WINDOW.as_micros() / window.as_micros()) as u32,
            UNPRIVILEGED_WINDOW,
        ),
        _ => Err(error),
    })
}

fn register(stall: Duration, window: Duration) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let mut file = writes::PRESSURE_TRIGGER.open(Path::new("/proc/pressure/memory"), flags)?;
    // The kernel takes a trigger in one write.
    file.write_all(format!("some {} {}\0", stall.as_micros(), window.as_micros()).as_bytes())?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(root: &str) -> Alarm {
        Alarm::new(Path::new(root), &pressure::Config::default().wake).unwrap()
    }

    #[test]
    fn this_machine_has_a_trigger_or_it_is_said_why_not() {
        let alarm = alarm("/");
        assert_ne!(alarm.trigger.is_some(), alarm.without.is_some());
    }

    #[test]
    fn the_timer_and_the_signals_end_a_wait() {
        let mut alarm = alarm("/nowhere");
        assert_eq!(alarm.wait(Duration::from_millis(10)), Woken::Timer);
        signal_hook::low_level::raise(SIGHUP).unwrap();
        assert_eq!(alarm.wait(Duration::from_secs(1)), Woken::Reload);
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!(alarm.wait(Duration::from_secs(1)), Woken::Stop);
        assert_eq!(alarm.wait(Duration::from_millis(10)), Woken::Timer);
    }

    #[test]
    fn a_recorded_machine_has_no_trigger() {
        let alarm = alarm("/nowhere");
        assert_eq!(
            alarm.without.as_deref(),
            Some("no pressure trigger: this is a recorded machine")
        );
    }
}
