//! Mooncake's traces of a language model's cache: JSON, a request in each line, with the blocks of its prompt (`hash_ids`).

use crate::input::Input;
use crate::{BATCH, Error, Reading, Source};
use serde::Deserialize;
use std::iter::repeat_n;
use workingset::{About, Batch, Clock};

const NANOSECONDS: f64 = 1e6;

#[derive(Deserialize)]
struct Request {
    /// Milliseconds.
    timestamp: f64,
    hash_ids: Vec<u64>,
}

/// Returns true if a text begins as such a trace does.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    serde_json::from_slice::<Request>(&head[..end]).is_ok()
}

/// Each block of each request is a reference.
pub(crate) struct Mooncake<'a> {
    input: Input<'a>,
    page_size: u64,
    last: u64,
}

impl<'a> Mooncake<'a> {
    pub(crate) fn new(input: Input<'a>, reading: Reading) -> Self {
        Self {
            input,
            page_size: reading.page_size,
            last: 0,
        }
    }
}

impl Source for Mooncake<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.len() < BATCH {
            let Some(line) = self.input.line()? else {
                break;
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let request: Request = match serde_json::from_slice(line) {
                Ok(request) => request,
                Err(error) => {
                    let what = format!("no request of Mooncake: {error}");
                    return Err(self.input.wrong_line(&what));
                }
            };
            // Requests arrive in order; one that is noted late is raised to the last.
            let time = (request.timestamp * NANOSECONDS) as u64;
            self.last = self.last.max(time);
            batch
                .time
                .extend(repeat_n(self.last, request.hash_ids.len()));
            batch.page.extend(request.hash_ids);
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            format: "mooncake".to_owned(),
            page_size: self.page_size,
            clock: Clock::Nanoseconds,
            ..About::default()
        }
    }
}
