//! A recording, and every question that can be asked of one.

use pressure::recording::{Entry, decode};
use pressure::replay::{Arm, Calibrating, Deciding, Plan, Rewriting, Survey};

/// Reads a recording, decides it again, writes it anew and plays it to the model. Returns true if no line of it is damaged.
pub(crate) fn read(text: &[u8]) -> bool {
    let mut is_whole = true;
    let mut entries = Vec::new();
    for entry in decode(text) {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(_) => is_whole = false,
        }
    }
    decide(&entries);
    model(&entries);
    is_whole && !entries.is_empty()
}

fn decide(entries: &[Entry]) {
    let mut deciding = Deciding::by(None);
    let mut calibrating = Calibrating::default();
    let mut rewriting = Rewriting::default();
    let mut text = Vec::new();
    for entry in entries {
        let _ = deciding.take(entry);
        let _ = calibrating.take(entry);
        let _ = rewriting.take(entry, &mut text);
    }
    let _ = deciding.end();
    let _ = calibrating.end();
}

fn model(entries: &[Entry]) {
    let mut survey = Survey::default();
    for entry in entries {
        survey.take(entry);
    }
    let arms = [Arm::Recorded, Arm::Nothing, Arm::Warmset, Arm::Classic];
    let Ok(mut modelling) = survey.model(&Plan::of(&arms)) else {
        return;
    };
    for entry in entries {
        if modelling.take(entry).is_err() {
            return;
        }
    }
    let _ = modelling.end();
}
