//! Undoing the steps of a take-over, and saying what guards then.

use crate::systemctl::{WARMSETD, is_active, is_enabled, systemctl};
use std::fs;
use std::path::{Path, PathBuf};

/// What was done so far.
#[derive(Debug)]
pub(super) struct Undo {
    /// The other guard's unit.
    unit: String,
    /// Whether warmsetd ran before, and whether it was started at boot.
    was_active: bool,
    was_enabled: bool,
    drop_in: Option<PathBuf>,
    has_started: bool,
    /// The other guard's units, from when they are stopped.
    stopped: Vec<String>,
}

impl Undo {
    pub(super) fn new(unit: &str) -> Self {
        Self {
            unit: unit.to_owned(),
            // If systemctl cannot be asked, the first step with it fails, and nothing was started.
            was_active: is_active(WARMSETD).unwrap_or(false),
            was_enabled: is_enabled(WARMSETD).unwrap_or(false),
            drop_in: None,
            has_started: false,
            stopped: Vec::new(),
        }
    }

    /// The drop-in was written.
    pub(super) fn wrote(&mut self, drop_in: &Path) {
        self.drop_in = Some(drop_in.to_owned());
    }

    /// From here on warmsetd may have been started or enabled.
    pub(super) fn starts_warmsetd(&mut self) {
        self.has_started = true;
    }

    /// From here on these units may have been stopped or disabled.
    pub(super) fn stops_other(&mut self, units: &[String]) {
        self.stopped = units.to_vec();
    }

    /// Undoes all, the other guard first, and says what guards then.
    pub(super) fn run(self) -> String {
        let mut failed = Vec::new();
        let mut attempt = |what: anyhow::Result<()>| {
            if let Err(error) = what {
                failed.push(format!("{error:#}"));
            }
        };
        if self.stopped.is_empty() {
            // It was not stopped by us, but a conflict of units may have done so when warmsetd started.
            if self.has_started && !self.other_runs() {
                attempt(systemctl(&["start", &self.unit]));
            }
        } else {
            let mut arguments = vec!["enable", "--now"];
            arguments.extend(self.stopped.iter().map(String::as_str));
            attempt(systemctl(&arguments));
        }
        if let Some(drop_in) = &self.drop_in {
            attempt(fs::remove_file(drop_in).map_err(anyhow::Error::from));
        }
        if self.has_started {
            attempt(self.put_warmsetd_back());
        }
        self.told(&failed)
    }

    fn put_warmsetd_back(&self) -> anyhow::Result<()> {
        if !self.was_enabled && is_enabled(WARMSETD)? {
            systemctl(&["disable", WARMSETD])?;
        }
        if self.was_active {
            return systemctl(&["restart", WARMSETD]);
        }
        // A unit that failed may wait to be started again, so it is stopped in any case. Of one that is not installed
        // there is nothing to stop.
        match systemctl(&["stop", WARMSETD]) {
            Err(error) if is_active(WARMSETD)? => Err(error),
            _ => Ok(()),
        }
    }

    fn other_runs(&self) -> bool {
        is_active(&self.unit).unwrap_or(false)
    }

    fn told(&self, failed: &[String]) -> String {
        let undone = match failed {
            [] => "what was done is undone".to_owned(),
            failed => format!("not all could be undone ({})", failed.join("; ")),
        };
        let guards = match is_active(&self.unit) {
            Ok(true) => format!("{} still guards", self.unit),
            Ok(false) => format!(
                "{unit} does not run: sudo systemctl enable --now {unit}",
                unit = self.unit
            ),
            Err(error) => format!("whether {} runs is not known: {error:#}", self.unit),
        };
        format!("{undone}; {guards}")
    }
}
