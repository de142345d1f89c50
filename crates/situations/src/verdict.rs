//! Whether what happened is right.

use crate::outcome::{Act, Did, Outcome};
use crate::text::{Do, Right, RightAct, Situation};
use std::fmt;

/// The verdict on an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All that is asked for happened in time, and nothing else.
    Right,
    /// What is asked for happened, but some of it too late.
    Late(Vec<String>),
    /// Something else happened, or something did not.
    Wrong(Vec<String>),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::Late(why) => write!(f, "late: {}", why.join("; ")),
            Self::Wrong(why) => write!(f, "WRONG: {}", why.join("; ")),
        }
    }
}

/// What speaks against an outcome.
#[derive(Debug, Default)]
struct Faults {
    wrong: Vec<String>,
    late: Vec<String>,
}

/// Judges an outcome.
pub fn judge(situation: &Situation, outcome: &Outcome) -> Verdict {
    let right = &situation.right;
    let mut faults = Faults::default();
    faults.judge_required(right, outcome);
    faults.judge_others(right, outcome);
    faults.judge_notice(right, outcome);
    faults.judge_machine(right, outcome);
    if !faults.wrong.is_empty() {
        faults.wrong.extend(faults.late);
        Verdict::Wrong(faults.wrong)
    } else if !faults.late.is_empty() {
        Verdict::Late(faults.late)
    } else {
        Verdict::Right
    }
}

/// Whether an act is of the kind that is asked for.
fn is_of_kind(did: Did, what: Do) -> bool {
    match what {
        Do::Throttle => did == Did::Throttle,
        Do::Ask => did == Did::Ask,
        Do::Term => did == Did::Term,
        Do::Kill => did == Did::Kill,
        Do::End => matches!(did, Did::Term | Did::Kill),
    }
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

impl Faults {
    /// What must be done was done, in time.
    fn judge_required(&mut self, right: &Right, outcome: &Outcome) {
        for wanted in &right.acts {
            let fits = |act: &&Act| is_of_kind(act.did, wanted.what) && act.met(&wanted.whom);
            let Some(act) = outcome.acts.iter().find(fits) else {
                if !kernel_ended(right, wanted, outcome) {
                    self.wrong.push(format!("no {}", said(wanted)));
                }
                continue;
            };
            let shown = act.shown();
            if act.at < wanted.not_before.millis() {
                let earliest = seconds(wanted.not_before.millis());
                self.wrong.push(format!("{shown}, before {earliest} s"));
            } else if act.at > wanted.by.millis() {
                let latest = seconds(wanted.by.millis());
                self.late.push(format!("{shown}, after {latest} s"));
            }
        }
    }

    /// Nothing was done to any other.
    fn judge_others(&mut self, right: &Right, outcome: &Outcome) {
        let mut signalled = 0;
        for act in &outcome.acts {
            let is_limit = act.did == Did::Throttle;
            if matches!(act.did, Did::Term | Did::Kill) {
                signalled += act.whom.len() as u32;
            }
            let kept = |names: &&Vec<String>| {
                let is_never = right.never.iter().any(|name| names.contains(name));
                let lives = right.lives.iter().any(|name| names.contains(name));
                let is_allowed = right.allows(names);
                if is_limit {
                    is_never || right.quiet
                } else {
                    is_never || lives || !is_allowed
                }
            };
            if let Some(names) = act.whom.iter().find(kept) {
                let name = names.first().map(String::as_str).unwrap_or_default();
                let fault = if act.whom.len() > 1 {
                    format!("{}, {name} among them", act.shown())
                } else {
                    act.shown()
                };
                if !self.wrong.contains(&fault) {
                    self.wrong.push(fault);
                }
            }
        }
        if let Some(most) = right.signalled_at_most.filter(|most| signalled > *most) {
            self.wrong
                .push(format!("{signalled} signals, {most} at most"));
        }
    }

    fn judge_notice(&mut self, right: &Right, outcome: &Outcome) {
        if right.quiet {
            let is_alarm = |text: &str| text.contains("distress") || text.contains("no-culprit");
            if let Some((at, text)) = outcome.notices.iter().find(|(_, text)| is_alarm(text)) {
                self.wrong
                    .push(format!("{:.1} s said {text}", seconds(*at)));
            }
        }
        let Some(words) = &right.notice else { return };
        let says = |text: &str| {
            let text = text.to_lowercase();
            words.split('|').any(|word| text.contains(word.trim()))
        };
        let said = outcome.notices.iter().find(|(_, text)| says(text));
        match (said, right.notice_by) {
            (None, _) => self.wrong.push(format!("not a word of {words}")),
            (Some((at, _)), Some(by)) if *at > by.millis() => self.late.push(format!(
                "a word of {words} at {:.1} s, after {} s",
                seconds(*at),
                seconds(by.millis())
            )),
            _ => {}
        }
    }

    fn judge_machine(&mut self, right: &Right, outcome: &Outcome) {
        for (at, names) in &outcome.kernel_kills {
            let name = names.first().map(String::as_str).unwrap_or_default();
            let lived = right.lives.iter().any(|name| names.contains(name));
            let is_fine = right.kernel_may_end && right.allows(names);
            if (right.no_kernel_kill && !is_fine) || lived {
                self.wrong
                    .push(format!("{:.1} s the kernel killed {name}", seconds(*at)));
            }
        }
        for (wanted, reached) in right.reaches.iter().zip(&outcome.reached) {
            let by = seconds(wanted.by.millis());
            let what = format!("{} of {}", wanted.size.0, wanted.whom);
            match reached {
                None => self.wrong.push(format!("never reaches {what}")),
                Some(at) if *at > wanted.by.millis() => self
                    .late
                    .push(format!("{what} at {:.1} s, after {by} s", seconds(*at))),
                Some(_) => {}
            }
        }
        for name in &outcome.missing {
            self.wrong.push(format!("{name} does not live"));
        }
        if outcome.crossed > 0 {
            self.wrong
                .push("signals beside those of the other guard".to_owned());
        }
        let most = right.stalled_at_most.map(crate::text::Time::millis);
        if let Some(most) = most.filter(|most| outcome.stalled > *most) {
            self.wrong.push(format!(
                "all tasks stalled {:.1} s, {:.1} s at most",
                seconds(outcome.stalled),
                seconds(most)
            ));
        }
    }
}

/// Whether the kernel did what was asked for, and may.
fn kernel_ended(right: &Right, wanted: &RightAct, outcome: &Outcome) -> bool {
    let mut kills = outcome.kernel_kills.iter();
    right.kernel_may_end
        && wanted.what == Do::End
        && kills.any(|(at, names)| names.contains(&wanted.whom) && *at <= wanted.by.millis())
}

fn said(act: &RightAct) -> String {
    let what = match act.what {
        Do::Throttle => "throttle of",
        Do::Ask => "question about",
        Do::Term => "SIGTERM to",
        Do::Kill => "SIGKILL to",
        Do::End => "end of",
    };
    format!("{what} {}", act.whom)
}
