//! An operating system's reclaim as a policy of one trace.

use super::interface::{Access, Evictions};
use crate::frames::{Frames, Kind, Moment};
use crate::{Error, Page};

/// A [`Frames`] as a policy of one trace: at a miss in full memory, one page is evicted.
#[derive(Debug)]
pub(super) struct Framed<F> {
    frames: F,
    files: Option<Vec<bool>>,
    capacity: usize,
}

impl<F: Frames> Framed<F> {
    pub(super) fn new(frames: F, files: Option<Vec<bool>>, capacity: usize) -> Self {
        Self {
            frames,
            files,
            capacity,
        }
    }

    #[inline]
    pub(super) fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        if self.frames.holds(page) {
            self.frames.used(page);
            return Access::Hit;
        }
        if self.frames.len() == self.capacity {
            let moment = Moment {
                now,
                memory: self.capacity,
                swap: true,
            };
            if let Some(victim) = self.frames.victim(moment) {
                evicted.note(victim);
            }
        }
        let is_file = self.files.as_ref().is_none_or(|files| files[page as usize]);
        let kind = if is_file { Kind::File } else { Kind::Anon };
        self.frames.enter(page, kind, now);
        Access::Miss
    }

    pub(super) fn resident(&self) -> usize {
        self.frames.len()
    }
}

/// A percentage as a share of memory.
///
/// Errors: a value that is no percentage.
pub(super) fn share(name: &str, percent: f64) -> Result<f64, Error> {
    if (0.0..=100.0).contains(&percent) {
        return Ok(percent / 100.0);
    }
    Err(Error::Unfit(format!(
        "{name} is a percentage, not {percent}"
    )))
}
