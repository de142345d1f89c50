//! Waves of large messages: each is one block of memory of order 3, 4 or 5 in the kernel until somebody reads it.
//!
//! A multicast of netlink, as udev has them, is kept in one piece (`netlink_alloc_large_skb`, net/netlink/af_netlink.c).
//! Drivers of networks, of video, and of old devices ask for such blocks, too.

use super::{Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::net::netlink::{SocketAddrNetlink, USERSOCK};
use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto, socket_with,
};
use std::os::fd::OwnedFd;

/// Names of the operations, and the bytes of a message: with the kernel's part of it, more than half of such a block.
const SIZES: [(&str, usize); 3] = [
    ("order3", 20 << 10),
    ("order4", 40 << 10),
    ("order5", 80 << 10),
];
/// The group of receivers.
const GROUP: u32 = 1;
/// No wave is larger.
const BUFFER: usize = 1 << 30;
/// Time between two waves, and for which their messages lie unread.
const PERIOD_MS: f64 = 2000.0;
const UNREAD_MS: f64 = 500.0;

/// Sends so many of each size, lets them lie for a while, reads them all, again and again.
pub(super) fn messages(words: &Words<'_>) -> Result<()> {
    let count: u32 = words.number(0)?;
    let out = Out::new();
    let receiver = socket()?;
    let to = SocketAddrNetlink::new(std::process::id(), GROUP);
    bind(&receiver, &to).context("cannot join the group")?;
    set_socket_recv_buffer_size_force(&receiver, BUFFER)?;
    let sender = socket()?;
    set_socket_send_buffer_size_force(&sender, BUFFER)?;
    let content = vec![1; SIZES[2].1];
    out.every(PERIOD_MS, |_| {
        for (name, size) in SIZES {
            for _ in 0..count {
                send(&out, &sender, to, name, &content[..size])?;
            }
        }
        sleep_until(now() + UNREAD_MS, out.window.until);
        read_all(&receiver)
    })
}

fn socket() -> Result<OwnedFd> {
    let kind = SocketType::RAW;
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::NETLINK, kind, flags, Some(USERSOCK)).context("no netlink")
}

/// Sends one message, timed. One that finds no memory is counted.
fn send(
    out: &Out,
    sender: &OwnedFd,
    to: SocketAddrNetlink,
    name: &str,
    message: &[u8],
) -> Result<()> {
    let began = now();
    match sendto(sender, message, SendFlags::empty(), &to) {
        Ok(_) => {}
        Err(Errno::NOBUFS | Errno::NOMEM) => out.sum("messages_refused", 1.0),
        Err(error) => return Err(error).context("cannot send"),
    }
    out.op(name, began);
    out.sum("messages", 1.0);
    Ok(())
}

fn read_all(receiver: &OwnedFd) -> Result<()> {
    // A message that is longer than this is cut: only its memory matters.
    let mut start = [0; 64];
    loop {
        match recv(receiver, &mut start, RecvFlags::DONTWAIT) {
            Ok(_) | Err(Errno::NOBUFS) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error).context("cannot receive"),
        }
    }
}
