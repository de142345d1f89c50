use super::*;
use host::{Applied, Outcome};
use pressure::Sample;
use pressure::decision::Reason;
use pressure::distress::Extent;
use pressure::scan::{Identity, Name, Signal, UnitName};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use units::{Bytes, Span};

const PATIENCE: Duration = Duration::from_secs(20);

fn end(user: u32) -> News {
    let (identity, name) = (Identity { pid: 77, start: 1 }, Name::from("hog").unwrap());
    let (unit, signal, extent) = (
        UnitName::from("app-hog.scope").unwrap(),
        Signal::Kill,
        Extent::Process,
    );
    let action = Action::Kill {
        identity,
        name,
        unit,
        signal,
        extent,
        size: Bytes::mib(3),
    };
    News {
        what: What::Done(Step {
            action,
            why: Reason::Stop,
        }),
        user: Some(user),
    }
}

fn freeze() -> Step {
    let unit = UnitName::from("app-hog.scope").unwrap();
    let user = rustix::process::getuid().as_raw();
    let (used, headroom, wait) = (Bytes::mib(700), Bytes::mib(60), Span::secs(15));
    Step {
        action: Action::Group(CgroupAction::Freeze {
            id: 9,
            unit,
            user,
            used,
            headroom,
            wait,
        }),
        why: Reason::Stop,
    }
}

fn wait(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// What the loop would see.
fn connected(users: &Users) -> usize {
    users.shared.clients.load(Ordering::Relaxed)
}

fn visit(run: &Path) -> UnixStream {
    let client = UnixStream::connect(run.join(SOCKET)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

#[test]
fn others_hear_that_it_happened_and_not_to_whom() {
    assert_eq!(
        told(&end(1000), 1001),
        Some(Tell::EndedElsewhere {
            size: Bytes::mib(3)
        })
    );
    for user in [1000, 0] {
        assert!(
            matches!(told(&end(1000), user), Some(Tell::Ended { pid: 77, .. })),
            "{user}"
        );
    }
    let freeze = News {
        what: What::Done(freeze()),
        user: Some(1000),
    };
    assert!(matches!(told(&freeze, 1000), Some(Tell::Ask { id: 9, .. })));
    assert_eq!(told(&freeze, 1001), None, "a question is for whose it is");
    let unknown = News {
        user: None,
        ..end(0)
    };
    assert_eq!(
        told(&unknown, 1000),
        Some(Tell::EndedElsewhere {
            size: Bytes::mib(3)
        })
    );
}

#[test]
fn a_visitor_hears_a_question_and_its_answer_arrives() {
    let dir = tempfile::tempdir().unwrap();
    let users = Users::open(dir.path()).unwrap();
    let mode = std::fs::metadata(dir.path().join(SOCKET))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o666);
    let mut client = visit(dir.path());
    wait("nobody was let in", || connected(&users) == 1);
    let mut decision = crate::testing::decision();
    decision.steps.push(freeze());
    let outcome = Outcome::from_iter([Applied::Signalled]);
    users.tell(&Turn {
        sample: &Sample::default(),
        decision: &decision,
        outcome: &outcome,
    });
    let mut line = String::new();
    BufReader::new(client.try_clone().unwrap())
        .read_line(&mut line)
        .unwrap();
    let Ok(Tell::Ask {
        id: 9, unit, used, ..
    }) = serde_json::from_str(&line)
    else {
        panic!("{line}")
    };
    assert_eq!((unit.as_str(), used), ("app-hog.scope", Bytes::mib(700)));
    client.write_all(b"{\"id\":9,\"ans").unwrap();
    client.write_all(b"wer\":\"go-on\"}\n").unwrap();
    wait("no answer", || {
        format!("{:?}", users.heard).contains("GoOn")
    });
    // Who comes later is asked what is still open, and nobody answers what they were not asked.
    let mut later = visit(dir.path());
    let mut line = String::new();
    BufReader::new(later.try_clone().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(
        matches!(serde_json::from_str(&line), Ok(Tell::Ask { id: 9, .. })),
        "{line}"
    );
    later
        .write_all(b"{\"id\":10,\"answer\":\"end\"}\n")
        .unwrap();
    assert_eq!(later.read(&mut [0; 64]).unwrap(), 0, "shown out");
    assert!(!format!("{:?}", users.heard).contains("id: 10"));
    drop((client, later));
    wait("still counted", || connected(&users) == 0);
    assert!(
        format!("{:?}", users.heard).contains("users: []"),
        "{:?}",
        users.heard
    );
}

#[test]
fn who_has_closed_the_sending_side_hears_and_cannot_be_asked() {
    let dir = tempfile::tempdir().unwrap();
    let users = Users::open(dir.path()).unwrap();
    let mut listener = visit(dir.path());
    let asked = || format!("{:?}", users.heard);
    wait("nobody can be asked", || !asked().contains("users: []"));
    listener.shutdown(std::net::Shutdown::Write).unwrap();
    wait("it can still be asked", || asked().contains("users: []"));
    assert_eq!(connected(&users), 1);
    let mut decision = crate::testing::decision();
    let What::Done(step) = end(0).what else {
        panic!()
    };
    decision.steps.push(step);
    let outcome = Outcome::from_iter([Applied::Signalled]);
    users.tell(&Turn {
        sample: &Sample::default(),
        decision: &decision,
        outcome: &outcome,
    });
    let mut line = String::new();
    BufReader::new(&mut listener).read_line(&mut line).unwrap();
    assert!(line.contains("ended"), "{line}");
    drop(listener);
    wait("still counted", || connected(&users) == 0);
}

#[test]
fn who_talks_nonsense_or_comes_in_crowds_is_shown_out() {
    let dir = tempfile::tempdir().unwrap();
    let users = Users::open(dir.path()).unwrap();
    for nonsense in [
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "x".repeat(LONG),
        "{\"id\":9,\"answer\":\"no\"}\n".to_owned(),
    ] {
        let mut client = visit(dir.path());
        client.write_all(nonsense.as_bytes()).unwrap();
        let mut rest = Vec::new();
        // Closed with bytes unread, or after them.
        let _ = client.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
    let mut crowd: Vec<_> = (0..3 * MOST_OF_ONE).map(|_| visit(dir.path())).collect();
    wait("not all were seen", || connected(&users) == MOST_OF_ONE);
    let turned_away = crowd.last_mut().unwrap();
    assert_eq!(turned_away.read(&mut [0; 1]).unwrap(), 0);
}

/// More than a line may have, and than is read at once.
const LONG: usize = 2000;

#[test]
fn who_does_not_read_is_shown_out_and_nobody_waits_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let users = Users::open(dir.path()).unwrap();
    let _deaf = visit(dir.path());
    wait("nobody was let in", || connected(&users) == 1);
    let mut decision = crate::testing::decision();
    decision.steps.push(freeze());
    let outcome = Outcome::from_iter([Applied::Signalled]);
    let begun = Instant::now();
    while connected(&users) == 1 {
        assert!(begun.elapsed() < PATIENCE);
        users.tell(&Turn {
            sample: &Sample::default(),
            decision: &decision,
            outcome: &outcome,
        });
    }
}
