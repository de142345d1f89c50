//! People who want to know, and can be asked: a socket that every user may open, and a thread that serves it.
//!
//! ```text
//! loop ── news (a queue of fixed length; full: counted) ──► thread ──► each visitor: what concerns them, as JSON lines
//! loop ◄─ host::People: who is there, what they answered ── thread ◄── answers
//! ```
//!
//! Who a visitor is says the kernel (`SO_PEERCRED`), and nobody else. A visitor hears of their own processes, and of all
//! others that memory was short and how much came back; they answer what they were asked, and about their own units only.
//! Who comes later is asked what is still open; who has closed the sending side is asked nothing. Who does not read, or
//! talks nonsense, is shown out.

mod client;

use crate::news::{News, Turn, What};
use crate::status_server::door::Door;
use anyhow::{Context, Result};
use client::Client;
use pressure::decision::{Action, Notice, Step};
use pressure::groups::CgroupAction;
use pressure::users::Tell;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use units::Span;

/// The socket's name in the run directory.
pub const SOCKET: &str = "notice.sock";
/// Everyone may come; each hears what is theirs.
const EVERYONE: u32 = 0o666;
/// Visitors at once, and of one user.
const MOST: usize = 16;
const MOST_OF_ONE: usize = 4;
/// What may wait for the thread.
const QUEUE: usize = 32;
const STACK: usize = 256 * 1024;
/// After a visitor was heard or let in.
const PAUSE: Duration = Duration::from_millis(5);
/// Where there is no memory, or no descriptor: the next moment may have it.
const REST: Duration = Duration::from_millis(100);

/// The loop's end. Dropping it shows everyone out.
#[derive(Debug)]
pub struct Users {
    heard: Arc<host::Users>,
    shared: Arc<Shared>,
    queue: SyncSender<News>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Readable when there is news, or the end has come.
    bell: OwnedFd,
    ends: AtomicBool,
    /// Nothing is handed over while nobody listens.
    clients: AtomicUsize,
    /// News that found the queue full.
    lost: AtomicU64,
}

impl Users {
    /// Opens the door in the folder `run`. Errors name what is in the way.
    pub fn open(run: &Path) -> Result<Self> {
        let door = Door::unix(run.join(SOCKET), EVERYONE)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .context("event counter for people")?;
        let shared = Arc::new(Shared {
            bell,
            ends: AtomicBool::new(false),
            clients: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
        });
        let heard = Arc::new(host::Users::default());
        let (queue, news) = sync_channel(QUEUE);
        let host = Host {
            door,
            clients: Vec::new(),
            heard: Arc::clone(&heard),
            shared: Arc::clone(&shared),
            news,
            questions: Vec::new(),
        };
        let work = thread::Builder::new()
            .name("warmset-people".to_owned())
            .stack_size(STACK);
        let thread = work
            .spawn(move || host.serve())
            .context("thread for people")?;
        Ok(Self {
            heard,
            shared,
            queue,
            thread: Some(thread),
        })
    }

    /// Who is there, and what they answer.
    pub fn heard(&self) -> Arc<host::Users> {
        Arc::clone(&self.heard)
    }

    /// Hands over what happened in a turn of the loop. Neither waits nor allocates.
    pub fn tell(&self, turn: &Turn<'_>) {
        if self.shared.clients.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut told = false;
        for news in turn.news().filter(is_told) {
            let is_lost = self.queue.try_send(news).is_err();
            self.shared
                .lost
                .fetch_add(u64::from(is_lost), Ordering::Relaxed);
            told = true;
        }
        if told {
            self.shared.ring();
        }
    }

