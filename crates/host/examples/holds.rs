//! A guard's hands for a moment: `holds set ROOT` sets two knobs of the machine in ROOT, protects a unit, throttles and
//! freezes another, and puts all back as it ends.
//! `holds restore ROOT` puts back what such a one has left. A test lets it fail at each of its system calls.

use host::{Applied, Machine, Permission, Places, restore};
use pressure::decision::{Action, Attention, Decision, Reason, Step};
use pressure::groups::CgroupAction;
use pressure::knob::Knob;
use pressure::{Config, Sample};
use std::path::Path;
use std::process::ExitCode;
use units::{Bytes, Span};

/// What is set: within the range of each.
const SET: [(Knob, u64); 2] = [(Knob::WatermarkScaleFactor, 240), (Knob::Swappiness, 1)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let [_, task, root] = words.as_slice() else {
        eprintln!("usage: holds set|restore ROOT");
        return ExitCode::from(2);
    };
    let places = Places::at(Path::new(root));
    let done = if task == "restore" {
        restore(&places).map(|restored| restored.failed.is_empty())
    } else {
        set(&places)
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Sets the knobs and the limits, one after the other and then the knobs again, and puts all back.
fn set(places: &Places) -> Result<bool, host::Error> {
    let mut machine = Machine::at(places, Permission::Act, &Config::default().wake)?;
    machine.protect_units(&["ssh.service".to_owned()]);
    let mut sample = Sample::default();
    machine.act(&Decision {
        attention: Attention::Candidates,
        ..testsupport::decision()
    });
    let mut is_done = true;
    for more in [0, 1] {
        machine.sample(&mut sample);
        let mut actions = knobs(&sample, more);
        if more == 0 {
            actions.extend(limits(&sample));
        }
        is_done &= all_are_done(&mut machine, actions);
    }
    is_done &= machine.put_everything_back().failed.is_empty();
    Ok(is_done)
}

fn knobs(sample: &Sample, more: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    for (knob, to) in SET {
        if let Some(from) = sample.knobs.now.of(knob) {
            let to = to + more;
            actions.push(Action::Set { knob, from, to });
        }
    }
    actions
}

/// A floor for the unit that is protected, and a limit and a freeze for that of the largest process.
fn limits(sample: &Sample) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(protected) = sample.groups.protected.first() {
        actions.push(CgroupAction::Keep {
            id: protected.id,
            unit: protected.unit,
            from: Bytes::ZERO,
            to: Bytes::mib(2),
        });
    }
    let candidate = sample.scan.candidates.first();
    if let Some((candidate, group)) = candidate.and_then(|one| Some((one, one.group?))) {
        let used = Bytes::ZERO;
        actions.push(CgroupAction::Throttle {
            id: group.id,
            unit: candidate.unit,
            used,
            memory_high: Bytes::mib(400),
            reserve: Bytes::ZERO,
        });
        actions.push(CgroupAction::Freeze {
            id: group.id,
            unit: candidate.unit,
            user: 1000,
            used,
            headroom: Bytes::ZERO,
            wait: Span::secs(15),
        });
    }
    actions.into_iter().map(Action::Group).collect()
}

/// Carries the actions out. Returns true if each of the expected ones was.
fn all_are_done(machine: &mut Machine, actions: Vec<Action>) -> bool {
    let steps = actions.into_iter().map(|action| {
        let why = Reason::Stop;
        Step { action, why }
    });
    let outcome = machine.act(&Decision {
        steps: steps.collect(),
        attention: Attention::Candidates,
        ..testsupport::decision()
    });
    let applied = outcome.steps();
    let is_one_of_ours = |one: &Applied| matches!(one, Applied::Written | Applied::Limited);
    applied.len() >= SET.len() && applied.iter().all(is_one_of_ours)
}
