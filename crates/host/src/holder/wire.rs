//! What the guard and the process that locks say to each other: small messages, each whole, over one socket pair.
//!
//! ```text
//! guard ─► holder   'P' and the programs that must answer, first · five numbers: an act of protection
//!                   'F' a path that was named, with its place in the list and the length of that
//! guard ◄─ holder   'R' and the numbers of a report · 'N' a file and its name · 'M' a means that was tried
//!                   'H' what was found at a path that was named · 'T' an error, in words
//! ```
//!
//! Both are of one build and one machine, so numbers are as the CPU has them, and an unknown one is all ones.

use super::check;
use pressure::means::Means;
use pressure::protect::{Act, FileId, Ranges, Warm};
use pressure::status::NamedPath;
use std::path::PathBuf;
use units::Bytes;

/// No message is longer.
pub const MOST_BYTES: usize = 4096;
const UNKNOWN: u64 = u64::MAX;
const WORD: usize = size_of::<u64>();
const ORDER: usize = 5 * WORD;

/// What the holder says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tale<'m> {
    /// A new report, which was put into the caller's.
    Report,
    /// What a file is called.
    Name(FileId, &'m str),
    /// A means that it tried.
    Means(Means),
    /// What was found at a path that was named.
    Named(NamedPath),
    /// What went wrong.
    Error(&'m str),
}

/// One path of a list of those that were named: the list is whole once its last one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'m> {
    /// Its place in the list, from 0 on.
    pub place: u64,
    /// Paths in the list; an empty list is sent as one entry without a path.
    pub of: u64,
    /// The path.
    pub path: &'m str,
}

/// An act as a message.
pub fn order(act: &Act) -> [u8; ORDER] {
    let words = match act {
        Act::Watch => [1, 0, 0, 0, 0],
        Act::Rest => [2, 0, 0, 0, 0],
        Act::Hold { file, ranges, .. } => [
            3,
            file.device,
            file.inode,
            ranges.shift.into(),
            ranges.segments,
        ],
        Act::Release { file } => [4, file.device, file.inode, 0, 0],
        Act::HoldNamed { amount } => [5, amount.get(), 0, 0, 0],
    };
    let mut message = [0; ORDER];
    for (place, word) in message.chunks_exact_mut(WORD).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    message
}

/// The act in a message; `None` if it is none. How much is to be held is not in it: the holder sees that itself.
pub fn act(message: &[u8]) -> Option<Act> {
    let mut words = [0; 5];
    if message.len() != ORDER {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(message.chunks_exact(WORD)) {
        *word = u64::from_ne_bytes(bytes.try_into().ok()?);
    }
    let [kind, device, inode, shift, segments] = words;
    let file = FileId { device, inode };
    match kind {
        1 => Some(Act::Watch),
        2 => Some(Act::Rest),
        3 => {
            let shift = u32::try_from(shift)
                .ok()
                .filter(|shift| *shift < u64::BITS)?;
            Some(Act::Hold {
                file,
                ranges: Ranges { shift, segments },
                amount: Bytes::ZERO,
            })
        }
        4 => Some(Act::Release { file }),
        5 => Some(Act::HoldNamed {
            amount: Bytes::new(device),
        }),
        _ => None,
    }
}

/// Executables of programs that must answer, as a message. One that no longer fits is left out.
pub fn programs(programs: &[String]) -> Vec<u8> {
    let mut message = vec![b'P'];
    for program in programs {
        if message.len() + program.len() < MOST_BYTES {
            message.extend_from_slice(program.as_bytes());
            message.push(0);
        }
    }
    message
}

/// The programs in a message; `None` if it has none.
pub fn programs_in(message: &[u8]) -> Option<Vec<PathBuf>> {
    let rest = message.strip_prefix(b"P")?;
    let names = rest
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    let paths = names.filter_map(|name| std::str::from_utf8(name).ok());
    Some(paths.map(PathBuf::from).collect())
}

/// A path that was named, as a message.
pub fn entry(entry: &Entry<'_>) -> Vec<u8> {
    let mut message = vec![b'F'];
    message.extend_from_slice(&entry.place.to_ne_bytes());
    message.extend_from_slice(&entry.of.to_ne_bytes());
    message.extend_from_slice(entry.path.as_bytes());
    message
}

/// The path in a message; `None` if it has none.
pub fn entry_in(message: &[u8]) -> Option<Entry<'_>> {
    let rest = message.strip_prefix(b"F")?;
    let (place, rest) = number(rest)?;
    let (of, rest) = number(rest)?;
    Some(Entry {
        place,
        of,
        path: std::str::from_utf8(rest).ok()?,
    })
}

