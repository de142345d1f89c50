//! A sweep's own file: what it asks for, and how much that may be.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use workingset::policy::Choice;

/// Tasks of a sweep, at most: each is a file in one directory, and two more when it is done. The longest that was run had 24.
const MOST_TASKS: u64 = 100_000;

/// A sweep file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    /// Files, relative to the sweep's directory.
    pub(super) traces: Vec<PathBuf>,
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default)]
    pub(super) capacities: Vec<String>,
    /// By policy and option, the values to run: every combination is run.
    #[serde(default)]
    parameters: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    #[serde(default)]
    pub(super) curve: Curve,
    pub(super) format: Option<String>,
    #[serde(default = "page")]
    pub(super) page_size: u64,
    #[serde(default)]
    pub(super) clock: Clock,
}

/// How LRU's curve of each trace is divided into tasks.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    /// Number of parts by time; the result is exact.
    #[serde(default)]
    pub(super) chunks: u64,
    /// All traces are pieces of one, in their order; the result is exact.
    #[serde(default)]
    pub(super) pieces: bool,
    /// Number of parts by the hash of the page; the result is an estimate.
    #[serde(default)]
    pub(super) classes: u64,
}

/// The unit of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Clock {
    #[default]
    References,
    Trace,
}

/// The default page size, in bytes.
fn page() -> u64 {
    4096
}

impl Sweep {
    /// Reads a sweep file.
    ///
    /// Errors: it is no such file, it asks for nothing, or for more than [`MOST_TASKS`].
    pub(super) fn parse(text: &str) -> Result<Self> {
        let sweep: Self = toml::from_str(text)?;
        ensure!(!sweep.traces.is_empty(), "the sweep has no traces");
        ensure!(
            sweep.policies.is_empty() == sweep.capacities.is_empty(),
            "policies need capacities, and capacities need policies"
        );
        let curve = &sweep.curve;
        let draws = curve.pieces || curve.chunks > 0 || curve.classes > 0;
        ensure!(
            !sweep.policies.is_empty() || draws,
            "the sweep has nothing to do: add policies or a curve"
        );
        let tasks = sweep.most_tasks()?;
        ensure!(
            tasks <= MOST_TASKS,
            "the sweep has up to {tasks} tasks, and at most {MOST_TASKS} are planned: \
             ask for fewer chunks, classes or values, or make several sweeps"
        );
        Ok(sweep)
    }

    /// Tasks of the sweep, if no two are the same and no trace is too short for its chunks.
    fn most_tasks(&self) -> Result<u64> {
        let mut each = u64::from(self.curve.pieces);
        each = each.saturating_add(self.curve.chunks);
        each = each.saturating_add(self.curve.classes);
        for choice in Choice::list(&self.policies)? {
            let mut combinations = 1_u64;
            for values in self.values_of(&choice).values() {
                combinations = combinations.saturating_mul(values.len() as u64);
            }
            each = each.saturating_add(combinations);
        }
        Ok(each.saturating_mul(self.traces.len() as u64))
    }

    /// The values to run of each option of a policy.
    fn values_of(&self, choice: &Choice) -> BTreeMap<&str, &[f64]> {
        let options = self.parameters.get(choice.spec.name).into_iter().flatten();
        options
            .map(|(option, values)| (option.as_str(), values.as_slice()))
            .collect()
    }

    /// The labels of the policies, one for each combination of parameters.
    pub(super) fn labels(&self) -> Result<Vec<String>> {
        let mut labels = Vec::new();
        for choice in Choice::list(&self.policies)? {
            let mut choices = vec![choice.label()];
            for (option, values) in self.values_of(&choice) {
                choices = with_each_value(&choices, option, values);
            }
            for label in choices {
                let choice = Choice::parse(&label).with_context(|| label.clone())?;
                labels.push(choice.label());
            }
        }
        let is_unused = |name: &&String| labels.iter().all(|label| !label.starts_with(*name));
        if let Some(unused) = self.parameters.keys().find(is_unused) {
            anyhow::bail!("parameters of {unused}, which is not a policy of the sweep");
        }
        Ok(labels)
    }
}

/// Each label with each value of an option.
fn with_each_value(labels: &[String], option: &str, values: &[f64]) -> Vec<String> {
    let mut all = Vec::new();
    for label in labels {
        let separator = if label.contains(':') { ',' } else { ':' };
        for value in values {
            all.push(format!("{label}{separator}{option}={value}"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = Sweep::parse(text).expect_err("it is refused");
        format!("{error:#}")
    }

    #[test]
    fn more_tasks_than_anyone_runs_are_refused_before_they_are_made() {
        let huge = i64::MAX;
        for curve in [
            format!("chunks = {huge}"),
            format!("classes = {huge}"),
            format!("chunks = {huge}\nclasses = {huge}\npieces = true"),
        ] {
            let error = refused(&format!("traces = [\"a\", \"b\"]\n[curve]\n{curve}\n"));
            assert!(error.contains("at most 100000 are planned"), "{error}");
        }
        let values = vec!["0.5"; 400].join(",");
        let error = refused(&format!(
            "traces = [\"a\"]\npolicies = [\"2q\"]\ncapacities = [\"10\"]\n\
             [parameters.2q]\nkin = [{values}]\nkout = [{values}]\n"
        ));
        assert!(error.contains("up to 160000 tasks"), "{error}");
    }

    #[test]
    fn a_sweep_needs_traces_and_something_to_do() {
        assert_eq!(refused("traces = []"), "the sweep has no traces");
        assert!(refused("traces = [\"a\"]").contains("nothing to do"));
        assert!(refused("traces = [\"a\"]\npolicies = [\"lru\"]").contains("need capacities"));
    }
}
