//! Thrash, shared memory, fast growth, headroom that others give back, and other guards.

use super::machine::{Machine, PAGE, Process, in_unit, process};
use crate::decision::{Arbitration, Notice, Proposed, Rule};
use crate::distress::{HeadroomTerms, headroom_of};
use crate::groups::{CgroupAction, Protected, Throttled, Waiting};
use crate::sample::{Pool, PoolAmounts, Sample, Zone, ZoneAmounts};
use crate::scan::{Group, Mark, Place, Signal, UnitName};
use units::{Bytes, Micros, Pages, Rate, Span};

/// The same process in a unit of its own.
fn in_a_unit(one: Process) -> Process {
    let group = Group {
        processes: 1,
        ..Group::default()
    };
    in_unit(group, Place::Service, one)
}

/// One tick in which all tasks stall for so many thousandths of the time.
fn stall(machine: &mut Machine, thousandths: u64) {
    let before = machine.sample.memory_pressure.full_total.unwrap().get();
    let now = before + thousandths * 100;
    machine.sample.memory_pressure.full_total = Some(Micros::new(now));
    machine.tick();
}

fn seconds(machine: &Machine) -> f64 {
    machine.sample.at.get().as_secs_f64() - 1000.0
}

/// Three programs that fill memory, and swap that is half free.
fn thrashing() -> Machine {
    let mut machine = Machine::new(vec![
        process(10, "one", 420, 0),
        process(11, "two", 380, 0),
        process(12, "three", 360, 0),
    ]);
    machine.swap = Bytes::mib(600);
    machine
}

/// When somebody is signalled, if all tasks stall for `busy` of every so many ticks.
fn signalled_amid_lulls(busy: u64, every: u64) -> Option<f64> {
    let mut machine = thrashing();
    let mut ticks = 0;
    while seconds(&machine) < 60.0 && machine.signals.is_empty() {
        let thousandths = if ticks % every < busy { 700 } else { 50 };
        stall(&mut machine, thousandths);
        ticks += 1;
    }
    (!machine.signals.is_empty()).then(|| seconds(&machine))
}

/// As recorded in a machine that stalled half of the time: it was never over for long, and never on for 20 s.
#[test]
fn thrash_with_moments_in_which_something_gets_on_is_thrash() {
    let at = signalled_amid_lulls(60, 120);
    assert!(at.is_some_and(|at| (20.0..40.0).contains(&at)), "{at:?}");
    assert_eq!(signalled_amid_lulls(60, 200), None, "it is over each time");
}

#[test]
fn thrash_without_growth_is_told_at_once_and_ended_after_a_stated_time() {
    let mut machine = thrashing();
    let mut told = None;
    let mut signalled = None;
    while seconds(&machine) < 60.0 {
        stall(&mut machine, 500);
        let says = machine
            .decision
            .notices
            .iter()
            .any(|notice| matches!(notice, Notice::Thrashing { .. }));
        if says && told.is_none() {
            told = Some(seconds(&machine));
        }
        if !machine.signals.is_empty() && signalled.is_none() {
            signalled = Some(seconds(&machine));
        }
    }
    assert!(told.unwrap() < 8.0, "{told:?}");
    let signalled = signalled.unwrap();
    assert!((20.0..30.0).contains(&signalled), "{signalled}");
    assert_eq!(
        machine.signalled().first(),
        Some(&(10, Signal::Term)),
        "the largest"
    );
}

#[test]
fn a_stall_below_the_limit_and_a_stall_with_headroom_are_left_alone() {
    let mut machine = thrashing();
    (0..600).for_each(|_| stall(&mut machine, 250));
    assert_eq!(machine.signals, []);
    // One cgroup at its own limit: all tasks that run are in it, and the machine has headroom.
    let mut machine = Machine::new(vec![process(10, "limited", 300, 0)]);
    (0..600).for_each(|_| stall(&mut machine, 900));
    assert_eq!(
        (machine.signals.len(), machine.cgroup_actions.len()),
        (0, 0)
    );
}

