use super::*;
use crate::holding::Holding;
use std::fs;
use tempfile::TempDir;

/// What a page is here.
fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// A directory beside the test's own program, and what was named by hand; `None` where that is on no local disk: there
/// nothing may be held.
fn bench() -> Option<(TempDir, NamedFiles)> {
    let program = std::env::current_exe().unwrap();
    let directory = TempDir::new_in(program.parent().unwrap()).unwrap();
    let path = directory.path().canonicalize().unwrap();
    match Tree::now().unwrap().look(&path) {
        Ok(_) => Some((directory, NamedFiles::new(1 << 20))),
        Err(why) => {
            eprintln!("skipped: {}: {why}", path.display());
            None
        }
    }
}

fn write(directory: &TempDir, name: &str, pages: u64) -> String {
    let path = directory.path().canonicalize().unwrap().join(name);
    fs::write(&path, vec![1; (pages * page()) as usize]).unwrap();
    path.to_str().unwrap().to_owned()
}

fn name(named: &mut NamedFiles, paths: &[&str], now: Instant) {
    for (place, path) in paths.iter().enumerate() {
        let entry = Entry {
            place: place as u64,
            of: paths.len() as u64,
            path,
        };
        named.take(&entry, now);
    }
}

/// Does all that is due; what was said.
fn settle(named: &mut NamedFiles, now: Instant) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        told.extend(named.step(now).1);
        if named.rest(now) != Some(Duration::ZERO) {
            return told;
        }
    }
}

fn allow(named: &mut NamedFiles, pages: u64) {
    named.allow(Bytes::new(pages * page()));
}

/// Pages that are locked, path by path, as it is told. All is told anew.
fn held(named: &mut NamedFiles) -> Vec<(u64, Option<String>)> {
    named.places.iter_mut().for_each(|place| place.told = None);
    named
        .news()
        .into_iter()
        .map(|told| (told.held.unwrap().get() / page(), told.why))
        .collect()
}

fn sums(named: &NamedFiles) -> [Option<u64>; 3] {
    let mut sums = WarmSums::default();
    named.sum_up(&mut sums);
    [sums.named, sums.named_asked, sums.named_held].map(|sum| Some(sum?.get() / page()))
}

#[test]
fn a_file_waits_for_the_guard_and_is_then_held_until_it_is_named_no_more() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let now = Instant::now();
    assert_eq!(sums(&named), [None; 3], "no list came");
    assert_eq!(named.rest(now), None);
    let path = write(&directory, "file", 300);
    name(&mut named, &[&path], now);
    assert_eq!(sums(&named), [None, Some(0), Some(0)], "not looked at yet");
    settle(&mut named, now);
    assert_eq!(sums(&named), [Some(300), Some(0), Some(0)]);
    let why = held(&mut named).remove(0).1.unwrap();
    assert!(why.contains("left out: 1 file of"), "{why}");
    allow(&mut named, 300);
    settle(&mut named, now);
    assert_eq!(held(&mut named), [(300, None)]);
    assert_eq!(sums(&named), [Some(300); 3]);
    assert!(named.news().is_empty(), "told once");
    let locked: usize = named.holdings.iter().map(Holding::locked_kib).sum();
    assert_eq!(locked as u64, 300 * page() / 1024);
    let none = Entry {
        place: 0,
        of: 0,
        path: "",
    };
    named.take(&none, now);
    assert_eq!(sums(&named), [Some(0), Some(300), Some(0)]);
    assert_eq!(named.rest(now), None);
}

#[test]
fn files_are_held_whole_in_the_order_of_their_names_as_far_as_is_allowed() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let now = Instant::now();
    let paths = [("large", 30), ("first", 10), ("second", 5)]
        .map(|(name, pages)| write(&directory, name, pages));
    name(&mut named, &paths.each_ref().map(String::as_str), now);
    settle(&mut named, now);
    assert_eq!(sums(&named)[0], Some(45));
    let amounts = |named: &mut NamedFiles| -> Vec<u64> {
        held(named).iter().map(|(pages, _)| *pages).collect()
    };
    for (allowed, expected) in [
        (14, [0, 10, 0]),
        (29, [0, 10, 5]),
        (30, [30, 0, 0]),
        (44, [30, 10, 0]),
        (45, [30, 10, 5]),
        (4, [0, 0, 0]),
    ] {
        allow(&mut named, allowed);
        settle(&mut named, now);
        assert_eq!(amounts(&mut named), expected, "{allowed} pages");
    }
}

