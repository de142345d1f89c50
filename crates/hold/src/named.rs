//! Files that were named by hand: found at their paths, held whole in the order of the names, looked for again.
//!
//! ```text
//!   paths ─► Tree ─► files, each with its size ─► report ─► the guard: how much of them may be held
//!                        └── in order, as far as that goes ─► Holdings
//! ```
//!
//! A path is looked at again every minute, and as soon as a file of it was replaced or cut short. A directory is walked in
//! pieces, between which the guard is heard.

use crate::finder::{self, Found};
use crate::holding::Holdings;
use crate::tree::{Plain, There, Tree, Walk};
use host::holder::wire::Entry;
use pressure::protect::{FileId, Ranges, WarmSums};
use pressure::status::NamedPath;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::{Bytes, Pages};

/// Time between two checks of what is held.
const CHECK: Duration = Duration::from_secs(2);
/// Time between two looks at a path: a new file of a directory, or one that grew, may wait for so long.
const LOOK: Duration = Duration::from_secs(60);
/// The same for a path at which nothing can be held: it may be about to be put there.
const LOOK_SOON: Duration = Duration::from_secs(10);
/// Files that are held at once, of all paths: each takes a descriptor, a mapping, and some hundred bytes.
const MOST_FILES: usize = 4096;
/// Things in a directory that are looked at: a second of CPU time, each minute, at most.
const MOST_SEEN: u64 = 100_000;
/// Of these at once: less than a millisecond.
const PIECE: u64 = 256;

/// All that was named.
#[derive(Debug)]
pub(crate) struct NamedFiles {
    places: Vec<Place>,
    /// The list that is arriving.
    arriving: Vec<String>,
    /// Whether a list came.
    is_known: bool,
    tree: Option<Tree>,
    /// Which path is looked at, and what was found so far.
    scan: Option<(usize, Scan)>,
    /// Pages that the guard lets be held.
    allowed: u64,
    holdings: Holdings,
    checked: Instant,
    page: Bytes,
}

/// A path that was named.
#[derive(Debug)]
struct Place {
    path: String,
    /// When it is to be looked at.
    due: Instant,
    found: Option<Scan>,
    /// Why nothing at it can be held.
    fault: Option<String>,
    /// What was last told of it.
    told: Option<NamedPath>,
}

/// What a look at a path found.
#[derive(Debug, Default)]
struct Scan {
    /// Files that may be held, in the order in which they were found.
    files: Vec<Candidate>,
    /// How many there are, also those that are too many.
    seen: u64,
    size: Pages,
    /// How many files are kept, at most.
    most: usize,
    looked_at: u64,
    left_out: u64,
    walk: Option<Walk>,
}

/// A file that may be held.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    plain: Plain,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// It does not fit, or is not allowed yet.
    Waits,
    /// It fits, and is to be opened.
    Fits,
    Held(FileId),
    /// It is held by another of its names.
    Twin,
    Refused(String),
}

