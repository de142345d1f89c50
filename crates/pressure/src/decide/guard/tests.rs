mod family;
mod frozen;
pub(in crate::decide) mod machine;
mod short;
mod throttled;
mod whole;

use crate::config::{Config, Mode};
use crate::decision::{Attention, Notice, Phase, Reason};
use crate::distress::{Exemption, Verdict};
use crate::sample::{Sample, Swap, SwapAmounts, SwapKind, Zone, ZoneAmounts};
use crate::scan::{Candidate, Mark, Name, Place, Signal, UnitName};
use machine::{Machine, PAGE, Process, process};
use proptest::prelude::*;
use units::{Bytes, Micros, Pages, Span};

#[test]
fn only_the_runaway_gets_sigterm_and_before_memory_is_full() {
    let mut machine = Machine::new(vec![
        process(10, "editor", 200, 0),
        process(20, "hog", 10, 80),
    ]);
    machine.run(20.0);
    assert_eq!(machine.signalled(), [(20, Signal::Term)]);
    assert_eq!(machine.ended, [20]);
    assert!(!machine.out_of_memory, "the kernel would have been first");
    assert!(
        machine
            .said
            .iter()
            .any(|notice| matches!(notice, Notice::Distress { .. })),
        "warned before"
    );
    assert!(
        machine
            .said
            .iter()
            .any(|notice| matches!(notice, Notice::Gone { .. })),
        "told after"
    );
    assert_eq!(
        machine.decision.attention,
        Attention::Rest,
        "and then processes are not scanned"
    );
}

#[test]
fn a_process_that_waits_for_memory_most_of_the_time_is_killed_all_the_same() {
    let mut machine = Machine::new(vec![
        process(10, "editor", 200, 0),
        process(20, "hog", 10, 3),
    ]);
    for tick in 0..3000 {
        let scarce = machine
            .decision
            .forecast
            .outlook
            .is_some_and(|outlook| outlook.headroom < Bytes::mib(60));
        let hog = machine
            .processes
            .iter_mut()
            .find(|process| process.candidate.identity.pid == 20);
        let Some(hog) = hog else { break };
        hog.speed = if scarce && tick % 8 != 0 { 0 } else { 30 };
        machine.tick();
    }
    assert_eq!(machine.ended, [20], "{:?}", machine.signals);
    assert!(!machine.out_of_memory);
}

#[test]
fn a_process_that_ignores_sigterm_is_killed_in_time() {
    let mut hog = process(20, "hog", 10, 100);
    hog.deaf = true;
    let mut machine = Machine::new(vec![process(10, "editor", 200, 0), hog]);
    machine.run(20.0);
    assert_eq!(
        machine.signalled(),
        [(20, Signal::Term), (20, Signal::Kill)]
    );
    assert!(machine.ended == [20] && !machine.out_of_memory);
}

#[test]
fn where_there_is_no_time_it_is_killed_at_once() {
    let mut machine = Machine::new(vec![
        process(10, "editor", 100, 0),
        process(20, "hog", 10, 450),
    ]);
    machine.run(10.0);
    assert_eq!(machine.ended, [20]);
    assert!(!machine.out_of_memory, "{:?}", machine.signalled());
}

#[test]
fn the_fastest_grower_is_killed_not_the_largest_and_not_a_browsers_tab() {
    let mut tab = process(30, "Isolated Web Co", 150, 0);
    tab.candidate.oom_score_adj = 300;
    let mut machine = Machine::new(vec![
        process(10, "database", 300, 0),
        tab,
        process(20, "hog", 10, 80),
    ]);
    machine.run(20.0);
    assert_eq!(machine.ended, [20]);
}

/// In a machine it was a command of 1.1 MiB, beside an exempt process that had grown in leaps.
#[test]
fn nobody_is_killed_who_holds_next_to_nothing() {
    let strangers = |each: u64| {
        let mut all = Vec::new();
        for number in 0..10 {
            let mut one = process(100 + number, &format!("stranger-{number}"), each, 1);
            one.candidate.kin = number;
            one.candidate.unit =
                UnitName::from(format!("session-{number}.scope").as_str()).unwrap();
            all.push(one);
        }
        all
    };
    let killed = |each: u64| {
        let mut machine = Machine::new(strangers(each));
        // What none of them frees.
        machine.files = Bytes::mib(930 - 10 * each);
        while !machine.out_of_memory && machine.signals.is_empty() {
            machine.tick();
        }
        machine.signals.len()
    };
    assert_eq!(killed(1), 0);
    assert_eq!(
        killed(50),
        1,
        "but of ten that hold a part of memory the fastest"
    );
}

