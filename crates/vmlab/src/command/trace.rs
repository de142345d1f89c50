//! `trace`: every reference of a machine, while a load or a script runs in it.

use super::run::{INTERRUPTED, command_line, daemon, mib, watch_for_interrupts};
use super::say;
use crate::arm::Arm;
use crate::frame::Frame;
use crate::image::{self, Programs};
use crate::kernel;
use crate::line::{Setting, State};
use crate::plan::Swap;
use crate::runner::{Bench, Job, Lengths, Order, Outcome};
use crate::scenario;
use crate::store::Store;
use crate::vm::accel::Accel;
use crate::vm::disk::Drive;
use crate::vm::recording::{MOST, Recorded, Recording};
use crate::vm::{Hardware, Silence, Vm, guest_program};
use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use units::Bytes;

/// Most time to boot. The translator takes half a minute, and longer on a busy host.
const BOOT: Duration = Duration::from_secs(300);
/// Time between two looks at the machine and at what converts: a person notices no delay.
const CHECK: Duration = Duration::from_millis(200);
/// The program that makes a trace of what the plugin writes.
const CONVERTER: &str = "warmset-tools";

/// Record every reference of a machine to its physical memory, under a scenario's load or a script
///
/// QEMU's translator executes the machine, and Warmset's plugin tells each fetch, load and store of all CPUs, the kernel's too. The
/// recording begins with the load, after the warm-up, and ends with it. The machine's clock counts instructions, so that it does not
/// notice the recording. `warmset analyze`, `simulate` and `curve` read the trace; its pages are frames of physical memory.
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The load: see `warmset-lab scenarios`
    #[arg(required_unless_present = "script", conflicts_with = "script")]
    scenario: Option<String>,
    /// A shell script to record instead
    #[arg(long)]
    script: Option<String>,
    /// The trace to write; the name ends in .parquet or .arrow, or in one that `warmset convert` knows
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Stop after this many references
    #[arg(long, value_name = "NUMBER")]
    references: Option<u64>,
    /// What runs beside the load: see `warmset-lab arms`
    #[arg(long, default_value = "none", conflicts_with = "script")]
    arm: String,
    /// 6.1, 6.12, 7, or the directory of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// Memory of the machine, at most 2G
    #[arg(long, default_value = "512M", value_name = "SIZE")]
    memory: String,
    /// Its CPUs; they take turns in one thread
    #[arg(long, default_value_t = 1)]
    cpus: u32,
    /// Where anonymous memory goes
    #[arg(long, default_value = "none", conflicts_with = "script")]
    swap: Swap,
    /// Seconds of the machine's time before the recording begins [default: the scenario's own]
    #[arg(long, value_name = "S", conflicts_with = "script")]
    warm_up: Option<u64>,
    /// Seconds of load, by the machine's clock [default: the scenario's own]
    #[arg(long, value_name = "S", conflicts_with = "script")]
    load: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What `warmset-tools convert --json` prints.
#[derive(Debug, Deserialize)]
struct Converted {
    references: u64,
}

/// How the machine ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The load or the script came to its end.
    Done,
    /// The script failed.
    Failed,
    /// As many references as asked are there, or the user interrupted.
    Stopped,
}

