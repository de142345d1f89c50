//! The undo log: settings of the kernel that the guard changed, written down before it changes them.
//!
//! One small file in the run directory holds, for each knob and each limit of a control group, the value that was found,
//! the one that was last written, and the one before that. It is replaced whole and synced before each write, so at any
//! moment, also after `kill -9`, it says how to put everything back.
//!
//! ```text
//! warmset-undo 1 <boot id>
//! proc/sys/vm/watermark_scale_factor<TAB>10<TAB>240<TAB>160
//! ```
//!
//! A value is put back only if it is still one of ours. Another program may have saved ours, and set it again later. So the
//! line of a knob that another program has set stays in the file, over restarts, until it is put back or the machine boots.
//!
//! A file of a later format is refused and stays as it is: what it holds is for the version that wrote it.
//!
//! A file of another boot says nothing about this kernel and is dropped. A line names a knob of [`pressure::knob::KNOBS`]
//! or a limit of a control group; every other line is told, and stays. A line that is cut short was never acted on: the
//! write comes after the file is whole.

pub(crate) mod limit;
mod restoring;

pub use restoring::{Change, Restored, restore, thaw};

use crate::error::Error;
use crate::writes;
use limit::Limit;
use pressure::knob::{COUNT, KNOBS, Knob};
use rustix::fs::{Mode, OFlags};
use std::fmt::Write as _;
use std::fs;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How every undo log begins, of whatever version.
const NAME: &str = "warmset-undo ";
const MAGIC: &str = "warmset-undo 1 ";
/// Longest log that is read: a line has about 100 bytes, and fewer than a hundred settings are held at a time.
const MOST_BYTES: u64 = 64 * 1024;

/// Lines that are kept, at most: two for each knob. A guard leaves a knob alone for good once another program has set it, so
/// it takes that many guards in one boot to have more; what was found first is kept then.
const MOST_KEPT: usize = 2 * COUNT;

/// Where things are: the machine's root, and the directory for what must not outlive a boot.
#[derive(Debug, Clone)]
pub struct Places {
    /// `/`, or a recorded machine.
    pub root: PathBuf,
    /// `/run/warmset`, or another.
    pub run: PathBuf,
}

impl Places {
    /// The machine at `root`, with its own run directory.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            run: root.join("run/warmset"),
        }
    }

    pub(crate) fn knob(&self, knob: Knob) -> PathBuf {
        self.root.join(knob.spec().path)
    }

    fn log(&self) -> PathBuf {
        self.run.join("undo")
    }

    /// The log while it is written: it becomes the log, or is removed.
    fn draft(&self) -> PathBuf {
        self.run.join("undo.new")
    }

    /// Removes the draft that a killed guard left.
    fn remove_draft(&self) {
        let _ = fs::remove_file(self.draft());
    }

    /// Replaces the undo log as a whole; on return it is on the medium.
    fn replace_log(&self, text: &str) -> Result<(), Error> {
        let path = self.log();
        let draft = self.draft();
        let write = || -> io::Result<()> {
            self.remove_draft();
            let mut file = writes::create_new(&draft, 0o600)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(&self.run)?.sync_all()
        };
        write().map_err(|error| {
            self.remove_draft();
            Error::refused(&path, format!("cannot be written: {error}"))
        })
    }
}

/// A knob that we hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// What was found.
    pub(crate) found: u64,
    /// What we wrote, or are about to write.
    pub(crate) ours: u64,
    /// What we wrote before that.
    pub(crate) before: u64,
}

/// The log of a running guard.
#[derive(Debug)]
pub(crate) struct UndoLog {
    places: Places,
    boot_id: String,
    held: [Option<Held>; COUNT],
    limits: Vec<(Limit, Held)>,
    /// Lines that stay: knobs that another program has set since, and what could not be put back.
    kept: Vec<String>,
}

