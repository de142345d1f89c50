//! Free memory as a reservoir that demand drains and kswapd fills.

use crate::watermark::Marks;
use std::time::Duration;
use units::Pages;

/// Longest step of the model: a fifth of the usual response time of kswapd, so that when it wakes is
/// told well enough. Shorter steps cost more and tell hardly more, as recorded intervals are 100 ms.
const STEP: Duration = Duration::from_millis(10);

/// What kswapd can do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kswapd {
    /// Pages freed per second while it runs.
    pub(super) rate: u64,
    /// Time from waking to the first page.
    pub(super) response: Duration,
}

impl Kswapd {
    /// Pages that it frees within `window` after it is woken.
    pub(super) fn freed_within(self, window: Duration) -> i64 {
        let runs = window.saturating_sub(self.response);
        let freed = u128::from(self.rate) * runs.as_nanos() / 1_000_000_000;
        i64::try_from(freed).unwrap_or(i64::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Asleep,
    Waking { left: Duration },
    Running,
}

/// Free memory of one simulated machine.
#[derive(Debug, Clone)]
pub(super) struct Reservoir {
    free: i64,
    state: State,
    /// Of a page: what the last steps reclaimed too little, in page-nanoseconds per second.
    remainder: u128,
}

/// What happened in one interval.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    /// Pages that allocations had to reclaim themselves.
    pub(super) stalled: Pages,
    /// Time in steps with such pages.
    pub(super) stalled_time: Duration,
    /// The first and last such moment, from the interval's begin.
    pub(super) stalls: Option<(Duration, Duration)>,
    /// Pages that kswapd freed.
    pub(super) reclaimed: Pages,
}

impl Reservoir {
    /// A machine with so many free pages, where kswapd sleeps.
    pub(super) fn holding(free: Pages) -> Self {
        Self {
            free: i64::try_from(free.get()).unwrap_or(i64::MAX),
            state: State::Asleep,
            remainder: 0,
        }
    }

    /// Pages that are free now.
    pub(super) fn free(&self) -> Pages {
        Pages::new(u64::try_from(self.free).unwrap_or(0))
    }

    /// Lets `demand` pages (negative: more freed than taken) flow out over `time`.
    pub(super) fn flow(
        &mut self,
        marks: Marks,
        kswapd: Kswapd,
        (demand, time): (i64, Duration),
    ) -> Flow {
        let mut flow = Flow::default();
        let steps = time.as_nanos().div_ceil(STEP.as_nanos());
        let steps = u32::try_from(steps).unwrap_or(u32::MAX).max(1);
        // Taken before this step, so that the parts of a demand add up to it.
        let taken_before = |step: u32| {
            let whole = i128::from(demand) * i128::from(step);
            whole / i128::from(steps)
        };
        for step in 0..steps {
            let begin = time * step / steps;
            let end = time * (step + 1) / steps;
            let length = end.saturating_sub(begin);
            let taken = taken_before(step + 1) - taken_before(step);
            let taken = i64::try_from(taken).unwrap_or(0);
            self.free = self.free.saturating_sub(taken);
            flow.reclaimed += self.reclaim(marks, kswapd, length);
            let min = signed(marks.min);
            let short = min.saturating_sub(self.free);
            if short > 0 {
                self.free = min;
                flow.stalled += Pages::new(short.unsigned_abs());
                flow.stalled_time += length;
                let first = flow.stalls.map_or(begin, |(first, _)| first);
                flow.stalls = Some((first, end));
            }
        }
        flow
    }

    /// One step of kswapd.
    fn reclaim(&mut self, marks: Marks, kswapd: Kswapd, step: Duration) -> Pages {
        if self.state == State::Asleep && self.free < signed(marks.low) {
            self.state = State::Waking {
                left: kswapd.response,
            };
        }
        let mut runs = step;
        if let State::Waking { left } = self.state {
            runs = step.saturating_sub(left);
            let left = left.saturating_sub(step);
            self.state = if left.is_zero() {
                State::Running
            } else {
                State::Waking { left }
            };
        }
        if self.state != State::Running {
            return Pages::ZERO;
        }
        let missing = signed(marks.high).saturating_sub(self.free).max(0);
        let able = u128::from(kswapd.rate) * runs.as_nanos() + self.remainder;
        self.remainder = able % 1_000_000_000;
        let able = i64::try_from(able / 1_000_000_000).unwrap_or(i64::MAX);
        let freed = able.min(missing);
        self.free = self.free.saturating_add(freed);
        if able >= missing {
            self.state = State::Asleep;
            self.remainder = 0;
        }
        Pages::new(freed.unsigned_abs())
    }
}

fn signed(pages: Pages) -> i64 {
    i64::try_from(pages.get()).unwrap_or(i64::MAX)
}
