//! One tick: was a watermark reached, and on which process is to be pressed?

use crate::process::Process;
use crate::processes::{Candidate, Scan};
use crate::rule::{Rule, Target, Way};
use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use std::time::Duration;
use units::Bytes;

/// A larger process is not pressed on: taking its accessed bits back would hold up its page faults
/// for about 5 ms a GiB, so 20 ms at this size.
const LARGEST: Bytes = Bytes::mib(4096);
/// Processes are looked at for so long after memory was last short: a look costs more than a tick,
/// and memory that was short is likely to be short again.
const WATCHFUL: Duration = Duration::from_secs(5);
/// Least time between two looks, as the guard has it.
const PACE: Duration = Duration::from_millis(180);

/// Counters of `/proc/vmstat` that tell of reclaim.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VmStat {
    /// Pages that kswapd has freed.
    pub(crate) kswapd: u64,
    /// Allocations that had to reclaim memory themselves, over all zones.
    pub(crate) stalls: u64,
}

impl VmStat {
    /// Reads the counters of the machine at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let path = root.join("proc/vmstat");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else {
                continue;
            };
            let value: u64 = value.trim().parse().unwrap_or(0);
            if name == "pgsteal_kswapd" {
                counters.kswapd = value;
            } else if name.starts_with("allocstall_") {
                counters.stalls += value;
            }
        }
        counters
    }
}

/// Pressure on one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Push {
    pub(crate) way: Way,
    pub(crate) process: Process,
}

/// What came of a tick.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick {
    /// Processes, if they were looked at anew.
    pub(crate) scan: Option<Scan>,
    /// The process to press on, if one is.
    pub(crate) push: Option<Push>,
}

/// Decides, tick by tick.
#[derive(Debug)]
pub(crate) struct Ticker {
    rule: Rule,
    every: Duration,
    before: Option<(Duration, VmStat)>,
    last_short: Option<Duration>,
    last_look: Option<Duration>,
    scan: Scan,
}

impl Ticker {
    /// One that has seen nothing yet.
    pub(crate) fn new(rule: Rule, every: Duration) -> Self {
        Self {
            rule,
            every,
            before: None,
            last_short: None,
            last_look: None,
            scan: Scan::default(),
        }
    }

    /// A tick at `now`, since boot.
    pub(crate) fn tick(&mut self, root: &Path, now: Duration, vmstat: VmStat) -> Tick {
        self.tick_by(now, vmstat, || Scan::take(root))
    }

    fn tick_by(&mut self, now: Duration, vmstat: VmStat, look: impl FnOnce() -> Scan) -> Tick {
        let mut tick = Tick::default();
        if self.is_look_due(now) {
            self.scan = look();
            self.last_look = Some(now);
            tick.scan = Some(self.scan.clone());
        }
        let Some((then, before)) = self.before.replace((now, vmstat)) else {
            return tick;
        };
        let kswapd_ran = vmstat.kswapd > before.kswapd;
        if kswapd_ran || vmstat.stalls > before.stalls {
            self.last_short = Some(now);
        }
        if kswapd_ran && self.is_new_slot(then, now) {
            tick.push = self.push();
        }
        tick
    }

    /// Whether memory was short a moment ago, and processes were not looked at since.
    fn is_look_due(&mut self, now: Duration) -> bool {
        let since = |then: Option<Duration>| then.map(|then| now.saturating_sub(then));
        let is_watchful = since(self.last_short).is_some_and(|calm| calm < WATCHFUL);
        if !is_watchful {
            self.scan = Scan::default();
            return false;
        }
        since(self.last_look).is_none_or(|ago| ago >= PACE)
    }

    /// Whether the ticks lie in different slots of `every`: true once in each, whatever the pace.
    fn is_new_slot(&self, then: Duration, now: Duration) -> bool {
        let slot = self.every.as_nanos();
        then.as_nanos() / slot != now.as_nanos() / slot
    }

    /// The process that the rule chooses; `None` if there is none, or it is too large.
    fn push(&self) -> Option<Push> {
        let Rule::Press(way, target) = self.rule else {
            return None;
        };
        let process = match target {
            Target::Largest => largest(&self.scan.candidates)?,
            Target::Next => &self.scan.runners.first()?.process,
            Target::Last => &self.scan.runners.last()?.process,
        };
        if process.resident > LARGEST {
            return None;
        }
        Some(Push {
            way,
            process: process.clone(),
        })
    }
}

