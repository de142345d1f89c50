//! One run: a machine is booted, gets its plan, and its frames are read until the report.

use super::Order;
use super::queue::Job;
use super::slots::{Slot, Slots};
use crate::arm::Arm;
use crate::frame::Frame;
use crate::image::{self, Programs};
use crate::kernel::{self, Kernel};
use crate::line::{Cell, Line, Machine, Setting, State};
use crate::plan::{Gap, Plan, Report, Setup, Swap};
use crate::scenario::{Circumstances, Data, Load};
use crate::store::Store;
use crate::tool;
use crate::vm::accel::{self, Accel};
use crate::vm::disk::{self, Drive, Throttle};
use crate::vm::{self, Hardware, Silence, Vm};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use units::Bytes;

/// Most time to boot. Without KVM it takes half a minute, and longer on a busy host.
const BOOT: Duration = Duration::from_secs(120);
/// Time that a run may take beyond one and a half times its plan. A machine that thrashes falls behind its plan and is a
/// result; one that is silent for longer counts as wedged.
const GRACE: Duration = Duration::from_secs(120);
/// Seconds that a second of a recorded machine may take: seven were measured on a busy host, and a wedged machine is rare.
const RECORDED: u32 = 200;
/// Time between two checks for an interruption: a user notices no delay after Ctrl-C.
const CHECK: Duration = Duration::from_millis(200);
/// A count for each 32 bytes of the kernel's code, about 2 MiB in all.
const PROFILE: &str = "profile=5";
/// A swap disk: half as fast as the disks of files, so that swapping costs more than reading a file again.
const SWAP: Throttle = Throttle {
    bytes: Bytes::mib(32),
    operations: 1500,
};

/// Everything that is fetched and made before the first run.
#[derive(Debug)]
pub struct Bench<'a> {
    store: &'a Store,
    order: &'a Order,
    programs: Programs,
    root: PathBuf,
    kernels: BTreeMap<String, Kernel>,
    data: BTreeMap<u64, PathBuf>,
    slots: Slots,
    accel: Accel,
    qemu: String,
    commit: Option<String>,
}

/// What came of a run.
#[derive(Debug)]
pub enum Outcome {
    /// A result.
    Line(Box<Line>),
    /// The user ended it.
    Interrupted,
}

impl<'a> Bench<'a> {
    /// Fetches and makes what the order needs.
    pub fn prepare(store: &'a Store, order: &'a Order) -> Result<Self> {
        let qemu = accel::qemu_version()?;
        let programs = programs(order)?;
        let mut kernels = BTreeMap::new();
        for setting in &order.cells {
            let name = &setting.kernel;
            if !kernels.contains_key(name) {
                kernels.insert(name.clone(), kernel::find(store, name)?);
            }
        }
        let mut parts: BTreeSet<image::Part> = order.arms.iter().filter_map(Arm::part).collect();
        let mut data = BTreeMap::new();
        for setting in &order.cells {
            let memory_mib = setting.memory_mib;
            let load = (order.scenario.load)(&Circumstances {
                memory_mib,
                variant: None,
            });
            // A load with a source compiles it.
            if matches!(load.data, Data::Source(_)) {
                parts.insert(image::Part::Compiler);
            }
            if load.has_scripts() {
                parts.insert(image::Part::Shell);
            }
            data.insert(memory_mib, image::data(store, &programs, &load.data)?);
        }
        let root = image::root(store, &programs, &parts)?;
        let first = kernels.values().next().context("no kernel is asked for")?;
        let accel = match order.recording {
            // A machine that takes several times as long must not notice it.
            Some(_) => Accel::Counted,
            None => accel::choose(store, first, &programs.guest)?,
        };
        Ok(Self {
            store,
            order,
            programs,
            root,
            kernels,
            data,
            slots: Slots::new(order.jobs),
            accel,
            qemu,
            commit: commit(),
        })
    }

    /// What was ordered.
    pub fn order(&self) -> &Order {
        self.order
    }

    /// Makes one run.
    pub fn run(&self, job: &Job, gap: Option<Gap>, interrupted: &AtomicBool) -> Result<Outcome> {
        let setting = &job.setting;
        let load = (self.order.scenario.load)(&Circumstances {
            memory_mib: setting.memory_mib,
            variant: job.arm.variant(),
        });
        let plan = Plan {
            scenario: self.order.scenario.name.to_owned(),
            setup: Setup {
                lru: setting.lru,
                swap: setting.swap,
                thp: load.thp,
            },
            arm: job.arm.beside(gap)?,
            roles: load.roles.clone(),
            ends_with: load.ends_with.clone(),
            live: self.order.live.is_some(),
            profile: self.order.profile,
            recorded: self.order.recording.is_some(),
            size: self.order.size.or(load.size, setting.memory_mib),
        };
        let kernel = self
            .kernels
            .get(&setting.kernel)
            .context("a kernel was not prepared")?;
        let mut slot = Some(self.slots.take());
        let machine = self.machine(setting, kernel, &load);
        let began = Instant::now();
        let mut vm = Vm::boot(
            self.store,
            kernel,
            &self.programs.guest,
            &self.hardware(setting, &load)?,
        )?;
        let Some(end) = self.follow(&mut vm, &plan, job, &mut slot, interrupted)? else {
            return Ok(Outcome::Interrupted);
        };
        Ok(Outcome::Line(Box::new(Line {
            scenario: plan.scenario,
            arm: job.arm.name.clone(),
            rep: job.rep,
            machine,
            state: end.state,
            size: plan.size,
            set: plan.arm.writes,
            wall_s: began.elapsed().as_secs_f64(),
            host_cpu_s: vm.cpu().map(|time| time.as_secs_f64()),
            report: end.report,
            console: end.console,
        })))
    }

