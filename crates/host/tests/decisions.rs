//! What the guard does in recorded situations: which process it signals first and when, or nobody.
//!
//! The recordings are open loop: a signal frees nothing. So only the first signal means anything.

use host::recordings::Reader;
use pressure::Decision;
use pressure::decision::{Action, Notice};
use pressure::recording::Entry;
use pressure::scan::Signal;
use pressure::{History, decide};
use std::path::Path;
use std::time::Duration;

/// A decision, and when it was made, from the first sample on.
type Made = (Duration, Decision);

/// Decides every sample of a recording again.
fn decisions(name: &str) -> Vec<Made> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/decisions")
        .join(format!("{name}.rec.gz"));
    let reader = Reader::open(&file).expect("it can be read");
    let entries: Vec<Entry> = reader.map(|entry| entry.expect("an entry")).collect();
    let mut core = None;
    let mut begin = None;
    let mut made = Vec::new();
    for entry in &entries {
        match entry {
            Entry::Header(header) => {
                let config = header.config.clone().expect("a configuration");
                let history = History::new(&header.facts, &config);
                core = Some((config, history));
            }
            Entry::Sample(sample) => {
                let (config, history) = core.as_mut().expect("a header comes first");
                let first = *begin.get_or_insert(sample.at.get());
                history.push(sample);
                let since = sample.at.get().saturating_sub(first);
                made.push((since, decide(config, history)));
            }
            _ => {}
        }
    }
    made
}

/// The first signal: when, to which process.
fn first_signal(made: &[Made]) -> Option<(Duration, String, Signal)> {
    made.iter().find_map(|(at, decision)| {
        decision.steps.iter().find_map(|step| match step.action {
            Action::Kill { name, signal, .. } => Some((*at, name.to_string(), signal)),
            _ => None,
        })
    })
}

fn says(made: &[Made], is_it: fn(&Notice) -> bool) -> Option<Duration> {
    let says_it = |(_, decision): &&Made| decision.notices.iter().any(is_it);
    made.iter().find(says_it).map(|(at, _)| *at)
}

#[test]
fn what_makes_memory_run_out_gets_sigterm_in_time() {
    // Recording, process, and by when.
    let table = [
        ("hog-on-2-tb", "python3", 19.5),
        ("build-in-terminal-as-packaged", "cc1plus", 11.2),
        ("build-in-terminal", "cc1plus", 11.2),
        ("one-of-terminal", "python3", 11.8),
        ("three-alike", "cc1plus", 17.2),
        ("four-alike", "cc1plus", 17.2),
        ("five-alike", "cc1plus", 17.2),
        ("six-alike", "cc1plus", 17.2),
        ("build-in-session", "cc1plus", 11.2),
        ("thrash-hog-of-30-percent", "hog", 30.0),
        ("thrash-hog-of-60-percent", "hog", 30.0),
        ("thrash-hog-grows-fast", "hog", 30.0),
        ("memory-comes-late-1.5", "cluster", 10.0),
        ("memory-comes-late-4", "cluster", 10.0),
        ("desktop-stands", "hog", 90.0),
    ];
    for (recording, right, by) in table {
        let (at, name, signal) = first_signal(&decisions(recording)).expect(recording);
        assert_eq!(
            (name.as_str(), signal),
            (right, Signal::Term),
            "{recording}"
        );
        assert!(at <= Duration::from_secs_f64(by), "{recording}: {at:?}");
    }
}

#[test]
fn nobody_else_is_signalled_while_memory_is_on_its_way() {
    for recording in ["memory-comes-late-1.5", "memory-comes-late-4"] {
        for (at, decision) in decisions(recording) {
            for step in &decision.steps {
                if let Action::Kill { name, .. } = step.action {
                    assert_eq!(name.as_str(), "cluster", "{recording} at {at:?}");
                }
            }
        }
    }
}

#[test]
fn nobody_is_signalled_where_memory_does_not_run_out() {
    let table = [
        "fast-and-fits-1.5",
        "fast-and-fits-3.5",
        // Something gives memory back that no counter names: headroom does not fall.
        "zfs-without-arcstats",
    ];
    for recording in table {
        assert_eq!(first_signal(&decisions(recording)), None, "{recording}");
    }
}

#[test]
fn a_tmpfs_that_fills_is_named_and_nobody_is_signalled_for_it() {
    let made = decisions("tmpfs-fills");
    assert_eq!(first_signal(&made), None);
    let named = says(&made, |notice| matches!(notice, Notice::SharedFills { .. }));
    assert!(named.expect("it is named") <= Duration::from_secs(15));
}

#[test]
fn a_machine_that_thrashes_is_told_of_within_seconds() {
    for recording in ["thrash-hog-of-30-percent", "thrash-hog-of-60-percent"] {
        let made = decisions(recording);
        let told = says(&made, |notice| matches!(notice, Notice::Thrashing { .. }));
        assert!(told.expect(recording) <= Duration::from_secs(5), "{told:?}");
    }
}
