//! One visitor: known by the kernel's word, heard and told in lines.

use pressure::users::{Reply, Tell};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;

/// No line of a visitor's is longer.
const LINE: usize = 256;

/// A visitor on a socket that does not block.
pub(super) struct Client {
    pub(super) socket: OwnedFd,
    pub(super) user: u32,
    said: Vec<u8>,
    /// What it was asked, and has not heard the end of.
    asked: Vec<u64>,
    /// It has closed its sending side: it hears, and answers nothing.
    mute: bool,
    gone: bool,
}

impl Client {
    /// `None` if the kernel does not say who it is.
    pub(super) fn of(socket: OwnedFd) -> Option<Self> {
        let user = socket_peercred(&socket).ok()?.uid.as_raw();
        Some(Self {
            socket,
            user,
            said: Vec::with_capacity(LINE),
            asked: Vec::new(),
            mute: false,
            gone: false,
        })
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether it may be asked.
    pub(super) fn answers(&self) -> bool {
        !self.mute
    }

    /// Sends a line. Who does not read what came before is shown out.
    pub(super) fn tell(&mut self, tell: &Tell) {
        match tell {
            Tell::Ask { id, .. } if !self.asked.contains(id) => self.asked.push(*id),
            Tell::Settled { id } => self.asked.retain(|asked| asked != id),
            _ => {}
        }
        let Ok(mut line) = serde_json::to_vec(tell) else {
            return;
        };
        line.push(b'\n');
        let sent = send(
            &self.socket,
            &line,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        );
        self.gone |= sent != Ok(line.len());
    }

    /// Takes what it has said, and passes answers on to what it was asked. Who says anything else is shown out.
    pub(super) fn hear(&mut self, heard: &host::Users) {
        let mut buffer = [0; LINE];
        match recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
            // Of one that is mute nothing is heard but that it went.
            Ok((0, _)) if self.mute => self.gone = true,
            Ok((0, _)) => self.mute = true,
            Ok((length, _)) => self.take(&buffer[..length], heard),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.gone = true,
        }
    }

    fn take(&mut self, bytes: &[u8], heard: &host::Users) {
        self.said.extend_from_slice(bytes);
        while let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            match serde_json::from_slice::<Reply>(&line) {
                Ok(Reply { id, answer }) if self.asked.contains(&id) => {
                    heard.answer(id, self.user, answer);
                }
                Ok(_) | Err(_) => self.gone = true,
            }
        }
        self.gone |= self.said.len() > LINE;
    }
}
