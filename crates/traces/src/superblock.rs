//! A superblock of a recorded program: what it fetches and uses each time it runs, and the rows that come of it.

use crate::Error;
use crate::table::REST_OF_FETCH;
use std::sync::Arc;
use workingset::{Clock, Op};

/// The upper two bits of an event's word.
const FETCH_AT: u32 = 0;
const FETCH: u32 = 1;
const DATA: u32 = 2;
/// Bits of an event's word that are its size.
const SIZE: u32 = 0xffff;
const OPERATION_SHIFT: u32 = 16;
const GUARDED: u32 = 1 << 18;

/// A fetch or an access.
#[derive(Debug, Clone, Copy)]
struct Event {
    op: Op,
    size: u64,
    /// A fetch's address.
    address: u64,
    /// The access is not made each time.
    is_guarded: bool,
}

/// A superblock as it was translated.
#[derive(Debug)]
struct Template {
    events: Vec<Event>,
    has_guarded: bool,
}

impl Template {
    /// Reads the events' words.
    ///
    /// Errors: a word that is none.
    fn of(mut words: &[u32]) -> Result<Self, Error> {
        let mut events = Vec::new();
        let mut follows = 0;
        while let [word, rest @ ..] = words {
            words = rest;
            let size = u64::from(word & SIZE);
            let op = match word >> 30 {
                FETCH_AT | FETCH => Op::FETCH,
                DATA => match word >> OPERATION_SHIFT & 3 {
                    1 => Op::LOAD,
                    2 => Op::STORE,
                    3 => Op::MODIFY,
                    _ => return Err(not_an_event(*word)),
                },
                _ => return Err(not_an_event(*word)),
            };
            if word >> 30 == FETCH_AT {
                let [low, high, rest @ ..] = words else {
                    return Err(not_an_event(*word));
                };
                follows = long(*low, *high);
                words = rest;
            }
            events.push(Event {
                op,
                size,
                address: follows,
                is_guarded: op != Op::FETCH && word & GUARDED != 0,
            });
            if op == Op::FETCH {
                follows = follows.wrapping_add(size);
            }
        }
        let has_guarded = events.iter().any(|event| event.is_guarded);
        Ok(Self {
            events,
            has_guarded,
        })
    }
}

fn not_an_event(word: u32) -> Error {
    Error::Format(format!(
        "the recording has an event {word:#x}, which this version does not know"
    ))
}

/// A number of two words.
pub(crate) fn long(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// References as rows, in order.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) pages: Vec<u64>,
    pub(crate) ops: Vec<Op>,
    pub(crate) runs: Vec<u32>,
    /// The time that each row takes.
    pub(crate) steps: Vec<u64>,
    pub(crate) references: u64,
    pub(crate) time: u64,
}

impl Lines {
    fn clear(&mut self) {
        self.pages.clear();
        self.ops.clear();
        self.runs.clear();
        self.steps.clear();
        self.references = 0;
        self.time = 0;
    }

    fn push(&mut self, page: u64, op: Op, step: u64, clock: Clock) {
        self.references += 1;
        self.time += step;
        let can_join = op != REST_OF_FETCH && (step == 0 || clock == Clock::Instructions);
        let is_same = self.pages.last() == Some(&page) && self.ops.last() == Some(&op);
        if can_join && is_same {
            let at = self.pages.len() - 1;
            self.runs[at] += 1;
            self.steps[at] += step;
            return;
        }
        self.pages.push(page);
        self.ops.push(op);
        self.runs.push(1);
        self.steps.push(step);
    }
}

/// How addresses become pages, and instructions time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) page_bits: u32,
    pub(crate) clock: Clock,
    /// The bits of a page's number that are its place in the address space.
    pub(crate) mask: u64,
    /// The address space, as the upper bits of a page's number.
    pub(crate) space: u64,
}

/// What a superblock did the last time.
#[derive(Debug)]
struct State {
    /// The address of each access, by event; `None` before the first.
    addresses: Vec<Option<u64>>,
    lines: Lines,
    /// The lines are those of the addresses.
    is_made: bool,
    /// The lines' pages are known to be seen.
    is_noted: bool,
}

/// A superblock of one process.
#[derive(Debug)]
pub(crate) struct Superblock {
    template: Arc<Template>,
    /// Not before it runs: most of what a fork has it never runs.
    state: Option<Box<State>>,
}

impl Superblock {
    pub(crate) fn of(words: &[u32]) -> Result<Self, Error> {
        Ok(Self {
            template: Arc::new(Template::of(words)?),
            state: None,
        })
    }

    /// The same superblock in a process that was forked.
    pub(crate) fn forked(&self) -> Self {
        Self {
            template: Arc::clone(&self.template),
            state: None,
        }
    }

    fn state(&mut self) -> &mut State {
        let events = self.template.events.len();
        self.state.get_or_insert_with(|| {
            Box::new(State {
                addresses: vec![None; events],
                lines: Lines::default(),
                is_made: false,
                is_noted: false,
            })
        })
    }

    /// Notes that an access is to another address than before. Returns false if there is no such access.
    pub(crate) fn access(&mut self, at: usize, address: u64) -> bool {
        let is_access = self
            .template
            .events
            .get(at)
            .is_some_and(|event| event.op != Op::FETCH);
        if is_access {
            let state = self.state();
            state.addresses[at] = Some(address);
            state.is_made = false;
        }
        is_access
    }

    /// Returns true if it does the same each time, as long as no access is to another page.
    pub(crate) fn is_steady(&self) -> bool {
        !self.template.has_guarded
    }

    /// What it does when it runs to its end, and whether its pages are known to be seen, which they are from now on.
    #[inline]
    pub(crate) fn whole(&mut self, rule: &Rule) -> (&Lines, bool) {
        let template = Arc::clone(&self.template);
        let state = self.state();
        if !state.is_made {
            let State {
                addresses, lines, ..
            } = state;
            make(&template.events, addresses, |_| true, rule, lines);
            state.is_made = true;
            state.is_noted = false;
        }
        let was_noted = std::mem::replace(&mut state.is_noted, true);
        (&state.lines, was_noted)
    }

    /// What it does when it makes these of its guarded accesses, and its first `most` references alone.
    pub(crate) fn part(&mut self, made: &[u32], most: usize, rule: &Rule, lines: &mut Lines) {
        let template = Arc::clone(&self.template);
        let events = &template.events[..most.min(template.events.len())];
        let is_made = |at: usize| !events[at].is_guarded || made.contains(&(at as u32));
        make(events, &self.state().addresses, is_made, rule, lines);
    }
}

fn make(
    events: &[Event],
    addresses: &[Option<u64>],
    is_made: impl Fn(usize) -> bool,
    rule: &Rule,
    lines: &mut Lines,
) {
    lines.clear();
    for (at, event) in events.iter().enumerate() {
        if !is_made(at) {
            continue;
        }
        let is_fetch = event.op == Op::FETCH;
        let address = if is_fetch {
            Some(event.address)
        } else {
            addresses[at]
        };
        // An access before its first page is known: a fault kept the program from making it.
        let Some(address) = address else { continue };
        let mut step = match rule.clock {
            _ if !is_fetch => 0,
            Clock::InstructionBytes => event.size,
            _ => 1,
        };
        let mut op = event.op;
        let last = address.saturating_add(event.size.saturating_sub(1));
        for page in address >> rule.page_bits..=last >> rule.page_bits {
            lines.push(page & rule.mask | rule.space, op, step, rule.clock);
            step = 0;
            if is_fetch && rule.clock == Clock::Instructions {
                op = REST_OF_FETCH;
            }
        }
    }
}
