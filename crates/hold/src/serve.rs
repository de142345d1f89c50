//! The loop: orders in, events to the learner, files held, a report five times a second while it watches.

use crate::compactions::Compactions;
use crate::finder::{self, Found, Unfit};
use crate::holding::Holdings;
use crate::named::NamedFiles;
use crate::probe::{means_of_holder, sources};
use crate::programs::{self, Used};
use crate::ring::{Rings, Said, Sources};
use crate::tracepoint::Tracepoint;
use host::holder::wire;
use pressure::protect::{
    Act, Event, EventKind, FileId, Hot, Learner, MAX_FILES, Ranges, Warm, WarmFile,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use units::{Bytes, Micros};

/// Time between two reads of the rings: a stream of reads fills one in seconds.
const DRAIN: Duration = Duration::from_millis(200);
const REPORT: Duration = DRAIN;
/// Time between two checks of what is held while nothing is watched.
const LOOK: Duration = Duration::from_secs(2);
/// Time between two looks for programs; each reads the mappings of a few processes.
const PROGRAMS: Duration = Duration::from_secs(60);
/// Events are on all the time for this long after the watch began, or after a file that may be held last thrashed.
const EAGER: Duration = Duration::from_secs(30);
/// Files that are in use and have lost nothing: so many of them are opened.
const MOST_USED: usize = 4;
/// Refaults below which a file is not looked into: a few pages of any file come back now and then.
const LEAST_RETURNS: u64 = 8;
/// A file that was not found is looked for again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// One that cannot be held, after this.
const LOOK_LATER: Duration = Duration::from_secs(60);
/// Tasks remembered by the file they read last: about 100 KiB.
const MOST_TASKS: usize = 4096;

/// Serves the guard at the other end of `socket`, until it goes.
pub fn serve(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut server = Server::new(socket);
    let opened = sources();
    for means in means_of_holder(&opened) {
        wire::means(&means, &mut server.message);
        server.send();
    }
    // Where there are none, the means that are reported say why.
    server.points = opened.ok();
    server.compactions = Compactions::begin(Path::new("/")).ok();
    give_up_admin()?;
    have_descriptors();
    server.report();
    while server.hear()? {
        server.tick();
    }
    Ok(())
}

struct Server<'s> {
    socket: BorrowedFd<'s>,
    /// The kernel's tracepoints of the page cache, and what they come from.
    points: Option<(Vec<Tracepoint>, Rc<Sources>)>,
    /// Where the kernel has no such events, nobody counts.
    compactions: Option<Compactions>,
    rings: Option<Rings>,
    /// When that began, in seconds since 1970.
    since: i64,
    /// Until then they are on all the time.
    eager: Instant,
    paused: bool,
    learner: Learner,
    /// The task that last brought pages of a file in.
    tasks: HashMap<FileId, u32>,
    found: HashMap<FileId, Found>,
    /// Not to be looked for before.
    unfit: HashMap<FileId, Instant>,
    holdings: Holdings,
    /// What was named by hand, which has holdings of its own.
    named: NamedFiles,
    /// Pages that are held in all, at most, whatever the guard orders.
    most: u64,
    memory: Bytes,
    /// Executables of programs that must answer, as the guard names them first.
    programs: Vec<PathBuf>,
    /// What they run from, and when that was looked up.
    used: Vec<Used>,
    looked: Option<Instant>,
    begun: Instant,
    reported: Option<Instant>,
    events: u64,
    lost: u64,
    message: Vec<u8>,
}

impl<'s> Server<'s> {
    fn new(socket: BorrowedFd<'s>) -> Self {
        let memory = rustix::system::sysinfo();
        let memory = Bytes::new(memory.totalram as u64 * u64::from(memory.mem_unit));
        let page = Bytes::new(rustix::param::page_size() as u64);
        let most = memory.scaled(1, 4).to_pages(page).get();
        Self {
            socket,
            points: None,
            compactions: None,
            rings: None,
            since: i64::MAX,
            eager: Instant::now(),
            paused: false,
            learner: Learner::default(),
            tasks: HashMap::new(),
            found: HashMap::new(),
            unfit: HashMap::new(),
            holdings: Holdings::new(most),
            named: NamedFiles::new(most),
            most,
            memory,
            programs: Vec::new(),
            used: Vec::new(),
            looked: None,
            begun: Instant::now(),
            reported: None,
            events: 0,
            lost: 0,
            message: Vec::with_capacity(wire::MOST_BYTES),
        }
    }

