//! Measuring by DAMON, the kernel's own monitor.

use super::Args;
use super::finding::Finding;
use super::pace::Pace;
use crate::ui::Context;
use crate::ui::hinted::Hinted;
use anyhow::Result;
use damon_event::Snapshot;
use inspect::size::{End, Target, Window};
use inspect::tracee::{Damon, Space};
use std::io;
use units::{Bytes, Span};

/// Most processes at once: all share DAMON's 1000 regions, so with more each has too few to tell used memory from unused.
const MOST: usize = 64;
/// Snapshots that do not count: a new kdamond begins with ten regions, and first has to find the borders of what is used.
const SETTLING: usize = 2;

/// Snapshots of one window each, until it is over. Processes that come meanwhile are not seen.
pub(super) fn measured(args: &Args, context: &Context, found: &Target) -> Result<Finding> {
    if found.pids.len() > MOST {
        let what = format!(
            "{}: it has {} processes, and DAMON tells at most {MOST} apart",
            found.name,
            found.pids.len()
        );
        return Err(Hinted::new(what, "--by accessed counts any number").into());
    }
    let space = Space::Virtual(&found.pids);
    let mut damon = Damon::start(&context.root, space, args.window.get())
        .map_err(|no| Hinted::new(&no, no.remedy("--by accessed needs no DAMON")))?;
    let mut pace = Pace::new(args.interval, args.duration.get())?;
    let bar = pace.bar("DAMON");
    let mut snapshots = Snapshots::of(args.window);
    let end = loop {
        if let Some(end) = pace.wait() {
            break end;
        }
        snapshots.read(&mut damon)?;
        bar.set_position(pace.elapsed().as_secs());
        if !damon.is_on() {
            break End::Vanished;
        }
    };
    bar.finish_and_clear();
    let elapsed = Span::new(pace.elapsed());
    let note = format!(
        "a region counts if it was found used within {}; shared memory counts once for each process; page cache that is only read and written is not seen",
        args.window
    );
    let windows: Vec<Window> = snapshots.sizes.into_iter().skip(SETTLING).collect();
    let mut finding = Finding::of_windows(found, "damon", &windows, None, end, elapsed);
    finding.notes.push(note);
    finding.why = Some("as asked".to_owned());
    Ok(finding)
}

/// What was used in each snapshot.
struct Snapshots {
    now: Snapshot,
    /// The time of the last one; 0 before the first.
    at: u64,
    sizes: Vec<Window>,
}

impl Snapshots {
    fn of(window: Span) -> Self {
        Self {
            now: Snapshot::every(window.get(), MOST),
            at: 0,
            sizes: Vec::new(),
        }
    }

    fn read(&mut self, damon: &mut Damon) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        while let Some(count) = damon.read(&mut buffer)? {
            self.take(&buffer[..count]);
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.now.take(bytes);
        if self.now.at() == 0 {
            return;
        }
        let window = Window {
            used: Bytes::new(self.now.used().iter().sum()),
            processes: self.now.used().len(),
            ..Window::default()
        };
        // A snapshot whose lines are still coming replaces what was known of it.
        if self.now.at() == self.at {
            self.sizes.pop();
        }
        self.at = self.now.at();
        self.sizes.push(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_snapshot_counts_once_as_a_whole() {
        let mut snapshots = Snapshots::of(Span::secs(10));
        let mut take = |at: u64, target: u64, size: u64| {
            let line = format!(
                " kdamond.0-77 [000] ..... {at}.5: damon_aggregated: target_id={target} nr_regions=9 0-{size}: 1 3\n"
            );
            snapshots.take(line.as_bytes());
        };
        take(10, 0, 4096);
        take(10, 1, 8192);
        take(20, 0, 4096);
        let used: Vec<u64> = snapshots.sizes.iter().map(|one| one.used.get()).collect();
        assert_eq!(used, [12_288, 4096]);
    }
}
