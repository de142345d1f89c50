//! `warmset together`: several programs under one memory.

use crate::trace_input::Input;
use crate::ui::{Context, Form, json_line, progress};
use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use traces::ReadNote;
use workingset::Trace;
use workingset::capacity;
use workingset::engine::{Machine, Outcome, Process, run_managed};
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

/// A row, and what was read.
#[derive(Debug, Serialize)]
struct Noted<'r> {
    #[serde(flatten)]
    row: &'r Row,
    traces: &'r [ReadNote],
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let inputs: Vec<Input> = std::iter::once(args.input.clone())
        .chain(args.with.iter().map(|path| args.input.of(path)))
        .collect();
    let traces = inputs
        .iter()
        .map(Input::load_noted)
        .collect::<Result<Vec<(Trace, ReadNote)>>>()?;
    let (traces, notes): (Vec<Trace>, Vec<ReadNote>) = traces.into_iter().unzip();
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
        let outcome = run_managed(name, &machine, &processes)?;
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
            let noted = Noted {
                row,
                traces: &notes,
            };
            json_line(out, &noted)?;
        }
    } else {
        table(out, &rows, footprint)?;
    }
    Ok(ExitCode::SUCCESS)
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
