//! Managers of memory by name, and a run under one of them.

use super::local::{Local, Rule};
use super::machine::Machine;
use super::memory::{Global, Memory, Pressure, Target};
use super::process::Process;
use super::run::{Outcome, run};
use crate::Error;
use crate::frames::{ActiveInactive, Clock, Floors, Generations, Lru, Tuning};

/// The names of the managers, those with a parameter by their form.
const NAMES: &str = "lru, clock, linux, mglru, mglru:MS, le9, mglru-le9, le9:ANON/LOW/MIN, le9-adaptive, share, ws:THETA, pff:P, \
                     token, up-largest, up-leftmost, up-rightmost, down-largest, down-leftmost, down-rightmost";

/// le9's own floors, in per cent.
const LE9_FLOORS: &str = "15/0/15";

/// Runs programs in one memory, under the manager of this name.
///
/// Errors: no such manager, a parameter that it does not take, and those of [`run`].
pub fn run_managed(
    name: &str,
    machine: &Machine,
    processes: &[Process<'_>],
) -> Result<Outcome, Error> {
    let pages = processes.iter().map(|process| process.trace.pages()).sum();
    let linux = |floors| Global::new(ActiveInactive::new(pages, 60.0, 0, floors), pages);
    let mglru = |min_ttl, floors| {
        let tuning = Tuning {
            swappiness: 60.0,
            by_descriptor: false,
            min_ttl,
            floors,
        };
        Global::new(Generations::new(pages, tuning), pages)
    };
    let (manager, parameter) = name.split_once(':').unwrap_or((name, ""));
    match (manager, parameter) {
        ("lru", "") => go(machine, processes, Global::new(Lru::new(pages), pages)),
        ("clock", "") => go(machine, processes, Global::new(Clock::new(pages), pages)),
        ("linux", "") => go(machine, processes, linux(Floors::NONE)),
        ("mglru", "") => go(machine, processes, mglru(0, Floors::NONE)),
        ("mglru", ttl) => {
            let min_ttl = number(name, ttl, "milliseconds")?.saturating_mul(1_000_000);
            go(machine, processes, mglru(min_ttl, Floors::NONE))
        }
        ("le9", shares) => go(machine, processes, linux(floors(shares)?)),
        ("mglru-le9", shares) => go(machine, processes, mglru(0, floors(shares)?)),
        ("le9-adaptive", "") => {
            let adaptive = Floors {
                most: Some(0.5),
                ..Floors::NONE
            };
            go(machine, processes, linux(adaptive))
        }
        ("token", "") => go(machine, processes, linux(Floors::NONE).with_token()),
        ("share", "") => local(machine, processes, pages, Rule::Share),
        ("ws", theta) => {
            let theta = references(name, theta, machine)?;
            local(machine, processes, pages, Rule::WorkingSet(theta))
        }
        ("pff", p) => {
            let p = references(name, p, machine)?;
            local(machine, processes, pages, Rule::FaultFrequency(p))
        }
        (pressed, "") => {
            let pressure = pressure(pressed).ok_or_else(|| unknown(name))?;
            let pressed = Global::new(Clock::new(pages), pages).pressed(pressure);
            go(machine, processes, pressed)
        }
        _ => Err(unknown(name)),
    }
}

fn go(
    machine: &Machine,
    processes: &[Process<'_>],
    mut memory: impl Memory,
) -> Result<Outcome, Error> {
    run(machine, processes, &mut memory)
}

fn local(
    machine: &Machine,
    processes: &[Process<'_>],
    pages: usize,
    rule: Rule,
) -> Result<Outcome, Error> {
    go(machine, processes, Local::new(pages, processes.len(), rule))
}

fn unknown(name: &str) -> Error {
    Error::Unknown(format!("no manager '{name}': there are {NAMES}"))
}

fn number(name: &str, text: &str, unit: &str) -> Result<u64, Error> {
    text.parse()
        .map_err(|_| Error::Unfit(format!("{name}: '{text}' is not a number of {unit}")))
}

/// References, as time of the machine.
fn references(name: &str, text: &str, machine: &Machine) -> Result<u64, Error> {
    let references = number(name, text, "references")?;
    Ok(references.saturating_mul(machine.reference_ns))
}

/// Parses `15/0/15`: anonymous, clean low and clean minimum, in per cent; le9's own if `text` is empty.
fn floors(text: &str) -> Result<Floors, Error> {
    let text = if text.is_empty() { LE9_FLOORS } else { text };
    let wrong = || {
        Error::Unfit(format!(
            "floors '{text}': write three percentages that leave some memory, such as {LE9_FLOORS}"
        ))
    };
    let mut shares = Vec::new();
    for share in text.split('/') {
        let share: f64 = share.parse().map_err(|_| wrong())?;
        shares.push(share);
    }
    let &[anon_min, clean_low, clean_min] = shares.as_slice() else {
        return Err(wrong());
    };
    let are_shares = shares.iter().all(|share| (0.0..=100.0).contains(share));
    if !are_shares || anon_min + clean_low.max(clean_min) >= 100.0 {
        return Err(wrong());
    }
    Ok(Floors {
        anon_min: anon_min / 100.0,
        clean_low: clean_low / 100.0,
        clean_min: clean_min / 100.0,
        most: None,
    })
}

/// Parses a name such as `up-largest`.
fn pressure(name: &str) -> Option<Pressure> {
    let (way, on) = name.split_once('-')?;
    let on: fn(Target) -> usize = match on {
        "largest" => |identity| identity.largest,
        "leftmost" => |identity| identity.leftmost,
        "rightmost" => |identity| identity.rightmost,
        _ => return None,
    };
    let up = match way {
        "up" => true,
        "down" => false,
        _ => return None,
    };
    Some(Pressure { on, up })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;

    fn told(name: &str) -> String {
        let trace = Trace::of(&(0..200).collect::<Vec<u64>>()).unwrap();
        let processes = [Process::new("one", &trace)];
        let run = run_managed(name, &Machine::of(100), &processes);
        run.map_or_else(
            |error| error.to_string(),
            |outcome| outcome.reads.to_string(),
        )
    }

    #[test]
    fn every_name_that_a_message_lists_is_a_manager() {
        for name in NAMES.split(", ") {
            let name = name
                .trim()
                .replace("MS", "10")
                .replace("ANON/LOW/MIN", "5/0/10")
                .replace("THETA", "50")
                .replace(":P", ":50");
            assert!(
                told(&name).parse::<u64>().is_ok(),
                "{name}: {}",
                told(&name)
            );
        }
    }

    #[test]
    fn what_is_no_manager_is_refused() {
        for name in ["up", "sideways-largest", "up-smallest", "lru:3", "none"] {
            assert!(told(name).starts_with("no manager '"), "{name}");
        }
        assert_eq!(told("ws:x"), "ws:x: 'x' is not a number of references");
        assert!(told("le9:60/0/50").contains("leave some memory"));
        assert!(told("le9:1/2").contains("three percentages"));
    }
}
