//! The means by which a guard acts on this machine, as the program that tries them found out.
//!
//! It prints one line for each: `yes` or `no`, the name, what it gives or why not, and the remedy, with tabs between.

use super::program;
use pressure::means::Means;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};

/// The name of the means by which the memory of units is kept.
pub const FLOORS: &str = "floors of units";
/// Output of the probe that is kept: some twenty lines.
const MOST_BYTES: usize = 16 * 1024;

/// A means as the line that is printed for it.
pub fn line(means: &Means) -> String {
    let Means { name, says, .. } = means;
    let word = if means.is_armed { "yes" } else { "no" };
    let remedy = means.remedy.as_deref().unwrap_or_default();
    format!("{word}\t{name}\t{says}\t{remedy}").replace('\n', " ")
}

/// The means in a line; `None` if it is none.
pub fn parse(line: &str) -> Option<Means> {
    let mut words = line.splitn(4, '\t');
    let is_armed = match words.next()? {
        "yes" => true,
        "no" => false,
        _ => return None,
    };
    let name = words.next()?.to_owned();
    let says = words.next()?.to_owned();
    let remedy = words.next().filter(|remedy| !remedy.is_empty());
    Some(Means {
        name,
        is_armed,
        says,
        remedy: remedy.map(str::to_owned),
    })
}

fn parse_all(text: &[u8]) -> Vec<Means> {
    String::from_utf8_lossy(text)
        .lines()
        .filter_map(parse)
        .collect()
}

fn probe(option: &str) -> Command {
    let mut probe = Command::new(program());
    probe
        .arg(option)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .env_clear();
    probe
}

/// Asks the program that locks what works here; the error says why it cannot be asked. Takes some milliseconds.
pub fn checks() -> Result<Vec<Means>, String> {
    let said = probe("--probe")
        .output()
        .map_err(|error| format!("{}: {error}", program().display()))?;
    Ok(parse_all(&said.stdout))
}

/// A probe of the guard's own means that runs: it has the rights of the guard, and nobody waits for it.
#[derive(Debug)]
pub(crate) struct Probe {
    child: Child,
    out: OwnedFd,
    text: Vec<u8>,
}

impl Probe {
    /// Starts one; the error says why that fails.
    pub(crate) fn start() -> Result<Self, String> {
        let shown = |error: std::io::Error| format!("{}: {error}", program().display());
        let mut child = probe("--probe-guard").spawn().map_err(shown)?;
        let out = child.stdout.take().map(OwnedFd::from);
        let out = out.ok_or_else(|| "a probe without output".to_owned())?;
        rustix::io::ioctl_fionbio(out.as_fd(), true).map_err(|error| shown(error.into()))?;
        Ok(Self {
            child,
            out,
            text: Vec::new(),
        })
    }

    /// What it found, once it has ended.
    pub(crate) fn poll(&mut self) -> Option<Vec<Means>> {
        let mut buffer = [0; 1024];
        loop {
            match rustix::io::read(&self.out, &mut buffer) {
                Ok(0) => break,
                Ok(_) if self.text.len() > MOST_BYTES => break,
                Ok(length) => self.text.extend_from_slice(&buffer[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return None,
                Err(_) => break,
            }
        }
        let _ = self.child.wait();
        Some(parse_all(&self.text))
    }
}

/// It ends by itself within a second. One that hangs must not outlive the guard.
impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_means_is_read_as_it_was_printed() {
        let armed = Means::armed("locks", "hot files can be held");
        assert_eq!(parse(&line(&armed)), Some(armed));
        let other = Means::not_armed("locks", "no:\nnothing", Some("buy one"));
        let read = parse(&line(&other)).unwrap();
        assert_eq!(read.says, "no: nothing");
        assert_eq!(read.remedy, other.remedy);
        assert_eq!(parse("maybe\tx\ty\t"), None);
        assert_eq!(parse("yes"), None);
    }
}
