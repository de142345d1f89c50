//! `warmset trace` on real programs, under Valgrind.

use std::process::{Command, Output};
use traces::{Reading, open, read};
use workingset::{Clock, Op, Trace};

fn trace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
        .arg("trace")
        .args(arguments)
        .output()
        .expect("warmset runs")
}

fn recorded(arguments: &[&str]) -> (Trace, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("it.parquet");
    let done = trace(&[&["-o", path.to_str().expect("text")], arguments].concat());
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let mut source = open(
        std::fs::File::open(&path).expect("a file"),
        "it.parquet",
        None,
        Reading::default(),
    )
    .expect("a trace");
    (
        read(&mut *source, &|_| {}).expect("references"),
        String::from_utf8(done.stdout).expect("text"),
    )
}

fn parameter<'t>(trace: &'t Trace, name: &str) -> Option<&'t str> {
    trace
        .about
        .parameters
        .iter()
        .find(|parameter| parameter.0 == name)
        .map(|parameter| parameter.1.as_str())
}

#[test]
fn a_program_and_all_that_it_starts_are_recorded() {
    let (trace, said) = recorded(&[
        "--",
        "sh",
        "-c",
        "echo own output; cat /dev/null | cat; exit 3",
    ]);
    assert!(said.starts_with("own output\n"), "{said}");
    assert_eq!(
        (trace.about.clock, parameter(&trace, "ended")),
        (Clock::Instructions, Some("with 3"))
    );
    let tasks: Vec<&str> = trace
        .about
        .tasks
        .iter()
        .filter_map(|task| task.1.split(' ').next())
        .collect();
    assert_eq!(
        tasks.iter().filter(|name| **name == "cat").count(),
        2,
        "{tasks:?}"
    );
    assert_eq!(
        tasks.iter().filter(|name| **name == "sh").count(),
        1,
        "{tasks:?}"
    );
    let named = |what: &str| {
        trace
            .about
            .regions
            .iter()
            .any(|region| region.2.contains(what))
    };
    assert!(
        named("libc.so") && named("[stack]") && named("/sh") | named("/dash") | named("/bash"),
        "{:?}",
        trace.about.regions
    );
    // An instruction is fetched for each unit of time, and some over a page's end.
    let fetches = trace
        .op()
        .unwrap()
        .iter()
        .filter(|op| **op == Op::FETCH)
        .count() as u64;
    let time = trace.time().unwrap();
    let instructions = time[time.len() - 1];
    assert!(
        fetches >= instructions && fetches < instructions + instructions / 100,
        "{fetches} {instructions}"
    );
    assert!(trace.op().unwrap().contains(&Op::STORE) && trace.task().is_some());
}

#[test]
fn a_program_alone_is_recorded_without_its_children() {
    let (trace, _) = recorded(&[
        "--alone",
        "--as-published",
        "--",
        "sh",
        "-c",
        "cat /dev/null; (cat /dev/null); true",
    ]);
    assert_eq!(
        (trace.about.tasks.len(), trace.about.clock),
        (1, Clock::InstructionBytes)
    );
}

#[test]
fn a_trace_that_is_cut_says_so_and_the_program_is_ended() {
    let (trace, said) = recorded(&["--references", "60000", "--", "sleep", "1000"]);
    assert!((60_000..200_000).contains(&trace.len()), "{}", trace.len());
    assert!(
        parameter(&trace, "cut").is_some_and(|why| why.contains("as asked"))
            && said.contains("cut after"),
        "{said}"
    );
}

#[test]
fn skip_leaves_out_the_start() {
    let (trace, _) = recorded(&[
        "--alone",
        "--skip",
        "100000",
        "--references",
        "60000",
        "--",
        "sleep",
        "1000",
    ]);
    assert!((60_000..200_000).contains(&trace.len()), "{}", trace.len());
    let begins = trace.time().and_then(|times| times.first().copied());
    assert!(
        begins.is_some_and(|time| time <= 1),
        "time begins with what is recorded: {begins:?}"
    );
    assert!(parameter(&trace, "left out").is_some_and(|what| what.contains("100000")));
}

