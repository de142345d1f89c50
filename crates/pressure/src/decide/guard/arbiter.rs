//! The arbiter: which of the proposals are carried out.
//!
//! - What is told, and limits that are lifted, go beside everything else.
//! - Of the rest one is carried out, the first in the order of [`RULES`]. The order is from the gentlest
//!   to the hardest: first what a user answered, then the wait for what was done before, a limit, a
//!   question, SIGTERM, SIGKILL. A rule proposes a gentle act only while there is time for it, so a hard
//!   one that is first has no gentler rival that would be in time.
//! - Where another guard kills, no signal is sent and no user is asked; limits and notices go on.

use super::proposal::Proposal;
use super::rules;
use super::view::View;
use crate::decide::draft::Draft;
use crate::decision::{Action, Arbitration, Notice, Reason, Rule};
use crate::distress::{Pick, kernels_choice};
use crate::groups::CgroupAction;
use crate::scan::Signal;
use std::time::Duration;

/// Minimum time between two notices that the kill is left to another guard.
const LEFT_EVERY: Duration = Duration::from_secs(10);

type Function = fn(&View<'_>) -> Proposal;

/// All rules, in the order in which the arbiter prefers them.
const RULES: [(Rule, Function); 15] = [
    (Rule::Warns, rules::warns::propose),
    (Rule::NamesShared, rules::names_shared::propose),
    (Rule::NamesKernel, rules::names_kernel::propose),
    (Rule::SaysThrash, rules::says_thrash::propose),
    (Rule::SaysNobody, rules::says_nobody::propose),
    (Rule::Eases, rules::eases::propose),
    (Rule::Thaws, rules::thaws::propose),
    (Rule::Answers, rules::answers::propose),
    (Rule::Waits, rules::waits::propose),
    (Rule::AtLimit, rules::at_limit::propose),
    (Rule::Throttles, rules::throttles::propose),
    (Rule::Runaway, rules::runaway::propose),
    (Rule::Thrash, rules::thrash::propose),
    (Rule::Hopeless, rules::hopeless::propose),
    (Rule::LastResort, rules::last_resort::propose),
];

/// Asks every rule, and carries out what is to be.
pub(super) fn settle(draft: &mut Draft<'_>, view: &View<'_>) {
    let mut taken: Option<Rule> = None;
    for (rule, function) in RULES {
        let proposal = function(view);
        let verdict = match taken {
            _ if is_left_to_rival(view, &proposal) => Arbitration::LeftToRival,
            Some(first) => Arbitration::After(first),
            None => Arbitration::Taken,
        };
        match &proposal {
            Proposal::Nothing => continue,
            Proposal::Tell(notice) => {
                draft.notify(*notice);
                continue;
            }
            Proposal::Ease(actions) => {
                for (action, why) in actions {
                    draft.step(Action::Group(*action), *why);
                }
                continue;
            }
            Proposal::Wait => {}
            _ if verdict == Arbitration::LeftToRival => {
                leave_to_rival(draft, rule, &proposal);
                continue;
            }
            _ if verdict == Arbitration::Taken => carry_out(draft, view, &proposal),
            _ => {}
        }
        report(draft, rule, &proposal, verdict);
        taken = taken.or(Some(rule));
    }
}

/// Whether the proposal is one that another guard would make of its own, for the same process.
fn is_left_to_rival(view: &View<'_>, proposal: &Proposal) -> bool {
    let acts_everywhere = view.sample.circumstances.rival_guard == Some(1);
    match proposal {
        Proposal::Ask(pick, ..) | Proposal::Signal(pick, ..) => {
            acts_everywhere || pick.candidate.left_to_rival
        }
        _ => false,
    }
}

fn leave_to_rival(draft: &mut Draft<'_>, rule: Rule, proposal: &Proposal) {
    let is_new = draft.history.distress.term_since == Some(draft.sample.at);
    if is_new || draft.history.enters_slot(LEFT_EVERY) {
        report(draft, rule, proposal, Arbitration::LeftToRival);
        draft.notify(Notice::LeftToRival);
    }
}

fn carry_out(draft: &mut Draft<'_>, view: &View<'_>, proposal: &Proposal) {
    match proposal {
        Proposal::Throttle(_, action, why) | Proposal::Ask(_, action, why) => {
            draft.step(Action::Group(*action), *why);
        }
        Proposal::Signal(pick, signal, why, thaw) => {
            report_considered(draft, view, pick);
            kill(draft, view, pick, *signal, *why);
            thaw_after(draft, *thaw, *why);
        }
        Proposal::Nothing | Proposal::Tell(_) | Proposal::Ease(_) | Proposal::Wait => {}
    }
}

/// Signals the picked process, family or unit.
fn kill(draft: &mut Draft<'_>, view: &View<'_>, pick: &Pick, signal: Signal, why: Reason) {
    let candidate = &pick.candidate;
    let action = Action::Kill {
        identity: candidate.identity,
        name: candidate.name,
        unit: candidate.unit,
        signal,
        extent: pick.extent,
        size: pick.size(),
    };
    draft.step(action, why);
    report_kernels_choice(draft, view);
}

/// The rest of a frozen unit runs on when one process of it was killed.
fn thaw_after(draft: &mut Draft<'_>, thaw: Option<CgroupAction>, why: Reason) {
    if let Some(action) = thaw {
        draft.step(Action::Group(action), why);
    }
}

/// Reports the processes that were considered, if the picked one is among them.
fn report_considered(draft: &mut Draft<'_>, view: &View<'_>, pick: &Pick) {
    let considered = &view.choice.considered;
    let is_named = considered
        .iter()
        .any(|one| one.identity == pick.candidate.identity);
    for one in considered.iter().filter(|_| is_named) {
        draft.notify(Notice::Considered(*one));
    }
}

/// Reports the process that the kernel would OOM-kill otherwise.
fn report_kernels_choice(draft: &mut Draft<'_>, view: &View<'_>) {
    let sizes = draft.history.latest.sizes;
    let choice = kernels_choice(&view.sample.scan, sizes.managed + sizes.swap);
    if let Some(candidate) = choice {
        draft.notify(Notice::Otherwise {
            name: candidate.name,
            identity: candidate.identity,
            size: candidate.size(),
            within: view.outlook.left,
        });
    }
}

/// Reports what a rule proposed, and what became of it.
fn report(draft: &mut Draft<'_>, rule: Rule, proposal: &Proposal, verdict: Arbitration) {
    // That a rule waits for a process is no news in every tick.
    if matches!(verdict, Arbitration::After(Rule::Waits | Rule::Answers)) {
        return;
    }
    if let Some((proposed, pick)) = proposal.target() {
        draft.notify(Notice::Proposed {
            rule,
            proposed,
            name: pick.candidate.name,
            identity: pick.candidate.identity,
            verdict,
        });
    }
}
