//! The command line of `warmset`, from which the parser, `--help`, the manual pages and the
//! completions come.

use clap::Command;

/// The whole command, with every subcommand.
pub(crate) fn command() -> Command {
    let subcommands = [("restore", "Put back what a killed guard could not")];
    Command::new("warmset")
        .version(env!("CARGO_PKG_VERSION"))
        .about("See, explain, record, replay and check what the guard does")
        .subcommands(subcommands.map(|(name, about)| Command::new(name).about(about)))
}
