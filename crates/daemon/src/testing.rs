//! A status to show in tests, and programs to start.

use arrayvec::ArrayVec;
use pressure::config::{Mode, Predictor};
use pressure::decision::{Decision, Forecast, Phase};
use pressure::sample::{Cgroups, Facts, Sample, Wall};
use pressure::status::{Status, Tally};
use std::path::Path;
use std::process::{Command, Stdio};
use units::{Bytes, Span};

pub(crate) fn status() -> Status {
    Status {
        version: "1.2.3".to_owned(),
        pid: 42,
        started: Wall(0),
        mode: Mode::Tune,
        only_observes: None,
        predictor: Predictor::BaseStock,
        facts: facts(),
        sample: Sample::default(),
        decision: decision(),
        tally: Tally { samples: 7, ..Tally::default() },
        past: Vec::new(),
        troubles: Vec::new(),
        rivals: Vec::new(),
        names: Vec::new(),
    }
}

pub(crate) fn facts() -> Facts {
    Facts {
        page_size: Bytes::kib(4),
        kernel: "6.12.0-\"test\"".to_owned(),
        boot_id: "boot".to_owned(),
        cpus: 2,
        pmd_order: Some(9),
        cgroups: Cgroups::V2,
        container: None,
        hidepid: false,
    }
}

pub(crate) fn decision() -> Decision {
    Decision {
        phase: Phase::Calm,
        forecast: Forecast::default(),
        steps: ArrayVec::new(),
        notices: ArrayVec::new(),
        patience: Span::secs(5),
        attention: pressure::decision::Attention::Rest,
    }
}

/// Writes a program, by a child: had this process it open for writing, so might a child that another test starts in that
/// moment, and nobody could run it (`ETXTBSY`).
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut child = install.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}
