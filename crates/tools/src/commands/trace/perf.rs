//! `--engine perf`: loads and stores that the CPU samples, by `perf mem`.
//!
//! perf records into a file, and `perf script` prints it afterwards: a time and an address on each line.

use super::arguments::Args;
use super::engine::Engine;
use super::live::{LiveRecording, NAP, PAGE, Summary, Until, about, program};
use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use traces::{BATCH, Error, Source};
use workingset::{About, Batch};

struct Perf {
    record: Child,
    until: Until,
    /// `perf script` and its lines, once perf's file is whole.
    script: Option<(Child, BufReader<ChildStdout>)>,
    about: About,
    summary: Summary,
    /// Time of the latest sample, ns.
    last: u64,
    references: u64,
    /// Stop after this many.
    most: Option<u64>,
    /// Holds perf's own file until the end.
    directory: tempfile::TempDir,
}

/// Name of perf's own file.
const DATA: &str = "perf.data";

pub(super) fn start(args: &Args, until: Until) -> Result<Box<dyn LiveRecording>> {
    check(Path::new("perf"))?;
    let pid = args.process(Engine::Perf)?;
    let about = about(Engine::Perf, program(Path::new("/"), pid));
    let directory = tempfile::tempdir()?;
    let mut record = Command::new("perf");
    record
        .args(["mem", "record", "-o"])
        .arg(directory.path().join(DATA))
        .args(["--", "-p", &pid.to_string()]);
    let record = record
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start perf")?;
    let summary = Summary {
        resolution: "single loads and stores, one in many".to_owned(),
        ..Summary::default()
    };
    Ok(Box::new(Perf {
        record,
        until,
        script: None,
        about,
        summary,
        last: 0,
        references: 0,
        most: args.limits().references,
        directory,
    }))
}

/// Starts `perf script` on perf's file; returns its lines, too.
fn script(data: &Path) -> Result<(Child, BufReader<ChildStdout>)> {
    let mut script = Command::new("perf");
    script
        .args(["script", "-F", "time,addr", "-i"])
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut script = script.spawn()?;
    let lines = BufReader::new(script.stdout.take().context("perf script has no output")?);
    Ok((script, lines))
}

/// Checks that perf is installed, and that the CPU samples addresses.
fn check(perf: &Path) -> Result<()> {
    let listed = Command::new(perf)
        .args(["mem", "record", "-e", "list"])
        .output();
    let Ok(listed) = listed else {
        return Err(Hinted::new("perf is not installed", "apt-get install linux-perf").into());
    };
    let said = String::from_utf8_lossy(&[listed.stdout, listed.stderr].concat()).into_owned();
    if !listed.status.success() || !said.contains(": available") {
        let why = said.lines().next().unwrap_or_default().to_owned();
        let hint = "it takes a CPU with PEBS, IBS or SPE, and no virtual machine in between; --engine sample needs none";
        let what = format!("this machine samples no addresses of memory: perf says '{why}'");
        return Err(Hinted::new(what, hint).into());
    }
    Ok(())
}

/// Waits until perf ends or it is time to stop; returns what ended the recording.
fn wait(record: &mut Child, until: &Until) -> Result<String> {
    loop {
        // In this order: a terminal's Ctrl-C ends perf by the same signal. If perf has ended, ours has come, too.
        let status = record.try_wait()?;
        let reached = until.reached(0);
        if let Some(status) = status {
            let by_our_signal =
                reached.is_some() && matches!(status.signal(), Some(SIGINT | SIGTERM));
            anyhow::ensure!(
                status.success() || by_our_signal,
                "perf mem record failed: {}",
                last_words(record)?
            );
            return Ok(reached.unwrap_or_else(|| "with the process".to_owned()));
        }
        if let Some(why) = reached {
            let pid = i32::try_from(record.id())
                .ok()
                .and_then(Pid::from_raw)
                .context("perf's process number is out of range")?;
            kill_process(pid, Signal::INT)?;
            record.wait()?;
            return Ok(why);
        }
        std::thread::sleep(NAP);
    }
}

/// What a program that has ended wrote to standard error.
fn last_words(ended: &mut Child) -> Result<String> {
    let mut said = String::new();
    if let Some(mut errors) = ended.stderr.take() {
        errors.read_to_string(&mut said)?;
    }
    Ok(said.trim().to_owned())
}

