//! `warmset top` on a terminal: what a person does with it.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use place::Place;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testsupport::terminal::Terminal;

/// `top` on the recorded machine.
fn recorded(place: &Place, columns: u16, rows: u16) -> Terminal {
    let mut program = place.command(&["top", "--every", "100ms", "--recording"]);
    program.arg(recording());
    Terminal::run(&program, columns, rows)
}

/// `top` on this machine.
fn here(place: &Place) -> Terminal {
    let mut program = Command::new(env!("CARGO_BIN_EXE_warmset"));
    program.arg("--run").arg(place.path("run"));
    program
        .args(["top", "--every", "100ms"])
        .env("NO_COLOR", "1");
    Terminal::run(&program, 100, 40)
}

fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/situations/fill-8gib.rec.gz")
}

fn is_main(screen: &str) -> bool {
    screen.starts_with("warmset top · ") && screen.contains("q quit")
}

#[test]
fn it_shows_a_screen_of_its_own_and_gives_the_terminal_back() {
    for keys in ["q", "\u{3}", "\u{4}"] {
        let place = Place::new();
        let mut top = recorded(&place, 80, 24);
        top.wait_for("the main view", is_main);
        assert!(top.is_alternate() && !top.is_as_before());
        top.press(keys);
        assert_eq!(top.end().code(), Some(0));
        assert!(top.is_as_before(), "{keys:?}: {}", top.screen());
    }
}

#[test]
fn a_signal_gives_the_terminal_back_too() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = Place::new();
        let mut top = recorded(&place, 80, 24);
        top.wait_for("the main view", is_main);
        kill_process(Pid::from_child(&top.child), signal).unwrap();
        assert_eq!(top.end().code(), Some(0), "{signal:?}");
        assert!(top.is_as_before(), "{signal:?}: {}", top.screen());
    }
}

#[test]
fn it_is_stopped_and_continued_as_any_job_of_a_shell() {
    let place = Place::new();
    let program = place.command(&["top", "--every", "100ms"]);
    let mut words = vec![program.get_program().to_str().unwrap()];
    words.extend(program.get_args().map(|arg| arg.to_str().unwrap()));
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).env("PS1", "$ ");
    shell.env("NO_COLOR", "1").env_remove("HISTFILE");
    let mut shell = Terminal::run(&shell, 80, 24);
    shell.wait_for("the shell", |screen| screen.contains("$ "));
    shell.press(&format!("{}\n", words.join(" ")));
    shell.wait_for("the main view", is_main);
    shell.press("\u{1a}");
    shell.wait_for("the shell", |screen| screen.contains("Stopped"));
    assert!(!shell.is_alternate());
    shell.press("fg\n");
    shell.wait_for("the main view again", is_main);
    shell.press("q");
    shell.wait_for("the shell again", |screen| !is_main(screen));
    shell.press("exit\n");
    assert_eq!(shell.end().code(), Some(0));
}

#[test]
fn it_ends_when_its_terminal_is_closed() {
    let place = Place::new();
    let mut top = recorded(&place, 80, 24);
    top.wait_for("the main view", is_main);
    top.close();
    top.end();
}

#[test]
fn keys_show_the_help_and_the_recording_on_a_phone() {
    let place = Place::new();
    let mut top = recorded(&place, 40, 20);
    top.wait_for("the main view", is_main);
    top.press("?");
    top.wait_for("the help", |screen| screen.contains("reverse the order"));
    top.press("x");
    top.wait_for("the main view", is_main);
    // To what the guard did last, then a sample back, by an arrow key.
    top.press("[");
    let acted = top.wait_for("the past", |screen| screen.contains("the guard"));
    top.press("\u{1b}[D");
    top.wait_for("the sample before", |screen| {
        screen.contains("Esc now") && screen != acted
    });
    top.press("\u{1b}");
    top.wait_for("now", is_main);
    top.press("q");
    assert_eq!(top.end().code(), Some(0));
}

/// A process that holds memory, and ends with the test.
struct Holder {
    child: Child,
}

impl Holder {
    /// `tail` keeps a line until it ends: 300 MB of it here, so that it is one of the largest processes.
    fn start() -> Self {
        let mut tail = Command::new("tail");
        tail.args(["-n", "1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = tail.spawn().unwrap();
        let part = vec![0; 1_000_000];
        let input = child.stdin.as_mut().unwrap();
        for _ in 0..300 {
            input.write_all(&part).unwrap();
        }
        Self { child }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Moves the selection to the process with this number.
fn select(top: &mut Terminal, pid: u32) {
    let number = format!(" {pid} ");
    let is_there = |screen: &str| screen.lines().any(|line| line.contains(&number));
    top.wait_for("the process", is_there);
    for _ in 0..12 {
        let screen = top.screen();
        let selected = screen.lines().position(|line| line.starts_with('>'));
        let wanted = screen.lines().position(|line| line.contains(&number));
        if selected == wanted {
            return;
        }
        let before = selected.and_then(|row| screen.lines().nth(row));
        let before = before.unwrap_or_default().to_owned();
        let key = if selected > wanted {
            "\u{1b}[A"
        } else {
            "\u{1b}[B"
        };
        top.press(key);
        top.wait_for("the next row", |screen| !screen.contains(&before));
    }
    panic!("it cannot be selected:\n{}", top.screen());
}

#[test]
fn a_process_is_killed_after_a_question_and_by_nothing_but_a_yes() {
    let place = Place::new();
    let mut holder = Holder::start();
    let pid = holder.child.id();
    let mut top = here(&place);
    top.wait_for("the main view", is_main);
    // By number, so that rows do not move while one is chosen.
    top.press("P");
    select(&mut top, pid);
    let question = format!("kill tail ({pid})?");
    top.press("k");
    top.wait_for("the question", |screen| screen.contains(&question));
    top.press("n");
    top.wait_for("the main view", |screen| !screen.contains(&question));
    assert!(
        holder.child.try_wait().unwrap().is_none(),
        "it was not asked to end"
    );
    top.press("k");
    top.wait_for("the question", |screen| screen.contains(&question));
    top.press("y");
    let sent = format!("SIGTERM sent to tail ({pid})");
    top.wait_for("what was done", |screen| screen.contains(&sent));
    assert_eq!(holder.child.wait().unwrap().signal(), Some(15));
    top.press("q");
    assert_eq!(top.end().code(), Some(0));
}

#[test]
fn a_process_is_spared_and_then_not_killed_and_then_released() {
    let place = Place::new();
    let holder = Holder::start();
    let pid = holder.child.id();
    let mut top = here(&place);
    top.wait_for("the main view", is_main);
    top.press("P");
    select(&mut top, pid);
    top.press("s");
    top.wait_for("what was done", |screen| screen.contains("is never killed"));
    let rules = std::fs::read_to_string(place.path("run/rules.toml")).unwrap();
    assert!(rules.contains(&format!("\"pid:{pid}@")), "{rules}");
    let exempt = format!("{pid} *tail");
    top.wait_for("its mark", |screen| screen.contains(&exempt));
    top.press("k");
    top.wait_for("the refusal", |screen| {
        screen.contains("is not killed. It is exempt")
    });
    top.press("r");
    top.wait_for("what was done", |screen| screen.contains("released: tail"));
    assert!(!place.path("run/rules.toml").exists());
    top.press("q");
    assert_eq!(top.end().code(), Some(0));
}
