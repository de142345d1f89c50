#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use super::*;
use crate::decision::{Proposed, Rule};
use crate::distress::Exemption;
use crate::groups::Answer;
use crate::knob::{Knob, KnobSet};
use crate::scan::{Ancestor, Identity, Name, PathName, Signal, UnitName};
use expect_test::expect;
use units::{Bytes, Percent, Rate, Span};

/// Every reason once. The match has no catch-all, so that a new reason does not compile without a line here.
fn reasons() -> Vec<Reason> {
    let all = vec![
        Reason::Demand {
            window: Span::secs(1),
            demand: Bytes::mib(156),
            reclaimed: Bytes::mib(20),
            gap: Bytes::mib(24),
        },
        Reason::Stalls {
            allocation: 3,
            compaction: 1,
            hit_quickly: 2,
            gap: Bytes::mib(24),
        },
        Reason::Quiet {
            calm: Span::secs(20),
        },
        Reason::Refaults {
            per_second: 900,
            target: 200,
        },
        Reason::Worse {
            before: Span::millis(2),
            after: Span::millis(30),
        },
        Reason::BoostKept {
            high_found: Bytes::mib(90),
            high: Bytes::mib(400),
        },
        Reason::Budget {
            wanted: Bytes::mib(900),
            allowed: Bytes::mib(256),
        },
        Reason::Resized {
            managed: Bytes::mib(4096),
        },
        Reason::Blocks {
            order: 9,
            free: 4,
            needed: 60,
        },
        Reason::BlocksEnough {
            order: 9,
            free: 120,
        },
        Reason::Ahead {
            free: Bytes::mib(80),
            low: Bytes::mib(180),
        },
        Reason::NegativeDentries {
            count: 500_000,
            cap: 100_000,
        },
        Reason::ObjectCache {
            objects: 70_000,
            per_second: -40,
        },
        Reason::Configured { on: Event::Hotplug },
        Reason::ClassicReclaim {
            falling: 900,
            reclaimed: 100,
            exhausted_in: Span::secs(40),
        },
        Reason::ClassicCompaction {
            order: 3,
            exhausted_in: Span::secs(90),
        },
        Reason::ClassicRising { rising: 12 },
        Reason::Runaway {
            growth: Rate::new(200 << 20),
            of: Rate::new(210 << 20),
            headroom: Bytes::mib(90),
            left: Some(Span::millis(430)),
            stalled: Some(Percent::new(12)),
        },
        Reason::SigtermIgnored {
            asked: Span::millis(1500),
            headroom: Bytes::mib(20),
        },
        Reason::Hopeless {
            since: Span::secs(10),
            stalled: Percent::new(85),
        },
        Reason::Stop,
        Reason::Protect(crate::protect::Why::Off),
        Reason::Thrash {
            per_second: 450,
            target: 200,
        },
        Reason::Fills {
            growth: Rate::new(80 << 20),
            headroom: Bytes::mib(300),
            reserve: Bytes::mib(120),
            left: Span::millis(3750),
        },
        Reason::AtLimit {
            since: Span::secs(3),
            headroom: Bytes::mib(70),
        },
        Reason::Eased {
            headroom: Bytes::mib(700),
        },
        Reason::AskUser {
            growth: Rate::new(Bytes::mib(80).get()),
            headroom: Bytes::mib(60),
        },
        Reason::Answered {
            answer: Answer::Kill,
            after: Span::secs(4),
        },
        Reason::Unanswered {
            since: Span::secs(15),
            headroom: Bytes::mib(60),
        },
        Reason::StillShort {
            since: Span::secs(3),
            headroom: Bytes::mib(20),
        },
        Reason::Balance {
            file: 900,
            anon: 20,
        },
        Reason::ReadAhead {
            ahead: 400,
            used: 30,
        },
        Reason::Lags {
            stalled: Percent::new(35),
            per_second: 900,
        },
        Reason::NearOom {
            headroom: Bytes::mib(40),
        },
        Reason::RunsOut {
            headroom: Bytes::mib(35),
        },
        Reason::Family {
            processes: 40,
            growth: Rate::new(800 << 20),
            of: Rate::new(810 << 20),
            headroom: Bytes::mib(900),
            left: Some(Span::millis(1100)),
        },
        Reason::Contributes {
            since: Span::secs(20),
            stalled: Percent::new(55),
            unit: UnitName::from("session.slice").ok(),
            holds: Bytes::mib(900),
        },
        Reason::Again {
            processes: 24,
            after: Span::secs(9),
            ancestor: Some(Ancestor {
                identity: HOG,
                name: name("sh"),
            }),
            growth: Rate::new(80 << 20),
            headroom: Bytes::mib(30),
        },
        Reason::ReadAgain {
            again: Rate::new(60 << 20),
            demand: Rate::new(65 << 20),
            burst: Bytes::mib(3),
        },
        Reason::Unused {
            used: Bytes::mib(120),
            taken: Bytes::mib(6),
            back: Bytes::kib(40),
            waited: Percent::hundredths(2),
            budget: Percent::new(1),
        },
    ];
    let number = |reason: &Reason| match reason {
        Reason::Demand { .. } => 0,
        Reason::Stalls { .. } => 1,
        Reason::Quiet { .. } => 2,
        Reason::Refaults { .. } => 3,
        Reason::Worse { .. } => 4,
        Reason::BoostKept { .. } => 5,
        Reason::Budget { .. } => 6,
        Reason::Resized { .. } => 7,
        Reason::Blocks { .. } => 8,
        Reason::BlocksEnough { .. } => 9,
        Reason::Ahead { .. } => 10,
        Reason::NegativeDentries { .. } => 11,
        Reason::ObjectCache { .. } => 12,
        Reason::Configured { .. } => 13,
        Reason::ClassicReclaim { .. } => 14,
        Reason::ClassicCompaction { .. } => 15,
        Reason::ClassicRising { .. } => 16,
        Reason::Runaway { .. } => 17,
        Reason::SigtermIgnored { .. } => 18,
        Reason::Hopeless { .. } => 19,
        Reason::Stop => 20,
        Reason::Protect(_) => 21,
        Reason::Thrash { .. } => 22,
        Reason::Fills { .. } => 23,
        Reason::AtLimit { .. } => 24,
        Reason::Eased { .. } => 25,
        Reason::AskUser { .. } => 26,
        Reason::Answered { .. } => 27,
        Reason::Unanswered { .. } => 28,
        Reason::StillShort { .. } => 29,
        Reason::Balance { .. } => 30,
        Reason::ReadAhead { .. } => 31,
        Reason::Lags { .. } => 32,
        Reason::NearOom { .. } => 33,
        Reason::RunsOut { .. } => 34,
        Reason::Family { .. } => 35,
        Reason::Contributes { .. } => 36,
        Reason::Again { .. } => 37,
        Reason::ReadAgain { .. } => 38,
        Reason::Unused { .. } => 39,
    };
    assert!(
        all.iter().map(number).eq(0..40),
        "one reason is missing or stands twice"
    );
    all
}

