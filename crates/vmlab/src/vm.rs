//! A virtual machine: QEMU with a kernel, an initramfs and disks.
//!
//! A [`Vm`] owns its process and its directory and removes both when it is dropped. The kernel also kills the process
//! when the thread that started it ends. No network port is open: the serial lines are QEMU's standard input and output,
//! and a file.

pub mod accel;
pub mod disk;
pub mod initramfs;
pub mod recording;

use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::store::Store;
use crate::tool;
use accel::Accel;
use anyhow::{Context, Result, bail};
use disk::Drive;
use recording::Recording;
use std::fmt::Write as _;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs};
use tempfile::TempDir;
use units::Bytes;

/// QEMU's program.
pub const QEMU: &str = "qemu-system-x86_64";

/// The parts of a machine.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// Its memory.
    pub memory: Bytes,
    /// Its CPUs.
    pub cpus: u32,
    /// The share of memory of each of its NUMA nodes; empty and one are the same.
    pub nodes: Vec<u32>,
    /// What executes it.
    pub accel: Accel,
    /// Its disks: `/dev/vda` is the root, the others follow.
    pub drives: Vec<Drive>,
    /// Words added to the kernel's command line.
    pub append: String,
    /// Modules of the kernel that are loaded besides those that every machine needs.
    pub modules: &'static [&'static str],
    /// What records every reference, if it is recorded.
    pub recording: Option<Recording>,
}

/// A machine that runs.
#[derive(Debug)]
pub struct Vm {
    child: Child,
    input: ChildStdin,
    frames: Receiver<std::io::Result<Frame>>,
    directory: TempDir,
}

/// Why there is no next frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// No frame came until the deadline.
    Wedged,
    /// QEMU ended, after a panic or by its own failure; with its last messages.
    Gone(String),
    /// A frame arrived damaged.
    Damaged(String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wedged => write!(f, "the machine did not answer in time"),
            Self::Gone(why) => write!(f, "the machine ended: {}", why.trim()),
            Self::Damaged(why) => write!(f, "the machine's answer cannot be read: {why}"),
        }
    }
}

impl Vm {
    /// Starts a machine with this kernel and this program as its first.
    pub fn boot(store: &Store, kernel: &Kernel, init: &Path, hardware: &Hardware) -> Result<Self> {
        let directory = store.scratch()?;
        let archive = directory.path().join("initramfs");
        fs::write(
            &archive,
            initramfs::archive(kernel, init, hardware.modules)?,
        )?;
        let mut command = command(kernel, hardware, directory.path(), &archive)?;
        let errors = fs::File::create(directory.path().join("qemu.log"))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .env("TMPDIR", directory.path());
        let mut child = command
            .spawn()
            .map_err(|error| tool::missing(error, &command, "util-linux"))?;
        let input = child.stdin.take().context("QEMU has no standard input")?;
        let frames = listen(child.stdout.take().context("QEMU has no standard output")?);
        Ok(Self {
            child,
            input,
            frames,
            directory,
        })
    }

    /// Sends a frame to the machine.
    pub fn send(&mut self, frame: &Frame) -> Result<()> {
        frame
            .write(&mut self.input)
            .context("the machine's serial line is closed")
    }