impl NamedFiles {
    /// None yet, and never more than `most` pages of them.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            places: Vec::new(),
            arriving: Vec::new(),
            is_known: false,
            tree: None,
            scan: None,
            allowed: 0,
            holdings: Holdings::unwatched(most),
            checked: Instant::now(),
            page: Bytes::new(rustix::param::page_size() as u64),
        }
    }

    /// Takes one path of a list, which replaces the one before once its last path came.
    pub(crate) fn take(&mut self, entry: &Entry<'_>, now: Instant) {
        if entry.place == 0 {
            self.arriving.clear();
        }
        if entry.of > 0 {
            self.arriving.push(entry.path.to_owned());
        }
        if self.arriving.len() as u64 != entry.of {
            return;
        }
        // The look that goes on may be at a place that is no more.
        if let Some((at, _)) = self.scan.take() {
            self.places[at].due = now;
        }
        let mut before = std::mem::take(&mut self.places);
        for path in std::mem::take(&mut self.arriving) {
            let known = before.iter().position(|place| place.path == path);
            let mut place = match known {
                Some(known) => before.swap_remove(known),
                None => Place::new(path, now),
            };
            // The guard knows nothing of a list that is new to it.
            place.told = None;
            self.places.push(place);
        }
        self.is_known = true;
        self.share_out();
    }

    /// Lets so much be held in all. Returns the pages that this may come to.
    pub(crate) fn allow(&mut self, amount: Bytes) -> u64 {
        self.allowed = amount.get() / self.page.get();
        self.share_out();
        self.allowed
    }

    /// Whether it is held because it was named.
    pub(crate) fn holds(&self, id: FileId) -> bool {
        self.holdings.get(id).is_some()
    }

    /// How long nothing is due; `None` if nothing was named.
    pub(crate) fn rest(&self, now: Instant) -> Option<Duration> {
        if self.places.is_empty() {
            return None;
        }
        let is_busy = self.scan.is_some()
            || self.holdings.is_busy()
            || self.places.iter().any(|place| place.due <= now)
            || self.all().any(|file| file.state == State::Fits);
        Some(if is_busy { Duration::ZERO } else { CHECK })
    }

    /// Does a piece of what is due. Returns a file that is held from now on, and sentences about what is no more.
    pub(crate) fn step(&mut self, now: Instant) -> (Option<FileId>, Vec<String>) {
        let mut told = Vec::new();
        if now.duration_since(self.checked) >= CHECK {
            self.checked = now;
            for id in self.holdings.check(now) {
                // What is there now is to be found.
                told.extend(self.refuse(id, "it was replaced or cut short", Some(now)));
            }
        }
        self.scan(now);
        let new = self.open_next(now);
        if let Some((id, error)) = self.holdings.bring_in() {
            told.extend(self.refuse(id, &format!("it cannot be read: {error}"), None));
        }
        (new, told)
    }

    /// Puts sums into a report: unknown before a list came; the size, too, until each path was looked at.
    pub(crate) fn sum_up(&self, sums: &mut WarmSums) {
        if !self.is_known {
            return;
        }
        sums.named_asked = Some(Pages::new(self.allowed).to_bytes(self.page));
        sums.named_held = Some(self.locked());
        let is_unknown = |place: &Place| place.found.is_none() && place.fault.is_none();
        if !self.places.iter().any(is_unknown) {
            let mut keys = HashSet::new();
            let once = self.all().filter(|file| keys.insert(file.plain.key));
            let size: Pages = once.map(|file| self.pages(file.plain)).sum();
            sums.named = Some(size.to_bytes(self.page));
        }
    }

    /// Memory that is locked.
    pub(crate) fn locked(&self) -> Bytes {
        let pages: u64 = self.holdings.iter().map(|held| held.locked).sum();
        Pages::new(pages).to_bytes(self.page)
    }

    /// What is new of each path since the last call.
    pub(crate) fn news(&mut self) -> Vec<NamedPath> {
        let locked: HashMap<FileId, u64> = self
            .holdings
            .iter()
            .map(|held| (held.id, held.locked))
            .collect();
        let allowed = Pages::new(self.allowed).to_bytes(self.page);
        let mut news = Vec::new();
        for place in &mut self.places {
            let now = place.report(&locked, allowed, self.page);
            if place.told.as_ref() != Some(&now) {
                place.told = Some(now.clone());
                news.push(now);
            }
        }
        news
    }

    /// What was told of this path last did not arrive.
    pub(crate) fn tell_again(&mut self, path: &str) {
        let mut places = self.places.iter_mut();
        if let Some(place) = places.find(|place| place.path == path) {
            place.told = None;
        }
    }

    fn all(&self) -> impl Iterator<Item = &Candidate> {
        self.places.iter().flat_map(Place::files)
    }

    fn pages(&self, plain: Plain) -> Pages {
        Bytes::new(plain.size).to_pages(self.page)
    }

    /// Notes that a file is held no more, and has its path looked at again at `due`. Returns a sentence about it.
    fn refuse(&mut self, id: FileId, why: &str, due: Option<Instant>) -> Option<String> {
        for place in &mut self.places {
            let file = place.files_mut().find(|file| file.state == State::Held(id));
            if let Some(file) = file {
                let text = format!("{}: released: {why}", file.path.display());
                file.state = State::Refused(why.to_owned());
                place.due = due.unwrap_or(place.due);
                return Some(text);
            }
        }
        None
    }

    /// Looks at a piece of a path that is due.
    fn scan(&mut self, now: Instant) {
        if self.scan.is_none() && !self.begin_scan(now) {
            return;
        }
        let Some((at, scan)) = &mut self.scan else {
            return;
        };
        if scan.go_on(self.page) {
            return;
        }
        let at = *at;
        let Some((_, scan)) = self.scan.take() else {
            return;
        };
        if let Some(place) = self.places.get_mut(at) {
            place.replace(scan);
        }
        self.share_out();
    }

    /// Begins to look at the path that is due. Returns true if there is more to look at.
    fn begin_scan(&mut self, now: Instant) -> bool {
        let Some(at) = self.places.iter().position(|place| place.due <= now) else {
            return false;
        };
        let others = self
            .places
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != at);
        let taken: usize = others.map(|(_, place)| place.files().count()).sum();
        let place = &mut self.places[at];
        place.due = now + LOOK;
        let tree = Tree::now().map_err(|error| format!("/proc: {error}"));
        let there = tree.and_then(|tree| {
            let there = tree.look(Path::new(&place.path));
            self.tree = Some(tree);
            there
        });
        let mut scan = Scan {
            most: MOST_FILES.saturating_sub(taken),
            ..Scan::default()
        };
        let fault = match there {
            Ok(There::Directory(walk)) => {
                scan.walk = Some(walk);
                None
            }
            Ok(There::File(plain)) if plain.size == 0 => Some("it is empty".to_owned()),
            Ok(There::File(plain)) => {
                scan.put(PathBuf::from(&place.path), plain, self.page);
                None
            }
            Err(why) => Some(why),
        };
        if fault.is_some() {
            place.due = now + LOOK_SOON;
            place.found = None;
            place.fault = fault;
            self.share_out();
            return false;
        }
        self.scan = Some((at, scan));
        true
    }

    /// Decides which files fit, and releases the others.
    fn share_out(&mut self) {
        let mut left = self.allowed;
        let mut keys = HashSet::new();
        let mut held = HashSet::new();
        let page = self.page;
        for file in self.places.iter_mut().flat_map(Place::files_mut) {
            let pages = Bytes::new(file.plain.size).to_pages(page).get();
            if matches!(file.state, State::Refused(_)) {
                continue;
            }
            if !keys.insert(file.plain.key) {
                file.state = State::Twin;
                continue;
            }
            if pages > left {
                file.state = State::Waits;
                continue;
            }
            left -= pages;
            if let State::Held(id) = file.state {
                held.insert(id);
            } else {
                file.state = State::Fits;
            }
        }
        let gone: Vec<FileId> = self
            .holdings
            .iter()
            .map(|holding| holding.id)
            .filter(|id| !held.contains(id))
            .collect();
        for id in gone {
            self.holdings.release(id);
        }
    }

    /// Opens the next file that fits; the file, if it is held now. One that cannot be opened is looked at again soon: it may
    /// have been replaced just now.
    fn open_next(&mut self, now: Instant) -> Option<FileId> {
        let tree = self.tree.as_ref()?;
        let page = self.page;
        let fits = |file: &Candidate| file.state == State::Fits;
        let place = self
            .places
            .iter_mut()
            .find(|place| place.files().any(fits))?;
        let due = place.due.min(now + LOOK_SOON);
        let file = place.files_mut().find(|file| fits(file))?;
        let opened = open(tree, file).and_then(|(id, found)| {
            let pages = Bytes::new(found.size).to_pages(page).get();
            let held = self.holdings.hold(id, Some(found), Ranges::whole(pages));
            held.map(|()| id).map_err(|error| error.to_string())
        });
        match opened {
            Ok(id) => {
                file.state = State::Held(id);
                Some(id)
            }
            Err(why) => {
                file.state = State::Refused(why);
                place.due = due;
                None
            }
        }
    }
}

