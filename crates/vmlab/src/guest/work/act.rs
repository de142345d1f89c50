//! A program of a play: it grows, touches, streams and forks as its role says, until it is ended.

#![allow(unsafe_code)]

use super::Dice;
use super::memory::{PAGE, give_back, touch_page};
use crate::clock::now;
use crate::play;
use anyhow::{Context, Result};
use memmap2::{Advice, Mmap, MmapMut, MmapOptions};
use rustix::process::{WaitOptions, wait};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use warmset_vmlab::decisions::play::{Act, Forks, Memory, OnTerm, Phase, Role};

/// Time between two looks at the clock. A guard samples ten times a second at most, so steps of growth are smaller than what
/// it can tell apart.
const STEP: Duration = Duration::from_millis(40);
/// The same for a program that has nothing to do any more: hundreds of copies must not take the one CPU.
const IDLE_STEP: Duration = Duration::from_secs(1);
/// A step that took longer than this is not made up for: a machine that stands still must not see twice the growth after it.
const LONGEST_STEP_MS: f64 = 250.0;
/// Address space for memory that grows: more than memory and swap of any machine of a play.
const ROOM: usize = 4 << 30;
/// Address space whose page tables fill any machine of a play: a table of 4 KiB maps 2 MiB.
const SPARSE_ROOM: usize = 1 << 40;
/// Address space that one page table maps.
const TABLE: usize = 2 << 20;
/// How much of the data disk is read or written at once.
const BLOCK: usize = 256 << 10;

/// Set by SIGTERM.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// Plays the role that the environment names.
pub(crate) fn act() -> Result<()> {
    let path = PathBuf::from(std::env::var_os(play::ACT).context("no role is named")?);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let role: Role = serde_json::from_slice(&text)?;
    let name: Vec<u8> = role.name.bytes().take(15).collect();
    rustix::thread::set_name(&std::ffi::CString::new(name)?)?;
    handle_term(role.act.on_term);
    let number = path.file_stem().unwrap_or_default().to_owned();
    let mut actor = Actor::new(&role)?;
    actor.take_what_it_has()?;
    let _ = File::create(Path::new(play::READY).join(&number));
    if role.starts_ms.is_none() {
        wait_for_the_beginning();
    }
    actor.play(&Path::new(play::REACHED).join(&number))
}

fn wait_for_the_beginning() {
    while !Path::new(play::BEGUN).exists() {
        thread::sleep(STEP);
    }
}

extern "C" fn on_term(_signal: libc::c_int) {
    ASKED_TO_END.store(true, Ordering::Relaxed);
}

fn handle_term(on: OnTerm) {
    let handler = match on {
        // The kernel ends it at once.
        OnTerm::Exits(0) => return,
        OnTerm::Exits(_) => on_term as extern "C" fn(libc::c_int) as libc::sighandler_t,
        OnTerm::Ignores => libc::SIG_IGN,
    };
    // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
    unsafe {
        libc::signal(libc::SIGTERM, handler);
    }
}

/// What grows.
enum Growth {
    /// Memory that is mapped: anonymous or shared.
    Mapped(MmapMut),
    /// A file that is written to.
    Written(File),
    /// Addresses that are read, one in each table.
    Sparse(Mmap),
    /// A file that is mapped and read.
    Read(Mmap),
}

/// A program and what it holds.
struct Actor<'r> {
    role: &'r Role,
    act: &'r Act,
    own: MmapMut,
    growth: Option<Growth>,
    /// Bytes of `own` that were touched.
    has: u64,
    /// Bytes of the growth that were touched.
    grown: u64,
    dice: Dice,
    data: Option<File>,
    /// Where the next read or write of the data disk is.
    at: u64,
    /// Copies of itself that are there.
    copies: u32,
    is_copy: bool,
    /// Parts of copies, of touches and of blocks that are due.
    copies_due: f64,
    touches_due: f64,
    streams_due: f64,
    writes_due: f64,
    /// Kept mapped.
    _code: Option<Mmap>,
}

