//! Recordings that nobody's guard made: whatever is in them, reading takes little memory, ends, and shows nothing that
//! controls a terminal.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use flate2::Compression;
use flate2::write::GzEncoder;
use place::{Place, Said};
use pressure::sample::{Sample, Wall, Zone};
use std::io::Write;
use std::process::Command;
use testsupport::recorded;
use units::terminal::is_dangerous;
use units::{Pages, Span};

/// What a reader may take, in KiB: 200 MB with its code and stacks.
const MEMORY: u32 = 200_000_000 / 1024;

/// All that reads a recording.
const READERS: [&[&str]; 5] = [
    &["replay", "FILE"],
    &["replay", "FILE", "--compare"],
    &["replay", "FILE", "--coverage"],
    &["why", "--recording", "FILE"],
    &["report", "--from", "FILE", "-o", "-"],
];

/// Runs all readers on a recording; each must end by itself.
fn read(name: &str, recording: &[u8]) -> Vec<Said> {
    let place = Place::new();
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(recording).unwrap();
    place.write("hostile.rec.gz", zipped.finish().unwrap());
    let mut said = Vec::new();
    for words in READERS {
        let words = words
            .iter()
            .map(|word| word.replace("FILE", "hostile.rec.gz"));
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_warmset"))
            .args(words.clone())
            .current_dir(place.dir.path())
            .output()
            .unwrap();
        let output = Said::new(output, place.dir.path());
        let words: Vec<String> = words.collect();
        assert!(
            matches!(output.code, Some(0 | 1)),
            "{name}: {words:?}: {output:?}"
        );
        said.push(output);
    }
    said
}

/// A recording of this many samples, a second apart, with a decision after each.
fn recording(samples: u64, apart: u64) -> Vec<u8> {
    let sample = |number: u64| {
        let mut sample = Sample {
            at: Span::secs(number.saturating_mul(apart)),
            wall: Wall(1_795_225_685_000 + number * 1000),
            ..Sample::default()
        };
        sample.zones.push(Zone::default());
        sample.counters.nr_free_pages = Some(Pages::new(10_000 + number % 7));
        sample.counters.pgsteal_kswapd = Some(number);
        sample.counters.pgsteal_direct = Some(0);
        sample
    };
    recorded((0..samples).map(sample))
}

/// A recording whose header has this text in place of another.
fn with_header(old: &str, new: &str) -> Vec<u8> {
    let text = String::from_utf8(recording(3, 1)).unwrap();
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1).into_bytes()
}

#[test]
fn what_is_no_recording_is_left_soon() {
    read("lines of rubbish", &b"x\n".repeat(20 << 20));
    read("blanks", &vec![b' '; 200 << 20]);
    read(
        "tabs",
        &[recording(2, 1), b"s\t1\t1".to_vec(), vec![b'\t'; 100 << 20]].concat(),
    );
    read("brackets", &vec![b'['; 3 << 20]);
    read("zeros", &vec![0; 200 << 20]);
}

#[test]
fn a_header_of_an_impossible_machine_takes_no_memory() {
    let zones = "[0,\"DMA\"],".repeat(400_000);
    let zones = with_header("\"zones\":[", &format!("\"zones\":[{zones}"));
    let said = read("zones", &zones);
    assert!(
        said[0]
            .err
            .contains("400001 zones, and no machine has more")
    );
    let columns = "[\"a\",\"b\"],".repeat(300_000);
    let said = read(
        "columns",
        &with_header("\"columns\":[", &format!("\"columns\":[{columns}")),
    );
    assert!(
        said[0]
            .out
            .contains("a, a, a, a, a, a, a, a, a, a, and 299990 more")
    );
    let tree = "{\"a\":0},".repeat(400_000);
    read(
        "configuration",
        &with_header("\"config\":{", &format!("\"config\":{{\"b\":[{tree}0],")),
    );
    read(
        "state",
        &with_header("\"state\":{", &format!("\"state\":{{\"b\":[{tree}0],")),
    );
}

#[test]
fn many_flaws_are_told_in_few_lines() {
    let mut text = recording(3, 1);
    for _ in 0..100_000 {
        text.extend(b"x\nlost\t1\n");
    }
    for said in read("flaws", &text) {
        assert!(said.out.lines().count() < 4000, "a line for each");
    }
    let many_headers = recording(1, 1).repeat(2000);
    read("headers", &many_headers);
}

#[test]
fn a_long_recording_takes_no_more_memory_than_a_short_one() {
    let said = read("samples", &recording(5000, 1));
    assert!(
        said[0].out.contains("5000 decisions made again"),
        "{:?}",
        said[0]
    );
    read("centuries", &recording(50, 100 * 365 * 86_400));
}

#[test]
fn nothing_in_a_recording_controls_the_terminal() {
    let evil = "\\u001b]0;title\\u0007\\u009b2J\\u202e<i onclick=x>";
    let names = ["\"kernel\":\"", "\"boot_id\":\"", "\"columns\":[[\""];
    for name in names {
        let text = with_header(name, &format!("{name}{evil}"));
        let mut said = read(name, &text);
        let page = said.pop().unwrap();
        assert!(!page.out.contains("<i onclick"), "{name}: {}", page.out);
        for said in said {
            let shown = said.out + &said.err;
            let is_bad =
                |character: char| is_dangerous(character) && !matches!(character, '\n' | '\t');
            assert!(!shown.contains(is_bad), "{name}: {shown:?}");
        }
    }
}
