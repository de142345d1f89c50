//! Lines to samples and decisions.

use super::{Entry, Header, OLDEST, Shape, VERSION, columns};
use crate::config::Config;
use crate::decision::Decision;
use crate::groups::Groups;
use crate::history::History;
use crate::sample::{Facts, Sample, Wall};
use crate::scan::ProcessScan;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::time::Duration;
use units::Span;

/// Characters of a line that an error quotes.
const QUOTED: usize = 200;
/// Unknown columns that a note names.
const NAMED: usize = 10;
/// Nodes of a machine, at most: the kernel's MAX_NUMNODES where it is configured largest.
const MOST_NODES: usize = 1024;
/// Zones, at most: six kinds for each node.
const MOST_ZONES: usize = 6 * MOST_NODES;
/// Sizes of huge pages, at most: an architecture has five.
const MOST_POOLS: usize = 64;
/// Swap areas, at most: the kernel has fewer than 32 (MAX_SWAPFILES).
const MOST_SWAPS: usize = 32;
/// Longest JSON in bytes that is read as a tree of any values; a configuration takes 5 KiB. Such a tree takes up to a hundred
/// times its text.
const MOST_TREE: usize = 256 << 10;

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what} in {text:?}")]
pub struct Malformed {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
    /// The line, cut to 200 characters.
    pub text: String,
}

/// Reads lines one by one; remembers the last sample, on which the next builds.
///
/// A line that cannot be read is an error, and the lines after it are read all the same; but samples
/// and decisions that build on a sample or header that could not be read are passed over.
#[derive(Debug, Default)]
pub struct Decoder {
    line: u64,
    base: Base,
    /// Process scan for the sample that follows.
    scan: ProcessScan,
    /// Control groups with limits that Warmset sets, if that has changed with the sample that follows.
    groups: Option<Groups>,
}

/// What the next sample builds on.
#[derive(Debug, Default)]
enum Base {
    /// Nothing yet.
    #[default]
    None,
    /// A line that could not be read.
    Broken,
    /// The sample before.
    Last {
        sample: Box<Sample>,
        columns: Vec<Column>,
    },
}

/// Section and field of a sample; `None` if this version has no such column.
type Column = Option<(usize, usize)>;

/// Configuration and state stay text until they are read as what they are: a tree of any JSON takes a hundred times its text.
#[derive(Deserialize)]
struct HeaderLine<'t> {
    facts: Facts,
    #[serde(borrow)]
    config: Option<&'t RawValue>,
    shape: Shape,
    columns: Vec<(String, String)>,
    #[serde(borrow)]
    state: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "warmset-recording")]
    version: u64,
}

/// All entries of a recording that is in memory.
pub fn decode(text: &[u8]) -> impl Iterator<Item = Result<Entry, Malformed>> {
    let mut decoder = Decoder::new();
    text.split(|byte| *byte == b'\n')
        .filter_map(move |line| decoder.line(line).transpose())
}

impl Decoder {
    /// A decoder that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one line, without its end. `None`: the line is empty, or builds on one that could not be read.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Entry>, Malformed> {
        self.line += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let read = std::str::from_utf8(line).map_err(|_| "bytes that are not UTF-8".to_owned());
        read.and_then(|text| self.text(text)).map_err(|what| {
            let text = String::from_utf8_lossy(line.get(..4 * QUOTED).unwrap_or(line));
            Malformed {
                line: self.line,
                what,
                text: cut(&text),
            }
        })
    }

    fn text(&mut self, text: &str) -> Result<Option<Entry>, String> {
        let (tag, rest) = text.split_once('\t').unwrap_or((text, ""));
        match tag {
            "" if rest.is_empty() => Ok(None),
            "s" => self.sample(rest),
            "p" => from_json(rest).map(|scan| {
                self.scan = scan;
                None
            }),
            "g" => from_json(rest).map(|groups| {
                self.groups = Some(groups);
                None
            }),
            "d" => match self.base {
                Base::Broken => Ok(None),
                _ => decision(rest).map(|decision| Some(Entry::Decision(Box::new(decision)))),
            },
            "lost" => match rest.parse() {
                Ok(count) => Ok(Some(Entry::Lost(count))),
                Err(_) => Err("no number of lost samples".to_owned()),
            },
            _ if tag.starts_with('{') => self
                .header(text)
                .map(|header| Some(Entry::Header(Box::new(header)))),
            _ => Err("no line of a recording".to_owned()),
        }
    }

    fn header(&mut self, text: &str) -> Result<Header, String> {
        self.base = Base::Broken;
        let Version { version } = from_json(text)?;
        if version > VERSION {
            return Err(format!(
                "this recording has format {version}, and this version of warmset reads formats up to \
                 {VERSION}: read it with the version that made it,"
            ));
        }
        if version < OLDEST {
            return Err(format!("there is no format {version} of a recording,"));
        }
        let line: HeaderLine<'_> = from_json(text)?;
        possible(&line.shape)?;
        let mut notes = Vec::new();
        let config = config(line.config, &mut notes);
        let state = state(line.state, version, config.as_ref(), &mut notes);
        let sample = Box::new(line.shape.unknown());
        let columns = places(&sample, &line.columns, &mut notes);
        self.base = Base::Last { sample, columns };
        Ok(Header {
            facts: line.facts,
            config,
            state,
            shape: line.shape,
            notes,
        })
    }

    fn sample(&mut self, cells: &str) -> Result<Option<Entry>, String> {
        match &mut self.base {
            Base::None => Err("a sample before any header".to_owned()),
            Base::Broken => Ok(None),
            Base::Last { sample, columns } => match fill(sample, columns, cells) {
                Ok(()) => {
                    sample.scan = std::mem::take(&mut self.scan);
                    if let Some(groups) = self.groups.take() {
                        sample.groups = groups;
                    }
                    Ok(Some(Entry::Sample(sample.clone())))
                }
                Err(what) => {
                    self.base = Base::Broken;
                    Err(what)
                }
            },
        }
    }
}

