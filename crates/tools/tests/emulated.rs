//! Warmset's plugin for QEMU's user mode, against Valgrind's lackey and on programs that Valgrind does not run.
//!
//! The plugin is built here. Where QEMU with plugins or a C compiler is missing, a line says so, and nothing is tested.

#![cfg(target_arch = "x86_64")]
#![allow(
    clippy::unwrap_used,
    reason = "a test's helpers fail where the test would"
)]

#[path = "helpers/recorded.rs"]
mod helpers;

use helpers::{ODD, THREADS, built, compiled, parameter, tasks, trace};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use workingset::policy::Choice;
use workingset::{Op, Trace};

/// A directory with the plugin, or `None` where nothing can be tested. It lives as long as the tests.
fn plugin() -> Option<&'static Path> {
    static PLUGIN: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let plugin = PLUGIN.get_or_init(|| {
        let said = Command::new("qemu-x86_64").arg("--help").output();
        if said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("-plugin")) {
            return built("qemu/build");
        }
        eprintln!("not tested: there is no qemu-x86_64 with plugins: apt-get install qemu-user");
        None
    });
    plugin.as_ref().map(|(_, path)| path.as_path())
}

fn recorded(plugin: &Path, arguments: &[&str]) -> (Trace, String) {
    let arguments = [&["--engine", "qemu"], arguments].concat();
    helpers::recorded(&[("WARMSET_QEMU", plugin)], &arguments)
}

fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("not tested: there is no {program}");
    }
    is_there
}

/// Without a C library, which asks the processor what it can and takes another way under QEMU, and on a stack of its own.
/// What is loaded is used: Valgrind leaves out loads of which nothing comes.
const BARE: &str = r#"
#include <stdint.h>
#define N (1 << 20)
static unsigned char memory[N + 64];
static unsigned char stack[65536] __attribute__((aligned(4096), used));
static uint64_t seed = 1;
static uint64_t next(void) { seed = seed * 6364136223846793005ULL + 1442695040888963407ULL; return seed >> 33; }
__attribute__((used, noinline)) static void work(void)
{
   uint64_t sum = 0;
   int i;
   for (i = 0; i < 20000; i++) {
      uint64_t at = next() % N;
      uint64_t wide = *(volatile uint64_t*)(memory + at);
      sum += wide ^ i;
      *(volatile unsigned char*)(memory + at) += 1;
      if (next() & 1)
         *(volatile uint16_t*)(memory + (at & ~4095) + 4095) = i;
#ifdef MORE
      __atomic_fetch_add((uint32_t*)(memory + (at & ~3)), 1, __ATOMIC_SEQ_CST);
#endif
   }
#ifdef MORE
   for (i = 0; i < 50; i++) {
      void* to = memory + i * 5000;
      void* from = memory + N / 2;
      uint64_t count = i == 7 ? 0 : 9000;
      __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
   }
#endif
   __asm__ volatile("syscall" : : "a"(60), "D"(sum == 77) : "rcx", "r11", "memory");
}
__asm__(".globl _start\n_start: lea stack+65536(%rip), %rsp\n call work\n");
"#;
const NO_LIBRARY: &[&str] = &["-mno-sse", "-nostdlib", "-static", "-fno-pie", "-no-pie"];

fn by_lackey(program: &str, options: &[&str]) -> Trace {
    let arguments = [&["--engine", "lackey"], options, &["--", program]].concat();
    helpers::recorded(&[], &arguments).0
}

