//! What was not looked at, or is not told: how many of each kind, and one of them by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It could not be opened.
    Unreadable,
    /// It was there, and then no more.
    Vanished,
    /// Another file took its place while it was looked at.
    Replaced,
    /// Its residency is told only to its owner and to those that may write to it.
    NotOurs,
    /// Its residency is not told for another reason.
    Untold,
    /// Nothing of a device, a FIFO or a socket is in the page cache as of a file; nor of files that the kernel makes up.
    Special,
    /// A symbolic link below a path.
    Link,
    /// On another file system than the path.
    OtherFileSystem,
    /// On a file system that may have to wait for a server or a program.
    NotLocal,
    /// Shared memory without a path.
    WithoutPath,
    /// Deeper than a walk goes.
    TooDeep,
    /// Another name of a file that was counted.
    Again,
    /// Files with several names that may have been counted more than once.
    PerhapsAgain,
}

impl Why {
    /// For a program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Vanished => "vanished",
            Self::Replaced => "replaced",
            Self::NotOurs => "not_ours",
            Self::Untold => "untold",
            Self::Special => "special",
            Self::Link => "link",
            Self::OtherFileSystem => "other_file_system",
            Self::NotLocal => "not_local",
            Self::WithoutPath => "without_path",
            Self::TooDeep => "too_deep",
            Self::Again => "again",
            Self::PerhapsAgain => "perhaps_again",
        }
    }

    /// For a person, before a colon and a number.
    pub const fn says(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot be opened",
            Self::Vanished => "vanished while we looked",
            Self::Replaced => "replaced while we looked",
            Self::NotOurs => {
                "not told, as the kernel tells it only to root, to the owner and to those that may write to the file"
            }
            Self::Untold => "not told",
            Self::Special => "devices, FIFOs, sockets or files that the kernel makes up",
            Self::Link => "symbolic links, which are not followed",
            Self::OtherFileSystem => "on other file systems, which --cross enters",
            Self::NotLocal => {
                "on a file system that may wait for a server or a program, looked at only if its path is named"
            }
            Self::WithoutPath => "shared memory without a path",
            Self::TooDeep => "deeper than 256 directories",
            Self::Again => "other names of files that are counted",
            Self::PerhapsAgain => "files with several names, perhaps counted more than once",
        }
    }
}

/// One kind of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub example: PathBuf,
    /// What happened to that one, if there is more to say.
    pub detail: Option<String>,
}

/// All kinds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<Why, Kind>);

impl LeftOut {
    /// Each kind that there was.
    pub fn kinds(&self) -> impl Iterator<Item = (Why, &Kind)> {
        self.0.iter().map(|(why, kind)| (*why, kind))
    }

    /// How many of this kind.
    pub fn count(&self, why: Why) -> u64 {
        self.0.get(&why).map_or(0, |kind| kind.count)
    }

    pub(super) fn add(&mut self, why: Why, path: &Path, detail: Option<String>) {
        let kind = self.0.entry(why).or_insert_with(|| Kind {
            count: 0,
            example: path.to_owned(),
            detail,
        });
        kind.count += 1;
    }
}
