//! Writes the manual page and completions of `warmset-lab`: `cargo run --example lab_pages -- DIRECTORY`.

use anyhow::{Context, Result};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use std::fs;
use std::path::Path;
use warmset_vmlab::arm::ARMS;
use warmset_vmlab::faults::FAULTS;
use warmset_vmlab::scenario::SCENARIOS;

/// Debian's kernels that are had without building.
const KERNELS: [&str; 3] = ["6.1", "6.12", "7"];
/// What each series is made for.
const BASES: &str = include_str!("../../../kernel/BASES");

fn main() -> Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .context("usage: lab_pages DIRECTORY")?;
    let directory = Path::new(&directory);
    let command = warmset_vmlab::command::definition();
    let directory = |name: &str| -> Result<_> {
        let path = directory.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    };
    clap_mangen::generate_to(command.clone(), directory("man1")?)?;
    let mut command = with_values(command);
    for (name, shell) in [
        ("bash", Shell::Bash),
        ("zsh", Shell::Zsh),
        ("fish", Shell::Fish),
    ] {
        clap_complete::generate_to(shell, &mut command, "warmset-lab", directory(name)?)?;
    }
    Ok(())
}

/// A command with the values that shells complete. The parser takes more than these, such as a directory as a kernel.
fn with_values(command: Command) -> Command {
    command.mut_args(with_value).mut_subcommands(with_values)
}

fn with_value(arg: Arg) -> Arg {
    let values = values_of(&arg);
    if values.is_empty() {
        let is_directory = arg.get_value_names().is_some_and(|names| names[0] == "DIR");
        return if is_directory {
            arg.value_hint(ValueHint::DirPath)
        } else {
            arg
        };
    }
    // A default need not be among them.
    let arg = arg.default_value(None::<&str>);
    arg.value_parser(PossibleValuesParser::new(values))
}

fn values_of(arg: &Arg) -> Vec<PossibleValue> {
    let plain = |names: &mut dyn Iterator<Item = &'static str>| -> Vec<PossibleValue> {
        names.map(PossibleValue::new).collect()
    };
    match arg.get_id().as_str() {
        "kernel" => plain(&mut KERNELS.into_iter()),
        "series" => plain(&mut BASES.lines().filter_map(series)),
        "faults" => plain(&mut FAULTS.iter().map(|fault| fault.name)),
        "arms" => ARMS
            .iter()
            .map(|(name, about)| PossibleValue::new(*name).help(*about))
            .collect(),
        "scenario" => SCENARIOS
            .iter()
            .map(|scenario| PossibleValue::new(scenario.name).help(scenario.about))
            .collect(),
        _ => Vec::new(),
    }
}

/// The series of a line of `BASES`.
fn series(line: &'static str) -> Option<&'static str> {
    let word = line.split_whitespace().next()?;
    word.starts_with(|letter: char| letter.is_ascii_digit())
        .then_some(word)
}