impl Trace {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        anyhow::ensure!(
            self.force || !self.out.is_file(),
            "{}: this file is there already: name another one, or add --force to replace it",
            self.out.display()
        );
        let memory = Bytes::mib(mib(&self.memory)?);
        anyhow::ensure!(
            memory <= MOST,
            "--memory {}: a machine of at most {} MiB can be recorded, as larger ones have a hole in their physical addresses",
            self.memory,
            MOST.get() >> 20
        );
        if let Some(name) = &self.scenario {
            scenario::named(name)?;
            Arm::parse(&self.arm)?;
        }
        let interrupted = watch_for_interrupts()?;
        let name = self.scenario.as_deref().unwrap_or("machine");
        let (recording, recorded) = Recording::new(name)?;
        let began = Instant::now();
        let converter = self.converter(recorded)?;
        recording.open()?;
        let is_enough = Arc::new(AtomicBool::new(false));
        let converted = watch(converter, Arc::clone(&is_enough), Arc::clone(&interrupted));
        let end = match &self.script {
            Some(script) => self.follow_script(store, script, recording, &interrupted),
            None => self.follow_load(store, name, recording, &interrupted),
        };
        // The machine has ended, and with it the last that could write to the pipe.
        let output = converted
            .join()
            .map_err(|_| anyhow::anyhow!("the thread that waits for {CONVERTER} panicked"))?;
        let end = end?;
        let (status, text) = output.with_context(|| format!("cannot wait for {CONVERTER}"))?;
        anyhow::ensure!(
            status.success(),
            "{CONVERTER} convert ended with {status}, and says why above; if nothing was recorded, the machine never began its load"
        );
        let Converted { references } =
            serde_json::from_str(&text).with_context(|| format!("{CONVERTER} printed '{text}'"))?;
        let was_interrupted = end == End::Stopped && !is_enough.load(Ordering::Relaxed);
        let is_whole = end != End::Stopped && self.references.is_none_or(|most| references < most);
        self.print(references, began.elapsed(), is_whole)?;
        Ok(match end {
            _ if was_interrupted => ExitCode::from(INTERRUPTED),
            End::Failed => ExitCode::FAILURE,
            End::Done | End::Stopped => ExitCode::SUCCESS,
        })
    }

    /// Starts what makes a trace of the pipe's bytes. It shows its progress itself.
    fn converter(&self, recorded: Recorded) -> Result<Child> {
        let beside = std::env::current_exe()?.with_file_name(CONVERTER);
        let program = if beside.is_file() {
            beside
        } else {
            PathBuf::from(CONVERTER)
        };
        let mut command = Command::new(program);
        command.args(["convert", "--json", "--format", "uses"]);
        if let Some(most) = self.references {
            command.arg(format!("--window=..{most}"));
        }
        if self.force {
            command.arg("--force");
        }
        command
            .arg("-")
            .arg(&self.out)
            .stdin(Stdio::from(recorded.0))
            .stdout(Stdio::piped())
            // Ctrl-C ends the machine, and the trace is written up to there.
            .process_group(0);
        command.spawn().with_context(|| {
            format!("cannot start {CONVERTER}, which makes the trace: install warmset-tools, or make build")
        })
    }

    fn follow_load(
        &self,
        store: &Store,
        name: &str,
        recording: Recording,
        interrupted: &AtomicBool,
    ) -> Result<End> {
        let setting = Setting {
            kernel: self.kernel.clone(),
            lru: None,
            swap: self.swap,
            memory_mib: mib(&self.memory)?,
            cpus: self.cpus,
            nodes: 1,
        };
        let order = Order {
            scenario: scenario::named(name)?,
            arms: vec![Arm::parse(&self.arm)?],
            reps: 1,
            cells: vec![setting.clone()],
            jobs: 1,
            out: PathBuf::new(),
            keep: None,
            size: Lengths {
                warm_up_s: self.warm_up,
                load_s: self.load,
                calm_s: Some(0),
            },
            daemon: daemon(None)?,
            command: command_line(),
            live: None,
            profile: false,
            balanced: false,
            recording: Some(recording),
        };
        let job = Job {
            setting,
            arm: order.arms[0].clone(),
            rep: 0,
        };
        let bench = Bench::prepare(store, &order)?;
        match bench.run(&job, None, interrupted)? {
            Outcome::Interrupted => Ok(End::Stopped),
            Outcome::Line(line) if line.state == State::Finished => Ok(End::Done),
            Outcome::Line(line) => anyhow::bail!(
                "the machine did not come to the end of its load ({:?}):\n{}",
                line.state,
                line.console.unwrap_or_default()
            ),
        }
    }

    fn follow_script(
        &self,
        store: &Store,
        script: &str,
        recording: Recording,
        interrupted: &AtomicBool,
    ) -> Result<End> {
        let kernel = kernel::find(store, &self.kernel)?;
        let programs = Programs::alone(guest_program()?);
        let root = image::root(store, &programs, &BTreeSet::new())?;
        let hardware = Hardware {
            memory: Bytes::mib(mib(&self.memory)?),
            cpus: self.cpus,
            nodes: Vec::new(),
            accel: Accel::Counted,
            drives: vec![Drive::new(root, None)],
            append: String::new(),
            modules: &[],
            recording: Some(recording),
        };
        let mut vm = Vm::boot(store, &kernel, &programs.guest, &hardware)?;
        vm.wait_until_up(BOOT)?;
        let marked = format!(
            "/lab/guest mark begin\n(\n{script}\n)\nstatus=$?\n/lab/guest mark end\nexit $status"
        );
        vm.send(&Frame::new("sh", marked))?;
        loop {
            let frame = match vm.next(Instant::now() + CHECK) {
                _ if interrupted.load(Ordering::Relaxed) => return Ok(End::Stopped),
                Err(Silence::Wedged) => continue,
                Err(silence) => anyhow::bail!("{silence}\n{}", vm.console()),
                Ok(frame) => frame,
            };
            let text = String::from_utf8_lossy(&frame.payload);
            match frame.kind.as_str() {
                // Standard output has the result.
                "said" => std::io::stderr().write_all(text.as_bytes())?,
                "sh" if text == "0" => return Ok(End::Done),
                "sh" => {
                    writeln!(std::io::stderr(), "the script ended with {text}")?;
                    return Ok(End::Failed);
                }
                _ => anyhow::bail!("the machine could not run the script: {text}"),
            }
        }
    }

    fn print(&self, references: u64, took: Duration, is_whole: bool) -> Result<()> {
        let size = std::fs::metadata(&self.out).map_or(0, |data| data.len());
        let each = size as f64 / references.max(1) as f64;
        let seconds = took.as_secs_f64();
        let out = self.out.display();
        if self.json {
            return say(&format!(
                "{}\n",
                serde_json::json!({
                    "output": out.to_string(),
                    "references": references,
                    "bytes_per_reference": each,
                    "seconds": seconds,
                    "is_whole": is_whole,
                })
            ));
        }
        say(&format!(
            "{out}: {references} references, {each:.3} bytes each; {seconds:.1} s with the boot\n"
        ))?;
        if !is_whole {
            say("cut before the load's end: the trace does not show the whole\n")?;
        }
        Ok(())
    }
}

/// Waits for the converter, and then has the machine end, too: its trace has as many references as asked, or cannot be written.
fn watch(
    mut converter: Child,
    is_enough: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
) -> JoinHandle<std::io::Result<(ExitStatus, String)>> {
    thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut out) = converter.stdout.take() {
            out.read_to_string(&mut text)?;
        }
        let status = converter.wait()?;
        if !interrupted.load(Ordering::Relaxed) {
            is_enough.store(status.success(), Ordering::Relaxed);
            interrupted.store(true, Ordering::Relaxed);
        }
        Ok((status, text))
    })
}