#[test]
fn a_program_that_cannot_be_recorded_is_an_error_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("it.parquet");
    let told = |arguments: &[&str]| {
        let done = trace(arguments);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    let output = path.to_str().unwrap();
    assert!(
        told(&["-o", output, "--", "no-such-program"])
            .starts_with("error: no-such-program: no such program\n")
    );
    assert!(told(&["-o", output, "--", "/etc/passwd"]).contains("not executable"));
    // Which engine records is said before.
    assert!(
        told(&["-o", output, "--skip", "1000000000", "--", "true"])
            .contains("error: nothing was recorded")
    );
    assert!(told(&["-o", output, "--page-size", "1000", "--", "true"]).contains("power of two"));
    assert!(told(&["-o", "/no/such/folder/it.parquet", "--", "true"]).contains("/no/such/folder"));
    assert!(told(&["-o", "it.txt", "--", "true"]).contains(".parquet"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_running_process_is_watched_until_it_ends() {
    let mut child = Command::new("sleep").arg("1.5").spawn().unwrap();
    let pid = child.id().to_string();
    let waiting = std::thread::spawn(move || child.wait().unwrap());
    let done = trace(&["--watch", "--every", "200 ms", &pid]);
    waiting.join().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(
        done.status.success() && said.lines().count() >= 4 && said.ends_with("it has ended\n"),
        "{said}"
    );
    for (target, says) in [
        (pid.as_str(), "no such process"),
        ("x", "neither a process number nor"),
        ("/no/such/group", "/no/such/group"),
    ] {
        let done = trace(&["--watch", target]);
        assert_eq!(done.status.code(), Some(1));
        assert!(
            String::from_utf8_lossy(&done.stderr).contains(says),
            "{target}"
        );
    }
    let done = trace(&["--watch", "--pid", &pid]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.code() == Some(1) && said.contains(&format!("{pid}: no such process")),
        "{said}"
    );
}

/// A program that uses 8 MiB again and again, until it is dropped.
struct Busy(std::process::Child);

impl Busy {
    fn start() -> Self {
        let text = "import time\nm=bytearray(8<<20)\nprint(1,flush=True)\nwhile 1:\n m[::4096]=bytes(2048)\n time.sleep(.01)";
        let mut child = Command::new("python3")
            .args(["-c", text])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3 runs");
        // It has its memory when it has said so.
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut [0])
            .expect("a byte");
        Self(child)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it has ended");
    }
}

#[test]
fn a_running_process_is_sampled_and_goes_on() {
    let mut busy = Busy::start();
    let pid = busy.0.id().to_string();
    let (trace, said) = recorded(&["--pid", &pid, "--every", "100 ms", "--for", "2 s"]);
    assert_eq!(
        (trace.about.clock, parameter(&trace, "recorder")),
        (Clock::Nanoseconds, Some("sample"))
    );
    assert_eq!(
        serde_json::to_string(&trace.about.visibility).unwrap(),
        "\"scans\""
    );
    let looks: usize = parameter(&trace, "looks").unwrap().parse().unwrap();
    // All of its 2048 pages. Not in each look: on a busy machine it has used only some of them between two.
    assert!(
        trace.pages() >= 2048 && trace.len() <= looks * trace.pages(),
        "{looks} {} {}",
        trace.pages(),
        trace.len()
    );
    assert!(
        looks == 1 || trace.len() > trace.pages(),
        "some were seen again: {looks} {}",
        trace.len()
    );
    assert!(
        said.contains("observing took")
            && said.contains("not seen: order")
            && said.contains("as asked"),
        "{said}"
    );
    assert!(
        trace.about.program.contains("python3 -c import time"),
        "{}",
        trace.about.program
    );
    let libraries = trace
        .about
        .regions
        .iter()
        .any(|region| region.2.contains("libc.so"));
    assert!(
        libraries
            && trace
                .about
                .regions
                .windows(2)
                .all(|pair| pair[0].1 < pair[1].0)
    );
    assert!(
        busy.0.try_wait().unwrap().is_none(),
        "the process is unharmed"
    );
}

#[test]
fn a_process_that_ends_is_recorded_until_then() {
    let mut child = Command::new("sleep").arg("1.5").spawn().unwrap();
    let pid = child.id().to_string();
    let waiting = std::thread::spawn(move || child.wait().unwrap());
    let (trace, said) = recorded(&["--engine", "sample", "--every", "100 ms", &pid]);
    waiting.join().unwrap();
    assert!(
        !trace.is_empty() && said.ends_with("it ended with the process\n"),
        "{said}"
    );
}

#[test]
fn a_missing_engine_and_wrong_options_are_errors_with_hints() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("it.parquet");
    let told = |arguments: &[&str]| {
        let done = trace(&[&["-o", output.to_str().unwrap()], arguments].concat());
        assert_eq!(done.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(told(&["--pid", "4294967295"]).contains("4294967295: no such process"));
    assert!(told(&["--engine", "sample", "ls"]).contains("'ls' is not the number"));
    assert!(
        told(&["--engine", "sample", "--pid", "2"]).contains("2: "),
        "a thread of the kernel has no memory"
    );
    assert!(told(&["--engine", "lackey", "--pid", "1"]).contains("--engine sample"));
    assert!(told(&["--engine", "damon-physical", "1"]).contains("--engine damon"));
    assert!(told(&["--engine", "sample", "--alone", "1"]).contains("Valgrind"));
    assert!(told(&["--engine", "perf", "--every", "1 s", "--pid", "1"]).contains("--every"));
    let nowhere = trace(&[
        "-o",
        "/no/such/folder/it.parquet",
        "--engine",
        "sample",
        "--pid",
        "4294967295",
    ]);
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(
        said.contains("/no/such/folder") && !said.contains("no such process"),
        "the file is begun first: {said}"
    );
    // A machine without DAMON.
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let said = told(&[
        "--root",
        root.to_str().unwrap(),
        "--engine",
        "damon",
        "--pid",
        "1",
    ]);
    assert!(
        said.contains("CONFIG_DAMON_SYSFS") && said.contains("hint: "),
        "{said}"
    );
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        1,
        "nothing is left"
    );
}
