//! Runs situations beside arms, each in a machine of its own.

use super::arms::{ARMS, Arm};
use super::lines::{self, Line};
use super::play::Seen;
use super::staging::{DATA, Stage};
use crate::frame::Frame;
use crate::image;
use crate::kernel::{self, Kernel};
use crate::runner::commit;
use crate::store::{self, Store};
use crate::vm::accel::{self, Accel};
use crate::vm::disk::{self, Drive, Throttle};
use crate::vm::{self, Hardware, Silence, Vm};
use anyhow::{Context, Result};
use situations::Situation;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use units::Bytes;

/// Most time to boot to systemd's last target. Without KVM it takes half a minute, and longer on a busy host.
const BOOT: Duration = Duration::from_secs(240);
/// Time beyond that of the play for getting ready, and for a machine that thrashes.
const GRACE: Duration = Duration::from_secs(180);
/// Time between two checks for an interruption: a user notices no delay after Ctrl-C.
const CHECK: Duration = Duration::from_millis(200);
/// Words for the kernel's command line. Without udev a serial console's device never appears to systemd, which would wait for
/// it for 90 s before it started a login there.
const SYSTEMD: &str = "warmset.init=/sbin/init systemd.getty_auto=no";
/// Keeps huge pages out, for which the kernel reserves some 45 MiB where memory is more than 512 MiB. Of the machine that a
/// text means that is hardly anything, and of this one a tenth.
const SMALL: &str = "transparent_hugepage=never";
/// Bytes that one operation of a slow disk moves: the kernel reads some pages ahead.
const OPERATION: u64 = 16 << 10;

/// A situation and its name.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name of its file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The situation.
    pub situation: Situation,
}

/// The situations of a directory that are played in virtual machines, by name.
pub fn chosen(directory: &Path) -> Result<Vec<Named>> {
    let entries = fs::read_dir(directory).with_context(|| {
        format!(
            "cannot list {}: run in a checkout of the project, or name the directory by --situations DIR",
            directory.display()
        )
    })?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let situation = Situation::parse(&path.display().to_string(), &text)?;
        let name = path.file_stem().unwrap_or_default();
        if situation.vm.is_some() {
            found.push(Named {
                name: name.to_string_lossy().into_owned(),
                text,
                situation,
            });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// What to run.
#[derive(Debug)]
pub struct Order {
    /// The situations.
    pub situations: Vec<Named>,
    /// Beside what.
    pub arms: Vec<Arm>,
    /// Machines at once.
    pub jobs: usize,
    /// The file of results. A run with a line in it is not made again.
    pub out: PathBuf,
    /// Where the guards' own files go, such as recordings.
    pub keep: Option<PathBuf>,
    /// `warmsetd`.
    pub daemon: PathBuf,
    /// As `--kernel` named it.
    pub kernel: String,
}

/// One run that has to be made.
type Job<'o> = (&'o Named, Arm);

/// What all machines are made of.
struct Bench<'s> {
    store: &'s Store,
    kernel: Kernel,
    guest: PathBuf,
    root: PathBuf,
    data: PathBuf,
    accel: Accel,
    qemu: String,
    commit: Option<String>,
    build: String,
    keep: Option<PathBuf>,
}

