//! Recorded machines, read as one reads `/`, and compared with what was seen when they were recorded.
#![allow(clippy::unwrap_used, reason = "a test may")]

use expect_test::expect_file;
use host::SystemReader;
use pressure::Sample;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .canonicalize()
        .unwrap()
}

fn machines() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut machines: Vec<PathBuf> = entries
        .filter(|path| path.join("page_size").exists())
        .collect();
    machines.sort();
    machines
}

fn read(root: &Path) -> (SystemReader, Sample) {
    let mut reader = SystemReader::open(root).unwrap();
    let mut sample = Sample::default();
    reader.read(&mut sample);
    (reader, sample)
}

/// Facts, then a line for each number that is known.
fn listing(reader: &SystemReader, sample: &Sample) -> String {
    let mut lines = format!(
        "{:#?}\n{:?}\n{:?}\n",
        reader.facts(),
        sample.at,
        sample.wall
    );
    for (label, section) in sample.labels().iter().zip(sample.sections()) {
        for (index, field) in section.fields().iter().enumerate() {
            if let Some(value) = section.get(index) {
                writeln!(lines, "{label} {} = {value} {}", field.name, field.unit).unwrap();
            }
        }
    }
    lines
}

/// When a change is meant, run the test with `UPDATE_EXPECT=1`.
#[test]
fn every_recorded_machine_is_seen_as_expected() {
    let machines = machines();
    assert!(machines.len() >= 3, "{machines:?}");
    for machine in machines {
        let (reader, sample) = read(&machine);
        assert_eq!(
            reader
                .warnings()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            [""; 0]
        );
        expect_file![machine.join("sample.expected")].assert_eq(&listing(&reader, &sample));
    }
}

#[test]
fn a_second_reading_of_a_recorded_machine_is_the_same() {
    for machine in machines() {
        let (mut reader, first) = read(&machine);
        let mut second = first.clone();
        reader.read(&mut second);
        assert_eq!(first, second);
    }
}
