//! Which process makes memory run out: the one that grows most, and never one that keeps the machine up.

mod family;
mod holders;
mod inputs;
mod kernel;
mod unit;

pub(crate) use family::join_family;
pub(crate) use holders::largest;
pub(crate) use inputs::{Exemptions, Inputs};
pub(crate) use kernel::kernels_choice;
pub(crate) use unit::limitable_unit;

use super::growth::Growth;
use super::roles::{Exemption, weight};
use super::severity::Part;
use crate::scan::{Candidate, Family, Identity, MAX_CANDIDATES, Mark, Name};
use arrayvec::ArrayVec;
use family::family_that_grows;
use inputs::{eligible, growth_of, held_by, is_signalled, share_of_growth};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use unit::{extent, unit_that_grows};
use units::{Bytes, Percent, Rate, Span};

/// Candidates named in one account, at most: a decision has few places for notices.
pub(super) const MAX_CONSIDERED: usize = 4;
/// A process or unit with less than this share of the growth does not cause it. Larger finds no culprit
/// where several grow together; smaller kills bystanders.
const CULPRIT: Percent = Percent::new(25);
/// A process that holds less is not worth a kill, however fast it began to grow.
const SMALL: Part = Part::new(Percent::new(2), Bytes::mib(256));
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
    /// Every process of its family, and the ancestor that starts them.
    Ancestor,
}

/// The candidate that was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pick {
    pub(crate) candidate: Candidate,
    pub(crate) extent: Extent,
    pub(crate) growth: Growth,
    /// The alike processes that grow with it, and how many they are; `None` if it grows alone.
    pub(crate) family: Option<Family>,
    /// Time since all of that family were ended before; `None` if they were not.
    pub(crate) again_after: Option<Span>,
}

impl Pick {
    /// A candidate that grows by itself, alone or with its unit.
    pub(crate) fn alone(inputs: Inputs<'_>, candidate: &Candidate, growth: Growth) -> Self {
        Self {
            candidate: *candidate,
            extent: extent(inputs, candidate, growth),
            growth,
            family: None,
            again_after: None,
        }
    }

    /// Memory that its end frees.
    pub(crate) fn size(&self) -> Bytes {
        let one = self.candidate.size();
        match (self.extent, self.candidate.group, self.family) {
            (Extent::Unit, Some(group), _) => group.held(),
            (Extent::Family | Extent::Ancestor, _, Some(family)) => family.size.max(one),
            _ => one,
        }
    }
}

/// The choice and its account.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Choice {
    pub(crate) pick: Option<Pick>,
    pub(crate) considered: ArrayVec<Considered, MAX_CONSIDERED>,
}

/// A candidate that may be killed, with what decides its rank.
#[derive(Debug, Clone, Copy)]
struct Ranked<'a> {
    candidate: &'a Candidate,
    growth: Option<Growth>,
    score: f64,
}

/// What makes memory run out: the process that grows fastest, weighted; else the family that does; else
/// the fastest grower of the unit that does. `None` if none of them causes a share of the growth.
///
/// A unit's growth is never laid to a member that does not grow.
pub(crate) fn choose(inputs: Inputs<'_>) -> Choice {
    let mut choice = choose_process(inputs);
    if choice.pick.is_none() && !an_exempt_one_grows(inputs) {
        choice.pick = family_that_grows(inputs).or_else(|| unit_that_grows(inputs));
        if let Some(pick) = choice.pick {
            choice.note(&pick.candidate, Some(pick.growth), Verdict::Chosen);
        }
    }
    if let Some(pick) = &mut choice.pick {
        join_family(inputs, pick);
    }
    choice
}

fn choose_process(inputs: Inputs<'_>) -> Choice {
    let least_growth = share_of_growth(inputs, CULPRIT);
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

/// The process that grows fastest, however little of the growth it makes; `None` if an exempt one makes
/// a share of it, or if the end of the fastest frees next to nothing.
pub(crate) fn fastest(inputs: Inputs<'_>) -> Option<Pick> {
    if an_exempt_one_grows(inputs) {
        return None;
    }
    let mut best: Option<Pick> = None;
    for candidate in eligible(inputs) {
        let growth = growth_of(inputs, candidate).unwrap_or_default();
        let most = best.map_or(Rate::ZERO, |pick| pick.growth.rate);
        if growth.rate > most {
            best = Some(Pick::alone(inputs, candidate, growth));
        }
    }
    if let Some(pick) = &mut best {
        join_family(inputs, pick);
    }
    let least_size = SMALL.of(inputs.outlook.managed);
    best.filter(|pick| pick.size() >= least_size)
}

/// Whether a process that may not be killed makes a share of the growth: no other kill helps then.
fn an_exempt_one_grows(inputs: Inputs<'_>) -> bool {
    let least = share_of_growth(inputs, CULPRIT);
    inputs.judged().any(|(candidate, exemption)| {
        exemption.is_some()
            && growth_of(inputs, candidate).is_some_and(|growth| growth.rate.get() >= least)
    })
}

/// Ranks the candidates by `score`, which is `None` for those out of the question.
fn choose_by(
    inputs: Inputs<'_>,
    score: &dyn Fn(&Candidate, Option<Growth>) -> Option<f64>,
) -> Choice {
    let mut choice = Choice::default();
    let mut ranked: ArrayVec<Ranked<'_>, MAX_CANDIDATES> = ArrayVec::new();
    for (candidate, exemption) in inputs.judged() {
        let growth = growth_of(inputs, candidate);
        let Some(score) = score(candidate, growth) else {
            continue;
        };
        if is_signalled(inputs.scan, candidate) {
            continue;
        }
        match exemption {
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
    let growth = chosen.growth.unwrap_or_default();
    choice.pick = Some(Pick::alone(inputs, chosen.candidate, growth));
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