/// Opens a file as it was seen.
fn open(tree: &Tree, candidate: &Candidate) -> Result<(FileId, Found), String> {
    let file = tree.open(&candidate.path, candidate.plain)?;
    let failed = |error: std::io::Error| error.to_string();
    let id = finder::id_of(&file).map_err(failed)?;
    let found = finder::fit(id, file, i64::MAX).map_err(|why| why.to_string())?;
    // It grew since it was looked at: the next look will see that. Only what was counted is held.
    let size = candidate.plain.size;
    if found.size < size {
        return Err("it was cut short just now".to_owned());
    }
    Ok((id, Found { size, ..found }))
}

impl Place {
    fn new(path: String, now: Instant) -> Self {
        Self {
            path,
            due: now,
            found: None,
            fault: None,
            told: None,
        }
    }

    fn files(&self) -> impl Iterator<Item = &Candidate> {
        self.found.iter().flat_map(|found| &found.files)
    }

    fn files_mut(&mut self) -> impl Iterator<Item = &mut Candidate> {
        self.found.iter_mut().flat_map(|found| &mut found.files)
    }

    /// Takes what was found now; what is held and is as before stays so.
    fn replace(&mut self, mut scan: Scan) {
        let before: HashMap<(u64, u64), (u64, State)> = self
            .files()
            .map(|file| (file.plain.key, (file.plain.size, file.state.clone())))
            .collect();
        for file in &mut scan.files {
            let known = before.get(&file.plain.key);
            if let Some((size, State::Held(id))) = known {
                if *size == file.plain.size {
                    file.state = State::Held(*id);
                }
            }
        }
        self.fault = None;
        self.found = Some(scan);
    }