fn squeeze_rests(is_empty: bool) -> Notice {
    Notice::SqueezeRests {
        unit: UnitName::from("backup.service").unwrap(),
        away: Bytes::mib(84),
        taken: Bytes::mib(6),
        back: Bytes::mib(2),
        waited: Percent::hundredths(40),
        is_empty,
        rest: Span::secs(120),
    }
}

/// Every notice, each event of the first included.
fn notices() -> Vec<Notice> {
    let knob = Knob::Swappiness;
    let mut min_free = KnobSet::NONE;
    min_free.insert(Knob::MinFreeKbytes);
    let happened = |event| Notice::Happened {
        event,
        from: Bytes::mib(1024),
        to: Bytes::mib(2048),
    };
    let all: Vec<Notice> = Event::ALL
        .into_iter()
        .map(happened)
        .chain([
            Notice::Foreign {
                knob,
                ours: 10,
                now: 60,
            },
            Notice::Stalled {
                allocation: 3,
                compaction: 1,
            },
            Notice::OomKill { count: 2 },
            Notice::Leak {
                growth: Rate::new(1 << 20),
                grown: Bytes::mib(600),
                over: Span::secs(600),
            },
            Notice::RegimeChange {
                from: Rate::new(1 << 20),
                to: Rate::new(80 << 20),
            },
            Notice::Exhaustion {
                expected: Span::secs(300),
            },
            Notice::Distress {
                headroom: Bytes::mib(200),
                growth: Rate::new(50 << 20),
                left: Span::secs(4),
            },
            Notice::Considered(Considered {
                identity: HOG,
                name: name("hog"),
                size: Bytes::mib(700),
                growth: Some(Rate::new(50 << 20)),
                verdict: Verdict::Exempt(Exemption::Rule),
            }),
            Notice::Gone {
                name: name("hog"),
                identity: HOG,
                size: Bytes::mib(700),
                after: Span::millis(420),
            },
            Notice::Otherwise {
                name: name("sshd"),
                identity: HOG,
                size: Bytes::mib(9),
                within: Some(Span::millis(900)),
            },
            Notice::NoCulprit {
                growth: Rate::new(50 << 20),
                headroom: Bytes::mib(20),
            },
            Notice::LeftToRival,
            Notice::Disabled,
            Notice::Rival { knobs: min_free },
            Notice::ShortOfBudget {
                wanted: Bytes::mib(900),
                allowed: Bytes::mib(256),
            },
            Notice::SharedFills {
                held: Bytes::mib(10_600),
                growth: Rate::new(512 << 20),
                mount: Some(PathName::from("/dev/shm").unwrap()),
                writer: Some(name("cp")),
            },
            Notice::KernelFills {
                held: Bytes::mib(4500),
                growth: Rate::new(200 << 20),
            },
            Notice::Thrashing {
                since: Span::secs(12),
                stalled: Percent::new(55),
                unit: UnitName::from("session.slice").ok(),
                headroom: Bytes::mib(120),
                largest: Some(name("hog")),
            },
            Notice::Proposed {
                rule: Rule::Runaway,
                proposed: Proposed::Term,
                name: name("hog"),
                identity: HOG,
                verdict: Arbitration::After(Rule::Throttles),
            },
            squeeze_rests(false),
        ])
        .collect();
    let number = |notice: &Notice| match notice {
        Notice::Happened { .. } => 0,
        Notice::Foreign { .. } => 1,
        Notice::Stalled { .. } => 2,
        Notice::OomKill { .. } => 3,
        Notice::Leak { .. } => 4,
        Notice::RegimeChange { .. } => 5,
        Notice::Exhaustion { .. } => 6,
        Notice::Distress { .. } => 7,
        Notice::Considered(_) => 8,
        Notice::Gone { .. } => 9,
        Notice::Otherwise { .. } => 10,
        Notice::NoCulprit { .. } => 11,
        Notice::LeftToRival => 12,
        Notice::Disabled => 13,
        Notice::Rival { .. } => 14,
        Notice::ShortOfBudget { .. } => 15,
        Notice::SharedFills { .. } => 16,
        Notice::KernelFills { .. } => 17,
        Notice::Thrashing { .. } => 18,
        Notice::Proposed { .. } => 19,
        Notice::SqueezeRests { .. } => 20,
    };
    assert!(
        all.iter().skip(3).map(number).eq(0..21),
        "one notice is missing or stands twice"
    );
    all
}

