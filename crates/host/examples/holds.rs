//! A guard's hands for a moment: `holds set ROOT` sets two knobs of the machine in ROOT, and puts them back as it ends.
//! `holds restore ROOT` puts back what such a one has left. A test lets it fail at each of its system calls.

use host::{Applied, Machine, Permission, Places, restore};
use pressure::decision::{Action, Decision, Reason, Step};
use pressure::knob::Knob;
use pressure::{Config, Sample};
use std::path::Path;
use std::process::ExitCode;

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

/// Sets the knobs, one after the other and then both again, and puts them back.
fn set(places: &Places) -> Result<bool, host::Error> {
    let mut machine = Machine::at(places, Permission::Act, &Config::default().wake)?;
    let mut sample = Sample::default();
    let mut is_done = true;
    for more in [0, 1] {
        machine.sample(&mut sample);
        let steps = SET.iter().filter_map(|(knob, to)| {
            let action = Action::Set {
                knob: *knob,
                from: sample.knobs.now.of(*knob)?,
                to: to + more,
            };
            let why = Reason::Stop;
            Some(Step { action, why })
        });
        let outcome = machine.act(&Decision {
            steps: steps.collect(),
            ..testsupport::decision()
        });
        is_done &= outcome.steps() == [Applied::Written, Applied::Written];
    }
    is_done &= machine.put_everything_back().failed.is_empty();
    Ok(is_done)
}
