//! The programs whose configuration `warmset import` translates.

use anyhow::Result;
use clap::ValueEnum;
use pressure::import::Imported;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    Adaptivemmd,
    Memoptimizer,
    Earlyoom,
    Nohang,
    /// nohang with the file that its desktop service reads
    NohangDesktop,
    SystemdOomd,
    /// The file in JSON of oomd, systemd-oomd's ancestor
    Oomd,
    /// A sysctl file with the settings of le9 or le9uo
    #[value(alias = "le9")]
    Le9uo,
}

impl Program {
    /// What it is called, and what its service is called but for `.service`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Adaptivemmd => "adaptivemmd",
            Self::Memoptimizer => "memoptimizer",
            Self::Earlyoom => "earlyoom",
            Self::Nohang => "nohang",
            Self::NohangDesktop => "nohang-desktop",
            Self::SystemdOomd => "systemd-oomd",
            Self::Oomd => "oomd",
            Self::Le9uo => "le9uo",
        }
    }

    /// Whether it kills, so that no other guard may run beside it.
    pub(crate) fn kills(self) -> bool {
        match self {
            Self::Earlyoom
            | Self::Nohang
            | Self::NohangDesktop
            | Self::SystemdOomd
            | Self::Oomd => true,
            Self::Adaptivemmd | Self::Memoptimizer | Self::Le9uo => false,
        }
    }
}

/// Translates what a program reads from files, in their order, for the machine at a root.
pub(crate) type Translate = fn(Program, &[PathBuf], &Path) -> Result<Imported>;

/// The program of this name, if `warmset import` can translate its configuration.
pub(crate) fn called(name: &str) -> Option<Program> {
    Program::from_str(name, false).ok()
}
