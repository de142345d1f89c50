//! The list of all subcommands, grouped by task.

use crate::tools;
use crate::ui::text::{Screen, wrapped};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::fmt::Write as _;

/// Each subcommand is in one group; a test holds that.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "The guard",
        &[
            "status",
            "mode",
            "check",
            "protect",
            "hold",
            "spare",
            "release",
            "restore",
            "import",
            "take-over",
            "notice",
        ],
    ),
    ("What happened", &["why", "record", "replay", "report"]),
    (
        "This machine",
        &["top", "files", "doctor", "features", "prove"],
    ),
    ("Traces and policies (warmset-tools)", &TOOLS),
];
const TOOLS: [&str; tools::SUBCOMMANDS.len()] = {
    let mut names = [""; tools::SUBCOMMANDS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = tools::SUBCOMMANDS[index].0;
        index += 1;
    }
    names
};
/// Columns before what a subcommand does: two blanks, the longest name, and two blanks.
const INDENT: usize = 13;

/// `command` with the list in its help, and with the subcommand `help`.
pub(crate) fn listed(command: Command) -> Command {
    let list = list(&command, Screen::of_environment().columns);
    let header = command.get_styles().get_header();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    let words = Arg::new("command")
        .value_name("COMMAND")
        .action(ArgAction::Append);
    let help = Command::new("help")
        .about("Print this message or the help of a subcommand")
        .hide(true)
        .disable_help_flag(true)
        .arg(words);
    command.help_template(template).subcommand(help)
}

/// The arguments that `help` with these words stands for.
pub(crate) fn asked_for(words: &ArgMatches) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("warmset")];
    let words = words.get_many::<String>("command").unwrap_or_default();
    arguments.extend(words.map(OsString::from));
    arguments.push(OsString::from("--help"));
    arguments
}

fn list(command: &Command, columns: usize) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            let width = INDENT - 2;
            let mut label = format!("  {literal}{name:<width$}{literal:#}");
            for line in wrapped(&about, columns - INDENT) {
                let _ = writeln!(text, "{label}{line}");
                label = " ".repeat(INDENT);
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_is_in_one_group() {
        let mut grouped: Vec<&str> = Vec::new();
        for (_, names) in GROUPS {
            grouped.extend(names);
        }
        grouped.sort_unstable();
        let command = crate::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.retain(|name| *name != "help");
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_list_fits_the_screen() {
        for columns in [40, 80] {
            let list = list(&crate::command(), columns);
            let plain = without_style(&list);
            for line in plain.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }

    /// `text` without escape sequences.
    fn without_style(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain + rest
    }
}
