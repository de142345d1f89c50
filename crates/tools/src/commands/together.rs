//! `warmset together`: several programs under one memory.

use crate::trace_input::Input;
use crate::ui::{Context, Form, json_line, progress};
use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use workingset::Trace;
use workingset::capacity;
use workingset::engine::{
    Global, Local, Machine, Memory, Outcome, Pressure, Process, Rule, Target, run as simulate,
};
use workingset::frames::{ActiveInactive, Clock, Floors, Frames, Generations, Lru, Tuning};
use workingset::trace::demand_order;

/// The managers, for the end of the long help.
const MANAGERS: &str = "\
Managers of memory:
  lru, clock                   one list for all programs, by every use, or by one accessed bit
  linux, mglru                 Linux's two; anonymous and file pages are balanced by refaults
  mglru:MS                     a page used within MS milliseconds is not evicted; memory runs out instead (min_ttl_ms)
  le9, mglru-le9               linux and mglru with floors of 15 % of anonymous and 15 % of clean file pages
  le9:ANON/LOW/MIN             other floors in per cent, also for mglru-le9; LOW gives way when nothing else is left
  le9-adaptive                 a floor of clean file pages that refaults raise up to half of memory
  share, ws:THETA, pff:P       memory of its own for each program: an equal share, its working set, or by its fault
                               frequency; THETA and P are in its own references
  token                        linux with the swap token
  up-largest, up-leftmost, up-rightmost, down-largest, down-leftmost, down-rightmost
                               clock with the founding report's pressure on a program when memory falls short";

/// Run several traces in one memory, and see how they make each other wait
///
/// The machine has one CPU and one device. Each trace is a program. The program with the least CPU time runs next, until it
/// faults or its slice ends. Pages that instructions are fetched from count as a file, other pages as anonymous memory,
/// unless the trace says which is which.
#[derive(Debug, clap::Args)]
#[command(after_long_help = MANAGERS)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Trace of another program; the option may be repeated
    #[arg(long, value_name = "TRACE")]
    with: Vec<PathBuf>,
    /// Sizes of memory: pages, bytes, or per cent of the footprint of all programs; each is run by itself
    #[arg(
        short,
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "25%,50%,75%"
    )]
    memory: Vec<String>,
    /// Managers of memory: see below
    #[arg(
        short,
        long,
        value_name = "MANAGER",
        value_delimiter = ',',
        default_value = "lru,clock,linux,mglru,le9,share"
    )]
    policy: Vec<String>,
    /// Run without swap: anonymous memory cannot be evicted
    #[arg(long)]
    no_swap: bool,
    /// Time to read a page, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 100_000)]
    read: u64,
    /// Time to write a page, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 100_000)]
    write: u64,
    /// Longest time that a program runs before another may, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 3_000_000)]
    slice: u64,
}