#[test]
fn a_newborn_that_takes_its_first_pages_is_no_runaway() {
    let mut newborn = process(30, "sh", 5, 0);
    newborn.candidate.age = Span::millis(20);
    let mut machine = Machine::new(vec![
        newborn,
        process(10, "editor", 200, 0),
        process(20, "hog", 10, 80),
    ]);
    for _ in 0..200 {
        machine.tick();
        // Each look finds another one that has just begun.
        let newborn = machine
            .processes
            .iter_mut()
            .find(|process| process.candidate.name.as_str() == "sh")
            .unwrap();
        newborn.candidate.identity.pid += 100;
        newborn.candidate.age = Span::millis(20);
    }
    assert_eq!(machine.ended, [20], "{:?}", machine.signals);
}

#[test]
fn no_second_kill_while_the_first_ones_memory_is_on_its_way() {
    let mut hog = process(20, "hog", 10, 200);
    hog.deaf = true;
    hog.dying = 40;
    // The other grows too, but not so that it needs to go.
    let mut machine = Machine::new(vec![process(10, "build", 200, 10), hog]);
    machine.run(15.0);
    assert_eq!(machine.ended, [20], "{:?}", machine.signalled());
    assert!(machine.signals.iter().all(|(pid, ..)| *pid == 20));
}

#[test]
fn a_process_that_outlives_sigkill_is_given_up_and_the_next_is_chosen() {
    let mut stuck = process(20, "stuck", 10, 120);
    stuck.deaf = true;
    stuck.dying = u32::MAX;
    let mut machine = Machine::new(vec![stuck, process(21, "other", 10, 0)]);
    machine.run(9.0);
    assert!(machine.signals.iter().all(|(pid, ..)| *pid == 20));
    machine.processes.iter_mut().for_each(|process| {
        process.speed = if process.candidate.identity.pid == 21 {
            10
        } else {
            0
        }
    });
    machine.run(20.0);
    assert!(machine.ended.contains(&21), "{:?}", machine.signals);
}

#[test]
fn processes_of_the_system_are_exempt_by_unit_or_program_but_never_by_name() {
    let rule = |spare: &str| {
        let mut config = Config {
            mode: Mode::Guard,
            ..Config::default()
        };
        config.guard.spare = vec![spare.parse().unwrap()];
        config
    };
    let unit = |name: &str, place: Place| {
        let mut hog = process(20, "hog", 10, 80);
        hog.candidate.unit = UnitName::from(name).unwrap();
        hog.candidate.place = place;
        hog.candidate.user = if place == Place::Service { 0 } else { 1000 };
        hog
    };
    // Without logind, what a user starts runs in the unit of the login service.
    let of_a_person = |name: &str| {
        let mut hog = unit(name, Place::Service);
        hog.candidate.user = 1000;
        hog
    };
    let program = |name: &str| {
        let mut hog = process(20, "hog", 10, 80);
        hog.candidate.program = Some(Name::from(name).unwrap());
        hog
    };
    let of_desktop = |name: &str| {
        let mut hog = program(name);
        hog.candidate.place = Place::Desktop;
        hog
    };
    let change = |change: fn(&mut Candidate)| {
        let mut hog = process(20, "hog", 10, 80);
        change(&mut hog.candidate);
        hog
    };
    let guard = || Config {
        mode: Mode::Guard,
        ..Config::default()
    };
    let exempt = vec![
        (guard(), unit("sshd.service", Place::Service)),
        (guard(), unit("systemd-logind.service", Place::Service)),
        (guard(), unit("dbus-broker.service", Place::Service)),
        (guard(), program("gnome-shell")),
        (guard(), program("apt-get")),
        (guard(), of_desktop("gjs")),
        (guard(), program("pipewire")),
        (guard(), change(|candidate| candidate.oom_score_adj = -1000)),
        (guard(), change(|candidate| candidate.mark = Mark::Omit)),
        (rule("session-2.scope"), process(20, "hog", 10, 80)),
        (rule("session-*"), process(20, "hog", 10, 80)),
        (rule("pid:20@200"), process(20, "hog", 10, 80)),
        (rule("program:postgres"), program("postgres")),
    ];
    for (config, hog) in exempt {
        let what = format!("{hog:?}");
        let mut machine = Machine::with(config, vec![process(10, "editor", 300, 0), hog]);
        machine.run(20.0);
        assert_eq!(machine.signals, [], "{what}");
        assert!(
            machine
                .said
                .iter()
                .any(|notice| matches!(notice, Notice::NoCulprit { .. })),
            "{what}"
        );
    }
    let killed = [
        (guard(), process(20, "sshd", 10, 80)),
        (guard(), unit("sshd.service", Place::App)),
        (guard(), of_a_person("sshd.service")),
        (guard(), unit("org.gnome.Shell.service", Place::Desktop)),
        (guard(), of_desktop("python3.13")),
        (guard(), change(|candidate| candidate.mark = Mark::Own)),
        (rule("pid:20@199"), process(20, "hog", 10, 80)),
        (rule("program:hog"), process(20, "hog", 10, 80)),
    ];
    for (config, hog) in killed {
        let what = format!("{hog:?}");
        let mut machine = Machine::with(config, vec![process(10, "editor", 300, 0), hog]);
        machine.run(20.0);
        assert_eq!(machine.ended, [20], "{what}");
    }
}

