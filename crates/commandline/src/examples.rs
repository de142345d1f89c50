//! Examples at the end of each help and manual page. Each program has its own, and a test parses every one of them.

use clap::Command;

/// A command line, and what it does.
pub type Example = (&'static str, &'static str);

/// The examples of each subcommand, in the order of the help.
pub type Examples = [(&'static str, &'static [Example])];

/// `subcommand` with the end of its help: its own of `all` examples, then `codes`.
pub fn with_examples(subcommand: Command, all: &Examples, codes: &'static str) -> Command {
    let own = all.iter().find(|(name, _)| *name == subcommand.get_name());
    let Some((_, examples)) = own else {
        return subcommand.after_help(codes);
    };
    let lines: Vec<String> = examples
        .iter()
        .map(|(line, what)| format!("  {line}\n      {what}"))
        .collect();
    let end = format!("Examples:\n{}\n\n{codes}", lines.join("\n"));
    // A subcommand's own text at the end of its long help comes first.
    match subcommand.get_after_long_help().map(ToString::to_string) {
        Some(more) => subcommand
            .after_help(end.clone())
            .after_long_help(format!("{more}\n\n{end}")),
        None => subcommand.after_help(end),
    }
}
