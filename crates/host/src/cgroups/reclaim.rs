//! Takes memory of a control group by `memory.reclaim`, which sets no limit.

use super::usage::amount;
use crate::writes::MEMORY_RECLAIM;
use rustix::fd::AsFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use units::Bytes;

/// The file that takes.
pub const RECLAIM: &str = "memory.reclaim";

/// Takes so much, or less where there is less. Returns what was got; `None` if the group is gone. May wait in the kernel for
/// seconds.
pub fn take(directory: impl AsFd, asked: Bytes) -> io::Result<Option<Bytes>> {
    let Some(before) = amount(&directory, "memory.current") else {
        return Ok(None);
    };
    let written = MEMORY_RECLAIM
        .open_at(&directory, RECLAIM, OFlags::empty())
        .and_then(|open| File::from(open).write_all(asked.get().to_string().as_bytes()));
    let Some(after) = amount(&directory, "memory.current") else {
        return Ok(None);
    };
    let less = before.less(after);
    match written {
        // It takes whole large folios, and so more than was asked for. What comes meanwhile hides a part of that.
        Ok(()) => Ok(Some(less.max(asked))),
        Err(error) => match Errno::from_io_error(&error) {
            // Less was found than was asked for, or a signal came.
            Some(Errno::AGAIN | Errno::INTR) => Ok(Some(less)),
            Some(Errno::NODEV | Errno::NOENT) => Ok(None),
            _ => Err(error),
        },
    }
}
