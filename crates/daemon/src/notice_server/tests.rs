use super::*;
use crate::testing::kill_step;
use host::{Applied, Outcome};
use pressure::scan::{Name, PathName, UnitName};
use pressure::{Decision, Sample};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use units::{Bytes, Percent, Rate, Span};

const PATIENCE: Duration = Duration::from_secs(20);

/// A kill of a process of this user.
fn kill(user: u32) -> TickEvent {
    TickEvent {
        kind: EventKind::Done(kill_step("app-hog.scope")),
        user: Some(user),
    }
}

/// Freezes a unit of the user that runs this test.
fn freeze() -> Step {
    Step {
        action: Action::Group(CgroupAction::Freeze {
            id: 9,
            unit: UnitName::from("app-hog.scope").unwrap(),
            user: rustix::process::getuid().as_raw(),
            used: Bytes::mib(700),
            headroom: Bytes::mib(60),
            wait: Span::secs(15),
        }),
        why: Reason::Stop,
    }
}

/// A decision of this one step.
fn decision(step: Step) -> Decision {
    let mut decision = testsupport::decision();
    decision.steps.push(step);
    decision
}

/// Hands over a tick in which the first step of `decision` was carried out.
fn hand_over(server: &NoticeServer, decision: &Decision) {
    server.hand_over(&Tick {
        sample: &Sample::default(),
        decision,
        outcome: &Outcome::from_iter([Applied::Signalled]),
    });
}

fn open() -> (TempDir, NoticeServer) {
    let run = tempfile::tempdir().unwrap();
    let server = NoticeServer::open(run.path(), run.path()).unwrap();
    (run, server)
}

