//! Policies that are written in Python: `class Mine(warmset.Policy)`.
//!
//! The engine keeps which pages are in memory, so a policy cannot miscount. It is asked what goes.

use crate::failure::failed;
use crate::trace::Trace;
use crate::watch::Watch;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use workingset::policy::{Evictions, Setup, run_made};
use workingset::trace::demand_order;
use workingset::{Access, Error, Page, Policy, Score};

/// A policy, as `simulate` is given it: the class, or what else makes one.
pub(crate) struct PythonPolicy {
    make: Py<PyAny>,
    pub(crate) label: String,
}

impl PythonPolicy {
    /// What was given, if it can be called to make a policy.
    pub(crate) fn of(make: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if !make.is_callable() {
            return Ok(None);
        }
        let module = make.py().import("warmset._policy")?;
        Ok(Some(Self {
            make: make.clone().unbind(),
            label: module.call_method1("label_of", (make,))?.extract()?,
        }))
    }

    /// Runs it over a trace.
    ///
    /// Errors: what its methods raise; a page is to go that is not in memory; the caller has stopped waiting.
    pub(crate) fn run(&self, trace: &Py<Trace>, capacity: usize, watch: &Watch) -> PyResult<Score> {
        if capacity == 0 {
            return Err(failed("a policy needs a page of memory"));
        }
        watch.in_python(|py| {
            let inner = &trace.get().inner;
            demand_order(&inner.about, &self.label).map_err(failed)?;
            let usable = capacity.min(inner.pages());
            let made = self.make.bind(py).call1((usable, trace))?;
            let base = py.import("warmset._policy")?.getattr("Policy")?;
            if !made.is_instance(&base)? {
                return Err(PyTypeError::new_err(format!(
                    "{} made an object of the class {}: a subclass of warmset.Policy is meant",
                    self.label,
                    made.get_type().name()?
                )));
            }
            let mut running = Running {
                hit: overridden(&made, &base, "hit")?,
                load: overridden(&made, &base, "load")?,
                evict: made.getattr("evict")?,
                label: &self.label,
                resident: vec![false; inner.pages()],
                count: 0,
                capacity: usable,
                watch,
                error: None,
            };
            let setup = Setup {
                capacity: usable,
                trace: inner,
                options: &workingset::policy::Options::default(),
            };
            let score = run_made(&mut running, &setup);
            match running.error {
                Some(error) => Err(error),
                None => Ok(Score { capacity, ..score }),
            }
        })
    }
}

/// The method of this name; `None` if it is that of the base class, which does nothing.
fn overridden<'py>(
    policy: &Bound<'py, PyAny>,
    base: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if policy.get_type().getattr(name)?.is(&base.getattr(name)?) {
        return Ok(None);
    }
    policy.getattr(name).map(Some)
}

/// A policy that is being run.
struct Running<'r, 'py> {
    hit: Option<Bound<'py, PyAny>>,
    load: Option<Bound<'py, PyAny>>,
    evict: Bound<'py, PyAny>,
    label: &'r str,
    /// For each page, whether it is in memory.
    resident: Vec<bool>,
    count: usize,
    capacity: usize,
    watch: &'r Watch,
    /// Why it was not run to its end: from then on, nothing is called.
    error: Option<PyErr>,
}

impl Running<'_, '_> {
    fn step(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> PyResult<Access> {
        self.watch.check()?;
        if self.resident[page as usize] {
            if let Some(hit) = &self.hit {
                hit.call1((page, now))?;
            }
            return Ok(Access::Hit);
        }
        if self.count == self.capacity {
            let victim = self.evict.call1((page, now))?;
            let victim = self.checked(&victim)?;
            self.resident[victim as usize] = false;
            self.count -= 1;
            evicted.note(victim);
        }
        self.resident[page as usize] = true;
        self.count += 1;
        if let Some(load) = &self.load {
            load.call1((page, now))?;
        }
        Ok(Access::Miss)
    }

    /// The page that is to go.
    fn checked(&self, victim: &Bound<'_, PyAny>) -> PyResult<Page> {
        let Ok(number) = victim.extract::<i64>() else {
            return Err(PyTypeError::new_err(format!(
                "{}.evict returned {}: the number of a page in memory is meant",
                self.label,
                victim.repr()?
            )));
        };
        let page = Page::try_from(number).ok();
        let page = page.filter(|page| self.resident.get(*page as usize) == Some(&true));
        page.ok_or_else(|| {
            failed(format!(
                "{}.evict returned {number}: this page is not in memory",
                self.label
            ))
        })
    }
}

impl Policy for Running<'_, '_> {
    fn new(_: &Setup<'_>) -> Result<Self, Error> {
        Err(Error::Unfit(
            "a policy of Python is made by Python".to_owned(),
        ))
    }

    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        if self.error.is_some() {
            return Access::Miss;
        }
        match self.step(page, now, evicted) {
            Ok(access) => access,
            Err(error) => {
                self.error = Some(error);
                Access::Miss
            }
        }
    }

    fn resident(&self) -> usize {
        self.count
    }
}