#[test]
fn a_unit_that_a_user_named_is_not_the_systems_of_that_name() {
    let cases = [
        (
            "postgresql.service",
            "postgresql.service",
            Place::Service,
            true,
        ),
        (
            "postgresql.service",
            "postgresql.service",
            Place::App,
            false,
        ),
        (
            "unit:postgresql.service",
            "postgresql.service",
            Place::Desktop,
            false,
        ),
        ("app:app-editor*", "app-editor.scope", Place::App, true),
        (
            "app:app-editor*",
            "app-editor.service",
            Place::Service,
            false,
        ),
    ];
    for (rule, name, place, exempt) in cases {
        let mut config = Config {
            mode: Mode::Guard,
            ..Config::default()
        };
        config.guard.spare = vec![rule.parse().unwrap()];
        let mut hog = process(20, "hog", 10, 80);
        hog.candidate.unit = UnitName::from(name).unwrap();
        hog.candidate.place = place;
        let mut machine = Machine::with(config, vec![process(10, "editor", 300, 0), hog]);
        machine.run(20.0);
        assert_eq!(
            machine.ended.is_empty(),
            exempt,
            "{rule}, {name}, {place:?}"
        );
    }
}

#[test]
fn a_users_mark_counts_among_that_users_units_only() {
    let marked = || {
        let mut hog = process(20, "hog", 10, 80);
        hog.candidate.mark = Mark::Own;
        hog
    };
    let mut machine = Machine::new(vec![marked(), process(21, "batch", 10, 40)]);
    machine.run(20.0);
    assert_eq!(
        machine.ended.first(),
        Some(&21),
        "the same user's other grower goes first"
    );
    let mut other = process(21, "batch", 10, 40);
    other.candidate.user = 1001;
    let mut machine = Machine::new(vec![marked(), other]);
    machine.run(20.0);
    assert_eq!(
        machine.ended.first(),
        Some(&20),
        "no user pays for another user's mark"
    );
}

#[test]
fn a_control_group_at_its_own_limit_is_not_the_machines_distress() {
    let mut machine = Machine::new(vec![
        process(10, "limited", 300, 0),
        process(11, "editor", 100, 0),
    ]);
    for _ in 0..200 {
        let stalled = machine.sample.memory_pressure.full_total.unwrap().get() + 95_000;
        machine.sample.memory_pressure.full_total = Some(Micros::new(stalled));
        let refaults = machine.sample.counters.workingset_refault_file.unwrap_or(0) + 5000;
        machine.sample.counters.workingset_refault_file = Some(refaults);
        machine.tick();
    }
    assert_eq!(
        (
            machine.signals.len(),
            machine.decision.phase == Phase::Distress
        ),
        (0, false)
    );
    assert!(
        machine
            .decision
            .forecast
            .outlook
            .unwrap()
            .stalled
            .unwrap()
            .get()
            > 9000,
        "pressure is seen"
    );
}

#[test]
fn a_load_that_fills_memory_and_stays_there_is_left_alone() {
    for mib in [600, 800, 900] {
        let mut machine = Machine::new(vec![
            process(10, "database", mib, 0),
            process(11, "editor", 30, 0),
        ]);
        machine.run(30.0);
        assert_eq!(machine.signals, [], "{mib}");
    }
    // One that comes and goes between half and three quarters of memory.
    let mut machine = Machine::new(vec![process(10, "burst", 500, 0)]);
    for round in 0..10 {
        machine.processes[0].speed = 100;
        machine.run(2.5);
        machine.processes[0].candidate.resident = Bytes::mib(500);
        machine.processes[0].speed = 0;
        machine.run(1.0);
        assert_eq!(machine.signals, [], "round {round}");
    }
}