    /// What went wrong since the last call.
    pub fn take_warning(&self) -> Option<String> {
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        (lost > 0).then(|| {
            format!("{lost} notices were not told: things happened faster than they were sent")
        })
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.shared.ring();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn ring(&self) {
        // An event counter takes a write always but at its very end.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

/// Whether anyone is to hear of it at all.
fn is_told(news: &News) -> bool {
    match news.what {
        What::Done(Step {
            action: Action::Kill { .. },
            ..
        })
        | What::Seen(Notice::Distress { .. }) => true,
        What::Done(Step {
            action: Action::Group(cgroup_action),
            ..
        }) => {
            matches!(
                cgroup_action,
                CgroupAction::Throttle { .. }
                    | CgroupAction::Freeze { .. }
                    | CgroupAction::Thaw { .. }
            )
        }
        What::Done(_) | What::Seen(_) => false,
    }
}

/// Who lets visitors in.
struct Host {
    door: Door,
    clients: Vec<Client>,
    heard: Arc<host::Users>,
    shared: Arc<Shared>,
    news: Receiver<News>,
    questions: Vec<Question>,
}

/// What is open: of which group, until when, and the news of it.
struct Question {
    id: u64,
    until: Instant,
    news: News,
}

impl Host {
    fn serve(mut self) {
        loop {
            let (knock, spoke) = self.wait();
            if self.shared.ends.load(Ordering::Relaxed) {
                return;
            }
            while let Ok(news) = self.news.try_recv() {
                self.keep(&news);
                self.spread(&news);
            }
            let is_busy = knock || !spoke.is_empty();
            for index in spoke {
                self.clients[index].hear(&self.heard);
            }
            self.clients.retain(|client| !client.is_gone());
            if knock {
                self.let_in();
            }
            self.heard.are(self.users());
            self.shared
                .clients
                .store(self.clients.len(), Ordering::Relaxed);
            if is_busy {
                // Whoever talks without end gets no more of us.
                thread::sleep(PAUSE);
            }
        }
    }

    /// Questions are kept for who comes later, until they are settled or their time is over.
    fn keep(&mut self, news: &News) {
        let now = Instant::now();
        let What::Done(Step {
            action: Action::Group(cgroup_action),
            ..
        }) = news.what
        else {
            return;
        };
        if matches!(
            cgroup_action,
            CgroupAction::Freeze { .. } | CgroupAction::Thaw { .. }
        ) {
            self.questions
                .retain(|open| open.id != cgroup_action.id() && open.until > now);
        }
        if let CgroupAction::Freeze { id, wait, .. } = cgroup_action {
            self.questions.push(Question {
                id,
                until: now + wait.get(),
                news: *news,
            });
        }
    }

    /// Sleeps until something happens: whether someone knocks, and which visitors speak.
    fn wait(&self) -> (bool, Vec<usize>) {
        let mut fds = vec![
            PollFd::new(&self.shared.bell, PollFlags::IN),
            PollFd::new(&self.door, PollFlags::IN),
        ];
        // That one has gone is told of any.
        let news = |client: &Client| {
            if client.answers() {
                PollFlags::IN
            } else {
                PollFlags::empty()
            }
        };
        fds.extend(
            self.clients
                .iter()
                .map(|client| PollFd::new(&client.socket, news(client))),
        );
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            // No memory for a poll: the next may have it.
            Err(_) => thread::sleep(REST),
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let spoke = fds[2..]
            .iter()
            .enumerate()
            .filter(|(_, fd)| ready(fd))
            .map(|(index, _)| index)
            .collect();
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8]);
        (ready(&fds[1]), spoke)
    }

    fn let_in(&mut self) {
        let socket = match self.door.accept() {
            Ok(socket) => socket,
            Err(error) => {
                // Who knocks still does, and there is no descriptor for them.
                if error.kind() != std::io::ErrorKind::WouldBlock {
                    thread::sleep(REST);
                }
                return;
            }
        };
        // Whom the kernel does not name is nobody.
        let Some(mut client) = Client::of(socket) else {
            return;
        };
        let of_one = self
            .clients
            .iter()
            .filter(|other| other.user == client.user)
            .count();
        if self.clients.len() < MOST && of_one < MOST_OF_ONE {
            // Who only listens has said so by now.
            client.hear(&self.heard);
            let user = client.user;
            self.questions
                .iter()
                .filter_map(|open| open.for_user(user))
                .for_each(|ask| client.tell(&ask));
            self.clients.push(client);
        }
    }

    /// Each user who can be asked, once.
    fn users(&self) -> Vec<u32> {
        let identity = self.clients.iter().filter(|client| client.answers());
        let mut users: Vec<u32> = identity.map(|client| client.user).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    fn spread(&mut self, news: &News) {
        for client in &mut self.clients {
            if let Some(told) = told(news, client.user) {
                client.tell(&told);
            }
        }
    }
}

impl Question {
    /// As it stands now, if it is still open and concerns this user.
    fn for_user(&self, user: u32) -> Option<Tell> {
        let left = self.until.checked_duration_since(Instant::now())?;
        match told(&self.news, user)? {
            Tell::Ask {
                id,
                unit,
                used,
                why,
                ..
            } => Some(Tell::Ask {
                id,
                unit,
                used,
                wait: Span::new(left),
                why,
            }),
            _ => None,
        }
    }
}

/// What this user hears of it. Root hears of everyone's.
fn told(news: &News, user: u32) -> Option<Tell> {
    let is_theirs = user == 0 || news.user == Some(user);
    match news.what {
        What::Seen(Notice::Distress { headroom, left, .. }) => Some(Tell::Warn { headroom, left }),
        What::Done(Step {
            action: Action::Kill { size, .. },
            ..
        }) if !is_theirs => Some(Tell::EndedElsewhere { size }),
        What::Done(Step {
            action:
                Action::Kill {
                    identity,
                    name,
                    unit,
                    signal,
                    size,
                    ..
                },
            why,
        }) => Some(Tell::Ended {
            name: name.to_string(),
            pid: identity.pid,
            unit: unit.to_string(),
            signal: signal.name().to_owned(),
            size,
            why: why.to_string(),
        }),
        What::Done(Step {
            action: Action::Group(cgroup_action),
            why,
        }) if is_theirs => match cgroup_action {
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
        },
        What::Done(_) | What::Seen(_) => None,
    }
}

#[cfg(test)]
mod tests;
