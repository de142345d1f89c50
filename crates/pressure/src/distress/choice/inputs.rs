//! What a choice is made from, and what follows from it for one candidate.

use crate::config::Guard;
use crate::distress::growth::{Growth, Growths};
use crate::distress::outlook::Outlook;
use crate::distress::roles::exemption;
use crate::scan::{Candidate, ProcessScan};
use units::{Bytes, Percent, Rate};

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
    inputs.scan.candidates.iter().filter(move |candidate| {
        !is_signalled(inputs.scan, candidate) && exemption(candidate, inputs.config).is_none()
    })
}

/// Whether it was signalled already. The wait for signalled processes is decided elsewhere.
pub(super) fn is_signalled(scan: &ProcessScan, candidate: &Candidate) -> bool {
    scan.victims
        .iter()
        .any(|victim| victim.identity == candidate.identity)
}