#[test]
fn swap_is_headroom_and_swap_that_comes_later_is_headroom_then() {
    let mut machine = Machine::new(vec![
        process(10, "editor", 100, 0),
        process(20, "hog", 10, 40),
    ]);
    machine.swap = Bytes::mib(4096);
    machine.run(25.0);
    assert_eq!(machine.signals, [], "there is swap for minutes");
    let mut machine = Machine::new(vec![
        process(10, "editor", 100, 0),
        process(20, "hog", 10, 40),
    ]);
    machine.run(14.0);
    machine.swap = Bytes::mib(4096);
    machine.run(10.0);
    assert_eq!(machine.signals, [], "swap came in time");
    machine.swap = machine.anon().less(Bytes::mib(800));
    machine.run(10.0);
    assert_eq!(
        machine.ended,
        [20],
        "and when most of it went, there was no headroom"
    );
}

#[test]
fn with_swap_left_a_thrashing_machine_is_not_waited_for() {
    let mut machine = Machine::new(vec![
        process(10, "editor", 100, 0),
        process(20, "hog", 10, 80),
    ]);
    machine.swap = Bytes::mib(1024);
    while machine.ended.is_empty() && !machine.out_of_memory {
        let stalled = if machine.anon() > Bytes::mib(900) {
            60_000
        } else {
            0
        };
        let total = machine.sample.memory_pressure.full_total.unwrap().get() + stalled;
        machine.sample.memory_pressure.full_total = Some(Micros::new(total));
        machine.tick();
    }
    assert_eq!(machine.signalled(), [(20, Signal::Term)]);
    assert!(
        machine.sample.memory.swap_free.unwrap() > Bytes::mib(300),
        "{:?}",
        machine.sample.memory.swap_free
    );
}

#[test]
fn without_swap_time_lost_alone_makes_nothing_more_urgent() {
    let mut machine = Machine::new(vec![
        process(10, "editor", 100, 0),
        process(20, "hog", 10, 40),
    ]);
    while machine.signals.is_empty() {
        let total = machine.sample.memory_pressure.full_total.unwrap().get() + 60_000;
        machine.sample.memory_pressure.full_total = Some(Micros::new(total));
        machine.tick();
    }
    let headroom = machine.decision.forecast.outlook.unwrap().headroom;
    assert!(headroom <= Bytes::mib(130), "{headroom}");
}

#[test]
fn zram_is_headroom_only_by_what_it_saves() {
    let headroom = |used: Option<u64>, pool: Option<u64>| {
        let mut sample = Sample::default();
        let amounts = SwapAmounts {
            size: Some(Bytes::mib(512)),
            used: used.map(Bytes::mib),
        };
        sample.swaps = vec![Swap {
            kind: SwapKind::Zram,
            amounts,
        }];
        sample.zones = vec![Zone {
            amounts: ZoneAmounts {
                min: Some(Pages::new(0)),
                ..ZoneAmounts::default()
            },
            ..Zone::default()
        }];
        sample.counters.nr_free_pages = Some(Pages::new(0));
        sample.counters.nr_zspages = pool.map(|mib| Bytes::mib(mib).to_pages(PAGE));
        sample.memory.active_file = Some(Bytes::ZERO);
        sample.memory.inactive_file = Some(Bytes::ZERO);
        {
            let terms = crate::distress::HeadroomTerms {
                page_size: PAGE,
                floor: Bytes::ZERO,
                disk: units::Rate::ZERO,
                may_use_cma: false,
            };
            crate::distress::headroom_of(&sample, &terms).unwrap()
        }
    };
    assert_eq!(
        headroom(Some(0), None),
        Bytes::mib(256),
        "half, as long as nothing is known"
    );
    assert_eq!(
        headroom(Some(112), Some(28)),
        Bytes::mib(300),
        "a quarter is what this load costs"
    );
    assert_eq!(
        headroom(Some(112), Some(130)),
        Bytes::ZERO,
        "what does not compress saves nothing"
    );
}

#[test]
fn beside_another_guard_nothing_is_killed_and_it_is_reported() {
    let mut machine = Machine::new(vec![process(20, "hog", 10, 80)]);
    machine.sample.circumstances.rival_guard = Some(1);
    machine.run(20.0);
    assert_eq!(machine.signals, []);
    assert!(machine.said.contains(&Notice::LeftToRival));
}

