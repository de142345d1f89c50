//! Warmset's own tool for Valgrind, against Valgrind's lackey, on real programs.
//!
//! The tool is built here. Where Valgrind's headers or a C compiler are missing, a line says so, and nothing is tested.

#![allow(
    clippy::unwrap_used,
    reason = "a test's helpers fail where the test would"
)]

#[path = "helpers/recorded.rs"]
mod helpers;

use helpers::{ODD, THREADS, built, parameter, tasks};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use workingset::{Op, Trace};

/// A directory with the tool, or `None` where it cannot be built. It lives as long as the tests.
fn tool() -> Option<&'static Path> {
    static TOOL: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let tool = TOOL.get_or_init(|| built("valgrind/build"));
    tool.as_ref().map(|(_, path)| path.as_path())
}

/// Where Valgrind's tools are, lackey among them: an environment of another length moves a program's stack.
fn library(tool: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(tool).unwrap();
    entries.next().unwrap().unwrap().path()
}

fn recorded(tool: &Path, arguments: &[&str]) -> (Trace, String) {
    let library = library(tool);
    let environment = [
        ("WARMSET_VALGRIND", tool),
        ("VALGRIND_LIB", library.as_path()),
    ];
    helpers::recorded(&environment, arguments)
}

fn compiled(text: &str, options: &[&str]) -> (tempfile::TempDir, String) {
    helpers::compiled("cc", text, options)
}

/// Accesses of all sizes, over the ends of pages, at random, by string instructions, atomic ones, and under a condition.
const BUSY: &str = r#"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define N (1 << 20)
static unsigned char memory[N + 64];
static uint64_t seed = 1;
static uint64_t next(void) { seed = seed * 6364136223846793005ULL + 1442695040888963407ULL; return seed >> 33; }
int main(void)
{
   uint64_t sum = 0;
   int i;
   for (i = 0; i < 20000; i++) {
      uint64_t at = next() % N, wide;
      memcpy(&wide, memory + at, 8);
      sum += wide;
      memory[at] += 1;
      if (next() & 1)
         *(volatile uint16_t*)(memory + (at & ~4095) + 4095) = i;
      __atomic_fetch_add((uint32_t*)(memory + (at & ~3)), 1, __ATOMIC_SEQ_CST);
   }
   for (i = 0; i < 50; i++) {
      void* to = memory + i * 5000;
      void* from = memory + N / 2;
      uint64_t count = 9000;
      __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
   }
   qsort(memory, 5000, 8, (int (*)(const void*, const void*))strcmp);
   return (int)(sum & 1) & 0;
}
"#;

#[cfg(target_arch = "x86_64")]
#[test]
fn a_static_program_makes_the_references_that_lackey_sees() {
    let Some(tool) = tool() else { return };
    let (_directory, program) = compiled(BUSY, &["-static"]);
    let (ours, _) = recorded(tool, &["--engine", "uses", "--", &program]);
    let (lackeys, _) = recorded(tool, &["--engine", "lackey", "--", &program]);
    assert_eq!(ours.len(), lackeys.len());
    for at in 0..ours.len() {
        let of = |trace: &Trace| {
            let batch = trace.batch(at, 1);
            (batch.page, batch.op, batch.time, batch.task)
        };
        if ours.names()[ours.refs()[at] as usize] != lackeys.names()[lackeys.refs()[at] as usize]
            || ours.op().unwrap()[at] != lackeys.op().unwrap()[at]
            || ours.time().unwrap()[at] != lackeys.time().unwrap()[at]
        {
            panic!("reference {at}: {:?} {:?}", of(&ours), of(&lackeys));
        }
    }
    let writes = ours.op().unwrap().iter().filter(|op| **op == Op::MODIFY);
    assert!(writes.count() > 20_000);
    assert_eq!(ours.about.regions.len(), lackeys.about.regions.len());
}

#[test]
fn what_the_options_say_is_the_same_for_both() {
    let Some(tool) = tool() else { return };
    let (_directory, program) = compiled(BUSY, &["-static"]);
    for options in [
        &["--alone", "--as-published"][..],
        &["--page-size", "64"],
        &["--skip", "12345", "--page-size", "65536"],
    ] {
        let both = ["uses", "lackey"].map(|engine| {
            let all = [&["--engine", engine], options, &["--", &program]].concat();
            recorded(tool, &all).0
        });
        let [ours, lackeys] = both;
        assert_eq!(ours.refs(), lackeys.refs(), "{options:?}");
        assert_eq!(ours.names(), lackeys.names(), "{options:?}");
        assert_eq!(ours.time(), lackeys.time(), "{options:?}");
        assert_eq!(ours.op(), lackeys.op(), "{options:?}");
    }
}

