//! Which process to kill: the one that grows most, and never one that keeps the machine up.

use super::growth::{Growth, Growths};
use super::outlook::Outlook;
use super::roles::{Exemption, exemption, weight};
use crate::config::Guard;
use crate::scan::{Candidate, Identity, Life, MAX_CANDIDATES, Mark, Name, ProcessScan};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use units::{Bytes, Percent, Rate};

/// Candidates named in one account, at most: a decision has few places for notices.
pub(super) const MAX_CONSIDERED: usize = 4;
/// A process with less than this share of the growth does not cause it. Larger finds no culprit where
/// several processes grow together; smaller kills bystanders.
const CULPRIT: Percent = Percent::new(25);
/// A process with less than this share of memory is not worth a kill, however fast it began to grow.
const SMALL: Percent = Percent::new(2);
/// A unit is killed whole unless one process holds this share of it.
const MOST_OF_UNIT: Percent = Percent::new(75);
/// In a hopeless state only a process with this share of memory is worth a kill.
const LARGE: Percent = Percent::new(20);
/// A user's own preference moves the choice to another process of that user if its score is at least
/// the first one's divided by this.
const OWN_PREFERENCE: f64 = 4.0;

/// One candidate that was considered, and the verdict on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    /// Which process.
    #[serde(rename = "who")]
    pub identity: Identity,
    /// What it calls itself.
    pub name: Name,
    /// Memory that its end would free.
    pub size: Bytes,
    /// How fast it grows, if known.
    pub growth: Option<Rate>,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// The verdict on a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is chosen.
    Chosen,
    /// Another one causes more of the growth, or weighs more.
    Behind,
    /// It may not be killed.
    #[serde(rename = "spared")]
    Exempt(Exemption),
}

/// Whether one process is killed, or its unit with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// The process.
    Process,
    /// Every process of its unit.
    Unit,
    /// Every process of its family: alike ones below one ancestor.
    Family,
}

/// The candidate that was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pick {
    pub(crate) candidate: Candidate,
    pub(crate) extent: Extent,
    pub(crate) growth: Growth,
}

impl Pick {
    /// Memory that its end frees.
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
pub(crate) struct Inputs<'a> {
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

/// The process that makes memory run out: the fastest grower, weighted. `None` if none of them causes
/// a quarter of the growth.
pub(crate) fn choose(inputs: Inputs<'_>) -> Choice {
    let total_growth = Bytes::new(inputs.outlook.growth.get());
    let least_growth = CULPRIT.of(total_growth).get().max(1);
    let least_size = SMALL.of(inputs.outlook.managed);
    let score = |candidate: &Candidate, growth: Option<Growth>| {
        let rate = growth?.rate.get();
        if rate < least_growth || held_by(candidate) < least_size {
            return None;
        }
        Some(rate as f64 * weight(candidate, inputs.config))
    };
    choose_by(inputs, &score)
}

/// Memory that a candidate holds, with its unit if that is one application or service.
fn held_by(candidate: &Candidate) -> Bytes {
    let unit = candidate
        .group
        .filter(|_| candidate.place.is_of_its_own())
        .map(|group| group.anon + group.swapped);
    candidate.size().max(unit.unwrap_or_default())
}

/// The process that holds the most, for a machine where no process grows and nothing moves any more.
pub(crate) fn largest(inputs: Inputs<'_>) -> Choice {
    let least = LARGE.of(inputs.outlook.managed);
    let score = |candidate: &Candidate, _: Option<Growth>| {
        let size = candidate.size();
        if size < least {
            return None;
        }
        Some(size.get() as f64 * weight(candidate, inputs.config))
    };
    choose_by(inputs, &score)
}

/// The candidate that the kernel would OOM-kill: the one with the most memory, to which
/// `oom_score_adj` adds thousandths of `all`.
///
/// Source: `oom_badness()` in `mm/oom_kill.c`. Page tables are left out.
pub(crate) fn kernels_choice(scan: &ProcessScan, all: Bytes) -> Option<&Candidate> {
    scan.candidates
        .iter()
        .filter(|candidate| kernel_may_kill(candidate))
        .max_by_key(|candidate| badness(candidate, all))
}

fn kernel_may_kill(candidate: &Candidate) -> bool {
    candidate.identity.pid > 1 && candidate.oom_score_adj > -1000 && candidate.life != Life::Dying
}

fn badness(candidate: &Candidate, all: Bytes) -> i128 {
    let used = candidate.mapped.unwrap_or(candidate.resident) + candidate.swapped;
    let adjustment = i128::from(candidate.oom_score_adj) * i128::from(all.get()) / 1000;
    i128::from(used.get()) + adjustment
}

/// Ranks the candidates by `score`, which is `None` for those out of the question.
fn choose_by(
    inputs: Inputs<'_>,
    score: &dyn Fn(&Candidate, Option<Growth>) -> Option<f64>,
) -> Choice {
    let mut choice = Choice::default();
    let mut ranked: ArrayVec<Ranked<'_>, MAX_CANDIDATES> = ArrayVec::new();
    for candidate in &inputs.scan.candidates {
        let growth = growth_of(inputs.growths, candidate);
        let Some(score) = score(candidate, growth) else {
            continue;
        };
        if is_signalled(inputs.scan, candidate) {
            continue;
        }
        match exemption(candidate, inputs.config) {
            Some(exemption) => choice.note(candidate, growth, Verdict::Exempt(exemption)),
            None => ranked.push(Ranked {
                candidate,
                growth,
                score,
            }),
        }
    }
    ranked.sort_by(|a, b| b.order(a));
    let Some(chosen) = own_preference(&ranked) else {
        return choice;
    };
    choice.pick = Some(Pick {
        candidate: *chosen.candidate,
        extent: extent(inputs, chosen.candidate),
        growth: chosen.growth.unwrap_or_default(),
    });
    for one in &ranked {
        let is_chosen = one.candidate.identity == chosen.candidate.identity;
        let verdict = if is_chosen {
            Verdict::Chosen
        } else {
            Verdict::Behind
        };
        choice.note(one.candidate, one.growth, verdict);
    }
    choice
}

impl Ranked<'_> {
    /// By score, then by size.
    fn order(&self, other: &Self) -> Ordering {
        let rank = (self.score, self.candidate.size());
        let other_rank = (other.score, other.candidate.size());
        rank.partial_cmp(&other_rank).unwrap_or(Ordering::Equal)
    }
}

