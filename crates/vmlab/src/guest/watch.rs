//! What is watched during a whole run: the gap between the watermarks, the knobs, the kernel's kills.

use crate::clock::{self, Window};
use crate::conduct::Finished;
use crate::kmsg::{self, KernelKill};
use crate::knobs::Knobs;
use crate::readout::ReadOut;
use crate::{live, zones};
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use warmset_vmlab::plan::{Gap, Kill};

/// Time between two looks. Longer ones would miss short changes of a knob, shorter ones take CPU from the load.
const PERIOD: Duration = Duration::from_millis(100);
/// Looks between two reports to the lab: twice a second.
const LOOKS_PER_REPORT: usize = 5;
/// The end of a process this close to a kill by the kernel, in ms, is that kill, noticed later.
const SAME_KILL_MS: f64 = 1500.0;
const MIB: f64 = 1_048_576.0;

/// The threads that watch.
#[derive(Debug)]
pub(crate) struct Watch {
    found: f64,
    ended: Arc<AtomicBool>,
    sampler: JoinHandle<Vec<Look>>,
    kills: Arc<Mutex<Vec<KernelKill>>>,
}

/// What one look found.
#[derive(Debug)]
struct Look {
    /// Milliseconds since boot.
    at: f64,
    /// The gap in bytes.
    gap: f64,
    /// Knobs that changed since the last look.
    changes: u64,
    spare: Spare,
}

/// Memory that could still be had.
#[derive(Debug, Clone, Copy, Default)]
struct Spare {
    /// Share of swap that was free; `None` without swap.
    swap: Option<f64>,
    /// Share of memory in slab caches that can be reclaimed.
    slab: Option<f64>,
}

impl Spare {
    fn of(meminfo: &str) -> Self {
        Self {
            swap: share(meminfo, "SwapFree", "SwapTotal"),
            slab: share(meminfo, "SReclaimable", "MemTotal"),
        }
    }
}

fn share(meminfo: &str, part: &str, whole: &str) -> Option<f64> {
    let part = kib(meminfo, part)?;
    let whole = kib(meminfo, whole)?;
    if whole > 0.0 {
        Some(part / whole)
    } else {
        None
    }
}

fn kib(meminfo: &str, name: &str) -> Option<f64> {
    let rest = meminfo
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    rest.split_whitespace().next()?.parse().ok()
}

impl Watch {
    /// Begins to watch.
    ///
    /// With the moment at which counting begins, in milliseconds since boot, it also sends the state to the lab.
    pub(crate) fn start(live_from: Option<f64>) -> Result<Self> {
        let kills = Arc::new(Mutex::new(Vec::new()));
        let followed = Arc::clone(&kills);
        // Without them no kill is not none.
        let messages = File::open("/dev/kmsg").context("cannot read the kernel's messages")?;
        // Never joined: a read of the kernel's messages waits for the next one.
        thread::spawn(move || kmsg::follow(messages, &followed));
        let found = zones::gap();
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        Ok(Self {
            found,
            sampler: thread::spawn(move || sample(&flag, live_from)),
            ended,
            kills,
        })
    }

    /// Ends, and gives what was observed.
    pub(crate) fn stop(self) -> Observed {
        self.ended.store(true, Ordering::Relaxed);
        let looks = self.sampler.join().unwrap_or_default();
        let kills = self.kills.lock().unwrap_or_else(PoisonError::into_inner);
        Observed {
            found: self.found,
            looks,
            kills: kills.clone(),
        }
    }
}

/// Everything that was observed in a run.
#[derive(Debug)]
pub(crate) struct Observed {
    /// The gap before the arm's program started, in bytes.
    found: f64,
    looks: Vec<Look>,
    kills: Vec<KernelKill>,
}

impl Observed {
    /// The gap, integrated over load and calm.
    pub(crate) fn gap(&self, window: Window, calm_end: f64) -> Gap {
        let load = self.gap_above_found(window.from, window.until);
        let calm = self.gap_above_found(window.until, calm_end);
        let seconds = (calm_end - window.from) / 1e3;
        let max = self.looks.iter().map(|look| look.gap).fold(0.0, f64::max);
        Gap {
            found: self.found,
            managed: zones::managed(),
            load_mib_s: load,
            calm_mib_s: calm,
            // A phase of no length has no mean; a thousandth of a second avoids dividing by zero.
            mean: self.found + (load + calm) * MIB / seconds.max(0.001),
            max,
        }
    }

