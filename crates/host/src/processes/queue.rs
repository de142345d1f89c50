//! Who runs or waits to run, in the order in which they are to: `/proc/PID/sched`, where the kernel has it.

use super::Processes;
use super::table::read_at;
use crate::parse::lines::number;
use arrayvec::ArrayVec;
use pressure::local::{MAX_RUNNERS, Runner};
use pressure::scan::ProcessScan;

const FIELD: &[u8] = b"se.vruntime";

impl Processes {
    /// Tells who runs, the next first, as of the last look. The guard itself, which runs to ask, is left out.
    pub fn queue(&self, scan: &mut ProcessScan) {
        scan.runners.clear();
        for entry in self.table.runnable() {
            if entry.pid == std::process::id() {
                continue;
            }
            let mut buffer = [0; 1024];
            let turn = read_at(&self.proc, entry.pid, "sched", &mut buffer).and_then(turn);
            if let Some(turn) = turn {
                let (identity, name, resident) = (
                    entry.identity(),
                    entry.name,
                    entry.resident.to_bytes(self.page_size),
                );
                put(
                    &mut scan.runners,
                    Runner {
                        identity,
                        name,
                        resident,
                        turn,
                    },
                );
            }
        }
    }
}

/// Puts one in its place; where there are too many, one in the middle goes.
fn put(runners: &mut ArrayVec<Runner, MAX_RUNNERS>, one: Runner) {
    if runners.is_full() {
        runners.remove(MAX_RUNNERS / 2);
    }
    let place = runners.partition_point(|other| other.turn <= one.turn);
    runners.insert(place, one);
}

/// `se.vruntime  :  123.456789`: milliseconds, in ns.
fn turn(text: &[u8]) -> Option<u64> {
    let line = text
        .split(|byte| *byte == b'\n')
        .find(|line| line.starts_with(FIELD))?;
    let value = line.rsplit(|byte| *byte == b':').next()?.trim_ascii();
    let dot = value.iter().position(|byte| *byte == b'.')?;
    let (whole, part) = (number(&value[..dot])?, value.get(dot + 1..dot + 7)?);
    whole.checked_mul(1_000_000)?.checked_add(number(part)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_in_nanoseconds() {
        let sched = b"sh (7, #threads: 1)\n---\nse.exec_start   :   9.0\nse.vruntime   :   1234.567890\nx\n";
        assert_eq!(turn(sched), Some(1_234_567_890));
        assert_eq!(turn(b"se.vruntime : -1.000000"), None);
        assert_eq!(turn(b""), None);
    }

    #[test]
    fn of_many_the_first_and_the_last_stay() {
        let mut runners = ArrayVec::new();
        for turn in (0..100).map(|number| number * 37 % 100) {
            let (identity, name) = (
                pressure::scan::Identity { pid: 1, start: 1 },
                "sh".parse().unwrap(),
            );
            put(
                &mut runners,
                Runner {
                    identity,
                    name,
                    resident: units::Bytes::ZERO,
                    turn,
                },
            );
        }
        assert!(runners.is_full() && runners.is_sorted_by_key(|runner| runner.turn));
        assert_eq!((runners[0].turn, runners[MAX_RUNNERS - 1].turn), (0, 99));
    }

    #[test]
    fn who_runs_is_in_the_queue_and_who_sleeps_is_not() {
        let spawn = |program: &str, argument: &str| {
            std::process::Command::new(program)
                .arg(argument)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        };
        let (mut busy, mut idle) = (spawn("yes", "x"), spawn("sleep", "600"));
        let mut processes =
            Processes::open(std::path::Path::new("/"), units::Bytes::kib(4)).unwrap();
        let mut scan = ProcessScan::default();
        let mut found = (false, true);
        // A kernel without CONFIG_SCHED_DEBUG has no turns to tell.
        let right = (std::path::Path::new("/proc/self/sched").exists(), false);
        // Both run until they have begun, which takes long where others run too.
        for at in 1..3000 {
            processes.look(units::Span::secs(at), &mut scan);
            processes.queue(&mut scan);
            let has = |pid| scan.runners.iter().any(|runner| runner.identity.pid == pid);
            found = (has(busy.id()), has(idle.id()));
            assert!(scan.runners.is_sorted_by_key(|runner| runner.turn));
            if found == right {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        for child in [&mut busy, &mut idle] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found, right);
    }
}