#[test]
fn a_static_program_makes_the_references_that_lackey_sees() {
    let Some(plugin) = plugin() else { return };
    if !is_there("valgrind") {
        return;
    }
    let (_directory, program) = compiled("cc", BARE, NO_LIBRARY);
    for options in [
        &[][..],
        &["--as-published", "--page-size", "64"],
        &["--skip", "12345", "--page-size", "65536"],
    ] {
        let (ours, _) = recorded(plugin, &[options, &["--", &program]].concat());
        let lackeys = by_lackey(&program, options);
        assert!(ours.len() > 400_000);
        assert_eq!(ours.refs(), lackeys.refs(), "{options:?}");
        assert_eq!(ours.names(), lackeys.names(), "{options:?}");
        assert_eq!(ours.time(), lackeys.time(), "{options:?}");
        assert_eq!(ours.op(), lackeys.op(), "{options:?}");
    }
}

/// Misses of a policy with room for a part of the pages, in percent.
fn misses(trace: &Trace, policy: &str, percent: usize) -> u64 {
    let policy = Choice::parse(policy).unwrap().spec;
    let capacity = (trace.pages() * percent / 100).max(1);
    policy
        .run(trace, capacity, &policy.defaults())
        .unwrap()
        .misses
}

/// Lackey counts an atomic access twice, QEMU once. Both stay on one page.
#[test]
fn string_and_atomic_instructions_miss_as_in_lackeys_trace() {
    let Some(plugin) = plugin() else { return };
    if !is_there("valgrind") {
        return;
    }
    let (_directory, program) = compiled("cc", BARE, &[&["-DMORE"], NO_LIBRARY].concat());
    let (ours, _) = recorded(plugin, &["--", &program]);
    let lackeys = by_lackey(&program, &[]);
    assert_eq!(ours.pages(), lackeys.pages());
    assert!(ours.op().unwrap().contains(&Op::MODIFY));
    for policy in ["lru", "fifo", "opt"] {
        for percent in [5, 10, 25, 50] {
            let of_ours = misses(&ours, policy, percent);
            assert!(of_ours > 1000);
            assert_eq!(
                of_ours,
                misses(&lackeys, policy, percent),
                "{policy} {percent} %"
            );
        }
    }
}

#[test]
fn threads_that_do_not_overlap_are_different_tasks() {
    let Some(plugin) = plugin() else { return };
    let (_directory, program) = compiled("cc", THREADS, &["-pthread"]);
    let (trace, _) = recorded(plugin, &["--", &program]);
    let names = tasks(&trace);
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names[4].ends_with(", thread 5"), "{names:?}");
    assert_eq!(parameter(&trace, "ended"), Some("with 3"));
    let mut stores = vec![0; 5];
    for (op, task) in trace.op().unwrap().iter().zip(trace.task().unwrap()) {
        if op.writes() {
            stores[usize::from(*task)] += 1;
        }
    }
    assert!(stores[1..].iter().all(|count| *count >= 300), "{stores:?}");
}

/// Each of eight threads stores to 100 pages of its own, all at the same time. None of the 800 may be lost.
const AT_ONCE: &str = r"
#include <pthread.h>
#define N 100
static char pages[8][N][4096] __attribute__((aligned(4096)));
static pthread_barrier_t all;
static void* f(void* a)
{
   volatile char(*mine)[4096] = pages[(long)a];
   int r, i;
   pthread_barrier_wait(&all);
   for (r = 0; r < 200; r++)
      for (i = 0; i < N; i++)
         mine[i][r]++;
   return 0;
}
int main(void)
{
   pthread_t t[8];
   long i;
   pthread_barrier_init(&all, 0, 8);
   for (i = 0; i < 8; i++)
      pthread_create(&t[i], 0, f, (void*)i);
   for (i = 0; i < 8; i++)
      pthread_join(t[i], 0);
   return 0;
}
";

#[test]
fn nothing_of_threads_that_run_at_once_is_lost() {
    let Some(plugin) = plugin() else { return };
    let (_directory, program) = compiled("cc", AT_ONCE, &["-pthread"]);
    let (trace, _) = recorded(plugin, &["--", &program]);
    assert_eq!(parameter(&trace, "cut"), None);
    let mut stored = vec![0_u32; trace.pages()];
    let mut by_task = [0_u32; 9];
    let (ops, tasks) = (trace.op().unwrap(), trace.task().unwrap());
    for (at, op) in ops.iter().enumerate() {
        if op.writes() {
            stored[trace.refs()[at] as usize] += 1;
            by_task[usize::from(tasks[at])] += 1;
        }
    }
    assert!(stored.iter().filter(|count| **count == 200).count() >= 800);
    assert!(
        by_task[1..].iter().all(|count| *count >= 20_000),
        "{by_task:?}"
    );
}