    /// MiB seconds held above the gap that was found, by the trapezoidal rule.
    fn gap_above_found(&self, from: f64, until: f64) -> f64 {
        let mut sum = 0.0;
        for pair in self.looks.windows(2) {
            let [first, second] = pair else { continue };
            if !(from..until).contains(&first.at) {
                continue;
            }
            let seconds = (second.at - first.at) / 1e3;
            let mean = (first.gap + second.gap) / 2.0;
            sum += seconds * (mean - self.found) / MIB;
        }
        sum
    }

    /// How many changes of a knob were observed.
    pub(crate) fn changes(&self, from: f64, until: f64) -> u64 {
        let inside = self
            .looks
            .iter()
            .filter(|look| (from..until).contains(&look.at));
        inside.map(|look| look.changes).sum()
    }

    /// What could still be had at the last look before this moment.
    fn spare(&self, at: f64) -> Spare {
        let before = self.looks.iter().take_while(|look| look.at <= at);
        before.last().map(|look| look.spare).unwrap_or_default()
    }

    /// The kills in the window, with what each did to others.
    pub(crate) fn kills(&self, window: Window, finished: &Finished, out: &ReadOut) -> Vec<Kill> {
        let mut kills: Vec<Kill> = Vec::new();
        for kill in &self.kills {
            if window.has(kill.at) {
                kills.push(self.kill(kill.at, &kill.by, &kill.victim, window, out));
            }
        }
        for (at, victim) in finished.kills.iter().chain(&out.kills) {
            let by_the_kernel = |kill: &KernelKill| (kill.at - at).abs() < SAME_KILL_MS;
            if window.has(*at) && !self.kills.iter().any(by_the_kernel) {
                kills.push(self.kill(*at, "program", victim, window, out));
            }
        }
        kills.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        kills
    }

    fn kill(&self, at: f64, by: &str, victim: &str, window: Window, out: &ReadOut) -> Kill {
        let spare = self.spare(at);
        Kill {
            by: by.to_owned(),
            victim: victim.to_owned(),
            at_s: (at - window.from) / 1e3,
            since_hog_s: out.hog_before(at).map(|began| (at - began) / 1e3),
            over_ms: out.over_before(at).map(|over| at - over),
            next_read_ms: out.next_after("read", at),
            next_exec_ms: out.next_after("exec", at),
            swap_free: spare.swap,
            slab: spare.slab,
        }
    }
}

fn sample(ended: &AtomicBool, live_from: Option<f64>) -> Vec<Look> {
    // Some minutes of looks without growing: what the guest allocates during a load is part of the load.
    let mut looks = Vec::with_capacity(4096);
    let mut knobs = Knobs::read();
    while !ended.load(Ordering::Relaxed) {
        let now = Knobs::read();
        let changes = knobs.changes(&now);
        knobs = now;
        let spare = Spare::of(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
        looks.push(Look {
            at: clock::now(),
            gap: zones::gap(),
            changes,
            spare,
        });
        if let Some(from) = live_from {
            if looks.len() % LOOKS_PER_REPORT == 0 {
                live::send(from);
            }
        }
        thread::sleep(PERIOD);
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_memory_is_a_share_and_unknown_without_swap() {
        let text = "MemTotal:  200 kB\nSwapTotal:  80 kB\nSwapFree:  20 kB\nSReclaimable:  4 kB\n";
        let spare = Spare::of(text);
        assert_eq!(spare.swap, Some(0.25));
        assert_eq!(spare.slab, Some(0.02));
        let without = "MemTotal: 200 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        assert_eq!(Spare::of(without).swap, None);
    }

    #[test]
    fn the_gap_is_counted_above_what_was_found() {
        let at = |second: f64, gap: f64| Look {
            at: second * 1e3,
            gap: gap * MIB,
            changes: 0,
            spare: Spare::default(),
        };
        let looks = vec![
            at(0.0, 1.0),
            at(1.0, 1.0),
            at(2.0, 11.0),
            at(3.0, 11.0),
            at(4.0, 1.0),
            at(5.0, 1.0),
        ];
        let observed = Observed {
            found: MIB,
            looks,
            kills: Vec::new(),
        };
        let window = Window {
            from: 1000.0,
            until: 3000.0,
        };
        let gap = observed.gap(window, 5000.0);
        assert_eq!(gap.load_mib_s, 15.0);
        assert_eq!(gap.calm_mib_s, 5.0);
        assert_eq!(gap.mean / MIB, 6.0);
    }
}
