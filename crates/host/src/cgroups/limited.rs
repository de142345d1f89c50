//! A cgroup, and the one limit of it that we set.

use super::directory::Directory;
use crate::error::Error;
use crate::undo::limit::{self, Kind, Limit};
use crate::undo::{Change, Held, Restored, UndoLog};
use std::io;
use std::path::Path;

/// A cgroup's directory, and its limit.
#[derive(Debug)]
pub(super) struct Limited {
    pub(super) directory: Directory,
    limit: Limit,
}

/// What became of a limit that was put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// It was not ours.
    Nothing,
    /// It is as found.
    Done(Change),
    /// Another program has set it since.
    Theirs(Change),
}

impl Limited {
    /// `None` if the group is gone, or has no such limit.
    pub(super) fn open(directory: Directory, kind: Kind) -> Option<Self> {
        limit::read(&directory.file, kind).ok().flatten()?;
        let limit = Limit {
            directory: directory.path.clone(),
            inode: directory.inode,
            kind,
        };
        Some(Self { directory, limit })
    }

    /// What it was before us; `None` if the group is gone.
    pub(super) fn found(&self, log: &UndoLog) -> Option<u64> {
        log.limit(&self.limit)
            .map(|held| held.found)
            .or_else(|| self.value())
    }

    /// What it is now; `None` if it cannot be read.
    pub(super) fn value(&self) -> Option<u64> {
        self.now().ok().flatten()
    }

    /// What it is now; `None` if the group is gone.
    pub(super) fn now(&self) -> io::Result<Option<u64>> {
        limit::read(&self.directory.file, self.limit.kind)
    }

    /// What the log holds of it. A limit that another program has set since is forgotten. One that is as found again was
    /// reset by the service manager, and stays held.
    pub(super) fn held(&self, now: u64, log: &mut UndoLog) -> Option<Held> {
        let held = log.limit(&self.limit)?;
        if now == held.ours || now == held.found {
            return Some(held);
        }
        self.forget(log);
        None
    }

    /// Whether the log still has it.
    pub(super) fn is_held(&self, log: &UndoLog) -> bool {
        log.limit(&self.limit).is_some()
    }

    /// Sets it, entered in the log first.
    pub(super) fn set(&self, to: u64, log: &mut UndoLog) -> Result<(), Error> {
        let now = self.now().map_err(|error| self.error(error))?;
        let Some(now) = now else {
            return Err(self.error(io::Error::other("the cgroup is gone")));
        };
        let before = log.limit(&self.limit);
        if before.is_some_and(|held| now != held.ours && now != held.found) {
            self.forget(log);
            return Err(self.error(io::Error::other("another program has set it since")));
        }
        let found = before.map_or(now, |held| held.found);
        if to == found {
            return self.put_back(log).map(drop);
        }
        let last = before.map_or(now, |held| held.ours);
        log.set_limit(
            &self.limit,
            Some(Held {
                found,
                ours: to,
                before: last,
            }),
        )?;
        limit::write(&self.directory.file, self.limit.kind, to).map_err(|error| {
            // The write did not happen, so the log goes back to what it said.
            let _ = log.set_limit(&self.limit, before);
            self.error(io::Error::other(format!(
                "{} cannot be written: {error}",
                limit::shown(to)
            )))
        })
    }

    /// Puts it back if it is still ours. After an error it is held on to.
    pub(super) fn put_back(&self, log: &mut UndoLog) -> Result<Back, Error> {
        let Some(held) = log.limit(&self.limit) else {
            return Ok(Back::Nothing);
        };
        let name = self.limit.name();
        let stays =
            |error: io::Error| self.error(io::Error::other(format!("cannot be put back: {error}")));
        let back = match self.now().map_err(stays)? {
            Some(now) if now == held.found => Back::Nothing,
            Some(now) if now == held.ours => {
                let write = limit::write(&self.directory.file, self.limit.kind, held.found);
                match write {
                    Err(error) if !limit::is_gone(&error) => return Err(stays(error)),
                    _ => Back::Done(Change::back(name, now, held.found)),
                }
            }
            Some(now) => Back::Theirs(Change::by_another(name, held, now)),
            None => Back::Nothing,
        };
        self.forget(log);
        Ok(back)
    }

    /// Takes it out of the log: the cgroup is gone, or the limit is another program's.
    pub(super) fn forget(&self, log: &mut UndoLog) {
        if log.limit(&self.limit).is_some() {
            // The next entry writes the whole log anew, and restoring tells a group that is gone.
            let _ = log.set_limit(&self.limit, None);
        }
    }

    fn error(&self, error: io::Error) -> Error {
        Error::unreadable(Path::new(&self.limit.name()), error)
    }
}

/// Adds what became of one limit to what is reported.
pub(super) fn tell(back: Result<Back, Error>, restored: &mut Restored) {
    match back {
        Ok(Back::Done(change)) => restored.back.push(change),
        Ok(Back::Theirs(change)) => restored.left_alone.push(change),
        Ok(Back::Nothing) => {}
        Err(error) => restored.notes.push(format!("not put back: {error}")),
    }
}
