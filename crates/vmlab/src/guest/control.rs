//! The control: takes plans and scripts from the serial port, carries them out, sends what came of them.

use crate::knobs::Knobs;
use crate::readout::ReadOut;
use crate::{clock, conduct, counters, mark, mounts, play, profile, serial, setup, watch};
use anyhow::{Context, Result};
use rustix::mm::MlockAllFlags;
use rustix::system::{RebootCommand, reboot};
use serial::say;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use warmset_vmlab::decisions::play::Play;
use warmset_vmlab::frame::Frame;
use warmset_vmlab::plan::{Plan, Report};

/// Serves as process 1, until the lab ends the machine.
pub(crate) fn serve() -> Result<()> {
    let done = mounts::all().and_then(|()| listen());
    if let Err(error) = &done {
        say("error", format!("{error:#}"));
    }
    // The kernel panics when process 1 ends: it restarts instead, which ends QEMU (-no-reboot).
    rustix::fs::sync();
    let _ = reboot(RebootCommand::Restart);
    done
}

/// Serves what the lab sends, until the line ends. Under another init this is all there is to do.
pub(crate) fn listen() -> Result<()> {
    let port = serial::open()?;
    let mut input = BufReader::new(port.try_clone()?);
    serial::send_on(port);
    // The load must not evict the control's own pages.
    rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    say("hello", fs::read_to_string("/proc/version")?);
    while let Some(frame) = Frame::read(&mut input)? {
        match frame.kind.as_str() {
            "plan" => {
                let plan: Plan = serde_json::from_slice(&frame.payload)?;
                say("report", serde_json::to_vec(&carry_out(&plan)?)?);
            }
            "play" => {
                let play: Play = serde_json::from_slice(&frame.payload)?;
                let seen = play::perform(&play)?;
                for path in &play.keep {
                    send_home(Path::new(path));
                }
                say("seen", serde_json::to_vec(&seen)?);
            }
            "sh" => {
                let status = shell(&String::from_utf8_lossy(&frame.payload))?;
                say("sh", status.to_string());
            }
            other => anyhow::bail!("the lab sent a frame of the unknown kind '{other}'"),
        }
    }
    Ok(())
}

/// Runs a script and sends each line of its output as it comes; returns its exit code, or -1 after a signal.
fn shell(script: &str) -> Result<i32> {
    let script = format!("exec 2>&1\n{script}");
    let mut shell = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start /bin/sh")?;
    let output = shell.stdout.take().context("the shell has no output")?;
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        say("said", std::mem::take(&mut line));
    }
    Ok(shell.wait()?.code().unwrap_or(-1))
}

fn carry_out(plan: &Plan) -> Result<Report> {
    let mut report = Report {
        found: setup::apply(plan)?,
        ..Report::default()
    };
    let knobs = Knobs::read();
    let live_from = if plan.live {
        Some(clock::now() + plan.size.warm_up_s as f64 * 1e3)
    } else {
        None
    };
    let watched = watch::Watch::start(live_from)?;
    let mut run = conduct::Run::start(plan)?;
    run.warm_up();
    if plan.profile {
        profile::begin()?;
    }
    let begin = counters::Snapshot::take();
    if plan.recorded {
        mark::begin();
    }
    run.load();
    if plan.recorded {
        mark::end();
    }
    let window = run.window();
    let end = counters::Snapshot::take();
    // Named only after the run: to read the kernel's symbols takes memory.
    let ticks = if plan.profile {
        Some(profile::counts()?)
    } else {
        None
    };
    run.stop_load();
    say("calm", "");
    run.calm();
    let calm = counters::Snapshot::take();
    let finished = run.finish();
    let observed = watched.stop();
    report.profile = ticks.map(|counts| profile::named(&counts)).transpose()?;

    let load_s = (end.at - begin.at) / 1e3;
    let calm_s = (calm.at - end.at) / 1e3;
    report.seconds.insert("load".to_owned(), load_s);
    report.seconds.insert("calm".to_owned(), calm_s);
    report.counters.insert("load".to_owned(), begin.until(&end));
    report.counters.insert("calm".to_owned(), end.until(&calm));
    report.cpu_ms = begin.cpu_until(&calm);
    report.gap = Some(observed.gap(window, calm.at));
    report.writes = Some(observed.changes(window.from, calm.at));
    report.left = knobs.not_as_found(&plan.arm.writes);
    let out = ReadOut::take();
    report.latency = out.latencies();
    report.kills = observed.kills(window, &finished, &out);
    report.work = out.sums;
    report.notes.extend(finished.notes);
    for path in &plan.arm.keep {
        send_home(Path::new(path));
    }
    Ok(report)
}

/// Sends a file, or all files below a directory.
fn send_home(path: &Path) {
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            send_home(&entry.path());
        }
        return;
    }
    if let Ok(bytes) = fs::read(path) {
        let mut payload = Vec::new();
        let _ = writeln!(payload, "{}", path.display());
        payload.extend_from_slice(&bytes);
        say("file", payload);
    }
}
