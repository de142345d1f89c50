//! A frozen unit is thawed when its user says so, or when there is headroom again.

use super::fate::{Fate, fate};
use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use arrayvec::ArrayVec;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let mut actions = ArrayVec::new();
    for frozen in view.frozen() {
        let Some((Fate::Thaw, why)) = fate(view, frozen) else {
            continue;
        };
        let _ = actions.try_push((frozen.thaw(), why));
    }
    if actions.is_empty() {
        return Proposal::Nothing;
    }
    Proposal::Ease(actions)
}
