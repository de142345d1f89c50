use super::*;
use pressure::decide;
use pressure::recording::Entry;
use pressure::sample::Zone;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use testsupport::facts;
use units::{Bytes, Pages};

const WALL: Wall = Wall(1_795_225_685_000);

/// One sample a second, of numbers that do not compress to nothing.
fn sample(second: u64) -> Sample {
    let mut sample = Sample {
        at: Span::secs(second),
        wall: Wall(WALL.0 + second * 1000),
        ..Sample::default()
    };
    sample.zones.push(Zone::default());
    sample.counters.nr_free_pages =
        Some(Pages::new(second.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20));
    sample
}

fn config(file_size: u64, files: u32) -> Config {
    let mut config = Config::default();
    config.recording.file_size = Bytes::new(file_size);
    config.recording.size = Bytes::new(file_size * u64::from(files));
    config
}

/// Records `seconds` as the daemon would.
fn record(recorder: &mut RecordingWriter, config: &Config, seconds: std::ops::Range<u64>) {
    let mut history = History::new(&facts(), config);
    for second in seconds {
        history.push(&sample(second));
        recorder
            .push(&sample(second), Some(&decide(config, &history)))
            .unwrap();
    }
}

fn seconds(reader: &mut Reader) -> Vec<u64> {
    let entries = reader.map(Result::unwrap);
    entries
        .filter_map(|entry| {
            if let Entry::Sample(sample) = entry {
                Some(sample.at.get().as_secs())
            } else {
                None
            }
        })
        .collect()
}

fn all(directory: &Path) -> Vec<u64> {
    list(directory)
        .unwrap()
        .iter()
        .flat_map(|path| seconds(&mut Reader::open(path).unwrap()))
        .collect()
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("recordings");
    (temp, path)
}

fn recorder(path: &Path, config: &Config) -> Result<RecordingWriter, RecordError> {
    RecordingWriter::create(path, &facts(), config, &History::new(&facts(), config))
}

#[test]
fn files_are_private_and_named_by_time_and_number() {
    let (_temp, path) = directory();
    let config = Config::default();
    let mut first = recorder(&path, &config).unwrap();
    record(&mut first, &config, 0..3);
    drop(first);
    record(&mut recorder(&path, &config).unwrap(), &config, 3..5);
    let names: Vec<String> = list(&path)
        .unwrap()
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        [
            "warmset-20261121T014805Z-000001.rec.gz",
            "warmset-20261121T014808Z-000002.rec.gz"
        ]
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(
        (mode(&path), mode(&newest(&path).unwrap().unwrap())),
        (0o750, 0o640)
    );
    assert_eq!(all(&path), [0, 1, 2, 3, 4]);
}

#[test]
fn the_days_have_their_dates() {
    let days = |days: u64| files::utc(Wall(days * 86_400_000));
    assert_eq!(days(0), "19700101T000000Z");
    assert_eq!(days(11_016), "20000229T000000Z");
    assert_eq!(days(11_017), "20000301T000000Z");
    assert_eq!(days(20_453), "20251231T000000Z");
    assert!(files::utc(Wall(u64::MAX)).ends_with('Z'));
}

