//! Caches of objects that have sizes.

use crate::failure::failed;
use crate::policies::{USUAL, words};
use crate::table::{Columns, Table};
use crate::trace::Trace;
use crate::watch::{self, Progress, Watch};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use workingset::objects::{ObjectChoice, ObjectScore, Objects, Resized};

/// Run policies for caches of objects on a trace with sizes, at every capacity, in parallel.
///
/// Args:
///     trace: references to objects, with a size each: of ``Trace.read(path, sizes=True)``, or ``Trace(objects, size=…)``.
///     policies: ``"lru,gdsf"`` or a list; names of ``policies(objects=True)``, with options as in ``gdsf:packets=1``; ``all`` is
///         every one.
///     capacities: sizes of the cache: bytes, or strings such as ``64MiB`` or ``10%`` of the footprint, the bytes of all objects
///         at their largest.
///     resized: what a reference to an object of another size than before is: ``miss``; ``hit`` if it is in the cache, which has
///         the new size from then on; ``refuse``, an Error.
///     jobs: run so many at once; 0: one for each CPU.
///     progress: called as ``progress(runs done, runs in all)``.
///
/// Returns:
///     A table with a row for each policy and capacity: policy and options (str); capacity, references, bytes, objects,
///     footprint, misses, missed_bytes, too_large, not_admitted, resized and without_size (int64); miss_ratio,
///     byte_miss_ratio, mean_bytes, seconds and references_per_second (float64); above_footprint (bool).
///
/// References of size 0 are passed over; without_size counts them. An object larger than the cache is missed each time:
/// too_large.
///
/// Raises:
///     Error: no such policy or option; a capacity of 0; a trace without sizes.
///     KeyboardInterrupt: at once, while runs that have begun end in the background.
///
/// >>> trace = Trace([1, 2, 1, 3, 1], size=[10, 500, 10, 700, 10])
/// >>> scores = simulate_objects(trace, "fifo,gdsf", [710])
/// >>> scores["misses"], scores["missed_bytes"]
/// (array([4, 3]), array([1220, 1210]))
#[pyfunction]
#[pyo3(signature = (trace, policies=None, capacities=None, *, resized="miss", jobs=0, progress=None))]
pub(crate) fn simulate_objects<'py>(
    trace: &Bound<'py, Trace>,
    policies: Option<&Bound<'py, PyAny>>,
    capacities: Option<&Bound<'py, PyAny>>,
    resized: &str,
    jobs: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Table> {
    let asked = match policies {
        Some(told) => words(told)?,
        None => vec!["lru,gdsf".to_owned()],
    };
    let told = match capacities {
        Some(given) => words(given)?,
        None => USUAL.map(str::to_owned).to_vec(),
    };
    let choices = ObjectChoice::list(&asked).map_err(failed)?;
    let resized = Resized::named(resized).map_err(failed)?;
    let inner = Arc::clone(&trace.get().inner);
    let capacities: Vec<String> = told
        .iter()
        .flat_map(|text| text.split(','))
        .map(str::to_owned)
        .collect();
    let progress = Progress::new(progress, Some((choices.len() * capacities.len()) as u64));
    watch::run(trace.py(), progress, jobs, move |watch| {
        let objects = Objects::of(&inner, resized).map_err(failed)?;
        let capacities = objects.capacities(&capacities).map_err(failed)?;
        let mut tasks = Vec::new();
        for choice in &choices {
            for capacity in &capacities {
                tasks.push((choice, *capacity));
            }
        }
        let runs = tasks
            .into_par_iter()
            .map(|(choice, capacity)| Run::of(&objects, choice, capacity, watch));
        let runs: Vec<Run> = runs.collect::<PyResult<_>>()?;
        table(&objects, &runs)
    })
}

struct Run {
    policy: String,
    score: ObjectScore,
    seconds: f64,
}

impl Run {
    fn of(
        objects: &Objects<'_>,
        choice: &ObjectChoice,
        capacity: u64,
        watch: &Watch,
    ) -> PyResult<Self> {
        watch.check()?;
        let policy = choice.label();
        let began = Instant::now();
        let score = choice
            .spec
            .run(objects, capacity, &choice.options)
            .map_err(|error| failed(format!("{policy}: {error}")))?;
        watch.step();
        Ok(Self {
            policy,
            score,
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

fn table(objects: &Objects<'_>, runs: &[Run]) -> PyResult<Table> {
    let scores = || runs.iter().map(|run| &run.score);
    let same = |number: u64| runs.iter().map(move |_| number);
    let rate = |run: &Run| run.score.references as f64 / run.seconds.max(1e-9);
    Columns::default()
        .text("policy", runs.iter().map(|run| run.policy.clone()))
        .whole("capacity", scores().map(|score| score.capacity))
        .whole("references", scores().map(|score| score.references))
        .whole("bytes", scores().map(|score| score.bytes))
        .whole("objects", same(objects.distinct))
        .whole("footprint", same(objects.footprint))
        .whole("misses", scores().map(|score| score.misses))
        .real("miss_ratio", scores().map(ObjectScore::miss_ratio))
        .whole("missed_bytes", scores().map(|score| score.missed_bytes))
        .real(
            "byte_miss_ratio",
            scores().map(ObjectScore::byte_miss_ratio),
        )
        .whole("too_large", scores().map(|score| score.too_large))
        .whole("not_admitted", scores().map(|score| score.not_admitted))
        .real("mean_bytes", scores().map(|score| score.mean_bytes))
        .truth(
            "above_footprint",
            scores().map(|score| score.capacity > objects.footprint),
        )
        .whole("resized", same(objects.resized))
        .whole("without_size", same(objects.without_size))
        .text("options", scores().map(|score| score.options.clone()))
        .real("seconds", runs.iter().map(|run| run.seconds))
        .real("references_per_second", runs.iter().map(rate))
        .table("x=capacity,y=miss_ratio,by=policy")
}
