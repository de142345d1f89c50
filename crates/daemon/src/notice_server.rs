//! The notice server: tells users what the guard does to their processes, and asks what becomes of a frozen unit.
//!
//! ```text
//! loop ── events (a queue of fixed length) ────────► thread ── JSON lines ──► clients, each what concerns its user
//! loop ◄─ host::Users: the users that can be asked, ─ thread ◄── answers ──── clients
//!         and what they answered
//! ```
//!
//! Every user can open the socket; the kernel names the user of a client (`SO_PEERCRED`). A client is told about its own
//! user's processes. Of other users' processes it is told only that memory was short, and how much a kill frees. A client
//! answers only what it was asked, so only for its own user's units. A client that connects later is asked what is still
//! open. One that has closed its sending side is told everything and asked nothing. One that does not read, or sends
//! something else than an answer, is disconnected.

mod client;

use crate::events::{EventKind, Tick, TickEvent};
use crate::listener::Listener;
use anyhow::{Context, Result};
use client::Client;
use pressure::decision::{Action, Notice, Reason, Step};
use pressure::groups::CgroupAction;
use pressure::users::Tell;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use units::Span;

/// The socket's name in the run directory.
pub const SOCKET: &str = "notice.sock";
/// Mode of the socket: every user can connect, and is told what concerns that user.
const EVERY_USER: u32 = 0o666;
/// Clients at once: a session or two for each of a few users. Each costs a descriptor and a buffer of locked memory.
const MAX_CLIENTS: usize = 16;
/// Clients of one user at once, so that one user cannot take all places.
const MAX_CLIENTS_OF_A_USER: usize = 4;
/// Events that may wait for the thread, which only formats and sends them. A tick has a few.
const QUEUE: usize = 32;
/// The thread formats short lines. Its stack is locked in memory, so it is small.
const STACK: usize = 256 * 1024;
/// Pause after a client connected or sent something, so that a client that sends without end costs little CPU.
const PAUSE: Duration = Duration::from_millis(5);
/// Pause without free memory or descriptors: trying again at once would only spin.
const REST: Duration = Duration::from_millis(100);

/// The loop's end. Dropping it disconnects all clients.
#[derive(Debug)]
pub struct NoticeServer {
    users: Arc<host::Users>,
    shared: Arc<Shared>,
    queue: SyncSender<TickEvent>,
    thread: Option<JoinHandle<()>>,
}

/// What the loop and the thread share beside the queue.
#[derive(Debug)]
struct Shared {
    /// Event counter: readable when there are events, or the server stops.
    wakeup: OwnedFd,
    stops: AtomicBool,
    /// Connected clients. Without any, the loop hands nothing over.
    clients: AtomicUsize,
    /// Events that found the queue full.
    lost: AtomicU64,
}

impl Shared {
    fn wake(&self) {
        // A write to an event counter fails only when the counter is full, and then it is readable anyway.
        let _ = rustix::io::write(&self.wakeup, &1u64.to_ne_bytes());
    }
}

impl NoticeServer {
    /// Opens the socket in the directory `run` of the machine at `root`. Errors name the path.
    pub fn open(root: &Path, run: &Path) -> Result<Self> {
        let listener = Listener::unix(run.join(SOCKET), EVERY_USER)?;
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .context("cannot create the event counter of the notice server")?;
        let shared = Arc::new(Shared {
            wakeup,
            stops: AtomicBool::new(false),
            clients: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
        });
        let users = Arc::new(host::Users::default());
        let (queue, events) = sync_channel(QUEUE);
        let worker = Worker {
            root: root.to_owned(),
            listener,
            clients: Vec::new(),
            users: Arc::clone(&users),
            shared: Arc::clone(&shared),
            events,
            questions: Vec::new(),
        };
        let thread = thread::Builder::new()
            .name("warmset-notice".to_owned())
            .stack_size(STACK)
            .spawn(move || worker.serve())
            .context("cannot start the thread of the notice server")?;
        Ok(Self {
            users,
            shared,
            queue,
            thread: Some(thread),
        })
    }

    /// The users that can be asked, and their answers.
    pub fn users(&self) -> Arc<host::Users> {
        Arc::clone(&self.users)
    }

