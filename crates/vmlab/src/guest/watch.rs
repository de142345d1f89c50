//! What is watched all along: the gap between the watermarks, the knobs, the kernel's kills.

use crate::clock::{self, Window};
use crate::conduct::Finished;
use crate::readout::ReadOut;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use warmset_vmlab::plan::{Gap, Kill};

const PERIOD: Duration = Duration::from_millis(100);
const PAGE: f64 = 4096.0;
const MIB: f64 = 1_048_576.0;

/// The knobs that an arm may drive.
const KNOBS: &[&str] = &[
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/watermark_boost_factor",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/extfrag_threshold",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/lru_gen/min_ttl_ms",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/workingset_protection",
    "/proc/sys/vm/anon_min_ratio",
    "/proc/sys/vm/clean_low_ratio",
    "/proc/sys/vm/clean_min_ratio",
];

/// The knobs at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Knobs(Vec<Option<String>>);

impl Knobs {
    /// Reads them.
    pub(crate) fn read() -> Self {
        Self(
            KNOBS
                .iter()
                .map(|path| fs::read_to_string(path).ok())
                .collect(),
        )
    }

    /// The knobs that now differ, but for those that the lab itself set.
    pub(crate) fn not_as_found(&self, set: &[(String, String)]) -> Vec<String> {
        let now = Self::read();
        let differs = |(path, (before, after)): (&&str, (&Option<String>, &Option<String>))| {
            let ours = set.iter().any(|(written, _)| written == path);
            (before != after && !ours).then(|| (*path).to_owned())
        };
        KNOBS
            .iter()
            .zip(self.0.iter().zip(&now.0))
            .filter_map(differs)
            .collect()
    }
}

/// Threads that look.
#[derive(Debug)]
pub(crate) struct Watch {
    found: f64,
    ended: Arc<AtomicBool>,
    sampler: JoinHandle<Vec<Seen>>,
    kills: Arc<Mutex<Vec<(f64, String, String)>>>,
}

#[derive(Debug)]
struct Seen {
    at: f64,
    gap: f64,
    changes: u64,
    spare: Spare,
}

/// What there still was.
#[derive(Debug, Clone, Copy, Default)]
struct Spare {
    /// Share of swap that was free; `None` without swap.
    swap: Option<f64>,
    /// Share of memory that was slab caches which can be reclaimed.
    slab: Option<f64>,
}

impl Spare {
    fn of(meminfo: &str) -> Self {
        let value = |name: &str| {
            let line = meminfo
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let share = |part: &str, whole: &str| {
            Some(value(part)? / value(whole).filter(|whole| *whole > 0.0)?)
        };
        Self {
            swap: share("SwapFree", "SwapTotal"),
            slab: share("SReclaimable", "MemTotal"),
        }
    }
}

impl Watch {
    /// Begins to look.
    ///
    /// With the moment at which counting begins, it also tells the lab how it goes.
    pub(crate) fn start(live: Option<f64>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let kills = Arc::new(Mutex::new(Vec::new()));
        let (flag, list) = (Arc::clone(&ended), Arc::clone(&kills));
        // It ends with the machine: a read of the kernel's messages waits for the next.
        thread::spawn(move || read_messages(&list));
        Self {
            found: gap(),
            sampler: thread::spawn(move || sample(&flag, live)),
            ended,
            kills,
        }
    }

    /// Ends, and gives what was seen.
    pub(crate) fn stop(self) -> Sight {
        self.ended.store(true, Ordering::Relaxed);
        let seen = self.sampler.join().unwrap_or_default();
        let kills = self
            .kills
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Sight {
            found: self.found,
            seen,
            kills,
        }
    }
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Sight {
    found: f64,
    seen: Vec<Seen>,
    kills: Vec<(f64, String, String)>,
}

impl Sight {
    /// The gap, integrated over load and calm by the trapezoidal rule.
    pub(crate) fn gap(&self, window: Window, calm_end: f64) -> Gap {
        let found = self.found;
        let above = |from: f64, until: f64| -> f64 {
            let inside = |pair: &&[Seen]| {
                pair.first()
                    .is_some_and(|seen| (from..until).contains(&seen.at))
            };
            let area = |pair: &[Seen]| match pair {
                [a, b] => (b.at - a.at) / 1e3 * ((a.gap + b.gap) / 2.0 - found) / MIB,
                _ => 0.0,
            };
            self.seen.windows(2).filter(inside).map(area).sum()
        };
        let (load, calm) = (
            above(window.from, window.until),
            above(window.until, calm_end),
        );
        let seconds = (calm_end - window.from) / 1e3;
        let max = self.seen.iter().map(|seen| seen.gap).fold(0.0, f64::max);
        Gap {
            found,
            managed: managed(),
            load_mib_s: load,
            calm_mib_s: calm,
            mean: found + (load + calm) * MIB / seconds.max(0.001),
            max,
        }
    }

    /// How often a knob was seen changed.
    pub(crate) fn changes(&self, from: f64, until: f64) -> u64 {
        self.seen
            .iter()
            .filter(|seen| (from..until).contains(&seen.at))
            .map(|seen| seen.changes)
            .sum()
    }

    /// What there still was when that was last looked at.
    fn spare(&self, at: f64) -> Spare {
        self.seen
            .iter()
            .take_while(|seen| seen.at <= at)
            .last()
            .map(|seen| seen.spare)
            .unwrap_or_default()
    }