impl UndoLog {
    /// Opens the run directory, which must be ours alone.
    pub(crate) fn open(places: &Places, boot_id: &str) -> Result<Self, Error> {
        own_directory(&places.run)?;
        Ok(Self {
            places: places.clone(),
            boot_id: boot_id.to_owned(),
            held: [None; COUNT],
            limits: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Restores what the file has, and keeps the lines that stay, so that the next entry does not drop them.
    pub(crate) fn restore(&mut self) -> Result<Restored, Error> {
        let restored = restore(&self.places)?;
        let text = read_log(&self.places.log())?.unwrap_or_default();
        self.kept = text.lines().skip(1).map(str::to_owned).collect();
        Ok(restored)
    }

    pub(crate) fn held(&self, knob: Knob) -> Option<Held> {
        self.held[knob as usize]
    }

    /// Enters or removes a knob; on return the file is on the medium.
    pub(crate) fn set(&mut self, knob: Knob, held: Option<Held>) -> Result<(), Error> {
        let old = std::mem::replace(&mut self.held[knob as usize], held);
        self.store().inspect_err(|_| self.held[knob as usize] = old)
    }

    /// Another program has set the knob since: it is held no longer, and its line is kept.
    pub(crate) fn yield_knob(&mut self, knob: Knob) -> Result<(), Error> {
        let Some(held) = self.held[knob as usize].take() else {
            return Ok(());
        };
        let line = line_of(knob, held);
        if !self.kept.contains(&line) && self.kept.len() < MOST_KEPT {
            self.kept.push(line);
        }
        self.store()
    }

    /// What is held of a control group's limit.
    pub(crate) fn limit(&self, limit: &Limit) -> Option<Held> {
        self.limits
            .iter()
            .find(|(known, _)| known == limit)
            .map(|(_, held)| *held)
    }

    /// Enters or removes a limit; on return the file is on the medium.
    pub(crate) fn set_limit(&mut self, limit: &Limit, held: Option<Held>) -> Result<(), Error> {
        let before = self.limits.clone();
        self.limits.retain(|(known, _)| known != limit);
        self.limits.extend(held.map(|held| (limit.clone(), held)));
        self.store().inspect_err(|_| self.limits = before)
    }

    fn store(&self) -> Result<(), Error> {
        let path = self.places.log();
        let holds_nothing = self.held.iter().all(Option::is_none) && self.limits.is_empty();
        if holds_nothing && self.kept.is_empty() {
            return remove(&path);
        }
        let mut text = format!("{MAGIC}{}\n", self.boot_id);
        // Lines are put back from the end: what is held now comes before what was found earlier.
        for line in &self.kept {
            let _ = writeln!(text, "{line}");
        }
        for (spec, held) in KNOBS.iter().zip(&self.held) {
            if let Some(held) = held {
                let _ = writeln!(text, "{}", line_of(spec.knob, *held));
            }
        }
        text.extend(self.limits.iter().map(|(limit, held)| limit.line(*held)));
        self.places.replace_log(&text)
    }
}

/// The line of a knob, without its end.
fn line_of(knob: Knob, held: Held) -> String {
    let Held {
        found,
        ours,
        before,
    } = held;
    format!("{}\t{found}\t{ours}\t{before}", knob.spec().path)
}

fn read_log(path: &Path) -> Result<Option<String>, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(Error::unreadable(path, error.into())),
    };
    let meta = file
        .metadata()
        .map_err(|error| Error::unreadable(path, error))?;
    if !meta.is_file()
        || meta.uid() != rustix::process::geteuid().as_raw()
        || meta.mode() & 0o022 != 0
    {
        return Err(Error::refused(
            path,
            "it is not a plain file that only we can write".to_owned(),
        ));
    }
    if meta.len() > MOST_BYTES {
        return Err(Error::refused(
            path,
            format!("it is longer than {MOST_BYTES} bytes"),
        ));
    }
    let mut text = String::new();
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    read.map_err(|error| Error::unreadable(path, error))?;
    Ok(Some(text))
}

/// Creates the directory, or makes sure that it is a real one, ours, and that others can neither write nor look into it.
fn own_directory(path: &Path) -> Result<(), Error> {
    let at = |error| Error::unreadable(path, error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::unreadable(parent, error))?;
    }
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(at(error.into())),
    }
    let meta = fs::symlink_metadata(path).map_err(at)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::refused(
            path,
            "it is not a directory of ours".to_owned(),
        ));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(Error::refused(path, "others can write to it".to_owned()));
    }
    // Others may pass, to the one socket that is for everyone; each file in it has a mode of its own.
    fs::set_permissions(path, fs::Permissions::from_mode(0o711)).map_err(at)
}

fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::unreadable(path, error))
        }
        _ => Ok(()),
    }
}

/// This boot's name, from `/proc/sys/kernel/random/boot_id`.
pub(crate) fn boot_id(root: &Path) -> Result<String, Error> {
    let path = root.join("proc/sys/kernel/random/boot_id");
    let text = fs::read_to_string(&path).map_err(|error| Error::unreadable(&path, error))?;
    Ok(text.trim().to_owned())
}

/// The number in a knob's file; `None` if there is no such file.
pub(crate) fn read_number(path: &Path) -> Result<Option<u64>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Error::refused(
                path,
                format!("{:?} is not a number", cut(text.trim())),
            )),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unreadable(path, error)),
    }
}

/// Writes a number to a knob's file, which must be there and must not be a link.
pub(crate) fn write_number(places: &Places, knob: Knob, number: u64) -> Result<(), Error> {
    let path = places.knob(knob);
    // A kernel file ignores truncation; in a recorded machine it keeps the old digits from staying.
    let write = || -> io::Result<()> {
        let mut file = writes::knob(knob).open(&path, OFlags::TRUNC)?;
        file.write_all(format!("{number}\n").as_bytes())
    };
    write().map_err(|error| Error::refused(&path, format!("{number} cannot be written: {error}")))
}

#[cfg(test)]
mod tests;