    fn report(&self, locked: &HashMap<FileId, u64>, allowed: Bytes, page: Bytes) -> NamedPath {
        let Some(found) = &self.found else {
            return NamedPath {
                path: self.path.clone(),
                files: self.fault.is_some().then_some(0),
                size: self.fault.is_some().then_some(Bytes::ZERO),
                held_files: Some(0),
                held: Some(Bytes::ZERO),
                why: self.fault.clone(),
            };
        };
        let held = found.files.iter().filter_map(|file| match file.state {
            State::Held(id) => locked.get(&id).copied(),
            _ => None,
        });
        let held: Vec<u64> = held.collect();
        NamedPath {
            path: self.path.clone(),
            files: Some(found.seen),
            size: Some(found.size.to_bytes(page)),
            held_files: Some(held.len() as u64),
            held: Some(Pages::new(held.iter().sum()).to_bytes(page)),
            why: found.why_not(locked, allowed, page),
        }
    }
}

impl Scan {
    fn put(&mut self, path: PathBuf, plain: Plain, page: Bytes) {
        self.seen += 1;
        self.size += Bytes::new(plain.size).to_pages(page);
        if self.files.len() < self.most {
            self.files.push(Candidate {
                path,
                plain,
                state: State::Waits,
            });
        }
    }

    /// Walks a piece of the directory. Returns true if there is more of it.
    fn go_on(&mut self, page: Bytes) -> bool {
        let Some(mut walk) = self.walk.take() else {
            return false;
        };
        for _ in 0..PIECE {
            let is_too_much = self.looked_at == MOST_SEEN;
            if is_too_much || !walk.step(&mut |path, plain| self.put(path, plain, page)) {
                self.left_out = walk.left_out;
                return false;
            }
            self.looked_at += 1;
        }
        self.walk = Some(walk);
        true
    }

    /// Why not all of it is held.
    fn why_not(
        &self,
        locked: &HashMap<FileId, u64>,
        allowed: Bytes,
        page: Bytes,
    ) -> Option<String> {
        let mut reasons = Vec::new();
        if self.seen == 0 {
            reasons.push("there is no file in it, or only empty ones".to_owned());
        }
        let waiting = self.files.iter().filter(|file| file.state == State::Waits);
        let waiting: Vec<Pages> = waiting
            .map(|file| Bytes::new(file.plain.size).to_pages(page))
            .collect();
        if !waiting.is_empty() {
            let size: Pages = waiting.iter().copied().sum();
            reasons.push(format!(
                "left out: {} of {}, as {allowed} may be held in all",
                files(waiting.len() as u64),
                size.to_bytes(page)
            ));
        }
        let too_many = self.seen - self.files.len() as u64;
        if too_many > 0 {
            let more = files(too_many);
            reasons.push(format!(
                "left out: {more} beyond the {MOST_FILES} that are held at most"
            ));
        }
        if self.looked_at == MOST_SEEN {
            reasons.push(format!(
                "what comes after {MOST_SEEN} entries was not looked at"
            ));
        }
        if self.left_out > 0 {
            reasons.push(format!(
                "{} directories in it cannot be listed",
                self.left_out
            ));
        }
        let refused = self.files.iter().find_map(|file| match &file.state {
            State::Refused(why) => Some(format!("{}: {why}", file.path.display())),
            _ => None,
        });
        reasons.extend(refused);
        if self.files.iter().any(|file| file.state == State::Twin) {
            reasons.push("it is held, or counted, by another of its names".to_owned());
        }
        let is_coming = |file: &Candidate| match file.state {
            State::Fits => true,
            State::Held(id) => {
                let pages = Bytes::new(file.plain.size).to_pages(page).get();
                locked.get(&id).is_some_and(|locked| *locked < pages)
            }
            _ => false,
        };
        if self.files.iter().any(is_coming) {
            reasons.push("it is being read in".to_owned());
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

fn files(count: u64) -> String {
    if count == 1 {
        "1 file".to_owned()
    } else {
        format!("{count} files")
    }
}

#[cfg(test)]
mod tests;