#[test]
fn forks_are_recorded_with_their_mappings_and_other_programs_are_said() {
    let Some(plugin) = plugin() else { return };
    let script = "(echo fork); cat /dev/null; no-such-program; exit 3";
    let (trace, said) = recorded(plugin, &["--", "sh", "-c", script]);
    assert!(said.starts_with("fork\n"), "{said}");
    assert_eq!(parameter(&trace, "ended"), Some("with 3"));
    let cut = parameter(&trace, "cut").unwrap();
    assert!(cut.contains("became another program"), "{cut}");
    assert_eq!(parameter(&trace, "pages not found in a mapping"), Some("0"));
    let names = tasks(&trace);
    assert!(
        names
            .iter()
            .filter(|name| name.starts_with("fork "))
            .count()
            >= 2
    );
    for what in ["libc.so", "[stack]", "[heap]", "/sh"] {
        let regions = trace.about.regions.iter();
        let is_there =
            |name: &str| name.contains(what) || (what == "/sh" && name.ends_with("/dash"));
        assert!(
            regions.filter(|region| is_there(&region.2)).count() > 0,
            "{what}"
        );
    }
    let (alone, _) = recorded(
        plugin,
        &["--alone", "--", "sh", "-c", "(echo fork); exit 3"],
    );
    assert_eq!(tasks(&alone).len(), 1);
}

#[test]
fn a_program_that_is_killed_is_said() {
    let Some(plugin) = plugin() else { return };
    for signal in ["9", "11"] {
        let script = format!("kill -{signal} $$");
        let (trace, said) = recorded(plugin, &["--", "sh", "-c", &script]);
        let cut = parameter(&trace, "cut").unwrap();
        assert!(cut.contains("at the end of sh"), "{cut}");
        assert!(said.contains("does not show the whole run"), "{said}");
        let ended = format!("by signal {signal}");
        assert_eq!(parameter(&trace, "ended"), Some(ended.as_str()));
    }
}

#[test]
fn odd_programs_are_recorded_whole() {
    let Some(plugin) = plugin() else { return };
    let (_directory, program) = compiled("cc", ODD, &[]);
    let (trace, _) = recorded(plugin, &["--", &program]);
    assert_eq!(parameter(&trace, "ended"), Some("with 0"));
    assert_eq!(parameter(&trace, "cut"), None);
    assert_eq!(tasks(&trace).len(), 1001);
    assert!(trace.pages() > 1000 + 16);
}

/// Prints nothing and ends: on any processor, by its own instructions.
fn foreign(exit: &str) -> String {
    format!(
        "static volatile char memory[1 << 16];\n\
         void _start(void) {{ int i; for (i = 0; i < 1 << 16; i++) memory[i]++; __asm__ volatile({exit}); }}\n"
    )
}

