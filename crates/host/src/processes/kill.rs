//! Signals: the identity is checked, the signal sent, and the process watched until it is gone.

use super::Processes;
use super::handle::Hold;
use super::table::read;
use crate::applied::Missed;
use crate::parse::process;
use pressure::distress::Extent;
use pressure::scan::{Identity, MAX_VICTIMS, Name, ProcessScan, Signal, Victim};
use rustix::io::Errno;
use rustix::process::pidfd_send_signal;
use std::time::Duration;
use units::{Bytes, Span};

/// Time for which a process that is gone stays in the sample, so that the decision sees what it gave back.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Time for which a process that does not end stays in the sample; after that it counts as stuck for good.
const WATCHED: Duration = Duration::from_secs(60);

/// What a decision asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Which process.
    pub identity: Identity,
    /// What it called itself.
    pub name: Name,
    /// Which signal.
    pub signal: Signal,
    /// Alone, with its unit, with its family, or with that and what starts it.
    pub extent: Extent,
    /// What that is expected to give back.
    pub size: Bytes,
}

/// A process that was signalled, held until it is seen to be gone.
#[derive(Debug)]
pub(super) struct Killed {
    victim: Victim,
    extent: Extent,
    hold: Hold,
}

impl Processes {
    /// Signals a process that the last scan has found. Takes no memory, opens nothing, and never waits, unless its family
    /// goes with it: the members are looked for in `/proc` then.
    pub fn kill(&mut self, at: Span, order: &Order) -> Result<(), Missed> {
        let family = match order.extent {
            Extent::Family => self.family_of(order.identity),
            Extent::Ancestor => self.family_and_ancestor_of(order.identity),
            Extent::Process | Extent::Unit => None,
        };
        let (mut hold, before) = match self
            .killed
            .iter()
            .position(|killed| killed.victim.identity == order.identity)
        {
            Some(index) => {
                let Killed {
                    victim,
                    extent,
                    hold,
                } = self.killed.swap_remove(index);
                (hold, Some((victim, extent)))
            }
            None => {
                let index = self
                    .handles
                    .iter()
                    .position(|handle| handle.identity == order.identity);
                let index = index.ok_or(Missed::Unknown)?;
                (self.handles.swap_remove(index).hold, None)
            }
        };
        let sent = send(&hold, order);
        if sent.is_ok() && order.signal == Signal::Kill {
            // SIGKILL only: of a process that may live on the kernel frees nothing.
            if let Some(pidfd) = hold.pidfd.take() {
                self.reaper.take(pidfd);
            }
        }
        if let (Ok(_), Some(family)) = (&sent, &family) {
            self.signal_family(family, number_of(order.signal));
        }
        if matches!(sent, Err(Missed::Refused(_) | Missed::NoMeans)) {
            if self.refused.is_full() {
                self.refused.remove(0);
            }
            self.refused.push((order.identity, at.get()));
        }
        let Order {
            identity,
            name,
            signal,
            size,
            ..
        } = *order;
        let victim = Victim {
            identity,
            name,
            size,
            signal,
            at,
            gone: None,
            kin: family.map_or(0, |family| family.kin),
        };
        // If the signal fails, the one before it is still watched.
        if let Some((victim, extent)) = sent.ok().map(|extent| (victim, extent)).or(before) {
            if self.killed.len() == MAX_VICTIMS {
                self.killed.remove(0);
            }
            self.killed.push(Killed {
                victim,
                extent,
                hold,
            });
        }
        sent.map(drop)
    }

    /// Puts what became of signalled processes into the sample.
    pub fn watch(&mut self, at: Span, scan: &mut ProcessScan) {
        scan.victims.clear();
        let since = |then: Span| at.get().saturating_sub(then.get());
        self.killed.retain(|killed| match killed.victim.gone {
            Some(gone) => since(gone) < REMEMBERED,
            None => since(killed.victim.at) < WATCHED,
        });
        for Killed {
            victim,
            extent,
            hold,
        } in &mut self.killed
        {
            if victim.gone.is_none()
                && is_gone(hold, victim.identity)
                && (*extent == Extent::Process || is_empty(hold))
            {
                victim.gone = Some(at);
            }
            let _ = scan.victims.try_push(*victim);
        }
    }
}

/// Sends the signal, and says how far it went.
fn send(hold: &Hold, order: &Order) -> Result<Extent, Missed> {
    if is_gone(hold, order.identity) {
        return Err(Missed::Gone);
    }
    let pidfd = hold.pidfd.as_ref().ok_or(Missed::NoMeans)?;
    let signal = number_of(order.signal);
    if let (Extent::Unit, Signal::Kill, Some(unit)) = (order.extent, order.signal, &hold.unit) {
        // Its own process first, then the rest: should the unit refuse, the largest has gone all the same.
        pidfd_send_signal(pidfd, signal).map_err(Missed::Refused)?;
        return Ok(rustix::io::write(unit, b"1").map_or(Extent::Process, |_| Extent::Unit));
    }
    match pidfd_send_signal(pidfd, signal) {
        Err(Errno::SRCH) => Err(Missed::Gone),
        sent => sent.map(|()| Extent::Process).map_err(Missed::Refused),
    }
}

const fn number_of(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Term => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    }
}

/// Returns true if its unit is empty: until then memory of its processes is still being freed.
fn is_empty(hold: &Hold) -> bool {
    let mut buffer = [0; 64];
    let events = hold
        .events
        .as_ref()
        .and_then(|file| read(file, &mut buffer));
    // A unit that is gone has no process left.
    events.is_none_or(|text| text.starts_with(b"populated 0"))
}

/// Whether the process is dead, and its memory given back. Its directory stays of the one it was opened for.
fn is_gone(hold: &Hold, identity: Identity) -> bool {
    let mut buffer = [0; 1024];
    let stat = read(&hold.stat, &mut buffer).and_then(process::stat);
    stat.is_none_or(|stat| stat.start != identity.start || stat.is_dead)
}
