//! What would another configuration have done?

use crate::failure::failed;
use crate::recording::{Recording, json};
use crate::watch::{self, Progress};
use pressure::replay::{Arm, Plan, RESPONSE, calibrate, decide_again};
use pyo3::prelude::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Decide again over a recording, let configurations meet the same demand, or see how often forecasts came true.
///
/// Args:
///     recording: what was.
///     config: a configuration file to decide by instead of the recorded one.
///     compare: arms beside ``recorded``, ``none`` and ``warmset``, such as ``["static:1000", "classic"]``; an empty
///         list compares these three.
///     response: seconds that the modelled kswapd takes from waking to the first page; with `compare`.
///     coverage: tell how often forecasts came true.
///
/// Returns:
///     What ``warmset replay --json`` prints, without the notes: without `compare` and `coverage`, which decisions come
///     out differently, under ``again``; the table of the arms under ``comparison``; or ``coverage``.
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
    let config = config
        .map(|path| host::settings::of_file(&path))
        .transpose()
        .map_err(failed)?;
    let config = config.map(|settings| settings.config);
    let arms = compare.map(|arms| {
        arms.iter()
            .map(|arm| arm.parse::<Arm>())
            .collect::<Result<Vec<_>, _>>()
    });
    let arms = arms
        .transpose()
        .map_err(failed)?
        .map(|arms| Arm::beside_usual(&arms));
    let response = response.map_or(Ok(RESPONSE), Duration::try_from_secs_f64);
    let response = response.map_err(|error| failed(format!("a response of kswapd: {error}")))?;
    let work = move |_: &_| -> PyResult<(&'static str, Value)> {
        let told = |value: Result<Value, serde_json::Error>| value.map_err(failed);
        if let Some(arms) = arms {
            let plan = Plan {
                arms: &arms,
                config: config.as_ref(),
                response,
            };
            let comparison = pressure::replay::compare(&entries, &plan).map_err(failed)?;
            return Ok(("comparison", told(serde_json::to_value(comparison))?));
        }
        if coverage {
            return Ok((
                "coverage",
                told(serde_json::to_value(
                    calibrate(entries.iter()).map_err(failed)?,
                ))?,
            ));
        }
        let again = decide_again(entries.iter(), config.as_ref()).map_err(failed)?;
        Ok(("again", told(serde_json::to_value(again))?))
    };
    let (name, value) = watch::run(py, Progress::new(None, None), 1, work)?;
    json(py, &serde_json::json!({ name: value }))
}