impl Choice {
    fn note(&mut self, candidate: &Candidate, growth: Option<Growth>, verdict: Verdict) {
        // The account is short, and the chosen one must be in it.
        if self.considered.is_full() && verdict == Verdict::Chosen {
            self.considered.pop();
        }
        let _ = self.considered.try_push(Considered {
            identity: candidate.identity,
            name: candidate.name,
            size: candidate.size(),
            growth: growth.map(|growth| growth.rate),
            verdict,
        });
    }
}

/// How fast a candidate grows, or its unit if that is one application or service and grows faster.
fn growth_of(growths: &Growths, candidate: &Candidate) -> Option<Growth> {
    let own = growths.of(candidate);
    if !candidate.place.is_of_its_own() {
        return own;
    }
    match (own, growths.of_unit(candidate)) {
        (Some(own), Some(unit)) if unit.rate > own.rate => Some(unit),
        (own, unit) => own.or(unit),
    }
}

/// A user's own preference moves the choice among that user's processes, and among no others.
fn own_preference<'c, 'a>(ranked: &'c [Ranked<'a>]) -> Option<&'c Ranked<'a>> {
    let first = ranked.first()?;
    if first.candidate.mark != Mark::Own {
        return Some(first);
    }
    let instead = ranked.iter().find(|one| {
        one.candidate.user == first.candidate.user
            && one.candidate.mark != Mark::Own
            && one.score * OWN_PREFERENCE >= first.score
    });
    instead.or(Some(first))
}

/// The whole unit, if it is one application or service in which no process stands out and none is
/// exempt.
pub(crate) fn extent(inputs: Inputs<'_>, candidate: &Candidate) -> Extent {
    let Some(group) = candidate.group.filter(|_| candidate.place.is_of_its_own()) else {
        return Extent::Process;
    };
    let stands_out = candidate.size() >= MOST_OF_UNIT.of(group.anon + group.swapped);
    let has_exempt = group.exempt > 0
        || inputs
            .scan
            .candidates
            .iter()
            .filter(|other| other.group.is_some_and(|it| it.id == group.id))
            .any(|other| other.life != Life::Dying && exemption(other, inputs.config).is_some());
    if group.processes < 2 || group.one_by_one || stands_out || has_exempt {
        Extent::Process
    } else {
        Extent::Unit
    }
}

/// Whether it was signalled already. The wait for signalled processes is decided elsewhere.
fn is_signalled(scan: &ProcessScan, candidate: &Candidate) -> bool {
    scan.victims
        .iter()
        .any(|victim| victim.identity == candidate.identity)
}
