//! Who is to end: what grows first, and never who keeps the machine up.

use super::growth::{Growth, Growths};
use super::roles::{Shield, shield, weight};
use super::room::Outlook;
use crate::census::{Census, Identity, Life, Mark, Name, Suspect};
use crate::config::Guard;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Rate};

/// Processes named in one account, at most.
pub(super) const MAX_CONSIDERED: usize = 4;
/// Who makes less than this share of the growth is not what makes it.
const CULPRIT: Percent = Percent::new(25);
/// Who holds less than this share of memory gives back nothing worth having, however fast it began to grow.
const SMALL: Percent = Percent::new(2);
/// A unit is ended whole unless one process holds this share of it.
const MOST_OF_IT: Percent = Percent::new(75);
/// In a hopeless state only what holds this share of memory is worth ending.
const LARGE: Percent = Percent::new(20);

/// One process that was looked at, and what was thought of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    /// Which.
    pub who: Identity,
    /// What it calls itself.
    pub name: Name,
    /// What its end would give back.
    pub size: Bytes,
    /// How fast it grows, if known.
    pub growth: Option<Rate>,
    /// What was thought.
    pub verdict: Verdict,
}

/// What was thought of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is the one.
    Chosen,
    /// Another makes more of the growth, or weighs more.
    Behind,
    /// It may not be ended.
    Spared(Shield),
}

/// Whether one process ends, or its unit with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// The process.
    Process,
    /// Every process of its unit.
    Unit,
}

/// Who was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pick {
    pub(crate) suspect: Suspect,
    pub(crate) extent: Extent,
    pub(crate) growth: Growth,
}

impl Pick {
    /// What its end gives back.
    pub(crate) fn size(&self) -> Bytes {
        match (self.extent, self.suspect.group) {
            (Extent::Unit, Some(group)) => group.anon + group.swapped,
            _ => self.suspect.size(),
        }
    }
}

/// The choice and its account.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Choice {
    pub(crate) pick: Option<Pick>,
    pub(crate) considered: ArrayVec<Considered, MAX_CONSIDERED>,
}

/// What a choice is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bench<'a> {
    pub(crate) census: &'a Census,
    pub(crate) growths: &'a Growths,
    pub(crate) config: &'a Guard,
    pub(crate) outlook: &'a Outlook,
}

/// A process that may be ended, and why it ranks where it does.
#[derive(Debug, Clone, Copy)]
struct Candidate<'a> {
    suspect: &'a Suspect,
    growth: Option<Growth>,
    score: f64,
}

/// Who makes memory run out: the fastest grower, weighed; `None` if nobody here makes a quarter of the growth.
pub(crate) fn choose(bench: Bench<'_>) -> Choice {
    let least = CULPRIT
        .of(Bytes::new(bench.outlook.growth.get()))
        .get()
        .max(1);
    let small = SMALL.of(bench.outlook.managed);
    let score = |suspect: &Suspect, growth: Option<Growth>| {
        let rate = growth
            .map(|growth| growth.rate.get())
            .filter(|rate| *rate >= least)?;
        (held_by(suspect) >= small).then(|| rate as f64 * weight(suspect, bench.config))
    };
    choose_by(bench, &score)
}

/// What it holds: with its unit, if that is one of its own.
fn held_by(suspect: &Suspect) -> Bytes {
    let unit = suspect
        .group
        .filter(|_| suspect.place.is_of_its_own())
        .map(|group| group.anon + group.swapped);
    suspect.size().max(unit.unwrap_or_default())
}

/// Who holds the most, where nobody grows and nothing moves any more.
pub(crate) fn largest(bench: Bench<'_>) -> Choice {
    let least = LARGE.of(bench.outlook.managed);
    let score = |suspect: &Suspect, _: Option<Growth>| {
        (suspect.size() >= least)
            .then(|| suspect.size().get() as f64 * weight(suspect, bench.config))
    };
    choose_by(bench, &score)
}

/// Whom the kernel would end, of those that were looked at: the most memory, `oom_score_adj` thousandths of `all` added.
/// Source: `oom_badness()`, `mm/oom_kill.c`; page tables are left out.
pub(crate) fn kernels_choice(census: &Census, all: Bytes) -> Option<&Suspect> {
    let points = |suspect: &Suspect| {
        let used = suspect.mapped.unwrap_or(suspect.resident) + suspect.swapped;
        i128::from(used.get()) + i128::from(suspect.oom_score_adj) * i128::from(all.get()) / 1000
    };
    let may = |suspect: &&Suspect| {
        suspect.who.pid > 1 && suspect.oom_score_adj > -1000 && suspect.life != Life::Dying
    };
    census
        .suspects
        .iter()
        .filter(may)
        .max_by_key(|suspect| points(suspect))
}