    /// Waits for orders as long as there is nothing else to do, and carries out what came; `false` when the guard has
    /// gone.
    fn hear(&mut self) -> io::Result<bool> {
        let wait = match (
            self.holdings.is_busy(),
            &self.rings,
            self.holdings.iter().next(),
        ) {
            (true, ..) => Some(Duration::ZERO),
            (_, Some(_), _) => Some(DRAIN),
            (_, None, Some(_)) => Some(LOOK),
            (_, None, None) if !self.programs.is_empty() => Some(PROGRAMS),
            (_, None, None) => None,
        };
        let rest = self.compactions.as_ref().and_then(Compactions::rest);
        let wait = [wait, rest, self.named.rest(Instant::now())]
            .into_iter()
            .flatten()
            .min();
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let stalls = self.compactions.iter().flat_map(Compactions::descriptors);
        let mut awaited: Vec<PollFd<'_>> = std::iter::once(self.socket)
            .chain(stalls)
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        match poll(&mut awaited, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; wire::MOST_BYTES];
        loop {
            match recv(self.socket, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => return Ok(false),
                Ok((length, _)) => {
                    let message = &buffer[..length];
                    if let Some(programs) = wire::programs_in(message) {
                        self.programs = programs;
                    } else if let Some(entry) = wire::entry_in(message) {
                        self.named.take(&entry, Instant::now());
                        self.reported = None;
                    } else if let Some(act) = wire::act(message) {
                        self.carry_out(&act);
                        self.reported = None;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn carry_out(&mut self, act: &Act) {
        match act {
            Act::Watch => self.watch(),
            Act::Rest => {
                self.rings = None;
                self.learner = Learner::default();
                self.tasks.clear();
                self.found.clear();
            }
            Act::Hold { file, .. } if self.named.holds(*file) => {}
            Act::Hold { file, ranges, .. } => {
                let task = self.tasks.get(file).copied();
                let found = self.found.remove(file).or_else(|| self.of_a_program(*file));
                let found = found.or_else(|| finder::find(*file, task, self.since).ok());
                if let Err(error) = self.holdings.hold(*file, found, *ranges) {
                    self.report_error(&format!("{file}: not held: {error}"));
                }
            }
            Act::Release { file } => self.holdings.release(*file),
            Act::HoldNamed { amount } => {
                let pages = self.named.allow(*amount);
                self.holdings.limit(self.most.saturating_sub(pages));
            }
        }
    }

    fn watch(&mut self) {
        let Some((_, sources)) = &self.points else {
            return;
        };
        if self.rings.is_some() {
            return;
        }
        match Rings::open(sources) {
            Ok(rings) => {
                self.since = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
                self.rings = Some(rings);
                self.eager = Instant::now() + EAGER;
                self.paused = false;
            }
            Err(error) => {
                self.points = None;
                self.report_error(&format!(
                    "files that thrash cannot be learned: no events: {error}"
                ));
            }
        }
    }

    /// What is due: the rings, a piece of a file, the report.
    fn tick(&mut self) {
        self.drain();
        if self.compactions.as_mut().is_some_and(Compactions::drain) {
            self.reported = None;
        }
        self.pause_or_resume();
        let mut told = Vec::new();
        if let Some((id, error)) = self.holdings.bring_in() {
            told.push(format!("{id}: released: {error}"));
        }
        let now = Instant::now();
        let (new, of_named) = self.named.step(now);
        told.extend(of_named);
        if let Some(new) = new {
            // One mapping is enough, and it is counted once.
            self.holdings.release(new);
        }
        self.look_for_programs(now);
        if self
            .reported
            .is_none_or(|last| now.duration_since(last) >= REPORT)
        {
            for id in self.holdings.check(now) {
                told.push(format!("{id}: released: it was replaced or cut short"));
            }
            self.report();
            self.report_named();
            self.reported = Some(now);
        }
        told.iter().for_each(|text| self.report_error(text));
    }

    /// Whether there is more of a file to learn: it thrashes, it is not so large that it never will be held, and what
    /// refaults is not held yet.
    fn may_be_held(&self, hot: &Hot) -> bool {
        let headroom = self
            .found
            .get(&hot.file)
            .is_some_and(|found| found.size <= self.memory.get() / 4);
        let more = self
            .holdings
            .get(hot.file)
            .map_or(headroom, |held| !held.asked.covers(hot.ranges));
        hot.refaults >= LEAST_RETURNS && more
    }

    /// Each event costs the task that caused it some microseconds: after a while without news they are on for a
    /// quarter of the time. A page's eviction and its refault may then be missed; those of a file are many.
    fn pause_or_resume(&mut self) {
        let Some(rings) = &self.rings else { return };
        let on = Instant::now() < self.eager || self.begun.elapsed().as_secs() % 4 == 0;
        match (on, self.paused) {
            (true, true) => rings.resume(),
            (false, false) => rings.pause(),
            _ => return,
        }
        self.paused = !on;
    }

    fn drain(&mut self) {
        let Some((points, _)) = &self.points else {
            return;
        };
        let Some(rings) = &mut self.rings else { return };
        let at = self.begun.elapsed();
        let own = std::process::id();
        let Self {
            learner,
            tasks,
            events,
            lost,
            ..
        } = self;
        rings.drain(&mut |said| match said {
            Said::Lost(count) => *lost += count,
            Said::Record(task, record) => {
                *events += 1;
                let event = points.iter().find_map(|point| point.event(record));
                // Pages that this process brings in are not a use.
                if let Some(event) =
                    event.filter(|event| task != own || event.kind == EventKind::Evicted)
                {
                    learner.take(at, &event);
                    note_task(tasks, &event, task);
                }
            }
        });
    }

    /// Reports what is held, and the hottest of the rest.
    fn report(&mut self) {
        let mut warm = Warm::default();
        warm.sums.watching = self.points.as_ref().map(|_| self.rings.is_some().into());
        warm.sums.events = Some(self.events);
        warm.sums.lost = Some(self.lost);
        if let Some(compactions) = &self.compactions {
            warm.stalls = compactions.counts();
        }
        let page = Bytes::new(rustix::param::page_size() as u64);
        let bytes = |pages: u64| units::Pages::new(pages).to_bytes(page);
        let learned: Bytes = self.holdings.iter().map(|held| bytes(held.locked)).sum();
        warm.sums.held = Some(learned + self.named.locked());
        self.named.sum_up(&mut warm.sums);
        let hot = self.learner.hottest(self.begun.elapsed(), MAX_FILES);
        self.find(&hot);
        if hot.iter().any(|hot| self.may_be_held(hot)) {
            self.eager = Instant::now() + EAGER;
        }
        let mut places = warm.places_mut().iter_mut();
        for (held, place) in self.holdings.iter().zip(places.by_ref()) {
            *place = WarmFile {
                size: Some(Bytes::new(held.size)),
                held: Some(bytes(held.locked)),
                amount: Some(bytes(held.amount())),
                ..file(held.id)
            };
            tell_asked(place, held.asked);
            place.idle = Some(Micros::new(held.used.elapsed().as_micros() as u64));
            place.program = self.used.iter().any(|used| used.id == held.id).then_some(1);
            let (refault_time, every) = self.learner.means(held.id);
            place.refault_time = refault_time;
            place.every = every;
            if let Some(hot) = hot.iter().find(|hot| hot.file == held.id) {
                // All in one measure: the coarser.
                let asked = held.asked.measured_as(hot.ranges);
                tell_asked(place, asked);
                let measured = Hot {
                    ranges: hot.ranges.measured_as(asked),
                    used: hot.used.measured_as(asked),
                    ..*hot
                };
                tell(place, &measured);
            }
        }
        let free = |id: FileId| self.holdings.get(id).is_none() && !self.named.holds(id);
        for (used, place) in self
            .used
            .iter()
            .filter(|used| free(used.id))
            .zip(places.by_ref())
        {
            *place = WarmFile {
                size: Some(Bytes::new(used.found.size)),
                shift: Some(used.ranges.shift.into()),
                hot: Some(used.ranges.segments),
                program: Some(1),
                ..file(used.id)
            };
        }
        let used = |id: FileId| self.used.iter().any(|used| used.id == id);
        let rest = hot.iter().filter(|hot| free(hot.file) && !used(hot.file));
        for (hot, place) in rest.zip(places) {
            let size = self
                .found
                .get(&hot.file)
                .map(|found| Bytes::new(found.size));
            *place = WarmFile {
                size,
                shift: Some(hot.ranges.shift.into()),
                ..file(hot.file)
            };
            tell(place, hot);
        }
        wire::report(&warm, &mut self.message);
        self.send();
    }

    /// Opens the hottest files that are not open yet, and closes those that are no longer hot.
    fn find(&mut self, hot: &[Hot]) {
        self.found
            .retain(|id, _| hot.iter().any(|hot| hot.file == *id));
        let now = Instant::now();
        self.unfit.retain(|_, until| *until > now);
        let thrash = hot.iter().filter(|hot| hot.refaults > 0);
        let used = hot.iter().filter(|hot| hot.refaults == 0).take(MOST_USED);
        for Hot { file, .. } in thrash.chain(used) {
            let known = self.found.contains_key(file) || self.unfit.contains_key(file);
            if known || self.holdings.get(*file).is_some() || self.named.holds(*file) {
                continue;
            }
            match finder::find(*file, self.tasks.get(file).copied(), self.since) {
                Ok(found) => {
                    wire::name(*file, &found.name, &mut self.message);
                    self.send();
                    self.found.insert(*file, found);
                }
                Err(why) => {
                    // A young file may have the number of one that is gone: what was learned is not about it.
                    let again = match why {
                        Unfit::NotFound => LOOK_AGAIN,
                        Unfit::Young | Unfit::Kind => LOOK_LATER,
                    };
                    if why == Unfit::Young {
                        self.learner.forget(*file);
                    }
                    self.unfit.insert(*file, now + again);
                }
            }
        }
    }

    /// Looks up what the programs run from, now and then, and only while nothing is short of memory.
    fn look_for_programs(&mut self, now: Instant) {
        let due = self
            .looked
            .is_none_or(|last| now.duration_since(last) >= PROGRAMS);
        if self.programs.is_empty() || self.rings.is_some() || !due {
            return;
        }
        self.looked = Some(now);
        self.used = programs::used(Path::new("/proc"), &self.programs);
        for Used { id, found, .. } in &self.used {
            wire::name(*id, &found.name, &mut self.message);
            let _ = send(
                self.socket,
                &self.message,
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            );
        }
        self.reported = None;
    }

    /// Another descriptor of a file that a program runs from.
    fn of_a_program(&self, id: FileId) -> Option<Found> {
        let used = self.used.iter().find(|used| used.id == id)?;
        let Found { file, size, name } = &used.found;
        Some(Found {
            file: file.try_clone().ok()?,
            size: *size,
            name: name.clone(),
        })
    }

    /// Tells what is new of the paths that were named.
    fn report_named(&mut self) {
        for found in self.named.news() {
            wire::named(&found, &mut self.message);
            if !self.is_sent() {
                self.named.tell_again(&found.path);
            }
        }
    }

    fn report_error(&mut self, text: &str) {
        wire::error(text, &mut self.message);
        self.send();
    }

    /// A message that the guard cannot take now is dropped: the next report says the same.
    fn send(&self) {
        self.is_sent();
    }

    /// Sends the message; `false` if the guard cannot take it now.
    fn is_sent(&self) -> bool {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        send(self.socket, &self.message, flags).is_ok()
    }
}

/// Gives `CAP_SYS_ADMIN` up for good. As a service it has that for one thing, which is done: Debian's and Ubuntu's kernels
/// ask for it to open an event where `kernel.perf_event_paranoid` is 3 or more, as it is there. A child of the guard has the
/// guard's rights, and keeps them.
fn give_up_admin() -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut sets = capabilities(None)?;
    sets.effective.remove(CapabilitySet::SYS_ADMIN);
    sets.permitted.remove(CapabilitySet::SYS_ADMIN);
    sets.inheritable.remove(CapabilitySet::SYS_ADMIN);
    Ok(set_capabilities(None, sets)?)
}

/// Raises the limit of open files as far as it may be: each file that is held is open. Where that fails, fewer can be held,
/// and what was named says so.
fn have_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, raised);
}

fn note_task(tasks: &mut HashMap<FileId, u32>, event: &Event, task: u32) {
    if event.kind == EventKind::Added {
        if tasks.len() >= MOST_TASKS && !tasks.contains_key(&event.file) {
            tasks.clear();
        }
        tasks.insert(event.file, task);
    }
}

fn file(id: FileId) -> WarmFile {
    WarmFile {
        device: Some(id.device),
        inode: Some(id.inode),
        ..WarmFile::default()
    }
}

fn tell(place: &mut WarmFile, hot: &Hot) {
    place.hot = Some(hot.ranges.segments);
    place.refaults = Some(hot.refaults);
    place.refault_time = hot.refault_time;
    place.again = Some(hot.again);
    place.every = hot.every;
    if hot.every.is_some() {
        place.uses = Some(hot.uses);
        place.used = Some(hot.used.segments);
    } else {
        place.uses = None;
        place.used = None;
    }
}

fn tell_asked(place: &mut WarmFile, asked: Ranges) {
    place.asked = Some(asked.segments);
    place.shift = Some(asked.shift.into());
}
