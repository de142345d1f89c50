//! Every text of `situations/` runs in the model, and what the guard does is right.

use situations::{Situation, Verdict, judge, run};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

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
fn shown(outcome: &situations::Outcome) -> String {
    let acts: Vec<String> = outcome.acts.iter().map(situations::Act::shown).collect();
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

#[test]
fn every_situation_is_decided_right() {
    let mut wrong = 0;
    let mut late = 0;
    let mut table = String::new();
    let only = option_env!("SITUATION");
    let texts = texts();
    for (name, situation) in &texts {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let outcome = run(situation).unwrap();
        let verdict = judge(situation, &outcome);
        match verdict {
            Verdict::Right => {}
            Verdict::Late(_) => late += 1,
            Verdict::Wrong(_) => wrong += 1,
        }
        let kind = &situation.kind;
        writeln!(table, "{name:<36} {kind:<18} {}", shown(&outcome)).unwrap();
        if verdict != Verdict::Right {
            writeln!(table, "    {verdict}").unwrap();
        }
    }
    let right = texts.len() - wrong - late;
    println!("{table}");
    println!(
        "situations {}  right {right}  wrong {wrong}  late {late}",
        texts.len()
    );
    assert_eq!((wrong, late), (0, 0), "wrong and late situations");
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
