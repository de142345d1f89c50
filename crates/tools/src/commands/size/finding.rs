//! What was found out about a unit, as `--json` prints it.

use super::advice::{Hint, Suggestions, hints, suggestions};
use inspect::files::Charged;
use inspect::size::{
    End, Event, EventKind, Options, OverTime, Record, Sample, Target, Window, over_time,
};
use serde::{Serialize, Serializer};
use std::process::ExitCode;
use units::{Bytes, Percent, Span};

/// The result. Amounts are in bytes, shares are fractions of 1.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) unit: String,
    pub(super) cgroup: Option<String>,
    /// `reclaim`, `accessed` or `damon`.
    pub(super) by: &'static str,
    /// Why not by reclaim.
    pub(super) why: Option<String>,
    pub(super) seconds: f64,
    /// Why it ended.
    #[serde(rename = "ended", serialize_with = "by_name")]
    end: End,
    pub(super) working_set: WorkingSet,
    /// Looks, or windows.
    pub(super) looks: usize,
    /// What it had at first and at last.
    pub(super) memory: Option<[Holding; 2]>,
    pub(super) reclaim: Option<Reclaimed>,
    /// Accessed bits, for comparison.
    pub(super) accessed: Option<Beside>,
    pub(super) swap_free: Option<Bytes>,
    pub(super) notes: Vec<String>,
    pub(super) suggestions: Option<Suggestions>,
    pub(super) hints: Vec<Hint>,
}

/// The interval, and the sizes over time.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct WorkingSet {
    pub(super) lower: Option<Bytes>,
    pub(super) upper: Option<Bytes>,
    pub(super) p50: Option<Bytes>,
    pub(super) p95: Option<Bytes>,
    pub(super) p99: Option<Bytes>,
    pub(super) most: Option<Bytes>,
    /// Sizes that the percentiles are of.
    pub(super) sizes: usize,
}

/// What a unit has.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Holding {
    pub(super) used: Bytes,
    pub(super) anonymous: Bytes,
    pub(super) files: Bytes,
    pub(super) shared: Bytes,
    pub(super) swapped: Option<Bytes>,
}

/// What it took to find that out.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Reclaimed {
    pub(super) taken: Bytes,
    pub(super) came_back: Bytes,
    /// The largest step since it settled; sizes are no more exact than this.
    pub(super) resolution: Option<Bytes>,
    pub(super) budget: f64,
    /// Share of a window for which all of its tasks waited, at most and before anything was taken.
    pub(super) pressure: f64,
    pub(super) pressure_at_rest: Option<f64>,
    pub(super) window_seconds: f64,
    pub(super) answers: usize,
}

/// A second opinion.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Beside {
    pub(super) used: Bytes,
    pub(super) resident: Bytes,
    pub(super) window_seconds: f64,
}

impl WorkingSet {
    fn with(self, sizes: Option<OverTime>) -> Self {
        let Some(sizes) = sizes else {
            return self;
        };
        Self {
            p50: Some(sizes.p50),
            p95: Some(sizes.p95),
            p99: Some(sizes.p99),
            most: Some(sizes.most),
            sizes: sizes.count,
            ..self
        }
    }
}

impl From<&Sample> for Holding {
    fn from(sample: &Sample) -> Self {
        Self {
            used: sample.used,
            anonymous: sample.anon,
            files: sample.file,
            shared: sample.shared,
            swapped: sample.swapped,
        }
    }
}