#[test]
fn the_largest_contributor_with_a_unit_is_throttled_first_and_stays_so() {
    let mut machine = thrashing();
    machine.processes[0] = in_a_unit(machine.processes[0].clone());
    while seconds(&machine) < 18.0 {
        stall(&mut machine, 500);
    }
    let throttles = machine
        .cgroup_actions
        .iter()
        .filter(|action| matches!(action, CgroupAction::Throttle { id: 77, .. }));
    assert_eq!(
        (throttles.count(), machine.cgroup_actions.len()),
        (1, 1),
        "and not undone"
    );
    assert_eq!(machine.signals, []);
}

/// How a desktop waits, in thousandths of the time, and how many of 100 pages that disks read were evicted.
#[derive(Debug, Clone, Copy, Default)]
struct Stands {
    for_memory: u64,
    for_disks: u64,
    evicted: u64,
}

/// The desktop as it is read every five seconds, in a machine of which all tasks never stall for more than a
/// quarter of the time. Disks read 100 pages a tick.
fn desktop_stands(machine: &mut Machine, stands: Stands, for_seconds: u64) {
    if machine.sample.groups.protected.is_empty() {
        machine.sample.groups.protected.push(desktop());
    }
    for tick in 1..=for_seconds * 10 {
        let sample = &mut machine.sample;
        let counters = &mut sample.counters;
        counters.pgpgin = Some(counters.pgpgin.unwrap_or_default() + 400);
        let before = counters.workingset_refault_file.unwrap_or_default();
        counters.workingset_refault_file = Some(before + stands.evicted);
        if tick % 50 == 0 {
            let desktop = &mut sample.groups.protected[0];
            desktop.at = sample.at;
            desktop.refaulted += Bytes::kib(4 * 50 * stands.evicted);
            let waiting = desktop.waiting.as_mut().unwrap();
            waiting.memory = Micros::new(waiting.memory.get() + stands.for_memory * 5000);
            waiting.disks = Micros::new(waiting.disks.get() + stands.for_disks * 5000);
        }
        stall(machine, 250);
    }
}

fn desktop() -> Protected {
    Protected {
        id: 5,
        unit: UnitName::from("session.slice").unwrap(),
        at: Span::default(),
        used: Bytes::mib(50),
        warm: Bytes::mib(50),
        refaulted: Bytes::ZERO,
        floor: Bytes::ZERO,
        found: Bytes::ZERO,
        ours: None,
        waiting: Some(Waiting {
            memory: Micros::new(0),
            disks: Micros::new(0),
            limited: 0,
        }),
        swapped: None,
        swapped_before: None,
    }
}

const FOR_MEMORY: Stands = Stands {
    for_memory: 800,
    for_disks: 0,
    evicted: 0,
};

/// As seen in a machine on a slow disk: a window stood for minutes, and what filled memory got on.
#[test]
fn a_desktop_that_stands_is_thrash_though_others_get_on() {
    let mut machine = thrashing();
    let seldom = Stands {
        for_memory: 300,
        ..Stands::default()
    };
    desktop_stands(&mut machine, seldom, 60);
    assert_eq!(machine.signals, [], "below the limit");
    desktop_stands(&mut machine, FOR_MEMORY, 40);
    assert_eq!(machine.signalled().first(), Some(&(10, Signal::Term)));
    let unit = machine.said.iter().find_map(|notice| match notice {
        Notice::Thrashing { unit, .. } => *unit,
        _ => None,
    });
    assert_eq!(unit.unwrap().as_str(), "session.slice");
}

/// The kernel counts no wait for a page of code that was read once before: only the disk's pressure tells.
#[test]
fn a_desktop_that_waits_for_a_slow_disk_is_thrash_if_evicted_pages_are_read() {
    let signalled = |evicted: u64| {
        let mut machine = thrashing();
        let stands = Stands {
            for_memory: 0,
            for_disks: 900,
            evicted,
        };
        desktop_stands(&mut machine, stands, 100);
        machine.signalled().first().copied()
    };
    assert_eq!(signalled(95), Some((10, Signal::Term)));
    assert_eq!(signalled(20), None, "most of what is read is new");
}

