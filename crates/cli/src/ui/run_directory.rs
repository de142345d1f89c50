//! `--run DIR`: an option of the subcommands that ask the guard, or set what it reads. It may stand before the subcommand,
//! too.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use commandline::RUN_DIRECTORY;
use std::path::PathBuf;

/// The subcommands that have it. A test holds that these read the directory, and no others.
const OF: [&str; 11] = [
    "hold",
    "mode",
    "notice",
    "protect",
    "release",
    "restore",
    "spare",
    "status",
    "take-over",
    "top",
    "why",
];

/// The program's command line with the option.
pub(crate) fn with_option(command: Command) -> Command {
    let option = Arg::new("run")
        .long("run")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath)
        .help("Directory in which the guard keeps its socket and undo log [default: /run/warmset]");
    let before = option.clone().hide(true);
    let with_own = |subcommand: Command| {
        if OF.contains(&subcommand.get_name()) {
            subcommand.arg(&option)
        } else {
            subcommand
        }
    };
    command.arg(before).mut_subcommands(with_own)
}

/// The directory that was given, or the usual one.
///
/// Errors: it was given before a subcommand that has no such option.
pub(crate) fn of(matches: &ArgMatches, command: &mut Command) -> Result<PathBuf, clap::Error> {
    let before = matches.get_one::<PathBuf>("run");
    let Some((name, own)) = matches.subcommand() else {
        return Ok(PathBuf::from(RUN_DIRECTORY));
    };
    if !OF.contains(&name) {
        return match before {
            Some(_) => {
                let what = format!("'--run' has no meaning for '{name}', which asks no guard");
                Err(command.error(ErrorKind::UnknownArgument, what))
            }
            None => Ok(PathBuf::from(RUN_DIRECTORY)),
        };
    }
    let given = own.get_one::<PathBuf>("run").or(before);
    Ok(given
        .cloned()
        .unwrap_or_else(|| PathBuf::from(RUN_DIRECTORY)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// The sources of a subcommand.
    fn sources(name: &str) -> String {
        let commands = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands");
        let module = match name {
            "report" => "fleet".to_owned(),
            other => other.replace('-', "_"),
        };
        let mut text = fs::read_to_string(commands.join(format!("{module}.rs"))).unwrap();
        for entry in fs::read_dir(commands.join(module)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_file() {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
        text
    }

    #[test]
    fn the_subcommands_with_the_option_are_those_that_read_the_directory() {
        let command = crate::command();
        let own = command
            .get_subcommands()
            .filter(|one| !crate::tools::has(one.get_name()) && one.get_name() != "help");
        for subcommand in own {
            let name = subcommand.get_name();
            let reads = ["context.run", "use crate::rules::"];
            let text = sources(name);
            let is_read = reads.iter().any(|read| text.contains(read));
            let has_option = subcommand.get_arguments().any(|arg| arg.get_id() == "run");
            assert_eq!(has_option, is_read, "{name}");
        }
    }

    fn run_of(words: &[&str]) -> Result<PathBuf, String> {
        let mut command = crate::command();
        let matches = command.try_get_matches_from_mut(words);
        let matches = matches.map_err(|error| error.to_string())?;
        of(&matches, &mut command).map_err(|error| error.to_string())
    }

    #[test]
    fn it_stands_before_or_after_a_subcommand_that_has_it() {
        assert_eq!(
            run_of(&["warmset", "status"]),
            Ok(PathBuf::from(RUN_DIRECTORY))
        );
        let given = Ok(PathBuf::from("/x"));
        assert_eq!(run_of(&["warmset", "status", "--run", "/x"]), given);
        assert_eq!(run_of(&["warmset", "--run", "/x", "status"]), given);
        let after = run_of(&["warmset", "doctor", "--run", "/x"]).unwrap_err();
        assert!(after.contains("unexpected argument '--run'"), "{after}");
        let before = run_of(&["warmset", "--run", "/x", "doctor"]).unwrap_err();
        assert!(before.contains("has no meaning for 'doctor'"), "{before}");
    }
}
