//! The command line.

use crate::rule::Rule;
use lexopt::Arg;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use units::Span;

/// The text of `--help`.
pub(crate) const HELP: &str = "\
Presses on the clock of one process when free memory is at a watermark: an arm of warmset-lab

Usage: warmset-local --way WAY [OPTIONS]

Options:
      --way WAY     watch, up-largest, up-next, up-last, down-largest, down-next or down-last
      --every SPAN  Press once in so long at most, from 100ms to 60s [default: 250ms]
      --log FILE    Write what was seen and done to this new file, a line of JSON each
  -V, --version     Print the version
  -h, --help        Print this help
";

/// Default of `--every`. Each press walks the page tables of a process, and its page faults wait
/// for that: about 5 ms for each GiB. Shorter costs more, longer lets reclaim pass unobserved.
const EVERY: Duration = Duration::from_millis(250);
/// Bounds of `--every`: below a tick there is nothing to do more often.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) task: Task,
    pub(crate) rule: Rule,
    pub(crate) every: Duration,
    pub(crate) log: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Run,
    Version,
    Help,
}

/// The options in `args`, which do not include the program's own name.
pub(crate) fn parse<I>(args: I) -> Result<Options, String>
where
    I: IntoIterator<Item: Into<OsString>>,
{
    let mut parser = lexopt::Parser::from_args(args);
    let mut task = Task::Run;
    let mut rule = None;
    let mut every = EVERY;
    let mut log = None;
    while let Some(arg) = parser.next().map_err(|error| error.to_string())? {
        match arg {
            Arg::Long("way") => {
                let name = text(&mut parser, "--way")?;
                rule = Some(name.parse::<Rule>()?);
            }
            Arg::Long("every") => {
                let span = text(&mut parser, "--every")?;
                every = interval(&span)?;
            }
            Arg::Long("log") => {
                let path = text(&mut parser, "--log")?;
                log = Some(PathBuf::from(path));
            }
            Arg::Short('V') | Arg::Long("version") => task = Task::Version,
            Arg::Short('h') | Arg::Long("help") => task = Task::Help,
            other => return Err(other.unexpected().to_string()),
        }
        if task != Task::Run {
            break;
        }
    }
    if task == Task::Run && rule.is_none() {
        return Err("--way is missing".to_owned());
    }
    Ok(Options {
        task,
        rule: rule.unwrap_or(Rule::Watch),
        every,
        log,
    })
}

fn text(parser: &mut lexopt::Parser, option: &str) -> Result<String, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    value
        .into_string()
        .map_err(|value| format!("{option}: {} is not text", value.to_string_lossy()))
}

fn interval(text: &str) -> Result<Duration, String> {
    let span: Span = text.parse().map_err(|error| format!("--every: {error}"))?;
    let every = span.get();
    if (SHORTEST..=LONGEST).contains(&every) {
        Ok(every)
    } else {
        Err(format!("--every: {span} is not between 100 ms and 60 s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Target, Way};

    #[test]
    fn each_rule_has_its_name() {
        for (name, rule) in Rule::ALL {
            let options = parse(["--way", name]).unwrap();
            assert_eq!(options.rule, rule);
            assert_eq!(options.every, EVERY);
        }
    }

    #[test]
    fn values_reach_their_fields() {
        let words = ["--way=up-next", "--every", "1 s", "--log", "/run/x"];
        let options = parse(words).unwrap();
        assert_eq!(options.rule, Rule::Press(Way::Up, Target::Next));
        assert_eq!(options.every, Duration::from_secs(1));
        assert_eq!(options.log, Some(PathBuf::from("/run/x")));
        assert_eq!(parse(["--help"]).unwrap().task, Task::Help);
    }

    #[test]
    fn errors_quote_what_was_written() {
        assert!(
            parse(["--way", "up-all"])
                .unwrap_err()
                .contains("up-largest")
        );
        assert!(parse([""; 0]).unwrap_err().contains("--way is missing"));
        assert!(
            parse(["--way", "watch", "--every", "2 min"])
                .unwrap_err()
                .contains("60 s")
        );
        assert!(parse(["--stray"]).unwrap_err().contains("--stray"));
    }
}
