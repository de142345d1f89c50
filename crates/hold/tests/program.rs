//! The program itself: it tells, it obeys, and it ends with the guard, however the guard ends.
#![allow(clippy::unwrap_used, reason = "a test may")]

use host::holder::wire::{self, Tale};
use pressure::means::Means;
use pressure::protect::{Act, FileId, Ranges, Warm};
use pressure::status::NamedPath;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use units::Bytes;

const PROGRAM: &str = env!("CARGO_BIN_EXE_warmset-hold");
const PATIENCE: Duration = Duration::from_secs(20);

struct Holder {
    child: Child,
    socket: OwnedFd,
    warm: Warm,
    warnings: Vec<String>,
    means: Vec<Means>,
    /// What was last told of the path that was named.
    named: Option<NamedPath>,
}

impl Holder {
    fn start() -> Self {
        let (socket, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let child = Command::new(PROGRAM)
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        Self {
            child,
            socket,
            warm: Warm::default(),
            warnings: Vec::new(),
            means: Vec::new(),
            named: None,
        }
    }

    fn order(&self, act: &Act) {
        send(&self.socket, &wire::order(act), SendFlags::NOSIGNAL).unwrap();
    }

    /// Hears until `enough`, or for a while.
    fn hear(&mut self, enough: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        let mut buffer = [0; wire::MOST_BYTES];
        while !enough(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).unwrap();
            if poll(
                &mut [PollFd::new(&self.socket, PollFlags::IN)],
                Some(&timeout),
            )
            .unwrap()
                == 0
            {
                return false;
            }
            let (length, _) = recv(&self.socket, &mut buffer, RecvFlags::empty()).unwrap();
            match wire::tale(&buffer[..length], &mut self.warm) {
                Some(Tale::Error(text)) => self.warnings.push(text.to_owned()),
                Some(Tale::Means(means)) => self.means.push(means),
                Some(Tale::Named(found)) => self.named = Some(found),
                Some(_) => {}
                None => panic!("a message that makes no sense"),
            }
        }
        true
    }

    fn ends(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        false
    }
}

/// In a process of its own: what is locked is counted by process.
#[test]
fn each_means_of_protection_is_tried_and_says_something() {
    let output = Command::new(PROGRAM).arg("--probe").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let checks: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(output.status.success() && checks.len() == 8, "{text}");
    assert!(
        checks
            .iter()
            .all(|check| check.len() == 4 && !check[2].is_empty()),
        "{text}"
    );
    let word = |name: &str| checks.iter().find(|check| check[1] == name).unwrap()[0];
    assert_eq!(word("locks of files' pages"), "yes", "everywhere: {text}");
    if rustix::process::geteuid().is_root() {
        assert_eq!(word("signals"), "yes", "{text}");
    } else {
        assert_eq!(word("limits of users' units"), "no", "{text}");
    }
}

#[test]
fn what_is_no_option_is_refused() {
    let output = Command::new(PROGRAM)
        .arg("/usr/sbin/sshd")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no option"), "{said}");
}

#[test]
fn it_tells_what_it_can_and_leaves_when_the_guard_goes() {
    let mut holder = Holder::start();
    assert!(
        holder.hear(|holder| holder.warm.sums.held == Some(Bytes::ZERO)),
        "a first report"
    );
    let events = holder
        .means
        .iter()
        .find(|means| means.name == "events of the page cache")
        .unwrap();
    assert_eq!(
        events.is_armed,
        holder.warm.sums.watching.is_some(),
        "it watches where it can, and else says why not: {events}"
    );
    rustix::net::shutdown(&holder.socket, rustix::net::Shutdown::Both).unwrap();
    assert!(holder.ends());
}

#[test]
fn it_holds_a_file_or_says_why_not_and_lets_it_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    File::create(&path)
        .unwrap()
        .write_all(&vec![1; 2 << 20])
        .unwrap();
    let meta = std::fs::metadata(&path).unwrap();
    let file = FileId {
        device: meta.dev(),
        inode: meta.ino(),
    };
    let mut holder = Holder::start();
    holder.order(&Act::Hold {
        file,
        ranges: Ranges::whole(512),
        amount: Bytes::mib(2),
    });
    let held = |holder: &Holder| holder.warm.sums.held == Some(Bytes::mib(2));
    let refused = |holder: &Holder| holder.warnings.iter().any(|text| text.contains("not held"));
    assert!(
        holder.hear(|holder| held(holder) || refused(holder)),
        "{:?}",
        holder.warnings
    );
    if held(&holder) {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", holder.child.id())).unwrap();
        assert!(status.contains("VmLck:\t    2048 kB"), "{status}");
        // Replaced while it is held: it goes by itself.
        std::fs::remove_file(&path).unwrap();
        assert!(holder.hear(|holder| holder.warm.sums.held == Some(Bytes::ZERO)));
    }
}