#[test]
fn what_is_replaced_or_cut_short_is_found_again_and_what_is_gone_is_said() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let begun = Instant::now();
    let path = write(&directory, "file", 10);
    name(&mut named, &[&path], begun);
    allow(&mut named, 100);
    settle(&mut named, begun);
    assert_eq!(held(&mut named), [(10, None)]);

    let new = write(&directory, "new", 20);
    fs::rename(new, &path).unwrap();
    let later = begun + CHECK;
    let told = settle(&mut named, later);
    assert!(
        matches!(&told[..], [one] if one.contains("file: released: it was replaced")),
        "{told:?}"
    );
    assert_eq!(held(&mut named), [(20, None)], "the new file");

    write(&directory, "file", 5);
    let later = later + CHECK;
    settle(&mut named, later);
    assert_eq!(held(&mut named), [(5, None)], "what is left of it");

    fs::remove_file(&path).unwrap();
    let later = later + CHECK;
    settle(&mut named, later);
    assert_eq!(held(&mut named), [(0, Some("it is not there".to_owned()))]);
    assert_eq!(sums(&named)[0], Some(0));

    write(&directory, "file", 0);
    let later = later + LOOK_SOON;
    settle(&mut named, later);
    assert_eq!(held(&mut named), [(0, Some("it is empty".to_owned()))]);

    write(&directory, "file", 7);
    settle(&mut named, later + LOOK_SOON);
    assert_eq!(held(&mut named), [(7, None)], "it is back");
}

#[test]
fn a_file_that_grows_and_a_new_one_in_a_directory_are_held_a_minute_later() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let begun = Instant::now();
    write(&directory, "grows", 3);
    let path = directory.path().canonicalize().unwrap();
    name(&mut named, &[path.to_str().unwrap()], begun);
    allow(&mut named, 100);
    settle(&mut named, begun);
    assert_eq!(held(&mut named), [(3, None)]);
    write(&directory, "grows", 4);
    fs::create_dir(path.join("below")).unwrap();
    write(&directory, "below/new", 6);
    settle(&mut named, begun + LOOK);
    assert_eq!(held(&mut named), [(10, None)]);
}

#[test]
fn a_file_that_is_named_twice_is_held_and_counted_once() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let now = Instant::now();
    let path = write(&directory, "file", 8);
    let all = directory.path().canonicalize().unwrap();
    fs::hard_link(&path, all.join("other name")).unwrap();
    name(&mut named, &[&path, all.to_str().unwrap()], now);
    allow(&mut named, 100);
    settle(&mut named, now);
    assert_eq!(sums(&named), [Some(8), Some(100), Some(8)]);
    let held = held(&mut named);
    assert_eq!(held[0], (8, None));
    assert!(held[1].0 == 0 && held[1].1.as_ref().unwrap().contains("another"));
}

#[test]
fn a_directory_with_too_many_files_is_walked_in_pieces_and_says_how_many_are_left_out() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let now = Instant::now();
    let more = 100;
    for number in 0..MOST_FILES + more {
        fs::write(directory.path().join(number.to_string()), "x").unwrap();
    }
    let path = directory.path().canonicalize().unwrap();
    name(&mut named, &[path.to_str().unwrap()], now);
    named.step(now);
    // A list that comes meanwhile begins the look again.
    name(&mut named, &[path.to_str().unwrap()], now);
    let mut pieces = 0;
    while sums(&named)[0].is_none() {
        named.step(now);
        pieces += 1;
    }
    assert!(pieces > MOST_FILES / PIECE as usize, "{pieces}");
    let told = named.news().remove(0);
    assert_eq!(told.files, Some((MOST_FILES + more) as u64));
    let why = told.why.unwrap();
    assert!(why.contains("100 files beyond the 4096"), "{why}");
    assert_eq!(sums(&named)[0], Some(MOST_FILES as u64));
}

#[test]
fn a_path_whose_directory_was_exchanged_for_a_link_is_not_followed() {
    let Some((directory, mut named)) = bench() else {
        return;
    };
    let begun = Instant::now();
    let all = directory.path().canonicalize().unwrap();
    for name in ["theirs", "secret"] {
        fs::create_dir(all.join(name)).unwrap();
        write(&directory, &format!("{name}/file"), 2);
    }
    let path = all.join("theirs/file");
    name(&mut named, &[path.to_str().unwrap()], begun);
    allow(&mut named, 100);
    settle(&mut named, begun);
    assert_eq!(held(&mut named), [(2, None)]);
    fs::remove_dir_all(all.join("theirs")).unwrap();
    std::os::unix::fs::symlink("secret", all.join("theirs")).unwrap();
    settle(&mut named, begun + CHECK);
    let (pages, why) = held(&mut named).remove(0);
    assert_eq!(pages, 0);
    assert!(why.unwrap().contains("theirs is a symbolic link"));
}