/// What was found at a path, as a message put into `out`; a long reason is cut.
pub fn named(named: &NamedPath, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'H');
    let amount = |amount: Option<Bytes>| amount.map(Bytes::get);
    let numbers = [
        named.files,
        amount(named.size),
        named.held_files,
        amount(named.held),
    ];
    for number in numbers {
        out.extend_from_slice(&number.unwrap_or(UNKNOWN).to_ne_bytes());
    }
    out.extend_from_slice(named.path.as_bytes());
    out.push(0);
    let why = named.why.as_deref().unwrap_or_default();
    let headroom = MOST_BYTES.saturating_sub(out.len());
    let cut = (0..=headroom.min(why.len()))
        .rev()
        .find(|cut| why.is_char_boundary(*cut));
    out.extend_from_slice(&why.as_bytes()[..cut.unwrap_or(0)]);
}

fn named_in(rest: &[u8]) -> Option<NamedPath> {
    let known = |number: u64| (number != UNKNOWN).then_some(number);
    let (files, rest) = number(rest)?;
    let (size, rest) = number(rest)?;
    let (held_files, rest) = number(rest)?;
    let (held, rest) = number(rest)?;
    let (path, why) = std::str::from_utf8(rest).ok()?.split_once('\0')?;
    Some(NamedPath {
        path: path.to_owned(),
        files: known(files),
        size: known(size).map(Bytes::new),
        held_files: known(held_files),
        held: known(held).map(Bytes::new),
        why: (!why.is_empty()).then(|| why.to_owned()),
    })
}

/// The number at the begin of these bytes, and what comes after it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<WORD>()?;
    Some((u64::from_ne_bytes(*number), rest))
}

/// A means as a message, put into `out`.
pub fn means(means: &Means, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'M');
    out.extend(check::line(means).bytes().take(MOST_BYTES - 1));
}

/// A report as a message, put into `out`.
pub fn report(warm: &Warm, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'R');
    for section in warm.sections() {
        for index in 0..section.fields().len() {
            out.extend_from_slice(&section.get(index).unwrap_or(UNKNOWN).to_ne_bytes());
        }
    }
}

/// The name of a file as a message, put into `out`; a long one loses its begin.
pub fn name(file: FileId, name: &str, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'N');
    [file.device, file.inode]
        .iter()
        .for_each(|word| out.extend_from_slice(&word.to_ne_bytes()));
    let headroom = MOST_BYTES - out.len();
    let cut =
        (name.len().saturating_sub(headroom)..=name.len()).find(|cut| name.is_char_boundary(*cut));
    out.extend_from_slice(&name.as_bytes()[cut.unwrap_or(name.len())..]);
}

/// A error as a message, put into `out`.
pub fn error(text: &str, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'T');
    out.extend(text.bytes().take(MOST_BYTES - 1));
}

