//! Who is to end: what grows first, and never who keeps the machine up.

use super::growth::{Growth, Growths};
use super::headroom::Outlook;
use super::roles::{Exemption, exemption, weight};
use crate::config::Guard;
use crate::scan::{Candidate, Identity, Life, Mark, Name, ProcessScan};
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
    #[serde(rename = "who")]
    pub identity: Identity,
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
    #[serde(rename = "spared")]
    Exempt(Exemption),
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
    pub(crate) candidate: Candidate,
    pub(crate) extent: Extent,
    pub(crate) growth: Growth,
}

impl Pick {
    /// What its end gives back.
    pub(crate) fn size(&self) -> Bytes {
        match (self.extent, self.candidate.group) {
            (Extent::Unit, Some(group)) => group.anon + group.swapped,
            _ => self.candidate.size(),
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
    pub(crate) scan: &'a ProcessScan,
    pub(crate) growths: &'a Growths,
    pub(crate) config: &'a Guard,
    pub(crate) outlook: &'a Outlook,
}

/// A candidate that may be killed, with what decides its rank.
#[derive(Debug, Clone, Copy)]
struct Ranked<'a> {
    candidate: &'a Candidate,
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
    let score = |candidate: &Candidate, growth: Option<Growth>| {
        let rate = growth
            .map(|growth| growth.rate.get())
            .filter(|rate| *rate >= least)?;
        (held_by(candidate) >= small).then(|| rate as f64 * weight(candidate, bench.config))
    };
    choose_by(bench, &score)
}

/// What it holds: with its unit, if that is one of its own.
fn held_by(candidate: &Candidate) -> Bytes {
    let unit = candidate
        .group
        .filter(|_| candidate.place.is_of_its_own())
        .map(|group| group.anon + group.swapped);
    candidate.size().max(unit.unwrap_or_default())
}

/// Who holds the most, where nobody grows and nothing moves any more.
pub(crate) fn largest(bench: Bench<'_>) -> Choice {
    let least = LARGE.of(bench.outlook.managed);
    let score = |candidate: &Candidate, _: Option<Growth>| {
        (candidate.size() >= least)
            .then(|| candidate.size().get() as f64 * weight(candidate, bench.config))
    };
    choose_by(bench, &score)
}

/// Whom the kernel would end, of those that were looked at: the most memory, `oom_score_adj` thousandths of `all` added.
/// Source: `oom_badness()`, `mm/oom_kill.c`; page tables are left out.
pub(crate) fn kernels_choice(scan: &ProcessScan, all: Bytes) -> Option<&Candidate> {
    let points = |candidate: &Candidate| {
        let used = candidate.mapped.unwrap_or(candidate.resident) + candidate.swapped;
        i128::from(used.get()) + i128::from(candidate.oom_score_adj) * i128::from(all.get()) / 1000
    };
    let may = |candidate: &&Candidate| {
        candidate.identity.pid > 1
            && candidate.oom_score_adj > -1000
            && candidate.life != Life::Dying
    };
    scan.candidates
        .iter()
        .filter(may)
        .max_by_key(|candidate| points(candidate))
}

fn choose_by(
    bench: Bench<'_>,
    score: &dyn Fn(&Candidate, Option<Growth>) -> Option<f64>,
) -> Choice {
    let mut choice = Choice::default();
    let mut candidates: ArrayVec<Ranked<'_>, { crate::scan::MAX_CANDIDATES }> = ArrayVec::new();
    for candidate in &bench.scan.candidates {
        let growth = growth_of(bench.growths, candidate);
        let Some(score) = score(candidate, growth) else {
            continue;
        };
        if is_signalled(bench.scan, candidate) {
            continue;
        }
        match exemption(candidate, bench.config) {
            Some(exemption) => choice.note(candidate, growth, Verdict::Exempt(exemption)),
            None => candidates.push(Ranked {
                candidate,
                growth,
                score,
            }),
        }
    }
    let rank = |candidate: &Ranked<'_>| (candidate.score, candidate.candidate.size());
    candidates.sort_by(|a, b| {
        rank(b)
            .partial_cmp(&rank(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some(chosen) = own_preference(&candidates) else {
        return choice;
    };
    let growth = chosen.growth.unwrap_or_default();
    let extent = extent(bench, chosen.candidate);
    choice.pick = Some(Pick {
        candidate: *chosen.candidate,
        extent,
        growth,
    });
    let account = candidates.iter().map(|candidate| {
        (
            candidate,
            candidate.candidate.identity == chosen.candidate.identity,
        )
    });
    for (candidate, is_chosen) in account {
        let verdict = if is_chosen {
            Verdict::Chosen
        } else {
            Verdict::Behind
        };
        choice.note(candidate.candidate, candidate.growth, verdict);
    }
    choice
}

impl Choice {
    fn note(&mut self, candidate: &Candidate, growth: Option<Growth>, verdict: Verdict) {
        let (identity, name, size) = (candidate.identity, candidate.name, candidate.size());
        let growth = growth.map(|growth| growth.rate);
        // The account is short; who is chosen must be in it.
        let considered = Considered {
            identity,
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
fn growth_of(growths: &Growths, candidate: &Candidate) -> Option<Growth> {
    let own = growths.of(candidate);
    let unit = candidate
        .place
        .is_of_its_own()
        .then(|| growths.of_unit(candidate))
        .flatten();
    match (own, unit) {
        (Some(own), Some(unit)) => Some(if unit.rate > own.rate { unit } else { own }),
        (own, unit) => own.or(unit),
    }
}

/// A user's own mark moves the choice among that user's processes, and among no others.
fn own_preference<'c, 'a>(ranked: &'c [Ranked<'a>]) -> Option<&'c Ranked<'a>> {
    let first = ranked.first()?;
    if first.candidate.mark != Mark::Own {
        return Some(first);
    }
    let other = |it: &&Ranked<'_>| {
        it.candidate.user == first.candidate.user
            && it.candidate.mark != Mark::Own
            && it.score * 4.0 >= first.score
    };
    ranked.iter().find(other).or(Some(first))
}

/// The whole unit, if it is one of its own in which no process stands out and none is spared.
pub(crate) fn extent(bench: Bench<'_>, candidate: &Candidate) -> Extent {
    let Some(group) = candidate.group.filter(|_| candidate.place.is_of_its_own()) else {
        return Extent::Process;
    };
    let stands_out = candidate.size() >= MOST_OF_IT.of(group.anon + group.swapped);
    let mut inside = bench
        .scan
        .candidates
        .iter()
        .filter(|other| other.group.is_some_and(|it| it.id == group.id));
    let is_exempt =
        |other: &Candidate| other.life != Life::Dying && exemption(other, bench.config).is_some();
    let exempt = group.exempt > 0 || inside.any(is_exempt);
    if group.processes < 2 || group.one_by_one || stands_out || exempt {
        Extent::Process
    } else {
        Extent::Unit
    }
}

/// Whether it was signalled already: what becomes of it is the ladder's affair.
fn is_signalled(scan: &ProcessScan, candidate: &Candidate) -> bool {
    scan.victims
        .iter()
        .any(|victim| victim.identity == candidate.identity)
}
