//! The programs whose place `warmset take-over` puts warmsetd in.

use clap::ValueEnum;
use host::{Rival, RivalKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Predecessor {
    Earlyoom,
    Nohang,
    NohangDesktop,
    SystemdOomd,
    Oomd,
    Bustd,
    Adaptivemmd,
    Memoptimizer,
}

impl Predecessor {
    /// The program that runs as this rival, if its place can be taken.
    pub(crate) fn of(rival: &Rival) -> Option<Self> {
        if !matches!(rival.kind, RivalKind::Guard | RivalKind::Tuner) {
            return None;
        }
        let unit = rival.unit.as_deref().unwrap_or_default();
        let by_unit = unit.strip_suffix(".service").and_then(Self::called);
        by_unit
            .filter(|predecessor| predecessor.program() == rival.name)
            .or_else(|| Self::called(&rival.name))
    }

    fn called(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Its name, as the command line has it; also that of its usual unit.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Earlyoom => "earlyoom",
            Self::Nohang => "nohang",
            Self::NohangDesktop => "nohang-desktop",
            Self::SystemdOomd => "systemd-oomd",
            Self::Oomd => "oomd",
            Self::Bustd => "bustd",
            Self::Adaptivemmd => "adaptivemmd",
            Self::Memoptimizer => "memoptimizer",
        }
    }

    /// The program, which may run under several names.
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::NohangDesktop => "nohang",
            other => other.name(),
        }
    }

    /// Whether it kills, so that the guard has to do so in its place.
    pub(crate) const fn kills(self) -> bool {
        !matches!(self, Self::Adaptivemmd | Self::Memoptimizer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_the_command_line() {
        for predecessor in Predecessor::value_variants() {
            assert_eq!(Predecessor::called(predecessor.name()), Some(*predecessor));
        }
    }
}