const HOG: Identity = Identity {
    pid: 4711,
    start: 90,
};

fn name(text: &str) -> Name {
    Name::from(text).unwrap()
}

fn end(signal: Signal, extent: Extent, unit: &str) -> Action {
    let unit = UnitName::from(unit).unwrap();
    Action::Kill {
        identity: HOG,
        name: name("hog"),
        unit,
        signal,
        extent,
        size: Bytes::mib(700),
    }
}

fn lines<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| one.to_string() + "\n").collect()
}

#[test]
fn every_reason_is_a_sentence_with_its_numbers() {
    expect![[r#"
        demand reaches 156 MiB within 1 s, kswapd frees 20 MiB of it meanwhile, the gap holds 24 MiB
        a gap of 24 MiB was too small: 3 allocations entered direct reclaim, 1 direct compaction, kswapd fell back below low 2 times
        quiet for 20 s, so held memory goes back
        no stalls, but 900 refaults/s (accepted: 200)
        the last raise made it worse: 2 ms lost per second before, 30 ms after
        the high watermark goes from 90 MiB to 400 MiB; the boost keeps its bytes
        900 MiB wanted, 256 MiB allowed
        the machine now has 4 GiB
        60 requests of order 9 expected, 4 could be served
        120 requests of order 9 could be served again
        free 80 MiB is below the new low watermark 180 MiB, and kswapd would wake only later
        500000 negative dentries are cached, the cap is 100000
        70000 dentries and inodes are cached, -40 per second
        the configuration sets it on hotplug
        free pages fall by 900/s while 100/s are reclaimed: at the high watermark in 40 s
        blocks of order 3 run out in 1.5 min
        free pages rise by 12/s
        it grows by 200 MiB/s, of 210 MiB/s in all; headroom is 90 MiB, used up in 430 ms; all tasks stalled 12 % of the last seconds
        SIGTERM was sent 1.5 s ago and it still runs; headroom is 20 MiB
        no headroom for 10 s, all tasks stalled 85 % of the time, and it holds the most memory
        nothing is to be held now
        protection is off
        programs wait for 450 refaults/s (accepted: 200), and the gap holds memory that they need
        it grows by 80 MiB/s and fills memory in 3.7 s; of 300 MiB of headroom, 120 MiB are reserved for all others
        throttled at memory.high for 3 s, it still grows; headroom is 70 MiB
        headroom is 700 MiB: no limit is needed
        it grows by 80 MiB/s, and headroom is 60 MiB: its user is asked what to do
        its user answered after 4 s: kill it
        frozen for 15 s without an answer, and headroom is only 60 MiB
        frozen for 3 s, and memory still runs out: headroom is 20 MiB
        900 refaults/s of file pages and 20 of anonymous pages
        of 400 pages/s that are read ahead from swap, 30 are used
        all tasks wait for memory 35 % of the time, at 900 refaults/s
        only 40 MiB of headroom left: min_ttl_ms restored, so that the kernel does not OOM-kill
        only 35 MiB of headroom left, and the gap holds a part of it
        it and 39 like it grow by 800 MiB/s together, of 810 MiB/s in all; headroom is 900 MiB, used up in 1.1 s
        all tasks of session.slice stalled 55 % of the last seconds, for 20 s now, and it contributes most: it holds 900 MiB
        24 like it were started again within 9 s of the end of all of them, and grow by 80 MiB/s together; sh (4711) starts them; headroom is 30 MiB
        60 MiB/s of 65 MiB/s is for pages that had been evicted, and processes burst by no more than 3 MiB
        it has 120 MiB: of 6 MiB taken lately 40 KiB refaulted, and it waited 0.02 % of the time, of at most 1 %
    "#]]
    .assert_eq(&lines(reasons()));
}

#[test]
fn every_notice_is_a_sentence_with_its_numbers() {
    expect![[r#"
        started
        huge page pools: 1 GiB → 2 GiB
        managed memory: 1 GiB → 2 GiB
        swap: 1 GiB → 2 GiB
        vm.swappiness is 60, Warmset had set 10: another program sets it, so Warmset leaves it alone
        allocations stalled: 3 in reclaim, 1 in compaction
        processes OOM-killed by the kernel: 2
        memory that nothing accounts for grows by 1 MiB/s: 600 MiB in 10 min; possibly a leak in the kernel or a driver
        demand changed from 1 MiB/s to 80 MiB/s: its history counts less now
        memory that cannot be reclaimed runs out in 5 min
        headroom is 200 MiB, and memory that cannot be reclaimed grows by 50 MiB/s: memory runs out in 4 s
        hog (4711): 700 MiB, grows by 50 MiB/s: exempt, guard.spare names it
        hog (4711) is gone 420 ms after the signal, which frees 700 MiB
        otherwise the kernel would OOM-kill sshd (4711), which holds 9 MiB, when memory is used up in 900 ms
        headroom is 20 MiB, memory grows by 50 MiB/s, and no process that may be killed causes it: nothing is killed
        memory runs out, and another guard runs: the kill is left to it
        the kill switch is on: nothing is held, nothing is set
        another program sets vm.min_free_kbytes; Warmset leaves that knob alone and drives the others
        demand calls for a gap of 900 MiB; the budget allows 256 MiB
        tmpfs and shared memory hold 10.3 GiB and grow by 512 MiB/s; no kill frees the files of a tmpfs: the fullest is /dev/shm, and cp writes to it
        the kernel's own memory (slab, stacks) is 4.3 GiB and grows by 200 MiB/s: no kill frees it; slabtop(1) names what holds it
        the machine thrashes: all tasks of session.slice stalled 55 % of the last seconds, for 12 s now, and headroom in RAM is 120 MiB; hog contributes most
        rule runaway proposes SIGTERM to hog (4711): not now, rule throttles comes first
        nothing more is taken of backup.service for 2 min: of 6 MiB taken lately 2 MiB refaulted, and it waited 0.4 % of the time; 84 MiB of it are not missed
    "#]]
    .assert_eq(&lines(notices()));
}

#[test]
fn an_action_names_what_it_writes() {
    let knob = Knob::WatermarkScaleFactor;
    let actions = [
        Action::Set {
            knob,
            from: 10,
            to: 143,
        },
        Action::PutBack {
            knob,
            from: 143,
            to: 10,
        },
        Action::Compact { node: 0 },
        Action::Recall {
            id: 9,
            unit: UnitName::from("ssh.service").unwrap(),
            amount: Bytes::mib(16),
        },
        Action::Reclaim {
            node: 1,
            amount: Bytes::mib(32),
        },
        Action::Squeeze {
            id: 9,
            unit: UnitName::from("backup.service").unwrap(),
            amount: Bytes::mib(4),
        },
        end(Signal::Term, Extent::Process, ""),
        end(Signal::Kill, Extent::Process, "session-2.scope"),
        end(Signal::Kill, Extent::Unit, "app-hog.scope"),
        end(Signal::Term, Extent::Family, "session-2.scope"),
        end(Signal::Kill, Extent::Ancestor, "session-2.scope"),
    ];
    expect![[r#"
        vm.watermark_scale_factor 10 → 143
        vm.watermark_scale_factor 143 → 10 (put back)
        compact node 0
        read back 16 MiB of ssh.service from swap
        reclaim 32 MiB from node 1
        take 4 MiB that backup.service does not use: memory.reclaim
        SIGTERM to hog (4711), which holds 700 MiB
        SIGKILL to hog (4711) of session-2.scope, which holds 700 MiB
        SIGKILL to all of app-hog.scope, with hog (4711), which holds 700 MiB
        SIGTERM to every process like hog (4711), which holds 700 MiB
        SIGKILL to every process like hog (4711), and to what starts them, which holds 700 MiB
    "#]]
    .assert_eq(&lines(actions));
}

#[test]
fn a_unit_of_which_nothing_is_left_is_said_to_be_so() {
    expect![[r#"
        nothing more is taken of backup.service for 2 min: nothing is left to take; 84 MiB of it are not missed
    "#]].assert_eq(&lines([squeeze_rests(true)]));
}

#[test]
fn a_step_reads_as_one_sentence() {
    let action = Action::Set {
        knob: Knob::WatermarkScaleFactor,
        from: 10,
        to: 143,
    };
    let step = Step {
        action,
        why: reasons()[0],
    };
    assert_eq!(
        step.to_string(),
        "vm.watermark_scale_factor 10 → 143: demand reaches 156 MiB within 1 s, kswapd frees 20 MiB of it meanwhile, \
         the gap holds 24 MiB"
    );
}

#[test]
fn words_are_those_of_the_configuration() {
    let words = [
        lines(Phase::ALL),
        lines(Event::ALL),
        lines([Mode::Observe, Mode::Tune, Mode::Guard, Mode::Protect]),
        lines([Predictor::BaseStock, Predictor::Classic]),
    ];
    expect![[r#"
        learning
        calm
        watching
        guarding
        easing
        yielding
        backed-off
        distress
        --
        start
        hugepages
        hotplug
        swap
        --
        observe
        tune
        guard
        protect
        --
        base-stock
        classic
    "#]]
    .assert_eq(&words.join("--\n"));
    for mode in [Mode::Observe, Mode::Tune, Mode::Guard, Mode::Protect] {
        let text = format!("mode = \"{mode}\"");
        assert_eq!(crate::Config::parse("x", &text).unwrap().mode, mode);
    }
}

#[test]
fn words_fill_a_column_as_asked() {
    assert_eq!(
        format!("{:>8}|{:<8}|", Phase::Calm, Mode::Tune),
        "    calm|tune    |"
    );
}
