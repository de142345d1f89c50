//! Samples and decisions to lines.

use super::{Shape, VERSION, columns};
use crate::config::Config;
use crate::decision::Decision;
use crate::history::History;
use crate::sample::{Facts, Sample};
use serde::Serialize;
use std::io::Write;

/// What a header says.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// The configuration by which decisions are made from here on.
    pub config: &'a Config,
    /// The decision core before the next sample is taken in.
    pub state: &'a History,
    /// The next sample: the header describes its shape.
    pub sample: &'a Sample,
}

/// The sample has other zones, nodes, pools or swap areas than the header: write a new header first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sample has another shape than the recording's header")]
pub struct Misfit;

/// Writes lines into a caller's buffer; remembers the last sample, to write only what changed.
#[derive(Debug, Default)]
pub struct Encoder {
    last: Option<Sample>,
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    #[serde(rename = "warmset-recording")]
    version: u64,
    facts: &'a Facts,
    config: &'a Config,
    shape: Shape,
    columns: Vec<(String, &'static str)>,
    state: &'a History,
}

impl Encoder {
    /// An encoder that has written nothing; a header must come first.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a header. The error is that the state cannot be written as JSON; nothing is left in `out` then.
    pub fn header(&mut self, out: &mut Vec<u8>, opening: &Opening<'_>) -> serde_json::Result<()> {
        let line = HeaderLine {
            version: VERSION,
            facts: opening.facts,
            config: opening.config,
            shape: Shape::of(opening.sample),
            columns: columns(opening.sample),
            state: opening.state,
        };
        self.last = Some(line.shape.unknown());
        json_line(out, "", &line)
    }

    /// Whether `sample` can be written without a new header.
    pub fn fits(&self, sample: &Sample) -> bool {
        self.last
            .as_ref()
            .is_some_and(|last| last.same_shape(sample))
    }

    /// Writes a sample: what changed since the one before.
    pub fn sample(&mut self, out: &mut Vec<u8>, sample: &Sample) -> Result<(), Misfit> {
        let last = self
            .last
            .as_mut()
            .filter(|last| last.same_shape(sample))
            .ok_or(Misfit)?;
        if !sample.scan.is_empty() {
            // A scan is plain numbers and names, all of which JSON can say.
            let _ = json_line(out, "p\t", &sample.scan);
        }
        if sample.groups != last.groups {
            let _ = json_line(out, "g\t", &sample.groups);
        }
        let nanos = sample.at.get().as_nanos();
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        put(out, format_args!("s\t{nanos}\t{}", sample.wall.0));
        // Tabs are owed, not written, so that empty cells at the end cost nothing.
        let mut owed = 0;
        for (before, now) in last.sections().zip(sample.sections()) {
            for index in 0..now.fields().len() {
                owed += 1;
                let value = now.get(index);
                if value == before.get(index) {
                    continue;
                }
                let length = out.len() + owed;
                out.resize(length, b'\t');
                owed = 0;
                match value {
                    Some(value) => put(out, format_args!("{value}")),
                    None => out.push(b'-'),
                }
            }
        }
        out.push(b'\n');
        last.clone_from(sample);
        Ok(())
    }

    /// Writes what was decided after the last sample.
    pub fn decision(&mut self, out: &mut Vec<u8>, decision: &Decision) -> serde_json::Result<()> {
        json_line(out, "d\t", decision)
    }

    /// Writes that `count` samples are missing here.
    pub fn lost(&mut self, out: &mut Vec<u8>, count: u64) {
        put(out, format_args!("lost\t{count}\n"));
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a Vec does not fail");
}

fn json_line(out: &mut Vec<u8>, tag: &str, value: &impl Serialize) -> serde_json::Result<()> {
    let start = out.len();
    out.extend_from_slice(tag.as_bytes());
    let written = serde_json::to_writer(&mut *out, value);
    match written {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(start),
    }
    written
}
