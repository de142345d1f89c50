//! Writes the manual pages and completions: `cargo run --example pages -- DIRECTORY`.
//!
//! The options come from the definitions that parse them, and `warmset.toml(5)` from the commented file that the package
//! installs, so no text is written twice.

#[path = "pages/settings.rs"]
mod settings;
#[path = "pages/values.rs"]
mod values;

use anyhow::{Context, Result};
use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use daemon::options::{ABOUT, OPTIONS, Opt};
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .context("usage: pages DIRECTORY")?;
    write_all(Path::new(&directory))
}

fn write_all(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)
            .with_context(|| format!("cannot renew {}", directory.display()))?;
    }
    for section in ["man1", "man5", "man8"] {
        let path = directory.join(section);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    let whole = values::whole_command();
    clap_mangen::generate_to(whole.clone(), directory.join("man1"))?;
    write_tools(directory)?;
    put(&directory.join("man8/warmsetd.8"), &daemon_page()?)?;
    put(
        &directory.join("man5/warmset.toml.5"),
        settings::page().as_bytes(),
    )?;
    for command in [whole, daemon_command()] {
        completions(directory, command)?;
    }
    Ok(())
}

/// What the package `warmset-tools` has, in a directory of its own. Its subcommands have their pages as those of `warmset`,
/// which runs them.
fn write_tools(directory: &Path) -> Result<()> {
    let own = directory.join("tools");
    fs::create_dir_all(own.join("man1"))?;
    let command = warmset_tools::command();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    put(&own.join("man1/warmset-tools.1"), &page)?;
    for entry in fs::read_dir(directory.join("man1"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let subcommand = name.split(['-', '.']).nth(1).unwrap_or_default();
        if command.find_subcommand(subcommand).is_some() {
            fs::rename(entry.path(), own.join("man1").join(&name))?;
        }
    }
    completions(&own, command)
}

fn put(path: &Path, text: &[u8]) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The daemon's table of options, in clap's words.
fn daemon_command() -> Command {
    let options = OPTIONS.iter().map(daemon_option);
    Command::new("warmsetd")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(options)
}

fn daemon_option(opt: &'static Opt) -> Arg {
    let arg = Arg::new(opt.long).long(opt.long).help(opt.help);
    let arg = match opt.short {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    match (opt.long, opt.value) {
        ("mode", Some(name)) => arg
            .value_name(name)
            .value_parser(["observe", "tune", "guard", "protect"]),
        ("config", Some(name)) => arg.value_name(name).value_hint(clap::ValueHint::FilePath),
        (_, Some("DIR")) => arg.value_name("DIR").value_hint(clap::ValueHint::DirPath),
        (_, Some(name)) => arg.value_name(name),
        ("verbose", None) => arg.action(ArgAction::Count),
        (_, None) => arg.action(ArgAction::SetTrue),
    }
}

fn daemon_page() -> Result<Vec<u8>> {
    let man = Man::new(daemon_command())
        .section("8")
        .manual("System administration");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    daemon_description().to_writer(&mut page)?;
    daemon_promise()?.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    daemon_surroundings().to_writer(&mut page)?;
    Ok(page)
}

fn daemon_description() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    for paragraph in [
        "warmsetd samples the machine's memory, forecasts when it will run short, and drives the kernel's \
         watermarks and compaction before allocations stall. As root it acts as far as its mode allows; as anyone \
         else, and where /proc/sys cannot be written, it observes and says so.",
        "Every write is entered in an undo log before it happens. What was found is put back when the daemon ends, \
         by `warmset restore` after it was killed, and at its next start. A value that another program has set since \
         is left alone.",
        "While the file /run/warmset/disable exists, it puts everything back and writes nothing.",
    ] {
        roff.text([roman(paragraph)]);
        roff.control("PP", []);
    }
    roff
}

/// The promise of the README, word for word: one text, so that both say the same.
fn promise() -> Result<Vec<String>> {
    let readme = include_str!("../../../README.md");
    let section = readme
        .split("\n## ")
        .find_map(|section| section.strip_prefix("The promise\n"))
        .context("README.md has no section \"The promise\"")?;
    let mut lines: Vec<String> = Vec::new();
    for line in section.lines() {
        let begins = line.starts_with(|letter: char| letter.is_ascii_digit());
        if begins {
            let (_, text) = line
                .split_once(' ')
                .context("a line of the promise has no text")?;
            lines.push(text.to_owned());
        } else if let (Some(last), true) = (lines.last_mut(), line.starts_with("   ")) {
            last.push(' ');
            last.push_str(line.trim());
        }
    }
    Ok(lines)
}

fn daemon_promise() -> Result<Roff> {
    let mut roff = Roff::new();
    roff.control("SH", ["WHAT IT DOES WHEN MEMORY RUNS OUT"]);
    roff.text([roman(
        "In the modes guard and protect. The names are of situations that are tested.",
    )]);
    for (index, line) in promise()?.iter().enumerate() {
        let number = format!("{}.", index + 1);
        roff.control("TP", ["4"]);
        roff.text([roman(number)]);
        roff.text([roman(line.replace('`', ""))]);
    }
    Ok(roff)
}

/// What the daemon reads, keeps and answers to.
fn daemon_surroundings() -> Roff {
    let sections: [(&str, &[(&str, &str)]); 3] = [
        (
            "SIGNALS",
            &[
                (
                    "SIGHUP",
                    "Read the configuration again; an error keeps the old one.",
                ),
                (
                    "SIGTERM, SIGINT",
                    "Restore everything, print the summary and exit.",
                ),
            ],
        ),
        (
            "FILES",
            &[
                (
                    "/etc/warmset/warmset.toml",
                    "The configuration; see warmset.toml(5).",
                ),
                (
                    "/etc/warmset/conf.d/*.toml",
                    "Further configuration, read after it in the order of the names.",
                ),
                ("/run/warmset", "The undo log, the lock and the socket."),
                (
                    "/run/warmset/disable",
                    "The kill switch: while it exists, nothing is written.",
                ),
                (
                    "/var/lib/warmset",
                    "Recordings, for `warmset why` and `warmset replay`.",
                ),
            ],
        ),
        (
            "EXIT STATUS",
            &[
                (
                    "0",
                    "It was stopped by a signal, or did what an option asked for.",
                ),
                ("1", "It could not start or continue; the message says why."),
                ("2", "The command line is wrong."),
            ],
        ),
    ];
    let mut roff = Roff::new();
    for (title, entries) in sections {
        roff.control("SH", [title]);
        for (term, meaning) in entries {
            roff.control("TP", []);
            roff.text([bold(*term)]);
            roff.text([roman(*meaning)]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman("warmset(1), warmset.toml(5), proc(5), systemd(1)")]);
    roff
}

/// Writes the completions under the file names that each shell looks for.
fn completions(directory: &Path, mut command: Command) -> Result<()> {
    let name = command.get_name().to_owned();
    command = values::with_values(command);
    for (shell, subdirectory, file) in [
        (Shell::Bash, "bash", name.clone()),
        (Shell::Zsh, "zsh", format!("_{name}")),
        (Shell::Fish, "fish", format!("{name}.fish")),
    ] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, name.clone(), &mut text);
        fs::create_dir_all(directory.join(subdirectory))?;
        put(&directory.join(subdirectory).join(file), &text)?;
    }
    Ok(())
}