impl Finding {
    /// Of a measurement by reclaim.
    pub(super) fn of_record(
        target: &Target,
        options: Options,
        record: &Record,
        swap_free: Option<Bytes>,
    ) -> Self {
        let estimate = record.estimate();
        let interval = WorkingSet {
            lower: estimate.lower,
            upper: estimate.upper,
            ..WorkingSet::default()
        };
        let ends = record.samples.first().zip(record.last());
        let answers = record
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Missed);
        let mut finding = Self {
            working_set: interval.with(estimate.over_time),
            looks: record.samples.len(),
            memory: ends.map(|(first, last)| [first.into(), last.into()]),
            reclaim: Some(Reclaimed {
                taken: record.taken,
                came_back: record.came_back(),
                resolution: estimate.resolution,
                budget: options.budget.fraction(),
                pressure: record.worst.fraction(),
                pressure_at_rest: record.at_rest.map(Percent::fraction),
                window_seconds: options.window.get().as_secs_f64(),
                answers: answers.count(),
            }),
            swap_free,
            ..Self::blank(target, "reclaim", record.end)
        };
        if let Some(last) = record.last() {
            finding.seconds = last.at.get().as_secs_f64();
            finding.note_memory(last);
            finding.note_record(record, options, last);
            finding.advise(Some(last));
        }
        finding
    }

    /// Of windows in which something was used, by accessed bits or DAMON. `charged` is what it has of page cache.
    pub(super) fn of_windows(
        target: &Target,
        by: &'static str,
        windows: &[Window],
        charged: Option<Charged>,
        end: End,
        elapsed: Span,
    ) -> Self {
        let sizes: Vec<Bytes> = windows.iter().map(|window| window.used).collect();
        let found = over_time(sizes.clone());
        let unseen = charged.and_then(|one| {
            let seen = one.mapped? + one.shared?;
            Some(one.cached.less(seen))
        });
        let interval = WorkingSet {
            lower: sizes.iter().min().copied(),
            upper: found.map(|found| found.most + unseen.unwrap_or_default()),
            ..WorkingSet::default()
        };
        let mut finding = Self {
            working_set: interval.with(found),
            looks: windows.len(),
            seconds: elapsed.get().as_secs_f64(),
            ..Self::blank(target, by, end)
        };
        if let Some(unseen) = unseen {
            finding.notes.push(format!(
                "it has {unseen} of page cache that is not mapped, of which nothing was seen: the upper end counts it as needed"
            ));
        }
        finding.note_end(end);
        finding.advise(None);
        finding
    }

    fn blank(target: &Target, by: &'static str, end: End) -> Self {
        Self {
            unit: target.name.clone(),
            cgroup: target.group.clone(),
            by,
            why: None,
            seconds: 0.0,
            end,
            working_set: WorkingSet::default(),
            looks: 0,
            memory: None,
            reclaim: None,
            accessed: None,
            swap_free: None,
            notes: Vec::new(),
            suggestions: None,
            hints: Vec::new(),
        }
    }

    /// The exit code: a result that is only a part of what was asked for is a failure.
    pub(super) fn code(&self) -> ExitCode {
        if self.end == End::Vanished {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }

    /// Returns true if it was measured for as long as was asked for.
    pub(super) fn is_of_a_whole_time(&self) -> bool {
        self.end == End::Time
    }

    /// Why this cannot be written as a limit; `None` if it can.
    pub(super) fn why_not_applied(&self) -> Option<&'static str> {
        match (self.by, self.end) {
            (_, End::Vanished) => Some("it has ended"),
            (_, End::Signal) => Some("the measurement was interrupted"),
            (_, End::Short) => Some("it was short of memory, so that only a lower bound is known"),
            ("accessed" | "damon", End::Time) => {
                Some("accessed bits and DAMON do not see files that are only read and written")
            }
            _ if self.suggestions.is_none() => Some("no size was found that is enough"),
            _ => None,
        }
    }

    fn advise(&mut self, last: Option<&Sample>) {
        self.suggestions = suggestions(&self.working_set);
        self.hints = last
            .map(|last| hints(last, &self.working_set))
            .unwrap_or_default();
    }

    fn note_memory(&mut self, last: &Sample) {
        let only_to_swap = last.only_to_swap();
        if self.swap_free == Some(Bytes::ZERO) && only_to_swap > Bytes::ZERO {
            self.notes.push(format!(
                "there is no swap for it: its {} of anonymous and {} of shared memory cannot be taken, and all count as needed",
                last.anon, last.shared
            ));
        }
        if last.shared.get() * 2 > last.used.get() {
            self.notes.push(format!(
                "{} of it is shared memory or tmpfs, which leaves memory for swap only: files in a tmpfs count until they are removed",
                last.shared
            ));
        }
    }

    fn note_record(&mut self, record: &Record, options: Options, last: &Sample) {
        self.note_end(record.end);
        if record.end == End::Short {
            let waited = record.at_rest.unwrap_or_default();
            let limit = match last.limit {
                Some(limit) if last.is_at_limit() => format!("at its limit of {limit}, and "),
                _ => String::new(),
            };
            self.notes.push(format!(
                "it was {limit}short of memory before anything was taken: its tasks waited for {waited} of the time. What it has is a lower bound; nothing was taken"
            ));
            return;
        }
        if record.worst > options.budget {
            self.notes.push(format!(
                "it waited for {} of a window, longer than the budget of {}: what came back took longer than assumed, or it waited by itself",
                record.worst, options.budget
            ));
        }
        let is_settled = self.working_set.lower.is_some() || self.working_set.p50.is_some();
        if !is_settled && record.taken > Bytes::ZERO {
            let taking = last.at.get().saturating_sub(options.window.get());
            let rest = last.used.get() as f64 / record.taken.get() as f64;
            let more = Span::new(taking.mul_f64(rest));
            self.notes.push(format!(
                "nothing came back that lasted, so it needs at most this. To try the rest at this pace takes up to {more}: --for, or a larger --budget"
            ));
        }
        if let Some((first, last)) = grown(&record.events) {
            self.notes.push(format!(
                "its working set grew from {first} to {last} meanwhile: limits from this may be too small"
            ));
        }
    }

    fn note_end(&mut self, end: End) {
        match end {
            End::Vanished => self.notes.push(
                "it ended while it was measured: this is what was found until then".to_owned(),
            ),
            End::Signal => self
                .notes
                .push("interrupted: this is what was found until then".to_owned()),
            End::Time | End::Short => {}
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn by_name<S: Serializer>(end: &End, serializer: S) -> Result<S::Ok, S::Error> {
    let name = match end {
        End::Time => "time",
        End::Signal => "signal",
        End::Vanished => "vanished",
        End::Short => "short",
    };
    serializer.serialize_str(name)
}

/// The sizes that were enough at first and at last, if the last is larger by a tenth: less is within what reclaim finds.
fn grown(events: &[Event]) -> Option<(Bytes, Bytes)> {
    let is_quiet = |event: &&Event| event.kind == EventKind::Quiet;
    let first = events.iter().find(is_quiet)?.size;
    let last = events.iter().rfind(is_quiet)?.size;
    (last > first.scaled(11, 10)).then_some((first, last))
}
