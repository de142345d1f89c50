//! What protection can do on this machine, as the program that does it found by trying.

use super::program;
use serde::Serialize;
use std::process::{Command, Stdio};

/// A means of protection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Whether it has the effect it should.
    pub works: bool,
    /// What it gives, or why it does not.
    pub says: String,
}

impl Check {
    /// One line, as `warmset-hold --probe` prints it.
    pub fn line(&self) -> String {
        let Self { name, works, says } = self;
        format!("{}\t{name}\t{says}", if *works { "yes" } else { "no" })
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, '\t');
        let works = match words.next()? {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        Some(Self {
            name: words.next()?.to_owned(),
            works,
            says: words.next()?.to_owned(),
        })
    }
}

/// Asks the program that locks what works here; the error says why it cannot be asked. Takes some milliseconds.
pub fn checks() -> Result<Vec<Check>, String> {
    let program = program();
    let mut probe = Command::new(&program);
    probe
        .arg("--probe")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .env_clear();
    let said = probe
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(String::from_utf8_lossy(&said.stdout)
        .lines()
        .filter_map(Check::parse)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_read_as_it_was_printed() {
        let check = Check {
            name: "locks".to_owned(),
            works: false,
            says: "no:\tnothing".to_owned(),
        };
        assert_eq!(Check::parse(&check.line()), Some(check));
        assert_eq!(Check::parse("maybe\tx\ty"), None);
        assert_eq!(Check::parse("yes"), None);
    }
}
