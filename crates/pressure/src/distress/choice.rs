//! Which process makes memory run out: the one that grows most, and never one that keeps the machine up.

use super::growth::{Growth, Growths};
use super::outlook::Outlook;
use super::roles::{Exemption, exemption, weight};
use super::severity::Part;
use crate::config::{Guard, Leaf};
use crate::scan::{
    Candidate, Family, Group, Identity, Life, MAX_CANDIDATES, Mark, Name, Place, ProcessScan,
};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// Candidates named in one account, at most: a decision has few places for notices.
pub(super) const MAX_CONSIDERED: usize = 4;
/// A process or unit with less than this share of the growth does not cause it. Larger finds no culprit
/// where several grow together; smaller kills bystanders.
const CULPRIT: Percent = Percent::new(25);
/// The same for a family. Of a build of forty jobs a scan lists twelve, so its share is a lower bound.
const FAMILY: Percent = Percent::new(10);
/// A process that holds less is not worth a kill, however fast it began to grow.
const SMALL: Part = Part::new(Percent::new(2), Bytes::mib(256));
/// A member of a family grows at least this share as fast as the fastest of it. Of alike processes some
/// begin later.
const ALIKE: Percent = Percent::new(50);
/// A process stands out in its unit if it holds this share of it, or makes this share of its growth.
const STANDS_OUT: Percent = Percent::new(75);
/// Where no process grows, only one that holds this much is worth a kill. Of three programs that thrash,
/// each holds less than a third.
const LARGE: Part = Part::new(Percent::new(10), Bytes::mib(4096));
/// A family whose oldest listed member is no older grew since its start: a storm of forks.
const YOUNG: Span = Span::secs(10);
/// The age of a younger one is not known well enough to divide by it.
const FRESH: Span = Span::millis(350);
/// After so many leaves of a family were killed in vain, all of it is.
const LEAVES: usize = 2;
/// One leaf is enough if the family needs this long to take what its end frees: the time of a kill and
/// of the wait for its effect.
const ROUND: Duration = Duration::from_secs(2);
/// A user's own preference moves the choice to another process of that user if its score is at least
/// the first one's divided by this.
const OWN_PREFERENCE: f64 = 4.0;
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
    /// The alike processes that grow with it, and how many they are; `None` if it grows alone.
    pub(crate) family: Option<Family>,
}