#[test]
fn a_desktop_that_waits_at_its_own_limit_or_beside_a_large_cache_harms_nobody() {
    let mut machine = thrashing();
    desktop_stands(&mut machine, Stands::default(), 5);
    for _ in 0..12 {
        let waiting = &mut machine.sample.groups.protected[0].waiting;
        waiting.as_mut().unwrap().limited += 1;
        desktop_stands(&mut machine, FOR_MEMORY, 5);
    }
    assert_eq!(machine.signals, [], "its own limit");
    let mut machine = Machine::new(vec![process(10, "database", 300, 0)]);
    desktop_stands(&mut machine, FOR_MEMORY, 60);
    assert_eq!(machine.signals, [], "most of memory is cache");
}

#[test]
fn reclaim_in_a_cgroup_that_we_throttle_counts_as_reclaim_of_the_machine() {
    let mut machine = thrashing();
    machine.processes[0] = in_a_unit(machine.processes[0].clone());
    // kswapd is idle.
    machine.sample.zones[0].amounts.high = Some(Bytes::mib(1).to_pages(PAGE));
    (0..600).for_each(|_| stall(&mut machine, 500));
    assert_eq!(machine.signals, [], "cgroups at limits of others");
    machine.sample.groups.throttled.push(Throttled {
        id: 77,
        unit: machine.processes[0].candidate.unit,
        since: machine.sample.at,
        used: Bytes::mib(420),
        memory_high: Bytes::mib(400),
        reserve: Bytes::mib(60),
        pushes: 0,
    });
    (0..300).for_each(|_| stall(&mut machine, 500));
    assert_eq!(machine.signalled().first(), Some(&(10, Signal::Term)));
}

/// Any user can have root's program hold memory, and in the desktop's slice each is exempt.
#[test]
fn nobody_pays_for_memory_that_exempt_processes_hold() {
    let mut exempt = process(10, "exempt", 700, 0);
    exempt.candidate.oom_score_adj = -1000;
    let bystander = in_a_unit(process(11, "bystander", 250, 0));
    let mut machine = Machine::new(vec![exempt, bystander]);
    machine.swap = Bytes::mib(300);
    (0..600).for_each(|_| stall(&mut machine, 700));
    let thrashes = |notice: &Notice| matches!(notice, Notice::Thrashing { .. });
    assert!(machine.said.iter().any(thrashes));
    assert_eq!(machine.signals, []);
    assert_eq!(machine.cgroup_actions, []);
}

/// Root says which service the machine is for. Others make room for it, as they did before it was named.
#[test]
fn the_largest_of_the_others_pays_beside_what_root_has_named() {
    let mut database = process(10, "database", 700, 0);
    database.candidate.mark = Mark::Omit;
    let other = in_a_unit(process(11, "other", 250, 0));
    let mut machine = Machine::new(vec![database, other]);
    machine.swap = Bytes::mib(300);
    (0..600).for_each(|_| stall(&mut machine, 700));
    assert!(!machine.signals.is_empty() || !machine.cgroup_actions.is_empty());
}

/// As seen in a machine: the kernel has OOM-killed what filled memory, and what it had evicted is read again.
#[test]
fn nobody_pays_for_stalls_that_a_process_has_left_which_the_kernel_killed() {
    let bystander = in_a_unit(process(11, "bystander", 250, 0));
    let mut machine = Machine::new(vec![process(10, "hog", 700, 0), bystander]);
    machine.config.guard.stall_for = Span::default();
    // kswapd is idle: what tells of reclaim is what it has scanned.
    machine.sample.zones[0].amounts.high = Some(Bytes::mib(1).to_pages(PAGE));
    let reclaim = |machine: &mut Machine, scanned: u64| {
        let counters = &mut machine.sample.counters;
        counters.pgscan_direct = Some(0);
        counters.pgscan_kswapd = Some(counters.pgscan_kswapd.unwrap_or(0) + scanned);
        counters.workingset_refault_file =
            Some(counters.workingset_refault_file.unwrap_or(0) + 100);
        stall(machine, 700);
    };
    while seconds(&machine) < 8.0 {
        reclaim(&mut machine, 5000);
    }
    assert!(machine.history.distress.thrashing_since.is_some());
    machine.processes.remove(0);
    while seconds(&machine) < 12.0 {
        reclaim(&mut machine, 0);
    }
    assert_eq!(machine.cgroup_actions, []);
}

