//! Local replacement: whom, when, and how often.

use super::*;
use crate::local::{Policy, Push, Runner, Way};
use crate::scan::{Candidate, Identity};

/// Two that run, of whom the last is the largest of all.
fn scan(sample: &mut Sample) {
    let identity = |pid| Identity { pid, start: 1 };
    let runner = |pid, mib, turn| Runner {
        identity: identity(pid),
        name: "cc1".parse().unwrap(),
        resident: Bytes::mib(mib),
        turn,
    };
    sample.scan.runners = [runner(10, 20, 5), runner(11, 90, 7)].into_iter().collect();
    let candidate = |pid, mib| {
        let text = format!(
            r#"{{"who":{{"pid":{pid},"start":1}},"age":1000000000,"name":"cc1","program":null,"unit":"","place":"unknown","user":0,
            "resident":{},"swapped":0,"oom_score_adj":0,"mark":"none","group":null,"life":"alive"}}"#,
            mib << 20
        );
        serde_json::from_str::<Candidate>(&text).unwrap()
    };
    sample.scan.candidates = [candidate(10, 20), candidate(11, 90)].into_iter().collect();
}

fn pushes(policy: Policy, seconds: u64) -> (Vec<Push>, Bench) {
    let mut config = Config::default();
    config.local.policy = policy;
    let mut bench = Bench::new(config);
    let mut pushes = Vec::new();
    for _ in 0..seconds * 10 {
        bench.tick(Bytes::mib(3), scan);
        pushes.extend(
            bench
                .decision
                .steps
                .iter()
                .filter_map(|step| match step.action {
                    Action::Local(push) => Some(push),
                    _ => None,
                }),
        );
    }
    (pushes, bench)
}

#[test]
fn each_policy_presses_on_its_own_process_and_not_too_often() {
    for (policy, way, pid) in [
        (Policy::UpLargest, Way::Up, 11),
        (Policy::UpNext, Way::Up, 10),
        (Policy::UpLast, Way::Up, 11),
        (Policy::DownLargest, Way::Down, 11),
        (Policy::DownNext, Way::Down, 10),
        (Policy::DownLast, Way::Down, 11),
    ] {
        let (pushes, bench) = pushes(policy, 10);
        assert!(
            pushes
                .iter()
                .all(|push| (push.way, push.identity.pid) == (way, pid)),
            "{policy:?} {pushes:?}"
        );
        assert!(
            (30..=40).contains(&pushes.len()),
            "four a second, not {} in ten",
            pushes.len()
        );
        assert_eq!(bench.decision.attention, Attention::Runners);
        assert!(bench.decision.patience() <= Duration::from_millis(250));
    }
}

#[test]
fn nothing_is_pressed_without_a_watermark_or_without_being_asked() {
    let (made, mut bench) = pushes(Policy::UpLargest, 2);
    assert!(!made.is_empty());
    for _ in 0..100 {
        bench.tick(Bytes::ZERO, scan);
    }
    assert!(
        bench
            .decision
            .steps
            .iter()
            .all(|step| !matches!(step.action, Action::Local(_)))
    );
    assert_eq!(
        bench.decision.attention,
        Attention::Rest,
        "and nobody is looked at"
    );
    assert!(pushes(Policy::Off, 2).0.is_empty());
    let (made, watching) = pushes(Policy::Watch, 2);
    assert!(made.is_empty());
    assert_eq!(
        watching.decision.attention,
        Attention::Runners,
        "it looks, and presses on nobody"
    );
    // Whoever says stop is heeded, and nobody is looked at for nothing.
    bench.tick(Bytes::mib(40), |sample| {
        scan(sample);
        sample.circumstances.disabled = Some(1);
    });
    assert!(
        bench
            .decision
            .steps
            .iter()
            .all(|step| !matches!(step.action, Action::Local(_)))
    );
    assert_eq!(bench.decision.attention, Attention::Rest);
}