#[test]
fn threads_that_do_not_overlap_are_different_tasks() {
    let Some(tool) = tool() else { return };
    let (_directory, program) = compiled(THREADS, &["-pthread"]);
    for engine in ["uses", "lackey"] {
        let (trace, _) = recorded(tool, &["--engine", engine, "--", &program]);
        let names = tasks(&trace);
        assert_eq!(names.len(), 5, "{engine}: {names:?}");
        assert!(names[4].ends_with(", thread 5"), "{names:?}");
        assert_eq!(parameter(&trace, "ended"), Some("with 3"));
        // Each array is stored to by its own thread, three times.
        let mut stores = vec![0; 5];
        let (ops, tasks) = (trace.op().unwrap(), trace.task().unwrap());
        for (op, task) in ops.iter().zip(tasks) {
            if op.writes() {
                stores[usize::from(*task)] += 1;
            }
        }
        assert!(stores[1..].iter().all(|count| *count >= 300), "{stores:?}");
    }
}

#[test]
fn children_forks_and_programs_are_recorded_with_their_mappings() {
    let Some(tool) = tool() else { return };
    let script = "(echo fork); cat /dev/null | cat; no-such-program; exit 3";
    let (trace, said) = recorded(tool, &["--engine", "uses", "--", "sh", "-c", script]);
    assert!(said.starts_with("fork\n"), "{said}");
    assert_eq!(parameter(&trace, "ended"), Some("with 3"));
    assert_eq!(parameter(&trace, "cut"), None);
    assert_eq!(parameter(&trace, "pages not found in a mapping"), Some("0"));
    let count = |what: &str| {
        let tasks = trace.about.tasks.iter();
        tasks.filter(|task| task.1.starts_with(what)).count()
    };
    assert_eq!((count("cat "), count("sh ")), (2, 1));
    assert!(count("fork ") >= 3);
    for what in ["libc.so", "[stack]", "[heap]", "/cat"] {
        let regions = trace.about.regions.iter();
        assert!(
            regions.filter(|region| region.2.contains(what)).count() > 0,
            "{what}"
        );
    }
    let regions = &trace.about.regions;
    assert!(regions.windows(2).all(|pair| pair[0].1 < pair[1].0));
}

#[test]
fn odd_programs_are_recorded_whole() {
    let Some(tool) = tool() else { return };
    let (_directory, program) = compiled(ODD, &[]);
    let (trace, _) = recorded(tool, &["--engine", "uses", "--", &program]);
    assert_eq!(parameter(&trace, "ended"), Some("with 0"));
    assert_eq!(parameter(&trace, "cut"), None);
    assert_eq!(tasks(&trace).len(), 1001);
    assert!(trace.pages() > 1000 + 16);
}

#[test]
fn a_killed_process_and_a_program_out_of_sight_are_said() {
    let Some(tool) = tool() else { return };
    let script = "sleep 100 & sleep 2; kill -9 $!; exit 0";
    let (trace, said) = recorded(tool, &["--engine", "uses", "--", "sh", "-c", script]);
    let cut = parameter(&trace, "cut").unwrap();
    assert!(cut.contains("at the end of sleep"), "{cut}");
    assert!(said.contains("does not show the whole run"), "{said}");
    let alone = ["--engine", "uses", "--alone", "--", "sh", "-c", "exec true"];
    let (trace, _) = recorded(tool, &alone);
    let cut = parameter(&trace, "cut").unwrap();
    assert!(cut.contains("became another program"), "{cut}");
}

#[test]
fn which_tool_records_is_said_and_a_missing_one_is_replaced() {
    let Some(tool) = tool() else { return };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("it.parquet");
    let output = output.to_str().unwrap();
    let said = |place: &Path, engine: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
            .args(["trace", "--force", "-o", output])
            .args(engine)
            .args(["--", "true"])
            .env("WARMSET_VALGRIND", place)
            .output()
            .unwrap();
        (
            done.status.success(),
            String::from_utf8(done.stderr).unwrap(),
        )
    };
    let (is_good, text) = said(tool, &[]);
    assert!(
        is_good && text.contains("own tool for Valgrind records"),
        "{text}"
    );
    let none = directory.path();
    let (is_good, text) = said(none, &[]);
    assert!(is_good && text.contains("lackey records"), "{text}");
    std::fs::create_dir(none.join("valgrind-0.1.0")).unwrap();
    let (is_good, text) = said(none, &[]);
    assert!(
        is_good && text.contains("built for valgrind-0.1.0"),
        "{text}"
    );
    let (is_good, text) = said(none, &["--engine", "uses"]);
    assert!(!is_good && text.contains("valgrind/build"), "{text}");
}
