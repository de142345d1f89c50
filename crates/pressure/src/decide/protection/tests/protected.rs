//! Memory that is protected for units.

use super::{Bench, held, hot};
use crate::config::Share;
use crate::decide::decide;
use crate::decision::{Action, Reason};
use crate::groups::{CgroupAction, Protected};
use crate::protect::Why;
use crate::scan::UnitName;
use proptest::prelude::*;
use units::{Bytes, Pages, Percent};

pub(super) fn cgroup(id: u64, warm: u64) -> Protected {
    Protected {
        id,
        unit: UnitName::from("ssh.service").unwrap(),
        at: units::Span::secs(1),
        used: Bytes::mib(warm),
        warm: Bytes::mib(warm),
        refaulted: Bytes::ZERO,
        floor: Bytes::ZERO,
        found: Bytes::ZERO,
        ours: None,
        waiting: None,
        swapped: None,
        swapped_before: None,
    }
}

/// A second passes; what was decided about protected cgroups is applied.
fn cgroup_actions(bench: &mut Bench, stalls: u64) -> Vec<(CgroupAction, Why)> {
    bench.second(stalls);
    let decision = decide(&bench.config, &bench.history);
    let mut cgroup_actions = Vec::new();
    for step in &decision.steps {
        let (Action::Group(cgroup_action), Reason::Protect(why)) = (step.action, step.why) else {
            continue;
        };
        let cgroup = bench
            .sample
            .groups
            .protected
            .iter_mut()
            .find(|cgroup| cgroup.id == cgroup_action.id())
            .unwrap();
        (cgroup.ours, cgroup.floor) = match cgroup_action {
            CgroupAction::Keep { to, .. } => (Some(to), to),
            _ => (None, cgroup.found),
        };
        cgroup_actions.push((cgroup_action, why));
    }
    cgroup_actions
}

fn kept(cgroup_actions: &[(CgroupAction, Why)]) -> Vec<(u64, u64)> {
    let kept = cgroup_actions
        .iter()
        .filter_map(|(cgroup_action, _)| match cgroup_action {
            CgroupAction::Keep { id, to, .. } => Some((*id, to.get() >> 20)),
            _ => None,
        });
    kept.collect()
}

#[test]
fn memory_min_that_does_not_work_is_not_relied_on() {
    for (seen, expected) in [(Some(0), 0), (Some(1), 1), (None, 1)] {
        let mut bench = Bench::new();
        bench.sample.groups.protected = vec![cgroup(5, 20)];
        bench.sample.warm.sums.floors = seen;
        bench.seconds(4, 0);
        assert_eq!(cgroup_actions(&mut bench, 1).len(), expected, "{seen:?}");
    }
}

#[test]
fn what_a_cgroup_uses_is_protected_while_memory_is_short() {
    let mut bench = Bench::new();
    bench.sample.groups.protected = vec![cgroup(5, 20)];
    bench.seconds(4, 0);
    assert!(
        cgroup_actions(&mut bench, 0).is_empty(),
        "a machine with memory is left alone"
    );
    assert_eq!(
        kept(&cgroup_actions(&mut bench, 1)),
        [(5, 24)],
        "a fifth more than it uses"
    );
    assert!(cgroup_actions(&mut bench, 1).is_empty(), "once");
    for _ in 0..59 {
        assert!(
            cgroup_actions(&mut bench, 0).is_empty(),
            "a pause is no end"
        );
    }
    let last = (0..5)
        .flat_map(|_| cgroup_actions(&mut bench, 0))
        .collect::<Vec<_>>();
    assert!(
        matches!(
            last[..],
            [(CgroupAction::Leave { id: 5, .. }, Why::Calm { .. })]
        ),
        "{last:?}"
    );
}

#[test]
fn a_full_machine_is_short_before_anything_is_reclaimed() {
    let mut bench = Bench::new();
    bench.sample.groups.protected = vec![cgroup(5, 20)];
    bench.sample.zones[0].amounts.min = Some(Pages::new(1000));
    let memory = &mut bench.sample.memory;
    memory.anon = Some(Bytes::mib(900));
    memory.shmem = Some(Bytes::ZERO);
    memory.slab_unreclaimable = Some(Bytes::ZERO);
    memory.active_file = Some(Bytes::ZERO);
    memory.inactive_file = Some(Bytes::ZERO);
    bench.seconds(3, 0);
    assert_eq!(kept(&cgroup_actions(&mut bench, 0)), [(5, 24)]);
}