#[test]
fn only_guard_and_protect_kill_and_observe_says_which() {
    for (mode, ends) in [
        (Mode::Tune, false),
        (Mode::Guard, true),
        (Mode::Protect, true),
        (Mode::Observe, true),
    ] {
        let mut machine = Machine::with(
            Config {
                mode,
                ..Config::default()
            },
            vec![process(20, "hog", 10, 80)],
        );
        machine.run(20.0);
        assert_eq!(!machine.signals.is_empty(), ends, "{mode}");
    }
}

#[test]
fn the_kill_switch_stops_kills_too() {
    let mut machine = Machine::new(vec![process(20, "hog", 10, 80)]);
    machine.sample.circumstances.disabled = Some(1);
    machine.run(20.0);
    assert_eq!(machine.signals, []);
}

#[test]
fn the_account_names_the_exempt_and_the_chosen() {
    let mut shielded = process(10, "Xorg", 100, 60);
    shielded.candidate.program = Some(Name::from("Xorg").unwrap());
    let mut machine = Machine::new(vec![shielded, process(20, "hog", 10, 60)]);
    machine.run(15.0);
    let verdict = |notice: &Notice| match notice {
        Notice::Considered(considered) => Some((considered.identity.pid, considered.verdict)),
        _ => None,
    };
    let verdicts: Vec<_> = machine.said.iter().filter_map(verdict).collect();
    assert!(
        verdicts.contains(&(10, Verdict::Exempt(Exemption::Program))),
        "{verdicts:?}"
    );
    assert!(verdicts.contains(&(20, Verdict::Chosen)), "{verdicts:?}");
}

#[test]
fn full_and_stalled_for_long_the_largest_is_killed_although_no_process_grows() {
    let mut machine = Machine::new(vec![
        process(10, "small", 100, 0),
        process(20, "large", 830, 0),
    ]);
    for _ in 0..300 {
        let total = machine.sample.memory_pressure.full_total.unwrap().get() + 90_000;
        machine.sample.memory_pressure.full_total = Some(Micros::new(total));
        machine.sample.counters.workingset_refault_file =
            Some(machine.sample.counters.workingset_refault_file.unwrap_or(0) + 5000);
        machine.tick();
    }
    assert_eq!(machine.signalled(), [(20, Signal::Kill)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whichever processes there are and however they grow: no exempt one is signalled, and none twice
    /// for one kill. A runaway no faster than half of memory per second never fills memory. Nor do
    /// several that together are half as fast, of which one exits per second.
    #[test]
    fn whatever_comes_the_rules_hold(
        speeds in prop::collection::vec((0..300u64, 1..200u64, any::<bool>(), any::<bool>()), 1..6),
        swap in 0..512u64,
    ) {
        let processes: Vec<Process> = speeds.iter().enumerate().map(|(index, (speed, size, deaf, exempt))| {
            let mut one = process(100 + index as u32, "any", *size / 2, *speed);
            one.deaf = *deaf;
            // SIGKILL has room for two samples: one until it is sent, one until the process has exited.
            one.dying = 1;
            one.candidate.oom_score_adj = if *exempt { -1000 } else { 0 };
            one
        }).collect();
        let exempt: Vec<u32> =
            processes.iter().filter(|one| one.candidate.oom_score_adj == -1000).map(|one| one.candidate.identity.pid).collect();
        let speed: u64 = speeds.iter().map(|(speed, ..)| speed).sum();
        let mut machine = Machine::new(processes);
        machine.swap = Bytes::mib(swap);
        for _ in 0..400 {
            machine.tick();
            if machine.decision.steps.iter().any(|step| matches!(step.why, Reason::Runaway { .. })) {
                prop_assert!(machine.decision.phase == Phase::Distress || machine.decision.phase == Phase::Yielding);
            }
        }
        for (pid, ..) in &machine.signals {
            prop_assert!(!exempt.contains(pid), "{pid} is exempt");
        }
        for pid in &machine.ended {
            let kills = machine.signals.iter().filter(|(identity, signal, _)| identity == pid && *signal == Signal::Kill).count();
            prop_assert!(kills <= 1, "{pid} was killed {kills} times");
        }
        let most = if speeds.len() == 1 { 500 } else { 250 };
        if exempt.is_empty() && speed <= most {
            prop_assert!(!machine.out_of_memory, "{:?}", machine.signals);
        }
    }
}
