//! One client of the notice server. The kernel names its user; lines of JSON go both ways.

use pressure::users::{Reply, Tell};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Longest line that a client may send, in bytes. An answer has about 40.
const MAX_LINE: usize = 256;

/// A client, on a socket that does not block.
pub(super) struct Client {
    pub(super) socket: OwnedFd,
    pub(super) user: u32,
    /// The user to whom that one belongs: all subordinate IDs of a user are that user's.
    pub(super) account: u32,
    /// Received, without a line's end yet.
    received: Vec<u8>,
    /// Inode numbers of the units that it was asked about and that are not settled.
    questions: Vec<u64>,
    /// It has closed its sending side: it is told everything, and cannot answer.
    only_listens: bool,
    gone: bool,
}

impl Client {
    /// `None` if the kernel does not name the user: such a client could not be told anything. `root` is the machine's, with
    /// its `/etc/subuid`.
    pub(super) fn of(socket: OwnedFd, root: &Path) -> Option<Self> {
        let user = socket_peercred(&socket).ok()?.uid.as_raw();
        Some(Self {
            socket,
            user,
            account: host::owner(root, user),
            received: Vec::with_capacity(MAX_LINE),
            questions: Vec::new(),
            only_listens: false,
            gone: false,
        })
    }

    /// Returns true if it has disconnected, or is to be disconnected.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(super) fn can_answer(&self) -> bool {
        !self.only_listens
    }

    /// Sends a message as one line. A client that has not read the messages before is disconnected: nothing waits for it.
    pub(super) fn tell(&mut self, message: &Tell) {
        match message {
            Tell::Ask { id, .. } if !self.questions.contains(id) => self.questions.push(*id),
            Tell::Settled { id } => self.questions.retain(|open| open != id),
            _ => {}
        }
        let Ok(mut line) = serde_json::to_vec(message) else {
            return;
        };
        line.push(b'\n');
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if send(&self.socket, &line, flags) != Ok(line.len()) {
            self.gone = true;
        }
    }

    /// Reads what it has sent and passes its answers to `users`. Anything but an answer to an open question disconnects it.
    pub(super) fn receive(&mut self, users: &host::Users) {
        let mut buffer = [0; MAX_LINE];
        match recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
            // The first end of file closes its sending side. It is reported again only once the client is gone.
            Ok((0, _)) if self.only_listens => self.gone = true,
            Ok((0, _)) => self.only_listens = true,
            Ok((length, _)) => self.take_lines(&buffer[..length], users),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.gone = true,
        }
    }

    fn take_lines(&mut self, bytes: &[u8], users: &host::Users) {
        self.received.extend_from_slice(bytes);
        let is_end = |byte: &u8| *byte == b'\n';
        while let Some(end) = self.received.iter().position(is_end) {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            match serde_json::from_slice::<Reply>(&line) {
                Ok(Reply { id, answer }) if self.questions.contains(&id) => {
                    users.answer(id, self.user, answer);
                }
                Ok(_) | Err(_) => self.gone = true,
            }
        }
        if self.received.len() > MAX_LINE {
            self.gone = true;
        }
    }
}