    /// The kills, with what they did to others.
    pub(crate) fn kills(&self, window: Window, finished: &Finished, out: &ReadOut) -> Vec<Kill> {
        let kernel = self
            .kills
            .iter()
            .map(|(at, by, victim)| (*at, by.as_str(), victim.as_str()));
        let others = finished.kills.iter().filter(|(at, _)| {
            !self
                .kills
                .iter()
                .any(|(seen, ..)| (seen - at).abs() < 1500.0)
        });
        let others = others.map(|(at, victim)| (*at, "program", victim.as_str()));
        let mut kills: Vec<Kill> = kernel
            .chain(others)
            .filter(|(at, ..)| window.has(*at))
            .map(|(at, by, victim)| Kill {
                by: by.to_owned(),
                victim: victim.to_owned(),
                at_s: (at - window.from) / 1e3,
                since_hog_s: out.hog_before(at).map(|began| (at - began) / 1e3),
                next_read_ms: out.next_after("read", at),
                next_exec_ms: out.next_after("exec", at),
                swap_free: self.spare(at).swap,
                slab: self.spare(at).slab,
            })
            .collect();
        kills.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        kills
    }
}

fn sample(ended: &AtomicBool, live: Option<f64>) -> Vec<Seen> {
    let mut all = Vec::with_capacity(4096);
    let mut knobs = Knobs::read();
    while !ended.load(Ordering::Relaxed) {
        let now = Knobs::read();
        let changes = knobs
            .0
            .iter()
            .zip(&now.0)
            .filter(|(before, after)| before != after)
            .count() as u64;
        knobs = now;
        let spare = Spare::of(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
        all.push(Seen {
            at: clock::now(),
            gap: gap(),
            changes,
            spare,
        });
        if let (Some(from), 0) = (live, all.len() % 5) {
            crate::live::tell(from);
        }
        thread::sleep(PERIOD);
    }
    all
}

/// Low minus min, over all zones, in bytes.
pub(crate) fn gap() -> f64 {
    let text = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
    (sum(&text, "low") - sum(&text, "min")) * PAGE
}

fn managed() -> f64 {
    sum(
        &fs::read_to_string("/proc/zoneinfo").unwrap_or_default(),
        "managed",
    ) * PAGE
}

/// A value of every zone, added up.
fn sum(zones: &str, name: &str) -> f64 {
    let value = |line: &str| {
        line.trim_start()
            .strip_prefix(name)?
            .trim()
            .parse::<f64>()
            .ok()
    };
    zones.lines().filter_map(value).sum()
}

/// Follows the kernel's messages: `6,1234,5678901,-;Out of memory: Killed process 321 (hog) …`.
fn read_messages(kills: &Mutex<Vec<(f64, String, String)>>) {
    let Ok(messages) = OpenOptions::new().read(true).open("/dev/kmsg") else {
        return;
    };
    for line in BufReader::new(messages).lines() {
        let Ok(line) = line else { continue };
        if let Some(kill) = killed(&line) {
            kills
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(kill);
        }
    }
}

fn killed(line: &str) -> Option<(f64, String, String)> {
    let (head, text) = line.split_once(';')?;
    let (before, rest) = text.split_once("Killed process ")?;
    let by = if before.contains("cgroup") {
        "cgroup"
    } else {
        "kernel"
    };
    let victim = rest.split_once('(')?.1.split_once(')')?.0;
    let at = head.split(',').nth(2)?.parse::<f64>().ok()? / 1e3;
    Some((at, by.to_owned(), victim.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_kills_are_read() {
        let line = "3,812,61234567,-;Out of memory: Killed process 88 (hog) total-vm:1kB";
        assert_eq!(
            killed(line),
            Some((61234.567, "kernel".to_owned(), "hog".to_owned()))
        );
        let line =
            "3,812,1000,-;Memory cgroup out of memory: Killed process 88 (burst) total-vm:1kB";
        assert_eq!(killed(line).unwrap().1, "cgroup");
        assert_eq!(
            killed("3,812,1000,-;oom-kill:constraint=CONSTRAINT_NONE"),
            None
        );
    }

    #[test]
    fn what_was_spare_is_a_share_and_nothing_without_swap() {
        let text = "MemTotal:  200 kB\nSwapTotal:  80 kB\nSwapFree:  20 kB\nSReclaimable:  4 kB\n";
        let spare = Spare::of(text);
        assert_eq!((spare.swap, spare.slab), (Some(0.25), Some(0.02)));
        assert_eq!(
            Spare::of("MemTotal: 200 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n").swap,
            None
        );
    }

    #[test]
    fn the_gap_is_counted_above_what_was_found() {
        let at = |second: f64, gap: f64| Seen {
            at: second * 1e3,
            gap: gap * MIB,
            changes: 0,
            spare: Spare::default(),
        };
        let seen = vec![
            at(0.0, 1.0),
            at(1.0, 1.0),
            at(2.0, 11.0),
            at(3.0, 11.0),
            at(4.0, 1.0),
            at(5.0, 1.0),
        ];
        let sight = Sight {
            found: MIB,
            seen,
            kills: Vec::new(),
        };
        let gap = sight.gap(
            Window {
                from: 1000.0,
                until: 3000.0,
            },
            5000.0,
        );
        assert_eq!((gap.load_mib_s, gap.calm_mib_s), (15.0, 5.0));
        assert_eq!(gap.mean / MIB, 6.0);
    }
}