#[test]
fn full_files_make_room_and_every_file_stands_alone() {
    let (_temp, path) = directory();
    let config = config(4096, 3);
    let mut recorder = recorder(&path, &config).unwrap();
    record(&mut recorder, &config, 0..400);
    drop(recorder);
    let files = list(&path).unwrap();
    assert_eq!(files.len(), 2, "each is a little larger than it should be");
    let kept = all(&path);
    assert_eq!(
        kept,
        (kept[0]..400).collect::<Vec<_>>(),
        "the oldest are gone, and nothing else"
    );
    for file in &files {
        let entries: Vec<Entry> = Reader::open(file).unwrap().map(Result::unwrap).collect();
        let again = pressure::replay::decide_again(&entries, None).unwrap();
        assert!(
            again.decisions > 0 && again.differing.is_empty(),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_file_cut_anywhere_loses_its_last_member_only() {
    let (_temp, path) = directory();
    let config = Config::default();
    let mut recorder = recorder(&path, &config).unwrap();
    record(&mut recorder, &config, 0..95);
    drop(recorder);
    let file = newest(&path).unwrap().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let members: Vec<usize> = (0..whole.len() - 3)
        .filter(|&at| whole[at..].starts_with(&[0x1f, 0x8b, 8, 0]))
        .collect();
    assert_eq!(
        members.len(),
        5,
        "the header's, one for each thirty seconds, and the rest"
    );
    for cut in [
        members[4] - 1,
        members[4],
        members[4] + 1,
        members[4] + 9,
        members[4] + 40,
        whole.len() - 1,
    ] {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let mut reader = Reader::open(&file).unwrap();
        let read = seconds(&mut reader);
        // A member takes 31 samples: it is closed by the one thirty seconds after its first.
        let least = if cut < members[4] { 63 } else { 94 };
        assert!(
            read.len() >= least && read.iter().copied().eq(0..read.len() as u64),
            "{cut}: {read:?}"
        );
        let notes = reader.notes().to_string();
        let is_noted = notes.contains("cut in the middle");
        assert_eq!(is_noted, cut != members[4], "{cut}: {notes}");
    }
}

#[test]
fn plain_text_is_read_too_and_a_half_line_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("plain.rec");
    let config = Config::default();
    let history = History::new(&facts(), &config);
    let mut recorder = RecordingWriter::single(&path, &facts(), &config, &history).unwrap();
    record(&mut recorder, &config, 0..3);
    recorder.lost(2);
    drop(recorder);
    let again = RecordingWriter::single(&path, &facts(), &config, &history)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        again.contains("plain.rec: cannot record: File exists"),
        "{again}"
    );
    let mut text = String::new();
    File::open(&path)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.starts_with("{\"warmset-recording\":2,") && text.ends_with("\nlost\t2\n"));
    text.push_str("s\t99");
    std::fs::write(&path, text).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(seconds(&mut reader), [0, 1, 2]);
    let notes = reader.notes().to_string();
    assert!(
        notes.contains("cut in the middle of a line, after line 8"),
        "{notes}"
    );
}