/// Parses `  82877.315633:     7ffd1234`: nanoseconds, and an address that is not 0.
fn sample(line: &str) -> Option<(u64, u64)> {
    let (time, address) = line.trim().split_once(':')?;
    let at = Duration::try_from_secs_f64(time.trim().parse().ok()?).ok()?;
    let address = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16)
        .ok()
        .filter(|address| *address > 0)?;
    Some((u64::try_from(at.as_nanos()).ok()?, address))
}

/// Reads samples until the batch has `size`. Each CPU writes in its own order, so a sample that comes late is given the
/// time of the latest before it.
fn take(
    lines: &mut impl BufRead,
    batch: &mut Batch,
    size: usize,
    last: &mut u64,
) -> io::Result<()> {
    let mut line = String::new();
    while batch.len() < size {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            break;
        }
        let Some((at, address)) = sample(&line) else {
            continue;
        };
        *last = at.max(*last);
        batch.page.push(address / PAGE);
        batch.time.push(*last);
    }
    Ok(())
}

impl Source for Perf {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if self.script.is_none() {
            let broken = |error: anyhow::Error| Error::Format(format!("{error:#}"));
            self.summary.end = wait(&mut self.record, &self.until).map_err(broken)?;
            self.summary.lasted = self.until.elapsed();
            self.script = Some(script(&self.directory.path().join(DATA)).map_err(broken)?);
        }
        let left = self
            .most
            .map_or(u64::MAX, |most| most.saturating_sub(self.references));
        if left == 0 {
            self.summary.end = format!("after {} references, as asked", self.references);
        }
        let Some((_, lines)) = &mut self.script else {
            return Ok(false);
        };
        take(
            lines,
            batch,
            left.min(BATCH as u64) as usize,
            &mut self.last,
        )?;
        self.references += batch.len() as u64;
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let mut about = self.about.clone();
        about
            .parameters
            .push(("ended".to_owned(), self.summary.end.clone()));
        about
    }
}

impl LiveRecording for Perf {
    fn source(&mut self) -> &mut dyn Source {
        self
    }

    fn summary(&mut self) -> Summary {
        std::mem::take(&mut self.summary)
    }
}

impl Drop for Perf {
    /// Ends both children: their output has been read, or is not wanted any more.
    fn drop(&mut self) {
        kill(&mut self.record);
        if let Some((script, _)) = &mut self.script {
            kill(script);
        }
    }
}

/// Kills a child and reaps it; one that has ended already is only reaped.
fn kill(child: &mut Child) {
    if child.kill().is_ok() {
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Limits;
    use super::*;

    #[test]
    fn perf_has_not_failed_if_our_signal_ends_it() {
        let ended = |script: &str, duration| {
            let mut child = Command::new("sh")
                .args(["-c", script])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            child.wait().unwrap();
            wait(
                &mut child,
                &Until::without_signals(Limits {
                    references: None,
                    duration,
                }),
            )
        };
        let over = Some(Duration::ZERO);
        assert!(ended("kill -TERM $$", over).unwrap().contains("as asked"));
        assert!(
            ended("kill -TERM $$", None).is_err(),
            "no limit was reached"
        );
        assert!(
            ended("echo no such event >&2; exit 1", over)
                .unwrap_err()
                .to_string()
                .ends_with("no such event")
        );
        assert_eq!(ended("true", None).unwrap(), "with the process");
    }

    #[test]
    fn no_more_is_taken_than_was_asked_for() {
        let mut lines = "1.0: 1000\n\n0.5: 2000\n2.0: 3000\n".as_bytes();
        let mut batch = Batch::default();
        let mut last = 0;
        take(&mut lines, &mut batch, 2, &mut last).unwrap();
        assert_eq!(
            (&batch.page[..], &batch.time[..]),
            (&[1, 2][..], &[1_000_000_000; 2][..])
        );
    }

    #[test]
    fn lines_of_perf_are_times_and_addresses() {
        assert_eq!(
            sample("  82877.315633:     7ffd1234"),
            Some((82_877_315_633_000, 0x7ffd_1234))
        );
        for no in ["", "82877.3: 0", "x: 12", "82877.3: zz"] {
            assert_eq!(sample(no), None, "{no}");
        }
    }

    #[test]
    fn a_machine_without_perf_gets_the_command_that_installs_it() {
        let error = check(Path::new("/no/such/perf")).unwrap_err();
        assert!(
            error
                .downcast_ref::<Hinted>()
                .is_some_and(|hinted| hinted.hint.contains("linux-perf"))
        );
        assert!(
            check(Path::new("/bin/false"))
                .unwrap_err()
                .to_string()
                .contains("samples no addresses")
        );
    }
}
