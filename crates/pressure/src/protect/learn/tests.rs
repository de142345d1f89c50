use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::Pages;

/// A page cache of some pages, first in first out; the learner takes its events in.
struct Cache {
    capacity: usize,
    held: VecDeque<(u64, u64)>,
    learner: Learner,
    at: Duration,
}

impl Cache {
    fn new(capacity: usize) -> Self {
        Self {
            capacity,
            held: VecDeque::new(),
            learner: Learner::default(),
            at: Duration::from_secs(1),
        }
    }

    fn event(&mut self, inode: u64, index: u64, kind: EventKind) {
        let file = FileId { device: 8, inode };
        self.learner.take(
            self.at,
            &Event {
                file,
                index,
                pages: 1,
                kind,
            },
        );
    }

    /// Reads pages of a file from `first` on, each taking `step`.
    fn read(&mut self, inode: u64, pages: std::ops::Range<u64>, step: Duration) {
        for index in pages {
            self.at += step;
            if self.held.contains(&(inode, index)) {
                continue;
            }
            self.event(inode, index, EventKind::Added);
            self.held.push_back((inode, index));
            if self.held.len() > self.capacity {
                let (inode, index) = self.held.pop_front().unwrap();
                self.event(inode, index, EventKind::Evicted);
            }
        }
    }

    /// Reads pages that are all in memory.
    fn uses(&mut self, inode: u64, pages: std::ops::Range<u64>, step: Duration) {
        for index in pages {
            self.at += step;
            self.event(inode, index, EventKind::Used);
        }
    }

    fn told(&self) -> Vec<(u64, Hot)> {
        self.learner
            .hottest(self.at, 16)
            .into_iter()
            .map(|hot| (hot.file.inode, hot))
            .collect()
    }
}

const STEP: Duration = Duration::from_micros(500);

#[test]
fn a_file_read_again_and_again_beside_a_stream_is_told_apart_from_it() {
    let mut cache = Cache::new(1500);
    for round in 0..20 {
        cache.read(1, 0..800, STEP);
        cache.read(2, round * 2000..(round + 1) * 2000, STEP);
    }
    let told = cache.told();
    assert_eq!(
        told.iter().map(|(inode, _)| *inode).collect::<Vec<_>>(),
        [1],
        "the stream never refaults"
    );
    let hot = told[0].1;
    // 800 pages come back every 1.4 s.
    assert!((400..800).contains(&hot.refaults), "{hot:?}");
    assert!(
        hot.refault_time < Some(Micros::new(1_400_000)) && hot.again > Percent::new(90),
        "{hot:?}"
    );
    assert_eq!(hot.ranges.size(800), Pages::new(800));
}

#[test]
fn a_stream_in_a_loop_refaults_late_and_everywhere() {
    let mut cache = Cache::new(1500);
    for _ in 0..4 {
        cache.read(1, 0..800, STEP);
        cache.read(2, 0..30_000, STEP);
    }
    let told = cache.told();
    let stream = told.iter().find(|(inode, _)| *inode == 2).unwrap().1;
    assert!(
        stream.refault_time > Some(Micros::new(10_000_000)),
        "{stream:?}"
    );
    assert_eq!(stream.ranges.size(30_000), Pages::new(30_000));
}

#[test]
fn only_the_part_that_refaults_is_hot() {
    let mut cache = Cache::new(500);
    cache.read(1, 0..64_000, STEP);
    for _ in 0..20 {
        cache.read(1, 30_000..31_000, STEP);
    }
    let hot = cache.told()[0].1;
    let runs: Vec<_> = hot.ranges.runs(64_000).collect();
    assert!(
        runs[0].0 <= 30_000 && runs.last().map(|(first, count)| first + count).unwrap() >= 31_000
    );
    assert!(
        hot.ranges.size(64_000) <= Pages::new(3 << hot.ranges.shift),
        "{runs:?}"
    );
}

