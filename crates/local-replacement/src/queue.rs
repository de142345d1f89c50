//! Processes that run or wait to run, in the order in which the kernel runs them, by
//! `/proc/PID/sched`, which a kernel has only with `CONFIG_SCHED_DEBUG`.

use crate::process::Process;
use std::fs;
use std::path::Path;

/// Runners in one scan, at most. Of more, some in the middle are left out, which changes nothing: the
/// rules ask for the first and the last only.
const MAX_RUNNERS: usize = 16;
/// The line that has the virtual run time.
const FIELD: &str = "se.vruntime";

/// A process that runs or waits to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runner {
    pub(crate) process: Process,
    /// Virtual run time in ns: the kernel runs the process that has least.
    pub(crate) vruntime: u64,
}

/// Those of `processes` that run or wait to run, the next first.
pub(crate) fn of(proc: &Path, processes: &[Process]) -> Vec<Runner> {
    let mut runners = Vec::new();
    for process in processes {
        if !process.runs {
            continue;
        }
        let directory = proc.join(process.pid.to_string());
        let path = directory.join("sched");
        let text = fs::read_to_string(path).unwrap_or_default();
        let Some(vruntime) = vruntime(&text) else {
            continue;
        };
        let runner = Runner {
            process: process.clone(),
            vruntime,
        };
        insert(&mut runners, runner);
    }
    runners
}

/// Puts a runner in its place; where there are too many, one in the middle goes.
fn insert(runners: &mut Vec<Runner>, runner: Runner) {
    if runners.len() == MAX_RUNNERS {
        runners.remove(MAX_RUNNERS / 2);
    }
    let place = runners.partition_point(|other| other.vruntime <= runner.vruntime);
    runners.insert(place, runner);
}

/// `se.vruntime  :  123.456789`: milliseconds, returned in ns. `None` if the line is missing, or
/// the time is negative.
fn vruntime(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with(FIELD))?;
    let (_, value) = line.rsplit_once(':')?;
    let (millis, rest) = value.trim().split_once('.')?;
    let millis: u64 = millis.parse().ok()?;
    let rest = rest.get(..6)?;
    let nanos: u64 = rest.parse().ok()?;
    let whole = millis.checked_mul(1_000_000)?;
    whole.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::Scan;
    use crate::processes::tests::sample;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn virtual_run_time_is_in_nanoseconds() {
        let sched =
            "sh (7, #threads: 1)\n---\nse.exec_start   :   9.0\nse.vruntime   :   1234.567890\nx\n";
        assert_eq!(vruntime(sched), Some(1_234_567_890));
        assert_eq!(vruntime("se.vruntime : -1.000000"), None);
        assert_eq!(vruntime(""), None);
    }

    #[test]
    fn of_many_the_first_and_the_last_stay() {
        let mut runners = Vec::new();
        for number in 0..100 {
            let runner = Runner {
                process: sample(1, 1),
                vruntime: number * 37 % 100,
            };
            insert(&mut runners, runner);
        }
        assert_eq!(runners.len(), MAX_RUNNERS);
        assert!(runners.is_sorted_by_key(|runner| runner.vruntime));
        assert_eq!(runners[0].vruntime, 0);
        assert_eq!(runners[MAX_RUNNERS - 1].vruntime, 99);
    }

    #[test]
    fn a_busy_process_is_in_the_queue_and_a_sleeping_one_is_not() {
        let spawn = |program: &str, argument: &str| {
            Command::new(program)
                .arg(argument)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut busy = spawn("yes", "x");
        let mut idle = spawn("sleep", "600");
        // A kernel without CONFIG_SCHED_DEBUG tells no virtual run times.
        let is_told = Path::new("/proc/self/sched").exists();
        let expected = (is_told, false);
        let mut found = (false, true);
        // Both run until they have begun, which takes long on a loaded machine.
        for _ in 0..3000 {
            let scan = Scan::take(Path::new("/"));
            let has = |pid| scan.runners.iter().any(|runner| runner.process.pid == pid);
            found = (has(busy.id()), has(idle.id()));
            assert!(scan.runners.is_sorted_by_key(|runner| runner.vruntime));
            if found == expected {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for child in [&mut busy, &mut idle] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found, expected);
    }
}
