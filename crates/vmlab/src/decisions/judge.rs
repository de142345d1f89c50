//! From what was seen to a verdict, by the same `[right]` and the same judge as the model's runs.
//!
//! Three things differ. Deadlines are later, as an emulated machine is slower. Without a guard the kernel is what decides, so
//! that its OOM kill counts as SIGKILL there. And throttling, questions and notices are asked of Warmset alone: no other arm
//! knows them.

use super::arms::Arm;
use super::play::Seen;
use super::staging::Stage;
use anyhow::Result;
use situations::text::{Do, Time};
use situations::{Act, Did, Outcome, Situation, Verdict, judge};
use units::Span;

/// What was seen may come sooner than the text says by so many parts: the machine's own programs take memory that does not
/// shrink with the rest.
const SOONER: u32 = 2;
/// A program reaches what it wants once it holds so much of it, in percent: sizes are whole pages.
const REACHED: u64 = 98;

/// The verdict on one run.
pub fn verdict(situation: &Situation, arm: &Arm, seen: &Seen) -> Result<Verdict> {
    let stage = Stage::of(situation)?;
    let asked = asked_of(situation, arm, stage.slower());
    Ok(judge(&asked, &outcome(&stage, situation, arm, seen)))
}

/// The situation with what is asked of this arm, and its deadlines in an emulated machine.
fn asked_of(situation: &Situation, arm: &Arm, slower: u32) -> Situation {
    let mut asked = situation.clone();
    let right = &mut asked.right;
    let later = |time: &mut Time| *time = Time(Span::new(time.get() * slower));
    for act in &mut right.acts {
        later(&mut act.by);
        act.not_before = Time(Span::new(act.not_before.get() / SOONER));
    }
    for reaches in &mut right.reaches {
        later(&mut reaches.by);
    }
    right.notice_by.iter_mut().for_each(later);
    right.stalled_at_most.iter_mut().for_each(later);
    if arm.says_and_throttles() {
        return asked;
    }
    right
        .acts
        .retain(|act| !matches!(act.what, Do::Throttle | Do::Ask));
    right.notice = None;
    right.notice_by = None;
    // A guard that sends SIGKILL at once ends a process, too.
    for act in &mut right.acts {
        if matches!(act.what, Do::Term | Do::Kill) {
            act.what = Do::End;
        }
    }
    asked
}

/// What was seen, as the model tells it.
fn outcome(stage: &Stage<'_>, situation: &Situation, arm: &Arm, seen: &Seen) -> Outcome {
    let mut outcome = Outcome {
        stalled: seen.stalled_ms.unwrap_or_default(),
        ..Outcome::default()
    };
    for limit in &seen.limits {
        let parts = limit.cgroup.split('/').filter(|part| !part.is_empty());
        outcome.acts.push(Act {
            at: limit.at.max(0) as u64,
            did: if limit.frozen {
                Did::Ask
            } else {
                Did::Throttle
            },
            whom: vec![parts.map(str::to_owned).collect()],
        });
    }
    for signal in &seen.signals {
        let names = names(stage, signal.role);
        let Some(names) = names.filter(|_| signal.at >= 0) else {
            continue;
        };
        outcome.acts.push(Act {
            at: signal.at as u64,
            did: if signal.signal == 9 {
                Did::Kill
            } else {
                Did::Term
            },
            whom: vec![names],
        });
    }
    let is_the_guard = arm.service.is_none();
    for kill in seen.kernel_kills.iter().filter(|kill| !kill.by_limit) {
        let own = || vec![kill.name.clone()];
        let names = kill
            .role
            .and_then(|role| names(stage, role))
            .unwrap_or_else(own);
        let at = kill.at.max(0) as u64;
        if is_the_guard {
            outcome.acts.push(Act {
                at,
                did: Did::Kill,
                whom: vec![names],
            });
        } else {
            outcome.kernel_kills.push((at, names));
        }
    }
    outcome.acts.sort_by_key(|act| act.at);
    for (at, text) in &seen.log {
        if *at >= 0 {
            outcome.notices.push((*at as u64, text.clone()));
        }
    }
    for name in &situation.right.lives {
        let is_left = seen.left.iter().any(|left| {
            let names = names(stage, left.role);
            names.is_some_and(|names| names.contains(name))
        });
        if !is_left {
            outcome.missing.push(name.clone());
        }
    }
    for wanted in &situation.right.reaches {
        let mut reached = seen.reached.iter();
        let found = reached.find(|(role, _)| {
            let names = names(stage, *role);
            names.is_some_and(|names| names.contains(&wanted.whom))
        });
        outcome.reached.push(found.map(|(_, at)| *at));
    }
    outcome
}