    /// Hands over the events of a tick. Neither waits nor allocates.
    pub fn hand_over(&self, tick: &Tick<'_>) {
        if self.shared.clients.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut has_events = false;
        for event in tick.events() {
            if !concerns_clients(&event) {
                continue;
            }
            has_events = true;
            if self.queue.try_send(event).is_err() {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        if has_events {
            self.shared.wake();
        }
    }

    /// What failed since the last call.
    pub fn take_warning(&self) -> Option<String> {
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        if lost == 0 {
            return None;
        }
        Some(format!(
            "{lost} notices to users were not sent: events came faster than they were sent"
        ))
    }
}

impl Drop for NoticeServer {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

/// Returns true if any client is told about this event.
fn concerns_clients(event: &TickEvent) -> bool {
    match &event.kind {
        EventKind::Noticed(notice) => matches!(
            notice,
            Notice::Distress { .. }
                | Notice::Thrashing { .. }
                | Notice::SharedFills { .. }
                | Notice::KernelFills { .. }
        ),
        EventKind::Done(step) => matches!(
            step.action,
            Action::Kill { .. }
                | Action::Group(
                    CgroupAction::Throttle { .. }
                        | CgroupAction::Freeze { .. }
                        | CgroupAction::Thaw { .. }
                )
        ),
    }
}

/// The thread that serves the clients.
struct Worker {
    root: PathBuf,
    listener: Listener,
    clients: Vec<Client>,
    users: Arc<host::Users>,
    shared: Arc<Shared>,
    events: Receiver<TickEvent>,
    questions: Vec<Question>,
}

/// An open question: what becomes of a frozen unit?
struct Question {
    /// Inode number of the unit's cgroup.
    id: u64,
    /// After this the guard decides without an answer.
    until: Instant,
    /// The freezing of the unit.
    event: TickEvent,
}

/// What woke the thread.
struct Ready {
    /// A client connects.
    listener: bool,
    /// Indices of clients that sent something or are gone.
    clients: Vec<usize>,
}

impl Worker {
    fn serve(mut self) {
        loop {
            let ready = self.wait();
            if self.shared.stops.load(Ordering::Relaxed) {
                return;
            }
            while let Ok(event) = self.events.try_recv() {
                self.keep_question(&event);
                self.tell_all(&event);
            }
            for index in &ready.clients {
                self.clients[*index].receive(&self.users);
            }
            self.clients.retain(|client| !client.is_gone());
            if ready.listener {
                self.accept();
            }
            self.users.are(self.users_to_ask());
            self.shared
                .clients
                .store(self.clients.len(), Ordering::Relaxed);
            if ready.listener || !ready.clients.is_empty() {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Keeps a question for clients that connect later, until the unit is thawed or its time is over.
    fn keep_question(&mut self, event: &TickEvent) {
        let EventKind::Done(Step {
            action: Action::Group(action),
            ..
        }) = event.kind
        else {
            return;
        };
        let settles = matches!(
            action,
            CgroupAction::Freeze { .. } | CgroupAction::Thaw { .. }
        );
        let now = Instant::now();
        if settles {
            self.questions
                .retain(|open| open.id != action.id() && open.until > now);
        }
        if let CgroupAction::Freeze { id, wait, .. } = action {
            self.questions.push(Question {
                id,
                until: now + wait.get(),
                event: *event,
            });
        }
    }

    /// Sleeps until there are events, a client connects, sends something or is gone, or the server stops.
    fn wait(&self) -> Ready {
        let mut fds = vec![
            PollFd::new(&self.shared.wakeup, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        for client in &self.clients {
            // poll reports a client that is gone in any case.
            let flags = if client.can_answer() {
                PollFlags::IN
            } else {
                PollFlags::empty()
            };
            fds.push(PollFd::new(&client.socket, flags));
        }
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            // The kernel has no memory for a poll.
            Err(_) => thread::sleep(REST),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let clients = fds[2..].iter().enumerate();
        let clients = clients.filter(|(_, fd)| is_ready(fd));
        let ready = Ready {
            listener: is_ready(&fds[1]),
            clients: clients.map(|(index, _)| index).collect(),
        };
        let _ = rustix::io::read(&self.shared.wakeup, &mut [0; 8]);
        ready
    }

    /// Accepts a client, unless there are too many, and asks it what is open.
    fn accept(&mut self) {
        let socket = match self.listener.accept() {
            Ok(socket) => socket,
            Err(error) => {
                // Without a free descriptor the client keeps waiting, and the listener stays ready.
                if error.kind() != std::io::ErrorKind::WouldBlock {
                    thread::sleep(REST);
                }
                return;
            }
        };
        let Some(mut client) = Client::of(socket, &self.root) else {
            return;
        };
        let user = client.user;
        let accounts: Vec<u32> = self.clients.iter().map(|other| other.account).collect();
        match place(&accounts, client.account) {
            Place::Free => {}
            Place::Of(index) => drop(self.clients.remove(index)),
            Place::None => return,
        }
        // A client that only listens has closed its sending side by now; it must not be asked.
        client.receive(&self.users);
        for question in &self.questions {
            if let Some(ask) = question.for_user(user) {
                client.tell(&ask);
            }
        }
        self.clients.push(client);
    }

    /// Each user with a client that can answer, once. Only some users can be asked, so one with many IDs counts once, too.
    fn users_to_ask(&self) -> Vec<u32> {
        let can_answer = self.clients.iter().filter(|client| client.can_answer());
        let mut users: Vec<(u32, u32)> = can_answer
            .map(|client| (client.account, client.user))
            .collect();
        // Of a user's IDs the own one comes first.
        users.sort_unstable_by_key(|(account, user)| (*account, user != account, *user));
        users.dedup_by_key(|(account, _)| *account);
        users.into_iter().map(|(_, user)| user).collect()
    }

    fn tell_all(&mut self, event: &TickEvent) {
        for client in &mut self.clients {
            if let Some(message) = message(event, client.user) {
                client.tell(&message);
            }
        }
    }
}

/// Where a client that connects goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    /// In place of this client, which is disconnected.
    Of(usize),
    None,
}

/// The place for a client of `user` beside clients of `users`. A user with subordinate IDs is one user.
///
/// When all are taken, a user gives one up that has more than the newcomer would have. Root always gets in: it must see what
/// the guard does, whatever others do.
fn place(users: &[u32], user: u32) -> Place {
    let number = |of: u32| users.iter().filter(|other| **other == of).count();
    if number(user) >= MAX_CLIENTS_OF_A_USER {
        return Place::None;
    }
    if users.len() < MAX_CLIENTS {
        return Place::Free;
    }
    let others = users.iter().enumerate().filter(|(_, other)| **other != 0);
    let Some((last, most)) = others.max_by_key(|(_, other)| number(**other)) else {
        return Place::None;
    };
    if user == 0 || number(*most) > number(user) + 1 {
        Place::Of(last)
    } else {
        Place::None
    }
}

impl Question {
    /// The question with the time that is left, if it is still open and for this user.
    fn for_user(&self, user: u32) -> Option<Tell> {
        let left = self.until.checked_duration_since(Instant::now())?;
        let mut message = message(&self.event, user)?;
        if let Tell::Ask { wait, .. } = &mut message {
            *wait = Span::new(left);
            return Some(message);
        }
        None
    }
}

/// What a client of this user is told about an event; `None` for nothing. Root is told everything.
fn message(event: &TickEvent, user: u32) -> Option<Tell> {
    let is_theirs = user == 0 || event.user == Some(user);
    match &event.kind {
        EventKind::Noticed(Notice::Distress { headroom, left, .. }) => Some(Tell::Warn {
            headroom: *headroom,
            left: *left,
        }),
        EventKind::Noticed(
            notice @ (Notice::Thrashing { .. }
            | Notice::SharedFills { .. }
            | Notice::KernelFills { .. }),
        ) => {
            let told = if is_theirs {
                *notice
            } else {
                without_processes(*notice)
            };
            Some(Tell::Short {
                why: told.to_string(),
            })
        }
        EventKind::Noticed(_) => None,
        EventKind::Done(step) => match step.action {
            Action::Kill { size, .. } if !is_theirs => Some(Tell::EndedElsewhere { size }),
            Action::Kill { .. } => kill_message(step),
            Action::Group(action) if is_theirs => cgroup_message(&action, &step.why),
            _ => None,
        },
    }
}

/// A notice without what processes call themselves: they are of another user, or it is not known of which.
fn without_processes(mut notice: Notice) -> Notice {
    match &mut notice {
        Notice::Thrashing { largest, .. } => *largest = None,
        Notice::SharedFills { writer, .. } => *writer = None,
        _ => {}
    }
    notice
}

fn kill_message(step: &Step) -> Option<Tell> {
    let Action::Kill {
        identity,
        name,
        unit,
        signal,
        size,
        ..
    } = step.action
    else {
        return None;
    };
    Some(Tell::Ended {
        name: name.to_string(),
        pid: identity.pid,
        unit: unit.to_string(),
        signal: signal.name().to_owned(),
        size,
        why: step.why.to_string(),
    })
}

fn cgroup_message(action: &CgroupAction, why: &Reason) -> Option<Tell> {
    match *action {
        CgroupAction::Throttle {
            unit, memory_high, ..
        } => Some(Tell::Throttled {
            unit: unit.to_string(),
            memory_high,
        }),
        CgroupAction::Freeze {
            id,
            unit,
            used,
            wait,
            ..
        } => Some(Tell::Ask {
            id,
            unit: unit.to_string(),
            used,
            wait,
            why: why.to_string(),
        }),
        CgroupAction::Thaw { id, .. } => Some(Tell::Settled { id }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