/// Bytes of the files whose names have `part` in them that are locked in that process, as the kernel counts them.
fn locked_of(process: u32, part: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let mut is_its = false;
    let mut locked = 0;
    for line in text.lines() {
        let is_head = line
            .split(' ')
            .next()
            .is_some_and(|first| first.contains('-'));
        if is_head {
            is_its = line.contains(part);
        }
        let kib = line.strip_prefix("Locked:").filter(|_| is_its);
        locked += kib.map_or(0, |kib| {
            kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
        });
    }
    locked
}

#[test]
fn it_holds_what_is_named_finds_it_again_when_replaced_and_lets_it_go() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().canonicalize().unwrap().join("named-file");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let mut holder = Holder::start();
    let process = holder.child.id();
    let name = |holder: &Holder, of: u64| {
        let message = wire::entry(&wire::Entry {
            place: 0,
            of,
            path: path.to_str().unwrap(),
        });
        send(&holder.socket, &message, SendFlags::NOSIGNAL).unwrap();
    };
    name(&holder, 1);
    let size = |holder: &Holder, mib| holder.warm.sums.named == Some(Bytes::mib(mib));
    let refused = |holder: &Holder| {
        let why = holder.named.as_ref().and_then(|named| named.why.as_ref());
        why.is_some_and(|why| why.contains("local disks only"))
    };
    assert!(
        holder.hear(|holder| size(holder, 1) || refused(holder)),
        "{:?}",
        holder.named
    );
    if refused(&holder) {
        eprintln!("skipped: {:?}", holder.named);
        return;
    }
    assert_eq!(locked_of(process, "named-file"), 0, "the guard decides");

    holder.order(&Act::HoldNamed {
        amount: Bytes::mib(3),
    });
    let held = |holder: &Holder, mib| holder.warm.sums.named_held == Some(Bytes::mib(mib));
    assert!(holder.hear(|holder| held(holder, 1)), "{:?}", holder.named);
    assert_eq!(locked_of(process, "named-file"), 1 << 20);
    assert_eq!(holder.warm.sums.held, Some(Bytes::mib(1)));

    let new = directory.path().join("new");
    std::fs::write(&new, vec![2; 3 << 20]).unwrap();
    std::fs::rename(&new, &path).unwrap();
    assert!(holder.hear(|holder| held(holder, 3)), "{:?}", holder.named);
    assert_eq!(locked_of(process, "named-file"), 3 << 20);
    assert!(
        holder.warnings.iter().any(|text| text.contains("replaced")),
        "{:?}",
        holder.warnings
    );

    holder.order(&Act::HoldNamed {
        amount: Bytes::mib(2),
    });
    assert!(holder.hear(|holder| held(holder, 0)), "it no longer fits");
    assert_eq!(locked_of(process, "named-file"), 0);
    holder.order(&Act::HoldNamed {
        amount: Bytes::mib(3),
    });
    assert!(holder.hear(|holder| held(holder, 3)));
    name(&holder, 0);
    assert!(holder.hear(|holder| held(holder, 0)));
    assert_eq!(locked_of(process, "named-file"), 0);
}

#[test]
fn orders_that_make_no_sense_change_nothing() {
    let mut holder = Holder::start();
    send(&holder.socket, b"what", SendFlags::NOSIGNAL).unwrap();
    send(&holder.socket, &[0xff; 40], SendFlags::NOSIGNAL).unwrap();
    holder.order(&Act::Release {
        file: FileId {
            device: 1,
            inode: 1,
        },
    });
    holder.order(&Act::Hold {
        file: FileId {
            device: 1,
            inode: 1,
        },
        ranges: Ranges::whole(9),
        amount: Bytes::ZERO,
    });
    assert!(holder.hear(|holder| holder.warnings.iter().any(|text| text.contains("not held"))));
    assert!(holder.child.try_wait().unwrap().is_none(), "it goes on");
    let _ = holder.child.kill();
}

#[test]
fn it_ends_when_the_guard_is_killed() {
    // The shell is the guard: the socket's other end stays open with us, so only its death tells.
    let (_ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.args([
        "-c",
        &format!("exec 3<&0; {PROGRAM} <&3 >/dev/null 2>&1 & echo $!; exec sleep 60"),
    ]);
    let mut guard = shell
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(guard.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let own = format!("/proc/{}/cmdline", line.trim());
    let runs = || std::fs::read_to_string(&own).is_ok_and(|text| text.contains("warmset-hold"));
    let deadline = Instant::now() + PATIENCE;
    while !runs() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Time for the one call before which it cannot know.
    std::thread::sleep(Duration::from_millis(300));
    assert!(runs());
    guard.kill().unwrap();
    guard.wait().unwrap();
    while runs() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!runs(), "it outlives the guard");
}