#[test]
fn refaults_make_it_more_and_small_changes_change_nothing() {
    let mut bench = Bench::new();
    bench.sample.groups.protected = vec![cgroup(5, 20)];
    bench.seconds(4, 1);
    assert_eq!(kept(&cgroup_actions(&mut bench, 1)), [(5, 24)]);
    let read = |bench: &mut Bench, refaulted: u64| {
        let cgroup = &mut bench.sample.groups.protected[0];
        cgroup.at = bench.sample.at;
        cgroup.refaulted += Bytes::mib(refaulted);
        kept(&cgroup_actions(bench, 1))
    };
    assert_eq!(read(&mut bench, 1), [], "25 are near enough to 24");
    assert_eq!(read(&mut bench, 20), [(5, 48)]);
}

#[test]
fn the_smallest_come_first_and_the_budget_is_all_there_is() {
    let mut bench = Bench::new();
    bench.sample.groups.protected = vec![cgroup(1, 300), cgroup(2, 30), cgroup(3, 10)];
    bench.seconds(3, 1);
    assert_eq!(
        kept(&cgroup_actions(&mut bench, 1)),
        [(3, 12), (2, 36), (1, 54)],
        "10 % of memory: 102 MiB"
    );
}

#[test]
fn locks_and_floors_share_a_quarter_of_memory() {
    let mut bench = Bench::new();
    bench.config.protect.budget = Share::Percent(Percent::new(25));
    let mut file = hot(8, 200);
    file.asked = file.hot;
    bench.sample.warm.files[0] = file;
    bench.sample.groups.protected = vec![cgroup(1, 300)];
    bench.seconds(3, 1);
    assert_eq!(
        kept(&cgroup_actions(&mut bench, 1)),
        [(1, 56)],
        "256 less 200"
    );
    // And the other way round: what is kept is not locked.
    let mut bench = Bench::new();
    bench.config.protect.budget = Share::Percent(Percent::new(25));
    bench.config.protect.floors = Share::Percent(Percent::new(15));
    bench.sample.groups.protected = vec![cgroup(1, 300)];
    bench.seconds(4, 1);
    assert_eq!(kept(&cgroup_actions(&mut bench, 1)), [(1, 153)]);
    bench.sample.warm.sums.watching = Some(1);
    bench.sample.warm.files[0] = hot(8, 220);
    assert!(held(&bench.short()).is_empty(), "102 are left");
    bench.sample.warm.files[0] = hot(8, 100);
    assert_eq!(held(&bench.short()), [8]);
}

#[test]
fn a_foreign_floor_is_left_alone_and_one_that_a_manager_reset_is_set_again() {
    let mut bench = Bench::new();
    let theirs = Protected {
        floor: Bytes::mib(1),
        ..cgroup(1, 20)
    };
    let more = Protected {
        floor: Bytes::mib(64),
        found: Bytes::mib(64),
        ..cgroup(2, 20)
    };
    bench.sample.groups.protected = vec![theirs, more, cgroup(3, 20)];
    bench.seconds(3, 1);
    assert_eq!(kept(&cgroup_actions(&mut bench, 1)), [(3, 24)]);
    bench.sample.groups.protected[2].floor = Bytes::ZERO;
    assert_eq!(
        kept(&cgroup_actions(&mut bench, 1)),
        [(3, 24)],
        "a reload of the manager undid it"
    );
}

#[test]
fn the_kill_switch_and_another_mode_put_all_back() {
    let mut bench = Bench::new();
    bench.sample.groups.protected = vec![cgroup(5, 20)];
    bench.seconds(3, 1);
    cgroup_actions(&mut bench, 1);
    bench.sample.circumstances.disabled = Some(1);
    let last = cgroup_actions(&mut bench, 1);
    assert!(
        matches!(last[..], [(CgroupAction::Leave { id: 5, .. }, Why::Off)]),
        "{last:?}"
    );
}

proptest! {
    /// Whatever is read of the cgroups, `memory.min` and locks are always within a quarter of memory.
    #[test]
    fn it_cannot_be_overcommitted(
        readings in prop::collection::vec((0_usize..6, 0_u64..4000, 0_u64..500), 1..60),
        locked in 0_u64..200,
    ) {
        let mut bench = Bench::new();
        bench.config.protect.floors = Share::Percent(Percent::new(25));
        bench.config.protect.budget = Share::Percent(Percent::new(25));
        let mut file = hot(8, locked.max(1));
        file.asked = file.hot;
        bench.sample.warm.files[0] = file;
        bench.sample.groups.protected = (0..6).map(|id| cgroup(id, 10)).collect();
        for (which, warm, missed) in readings {
            let cgroup = &mut bench.sample.groups.protected[which];
            cgroup.at = bench.sample.at;
            cgroup.used = Bytes::mib(warm);
            cgroup.warm = Bytes::mib(warm);
            cgroup.refaulted += Bytes::mib(missed);
            cgroup_actions(&mut bench, 1);
            let kept: Bytes = bench.sample.groups.protected.iter().filter_map(|cgroup| cgroup.ours).sum();
            prop_assert!(kept + Bytes::mib(locked.max(1)) <= Bytes::mib(256), "{kept} kept");
        }
    }
}