impl Pick {
    /// Memory that its end frees.
    pub(crate) fn size(&self) -> Bytes {
        let one = self.candidate.size();
        match (self.extent, self.candidate.group, self.family) {
            (Extent::Unit, Some(group), _) => group.held(),
            (Extent::Family, _, Some(family)) => family.size.max(one),
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

/// What a choice is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) scan: &'a ProcessScan,
    pub(crate) growths: &'a Growths,
    pub(crate) config: &'a Guard,
    pub(crate) outlook: &'a Outlook,
    /// All tmpfs and shared memory.
    pub(crate) shmem: Bytes,
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

fn share_of_growth(inputs: Inputs<'_>, share: Percent) -> u64 {
    let total = Bytes::new(inputs.outlook.growth.get());
    share.of(total).get().max(1)
}

/// How a candidate grows. Its huge pages count while their pools grow.
fn growth_of(inputs: Inputs<'_>, candidate: &Candidate) -> Option<Growth> {
    let own = inputs.growths.of(candidate);
    if inputs.outlook.huge_growth == Rate::ZERO {
        return own;
    }
    match (own, inputs.growths.of_huge(candidate)) {
        (Some(own), Some(huge)) => Some(Growth {
            rate: Rate::new(own.rate.get().saturating_add(huge.rate.get())),
            rising: own.rising.max(huge.rising),
        }),
        (own, huge) => own.or(huge),
    }
}

/// Memory that there is because of a candidate, with its unit if that is one application or service.
fn held_by(candidate: &Candidate) -> Bytes {
    let unit = candidate
        .group
        .filter(|_| candidate.place.is_of_its_own())
        .map(|group| group.held());
    let own = candidate.size() + candidate.written + candidate.hugetlb;
    own.max(unit.unwrap_or_default())
}

/// The candidates that may be killed and were not signalled.
fn eligible(inputs: Inputs<'_>) -> impl Iterator<Item = &Candidate> {
    inputs.scan.candidates.iter().filter(move |candidate| {
        !is_signalled(inputs.scan, candidate) && exemption(candidate, inputs.config).is_none()
    })
}

/// Whether two candidates are alike: the same name below one ancestor, or, where that is unknown, in one
/// unit of one user.
fn is_kin(one: &Candidate, other: &Candidate) -> bool {
    if one.name != other.name {
        return false;
    }
    if one.kin != 0 && other.kin != 0 {
        return one.kin == other.kin;
    }
    one.unit == other.unit && one.place == other.place && one.user == other.user
}

/// The family of a candidate: as the scan lists it, or added up from the candidates.
fn family_of(inputs: Inputs<'_>, candidate: &Candidate) -> Family {
    let listed = inputs
        .scan
        .families
        .iter()
        .find(|family| family.kin == candidate.kin && family.name == candidate.name);
    if let Some(family) = listed.filter(|family| family.kin != 0) {
        return *family;
    }
    let mut family = Family {
        kin: candidate.kin,
        name: candidate.name,
        ..Family::default()
    };
    for member in eligible(inputs).filter(|other| is_kin(candidate, other)) {
        family.processes += 1;
        family.size += member.size();
    }
    family
}

/// How a family grows: as a whole, or the sum of those of its members that are listed. One that was seen
/// only once, and is young, is taken to have grown since its start.
fn growth_of_family(inputs: Inputs<'_>, candidate: &Candidate, family: &Family) -> Growth {
    let mut sum = Growth::default();
    let mut oldest = Span::default();
    for member in eligible(inputs).filter(|other| is_kin(candidate, other)) {
        oldest = oldest.max(member.age);
        let Some(growth) = growth_of(inputs, member) else {
            continue;
        };
        sum.rate = Rate::new(sum.rate.get().saturating_add(growth.rate.get()));
        sum.rising = sum.rising.max(growth.rising);
    }
    let whole = inputs.growths.of_family(family).or_else(|| {
        let is_young = family.kin != 0 && oldest <= YOUNG;
        let rate = Rate::over(family.size, oldest.max(FRESH).get())?;
        is_young.then_some(Growth {
            rate,
            rising: oldest,
        })
    });
    match whole {
        Some(whole) if whole.rate > sum.rate => whole,
        _ => sum,
    }
}

/// The family that grows fastest, by the leaf of it that is killed first.
fn family_that_grows(inputs: Inputs<'_>) -> Option<Pick> {
    let least_growth = share_of_growth(inputs, FAMILY);
    let mut best: Option<(f64, Pick)> = None;
    for candidate in eligible(inputs) {
        let family = family_of(inputs, candidate);
        if family.processes < 2 {
            continue;
        }
        let growth = growth_of_family(inputs, candidate, &family);
        if growth.rate.get() < least_growth {
            continue;
        }
        let score = growth.rate.get() as f64 * weight(candidate, inputs.config);
        if best.as_ref().is_none_or(|(other, _)| score > *other) {
            let pick = Pick {
                candidate: *candidate,
                extent: extent(inputs, candidate, growth),
                growth,
                family: Some(family),
            };
            best = Some((score, pick));
        }
    }
    best.map(|(_, pick)| pick)
}

/// The fastest grower of the unit that grows fastest, if the unit is one application or service.
fn unit_that_grows(inputs: Inputs<'_>) -> Option<Pick> {
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
            let pick = Pick {
                candidate: *candidate,
                extent: extent(inputs, candidate, own),
                growth: own,
                family: None,
            };
            best = Some((unit.rate, pick));
        }
    }
    best.map(|(_, pick)| pick)
}

/// If others grow like the picked process, it is one leaf of a family: the one that is configured to go
/// first, or all of them if one leaf gives no time, or some were killed already and it did not help.
fn join_family(inputs: Inputs<'_>, pick: &mut Pick) {
    let fastest = growth_of(inputs, &pick.candidate).unwrap_or(pick.growth);
    let least = ALIKE.of(Bytes::new(fastest.rate.get())).get();
    let first = pick.candidate;
    let grows_alike = |member: &&Candidate| {
        is_kin(&first, member)
            && growth_of(inputs, member).is_some_and(|growth| growth.rate.get() >= least)
    };
    if pick.family.is_none() {
        if eligible(inputs).filter(grows_alike).count() < 2 {
            return;
        }
        let family = family_of(inputs, &first);
        pick.family = Some(family);
        pick.growth = growth_of_family(inputs, &first, &family);
    }
    let kin = eligible(inputs).filter(|member| is_kin(&first, member));
    let leaf = match inputs.config.leaf {
        Leaf::Largest => kin.max_by_key(|member| member.size()),
        Leaf::Youngest => kin.min_by_key(|member| member.age),
    };
    if let Some(leaf) = leaf {
        pick.candidate = *leaf;
    }
    let killed = inputs
        .scan
        .victims
        .iter()
        .filter(|victim| victim.name == first.name && victim.gone.is_some());
    let gain = Bytes::new(pick.growth.rate.get()).scaled(ROUND.as_secs(), 1);
    let is_enough = pick.candidate.size() >= gain && killed.count() < LEAVES;
    if pick.extent == Extent::Process && !is_enough {
        pick.extent = Extent::Family;
    }
}

/// The process that grows fastest, however little of the growth it makes; `None` if an exempt one makes
/// a share of it.
pub(crate) fn fastest(inputs: Inputs<'_>) -> Option<Pick> {
    if an_exempt_one_grows(inputs) {
        return None;
    }
    let mut best: Option<Pick> = None;
    for candidate in eligible(inputs) {
        let growth = growth_of(inputs, candidate).unwrap_or_default();
        let most = best.map_or(Rate::ZERO, |pick| pick.growth.rate);
        if growth.rate > most {
            best = Some(Pick {
                candidate: *candidate,
                extent: extent(inputs, candidate, growth),
                growth,
                family: None,
            });
        }
    }
    if let Some(pick) = &mut best {
        join_family(inputs, pick);
    }
    best
}

/// Whether a process that may not be killed makes a share of the growth: no other kill helps then.
fn an_exempt_one_grows(inputs: Inputs<'_>) -> bool {
    let least = share_of_growth(inputs, CULPRIT);
    inputs.scan.candidates.iter().any(|candidate| {
        exemption(candidate, inputs.config).is_some()
            && growth_of(inputs, candidate).is_some_and(|growth| growth.rate.get() >= least)
    })
}

/// The process that contributes most where no process grows: the one that holds the most.
///
/// Shared memory counts for each of the alike processes that map it as its part of it.
pub(crate) fn largest(inputs: Inputs<'_>) -> Choice {
    let least = LARGE.of(inputs.outlook.managed);
    let score = |candidate: &Candidate, _: Option<Growth>| {
        let size = own_part(inputs, candidate);
        if size < least || size < inputs.unowned() {
            return None;
        }
        Some(size.get() as f64 * weight(candidate, inputs.config))
    };
    choose_by(inputs, &score)
}

/// What a candidate holds, with its part of the memory that it shares.
fn own_part(inputs: Inputs<'_>, candidate: &Candidate) -> Bytes {
    let sharers = inputs
        .scan
        .candidates
        .iter()
        .filter(|other| is_kin(candidate, other) && other.shared > Bytes::ZERO);
    let sharers = sharers.count().max(1) as u64;
    candidate.size().less(candidate.shared) + candidate.shared.scaled(1, sharers)
}

impl Inputs<'_> {
    /// Shared memory and tmpfs files that no candidate maps or writes: no kill frees them.
    pub(crate) fn unowned(&self) -> Bytes {
        let mut owned = Bytes::ZERO;
        for (index, candidate) in self.scan.candidates.iter().enumerate() {
            // What alike processes share counts once.
            let is_counted = self.scan.candidates[..index]
                .iter()
                .any(|other| is_kin(candidate, other) && other.shared >= candidate.shared);
            if !is_counted {
                owned += candidate.shared;
            }
        }
        self.shmem.less(owned)
    }
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
        let growth = growth_of(inputs, candidate);
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
    let growth = chosen.growth.unwrap_or_default();
    choice.pick = Some(Pick {
        candidate: *chosen.candidate,
        extent: extent(inputs, chosen.candidate, growth),
        growth,
        family: None,
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
    let mut inside = members(inputs, group.id).filter(|other| other.life != Life::Dying);
    let has_exempt =
        group.exempt > 0 || inside.any(|other| exemption(other, inputs.config).is_some());
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

/// Whether it was signalled already. The wait for signalled processes is decided elsewhere.
fn is_signalled(scan: &ProcessScan, candidate: &Candidate) -> bool {
    scan.victims
        .iter()
        .any(|victim| victim.identity == candidate.identity)
}