fn wait(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The number of clients that the loop sees.
fn connected(server: &NoticeServer) -> usize {
    server.shared.clients.load(Ordering::Relaxed)
}

/// The users and answers that the loop sees.
fn heard(server: &NoticeServer) -> String {
    format!("{:?}", server.users)
}

fn connect(run: &TempDir) -> UnixStream {
    let client = UnixStream::connect(run.path().join(SOCKET)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

fn read_line(client: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(client.try_clone().unwrap())
        .read_line(&mut line)
        .unwrap();
    line
}

#[test]
fn other_users_are_told_that_a_process_was_killed_but_not_which() {
    let elsewhere = Some(Tell::EndedElsewhere {
        size: Bytes::mib(3),
    });
    assert_eq!(message(&kill(1000), 1001), elsewhere);
    for user in [1000, 0] {
        let told = message(&kill(1000), user);
        assert!(matches!(told, Some(Tell::Ended { pid: 77, .. })), "{user}");
    }
    let of_unknown_user = TickEvent {
        user: None,
        ..kill(0)
    };
    assert_eq!(message(&of_unknown_user, 1000), elsewhere);
}

#[test]
fn a_user_is_told_the_name_of_a_process_only_if_it_is_their_own() {
    let name = Name::from("their-secret").unwrap();
    let thrashing = Notice::Thrashing {
        since: Span::secs(5),
        stalled: Percent::new(60),
        unit: None,
        headroom: Bytes::mib(9),
        largest: Some(name),
    };
    let fills = Notice::SharedFills {
        held: Bytes::mib(700),
        growth: Rate::default(),
        mount: PathName::from("/dev/shm").ok(),
        writer: Some(name),
    };
    for notice in [thrashing, fills] {
        let event = TickEvent {
            kind: EventKind::Noticed(notice),
            user: None,
        };
        let told = |user| format!("{:?}", message(&event, user).unwrap());
        assert!(told(0).contains("their-secret"), "{}", told(0));
        assert!(!told(1000).contains("their-secret"), "{}", told(1000));
        assert!(told(1000).contains("MiB"), "{}", told(1000));
        let own = TickEvent {
            user: Some(1000),
            ..event
        };
        let told = format!("{:?}", message(&own, 1000).unwrap());
        assert!(told.contains("their-secret"), "it is their own: {told}");
    }
}

#[test]
fn only_the_user_of_a_unit_is_asked_about_it() {
    let freeze = TickEvent {
        kind: EventKind::Done(freeze()),
        user: Some(1000),
    };
    let asked = message(&freeze, 1000);
    assert!(matches!(asked, Some(Tell::Ask { id: 9, .. })));
    assert_eq!(message(&freeze, 1001), None);
}

#[test]
fn a_client_is_asked_and_its_answer_arrives() {
    let (run, server) = open();
    let socket = std::fs::metadata(run.path().join(SOCKET)).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o666);
    let mut client = connect(&run);
    wait("no client was accepted", || connected(&server) == 1);
    hand_over(&server, &decision(freeze()));
    let line = read_line(&client);
    let Ok(Tell::Ask {
        id: 9, unit, used, ..
    }) = serde_json::from_str(&line)
    else {
        panic!("{line}")
    };
    assert_eq!(unit, "app-hog.scope");
    assert_eq!(used, Bytes::mib(700));
    client.write_all(b"{\"id\":9,\"ans").unwrap();
    client.write_all(b"wer\":\"go-on\"}\n").unwrap();
    wait("no answer", || heard(&server).contains("GoOn"));
    // A client that connects later is asked what is still open. It cannot answer what it was not asked.
    let mut later = connect(&run);
    let line = read_line(&later);
    assert!(
        matches!(serde_json::from_str(&line), Ok(Tell::Ask { id: 9, .. })),
        "{line}"
    );
    later
        .write_all(b"{\"id\":10,\"answer\":\"end\"}\n")
        .unwrap();
    assert_eq!(later.read(&mut [0; 64]).unwrap(), 0, "disconnected");
    assert!(!heard(&server).contains("id: 10"));
    drop(client);
    drop(later);
    wait("still connected", || connected(&server) == 0);
    let heard = heard(&server);
    assert!(heard.contains("users: []"), "{heard}");
}

#[test]
fn a_client_that_has_closed_its_sending_side_is_told_but_not_asked() {
    let (run, server) = open();
    let listener = connect(&run);
    let nobody = || heard(&server).contains("users: []");
    wait("nobody can be asked", || !nobody());
    listener.shutdown(std::net::Shutdown::Write).unwrap();
    wait("it can still be asked", nobody);
    assert_eq!(connected(&server), 1);
    hand_over(&server, &decision(kill_step("app-hog.scope")));
    let line = read_line(&listener);
    assert!(line.contains("ended"), "{line}");
    drop(listener);
    wait("still connected", || connected(&server) == 0);
}

#[test]
fn a_client_that_sends_nonsense_or_is_one_too_many_is_disconnected() {
    let (run, server) = open();
    for nonsense in [
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "x".repeat(LONG),
        "{\"id\":9,\"answer\":\"no\"}\n".to_owned(),
    ] {
        let mut client = connect(&run);
        client.write_all(nonsense.as_bytes()).unwrap();
        let mut rest = Vec::new();
        // Fails with ECONNRESET if the server closed before it read everything.
        let _ = client.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
    let mut crowd = Vec::new();
    for _ in 0..3 * MAX_CLIENTS_OF_A_USER {
        crowd.push(connect(&run));
    }
    wait("not all were seen", || {
        connected(&server) == MAX_CLIENTS_OF_A_USER
    });
    let refused = crowd.last_mut().unwrap();
    assert_eq!(refused.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn no_user_takes_the_places_of_others_and_root_gets_in() {
    let mut users = Vec::new();
    for user in 1000..1004 {
        assert_eq!(place(&users, user), Place::Free);
        users.extend([user; MAX_CLIENTS_OF_A_USER]);
    }
    assert_eq!(place(&users, 1000), Place::None, "it has its share");
    assert_eq!(place(&users, 2000), Place::Of(15));
    users[15] = 2000;
    assert_eq!(place(&users, 2000), Place::Of(11), "one has four still");
    let one_each: Vec<u32> = (1000..1016).collect();
    assert_eq!(place(&one_each, 2000), Place::None);
    assert_eq!(place(&one_each, 0), Place::Of(15));
    let roots = [0; MAX_CLIENTS_OF_A_USER];
    assert_eq!(place(&roots, 0), Place::None);
    assert_eq!(place(&roots, 1000), Place::Free);
}

/// Connects as this user ID and waits. Ends with this.
struct Elsewhere(std::process::Child);

impl Elsewhere {
    /// `None` if only root may become another user.
    fn connect(run: &TempDir, user: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root may become other users");
            return None;
        }
        let open = std::fs::Permissions::from_mode(0o711);
        std::fs::set_permissions(run.path(), open).unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "notice_server::tests::connects_and_waits",
            "--ignored",
        ]);
        command.env("WARMSET_CONNECT", run.path().join(SOCKET));
        std::os::unix::process::CommandExt::uid(&mut command, user);
        command.stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                eprintln!("SKIPPED: user {user} cannot run this test's program: {error}");
                None
            }
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "the other end of the tests beside it"]
fn connects_and_waits() {
    let Some(path) = std::env::var_os("WARMSET_CONNECT") else {
        return;
    };
    let _client = UnixStream::connect(path).unwrap();
    let _ = std::io::stdin().read(&mut [0; 1]);
}

#[test]
fn all_subordinate_ids_of_a_user_are_one_user() {
    let (run, server) = open();
    std::fs::create_dir(run.path().join("etc")).unwrap();
    std::fs::write(run.path().join("etc/subuid"), "1001:200000:65536\n").unwrap();
    let mut crowd = Vec::new();
    for user in 200_000..200_012 {
        let Some(client) = Elsewhere::connect(&run, user) else {
            return;
        };
        crowd.push(client);
    }
    wait("not all were seen", || {
        connected(&server) == MAX_CLIENTS_OF_A_USER
    });
    let own = Elsewhere::connect(&run, 1001).unwrap();
    let other = Elsewhere::connect(&run, 300_000).unwrap();
    wait("another user has no place", || {
        connected(&server) == MAX_CLIENTS_OF_A_USER + 1
    });
    // Of one user's IDs one can be asked: only some users can.
    let asked = heard(&server);
    assert!(asked.contains("300000]"), "{asked}");
    assert_eq!(asked.matches("2000").count(), 1, "{asked}");
    drop((own, other));
}

/// More bytes than a line may have, and more than are read at once.
const LONG: usize = 2000;

#[test]
fn a_client_that_does_not_read_is_disconnected_without_a_wait() {
    let (run, server) = open();
    let _deaf = connect(&run);
    wait("no client was accepted", || connected(&server) == 1);
    let decision = decision(freeze());
    let begun = Instant::now();
    while connected(&server) == 1 {
        assert!(begun.elapsed() < PATIENCE);
        hand_over(&server, &decision);
    }
}
