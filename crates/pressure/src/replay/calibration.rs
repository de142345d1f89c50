//! How often forecasts came true, over a recording.

use super::ReplayError;
use crate::config::Config;
use crate::decide::{RESPONSE, critical_share};
use crate::history::History;
use crate::recording::Entry;
use crate::sample::Sample;
use crate::trend::Kept;
use serde::Serialize;

/// Share of growths that an interval of growth says it holds: it is one of 90 % (`trend.rs`).
const GROWTH_SAYS: f64 = 0.9;

/// How often each kind of forecast came true.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub struct Calibration {
    /// The interval of growth, from which the time to exhaustion is told, over the next half minute.
    pub growth: Coverage,
    /// The quantile of demand that the gap is made for, over the next window with demand in it.
    pub demand: Coverage,
}

/// How often it was said to come true, and how often it did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub struct Coverage {
    /// The share it says.
    pub said: f64,
    /// Forecasts compared with what came.
    pub made: u64,
    /// Those that held.
    pub held: u64,
}

impl Coverage {
    /// The share that held; `None` if none was compared.
    pub fn share(&self) -> Option<f64> {
        if self.made == 0 {
            return None;
        }
        Some(self.held as f64 / self.made as f64)
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            said: self.said.max(other.said),
            made: self.made + other.made,
            held: self.held + other.held,
        }
    }
}

/// Forecasts again over the recorded samples, each compared with what came after it.
///
/// The same as [`Calibrating`] over all entries.
pub fn calibrate<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Calibration, ReplayError> {
    let mut calibrating = Calibrating::default();
    for entry in entries {
        calibrating.take(entry)?;
    }
    calibrating.end()
}

/// Forecasts again, entry by entry, in constant memory.
///
/// Starts from nothing: what was learnt before the recording is not asked. Cost: that of deciding again.
#[derive(Debug, Default)]
pub struct Calibrating {
    core: Option<(History, Config)>,
    demand: Coverage,
    samples: u64,
}

impl Calibrating {
    /// Takes the next entry.
    ///
    /// Errors: the first header has no configuration.
    pub fn take(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        match entry {
            Entry::Header(header) if self.core.is_none() => {
                let config = header.config.clone().ok_or(ReplayError::NoConfig)?;
                self.demand.said = critical_share(&config);
                self.core = Some((History::new(&header.facts, &config), config));
            }
            Entry::Sample(sample) => {
                if let Some((history, config)) = &mut self.core {
                    demand(&mut self.demand, history, config, sample);
                    self.samples += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// How often each kind of forecast came true.
    ///
    /// Errors: there were no two samples.
    pub fn end(self) -> Result<Calibration, ReplayError> {
        let Some((history, _)) = self.core.filter(|_| self.samples > 1) else {
            return Err(ReplayError::TooShort);
        };
        let Kept { made, held } = history.unreclaimable.kept();
        let growth = Coverage {
            said: GROWTH_SAYS,
            made,
            held,
        };
        Ok(Calibration {
            growth,
            demand: self.demand,
        })
    }
}

/// Takes the sample in, and compares its demand with what was forecast before it.
fn demand(coverage: &mut Coverage, history: &mut History, config: &Config, sample: &Sample) {
    let need = history
        .demand
        .need(critical_share(config), history.reclaim, RESPONSE);
    history.push(sample);
    let Some(need) = need else { return };
    let asked = history.demand.within(need.window.get());
    if asked >= history.notable(sample) {
        coverage.made += 1;
        if asked <= need.demand {
            coverage.held += 1;
        }
    }
}
