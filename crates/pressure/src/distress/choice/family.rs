//! Families: many alike processes below one ancestor, as a parallel build or a pool of workers.

use super::inputs::{eligible, growth_of, share_of_growth};
use super::unit::limitable_unit;
use super::{Extent, Inputs, Pick};
use crate::config::Leaf;
use crate::distress::growth::Growth;
use crate::distress::roles::weight;
use crate::scan::{Candidate, Family};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// A family with less than this share of the growth does not cause it. Of a build of forty jobs a scan lists
/// twelve, so its share is a lower bound.
const FAMILY: Percent = Percent::new(10);
/// A member of a family grows at least this share as fast as the fastest of it. Of alike processes some
/// begin later.
const ALIKE: Percent = Percent::new(50);
/// A family whose oldest listed member is no older grew since its start: a storm of forks.
const YOUNG: Span = Span::secs(10);
/// The age of a younger one is not known well enough to divide by it.
const FRESH: Span = Span::millis(350);
/// After so many leaves of a family were killed in vain, all of it is.
const LEAVES: usize = 2;
/// One leaf is enough if the family needs this long to take what its end frees: the time of a kill and
/// of the wait for its effect.
const ROUND: Duration = Duration::from_secs(2);

/// Whether two candidates are alike: the same name below one ancestor, or, where that is unknown, in one
/// unit of one user.
pub(super) fn is_kin(one: &Candidate, other: &Candidate) -> bool {
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
pub(super) fn family_that_grows(inputs: Inputs<'_>) -> Option<Pick> {
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
                family: Some(family),
                ..Pick::alone(inputs, candidate, growth)
            };
            best = Some((score, pick));
        }
    }
    best.map(|(_, pick)| pick)
}

/// If others grow like the picked process, it is one leaf of a family: the one that is configured to go
/// first, or all of them if one leaf gives no time, or some were killed already and it did not help.
pub(crate) fn join_family(inputs: Inputs<'_>, pick: &mut Pick) {
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
    end_its_root(inputs, pick);
}

/// Whether its unit may be killed whole, and at once.
fn goes_whole(inputs: Inputs<'_>, candidate: &Candidate) -> bool {
    limitable_unit(inputs, candidate).is_some_and(|unit| !unit.one_by_one)
}

/// A family that was ended and comes again is ended with what starts it: its ancestor, or its unit where
/// none is known. If all members are older than that end, they only take their time.
fn end_its_root(inputs: Inputs<'_>, pick: &mut Pick) {
    let Some(family) = pick.family.filter(|family| family.kin != 0) else {
        return;
    };
    let kin = eligible(inputs).filter(|member| is_kin(&pick.candidate, member));
    let youngest = kin.map(|member| member.age).min();
    let ended = inputs.ended.since(&family, inputs.scan.at);
    let Some(after) = ended.filter(|after| youngest.is_some_and(|age| age < *after)) else {
        return;
    };
    pick.again_after = Some(after);
    if pick.extent == Extent::Unit {
        return;
    }
    pick.extent = if family.ancestor.is_some() {
        Extent::Ancestor
    } else if goes_whole(inputs, &pick.candidate) {
        Extent::Unit
    } else {
        Extent::Family
    };
}
