//! The command line of `warmsetd`: one table for the parser, `--help`, the manual page and the completions.

use lexopt::Arg;
use pressure::config::Mode;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use units::Span;

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    /// Its name after two dashes.
    pub long: &'static str,
    /// Its letter after one dash.
    pub short: Option<char>,
    /// The placeholder of its value, such as FILE; `None` if it takes none.
    pub value: Option<&'static str>,
    /// What it does, in one sentence.
    pub help: &'static str,
}

const fn opt(
    long: &'static str,
    short: Option<char>,
    value: Option<&'static str>,
    help: &'static str,
) -> Opt {
    Opt {
        long,
        short,
        value,
        help,
    }
}

/// Every option, in the order of `--help`.
pub const OPTIONS: &[Opt] = &[
    opt(
        "config",
        Some('c'),
        Some("FILE"),
        "Read this file instead of /etc/warmset/warmset.toml and its conf.d",
    ),
    opt(
        "mode",
        None,
        Some("MODE"),
        "What it may do: observe, tune, guard or protect; overrides the configuration",
    ),
    opt(
        "protect",
        None,
        None,
        "Also hold what is in use in memory; the same as --mode protect",
    ),
    opt(
        "observe",
        None,
        None,
        "Write nothing; the same as --mode observe",
    ),
    opt(
        "for",
        None,
        Some("SPAN"),
        "End after this time, such as 30s, with a summary",
    ),
    opt(
        "live",
        None,
        None,
        "Keep a status line on the terminal; elsewhere, print a line every 5 s",
    ),
    opt(
        "state",
        None,
        Some("DIR"),
        "Keep recordings here [default: /var/lib/warmset]",
    ),
    opt(
        "run",
        None,
        Some("DIR"),
        "Keep the undo log, the lock and the socket here [default: /run/warmset]",
    ),
    opt(
        "holder",
        None,
        Some("SOCKET"),
        "Have systemd start warmset-hold by this socket, instead of starting it",
    ),
    opt(
        "verbose",
        Some('v'),
        None,
        "Say more; each time it is given, one level more than the configuration",
    ),
    opt(
        "list-writes",
        None,
        None,
        "Print every file that may be opened for writing, one a line",
    ),
    opt("version", Some('V'), None, "Print the version"),
    opt("help", Some('h'), None, "Print this help"),
];

/// What the program is, in one sentence.
pub const ABOUT: &str = "Keeps a Linux machine's warm set, the memory in use, in memory";

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What to do.
    pub task: Task,
    /// The one configuration file to read; `None` for the usual ones.
    pub config: Option<PathBuf>,
    /// Overrides the mode of the configuration.
    pub mode: Option<Mode>,
    /// Time after which the guard ends by itself; `None` for never.
    pub end_after: Option<Span>,
    /// Show a status line.
    pub live: bool,
    /// Directory for recordings.
    pub state: PathBuf,
    /// Directory for the undo log, the lock and the sockets.
    pub run: PathBuf,
    /// The socket by which systemd starts the holder; `None` to start it as a child.
    pub holder: Option<PathBuf>,
    /// Levels to add to the verbosity of the configuration.
    pub verbose: u8,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Run the loop.
    Guard,
    /// Print the table of writes and end.
    ListWrites,
    /// Print the version and end.
    Version,
    /// Print the help and end.
    Help,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            task: Task::Guard,
            config: None,
            mode: None,
            end_after: None,
            live: false,
            state: PathBuf::from("/var/lib/warmset"),
            run: PathBuf::from("/run/warmset"),
            holder: None,
            verbose: 0,
        }
    }
}

/// The options in `args`, which do not include the program's own name.
///
/// An error is one sentence that quotes the option. Options after `--help` or `--version` are not read.
pub fn parse<I>(args: I) -> Result<Options, String>
where
    I: IntoIterator<Item: Into<OsString>>,
{
    let mut parser = lexopt::Parser::from_args(args);
    let mut options = Options::default();
    while let Some(arg) = parser.next().map_err(|error| error.to_string())? {
        let name = match arg {
            Arg::Long(name) => OPTIONS.iter().find(|opt| opt.long == name),
            Arg::Short(letter) => OPTIONS.iter().find(|opt| opt.short == Some(letter)),
            Arg::Value(_) => None,
        };
        let Some(opt) = name else {
            return Err(arg.unexpected().to_string());
        };
        take(opt.long, &mut parser, &mut options)?;
        if options.task != Task::Guard {
            break;
        }
    }
    Ok(options)
}

/// Reads the value of an option, if it has one, and sets its field.
fn take(long: &str, parser: &mut lexopt::Parser, options: &mut Options) -> Result<(), String> {
    match long {
        "config" => options.config = Some(path(parser)?),
        "mode" => options.mode = Some(mode(&word(parser, "--mode")?)?),
        "protect" => options.mode = Some(Mode::Protect),
        "observe" => options.mode = Some(Mode::Observe),
        "for" => options.end_after = Some(span(&word(parser, "--for")?)?),
        "live" => options.live = true,
        "state" => options.state = path(parser)?,
        "run" => options.run = path(parser)?,
        "holder" => options.holder = Some(path(parser)?),
        "verbose" => options.verbose = options.verbose.saturating_add(1),
        "list-writes" => options.task = Task::ListWrites,
        "version" => options.task = Task::Version,
        "help" => options.task = Task::Help,
        other => return Err(format!("--{other} is in the table but not in the parser")),
    }
    Ok(())
}

