//! Traces in memory, for the tasks that need them whole.
//!
//! The tasks of a trace follow each other in a plan. So a trace is read by the first of its tasks, and dropped by the last: memory
//! holds about as many traces as tasks run at once.

use super::task::{How, Task, What, Work};
use anyhow::Result;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use workingset::Trace;

/// What tells one trace from another: its content, and how it is read.
type Key = (String, How);

/// The traces of several tasks.
pub(super) struct Shelf(HashMap<Key, Mutex<Place>>);

#[derive(Default)]
struct Place {
    /// Tasks that have not taken the trace.
    left: usize,
    trace: Option<Arc<Trace>>,
}

impl Shelf {
    /// A shelf for tasks in these files. A file that cannot be read is no task here: it fails when it is run.
    pub(super) fn for_tasks(tasks: &[PathBuf]) -> Self {
        let mut places: HashMap<Key, Place> = HashMap::new();
        for task in tasks.iter().filter_map(|path| Task::load(path).ok()) {
            if let Work::Simulate { .. } = task.what.work {
                places.entry(key(&task.what)).or_default().left += 1;
            }
        }
        let places = places.into_iter();
        Self(
            places
                .map(|(key, place)| (key, Mutex::new(place)))
                .collect(),
        )
    }

    /// A task of this trace does not need it.
    pub(super) fn pass(&self, what: &What) {
        if let Some(place) = self.0.get(&key(what)) {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            place.left = place.left.saturating_sub(1);
            if place.left == 0 {
                place.trace = None;
            }
        }
    }

    /// The trace of a task. It is read if no other task has it; other tasks of it wait meanwhile.
    pub(super) fn take(
        &self,
        what: &What,
        read: impl FnOnce() -> Result<Trace>,
    ) -> Result<Arc<Trace>> {
        let Some(place) = self.0.get(&key(what)) else {
            return Ok(Arc::new(read()?));
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.left = place.left.saturating_sub(1);
        let trace = match place.trace.take() {
            Some(trace) => trace,
            None => Arc::new(read()?),
        };
        if place.left > 0 {
            place.trace = Some(Arc::clone(&trace));
        }
        Ok(trace)
    }
}

fn key(what: &What) -> Key {
    (what.sha256.clone(), what.reading.clone())
}

#[cfg(test)]
mod tests {
    use super::super::task::FORM;
    use super::*;
    use std::cell::Cell;

    fn task(sha256: &str, policy: &str) -> Task {
        Task {
            trace: PathBuf::from("a.u32"),
            what: What {
                task: FORM,
                sha256: sha256.to_owned(),
                reading: How {
                    format: None,
                    page_size: 4096,
                    timed: false,
                },
                work: Work::Simulate {
                    policy: policy.to_owned(),
                    capacities: vec!["10%".to_owned()],
                },
            },
        }
    }

    #[test]
    fn a_trace_is_read_for_the_first_of_its_tasks_and_dropped_after_the_last() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut paths = vec![directory.path().join("missing.json")];
        for task in [
            task("a", "lru"),
            task("a", "opt"),
            task("a", "fifo"),
            task("b", "lru"),
        ] {
            let path = directory
                .path()
                .join(format!("{}.json", task.id().expect("an id")));
            std::fs::write(&path, serde_json::to_vec(&task).expect("JSON")).expect("a file");
            paths.push(path);
        }
        let shelf = Shelf::for_tasks(&paths);
        let reads = Cell::new(0);
        let take = |sha256| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(Trace::of(&[1, 2, 1])?)
            };
            shelf
                .take(&task(sha256, "any").what, read)
                .expect("a trace")
        };
        let first = take("a");
        assert!(Arc::ptr_eq(&first, &take("a")));
        assert_eq!((reads.get(), Arc::strong_count(&first)), (1, 2));
        shelf.pass(&task("a", "fifo").what);
        assert_eq!(Arc::strong_count(&first), 1, "it is dropped");
        let other = take("b");
        assert_eq!((reads.get(), Arc::strong_count(&other)), (2, 1));
        drop(take("c"));
        assert_eq!(reads.get(), 3, "what is of no task is read all the same");
    }
}