    /// The next frame before `deadline`.
    pub fn next(&mut self, deadline: Instant) -> Result<Frame, Silence> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.frames.recv_timeout(left) {
            Ok(Ok(frame)) => Ok(frame),
            Ok(Err(error)) => Err(Silence::Damaged(error.to_string())),
            Err(RecvTimeoutError::Timeout) => Err(Silence::Wedged),
            Err(RecvTimeoutError::Disconnected) => Err(Silence::Gone(self.last_messages())),
        }
    }

    /// Runs a shell script in it for at most this time. Calls `output` with each line of either stream as it comes, and
    /// returns the script's exit code.
    pub fn script(
        &mut self,
        script: &str,
        most: Duration,
        mut output: impl FnMut(&str),
    ) -> Result<u8, Silence> {
        if self.send(&Frame::new("sh", script)).is_err() {
            return Err(Silence::Gone(self.last_messages()));
        }
        let deadline = Instant::now() + most;
        loop {
            let frame = self.next(deadline)?;
            let text = String::from_utf8_lossy(&frame.payload);
            match frame.kind.as_str() {
                "said" => output(&text),
                // -1 after a signal, which counts as a failure.
                "sh" => return Ok(text.parse().unwrap_or(1)),
                // An error of the guest's own.
                _ => {
                    output(&text);
                    return Ok(1);
                }
            }
        }
    }

    /// Waits for the first frame of its control program.
    pub fn wait_until_up(&mut self, most: Duration) -> Result<()> {
        let why = match self.next(Instant::now() + most) {
            Ok(frame) if frame.kind == "hello" => return Ok(()),
            Ok(frame) => format!("it began with {}", frame.kind),
            Err(silence) => silence.to_string(),
        };
        bail!("the machine did not boot: {why}\n{}", self.console())
    }

    /// Copies the kernel's console into a file.
    pub fn keep_console(&self, path: &Path) -> Result<()> {
        fs::copy(self.directory.path().join("console"), path)
            .with_context(|| format!("cannot copy the console to {}", path.display()))?;
        Ok(())
    }

    /// The last lines of the console, after the line with the cause if the kernel gave one.
    pub fn console(&self) -> String {
        let bytes = fs::read(self.directory.path().join("console")).unwrap_or_default();
        // A cause stands before a trace of some KiB.
        let from = bytes.len().saturating_sub(64 << 10);
        let end = bytes.get(from..).unwrap_or_default();
        let text = String::from_utf8_lossy(end).replace('\r', "");
        cause_and_last_lines(&text)
    }

    /// The lines in which the kernel has reported faults of its own.
    pub fn reports(&self) -> Vec<String> {
        let bytes = fs::read(self.directory.path().join("console")).unwrap_or_default();
        reports(&String::from_utf8_lossy(&bytes))
    }

    /// CPU time that QEMU has used. Source: `utime` and `stime` of `/proc/PID/stat`, in ticks of 10 ms.
    pub fn cpu(&self) -> Option<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let (_, after_name) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let user: u64 = fields.get(11)?.parse().ok()?;
        let system: u64 = fields.get(12)?.parse().ok()?;
        Some(Duration::from_millis((user + system) * 10))
    }

    fn last_messages(&mut self) -> String {
        let _ = self.child.wait();
        let log = self.directory.path().join("qemu.log");
        tool::last_lines(&fs::read_to_string(log).unwrap_or_default())
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines, and before them the line with the cause, which a long trace would hide.
fn cause_and_last_lines(console: &str) -> String {
    const CAUSES: &[&str] = &[
        "Kernel panic",
        "BUG:",
        "sysrq triggered crash",
        "rcu_sched detected stalls",
        "rcu: INFO",
    ];
    let last = tool::last_lines(console);
    let cause = console
        .lines()
        .find(|line| CAUSES.iter().any(|cause| line.contains(cause)));
    match cause.filter(|line| !last.contains(*line)) {
        Some(line) => format!("  {}\n{last}", line.trim()),
        None => last,
    }
}

/// Lines of the kernel's own checks: faults, KASAN, lockdep, sleeping in atomic context. A hung task or a late CPU is left
/// out: a busy host causes those, too.
fn reports(console: &str) -> Vec<String> {
    const MARKS: &[&str] = &["BUG:", "WARNING:", "INFO: possible", "Oops:"];
    let mut reports = Vec::new();
    for line in console.lines() {
        if MARKS.iter().any(|mark| line.contains(mark)) {
            reports.push(line.trim().to_owned());
        }
    }
    reports
}

/// Reads frames on a thread of its own, which ends with the machine.
fn listen(output: ChildStdout) -> Receiver<std::io::Result<Frame>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        while let Some(frame) = Frame::read(&mut output).transpose() {
            let damaged = frame.is_err();
            if sender.send(frame).is_err() || damaged {
                break;
            }
        }
        // QEMU would wait for a pipe that nothing reads.
        drop(output.read_to_end(&mut Vec::new()));
    });
    receiver
}

/// QEMU's command line. With `setpriv` the kernel kills QEMU when its parent ends, even by SIGKILL.
fn command(
    kernel: &Kernel,
    hardware: &Hardware,
    directory: &Path,
    archive: &Path,
) -> Result<Command> {
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        QEMU,
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
    ]);
    command.args(hardware.accel.arguments());
    command.args([
        "-smp",
        &hardware.cpus.to_string(),
        "-m",
        &format!("{}M", hardware.memory.get() >> 20),
    ]);
    command.args(numa(hardware));
    if let Some(recording) = &hardware.recording {
        command.args(recording.arguments(hardware.memory)?);
    }
    command
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(archive);
    command.args(["-append", &append(hardware)]);
    command.args([
        "-chardev",
        &format!(
            "file,id=console,path={}",
            tool::text(&directory.join("console"))?
        ),
        "-serial",
        "chardev:console",
    ]);
    command.args([
        "-chardev",
        "stdio,id=line,signal=off",
        "-serial",
        "chardev:line",
    ]);
    command.args(["-device", "virtio-rng-pci"]);
    for (number, drive) in hardware.drives.iter().enumerate() {
        command.args(drive.arguments(number)?);
    }
    Ok(command)
}

