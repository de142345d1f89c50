//! Units: which one grows, and whether it may be limited or killed whole.

use super::inputs::{eligible, growth_of, share_of_growth};
use super::{CULPRIT, Extent, Inputs, Pick};
use crate::distress::growth::Growth;
use crate::scan::{Candidate, Group, Life, Place};
use units::{Bytes, Percent, Rate};

/// A process stands out in its unit if it holds this share of it, or makes this share of its growth.
const STANDS_OUT: Percent = Percent::new(75);
/// Parts of names that terminals give the units that they run in. Such a unit has a shell and whatever
/// was started in it: an editor, a build, a session on another machine.
const TERMINALS: &[&str] = &[
    "terminal",
    "konsole",
    "xterm",
    "kitty",
    "alacritty",
    "foot",
    "wezterm",
    "ghostty",
    "ptyxis",
    "tilix",
    "vte-spawn",
    "tmux",
    "screen",
    "kgx",
    "terminator",
    "urxvt",
    "yakuake",
    "guake",
];

/// The fastest grower of the unit that grows fastest, if the unit is one application or service.
pub(super) fn unit_that_grows(inputs: Inputs<'_>) -> Option<Pick> {
    let least_growth = share_of_growth(inputs, CULPRIT);
    let mut best: Option<(Rate, Pick)> = None;
    for candidate in eligible(inputs).filter(|candidate| candidate.place.is_of_its_own()) {
        let Some(unit) = inputs.growths.of_unit(candidate) else {
            continue;
        };
        let Some(own) = growth_of(inputs, candidate) else {
            continue;
        };
        if unit.rate.get() < least_growth || own.rate == Rate::ZERO {
            continue;
        }
        let is_better = best.as_ref().is_none_or(|(rate, pick)| {
            unit.rate > *rate || (unit.rate == *rate && own.rate > pick.growth.rate)
        });
        if is_better {
            best = Some((unit.rate, Pick::alone(inputs, candidate, own)));
        }
    }
    best.map(|(_, pick)| pick)
}

/// The whole unit, if it is one program's, no process stands out in it and none is exempt.
pub(crate) fn extent(inputs: Inputs<'_>, candidate: &Candidate, growth: Growth) -> Extent {
    let Some(group) = limitable_unit(inputs, candidate) else {
        return Extent::Process;
    };
    let is_alone = group.processes < 2 || group.one_by_one;
    // With `OOMPolicy=kill` the unit's administrator says that no part of it is of use alone.
    let goes_together = group.oom_group.unwrap_or(false) || is_one_programs(inputs, &group);
    if is_alone || !goes_together || stands_out(inputs, candidate, &group, growth) {
        Extent::Process
    } else {
        Extent::Unit
    }
}

/// The unit of a candidate, if it is one application, service or container: no terminal, no session, and
/// no process in it is exempt.
pub(crate) fn limitable_unit(inputs: Inputs<'_>, candidate: &Candidate) -> Option<Group> {
    if !candidate.place.is_of_its_own() || is_terminal(candidate) {
        return None;
    }
    let group = candidate.group?;
    let mut inside = inputs.judged().filter(|(other, _)| {
        other.life != Life::Dying && other.group.is_some_and(|it| it.id == group.id)
    });
    let has_exempt = group.exempt > 0 || inside.any(|(_, exemption)| exemption.is_some());
    if has_exempt { None } else { Some(group) }
}

/// Whether its unit is a terminal's: processes with a terminal are in it, or it is called so.
fn is_terminal(candidate: &Candidate) -> bool {
    let has_terminal = candidate.group.is_some_and(|group| group.terminals > 0);
    let unit = candidate.unit.as_str();
    let is_called =
        candidate.place == Place::App && TERMINALS.iter().any(|part| contains(unit, part));
    has_terminal || is_called
}

/// Whether `text` contains `part`, whatever the case of its letters. `part` is in small letters.
fn contains(text: &str, part: &str) -> bool {
    let mut rests = text.as_bytes().windows(part.len());
    rests.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

fn members(inputs: Inputs<'_>, id: u64) -> impl Iterator<Item = &Candidate> {
    let candidates = inputs.scan.candidates.iter();
    candidates.filter(move |other| other.group.is_some_and(|group| group.id == id))
}

/// Whether one program runs in the unit. Where that was not read, the listed processes have one name.
fn is_one_programs(inputs: Inputs<'_>, group: &Group) -> bool {
    if let Some(programs) = group.programs {
        return programs <= 1;
    }
    let mut listed = members(inputs, group.id);
    let Some(first) = listed.next() else {
        return false;
    };
    listed.all(|other| other.name == first.name)
}

fn stands_out(inputs: Inputs<'_>, candidate: &Candidate, group: &Group, growth: Growth) -> bool {
    let holds_most = candidate.size() >= STANDS_OUT.of(group.held());
    let unit = inputs.growths.of_unit(candidate).unwrap_or_default();
    let own = growth_of(inputs, candidate).unwrap_or(growth);
    let makes_most = unit.rate > Rate::ZERO
        && own.rate.get() >= STANDS_OUT.of(Bytes::new(unit.rate.get())).get();
    holds_most || makes_most
}
