//! What the tests of several crates share: a machine, a quiet decision, a status, programs to run.
//!
//! A dev-dependency only. The unit tests of `pressure` cannot use it: they would compare their own types with those of
//! the `pressure` that this crate links.

pub mod cached_files;
pub mod forged;
pub mod mutated;
pub mod recorded_machine;
pub mod terminal;

use arrayvec::ArrayVec;
use pressure::config::{Mode, Predictor};
use pressure::decision::{Attention, Decision, Forecast, Phase};
use pressure::recording::{Encoder, Opening};
use pressure::sample::{Cgroups, Facts, Sample, Wall};
use pressure::status::{Named, Status, Tally};
use pressure::{Config, History, decide};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use units::{Bytes, Span};

/// A small machine with cgroup v2.
pub fn facts() -> Facts {
    Facts {
        page_size: Bytes::kib(4),
        kernel: "6.12.0".to_owned(),
        boot_id: "boot".to_owned(),
        cpus: 2,
        pmd_order: Some(9),
        cgroups: Cgroups::V2,
        container: None,
        hidepid: false,
    }
}

/// A calm decision without steps or notices.
pub fn decision() -> Decision {
    Decision {
        phase: Phase::Calm,
        forecast: Forecast::default(),
        steps: ArrayVec::new(),
        notices: ArrayVec::new(),
        patience: Span::secs(5),
        attention: Attention::Rest,
    }
}

/// The text of a recording of these samples, with what the default configuration decides after each.
pub fn recorded(samples: impl IntoIterator<Item = Sample>) -> Vec<u8> {
    let config = Config::default();
    let mut history = History::new(&facts(), &config);
    let mut encoder = Encoder::new();
    let mut text = Vec::new();
    for sample in samples {
        if !encoder.fits(&sample) {
            let opening = Opening {
                facts: &facts(),
                config: &config,
                state: &history,
                sample: &sample,
            };
            encoder.header(&mut text, &opening).expect("a header");
        }
        encoder.sample(&mut text, &sample).expect("it fits");
        history.push(&sample);
        let decision = decide(&config, &history);
        encoder.decision(&mut text, &decision).expect("a decision");
    }
    text
}

/// A guard that runs and has read nothing yet.
pub fn status() -> Status {
    Status {
        version: "1.2.3".to_owned(),
        pid: 42,
        started: Wall(1_795_228_314_000),
        mode: Mode::Tune,
        only_observes: None,
        predictor: Predictor::BaseStock,
        facts: facts(),
        sample: Sample::default(),
        decision: decision(),
        tally: Tally::default(),
        past: Vec::new(),
        warnings: Vec::new(),
        rivals: Vec::new(),
        means: Vec::new(),
        names: Vec::new(),
        named: Named::default(),
    }
}

/// Writes an executable file with this text.
///
/// A child process writes it. If the test's own process had the file open for writing, a child that another test forks in
/// that moment would inherit the descriptor, and starting the program would fail with `ETXTBSY`.
pub fn write_program(path: &Path, text: &str) {
    let mut install = Command::new("install")
        .args(["-m", "755", "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("install(1) starts");
    let mut stdin = install.stdin.take().expect("stdin is a pipe");
    stdin
        .write_all(text.as_bytes())
        .expect("install(1) reads the text");
    drop(stdin);
    let status = install.wait().expect("install(1) ends");
    assert!(status.success(), "install {}: {status}", path.display());
}