/// The NUMA nodes, each with its share of memory, which may be none. The last gets what is left. The CPUs are dealt out
/// among them.
fn numa(hardware: &Hardware) -> Vec<String> {
    let Some((_, but_last)) = hardware.nodes.split_last() else {
        return Vec::new();
    };
    if but_last.is_empty() {
        return Vec::new();
    }
    let all: u64 = hardware.nodes.iter().copied().map(u64::from).sum();
    let memory = hardware.memory.get() >> 20;
    let mut left = memory;
    let mut sizes = Vec::with_capacity(hardware.nodes.len());
    for share in but_last {
        let size = memory * u64::from(*share) / all.max(1);
        sizes.push(size);
        left -= size;
    }
    sizes.push(left);
    let mut words = Vec::new();
    for (number, size) in (0..).zip(sizes) {
        let mut node = format!("node,nodeid={number}");
        if size > 0 {
            words.push("-object".to_owned());
            words.push(format!("memory-backend-ram,id=m{number},size={size}M"));
            let _ = write!(node, ",memdev=m{number}");
        }
        if number < hardware.cpus {
            let _ = write!(node, ",cpus={number}");
        }
        words.push("-numa".to_owned());
        words.push(node);
    }
    words
}

fn append(hardware: &Hardware) -> String {
    let always = "console=ttyS0 psi=1 panic=-1 oops=panic quiet loglevel=4 random.trust_cpu=on no_timer_check";
    [always, hardware.accel.command_line(), &hardware.append]
        .join(" ")
        .trim_end()
        .to_owned()
}

/// Where an installed lab keeps the guest program.
const INSTALLED: &str = "/usr/lib/warmset";

/// The guest program: beside the lab's own, or where the package has it.
pub fn guest_program() -> Result<PathBuf> {
    program_of_ours("warmset-guest")
}

/// Where this build's `warmset-local` is, the program of the arms `local:WAY`.
pub(crate) fn local_program() -> Result<PathBuf> {
    program_of_ours("warmset-local")
}

fn program_of_ours(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut directory = own
        .parent()
        .context("this program's file has no directory")?;
    if directory.ends_with("deps") {
        directory = directory.parent().unwrap_or(directory);
    }
    let beside = directory.join(name);
    let program = if beside.exists() {
        beside
    } else {
        Path::new(INSTALLED).join(name)
    };
    anyhow::ensure!(
        is_static(&program),
        "{} is not there or not static: make lab",
        program.display()
    );
    Ok(program)
}

/// Returns true if an ELF program asks for no dynamic linker.
pub(crate) fn is_static(program: &Path) -> bool {
    const INTERPRETER: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
    fs::read(program).is_ok_and(|bytes| {
        let head = bytes.get(..4096).unwrap_or(&bytes);
        bytes.starts_with(b"\x7fELF")
            && !head
                .windows(INTERPRETER.len())
                .any(|window| window == INTERPRETER)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_does_not_hide_its_cause() {
        let trace = (0..40).fold(String::new(), |text, number| {
            text + &format!("[    2.{number}] RIP: {number}\n")
        });
        let said = cause_and_last_lines(&format!(
            "[    1.0] Kernel panic - not syncing: Attempted to kill init!\n{trace}"
        ));
        assert!(said.starts_with("  [    1.0] Kernel panic"), "{said}");
        assert!(said.contains("RIP: 39"), "{said}");
        assert_eq!(cause_and_last_lines("one\ntwo\n"), "  one\n  two\n");
    }

    #[test]
    fn reports_of_the_kernels_own_faults_are_found_and_its_oom_kills_are_not() {
        let console = "[ 1.0] BUG: KASAN: slab-out-of-bounds in x\n[ 1.1] Out of memory: Killed process 7 (hog)\n\
                       [ 1.2] WARNING: possible circular locking dependency detected\n";
        assert_eq!(reports(console).len(), 2, "{:?}", reports(console));
    }

    #[test]
    fn nodes_share_memory_and_processors() {
        let mut hardware = Hardware {
            memory: Bytes::mib(2048),
            cpus: 1,
            nodes: vec![1, 1],
            accel: Accel::Tcg,
            drives: Vec::new(),
            append: String::new(),
            modules: &[],
            recording: None,
        };
        let words = numa(&hardware).join(" ");
        assert!(
            words.contains("id=m0,size=1024M") && words.contains("nodeid=0,memdev=m0,cpus=0"),
            "{words}"
        );
        assert!(words.ends_with("nodeid=1,memdev=m1"), "{words}");
        hardware.nodes = vec![2, 1];
        let words = numa(&hardware).join(" ");
        assert!(
            words.contains("id=m0,size=1365M") && words.contains("id=m1,size=683M"),
            "{words}"
        );
        hardware.nodes = vec![1, 0];
        assert_eq!(
            numa(&hardware).join(" "),
            "-object memory-backend-ram,id=m0,size=2048M -numa node,nodeid=0,memdev=m0,cpus=0 -numa node,nodeid=1"
        );
        hardware.nodes = vec![1];
        assert!(numa(&hardware).is_empty());
    }
}