#[test]
fn stall_for_zero_only_tells() {
    let mut machine = thrashing();
    machine.config.guard.stall_for = Span::default();
    (0..600).for_each(|_| stall(&mut machine, 500));
    assert_eq!(machine.signals, []);
}

#[test]
fn a_hog_in_shared_memory_is_found_and_an_innocent_grower_is_not_taken_for_it() {
    let mut hog = process(20, "hog", 1, 0);
    hog.shared_speed = 60;
    let mut machine = Machine::new(vec![process(10, "innocent", 100, 8), hog]);
    machine.run(25.0);
    assert_eq!(machine.ended.first(), Some(&20), "{:?}", machine.signals);
}

#[test]
fn a_tmpfs_that_fills_is_named_and_nobody_dies_for_it() {
    let mut machine = Machine::new(vec![process(10, "browser", 200, 0)]);
    for tick in 0..300u64 {
        machine.files = Bytes::mib((tick * 6).min(700));
        machine.tick();
    }
    assert_eq!(machine.signals, []);
    let named = machine
        .said
        .iter()
        .any(|notice| matches!(notice, Notice::SharedFills { .. }));
    assert!(named);
}

#[test]
fn a_program_that_grows_fast_and_fits_is_left_alone() {
    // It stops when a fifth of memory is left; at the last speed it would fill that in 0.4 s.
    for speed in [60, 120, 240, 480] {
        let mut machine = Machine::new(vec![process(20, "java", 10, speed)]);
        while machine.anon() < Bytes::mib(670) {
            machine.tick();
        }
        machine.processes[0].speed = 0;
        machine.run(10.0);
        assert_eq!(machine.signals, [], "{speed} MiB/s");
    }
}

#[test]
fn beside_another_guard_it_still_throttles_and_says_what_it_would_have_done() {
    let hog = in_a_unit(process(20, "hog", 10, 60));
    let mut machine = Machine::new(vec![process(10, "editor", 200, 0), hog]);
    machine.sample.circumstances.rival_guard = Some(1);
    machine.run(30.0);
    assert_eq!(machine.signals, []);
    assert!(!machine.cgroup_actions.is_empty(), "throttled");
    let left = machine.said.iter().any(|notice| {
        matches!(
            notice,
            Notice::Proposed {
                verdict: Arbitration::LeftToRival,
                ..
            }
        )
    });
    assert!(left);
}

#[test]
fn where_another_guard_kills_in_one_cgroup_only_that_is_left_to_it() {
    let mut hog = process(20, "hog", 10, 80);
    hog.candidate.left_to_rival = true;
    let mut machine = Machine::new(vec![process(10, "editor", 200, 0), hog]);
    machine.run(20.0);
    assert_eq!(machine.signals, []);
    let mut machine = Machine::new(vec![
        process(10, "editor", 200, 0),
        process(20, "hog", 10, 80),
    ]);
    machine.processes[0].candidate.left_to_rival = true;
    machine.run(20.0);
    assert_eq!(machine.ended, [20]);
}

#[test]
fn a_proposal_that_comes_second_is_told_with_the_rule_that_came_first() {
    let hog = in_a_unit(process(20, "hog", 10, 60));
    let mut machine = Machine::new(vec![process(10, "editor", 500, 0), hog]);
    // Exempt until it is time for SIGTERM, so that a limit and a signal are due at once.
    let adjust = |machine: &mut Machine, to: i16| {
        for one in &mut machine.processes {
            one.candidate.oom_score_adj = to;
        }
    };
    adjust(&mut machine, -1000);
    let is_time = |notice: &Notice| matches!(notice, Notice::NoCulprit { .. });
    while !machine.said.iter().any(is_time) {
        machine.tick();
    }
    adjust(&mut machine, 0);
    machine.said.clear();
    machine.tick();
    let verdict_of = |rule: Rule| {
        machine.said.iter().find_map(|notice| match notice {
            Notice::Proposed {
                rule: of,
                proposed,
                verdict,
                ..
            } if *of == rule => Some((*proposed, *verdict)),
            _ => None,
        })
    };
    assert_eq!(
        verdict_of(Rule::Throttles),
        Some((Proposed::Throttle, Arbitration::Taken))
    );
    assert_eq!(
        verdict_of(Rule::Runaway),
        Some((Proposed::Term, Arbitration::After(Rule::Throttles)))
    );
    assert_eq!(machine.signals, []);
}