#[test]
fn programs_for_other_processors_are_recorded_without_being_asked() {
    let Some(plugin) = plugin() else { return };
    let bare = &["-nostdlib", "-static"];
    for (compiler, emulator, exit) in [
        (
            "aarch64-linux-gnu-gcc",
            "qemu-aarch64",
            r#""mov x8, #93\nmov x0, #5\nsvc #0""#,
        ),
        (
            "arm-linux-gnueabihf-gcc",
            "qemu-arm",
            r#""mov r7, #1\nmov r0, #5\nsvc #0""#,
        ),
    ] {
        if !is_there(compiler) || !is_there(emulator) {
            continue;
        }
        let (_directory, program) = compiled(compiler, &foreign(exit), bare);
        let (trace, _) = helpers::recorded(&[("WARMSET_QEMU", plugin)], &["--", &program]);
        assert_eq!(parameter(&trace, "ended"), Some("with 5"), "{emulator}");
        let recorder = format!("{emulator} -plugin uses");
        assert_eq!(parameter(&trace, "recorder"), Some(recorder.as_str()));
        let changed = trace.op().unwrap().iter().filter(|op| op.writes()).count();
        assert!(changed >= 1 << 16, "{emulator}: {changed}");
        assert_eq!(parameter(&trace, "pages not found in a mapping"), Some("0"));
    }
}

#[test]
fn programs_of_32_bits_have_their_own_addresses() {
    let Some(plugin) = plugin() else { return };
    let exit = r#""int $0x80" : : "a"(1), "b"(5)"#;
    let options = &["-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie"];
    let (_directory, program) = compiled("cc", &foreign(exit), options);
    let (trace, _) = recorded(plugin, &["--", &program]);
    assert_eq!(parameter(&trace, "ended"), Some("with 5"));
    assert_eq!(parameter(&trace, "pages not found in a mapping"), Some("0"));
    assert!(trace.names().iter().all(|page| *page < 1 << 20));
    let regions = trace.about.regions.iter();
    assert!(regions.clone().any(|region| region.2 == program));
    assert!(regions.clone().any(|region| region.2 == "[stack]"));
}

#[test]
fn a_script_is_run_by_its_interpreter() {
    let Some(plugin) = plugin() else { return };
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("it");
    std::fs::write(&script, "#!/bin/sh -e\nfalse\nexit 7\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let (trace, _) = recorded(plugin, &["--", script.to_str().unwrap()]);
    assert_eq!(parameter(&trace, "ended"), Some("with 1"));
}

#[test]
fn what_is_missing_is_said_and_replaced_where_it_can_be() {
    let Some(plugin) = plugin() else { return };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("it.parquet");
    let output = output.to_str().unwrap();
    let said = |environment: &[(&str, &Path)], arguments: &[&str]| {
        let done = trace(
            environment,
            &[&["--force", "-o", output], arguments].concat(),
        );
        let text = String::from_utf8(done.stderr).unwrap();
        (done.status.success(), text)
    };
    let none = directory.path();
    let asked = ["--engine", "qemu", "--", "/bin/true"];
    if is_there("valgrind") {
        let (is_good, text) = said(&[("WARMSET_QEMU", none)], &asked);
        assert!(is_good && text.contains("QEMU cannot record"), "{text}");
        assert!(text.contains("qemu/build"), "{text}");
    }
    // A path that has QEMU, and no Valgrind.
    let bin = directory.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let emulator = ["/usr/bin/qemu-x86_64", "/usr/local/bin/qemu-x86_64"];
    let Some(emulator) = emulator.iter().find(|path| Path::new(path).exists()) else {
        return;
    };
    let here = bin.join("qemu-x86_64");
    std::os::unix::fs::symlink(emulator, &here).unwrap();
    let alone = [("PATH", bin.as_path()), ("WARMSET_QEMU", plugin)];
    let (is_good, text) = said(&alone, &["--", "/bin/true"]);
    assert!(
        is_good && text.contains("valgrind is not installed"),
        "{text}"
    );
    let (is_good, text) = said(&alone, &["--engine", "uses", "--", "/bin/true"]);
    assert!(
        !is_good && text.contains("apt-get install valgrind"),
        "{text}"
    );
    // One without plugins, as Debian's static one is.
    std::fs::remove_file(&here).unwrap();
    std::fs::write(&here, "#!/bin/sh\necho qemu-x86_64 version 7.2.1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&here, mode).unwrap();
    let (is_good, text) = said(&alone, &asked);
    assert!(!is_good && text.contains("built without plugins"), "{text}");
}
