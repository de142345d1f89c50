//! The control: takes a plan from the serial line, carries it out, sends the report.

use crate::first::at;
use crate::readout::ReadOut;
use crate::{clock, conduct, counters, profile, setup, watch};
use anyhow::{Context, Result};
use rustix::mm::MlockAllFlags;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use warmset_vmlab::frame::Frame;
use warmset_vmlab::plan::{Plan, Report};

/// The line to the lab; frames are whole, whoever writes.
static LINE: Mutex<Option<File>> = Mutex::new(None);

/// Serves until the lab ends the machine.
pub(crate) fn serve() -> Result<()> {
    let done = mounts().and_then(|()| listen());
    if let Err(error) = &done {
        say("error", format!("{error:#}"));
    }
    // Process 1 must not end: the lab ends the machine.
    rustix::fs::sync();
    let _ = reboot(RebootCommand::Restart);
    done
}

/// Sends a frame; a line that is gone is the lab's affair.
pub(crate) fn say(kind: &str, payload: impl Into<Vec<u8>>) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(line) = line.as_mut() {
        let _ = Frame::new(kind, payload).write(line);
    }
}

/// The second serial port, byte for byte.
pub(crate) fn line() -> Result<File> {
    let line = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/ttyS1")
        .context("no second serial port")?;
    let mut settings = tcgetattr(&line)?;
    settings.make_raw();
    tcsetattr(&line, OptionalActions::Now, &settings)?;
    Ok(line)
}

fn mounts() -> Result<()> {
    at("sysfs", "/sys")?;
    // A kernel without tracing has none.
    let _ = at("tracefs", "/sys/kernel/tracing");
    at("tmpfs", "/run")?;
    at("tmpfs", "/tmp")?;
    mount(
        "cgroup2",
        "/sys/fs/cgroup",
        "cgroup2",
        MountFlags::empty(),
        None,
    )
    .context("no control groups v2")?;
    for place in ["/run/out", "/run/arm", "/dev/shm"] {
        fs::create_dir_all(place)?;
    }
    let _ = fs::write(
        "/sys/fs/cgroup/cgroup.subtree_control",
        "+memory +cpu +io +pids",
    );
    if Path::new("/dev/vdb").exists() {
        mount("/dev/vdb", "/data", "ext4", MountFlags::NOATIME, None)
            .context("cannot mount the data disk")?;
    }
    Ok(())
}

/// Serves what the lab asks, until the line ends; under another init that is all there is to do.
pub(crate) fn listen() -> Result<()> {
    let line = line()?;
    let mut input = BufReader::new(line.try_clone()?);
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
    // The control's own pages must not be what the load evicts.
    rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    say("hello", fs::read_to_string("/proc/version")?);
    while let Some(frame) = Frame::read(&mut input)? {
        match frame.kind.as_str() {
            "plan" => say(
                "report",
                serde_json::to_vec(&carry_out(&serde_json::from_slice(&frame.payload)?)?)?,
            ),
            "sh" => say(
                "sh",
                shell(&String::from_utf8_lossy(&frame.payload))?.to_string(),
            ),
            other => anyhow::bail!("the lab sent '{other}'"),
        }
    }
    Ok(())
}

/// Runs a script, sends each line of it as it comes, on either stream; its status.
fn shell(script: &str) -> Result<i32> {
    let script = format!("exec 2>&1\n{script}");
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut running = shell.spawn().context("no shell")?;
    let mut output = BufReader::new(
        running
            .stdout
            .take()
            .context("the shell's output is not ours")?,
    );
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        say("said", std::mem::take(&mut line));
    }
    Ok(running.wait()?.code().unwrap_or(-1))
}

fn carry_out(plan: &Plan) -> Result<Report> {
    let mut report = Report {
        found: setup::apply(plan)?,
        ..Report::default()
    };
    let knobs = watch::Knobs::read();
    let watched = watch::Watch::start(
        plan.live
            .then(|| clock::now() + plan.size.warm_up_s as f64 * 1e3),
    );
    let mut run = conduct::Run::start(plan)?;
    run.warm_up();
    plan.profile.then(profile::begin).transpose()?;
    let begin = counters::Snapshot::take();
    run.load();
    let window = run.window();
    let end = counters::Snapshot::take();
    let ticks = plan.profile.then(profile::counts).transpose()?;
    run.stop_load();
    say("calm", "");
    run.calm();
    let calm = counters::Snapshot::take();
    let finished = run.finish();
    let seen = watched.stop();
    report.profile = ticks.map(|counts| profile::named(&counts)).transpose()?;

    report
        .seconds
        .insert("load".to_owned(), (end.at - begin.at) / 1e3);
    report
        .seconds
        .insert("calm".to_owned(), (calm.at - end.at) / 1e3);
    report.counters.insert("load".to_owned(), begin.until(&end));
    report.counters.insert("calm".to_owned(), end.until(&calm));
    report.cpu_ms = begin.cpu_until(&calm);
    report.gap = seen.gap(window, calm.at);
    report.writes = Some(seen.changes(window.from, calm.at));
    report.left = knobs.not_as_found(&plan.arm.writes);
    let out = ReadOut::take();
    report.latency = out.latencies();
    report.kills = seen.kills(window, &finished, &out);
    report.work = out.sums;
    report.notes.extend(finished.notes);
    for path in &plan.arm.keep {
        send_home(Path::new(path));
    }
    Ok(report)
}

/// Sends a file, or the files of a folder, below.
fn send_home(path: &Path) {
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| send_home(&entry.path()));
        return;
    }
    if let Ok(bytes) = fs::read(path) {
        let mut payload = Vec::new();
        let _ = writeln!(payload, "{}", path.display());
        payload.extend_from_slice(&bytes);
        say("file", payload);
    }
}
