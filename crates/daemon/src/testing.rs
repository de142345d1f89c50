//! A status to show in tests.

use arrayvec::ArrayVec;
use pressure::config::{Mode, Predictor};
use pressure::decision::{Decision, Forecast, Phase};
use pressure::sample::{Cgroups, Facts, Sample, Wall};
use pressure::status::{Status, Tally};
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
        tally: Tally {
            samples: 7,
            ..Tally::default()
        },
        past: Vec::new(),
        warnings: Vec::new(),
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
