//! The programs whose configuration `warmset import` translates.

use anyhow::{Result, bail};
use clap::ValueEnum;
use pressure::import::Imported;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Program {
    Adaptivemmd,
    Memoptimizer,
    Earlyoom,
    Nohang,
    SystemdOomd,
    /// A sysctl file with le9uo's ratios
    Le9uo,
}

impl Program {
    /// Where its package has the file; le9uo is a patch and has none.
    pub(crate) fn usual(self) -> Result<&'static Path> {
        Ok(Path::new(match self {
            Self::Adaptivemmd => "/etc/sysconfig/adaptivemmd",
            Self::Memoptimizer => "/etc/sysconfig/memoptimizer",
            Self::Earlyoom => "/etc/default/earlyoom",
            Self::Nohang => "/etc/nohang/nohang.conf",
            Self::SystemdOomd => "/etc/systemd/oomd.conf",
            Self::Le9uo => {
                bail!("le9uo has no file of its own: name the sysctl file that sets its ratios")
            }
        }))
    }
}

/// Translates what a program reads from files, in their order.
pub(crate) type Translate = fn(Program, &[PathBuf]) -> Result<Imported>;

/// The program of this name, if `warmset import` can translate its configuration.
pub(crate) fn called(name: &str) -> Option<Program> {
    Program::from_str(name, false).ok()
}
