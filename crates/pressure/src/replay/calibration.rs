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
/// Starts from nothing: what was learnt before the recording is not asked. Cost: that of deciding again.
pub fn calibrate<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Calibration, ReplayError> {
    let mut core: Option<(History, Config)> = None;
    let mut calibration = Calibration::default();
    calibration.growth.said = GROWTH_SAYS;
    let mut samples = 0;
    for entry in entries {
        match entry {
            Entry::Header(header) if core.is_none() => {
                let config = header.config.clone().ok_or(ReplayError::NoConfig)?;
                calibration.demand.said = critical_share(&config);
                core = Some((History::new(&header.facts, &config), config));
            }
            Entry::Sample(sample) => {
                if let Some((history, config)) = &mut core {
                    demand(&mut calibration.demand, history, config, sample);
                    samples += 1;
                }
            }
            _ => {}
        }
    }
    let Some((history, _)) = &core else {
        return Err(ReplayError::TooShort);
    };
    if samples < 2 {
        return Err(ReplayError::TooShort);
    }
    let Kept { made, held } = history.unreclaimable.kept();
    calibration.growth = Coverage {
        made,
        held,
        ..calibration.growth
    };
    Ok(calibration)
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