/// Makes the runs that have no line yet, and calls `finished` with each line. Returns all lines of the order, in its order.
pub fn run(
    store: &Store,
    order: &Order,
    interrupted: &AtomicBool,
    finished: &(dyn Fn(&Line, usize) + Sync),
) -> Result<Vec<Line>> {
    let there = lines::read(&order.out)?;
    let build = build(order)?;
    let is_done = |line: &Line, job: &Job<'_>| is_of(line, job, &build) && line.counts();
    let is_there = |job: &Job<'_>| there.iter().any(|line| is_done(line, job));
    let mut jobs: VecDeque<Job<'_>> = all(order).collect();
    jobs.retain(|job| !is_there(job));
    if !jobs.is_empty() {
        let bench = Bench::prepare(store, order)?;
        let jobs = Mutex::new(jobs);
        let failed = Mutex::new(None);
        thread::scope(|scope| {
            for _ in 0..order.jobs.max(1) {
                scope.spawn(|| {
                    if let Err(error) = work(&bench, order, &jobs, interrupted, finished) {
                        interrupted.store(true, Ordering::Relaxed);
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                });
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed {
            return Err(error);
        }
    }
    let there = lines::read(&order.out)?;
    let last = |job: Job<'_>| {
        let mut lines = there.iter().rev();
        lines.find(|line| is_of(line, &job, &build)).cloned()
    };
    Ok(all(order).filter_map(last).collect())
}

/// Every situation beside every arm: the arms of one situation follow one another, as the host's speed changes.
fn all(order: &Order) -> impl Iterator<Item = Job<'_>> {
    order
        .situations
        .iter()
        .flat_map(|named| order.arms.iter().map(move |arm| (named, *arm)))
}

/// Whether a line is of this run. One of another text is not, and one of another build of Warmset.
fn is_of(line: &Line, (named, arm): &Job<'_>, build: &str) -> bool {
    let is_cell = line.situation == named.name && line.arm == arm.name;
    is_cell && line.text == named.text && line.build == build_of(arm, build)
}

/// The build that a line of this arm tells.
fn build_of(arm: &Arm, build: &str) -> Option<String> {
    arm.says_and_throttles().then(|| build.to_owned())
}

/// A hash of the guard that is tried.
fn build(order: &Order) -> Result<String> {
    Ok(store::short(&store::sum(&order.daemon)?))
}

/// One thread of several: takes jobs until there is none.
fn work(
    bench: &Bench<'_>,
    order: &Order,
    jobs: &Mutex<VecDeque<Job<'_>>>,
    interrupted: &AtomicBool,
    finished: &(dyn Fn(&Line, usize) + Sync),
) -> Result<()> {
    while !interrupted.load(Ordering::Relaxed) {
        let job = jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let Some((named, arm)) = job else {
            return Ok(());
        };
        let Some(line) = bench.run(named, arm, interrupted)? else {
            return Ok(());
        };
        lines::append(&order.out, &line)?;
        let left = jobs.lock().unwrap_or_else(PoisonError::into_inner).len();
        finished(&line, left);
    }
    Ok(())
}

impl<'s> Bench<'s> {
    fn prepare(store: &'s Store, order: &Order) -> Result<Self> {
        let guest = vm::guest_program()?;
        let kernel = kernel::find(store, &order.kernel)?;
        Ok(Self {
            store,
            root: image::debian_with_guards(store, &guest, &order.daemon)?,
            data: disk::empty(store, DATA)?,
            accel: accel::choose(store, &kernel, &guest)?,
            qemu: accel::qemu_version()?,
            commit: commit(),
            build: build(order)?,
            keep: order.keep.clone(),
            kernel,
            guest,
        })
    }

    /// Makes one run; `None` if the user interrupted.
    fn run(&self, named: &Named, arm: Arm, interrupted: &AtomicBool) -> Result<Option<Line>> {
        let stage = Stage::of(&named.situation)?;
        let mut play = stage
            .play(&arm)
            .with_context(|| format!("situations/{}.toml", named.name))?;
        if self.keep.is_some() {
            play.keep = arm.own_files();
        }
        let host_load = fs::read_to_string("/proc/loadavg").ok();
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let began = Instant::now();
        let mut vm = Vm::boot(
            self.store,
            &self.kernel,
            &self.guest,
            &self.hardware(&stage)?,
        )?;
        let mut deadline = Instant::now() + BOOT;
        let mut boot_s = None;
        let mut wedged = false;
        let end: Result<Seen, String> = loop {
            let frame = match vm.next(deadline.min(Instant::now() + CHECK)) {
                _ if interrupted.load(Ordering::Relaxed) => return Ok(None),
                Err(Silence::Wedged) if Instant::now() < deadline => continue,
                Err(silence) => {
                    wedged = boot_s.is_some();
                    break Err(format!("{silence}\n{}", vm.console()));
                }
                Ok(frame) => frame,
            };
            match frame.kind.as_str() {
                "hello" => {
                    boot_s = Some(began.elapsed().as_secs_f64());
                    vm.send(&Frame::new("play", serde_json::to_vec(&play)?))?;
                    let most = Duration::from_millis(play.lasts_ms) + GRACE;
                    deadline = Instant::now() + most;
                }
                "file" => self.keep(named, arm, &frame)?,
                "seen" => break Ok(serde_json::from_slice(&frame.payload)?),
                _ => break Err(String::from_utf8_lossy(&frame.payload).into_owned()),
            }
        };
        let (seen, error) = match end {
            Ok(seen) => (Some(seen), None),
            Err(error) => (None, Some(error)),
        };
        Ok(Some(Line {
            situation: named.name.clone(),
            arm: arm.name.to_owned(),
            text: named.text.clone(),
            build: build_of(&arm, &self.build),
            kernel: self.kernel.origin.clone(),
            accel: self.accel.name().to_owned(),
            qemu: self.qemu.clone(),
            host_load: host_load.and_then(|text| text.split(' ').next()?.parse().ok()),
            commit: self.commit.clone(),
            at: at.unwrap_or_default().as_secs(),
            wall_s: began.elapsed().as_secs_f64(),
            boot_s,
            seen,
            error,
            wedged,
        }))
    }

    /// Keeps a file of the guard, named after the run.
    fn keep(&self, named: &Named, arm: Arm, frame: &Frame) -> Result<()> {
        match &self.keep {
            Some(directory) => frame.keep(directory, &format!("{}-{}", named.name, arm.name)),
            None => Ok(()),
        }
    }

    fn hardware(&self, stage: &Stage<'_>) -> Result<Hardware> {
        let mut drives = vec![
            Drive::new(self.root.clone(), None),
            Drive::new(self.data.clone(), stage.data_speed().map(throttle)),
        ];
        for (size, speed) in stage.swap_disks() {
            let image = disk::empty(self.store, size)?;
            drives.push(Drive::new(image, Some(throttle(speed))));
        }
        let pressure = if stage.has_pressure() { "" } else { " psi=0" };
        Ok(Hardware {
            memory: whole_mib(stage.memory()),
            cpus: 1,
            nodes: Vec::new(),
            accel: self.accel,
            drives,
            append: format!("{SYSTEMD} {SMALL}{pressure}"),
            modules: &[],
            recording: None,
        })
    }
}

fn throttle(speed: Bytes) -> Throttle {
    Throttle {
        bytes: speed,
        operations: (speed.get() / OPERATION).max(1),
    }
}

fn whole_mib(size: Bytes) -> Bytes {
    Bytes::new(size.get().next_multiple_of(1 << 20))
}

/// The arms of these names; all if none is named.
pub fn arms(names: &[String]) -> Result<Vec<Arm>> {
    if names.is_empty() {
        return Ok(ARMS.to_vec());
    }
    names.iter().map(|name| Arm::named(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directory of all texts.
    fn texts() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../situations")
    }

    #[test]
    fn every_chosen_situation_can_be_played_and_there_are_as_many_as_promised() {
        let chosen = chosen(&texts()).unwrap();
        assert_eq!(chosen.len(), 24);
        for named in &chosen {
            for arm in ARMS {
                let stage = Stage::of(&named.situation).unwrap();
                let played = stage.play(arm);
                assert!(played.is_ok(), "{}: {:?}", named.name, played.err());
            }
        }
    }

    #[test]
    fn a_line_of_another_text_or_build_is_not_of_this_run() {
        let chosen = chosen(&texts()).unwrap();
        let named = &chosen[0];
        let arm = ARMS[0];
        let line = Line {
            situation: named.name.clone(),
            arm: arm.name.to_owned(),
            text: named.text.clone(),
            ..lines::example()
        };
        assert!(is_of(&line, &(named, arm), "a build"));
        let warmset = Arm::named("warmset").unwrap();
        let tried = Line {
            arm: warmset.name.to_owned(),
            build: Some("a build".to_owned()),
            ..line.clone()
        };
        assert!(is_of(&tried, &(named, warmset), "a build"));
        assert!(!is_of(&tried, &(named, warmset), "another"));
        let changed = Line {
            text: format!("{}\n", named.text),
            ..line
        };
        assert!(!is_of(&changed, &(named, arm), "a build"));
    }
}