/// A machine of 1 GiB with nothing but free memory.
fn free_machine(mib: u64) -> Sample {
    let zone = Zone {
        amounts: ZoneAmounts {
            min: Some(Pages::new(0)),
            managed: Some(Bytes::mib(1024).to_pages(PAGE)),
            ..ZoneAmounts::default()
        },
        ..Zone::default()
    };
    let mut sample = Sample {
        zones: vec![zone],
        ..Sample::default()
    };
    sample.counters.nr_free_pages = Some(Bytes::mib(mib).to_pages(PAGE));
    sample.memory.active_file = Some(Bytes::ZERO);
    sample.memory.inactive_file = Some(Bytes::ZERO);
    sample
}

const TERMS: HeadroomTerms = HeadroomTerms {
    page_size: PAGE,
    floor: Bytes::ZERO,
    disk: Rate::ZERO,
    may_use_cma: false,
};

#[test]
fn headroom_counts_what_others_give_back() {
    let mut sample = free_machine(100);
    sample.returnable.arc = Some(Bytes::mib(400));
    assert_eq!(
        headroom_of(&sample, &TERMS),
        Some(Bytes::mib(100)),
        "its least is unknown"
    );
    sample.returnable.arc_min = Some(Bytes::mib(64));
    assert_eq!(headroom_of(&sample, &TERMS), Some(Bytes::mib(436)));
    sample.memory.balloon = Some(Bytes::mib(50));
    assert_eq!(
        headroom_of(&sample, &TERMS),
        Some(Bytes::mib(436)),
        "it may not deflate"
    );
    sample.returnable.balloon_deflates = Some(1);
    assert_eq!(headroom_of(&sample, &TERMS), Some(Bytes::mib(486)));
}

#[test]
fn free_contiguous_memory_is_headroom_of_what_may_be_moved() {
    let mut sample = free_machine(100);
    sample.counters.nr_free_cma = Some(Bytes::mib(70).to_pages(PAGE));
    assert_eq!(headroom_of(&sample, &TERMS), Some(Bytes::mib(30)));
    let movable = HeadroomTerms {
        may_use_cma: true,
        ..TERMS
    };
    assert_eq!(headroom_of(&sample, &movable), Some(Bytes::mib(100)));
}

#[test]
fn dirty_pages_are_headroom_at_the_speed_of_the_disk() {
    let mut sample = free_machine(0);
    sample.memory.inactive_file = Some(Bytes::mib(300));
    sample.memory.dirty = Some(Bytes::mib(200));
    assert_eq!(headroom_of(&sample, &TERMS), Some(Bytes::mib(100)));
    let disk = HeadroomTerms {
        disk: Rate::new(Bytes::mib(80).get()),
        ..TERMS
    };
    assert_eq!(headroom_of(&sample, &disk), Some(Bytes::mib(180)));
}

#[test]
fn in_a_container_that_is_shown_its_own_memory_no_more_counts_than_it_has() {
    let mut sample = free_machine(800);
    sample.memory.total = Some(Bytes::mib(200));
    sample.memory.available = Some(Bytes::mib(50));
    assert_eq!(headroom_of(&sample, &TERMS), Some(Bytes::mib(50)));
    sample.memory.total = Some(Bytes::mib(1024));
    assert_eq!(headroom_of(&sample, &TERMS), Some(Bytes::mib(800)));
}

#[test]
fn pools_of_huge_pages_are_no_part_of_the_memory_that_shares_are_of() {
    let mut sample = free_machine(100);
    sample.pools = vec![Pool {
        size: Bytes::mib(2),
        amounts: PoolAmounts {
            pages: Some(256),
            ..PoolAmounts::default()
        },
    }];
    let managed = crate::distress::managed_of(&sample, PAGE);
    assert_eq!(managed, Some(Bytes::mib(512)));
}