/// All that a member of the cast is called by; `None` if it is the lab's own.
fn names(stage: &Stage<'_>, role: usize) -> Option<Vec<String>> {
    let program = stage.program_of(role)?;
    let mut names = vec![program.name.clone()];
    names.extend(program.called.clone());
    let parts = program.unit.split('/').filter(|part| !part.is_empty());
    names.extend(parts.map(str::to_owned));
    Some(names)
}

/// The size at which a program has reached what it wants.
pub(super) fn reached(wanted: u64) -> u64 {
    wanted / 100 * REACHED
}

#[cfg(test)]
mod tests {
    use super::super::play::{KernelKillSeen, LeftSeen, LimitSeen, SignalSeen};
    use super::*;

    const TEXT: &str = r#"
kind = "lone-hog"
title = "A hog"
source = "a test"
[machine]
memory = "8 GiB"
[[program]]
name = "editor"
has = "800 MiB"
[[program]]
name = "hog"
unit = "/system.slice/hog.service"
user = 990
starts = "2 s"
grows = "80 MiB/s"
[right]
acts = [
    { do = "throttle", whom = "hog.service", by = "10 s" },
    { do = "end", whom = "hog", by = "20 s", not-before = "10 s" },
]
lives = ["editor"]
notice = "memory"
[vm]
memory = "512 MiB"
"#;

    fn seen(role: usize, at: i64) -> Seen {
        let signal = SignalSeen {
            at,
            signal: 15,
            by: "guard".to_owned(),
            role,
            pid: 7,
        };
        Seen {
            signals: vec![signal],
            left: vec![LeftSeen { role: 0, count: 1 }],
            ..Seen::default()
        }
    }

    fn of(arm: &str, seen: &Seen) -> Verdict {
        let situation = Situation::parse("test", TEXT).unwrap();
        verdict(&situation, &Arm::named(arm).unwrap(), seen).unwrap()
    }

    #[test]
    fn the_right_process_in_time_is_right_and_later_is_late() {
        assert_eq!(of("earlyoom", &seen(1, 15_000)), Verdict::Right);
        assert_eq!(
            of("earlyoom", &seen(1, 39_000)),
            Verdict::Right,
            "twice as late"
        );
        assert!(matches!(of("earlyoom", &seen(1, 41_000)), Verdict::Late(_)));
        assert!(matches!(of("earlyoom", &seen(1, 4_000)), Verdict::Wrong(_)));
    }

    #[test]
    fn another_process_or_nobody_is_wrong() {
        let Verdict::Wrong(why) = of("nohang", &seen(0, 15_000)) else {
            panic!("the editor was signalled");
        };
        assert!(why.join(" ").contains("SIGTERM editor"), "{why:?}");
        let nobody = Seen {
            signals: Vec::new(),
            ..seen(1, 0)
        };
        assert!(matches!(of("nohang", &nobody), Verdict::Wrong(_)));
    }

    #[test]
    fn a_program_that_must_live_and_does_not_is_wrong() {
        let gone = Seen {
            left: Vec::new(),
            ..seen(1, 15_000)
        };
        let Verdict::Wrong(why) = of("earlyoom", &gone) else {
            panic!("the editor is gone");
        };
        assert!(why.join(" ").contains("editor does not live"), "{why:?}");
    }

    #[test]
    fn throttling_and_notices_are_asked_of_warmset_alone() {
        let mut seen = seen(1, 15_000);
        assert_eq!(of("systemd-oomd", &seen), Verdict::Right);
        assert!(matches!(of("warmset", &seen), Verdict::Wrong(_)));
        seen.limits.push(LimitSeen {
            at: 9_000,
            cgroup: "/system.slice/hog.service".to_owned(),
            frozen: false,
        });
        seen.log.push((9_000, "memory runs out".to_owned()));
        assert_eq!(of("warmset", &seen), Verdict::Right);
    }

    #[test]
    fn an_oom_kill_is_the_kernels_decision_and_a_fault_of_any_guard() {
        let kill = KernelKillSeen {
            at: 15_000,
            role: Some(1),
            name: "hog".to_owned(),
            pid: 7,
            by_limit: false,
        };
        let killed = Seen {
            signals: Vec::new(),
            kernel_kills: vec![kill],
            ..seen(1, 0)
        };
        assert_eq!(of("none", &killed), Verdict::Right);
        assert!(matches!(of("earlyoom", &killed), Verdict::Wrong(_)));
    }
}
