//! The recordings of the VM lab that are kept in `fixtures/lab` and `fixtures/incidents` are decided again as they were.
//!
//! A change of a decision that was not meant fails here. One that was meant needs the recordings
//! written anew: `warmset replay FILE --rewrite NEW`.

#![allow(clippy::unwrap_used, reason = "a test may")]

use host::recordings::{ReadError, Reader, read};
use pressure::replay::Deciding;
use std::path::{Path, PathBuf};

#[test]
fn every_kept_recording_verifies() {
    let mut files = recordings_in("lab");
    assert_eq!(files.len(), 14);
    files.extend(recordings_in("incidents"));
    assert_eq!(files.len(), 15);
    for file in files {
        let name = file.display().to_string();
        let mut deciding = Deciding::by(None);
        let notes = read([Reader::open(&file)], |entry| {
            deciding.take(&entry).unwrap();
            Ok::<(), ReadError>(())
        });
        let notes = notes.unwrap();
        assert!(notes.is_empty(), "{notes}");
        let again = deciding.end().unwrap();
        assert_eq!(again.without_state, 0, "{name}");
        assert!(
            again.decisions > 200,
            "{name}: {} decisions",
            again.decisions
        );
        assert_eq!(again.differ, 0, "{name}: decisions differ");
    }
}

/// The recordings in a directory of `fixtures`.
fn recordings_in(directory: &str) -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut files: Vec<PathBuf> = std::fs::read_dir(fixtures.join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    files
}