fn choose_by(bench: Bench<'_>, score: &dyn Fn(&Suspect, Option<Growth>) -> Option<f64>) -> Choice {
    let mut choice = Choice::default();
    let mut candidates: ArrayVec<Candidate<'_>, { crate::census::MAX_SUSPECTS }> = ArrayVec::new();
    for suspect in &bench.census.suspects {
        let growth = growth_of(bench.growths, suspect);
        let Some(score) = score(suspect, growth) else {
            continue;
        };
        if is_signalled(bench.census, suspect) {
            continue;
        }
        match shield(suspect, bench.config) {
            Some(shield) => choice.note(suspect, growth, Verdict::Spared(shield)),
            None => candidates.push(Candidate {
                suspect,
                growth,
                score,
            }),
        }
    }
    let rank = |candidate: &Candidate<'_>| (candidate.score, candidate.suspect.size());
    candidates.sort_by(|a, b| {
        rank(b)
            .partial_cmp(&rank(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some(chosen) = own_preference(&candidates) else {
        return choice;
    };
    let growth = chosen.growth.unwrap_or_default();
    let extent = extent(bench, chosen.suspect);
    choice.pick = Some(Pick {
        suspect: *chosen.suspect,
        extent,
        growth,
    });
    let account = candidates
        .iter()
        .map(|candidate| (candidate, candidate.suspect.who == chosen.suspect.who));
    for (candidate, is_chosen) in account {
        let verdict = if is_chosen {
            Verdict::Chosen
        } else {
            Verdict::Behind
        };
        choice.note(candidate.suspect, candidate.growth, verdict);
    }
    choice
}

impl Choice {
    fn note(&mut self, suspect: &Suspect, growth: Option<Growth>, verdict: Verdict) {
        let (who, name, size) = (suspect.who, suspect.name, suspect.size());
        let growth = growth.map(|growth| growth.rate);
        // The account is short; who is chosen must be in it.
        let considered = Considered {
            who,
            name,
            size,
            growth,
            verdict,
        };
        if self.considered.is_full() && verdict == Verdict::Chosen {
            self.considered.pop();
        }
        let _ = self.considered.try_push(considered);
    }
}

/// How fast it grows: its unit, if that is one of its own and grows faster.
fn growth_of(growths: &Growths, suspect: &Suspect) -> Option<Growth> {
    let own = growths.of(suspect);
    let unit = suspect
        .place
        .is_of_its_own()
        .then(|| growths.of_unit(suspect))
        .flatten();
    match (own, unit) {
        (Some(own), Some(unit)) => Some(if unit.rate > own.rate { unit } else { own }),
        (own, unit) => own.or(unit),
    }
}

/// A user's own mark moves the choice among that user's processes, and among no others.
fn own_preference<'c, 'a>(ranked: &'c [Candidate<'a>]) -> Option<&'c Candidate<'a>> {
    let first = ranked.first()?;
    if first.suspect.mark != Mark::Own {
        return Some(first);
    }
    let other = |it: &&Candidate<'_>| {
        it.suspect.user == first.suspect.user
            && it.suspect.mark != Mark::Own
            && it.score * 4.0 >= first.score
    };
    ranked.iter().find(other).or(Some(first))
}

/// The whole unit, if it is one of its own in which no process stands out and none is spared.
pub(crate) fn extent(bench: Bench<'_>, suspect: &Suspect) -> Extent {
    let Some(group) = suspect.group.filter(|_| suspect.place.is_of_its_own()) else {
        return Extent::Process;
    };
    let stands_out = suspect.size() >= MOST_OF_IT.of(group.anon + group.swapped);
    let mut inside = bench
        .census
        .suspects
        .iter()
        .filter(|other| other.group.is_some_and(|it| it.id == group.id));
    let is_spared =
        |other: &Suspect| other.life != Life::Dying && shield(other, bench.config).is_some();
    let spared = group.spared > 0 || inside.any(is_spared);
    if group.processes < 2 || group.one_by_one || stands_out || spared {
        Extent::Process
    } else {
        Extent::Unit
    }
}

/// Whether it was signalled already: what becomes of it is the ladder's affair.
fn is_signalled(census: &Census, suspect: &Suspect) -> bool {
    census
        .victims
        .iter()
        .any(|victim| victim.who == suspect.who)
}
