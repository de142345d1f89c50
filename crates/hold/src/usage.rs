//! When a file was last opened or read: a locked page leaves no other trace of its use.
//!
//! One inotify watch for each file that is held. It is looked at now and then, never waited for, so the kernel
//! merges a thousand reads into one event.

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

/// The watches.
#[derive(Debug)]
pub(crate) struct Usage {
    inotify: OwnedFd,
}

impl Usage {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            inotify: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?,
        })
    }

    /// Watches a file. Returns the number of the watch.
    pub(crate) fn watch(&self, file: &File) -> io::Result<i32> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(inotify::add_watch(
            &self.inotify,
            path,
            WatchFlags::OPEN | WatchFlags::ACCESS,
        )?)
    }

    pub(crate) fn forget(&self, watch: i32) {
        let _ = inotify::remove_watch(&self.inotify, watch);
    }

    /// The watches of files that were used since the last call, some of them more than once.
    pub(crate) fn used(&self) -> Vec<i32> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut used = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => used.push(event.wd()),
                Err(Errno::INTR) => {}
                Err(_) => return used,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_file_that_is_read_is_used_and_one_that_is_left_alone_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| directory.path().join(name));
        paths
            .iter()
            .for_each(|path| std::fs::write(path, "x").unwrap());
        let files = paths.each_ref().map(|path| File::open(path).unwrap());
        let usage = Usage::new().unwrap();
        let watches = files.each_ref().map(|file| usage.watch(file).unwrap());
        assert_eq!(usage.used(), [0; 0]);
        let mut text = String::new();
        (&files[1]).read_to_string(&mut text).unwrap();
        assert_eq!(usage.used(), [watches[1]]);
        usage.forget(watches[1]);
        usage.used();
        File::open(&paths[0]).unwrap();
        File::open(&paths[1]).unwrap();
        assert_eq!(usage.used(), [watches[0]]);
    }
}