fn path(parser: &mut lexopt::Parser) -> Result<PathBuf, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    Ok(PathBuf::from(value))
}

fn word(parser: &mut lexopt::Parser, option: &str) -> Result<String, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    value
        .into_string()
        .map_err(|value| format!("{option}: {} is not text", value.to_string_lossy()))
}

fn mode(word: &str) -> Result<Mode, String> {
    match word {
        "observe" => Ok(Mode::Observe),
        "tune" => Ok(Mode::Tune),
        "guard" => Ok(Mode::Guard),
        "protect" => Ok(Mode::Protect),
        _ => Err(format!(
            "--mode: {word:?} is not observe, tune, guard or protect"
        )),
    }
}

fn span(word: &str) -> Result<Span, String> {
    word.parse().map_err(|error| format!("--for: {error}"))
}

/// The text of `--help`.
pub fn help() -> String {
    let mut text = format!("{ABOUT}\n\nUsage: warmsetd [OPTIONS]\n\nOptions:\n");
    for opt in OPTIONS {
        let letter = opt
            .short
            .map_or("    ".to_owned(), |letter| format!("-{letter}, "));
        let value = opt
            .value
            .map(|value| format!(" {value}"))
            .unwrap_or_default();
        let name = format!("--{}{value}", opt.long);
        let _ = writeln!(text, "  {letter}{name:<15}  {}", opt.help);
    }
    text.push_str("\nManual: warmsetd(8), warmset.toml(5). What it is doing: `warmset status`, `warmset why`.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn parsed(line: &str) -> Options {
        parse(line.split_whitespace()).unwrap()
    }

    fn refused(line: &str) -> String {
        parse(line.split_whitespace()).unwrap_err()
    }

    #[test]
    fn without_options_it_is_the_packaged_daemon() {
        assert_eq!(parsed(""), Options::default());
    }

    #[test]
    fn every_listed_option_is_understood_in_every_spelling() {
        for opt in OPTIONS {
            let value = match opt.long {
                "mode" => "tune",
                "for" => "30s",
                _ => "/somewhere",
            };
            for name in [
                Some(format!("--{}", opt.long)),
                opt.short.map(|letter| format!("-{letter}")),
            ] {
                let Some(name) = name else { continue };
                let args = if opt.value.is_some() {
                    vec![name.clone(), value.to_owned()]
                } else {
                    vec![name.clone()]
                };
                let options = parse(args).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_ne!(options, Options::default(), "{name} changes nothing");
                if opt.value.is_some() {
                    assert!(parse([&name]).is_err(), "{name} without its value");
                }
            }
        }
    }

    #[test]
    fn values_reach_their_fields() {
        let options =
            parsed("--config=a.toml --mode protect --for 1.5min --live --state s --run r -vv");
        assert_eq!(options.config.as_deref(), Some(Path::new("a.toml")));
        assert_eq!(options.mode, Some(Mode::Protect));
        assert_eq!(options.end_after, Some(Span::secs(90)));
        assert!(options.live);
        assert_eq!(options.state, Path::new("s"));
        assert_eq!(options.run, Path::new("r"));
        assert_eq!(options.verbose, 2);
    }

    #[test]
    fn the_last_mode_wins() {
        assert_eq!(parsed("--mode tune --observe").mode, Some(Mode::Observe));
        assert_eq!(parsed("--observe --mode tune").mode, Some(Mode::Tune));
    }

    #[test]
    fn a_span_may_stand_as_one_word_or_with_a_space() {
        assert_eq!(
            parse(["--for", "30 s"]).unwrap().end_after,
            Some(Span::secs(30))
        );
        assert_eq!(parsed("--for 30s").end_after, Some(Span::secs(30)));
    }

    #[test]
    fn errors_quote_what_was_written() {
        assert!(refused("--mood x").contains("--mood"));
        assert!(refused("stray").contains("stray"));
        assert!(refused("--mode watch").contains("\"watch\""));
        assert!(refused("--for soon").contains("soon"));
        assert!(refused("--for").contains("--for"));
        assert!(refused("--live=yes").contains("--live"));
    }

    #[test]
    fn options_after_help_are_not_read() {
        assert_eq!(parsed("--help --nonsense").task, Task::Help);
        assert_eq!(parsed("-V stray").task, Task::Version);
    }

    #[test]
    fn help_is_printed_from_the_table() {
        expect_test::expect![[r"
            Keeps a Linux machine's warm set, the memory in use, in memory

            Usage: warmsetd [OPTIONS]

            Options:
              -c, --config FILE    Read this file instead of /etc/warmset/warmset.toml and its conf.d
                  --mode MODE      What it may do: observe, tune, guard or protect; overrides the configuration
                  --protect        Also hold what is in use in memory; the same as --mode protect
                  --observe        Write nothing; the same as --mode observe
                  --for SPAN       End after this time, such as 30s, with a summary
                  --live           Keep a status line on the terminal; elsewhere, print a line every 5 s
                  --state DIR      Keep recordings here [default: /var/lib/warmset]
                  --run DIR        Keep the undo log, the lock and the socket here [default: /run/warmset]
                  --holder SOCKET  Have systemd start warmset-hold by this socket, instead of starting it
              -v, --verbose        Say more; each time it is given, one level more than the configuration
                  --list-writes    Print every file that may be opened for writing, one a line
              -V, --version        Print the version
              -h, --help           Print this help

            Manual: warmsetd(8), warmset.toml(5). What it is doing: `warmset status`, `warmset why`.
        "]]
        .assert_eq(&help());
    }
}
