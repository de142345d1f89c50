//! Every text of `situations/` runs in the model, and what the guard does is right.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use situations::{Act, Outcome, Situation, Verdict, judge, run_from};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../situations")
}

/// Every text, by name.
fn texts() -> BTreeMap<String, Situation> {
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let situation = Situation::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        texts.insert(name, situation);
    }
    texts
}

/// What was done, in a few words.
fn shown(outcome: &Outcome) -> String {
    let acts: Vec<String> = outcome.acts.iter().map(Act::shown).collect();
    let mut shown = acts.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    if acts.len() > 4 {
        write!(shown, ", and {} more", acts.len() - 4).unwrap();
    }
    for (at, names) in outcome.kernel_kills.iter().take(2) {
        let seconds = *at as f64 / 1000.0;
        write!(shown, "; {seconds:.1} s the kernel killed {}", names[0]).unwrap();
    }
    if shown.is_empty() {
        shown.push_str("nothing");
    }
    shown
}

/// Runs all texts, on as many CPUs as there are. What the model does depends on none of that.
fn run_all(texts: &BTreeMap<String, Situation>, first: u64) -> Vec<(&str, &Situation, Outcome)> {
    let next = AtomicUsize::new(0);
    let list: Vec<_> = texts.iter().collect();
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((name, text)) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_from(text, first).unwrap();
                    done.lock().unwrap().push((name.as_str(), *text, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(name, ..)| *name);
    done
}

#[test]
fn every_situation_is_decided_right() {
    let mut wrong = 0;
    let mut late = 0;
    let mut table = String::new();
    let texts = texts();
    for (name, situation, outcome) in run_all(&texts, 0) {
        let verdict = judge(situation, &outcome);
        match verdict {
            Verdict::Right => {}
            Verdict::Late(_) => late += 1,
            Verdict::Wrong(_) => wrong += 1,
        }
        let kind = &situation.kind;
        writeln!(table, "{name} ({kind})").unwrap();
        writeln!(table, "    asked     {}", situation.right.shown()).unwrap();
        writeln!(table, "    happened  {}", shown(&outcome)).unwrap();
        writeln!(table, "    {verdict}").unwrap();
    }
    let right = texts.len() - wrong - late;
    println!("{table}");
    println!(
        "situations {}  right {right}  wrong {wrong}  late {late}",
        texts.len()
    );
    assert_eq!((wrong, late), (0, 0), "wrong and late situations");
}

/// A verdict that changes with the moment at which the guard first looks is luck.
#[test]
#[ignore = "runs every text three times more; for those who change decisions"]
fn what_is_right_does_not_depend_on_the_moment_of_a_look() {
    let texts = texts();
    let mut by_luck = String::new();
    let verdicts = |first: u64| -> BTreeMap<&str, Verdict> {
        run_all(&texts, first)
            .into_iter()
            .map(|(name, situation, outcome)| (name, judge(situation, &outcome)))
            .collect()
    };
    let before = verdicts(0);
    for first in [340, 1180, 3060] {
        for (name, verdict) in verdicts(first) {
            let is_right = |verdict: &Verdict| *verdict == Verdict::Right;
            if is_right(&verdict) != is_right(&before[name]) {
                writeln!(
                    by_luck,
                    "{name} from {first} ms: {verdict}; else {}",
                    before[name]
                )
                .unwrap();
            }
        }
    }
    println!("{by_luck}");
    assert_eq!(by_luck.lines().count(), 0, "verdicts that differ");
}

#[test]
fn each_kind_is_looked_at_from_two_sides() {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for situation in texts().into_values() {
        *kinds.entry(situation.kind).or_default() += 1;
    }
    let lone: Vec<_> = kinds.iter().filter(|(_, count)| **count < 2).collect();
    assert!(lone.is_empty(), "kinds with one situation: {lone:?}");
}

#[test]
fn a_chosen_few_also_run_in_a_machine() {
    let texts = texts();
    let chosen: Vec<&Situation> = texts.values().filter(|one| one.vm.is_some()).collect();
    assert_eq!(chosen.len(), 24, "texts with [vm]");
    for situation in chosen {
        let memory = situation.vm.unwrap().memory.0;
        let bounds = units::Bytes::mib(256)..=units::Bytes::mib(512);
        assert!(bounds.contains(&memory), "{}: {memory}", situation.title);
    }
}

/// Each line of the promise names situations, and there are ten.
#[test]
fn the_promise_names_situations_that_there_are() {
    let readme = include_str!("../../../README.md");
    let mut sections = readme.split("\n## ");
    let promise = sections
        .find(|section| section.starts_with("The promise"))
        .expect("README.md has the promise");
    let (_, lines) = promise.split_once("\n1. ").expect("a first line");
    let texts = texts();
    let mut count = 1;
    let mut named = 0;
    for line in lines.lines() {
        if line.starts_with(|letter: char| letter.is_ascii_digit()) {
            assert!(named > 0, "the line before {line:?} names no situation");
            count += 1;
            named = 0;
        }
        let Some((_, names)) = line.rsplit_once('(') else {
            continue;
        };
        for name in names.split('`').skip(1).step_by(2) {
            assert!(texts.contains_key(name), "no situation is called {name}");
            named += 1;
        }
    }
    assert!(named > 0, "the last line names no situation");
    assert_eq!(count, 10);
    let all = format!("{} of them, all right", texts.len());
    assert!(
        promise.contains(&all),
        "there are {} situations",
        texts.len()
    );
}