impl<'r> Actor<'r> {
    fn new(role: &'r Role) -> Result<Self> {
        let act = &role.act;
        let needs_data = act.streams > 0 || act.writes > 0;
        let data = if needs_data {
            Some(open_data(act.writes > 0)?)
        } else {
            None
        };
        Ok(Self {
            role,
            act,
            own: reserve(ROOM)?,
            growth: growth(&act.memory)?,
            has: 0,
            grown: 0,
            dice: Dice::seeded(u64::from(std::process::id())),
            data,
            at: 0,
            copies: 0,
            is_copy: false,
            copies_due: 0.0,
            touches_due: 0.0,
            streams_due: 0.0,
            writes_due: 0.0,
            _code: if act.foreign_code {
                Some(foreign_code()?)
            } else {
                None
            },
        })
    }

    fn take_what_it_has(&mut self) -> Result<()> {
        self.own_to(self.act.has);
        if self.act.paged_out {
            let length = (self.act.has as usize).max(PAGE);
            // SAFETY: the range is within this mapping, and the advice changes nothing of what is in it.
            unsafe {
                let start = self.own.as_mut_ptr().cast();
                rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxPageOut)?;
            }
        }
        Ok(())
    }

    /// Touches anonymous memory up to this size.
    fn own_to(&mut self, size: u64) {
        let most = self.own.len() as u64;
        let size = size.min(most);
        while self.has < size {
            let page = self.has as usize / PAGE;
            fill_page(&mut self.own, page, self.act.noise, &mut self.dice);
            self.has += PAGE as u64;
        }
    }

    fn play(&mut self, reached: &Path) -> Result<()> {
        let mut phases = self.act.phases.iter().copied();
        let mut phase = phases.next();
        let mut last = now();
        let mut phase_began = last;
        let mut grown_due = 0.0;
        let mut is_noted = false;
        let mut asked_at = None;
        loop {
            let is_idle = phase.is_none() && self.only_holds();
            thread::sleep(if is_idle { IDLE_STEP } else { STEP });
            let time = now();
            let passed = (time - last).min(LONGEST_STEP_MS) / 1e3;
            last = time;
            if let (OnTerm::Exits(after), true) =
                (self.act.on_term, ASKED_TO_END.load(Ordering::Relaxed))
            {
                let since = *asked_at.get_or_insert(time);
                if time - since >= after as f64 {
                    return Ok(());
                }
            }
            let is_over = match phase {
                None => false,
                Some(Phase::Grow(rate, to)) => {
                    grown_due += rate as f64 * passed;
                    let size = self.size();
                    let wanted = (size + grown_due as u64).min(to.unwrap_or(u64::MAX));
                    self.grow_to(wanted);
                    let taken = self.size().saturating_sub(size);
                    grown_due = (grown_due - taken as f64).max(0.0);
                    to.is_some_and(|to| self.size() >= to)
                }
                Some(Phase::Wait(wait)) => time - phase_began >= wait as f64,
                Some(Phase::Shrink(to)) => {
                    self.shrink_to(to)?;
                    true
                }
                Some(Phase::Exit) => return Ok(()),
                Some(Phase::Repeat) => {
                    phases = self.act.phases.iter().copied();
                    true
                }
            };
            if is_over {
                phase = phases.next();
                phase_began = time;
                grown_due = 0.0;
            }
            if !is_noted && self.act.notes.is_some_and(|size| self.size() >= size) {
                is_noted = true;
                // A look a moment later would say when it was seen, not when it was.
                let _ = fs::write(reached, format!("{time:.0}"));
            }
            self.touch(passed);
            self.read_and_write(passed);
            let forks = self.act.forks;
            if forks.is_some_and(|forks| self.copy_itself(forks, passed)) {
                self.become_a_copy()?;
                phases = self.act.phases.iter().copied();
                phase = phases.next();
                phase_began = now();
                last = phase_began;
                grown_due = 0.0;
                is_noted = true;
            }
        }
    }

    /// Whether it does nothing but hold memory once its phases are over.
    fn only_holds(&self) -> bool {
        let act = self.act;
        let moves = act.touches > 0 || act.streams > 0 || act.writes > 0;
        let forks = act.forks.is_some_and(|forks| forks.all || !self.is_copy);
        // One that ends a while after SIGTERM has to see it.
        let watches = matches!(act.on_term, OnTerm::Exits(1..));
        !moves && !forks && !watches
    }

    /// Bytes of what grows.
    fn size(&self) -> u64 {
        if self.growth.is_some() {
            self.grown
        } else {
            self.has
        }
    }

    fn grow_to(&mut self, size: u64) {
        let noise = self.act.noise;
        let Some(growth) = &mut self.growth else {
            self.own_to(size);
            return;
        };
        match growth {
            Growth::Mapped(memory) => {
                while self.grown + (PAGE as u64) <= size {
                    let page = self.grown as usize / PAGE;
                    fill_page(memory, page, noise, &mut self.dice);
                    self.grown += PAGE as u64;
                }
            }
            Growth::Written(file) => {
                const PIECE: u64 = 64 << 10;
                let piece = vec![1; PIECE as usize];
                while self.grown + PIECE <= size {
                    // A tmpfs that is full stays so: it tries again.
                    if file.write_all_at(&piece, self.grown).is_err() {
                        break;
                    }
                    self.grown += PIECE;
                }
            }
            Growth::Sparse(addresses) => {
                while self.grown + (PAGE as u64) <= size {
                    let table = self.grown as usize / PAGE;
                    read_byte(addresses, table * TABLE);
                    self.grown += PAGE as u64;
                }
            }
            Growth::Read(file) => {
                while self.grown + (PAGE as u64) <= size {
                    read_byte(file, self.grown as usize);
                    self.grown += PAGE as u64;
                }
            }
        }
    }

    fn shrink_to(&mut self, size: u64) -> Result<()> {
        match &mut self.growth {
            None => {
                give_back(&mut self.own, size, self.has)?;
                self.has = self.has.min(size.next_multiple_of(PAGE as u64));
            }
            Some(Growth::Mapped(memory)) => {
                give_back(memory, size, self.grown)?;
                self.grown = self.grown.min(size.next_multiple_of(PAGE as u64));
            }
            Some(Growth::Written(file)) => {
                file.set_len(size)?;
                self.grown = self.grown.min(size);
            }
            Some(Growth::Sparse(_) | Growth::Read(_)) => {
                anyhow::bail!("{}: this memory cannot shrink", self.role.name);
            }
        }
        Ok(())
    }

    /// Touches pages of what it holds, at random.
    fn touch(&mut self, passed: f64) {
        if self.act.touches == 0 {
            return;
        }
        self.touches_due += self.act.touches as f64 * passed / PAGE as f64;
        let pages = self.touches_due as u64;
        self.touches_due -= pages as f64;
        let of = self.act.uses.unwrap_or(u64::MAX).min(self.size());
        let of = of / PAGE as u64;
        if of == 0 {
            return;
        }
        for _ in 0..pages {
            let page = self.dice.below(of) as usize;
            match &mut self.growth {
                None => touch_page(&mut self.own, page),
                Some(Growth::Mapped(memory)) => touch_page(memory, page),
                Some(Growth::Read(file)) => read_byte(file, page * PAGE),
                Some(Growth::Sparse(_) | Growth::Written(_)) => {}
            }
        }
    }

    /// Reads or writes the data disk from end to end, again and again.
    fn read_and_write(&mut self, passed: f64) {
        let Some(data) = &self.data else {
            return;
        };
        let mut buffer = vec![1; BLOCK];
        self.streams_due += self.act.streams as f64 * passed / BLOCK as f64;
        self.writes_due += self.act.writes as f64 * passed / BLOCK as f64;
        while self.streams_due >= 1.0 || self.writes_due >= 1.0 {
            let done = if self.writes_due >= 1.0 {
                self.writes_due -= 1.0;
                data.write_at(&buffer, self.at)
            } else {
                self.streams_due -= 1.0;
                data.read_at(&mut buffer, self.at)
            };
            self.at += BLOCK as u64;
            // The end of the disk.
            if !matches!(done, Ok(1..)) {
                self.at = 0;
            }
        }
    }

    /// Forks as many copies as are due. Returns true in a copy.
    fn copy_itself(&mut self, forks: Forks, passed: f64) -> bool {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {
            self.copies = self.copies.saturating_sub(1);
        }
        if self.is_copy && !forks.all {
            return false;
        }
        self.copies_due += forks.rate * passed;
        while self.copies_due >= 1.0 && self.copies < forks.most {
            self.copies_due -= 1.0;
            // SAFETY: this process has one thread, so a copy of it may do all that it may.
            match unsafe { libc::fork() } {
                0 => return true,
                // Without memory there is no copy: it tries again.
                -1 => {}
                _ => self.copies += 1,
            }
        }
        self.copies_due = self.copies_due.min(forks.rate.max(1.0));
        false
    }

    /// In a copy: holds memory of its own, not that of its parent.
    fn become_a_copy(&mut self) -> Result<()> {
        self.is_copy = true;
        self.copies = 0;
        self.copies_due = 0.0;
        self.dice = Dice::seeded(u64::from(std::process::id()));
        give_back(&mut self.own, 0, self.has)?;
        self.has = 0;
        self.growth = growth(&self.act.memory)?;
        self.grown = 0;
        self.take_what_it_has()
    }
}

