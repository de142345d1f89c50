//! Real processes, found and ended: the right one, at once, without taking memory or opening anything.
#![allow(clippy::unwrap_used, reason = "a test may")]

use host::Applied;
use host::applied::Missed;
use host::processes::{Order, Processes};
use pressure::config::Guard;
use pressure::distress::Extent;
use pressure::scan::{Candidate, Identity, ProcessScan, Signal};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use units::{Bytes, Span};

/// A `tail` that holds a line of so many MiB, as it waits for the line's end; with a trap it ignores SIGTERM.
struct Holder(Child);

impl Holder {
    fn new(mib: u32, trap: &str) -> Self {
        Self::in_group(mib, trap, None)
    }

    /// In a process group: its own (0), or that of another.
    fn in_group(mib: u32, trap: &str, group: Option<i32>) -> Self {
        let mut shell = Command::new("sh");
        if let Some(group) = group {
            shell.process_group(group);
        }
        let script = format!("{trap} exec tail -n 1");
        let mut child = shell
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let line = child.stdin.as_mut().unwrap();
        let piece = vec![b'x'; 1 << 20];
        (0..mib).for_each(|_| line.write_all(&piece).unwrap());
        Self(child)
    }

    /// It is gone when its memory is; its parent hears of it a moment later.
    fn ends(&mut self) -> bool {
        std::thread::sleep(Duration::from_millis(200));
        !self.is_alive()
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn now() -> Span {
    Span::new(
        Duration::try_from(rustix::time::clock_gettime(
            rustix::time::ClockId::Monotonic,
        ))
        .unwrap(),
    )
}

fn order(candidate: &Candidate, signal: Signal) -> Order {
    Order {
        identity: candidate.identity,
        name: candidate.name,
        signal,
        extent: Extent::Process,
        size: candidate.size(),
    }
}

fn found(processes: &mut Processes, holder: &Holder) -> Candidate {
    let mut scan = ProcessScan::default();
    processes.look(now(), &mut scan);
    let mine = |candidate: &&Candidate| candidate.identity.pid == holder.0.id();
    *scan
        .candidates
        .iter()
        .find(mine)
        .expect("the largest are looked at")
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The victim is seen to be gone, in the end: the machine may be busy.
fn goes(processes: &mut Processes, identity: Identity) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut scan = ProcessScan::default();
    while Instant::now() < deadline {
        processes.watch(now(), &mut scan);
        if scan
            .victims
            .iter()
            .any(|victim| victim.identity == identity && victim.gone.is_some())
        {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn processes() -> Processes {
    Processes::open(
        Path::new("/"),
        Bytes::new(rustix::param::page_size() as u64),
    )
    .unwrap()
}

#[test]
fn the_one_that_was_meant_is_killed_with_nothing_taken_and_nothing_opened() {
    let mut victim = Holder::new(400, "");
    let mut other = Holder::new(300, "");
    let mut processes = processes();
    let candidate = found(&mut processes, &victim);
    assert!(
        candidate.size() >= Bytes::mib(399) && candidate.size() < Bytes::mib(500),
        "{}",
        candidate.size()
    );
    assert_eq!(candidate.name.as_str(), "tail");
    let order = order(&candidate, Signal::Kill);
    let at = now();
    let open = descriptors();
    let mut killed = None;
    let taken = allocation_counter::measure(|| killed = Some(processes.kill(at, &order)));
    assert_eq!(
        (killed, taken.count_total),
        (Some(Ok(())), 0),
        "allocations on the way to the kill"
    );
    assert!(descriptors() <= open, "nothing was opened");
    assert!(goes(&mut processes, candidate.identity));
    assert!(victim.ends() && other.is_alive());
}

#[test]
fn a_process_that_ignores_sigterm_is_killed() {
    let mut deaf = Holder::new(350, "trap '' TERM;");
    let mut processes = processes();
    let candidate = found(&mut processes, &deaf);
    assert_eq!(
        processes.kill(now(), &order(&candidate, Signal::Term)),
        Ok(())
    );
    std::thread::sleep(Duration::from_millis(100));
    assert!(deaf.is_alive());
    // It may have left the largest: it is held all the same.
    let mut scan = ProcessScan::default();
    processes.watch(now(), &mut scan);
    assert_eq!(
        (scan.victims[0].signal, scan.victims[0].gone),
        (Signal::Term, None)
    );
    processes.rest(&mut scan);
    assert_eq!(
        processes.kill(now(), &order(&candidate, Signal::Kill)),
        Ok(())
    );
    assert!(goes(&mut processes, candidate.identity));
    assert!(deaf.ends());
}

#[test]
fn a_process_that_ended_is_not_signalled_nor_is_one_with_its_number() {
    let mut gone = Holder::new(250, "");
    let mut machine = processes();
    let candidate = found(&mut machine, &gone);
    gone.0.kill().unwrap();
    gone.0.wait().unwrap();
    assert_eq!(
        machine.apply(now(), &order(&candidate, Signal::Kill)),
        Applied::Overtaken,
        "nothing failed: it was to end, and it has"
    );
    // Another process with that number would have another start.
    let mut alive = Holder::new(250, "");
    let mut machine = processes();
    let mut wrong = order(&found(&mut machine, &alive), Signal::Kill);
    wrong.identity.start -= 1;
    assert_eq!(machine.kill(now(), &wrong), Err(Missed::Unknown));
    assert!(alive.is_alive());
}

#[test]
fn a_stopped_process_is_killed_too() {
    let mut frozen = Holder::new(220, "");
    let pid = rustix::process::Pid::from_raw(frozen.0.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let mut processes = processes();
    let candidate = found(&mut processes, &frozen);
    assert_eq!(
        processes.kill(now(), &order(&candidate, Signal::Kill)),
        Ok(())
    );
    assert!(goes(&mut processes, candidate.identity));
    assert!(frozen.ends());
}

#[test]
fn a_family_goes_as_a_whole_and_none_but_it() {
    let mut first = Holder::in_group(260, "", Some(0));
    let group = first.0.id() as i32;
    let mut members: Vec<Holder> = (0..4)
        .map(|_| Holder::in_group(1, "", Some(group)))
        .collect();
    let mut exempt = Holder::in_group(1, "", Some(group));
    // Of another name, and of another group.
    let mut sleeper = Command::new("sleep");
    let mut other = Holder(sleeper.arg("60").process_group(group).spawn().unwrap());
    let mut stranger = Holder::in_group(1, "", Some(0));
    let mut processes = processes();
    processes.rule(&Guard {
        spare: vec![format!("pid:{}", exempt.0.id()).parse().unwrap()],
        ..Guard::default()
    });
    std::thread::sleep(Duration::from_millis(200));
    let candidate = found(&mut processes, &first);
    assert_eq!(candidate.kin, group as u32);
    let order = Order {
        extent: Extent::Family,
        ..order(&candidate, Signal::Term)
    };
    assert_eq!(processes.kill(now(), &order), Ok(()));
    assert!(goes(&mut processes, candidate.identity));
    assert!(first.ends());
    for member in &mut members {
        assert!(member.ends(), "each member is signalled");
    }
    for spared in [&mut exempt, &mut other, &mut stranger] {
        assert!(spared.is_alive());
    }
}

/// A shell that starts five that hold 60 MiB each, in its own process group.
struct Starter(Holder);

impl Starter {
    fn new() -> Self {
        let script = "for job in 1 2 3 4 5; do
                          (head -c 60000000 /dev/zero; exec sleep 60) | tail -n 1 &
                      done
                      wait";
        let mut shell = Command::new("sh");
        shell.process_group(0).args(["-c", script]);
        Self(Holder(shell.stdout(Stdio::null()).spawn().unwrap()))
    }

    fn group(&self) -> u32 {
        self.0.0.id()
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_raw(self.group() as i32).unwrap();
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[test]
fn what_starts_a_family_goes_with_it() {
    let mut starter = Starter::new();
    let group = starter.group();
    let mut processes = processes();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut at = now().get();
    let (family, member) = loop {
        // A scan is due each time.
        at += Duration::from_secs(60);
        let mut scan = ProcessScan::default();
        processes.look(Span::new(at), &mut scan);
        let mut families = scan.families.iter();
        let mine = families.find(|it| it.kin == group && it.name.as_str() == "tail");
        let full = mine.filter(|it| it.processes == 5 && it.size >= Bytes::mib(280));
        if let Some(family) = full {
            let mut candidates = scan.candidates.iter();
            let member = candidates.find(|it| it.kin == group && it.name == family.name);
            break (*family, *member.expect("a member is a candidate"));
        }
        assert!(Instant::now() < deadline, "{:?}", scan.families);
    };
    assert_eq!(family.ancestor.unwrap().identity.pid, group);
    let order = Order {
        extent: Extent::Ancestor,
        ..order(&member, Signal::Kill)
    };
    assert_eq!(processes.kill(Span::new(at), &order), Ok(()));
    assert!(goes(&mut processes, member.identity));
    assert!(starter.0.ends());
    let mut scan = ProcessScan::default();
    processes.look(Span::new(at + Duration::from_secs(60)), &mut scan);
    let mut families = scan.families.iter();
    let again = families.find(|it| it.kin == group && it.name == family.name);
    assert_eq!(again, None);
}

/// Not a test: what the test below runs as a program of its own. It holds memory by an open file alone.
#[test]
#[ignore = "holds memory until it is killed"]
fn holds_a_memfd() {
    let memfd = rustix::fs::memfd_create(c"heap", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let piece = vec![1; 1 << 20];
    (0..260).for_each(|_| {
        rustix::io::write(&memfd, &piece).unwrap();
    });
    println!("ready");
    std::thread::sleep(Duration::from_secs(120));
}

#[test]
fn a_process_that_holds_memory_by_an_open_file_alone_is_found() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "holds_a_memfd", "--ignored", "--nocapture"]);
    let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
    let told = child.stdout.take().unwrap();
    let holder = Holder(child);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(told));
    lines.find(|line| line.as_ref().unwrap().contains("ready"));
    let mut processes = processes();
    let memory = pressure::sample::Memory {
        total: Some(Bytes::mib(1000)),
        shmem: Some(Bytes::mib(260)),
        ..pressure::sample::Memory::default()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut at = now().get();
    let mut scan = ProcessScan::default();
    loop {
        // A scan is due each time.
        at += Duration::from_secs(60);
        processes.see(Span::new(at), &memory);
        processes.look(Span::new(at), &mut scan);
        let mut candidates = scan.candidates.iter();
        let found = candidates.find(|it| it.identity.pid == holder.0.id());
        if found.is_some_and(|found| found.shared >= Bytes::mib(260)) {
            break;
        }
        assert!(Instant::now() < deadline, "{:?}", scan.candidates);
    }
}