    /// Reads frames until the report, the end of the machine, or the deadline; `None` if the user interrupted.
    fn follow(
        &self,
        vm: &mut Vm,
        plan: &Plan,
        job: &Job,
        slot: &mut Option<Slot<'_>>,
        interrupted: &AtomicBool,
    ) -> Result<Option<End>> {
        let mut deadline = Instant::now() + BOOT;
        loop {
            let frame = match vm.next(deadline.min(Instant::now() + CHECK)) {
                _ if interrupted.load(Ordering::Relaxed) => return Ok(None),
                Err(Silence::Wedged) if Instant::now() < deadline => continue,
                Err(silence) => return Ok(Some(End::silent(&silence, &vm.console()))),
                Ok(frame) => frame,
            };
            match frame.kind.as_str() {
                "hello" => {
                    vm.send(&Frame::new("plan", serde_json::to_vec(plan)?))?;
                    deadline = Instant::now() + patience(plan);
                }
                // A calm machine leaves its place to the next.
                "calm" => drop(slot.take()),
                "live" => self.pass_on(job, &frame.payload)?,
                "file" => self.keep(job, &frame)?,
                "report" => {
                    return Ok(Some(End {
                        state: State::Finished,
                        report: serde_json::from_slice(&frame.payload)?,
                        console: None,
                    }));
                }
                _ => {
                    let error = String::from_utf8_lossy(&frame.payload).into_owned();
                    return Ok(Some(End::without_report(State::Failed, error)));
                }
            }
        }
    }

    fn pass_on(&self, job: &Job, payload: &[u8]) -> Result<()> {
        let live = serde_json::from_slice(payload)?;
        if let Some(reports) = &self.order.live {
            (reports.0)(&job.arm.name, job.rep, live);
        }
        Ok(())
    }

    /// Keeps a file of the arm, named after the run.
    fn keep(&self, job: &Job, frame: &Frame) -> Result<()> {
        let Some(directory) = &self.order.keep else {
            return Ok(());
        };
        let Cell {
            kernel,
            lru,
            swap,
            memory_mib,
            ..
        } = job.setting.cell();
        let run = format!(
            "{}-{kernel}-{lru}-{swap}-{memory_mib}-{}-{}",
            self.order.scenario.name, job.arm.name, job.rep
        );
        frame.keep(directory, &run.replace([':', '/', ' '], "-"))
    }

    fn hardware(&self, setting: &Setting, load: &Load) -> Result<Hardware> {
        let data = self
            .data
            .get(&setting.memory_mib)
            .context("a disk was not prepared")?;
        let mut drives = vec![
            Drive::new(self.root.clone(), Some(load.throttle)),
            Drive::new(data.clone(), Some(load.throttle)),
        ];
        if setting.swap == Swap::Disk {
            drives.push(Drive::new(
                disk::empty(self.store, Bytes::mib(setting.memory_mib))?,
                Some(SWAP),
            ));
        }
        let memory = Bytes::mib(setting.memory_mib);
        Ok(Hardware {
            memory,
            cpus: setting.cpus,
            nodes: vec![1; setting.nodes as usize],
            accel: self.accel,
            drives,
            append: if self.order.profile {
                PROFILE.to_owned()
            } else {
                String::new()
            },
            modules: &[],
            recording: self.order.recording.clone(),
        })
    }

    fn machine(&self, setting: &Setting, kernel: &Kernel, load: &Load) -> Machine {
        let host_load = fs::read_to_string("/proc/loadavg").ok();
        Machine {
            setting: setting.clone(),
            origin: kernel.origin.clone(),
            thp: load.thp,
            accel: self.accel.name().to_owned(),
            qemu: self.qemu.clone(),
            host_load: host_load.and_then(|text| text.split(' ').next()?.parse().ok()),
            host_cpus: std::thread::available_parallelism().map_or(1, usize::from),
            commit: self.commit.clone(),
            command: self.order.command.clone(),
            at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs(),
        }
    }
}

fn programs(order: &Order) -> Result<Programs> {
    let guest = vm::guest_program()?;
    let needs_daemon = order.arms.iter().any(Arm::has_the_daemon);
    let mut programs = if needs_daemon {
        Programs::with_daemon(guest, order.daemon.clone())?
    } else {
        Programs::alone(guest)
    };
    if order.arms.iter().any(Arm::has_local_replacement) {
        programs.others.push(vm::local_program()?);
    }
    Ok(programs)
}

fn patience(plan: &Plan) -> Duration {
    let size = plan.size;
    let planned = Duration::from_secs(size.warm_up_s + size.load_s + size.calm_s);
    if plan.recorded {
        return planned * RECORDED + GRACE;
    }
    planned + planned / 2 + GRACE
}

/// How a run ended.
struct End {
    state: State,
    report: Report,
    console: Option<String>,
}

impl End {
    fn without_report(state: State, console: String) -> Self {
        Self {
            state,
            report: Report::default(),
            console: Some(console),
        }
    }

    fn silent(silence: &Silence, console: &str) -> Self {
        match silence {
            Silence::Wedged => Self::without_report(State::Wedged, console.to_owned()),
            Silence::Gone(why) => Self::without_report(State::Gone, format!("{why}{console}")),
            Silence::Damaged(why) => Self::without_report(State::Failed, format!("{why}{console}")),
        }
    }
}

/// The commit of the directory that the lab runs in, marked if files were changed since; `None` outside of a repository.
pub(crate) fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--abbrev=12"]);
    let commit = tool::run(&mut git, "git").ok()?;
    Some(commit.trim().to_owned())
}
