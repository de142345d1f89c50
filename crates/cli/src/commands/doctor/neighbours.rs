//! What else does a part of the guard's work here, and lines of sysctl files that have no effect.

use super::finding::{Case, Finding};
use crate::predecessor::Predecessor;
use host::{Acts, Rival, RivalKind, SysctlLine, WithoutEffect};
use pressure::knob::{Knob, KnobSet};

pub(super) fn rivals(case: &Case) -> Vec<Finding> {
    let rivals = &case.observed.rivals;
    if rivals.is_empty() {
        return vec![Finding::ok("nothing else tunes or guards memory here")];
    }
    rivals.iter().map(rival).collect()
}

fn rival(rival: &Rival) -> Finding {
    let what = rival.to_string();
    match rival.kind {
        RivalKind::Tuner => tuner(rival),
        RivalKind::Guard => guard(rival),
        RivalKind::Limiter => Finding::advice(
            what,
            "What it takes from programs looks like less demand, so what is measured includes its work.",
            "Nothing, if that is wanted.",
        ),
        RivalKind::Damon => Finding::advice(
            what,
            "It reclaims by its own rules, so the demand that is measured includes its work.",
            "Nothing, if that is wanted.",
        ),
        RivalKind::Sysctl => Finding::advice(
            what,
            "A value was fixed by hand; the guard starts from it and never goes below it.",
            "Delete the line to leave the knob to the guard.",
        ),
        RivalKind::Protector | RivalKind::Neighbour | RivalKind::Floors => Finding::ok(what),
    }
}

fn tuner(rival: &Rival) -> Finding {
    let what = rival.to_string();
    let Acts::Sets { knobs, .. } = &rival.acts else {
        return Finding::ok(what);
    };
    let knobs = *knobs;
    if knobs == Some(KnobSet::NONE) {
        return Finding::ok(what);
    }
    let remedy = match Predecessor::of(rival) {
        Some(predecessor) => take_over(predecessor),
        None => "Nothing, if that is wanted. Otherwise choose a profile without these knobs: tuned-adm list shows them."
            .to_owned(),
    };
    let why = "Two programs on one knob undo each other's work, so only one of them drives it.";
    if knobs.is_none() {
        return Finding::problem(
            what,
            why,
            "Choose a profile that can be read: tuned-adm active shows which it is.",
        );
    }
    Finding::advice(what, why, remedy)
}

fn guard(rival: &Rival) -> Finding {
    let what = rival.to_string();
    let kills_nothing = match &rival.acts {
        Acts::KillsNothing(_) => true,
        Acts::KillsIn(monitored) => monitored.places(true).is_none(),
        _ => false,
    };
    if kills_nothing {
        return Finding::ok(what);
    }
    let remedy = match Predecessor::of(rival) {
        Some(predecessor) => take_over(predecessor),
        None => "Nothing, if that is wanted.".to_owned(),
    };
    Finding::advice(
        what,
        "Two guards would each kill for the same shortage, so only one of them does.",
        remedy,
    )
}

fn take_over(predecessor: Predecessor) -> String {
    format!(
        "Nothing, if that is wanted. To take over: sudo warmset take-over {}",
        predecessor.name()
    )
}

/// Lines for our knobs that somebody wrote and that do nothing. Names below `vm` that we do not drive are left out: no
/// other check speaks of them.
pub(super) fn sysctl_lines(case: &Case) -> Vec<Finding> {
    let lines = &case.settings.sysctl_lines;
    let ours = lines.iter().filter(|line| is_of_interest(&line.key));
    ours.filter_map(without_effect).collect()
}

fn is_of_interest(key: &str) -> bool {
    let others = [
        "vm.overcommit_memory",
        "vm.zone_reclaim_mode",
        "vm.dirty_bytes",
        "vm.dirty_background_bytes",
    ];
    Knob::from_name(key).is_some() || others.contains(&key)
}

fn without_effect(line: &SysctlLine) -> Option<Finding> {
    let SysctlLine { key, value, .. } = line;
    let place = line.place();
    match line.without_effect.as_ref()? {
        WithoutEffect::Hidden { by } => Some(Finding::advice(
            format!("{place}: {key} = {value} has no effect: {by} hides this file"),
            "Of files of one name only that in the first directory is read: etc, run, usr/local/lib, usr/lib.",
            format!(
                "Nothing, if that is wanted. Otherwise delete {by}, or write the line into a file of another name."
            ),
        )),
        // The same value again changes nothing.
        WithoutEffect::Overridden { value: later, .. } if later == value => None,
        WithoutEffect::Overridden { by, value: later } => Some(Finding::advice(
            format!("{place}: {key} = {value} has no effect: {by} sets {later} later"),
            "Files are read in the order of their names, whatever their directory, and the last line counts.",
            "Delete one of the two lines.",
        )),
    }
}