/// Puts the changed cells of a line into `sample`.
fn fill(sample: &mut Sample, columns: &[Column], cells: &str) -> Result<(), String> {
    let mut cells = cells.split('\t');
    let mut number = |name| {
        cells
            .next()
            .and_then(decimal)
            .ok_or_else(|| format!("no valid {name}"))
    };
    sample.at = Span::new(Duration::from_nanos(number("time since boot")?));
    sample.wall = Wall(number("wall-clock time")?);
    let mut sections: Vec<_> = sample.sections_mut().collect();
    let mut columns = columns.iter().enumerate();
    for cell in cells {
        let (index, column) = columns.next().ok_or("more cells than columns")?;
        let value = match cell {
            "" => continue,
            "-" => None,
            digits => Some(
                decimal(digits).ok_or_else(|| format!("no valid number in cell {}", index + 1))?,
            ),
        };
        if let Some((section, field)) = *column {
            sections[section].set(field, value);
        }
    }
    Ok(())
}

/// Digits only: `parse` alone would take a sign.
fn decimal(text: &str) -> Option<u64> {
    if text.starts_with('+') {
        None
    } else {
        text.parse().ok()
    }
}

/// Where each named column goes.
fn places(sample: &Sample, names: &[(String, String)], notes: &mut Vec<String>) -> Vec<Column> {
    let fields = sample
        .sections()
        .map(|section| section.fields().len())
        .enumerate();
    let places =
        fields.flat_map(|(section, fields)| (0..fields).map(move |field| (section, field)));
    let ours = columns(sample);
    let by_name: HashMap<_, _> = ours
        .iter()
        .zip(places)
        .map(|((name, unit), place)| ((name.as_str(), *unit), place))
        .collect();
    let columns: Vec<Column> = names
        .iter()
        .map(|(name, unit)| by_name.get(&(name.as_str(), unit.as_str())).copied())
        .collect();
    let unknown: Vec<&str> = names
        .iter()
        .zip(&columns)
        .filter(|(_, column)| column.is_none())
        .map(|((name, _), _)| name.as_str())
        .collect();
    if !unknown.is_empty() {
        let named: Vec<String> = unknown.iter().take(NAMED).map(|name| cut(name)).collect();
        let more = match unknown.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        notes.push(format!(
            "columns this version does not know are passed over: {}{more}",
            named.join(", ")
        ));
    }
    columns
}

/// Errors: more zones, nodes, pools or swap areas than a machine can have. A sample has numbers for each of them.
fn possible(shape: &Shape) -> Result<(), String> {
    let parts = [
        ("zones", shape.zones.len(), MOST_ZONES),
        ("nodes", shape.nodes.len(), MOST_NODES),
        ("pools of huge pages", shape.pools.len(), MOST_POOLS),
        ("swap areas", shape.swaps.len(), MOST_SWAPS),
    ];
    for (name, count, most) in parts {
        if count > most {
            return Err(format!(
                "{count} {name}, and no machine has more than {most},"
            ));
        }
    }
    Ok(())
}

/// The start of `text`.
fn cut(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

fn config(text: Option<&RawValue>, notes: &mut Vec<String>) -> Option<Config> {
    let text = text.map_or("null", RawValue::get);
    let read = if text.len() > MOST_TREE {
        Err("it is too long".to_owned())
    } else {
        from_json(text).and_then(|tree| Config::recorded(tree).map_err(|error| error.to_string()))
    };
    match read {
        Ok(config) => Some(config),
        Err(error) => {
            notes.push(format!(
                "the configuration of this recording cannot be read ({error}): give one with --config"
            ));
            None
        }
    }
}

/// The state of the decision core in a header of this `version`.
fn state(
    text: Option<&RawValue>,
    version: u64,
    config: Option<&Config>,
    notes: &mut Vec<String>,
) -> Option<History> {
    let text = text.map_or("null", RawValue::get);
    let Ok(mut state) = from_json::<History>(text) else {
        notes.push(format!(
            "this recording was made by format {version}; its decision state cannot be read, so \
             decisions are made from a fresh state and may differ"
        ));
        return None;
    };
    if let Some(config) = config {
        state.complete_by(config);
    }
    Some(state)
}

/// A decision, without steps of local replacement, which is no part of the guard any more.
fn decision(text: &str) -> Result<Decision, String> {
    const LOCAL: &str = "\"do\":\"local\"";
    if text.len() > MOST_TREE || !text.contains(LOCAL) {
        return from_json(text);
    }
    let mut value: Value = from_json(text)?;
    if let Some(steps) = value.get_mut("steps").and_then(Value::as_array_mut) {
        steps.retain(|step| step["action"]["do"] != "local");
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn from_json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
