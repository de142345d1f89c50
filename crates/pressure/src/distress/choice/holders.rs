//! What holds the most, for a machine in which nothing grows.

use super::family::is_kin;
use super::{Choice, Inputs, choose_by};
use crate::distress::growth::Growth;
use crate::distress::roles::{Exemption, weight};
use crate::distress::severity::Part;
use crate::scan::Candidate;
use units::{Bytes, Percent};

/// Where no process grows, only one that holds this much is worth a kill. Of three programs that thrash,
/// each holds less than a third.
const LARGE: Part = Part::new(Percent::new(10), Bytes::mib(4096));

/// Where processes that are exempt by what they are hold so much of memory, they are what fills it, and the end
/// of another helps nobody. A session's own programs together hold less.
const MOST: Percent = Percent::new(50);

/// The process that contributes most where no process grows: the one that holds the most. None if most of
/// memory is held by processes that are exempt by what they are.
///
/// Shared memory counts for each of the alike processes that map it as its part of it.
pub(crate) fn largest(inputs: Inputs<'_>) -> Choice {
    if held_by_exempt_ones(inputs) >= MOST.of(inputs.outlook.managed) {
        return Choice::default();
    }
    let least = LARGE.of(inputs.outlook.managed).max(inputs.unowned());
    let score = |candidate: &Candidate, _: Option<Growth>| {
        let size = own_part(inputs, candidate);
        if size < least {
            return None;
        }
        Some(size.get() as f64 * weight(candidate, inputs.config))
    };
    choose_by(inputs, &score)
}

/// What the candidates hold that are exempt by what they are. What root has named is another matter: a database
/// may be what the machine is for, and others make room for it.
fn held_by_exempt_ones(inputs: Inputs<'_>) -> Bytes {
    let is_named = |exemption| matches!(exemption, Exemption::Rule | Exemption::Mark);
    let mut held = Bytes::ZERO;
    for (candidate, exemption) in inputs.judged() {
        if exemption.is_some_and(|exemption| !is_named(exemption)) {
            held += own_part(inputs, candidate);
        }
    }
    held
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