#[test]
fn what_others_may_write_to_is_refused() {
    let (_temp, path) = directory();
    std::fs::create_dir(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
    let config = Config::default();
    let error = recorder(&path, &config).unwrap_err().to_string();
    assert!(
        error.contains("others may write to this directory (mode 777, want 700)"),
        "{error}"
    );
    let link = path.with_file_name("link");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    symlink(&path, &link).unwrap();
    assert!(recorder(&link, &config).is_err(), "a link is not followed");
}

/// `/dev/full` takes nothing, as a full disk.
#[test]
fn a_full_disk_is_told_once() {
    let config = Config::default();
    let history = History::new(&facts(), &config);
    let temp = tempfile::tempdir().unwrap();
    let mut recorder =
        RecordingWriter::single(&temp.path().join("a.rec"), &facts(), &config, &history).unwrap();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    recorder.target = Target::Stream {
        path: "/dev/full".into(),
        out: Stream::File(full),
        gzip: true,
    };
    let error = recorder.push(&sample(0), None).unwrap_err().to_string();
    assert!(
        error.contains("/dev/full: cannot record: No space left"),
        "{error}"
    );
    assert!(recorder.is_stopped());
    recorder.push(&sample(120), None).unwrap();
    recorder.flush().unwrap();
}

/// A directory of no size, as a full disk: a file's name is there, and what is written to it is refused.
#[test]
fn a_directory_is_tried_again_when_the_disk_has_room() {
    let (_temp, path) = directory();
    let config = Config::default();
    let mut recorder = recorder(&path, &config).unwrap();
    record(&mut recorder, &config, 0..3);
    let Target::Directory(directory) = &mut recorder.target else {
        panic!("a directory")
    };
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    directory.fill_the_disk(full.unwrap());
    for second in 3..40 {
        let pushed = recorder.push(&sample(second), None);
        assert_eq!(pushed.is_err(), second == 31, "{second}: {pushed:?}");
    }
    assert!(recorder.is_stopped());
    for second in 40..95 {
        recorder.push(&sample(second), None).unwrap();
        assert_eq!(recorder.is_stopped(), second < 91, "{second}");
    }
    drop(recorder);
    let files = list(&path).unwrap();
    assert_eq!(files.len(), 2);
    let entries: Vec<Entry> = Reader::open(&files[1])
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let Entry::Header(header) = &entries[0] else {
        panic!("{:?}", entries[0])
    };
    let mut state = History::new(&facts(), &config);
    (0..91).for_each(|second| state.push(&sample(second)));
    assert_eq!(header.state.as_ref(), Some(&state), "it missed nothing");
    let kept = all(&path);
    let Entry::Lost(missed) = entries[1] else {
        panic!("{:?}", entries[1])
    };
    assert_eq!(missed + kept.len() as u64, 95);
    assert_eq!(kept[kept.len() - 4..], [91, 92, 93, 94]);
}

#[test]
fn restarts_delete_nothing_and_the_size_of_all_files_is_bounded() {
    let (_temp, path) = directory();
    let config = config(8192, 32);
    for start in 0..20 {
        let mut recorder = recorder(&path, &config).unwrap();
        recorder.push(&sample(start), None).unwrap();
    }
    assert_eq!(all(&path).len(), 20, "an incident survives a crash loop");
    let mut recorder = recorder(&path, &config).unwrap();
    record(&mut recorder, &config, 20..4000);
    drop(recorder);
    let files = list(&path).unwrap();
    let sizes = files
        .iter()
        .map(|file| std::fs::metadata(file).unwrap().len());
    let size: u64 = sizes.sum();
    let most = config.recording.size.get() + MEMBER as u64;
    assert!(size <= most, "{size} of {most}");
    assert_eq!(all(&path).last(), Some(&3999));
}

#[test]
fn what_was_written_too_long_ago_is_deleted() {
    let (_temp, path) = directory();
    let config = Config::default();
    for start in 0..3 {
        recorder(&path, &config)
            .unwrap()
            .push(&sample(start), None)
            .unwrap();
    }
    let files = list(&path).unwrap();
    let written = |days_before: u64| {
        let now = Duration::from_millis(sample(3).wall.0);
        std::time::UNIX_EPOCH + now - Duration::from_secs(days_before * 86_400)
    };
    for (file, days) in files.iter().zip([31, 29, 0]) {
        File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_modified(written(days))
            .unwrap();
    }
    recorder(&path, &config)
        .unwrap()
        .push(&sample(3), None)
        .unwrap();
    assert_eq!(all(&path), [1, 2, 3]);
}

#[test]
fn a_new_state_opens_a_new_header() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.rec.gz");
    let config = Config::default();
    let mut history = History::new(&facts(), &config);
    let mut recorder = RecordingWriter::single(&path, &facts(), &config, &history).unwrap();
    recorder.push(&sample(0), None).unwrap();
    recorder.lost(3);
    (0..4).for_each(|second| history.push(&sample(second)));
    recorder.restate(&config, &history);
    recorder.push(&sample(4), None).unwrap();
    drop(recorder);
    let entries: Vec<Entry> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
    let [
        _,
        Entry::Sample(_),
        Entry::Lost(3),
        Entry::Header(header),
        Entry::Sample(_),
    ] = &entries[..]
    else {
        panic!("{entries:?}")
    };
    assert_eq!(header.state.as_ref(), Some(&history));
}

#[test]
fn an_absent_file_is_an_error_with_its_path() {
    let error = Reader::open(Path::new("/nowhere/a.rec.gz"))
        .map(drop)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "/nowhere/a.rec.gz: cannot read: No such file or directory (os error 2)"
    );
}

/// A recording in memory, by the name that its notes have.
fn reader(text: Vec<u8>) -> Result<Reader, ReadError> {
    Reader::of(Path::new("a.rec"), Box::new(io::Cursor::new(text)))
}

#[test]
fn lines_without_end_that_cannot_be_read_are_not_all_tried() {
    let mut text = b"{\n".repeat(900);
    text.extend(b"lost\t1\n");
    text.extend(b"x\n".repeat(100_000));
    text.extend(b"lost\t2\n");
    let mut entries = Vec::new();
    let notes = read([reader(text)], |entry| {
        entries.push(entry);
        Ok::<(), ReadError>(())
    })
    .unwrap();
    assert_eq!(entries, [Entry::Lost(1)]);
    let lines = notes.lines();
    assert_eq!(lines.len(), 21);
    assert_eq!(
        lines[20],
        "and 1881 more, the last of them: a.rec: 1000 lines in a row, up to line 1901, cannot be read; what comes after \
         them is not read"
    );
}

#[test]
fn a_line_without_end_is_an_error_and_takes_no_memory() {
    let error = read([reader(vec![b' '; 8 << 20])], |_| Ok::<(), ReadError>(())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.rec: cannot read: a line longer than 4 MiB"
    );
}
