//! What a choice is made from, and what follows from it for one candidate.

use crate::config::Guard;
use crate::distress::ended::EndedFamilies;
use crate::distress::growth::{Growth, Growths};
use crate::distress::outlook::Outlook;
use crate::distress::roles::{Exemption, exemption};
use crate::scan::{Candidate, MAX_CANDIDATES, ProcessScan};
use arrayvec::ArrayVec;
use units::{Bytes, Percent, Rate};

/// What a choice is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) scan: &'a ProcessScan,
    pub(crate) growths: &'a Growths,
    pub(crate) ended: &'a EndedFamilies,
    pub(crate) config: &'a Guard,
    pub(crate) outlook: &'a Outlook,
    pub(crate) exemptions: &'a Exemptions,
    /// All tmpfs and shared memory.
    pub(crate) shmem: Bytes,
}

/// Why each candidate of a scan is exempt, in their order. That takes hundreds of comparisons for each, so
/// it is found once for a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exemptions(ArrayVec<Option<Exemption>, MAX_CANDIDATES>);

impl Exemptions {
    pub(crate) fn of(scan: &ProcessScan, config: &Guard) -> Self {
        let candidates = scan.candidates.iter();
        Self(candidates.map(|one| exemption(one, config)).collect())
    }
}

impl<'a> Inputs<'a> {
    /// Each candidate, and why it is exempt.
    pub(crate) fn judged(self) -> impl Iterator<Item = (&'a Candidate, Option<Exemption>)> {
        let exemptions = self.exemptions.0.iter().copied();
        self.scan.candidates.iter().zip(exemptions)
    }
}

pub(super) fn share_of_growth(inputs: Inputs<'_>, share: Percent) -> u64 {
    let total = Bytes::new(inputs.outlook.growth.get());
    share.of(total).get().max(1)
}

/// How a candidate grows. Its huge pages count while their pools grow.
pub(super) fn growth_of(inputs: Inputs<'_>, candidate: &Candidate) -> Option<Growth> {
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
pub(super) fn held_by(candidate: &Candidate) -> Bytes {
    let unit = candidate
        .group
        .filter(|_| candidate.place.is_of_its_own())
        .map(|group| group.held());
    let own = candidate.size() + candidate.written + candidate.hugetlb;
    own.max(unit.unwrap_or_default())
}

/// The candidates that may be killed and were not signalled.
pub(super) fn eligible(inputs: Inputs<'_>) -> impl Iterator<Item = &Candidate> {
    inputs
        .judged()
        .filter(move |(candidate, exemption)| {
            exemption.is_none() && !is_signalled(inputs.scan, candidate)
        })
        .map(|(candidate, _)| candidate)
}

/// Whether it was signalled already. The wait for signalled processes is decided elsewhere.
pub(super) fn is_signalled(scan: &ProcessScan, candidate: &Candidate) -> bool {
    scan.victims
        .iter()
        .any(|victim| victim.identity == candidate.identity)
}