/// Address space that counts for nothing until it is touched, in small pages.
fn reserve(length: usize) -> Result<MmapMut> {
    let memory = MmapOptions::new()
        .len(length)
        .no_reserve_swap()
        .map_anon()?;
    // A kernel without huge pages has no such advice, and needs none.
    let _ = memory.advise(Advice::NoHugePage);
    Ok(memory)
}

fn growth(memory: &Memory) -> Result<Option<Growth>> {
    Ok(match memory {
        Memory::Anon => None,
        Memory::Shared => {
            let zero = OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/zero")?;
            // SAFETY: a shared mapping of /dev/zero is memory of this process's own, which no file changes.
            let mapped = unsafe {
                MmapOptions::new()
                    .len(ROOM)
                    .no_reserve_swap()
                    .map_mut(&zero)?
            };
            Some(Growth::Mapped(mapped))
        }
        Memory::Memfd => {
            let file = rustix::fs::memfd_create("play", rustix::fs::MemfdFlags::CLOEXEC)?;
            Some(Growth::Written(file.into()))
        }
        Memory::Tmpfs(mount) => {
            let path = format!("{mount}/play-{}", std::process::id());
            let file =
                File::create(&path).with_context(|| format!("cannot make {path} on a tmpfs"))?;
            Some(Growth::Written(file))
        }
        Memory::PageTables => {
            let addresses = MmapOptions::new()
                .len(SPARSE_ROOM)
                .no_reserve_swap()
                .map_anon()?;
            let _ = addresses.advise(Advice::NoHugePage);
            Some(Growth::Sparse(addresses.make_read_only()?))
        }
        Memory::File => {
            let data = open_data(false)?;
            let length = warmset_vmlab::decisions::staging::DATA.get() as usize;
            // SAFETY: nothing shrinks the disk.
            let mapped = unsafe { MmapOptions::new().len(length).map(&data)? };
            Some(Growth::Read(mapped))
        }
    })
}

fn open_data(is_written: bool) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(is_written)
        .open(play::DATA)
        .with_context(|| format!("cannot open the data disk, {}", play::DATA))
}

/// Maps a file of a user's as code, as `LD_PRELOAD` does.
fn foreign_code() -> Result<Mmap> {
    let file = File::open(play::FOREIGN)?;
    // SAFETY: nothing writes to this file, and nothing runs what is in it.
    Ok(unsafe { MmapOptions::new().map_exec(&file)? })
}

fn fill_page(memory: &mut MmapMut, page: usize, noise: u32, dice: &mut Dice) {
    if noise == 0 {
        touch_page(memory, page);
        return;
    }
    let start = page * PAGE;
    let end = start + (noise as usize).min(PAGE);
    if let Some(bytes) = memory.get_mut(start..end) {
        dice.fill(bytes);
    }
}

/// Reads a byte, which faults the first time.
fn read_byte(memory: &Mmap, at: usize) {
    std::hint::black_box(memory.get(at).copied());
}