/// The largest in RAM, files included.
fn largest(candidates: &[Candidate]) -> Option<&Process> {
    candidates
        .iter()
        .map(|candidate| &candidate.process)
        .max_by_key(|process| process.resident)
}

/// Time since boot.
pub(crate) fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // The monotonic clock is never negative.
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::tests::sample;
    use crate::queue::Runner;

    const EVERY: Duration = Duration::from_millis(250);
    const TICK: Duration = Duration::from_millis(100);

    /// Two that run, of which the last is the largest of all.
    fn scan() -> Scan {
        let runner = |pid, mib, vruntime| Runner {
            process: sample(pid, mib),
            vruntime,
        };
        let candidate = |pid, mib| Candidate {
            process: sample(pid, mib),
            anon: Bytes::mib(mib),
            swapped: Bytes::ZERO,
        };
        Scan {
            candidates: vec![candidate(10, 20), candidate(11, 90)],
            runners: vec![runner(10, 20, 5), runner(11, 90, 7)],
        }
    }

    /// A machine on which kswapd frees so many pages in each tick.
    struct Machine {
        ticker: Ticker,
        now: Duration,
        vmstat: VmStat,
        looks: u64,
    }

    impl Machine {
        fn new(rule: Rule) -> Self {
            Self {
                ticker: Ticker::new(rule, EVERY),
                now: Duration::from_secs(1000),
                vmstat: VmStat::default(),
                looks: 0,
            }
        }

        fn live(&mut self, seconds: u64, freed: u64, of: &Scan) -> Vec<Push> {
            let mut pushes = Vec::new();
            for _ in 0..seconds * 10 {
                self.now += TICK;
                self.vmstat.kswapd += freed;
                let tick = self.ticker.tick_by(self.now, self.vmstat, || of.clone());
                self.looks += u64::from(tick.scan.is_some());
                pushes.extend(tick.push);
            }
            pushes
        }
    }

    #[test]
    fn each_rule_presses_on_its_own_process_and_not_too_often() {
        for (rule, way, pid) in [
            (Rule::Press(Way::Up, Target::Largest), Way::Up, 11),
            (Rule::Press(Way::Up, Target::Next), Way::Up, 10),
            (Rule::Press(Way::Up, Target::Last), Way::Up, 11),
            (Rule::Press(Way::Down, Target::Largest), Way::Down, 11),
            (Rule::Press(Way::Down, Target::Next), Way::Down, 10),
            (Rule::Press(Way::Down, Target::Last), Way::Down, 11),
        ] {
            let mut machine = Machine::new(rule);
            let pushes = machine.live(10, 700, &scan());
            assert!(
                pushes
                    .iter()
                    .all(|push| push.way == way && push.process.pid == pid),
                "{rule:?} {pushes:?}"
            );
            let count = pushes.len();
            assert!(
                (30..=40).contains(&count),
                "four a second, not {count} in ten"
            );
        }
    }

    #[test]
    fn nothing_is_pressed_on_without_a_watermark() {
        let mut machine = Machine::new(Rule::Press(Way::Up, Target::Largest));
        assert!(!machine.live(2, 700, &scan()).is_empty());
        assert!(machine.live(10, 0, &scan()).is_empty());
        machine.looks = 0;
        machine.live(10, 0, &scan());
        assert_eq!(machine.looks, 0, "a calm machine is not looked at");
    }

    #[test]
    fn watch_looks_as_the_others_do_and_presses_on_none() {
        let mut watching = Machine::new(Rule::Watch);
        assert!(watching.live(10, 700, &scan()).is_empty());
        let mut pressing = Machine::new(Rule::Press(Way::Up, Target::Next));
        pressing.live(10, 700, &scan());
        assert_eq!(watching.looks, pressing.looks);
        assert!((45..=50).contains(&watching.looks), "{}", watching.looks);
    }

    #[test]
    fn a_process_above_4_gib_is_left_alone() {
        let mut large = scan();
        large.candidates[1].process.resident = Bytes::mib(5000);
        let mut machine = Machine::new(Rule::Press(Way::Up, Target::Largest));
        assert!(machine.live(2, 700, &large).is_empty());
    }

    #[test]
    fn counters_of_vmstat_are_found() {
        let text = "nr_free_pages 7\nallocstall_dma 1\nallocstall_normal 2\npgsteal_kswapd 9\n";
        let expected = VmStat {
            kswapd: 9,
            stalls: 3,
        };
        assert_eq!(VmStat::parse(text), expected);
        assert!(VmStat::read(Path::new("/")).is_ok());
    }
}