#[derive(Debug, Serialize)]
struct Row {
    policy: String,
    memory: usize,
    #[serde(flatten)]
    outcome: Outcome,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let inputs: Vec<Input> = std::iter::once(args.input.clone())
        .chain(args.with.iter().map(|path| args.input.of(path)))
        .collect();
    let traces = inputs
        .iter()
        .map(Input::load)
        .collect::<Result<Vec<Trace>>>()?;
    for trace in &traces {
        demand_order(&trace.about, "together")?;
    }
    let processes: Vec<Process<'_>> = traces
        .iter()
        .zip(&inputs)
        .map(|(trace, input)| Process::new(&input.name(), trace))
        .collect();
    let footprint: usize = traces.iter().map(Trace::pages).sum();
    let sizes = args
        .memory
        .iter()
        .map(|text| capacity::pages(text, footprint, 4096))
        .collect::<Result<Vec<_>, _>>()?;
    let tasks: Vec<(&String, usize)> = sizes
        .iter()
        .flat_map(|size| args.policy.iter().map(move |name| (name, *size)))
        .collect();
    let bar = progress::steps("running", tasks.len());
    let run_one = |(name, frames): &(&String, usize)| -> Result<Row> {
        let machine = Machine {
            swap: !args.no_swap,
            read_ns: args.read,
            write_ns: args.write,
            slice_ns: args.slice,
            ..Machine::of(*frames)
        };
        let outcome = manage(name, &machine, &processes, footprint)?;
        bar.inc(1);
        Ok(Row {
            policy: (*name).clone(),
            memory: *frames,
            outcome,
        })
    };
    let rows = tasks
        .par_iter()
        .map(run_one)
        .collect::<Result<Vec<Row>>>()?;
    bar.finish_and_clear();
    if context.form == Form::Json {
        for row in &rows {
            json_line(out, row)?;
        }
    } else {
        table(out, &rows, footprint)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the programs under the manager of this name.
fn manage(
    name: &str,
    machine: &Machine,
    processes: &[Process<'_>],
    pages: usize,
) -> Result<Outcome> {
    fn go(
        machine: &Machine,
        processes: &[Process<'_>],
        mut memory: impl Memory,
    ) -> Result<Outcome> {
        Ok(simulate(machine, processes, &mut memory)?)
    }
    fn whole(frames: impl Frames, pages: usize) -> Global<impl Frames> {
        Global::new(frames, pages)
    }
    let linux = |floors| whole(ActiveInactive::new(pages, 60.0, 0, floors), pages);
    let mglru = |min_ttl, floors| {
        let tuning = Tuning {
            swappiness: 60.0,
            by_descriptor: false,
            min_ttl,
            floors,
        };
        whole(Generations::new(pages, tuning), pages)
    };
    let local = |rule| Local::new(pages, processes.len(), rule);
    let number = |text: &str, unit: &str| -> Result<u64> {
        text.parse()
            .with_context(|| format!("{name}: '{text}' is not a number of {unit}"))
    };
    let references =
        |text| Ok::<u64, anyhow::Error>(number(text, "references")? * machine.reference_ns);
    match name.split_once(':').unwrap_or((name, "")) {
        ("lru", "") => go(machine, processes, whole(Lru::new(pages), pages)),
        ("clock", "") => go(machine, processes, whole(Clock::new(pages), pages)),
        ("linux", "") => go(machine, processes, linux(Floors::NONE)),
        ("mglru", "") => go(machine, processes, mglru(0, Floors::NONE)),
        ("mglru", ttl) => {
            let min_ttl = number(ttl, "milliseconds")?.saturating_mul(1_000_000);
            go(machine, processes, mglru(min_ttl, Floors::NONE))
        }
        ("le9", shares) => go(machine, processes, linux(floors(shares)?)),
        ("mglru-le9", shares) => go(machine, processes, mglru(0, floors(shares)?)),
        ("le9-adaptive", "") => go(
            machine,
            processes,
            linux(Floors {
                most: Some(0.5),
                ..Floors::NONE
            }),
        ),
        ("token", "") => go(machine, processes, linux(Floors::NONE).with_token()),
        ("share", "") => go(machine, processes, local(Rule::Share)),
        ("ws", theta) => go(
            machine,
            processes,
            local(Rule::WorkingSet(references(theta)?)),
        ),
        ("pff", p) => go(
            machine,
            processes,
            local(Rule::FaultFrequency(references(p)?)),
        ),
        (pressed, "") => {
            let Some(pressure) = pressure(pressed) else {
                bail!("no manager '{name}': see warmset together --help")
            };
            go(
                machine,
                processes,
                whole(Clock::new(pages), pages).pressed(pressure),
            )
        }
        _ => bail!("no manager '{name}': see warmset together --help"),
    }
}

/// Parses `15/0/15`: anonymous, clean low and clean minimum, in per cent; le9's own if `text` is empty.
fn floors(text: &str) -> Result<Floors> {
    let wrong = || {
        format!("floors '{text}': write three percentages that leave some memory, such as 15/0/15")
    };
    let text = if text.is_empty() { "15/0/15" } else { text };
    let shares = text
        .split('/')
        .map(str::parse::<f64>)
        .collect::<Result<Vec<_>, _>>()
        .with_context(wrong)?;
    let &[anon_min, clean_low, clean_min] = shares.as_slice() else {
        bail!(wrong())
    };
    let fits = shares.iter().all(|share| (0.0..=100.0).contains(share))
        && anon_min + clean_low.max(clean_min) < 100.0;
    anyhow::ensure!(fits, wrong());
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

fn table(out: &mut impl Write, rows: &[Row], footprint: usize) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    writeln!(
        out,
        "{} programs, {footprint} pages in all",
        first.outcome.processes.len()
    )?;
    writeln!(
        out,
        "{:<14} {:>8} {:>9} {:>7} {:>7} {:>10} {:>10} {:>10} {:>5}  ended at, s (refaults)",
        "manager", "memory", "time, s", "some", "full", "refaults", "reads", "writes", "kills"
    )?;
    for Row {
        policy,
        memory,
        outcome,
    } in rows
    {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let share = |ns: u64| 100.0 * ns as f64 / outcome.makespan_ns.max(1) as f64;
        let refaults =
            |at: usize| outcome.processes[at].refaults_file + outcome.processes[at].refaults_anon;
        let ends = outcome.processes.iter().enumerate().map(|(at, process)| {
            let end = if process.killed {
                "killed".to_owned()
            } else {
                format!("{:.2}", seconds(process.ended_ns))
            };
            format!("{end} ({})", refaults(at))
        });
        writeln!(
            out,
            "{policy:<14} {memory:>8} {:>9.3} {:>6.1}% {:>6.1}% {:>10} {:>10} {:>10} {:>5}  {}",
            seconds(outcome.makespan_ns),
            share(outcome.some_ns),
            share(outcome.full_ns),
            (0..outcome.processes.len()).map(refaults).sum::<u64>(),
            outcome.reads,
            outcome.writes,
            outcome.oom_kills,
            ends.collect::<Vec<_>>().join(", ")
        )?;
    }
    Ok(())
}
