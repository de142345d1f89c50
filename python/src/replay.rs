//! Replays recordings: what another configuration would have done.

use crate::failure::failed;
use crate::recording::{Recording, json};
use crate::watch::{self, Progress};
use pressure::replay::{Arm, Plan, RESPONSE, calibrate, decide_again};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Decide again over a recording, let configurations meet the same demand, or count how often forecasts came true.
///
/// Args:
///     recording: a recording of the guard.
///     config: a configuration file to be used instead of the recorded one.
///     compare: arms beside ``recorded``, ``none`` and ``warmset``, such as ``["static:1000", "classic"]``; an empty
///         list compares these three.
///     response: seconds that the modelled kswapd takes from waking to the first page; with `compare`.
///     coverage: count how often forecasts came true.
///
/// Returns:
///     What ``warmset replay --json`` prints, without the notes. Without `compare` and `coverage` it is the decisions that
///     differ, under ``again``. With `compare` it is the table of the arms, under ``comparison``. With `coverage` it is
///     ``coverage``.
///
/// Raises:
///     Error: no such arm, a configuration that cannot be read, two questions at once, a recording too short.
///
/// >>> recording = Recording("fixtures/lab/storm-6.12-1024-warmset-1.rec.gz")
/// >>> [arm["arm"] for arm in replay(recording, compare=["static:1000"])["comparison"]["arms"]]
/// ['recorded', 'none', 'warmset', 'static:1000']
#[pyfunction(name = "replay")]
#[pyo3(signature = (recording, *, config=None, compare=None, response=None, coverage=false))]
pub(crate) fn replay<'py>(
    recording: &Bound<'py, Recording>,
    config: Option<PathBuf>,
    compare: Option<Vec<String>>,
    response: Option<f64>,
    coverage: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if coverage && (compare.is_some() || config.is_some()) {
        return Err(failed(
            "the argument 'coverage' cannot be used with 'compare' or 'config'",
        ));
    }
    let py = recording.py();
    let entries = Arc::clone(&recording.get().entries);
    let config = match config {
        Some(path) => {
            let settings = host::settings::of_file(&path).map_err(failed)?;
            Some(settings.config)
        }
        None => None,
    };
    let arms = match compare {
        Some(names) => {
            let mut arms = Vec::new();
            for name in names {
                arms.push(name.parse::<Arm>().map_err(failed)?);
            }
            Some(Arm::beside_usual(&arms))
        }
        None => None,
    };
    let response = match response {
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .map_err(|error| failed(format!("a response of kswapd: {error}")))?,
        None => RESPONSE,
    };
    let work = move |_: &_| -> PyResult<(&'static str, Value)> {
        if let Some(arms) = arms {
            let plan = Plan {
                arms: &arms,
                config: config.as_ref(),
                response,
            };
            let comparison = pressure::replay::compare(&entries, &plan).map_err(failed)?;
            return Ok(("comparison", to_value(comparison)?));
        }
        if coverage {
            let coverage = calibrate(entries.iter()).map_err(failed)?;
            return Ok(("coverage", to_value(coverage)?));
        }
        let again = decide_again(entries.iter(), config.as_ref()).map_err(failed)?;
        Ok(("again", to_value(again)?))
    };
    let (name, value) = watch::run(py, Progress::new(None, None), 1, work)?;
    json(py, &serde_json::json!({ name: value }))
}

fn to_value(result: impl Serialize) -> PyResult<Value> {
    serde_json::to_value(result).map_err(failed)
}
