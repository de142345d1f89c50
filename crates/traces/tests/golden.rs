//! Published traces against what independent simulators made of them.
//!
//! `WARMSET_TRACES` names a directory with an `expected.csv` and its traces, which belong to others
//! and cannot be in this repository. Without it only the committed traces are tested.

use std::fs::File;
use std::path::{Path, PathBuf};
use traces::{Reading, open, read};
use workingset::Trace;
use workingset::policy::Choice;

/// A trace from a file, its format recognised.
fn load(path: &Path) -> Trace {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut source = open(file, &name, None, Reading::default()).expect("a known format");
    read(&mut *source, &|_| {}).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn misses(trace: &Trace, policy: &str, capacity: usize) -> u64 {
    let choice = Choice::parse(policy).expect("a policy");
    choice
        .spec
        .run(trace, capacity, &choice.options)
        .expect("a run")
        .misses
}

/// Returns true for a policy that this crate has, in a row where several programs agree.
fn is_ours(policy: &str, agreeing: &str) -> bool {
    let several = agreeing.contains('+') || policy == "opt";
    let base = policy.split('(').next().unwrap_or_default();
    let known = [
        "fifo",
        "lru",
        "clock",
        "sieve",
        "2q",
        "s3fifo",
        "arc-real-p",
        "arc-int-p",
        "lirs",
        "opt",
    ];
    let foreign =
        policy.contains("caffeine") || policy.contains("libCacheSim") || policy.contains("bypass");
    several && known.contains(&base) && !foreign
}

#[test]
fn published_traces_give_what_others_agree_on() {
    let Some(directory) = std::env::var_os("WARMSET_TRACES").map(PathBuf::from) else {
        eprintln!("SKIPPED: golden: WARMSET_TRACES names no directory of published traces");
        return;
    };
    let mut rows = csv::Reader::from_path(directory.join("expected.csv")).unwrap();
    let mut wrong: Vec<String> = Vec::new();
    let mut right = 0;
    let mut loaded: Option<(String, Trace)> = None;
    for row in rows.records() {
        let row = row.unwrap();
        let name = &row[0];
        let policy = &row[2];
        let agreeing = &row[6];
        let Ok(expected) = row[4].parse::<u64>() else {
            continue;
        };
        if !is_ours(policy, agreeing) {
            continue;
        }
        if loaded.as_ref().is_none_or(|(known, _)| known != name) {
            loaded = Some((name.to_owned(), load(&directory.join(name))));
        }
        let trace = &loaded.as_ref().unwrap().1;
        assert_eq!(trace.len().to_string(), &row[1], "references of {name}");
        let got = misses(trace, policy, row[3].parse().unwrap());
        if got == expected {
            right += 1;
        } else {
            wrong.push(format!(
                "{name} {policy} {}: {got}, others {expected}",
                &row[3]
            ));
        }
    }
    assert!(wrong.is_empty(), "{right} right\n{}", wrong.join("\n"));
    assert!(right > 50, "only {right} rows were compared");
    eprintln!("golden: {right} rows agree");
}

/// Traces that may be committed: `fixtures/traces`. What each policy misses there was checked once
/// against the plain models of `tests/models.rs` in `workingset`, and is kept so that a change
/// shows.
#[test]
fn committed_traces_give_what_they_gave() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let mut lines = Vec::new();
    for name in [
        "web07.trace.xz",
        "web12.trace.xz",
        "ls-lackey-pages.u32.zst",
        "gzip-lackey.txt.zst",
    ] {
        let trace = load(&directory.join(name));
        let references = trace.len();
        let pages = trace.pages();
        // The program is long: its first million is enough here.
        let trace = trace.part(|at| at < 1_000_000).expect("a part");
        for policy in [
            "fifo",
            "lru",
            "clock",
            "sieve",
            "2q",
            "s3fifo",
            "s3fifo(thr1)",
            "arc",
            "arc-int-p",
            "lirs",
            "opt",
            "linux",
            "mglru",
            "clockpro",
        ] {
            for percent in [5, 25] {
                let capacity = (trace.pages() * percent / 100).max(1);
                lines.push(format!(
                    "{name}\t{references}\t{pages}\t{policy}\t{capacity}\t{}",
                    misses(&trace, policy, capacity)
                ));
            }
        }
    }
    let got = lines.join("\n") + "\n";
    expect_test::expect_file![directory.join("misses.expected")].assert_eq(&got);
}