/// What a message says; a report is put into `warm`. `None` for what is no message. Allocates nothing but for a means.
pub fn tale<'m>(message: &'m [u8], warm: &mut Warm) -> Option<Tale<'m>> {
    let (kind, rest) = message.split_first()?;
    match kind {
        b'R' => {
            let mut words = rest
                .chunks_exact(WORD)
                .filter_map(|bytes| bytes.try_into().ok())
                .map(u64::from_ne_bytes);
            for section in warm.sections_mut() {
                for index in 0..section.fields().len() {
                    let word = words.next()?;
                    section.set(index, (word != UNKNOWN).then_some(word));
                }
            }
            Some(Tale::Report)
        }
        b'N' => {
            let (device, rest) = number(rest)?;
            let (inode, rest) = number(rest)?;
            let file = FileId { device, inode };
            Some(Tale::Name(file, std::str::from_utf8(rest).ok()?))
        }
        b'M' => Some(Tale::Means(check::parse(std::str::from_utf8(rest).ok()?)?)),
        b'H' => Some(Tale::Named(named_in(rest)?)),
        b'T' => Some(Tale::Error(std::str::from_utf8(rest).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_act_arrives_as_it_was_sent() {
        let file = FileId {
            device: 0xfe01,
            inode: 12,
        };
        let ranges = Ranges {
            shift: 9,
            segments: 0xff0,
        };
        for sent in [
            Act::Watch,
            Act::Rest,
            Act::Hold {
                file,
                ranges,
                amount: Bytes::ZERO,
            },
            Act::Release { file },
            Act::HoldNamed {
                amount: Bytes::mib(7),
            },
        ] {
            assert_eq!(act(&order(&sent)), Some(sent));
        }
        assert_eq!(act(&[0; ORDER]), None);
        assert_eq!(act(&order(&Act::Watch)[1..]), None);
    }

    #[test]
    fn a_report_arrives_as_it_was_sent() {
        let mut warm = Warm::default();
        warm.sums.watching = Some(0);
        warm.places_mut()[15].inode = Some(77);
        warm.places_mut()[3].hot = Some(u64::MAX - 1);
        let mut out = Vec::new();
        let mut got = Warm::default();
        report(&warm, &mut out);
        assert!(out.len() < MOST_BYTES);
        assert_eq!(tale(&out, &mut got), Some(Tale::Report));
        assert_eq!(got, warm);
    }

    #[test]
    fn programs_and_means_arrive_as_they_were_sent() {
        let sent = ["/usr/sbin/sshd".to_owned(), "/usr/bin/x y".to_owned()];
        let paths = sent.clone().map(PathBuf::from);
        assert_eq!(programs_in(&programs(&sent)), Some(paths.to_vec()));
        assert_eq!(programs_in(&programs(&[])), Some(Vec::new()));
        assert_eq!(programs_in(&order(&Act::Watch)), None);
        let many = vec!["/long".repeat(300); 9];
        assert!(programs(&many).len() <= MOST_BYTES);
        let mut out = Vec::new();
        let tried = Means::not_armed("locks", "no limit", Some("raise it"));
        means(&tried, &mut out);
        assert_eq!(
            tale(&out, &mut Warm::default()),
            Some(Tale::Means(tried.clone()))
        );
    }

    #[test]
    fn names_and_errors_arrive_and_long_ones_are_cut() {
        let mut out = Vec::new();
        let mut warm = Warm::default();
        let file = FileId {
            device: 1,
            inode: 2,
        };
        name(file, "/data/höt", &mut out);
        assert_eq!(tale(&out, &mut warm), Some(Tale::Name(file, "/data/höt")));
        name(file, &"ö".repeat(3000), &mut out);
        assert!(matches!(tale(&out, &mut warm), Some(Tale::Name(_, cut)) if cut.len() > 4000));
        error("no tracepoints", &mut out);
        assert_eq!(tale(&out, &mut warm), Some(Tale::Error("no tracepoints")));
    }

    #[test]
    fn named_paths_and_what_was_found_arrive_as_they_were_sent() {
        let sent = Entry {
            place: 3,
            of: 7,
            path: "/srv/höt data",
        };
        assert_eq!(entry_in(&entry(&sent)), Some(sent));
        assert_eq!(entry_in(&entry(&sent)[..9]), None);
        let mut out = Vec::new();
        let mut found = NamedPath {
            path: "/srv/höt data".to_owned(),
            files: Some(2),
            size: Some(Bytes::mib(3)),
            held_files: Some(0),
            held: None,
            why: Some("it does not fit".to_owned()),
        };
        named(&found, &mut out);
        assert_eq!(
            tale(&out, &mut Warm::default()),
            Some(Tale::Named(found.clone()))
        );
        found.why = Some("ö".repeat(4000));
        named(&found, &mut out);
        assert!(out.len() <= MOST_BYTES);
        assert!(
            matches!(tale(&out, &mut Warm::default()), Some(Tale::Named(cut))
            if cut.why.as_ref().is_some_and(|why| why.len() > 3900))
        );
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(message in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = tale(&message, &mut Warm::default());
            let _ = act(&message);
            let _ = programs_in(&message);
            let _ = entry_in(&message);
        }
    }
}