#[test]
fn what_is_read_again_from_memory_is_in_use_and_a_stream_is_not() {
    let mut cache = Cache::new(0);
    for round in 0..20 {
        cache.uses(1, 0..800, STEP);
        cache.uses(2, round * 2000..(round + 1) * 2000, STEP);
    }
    let told = cache.told();
    assert_eq!(
        told.iter().map(|(inode, _)| *inode).collect::<Vec<_>>(),
        [1],
        "the stream never comes again"
    );
    let hot = told[0].1;
    // 800 pages every 1.4 s.
    assert!(
        (400..800).contains(&hot.uses) && hot.used.size(800) == Pages::new(800),
        "{hot:?}"
    );
    assert!(
        (1_300_000..1_500_000).contains(&hot.every.unwrap().get()),
        "{hot:?}"
    );
    assert_eq!(
        (hot.refaults, hot.refault_time, hot.ranges.is_empty()),
        (0, None, true),
        "nothing left"
    );
    assert_eq!(cache.learner.means(hot.file), (None, hot.every));
}

#[test]
fn a_page_that_is_read_a_few_bytes_at_a_time_is_used_once() {
    let mut cache = Cache::new(0);
    for index in 0..4000 {
        (0..16).for_each(|_| cache.uses(1, index..index + 1, Duration::from_micros(100)));
    }
    assert!(cache.told().is_empty());
    // But every 64 ms is again and again: the time is from the first of those that are one.
    (0..40).for_each(|_| cache.uses(2, 0..8, Duration::from_millis(8)));
    let every = cache
        .learner
        .means(FileId {
            device: 8,
            inode: 2,
        })
        .1
        .unwrap();
    assert!((127_000..129_000).contains(&every.get()), "{every:?}");
}

#[test]
fn heat_fades_and_a_forgotten_file_is_gone() {
    let mut cache = Cache::new(500);
    for _ in 0..10 {
        cache.read(1, 0..1000, STEP);
    }
    assert_eq!(cache.told().len(), 1);
    cache.at += Duration::from_secs(300);
    assert!(cache.told().is_empty());
    for _ in 0..10 {
        cache.read(1, 0..1000, STEP);
        cache.read(2, 0..1000, STEP);
    }
    cache.learner.forget(FileId {
        device: 8,
        inode: 1,
    });
    assert_eq!(
        cache
            .told()
            .iter()
            .map(|(inode, _)| *inode)
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn a_thousand_files_take_the_places_of_the_coldest() {
    let mut cache = Cache::new(100);
    for _ in 0..3 {
        for inode in 0..1000 {
            cache.read(inode, 0..16, Duration::from_micros(10));
        }
    }
    assert_eq!(cache.learner.files.len(), MOST_FILES);
    assert_eq!(cache.learner.places.len(), MOST_FILES);
    assert!(
        cache
            .learner
            .files
            .iter()
            .enumerate()
            .all(|(place, heat)| cache.learner.places[&heat.file] == place)
    );
}

proptest! {
    /// Whatever happens, no file is hot that was not evicted and did not refault.
    #[test]
    fn a_file_that_was_never_evicted_is_never_hot(events in prop::collection::vec((0..4u64, 0..64u64, any::<bool>()), 0..500)) {
        let mut cache = Cache::new(0);
        let mut gone = std::collections::HashSet::new();
        let mut back = std::collections::HashSet::new();
        for (inode, block, evicted) in events {
            cache.at += Duration::from_millis(1);
            let index = block * STRIDE;
            if evicted {
                gone.insert((inode, index));
                cache.event(inode, index, EventKind::Evicted);
            } else {
                if gone.remove(&(inode, index)) {
                    back.insert(inode);
                }
                cache.event(inode, index, EventKind::Added);
            }
        }
        for (inode, hot) in cache.told() {
            prop_assert!(back.contains(&inode));
            prop_assert!(hot.again <= Percent::WHOLE);
        }
    }
}
