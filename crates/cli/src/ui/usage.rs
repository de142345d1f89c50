//! Examples at the end of each help and manual page. A test parses every one of them.

use commandline::examples::Examples;

/// The examples of each subcommand, in the order of the help.
#[rustfmt::skip]
pub(crate) const EXAMPLES: &Examples = &[
    ("status", &[
        ("warmset status", "memory, demand, forecast, and what the guard has set"),
        ("warmset status --json | jq .decision.forecast", "the forecast alone, for a program"),
    ]),
    ("why", &[
        ("warmset why", "the last 20 decisions, with their reasons"),
        ("warmset why -n 3 --recording FILE.rec.gz", "the last 3 of a recording"),
    ]),
    ("top", &[
        ("warmset top", "live, until q"),
        ("warmset top --once | head -6", "one picture, for a script"),
        ("warmset top --recording incident.rec.gz", "with the arrow keys through a recording"),
    ]),
    ("files", &[
        ("sudo warmset files", "the page cache of each unit, and how much of it was read again"),
        ("warmset files /var/lib/postgresql --by directory", "what of a directory is in memory, by what is below it"),
        ("sudo warmset files --unit postgresql.service --watch=5s", "the files of a service; every 5 s, what came and went"),
    ]),
    ("features", &[("warmset features", "the kernel's features, and what is lost without them")]),
    ("doctor", &[
        ("sudo warmset doctor", "what is wrong here, and what to do about it"),
        ("warmset doctor --cost", "what memory pressure has cost since boot, and no more"),
    ]),
    ("check", &[
        ("warmset check", "the configuration in force"),
        ("warmset check new.toml", "a file before it is installed"),
    ]),
    ("record", &[("warmset record -o incident.rec.gz --for 10min", "record for ten minutes")]),
    ("replay", &[
        ("warmset replay incident.rec.gz --config new.toml", "what another configuration would have decided"),
        ("warmset replay incident.rec.gz --compare classic static:100", "and what it would have cost"),
    ]),
    ("mode", &[
        ("warmset mode", "what it may do now, and which file says so"),
        ("sudo warmset mode protect", "from now on, also after a boot"),
    ]),
    ("restore", &[("sudo warmset restore", "put back what a killed guard had set")]),
    ("import", &[
        ("warmset import earlyoom", "another guard's settings on this machine as ours, and what is left out"),
        ("warmset import nohang my.conf --lenient -o 50-nohang.toml", "into a file, without what is left out"),
    ]),
    ("take-over", &[
        ("warmset take-over earlyoom --dry-run", "the steps, and the configuration that warmsetd would have"),
        ("sudo warmset take-over earlyoom", "warmsetd guards from now on; if a step fails, earlyoom still does"),
    ]),
    ("protect", &[("sudo warmset protect postgresql.service", "its working set stays in memory, until the next boot")]),
    ("hold", &[
        ("sudo warmset hold /srv/app/index", "it stays in memory, until the next boot"),
        ("warmset hold", "what is held, and why the rest is not"),
        ("sudo warmset hold --release --all", "nothing that was named by hand is held any more"),
    ]),
    ("spare", &[
        ("sudo warmset spare postgresql.service", "it is never killed, until the next boot"),
        ("sudo warmset spare 'command:*jupyter-lab*'", "a notebook server of any user's, too"),
    ]),
    ("release", &[("sudo warmset release postgresql.service", "take the exemption back")]),
    ("notice", &[("systemctl --user enable --now warmset-notice", "notices and questions on your desktop from now on")]),
    ("prove", &[("warmset prove --out proof.html", "with and without the guard, in virtual machines on this one")]),
    ("report", &[
        ("warmset report --from web07.rec.gz web12/ -o hosts.html", "two hosts in one page: a file, and a directory of files"),
        ("warmset report --from db=/var/lib/warmset/recordings", "this one, called db, in a table"),
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// The command with the subcommands of `warmset-tools` as that program defines them.
    fn both() -> Command {
        warmset_tools::in_place_of_names(crate::command())
    }

    /// The words of a line of shell; `None` if it is not our command, or needs a shell.
    fn words(line: &str) -> Option<Vec<String>> {
        let line = line
            .split(" #")
            .next()
            .unwrap_or(line)
            .split([';', '|', '>'])
            .next()
            .unwrap_or(line);
        let mut words = vec![String::new()];
        let mut quoted = false;
        for character in line.trim().trim_start_matches("sudo ").chars() {
            match (character, words.last_mut()) {
                ('\'', _) => quoted = !quoted,
                (' ', _) if !quoted => words.push(String::new()),
                (other, Some(word)) => word.push(other),
                _ => {}
            }
        }
        words.retain(|word| !word.is_empty());
        (words.first().map(String::as_str) == Some("warmset") && !line.contains('$'))
            .then_some(words)
    }

    /// The commands in the documentation are understood.
    #[test]
    fn every_command_in_the_documentation_is_understood() {
        let both = both();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut count = 0;
        for page in [
            "README.md",
            "docs/guide/desktop.md",
            "docs/guide/server.md",
            "docs/guide/top.md",
            "docs/guide/researcher.md",
            "docs/guide/kernel.md",
            "docs/guide/own-kernel.md",
            "docs/guide/packager.md",
            "docs/fleet.md",
            "docs/reference/formats.md",
            "docs/releasing.md",
            "docs/sweeps.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
        ] {
            let text = std::fs::read_to_string(root.join(page)).unwrap();
            let blocks = text
                .split("```sh\n")
                .skip(1)
                .filter_map(|rest| rest.split("```").next())
                .flat_map(str::lines);
            // In running text a command stands between single marks, often by its name alone.
            let inline = text
                .lines()
                .flat_map(|line| line.split('`').skip(1).step_by(2));
            for words in blocks.chain(inline).filter_map(words) {
                if let Err(error) = both.clone().try_get_matches_from(&words) {
                    use clap::error::ErrorKind::{
                        DisplayHelpOnMissingArgumentOrSubcommand as Bare, MissingRequiredArgument,
                    };
                    let is_name =
                        words.len() == 1 || matches!(error.kind(), Bare | MissingRequiredArgument);
                    assert!(is_name, "{page}: {}: {error}", words.join(" "));
                }
                count += 1;
            }
        }
        assert!(count > 40, "{count} commands in the documentation");
    }

    #[test]
    fn every_subcommand_has_examples_that_are_understood() {
        let both = both();
        let all = || EXAMPLES.iter().chain(warmset_tools::examples());
        for subcommand in both.get_subcommands() {
            let name = subcommand.get_name();
            if name == "help" {
                continue;
            }
            let Some((_, examples)) = all().find(|(of, _)| *of == name) else {
                panic!("{name} has no example")
            };
            assert!(!examples.is_empty(), "{name}");
            for line in examples.iter().flat_map(|(line, _)| line.split(" | ")) {
                let line = line
                    .trim_start_matches("sudo ")
                    .split(" > ")
                    .next()
                    .unwrap_or(line);
                if line.starts_with("warmset ") {
                    both.clone()
                        .try_get_matches_from(line.split(' '))
                        .unwrap_or_else(|error| panic!("{line}: {error}"));
                }
            }
        }
        assert!(all().all(|(name, _)| both.find_subcommand(name).is_some()));
    }
}
