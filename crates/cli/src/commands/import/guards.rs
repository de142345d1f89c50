//! Configuration of other guards, understood: earlyoom, nohang, systemd-oomd, and le9uo's sysctls.
//!
//! Those guards choose by thresholds of free memory and by names that processes give themselves.
//! Here headroom and growth choose, and names count only for programs that are root's. So
//! thresholds become `term-room` and `kill-room`, names become `program:` rules, and everything
//! that has no counterpart is said.

use pressure::config::ConfigError;
use pressure::import::{Imported, quoted};
use std::fmt::Write;

/// The guard that a file configures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// `/etc/default/earlyoom`.
    Earlyoom,
    /// `/etc/nohang/nohang.conf`.
    Nohang,
    /// `/etc/systemd/oomd.conf`.
    SystemdOomd,
    /// A sysctl file with le9uo's ratios.
    Le9uo,
}

/// Translates `text`. What is returned is always a valid configuration.
pub(super) fn peer(program: Peer, text: &str) -> Result<Imported, ConfigError> {
    let mut import = Import::default();
    let name = match program {
        Peer::Earlyoom => "earlyoom",
        Peer::Nohang => "nohang",
        Peer::SystemdOomd => "systemd-oomd",
        Peer::Le9uo => "le9uo",
    };
    match program {
        Peer::Earlyoom => import.earlyoom(text),
        Peer::Nohang => import.keys(text, Import::nohang),
        Peer::SystemdOomd => import.systemd_oomd(text),
        Peer::Le9uo => import.keys(text, Import::le9uo),
    }
    if !import.left_out.is_empty() {
        let left_out = import.left_out.join(", ");
        import.note(format!(
            "left out, as there is nothing like it here: {left_out}"
        ));
    }
    if program != Peer::Le9uo {
        import.note(format!(
            "stop {name} before warmsetd guards: beside another guard it kills nothing"
        ));
    }
    Imported::checked(name, import.toml(name), import.notes)
}

#[derive(Default)]
struct Import {
    /// Mode instead of `guard`.
    mode: Option<&'static str>,
    /// Files that thrash are held in memory.
    protects: bool,
    /// Shares, in hundredths of a per cent.
    term_room: Option<u64>,
    kill_room: Option<u64>,
    cache_most: Option<u64>,
    spare: Vec<String>,
    avoid: Vec<String>,
    prefer: Vec<String>,
    /// Settings without a counterpart.
    left_out: Vec<String>,
    notes: Vec<String>,
}

impl Import {
    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The arguments in `EARLYOOM_ARGS`.
    fn earlyoom(&mut self, text: &str) {
        let assigned = |line: &'_ str| {
            line.trim()
                .strip_prefix("EARLYOOM_ARGS=")
                .map(str::to_owned)
        };
        let Some(arguments) = text.lines().filter_map(assigned).next_back() else {
            self.note(
                "there is no EARLYOOM_ARGS: the defaults here are taken, not its 10 % and 5 %",
            );
            return;
        };
        let mut words = words(&unquoted(&arguments)).into_iter().peekable();
        while let Some(word) = words.next() {
            let (option, joined) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => {
                    (option.to_owned(), Some(value.to_owned()))
                }
                _ => (word, None),
            };
            let takes_value = matches!(
                option.as_str(),
                "-m" | "-s"
                    | "-M"
                    | "-S"
                    | "-r"
                    | "-N"
                    | "-P"
                    | "--prefer"
                    | "--avoid"
                    | "--ignore"
                    | "--syslog"
            );
            let value = if takes_value {
                joined.or_else(|| words.next()).unwrap_or_default()
            } else {
                String::new()
            };
            self.earlyoom_option(&option, &value);
        }
        if self.term_room.is_none() {
            self.note(
                "no -m: the headroom that is measured here decides, not its 10 % and 5 % (term-room, kill-room)",
            );
        }
    }

    fn earlyoom_option(&mut self, option: &str, value: &str) {
        match option {
            "-m" => self.rooms(value),
            "-s" => self.note("-s: free swap counts as headroom here, with its own cost; there is no threshold for it"),
            "-M" | "-S" => self.note(format!("{option} {}: give it as a share of memory, term-room", quoted(value))),
            "--avoid" => self.rule(value, |import| &mut import.avoid),
            "--prefer" => self.rule(value, |import| &mut import.prefer),
            "--ignore" => self.rule(value, |import| &mut import.spare),
            "--dryrun" => self.mode = Some("observe"),
            "-g" => self.note("-g: a unit of its own is killed whole where no process stands out in it; there is no switch"),
            "-n" => self.note("-n: each user may have notices: systemctl --user enable --now warmset-notice"),
            "-N" => self.hook(option, value, "ended"),
            "-P" => self.hook(option, value, "warn"),
            "--ignore-root-user" => self.note("--ignore-root-user: name what root runs in guard.spare"),
            "-p" | "-r" | "-d" | "-v" | "-k" | "-i" | "--sort-by-rss" | "--syslog" => {}
            _ => self.note(format!("{} is left out", quoted(option))),
        }
    }

    /// A program that the guard starts. Ours get other variables than it gave them.
    fn hook(&mut self, option: &str, value: &str, event: &str) {
        self.note(format!(
            "{option} {}: a program of root's alone may be {event} = \"…\" in [hooks]; what it is told is in \
             warmset.toml(5)",
            quoted(value)
        ));
    }

    /// `PERCENT[,KILL_PERCENT]`; without the second it is half of the first.
    fn rooms(&mut self, value: &str) {
        let (term, kill) = value
            .split_once(',')
            .map_or((value, None), |(term, kill)| (term, Some(kill)));
        let Some(term) = hundredths(term) else {
            self.note(format!("-m {}: no share", quoted(value)));
            return;
        };
        self.term_room = Some(term);
        self.kill_room = Some(kill.and_then(hundredths).unwrap_or(term / 2));
    }

    /// The names in `^(a|b)$` or `(^|/)(a|b)$`, the usual patterns.
    fn rule(&mut self, pattern: &str, list: fn(&mut Self) -> &mut Vec<String>) {
        let Some(names) = names(pattern) else {
            self.note(format!(
                "{} is more than a list of names: name units or programs",
                quoted(pattern)
            ));
            return;
        };
        list(self).extend(names.iter().map(|name| format!("program:{name}")));
        self.note(format!(
            "{}: only programs whose file is root's are known by name here",
            quoted(pattern)
        ));
    }

    /// Lines `key = value`, and lines that begin with `@` whole.
    fn keys(&mut self, text: &str, take: fn(&mut Self, &str, &str)) {
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            match line.split_once('=') {
                Some((key, value)) if !line.starts_with('@') => {
                    take(self, key.trim(), value.trim());
                }
                _ => take(self, line, ""),
            }
        }
    }

    fn nohang(&mut self, key: &str, value: &str) {
        match key {
            "soft_threshold_min_mem" => self.term_room = hundredths(value),
            "hard_threshold_min_mem" => self.kill_room = hundredths(value),
            _ if key.starts_with("@BADNESS_ADJ_RE_NAME") => {
                let rule = key.trim_start_matches("@BADNESS_ADJ_RE_NAME").trim();
                let (points, pattern) = rule.split_once("///").unwrap_or((rule, ""));
                let pattern = pattern.trim();
                if points.trim().starts_with('-') {
                    self.rule(pattern, |import| &mut import.avoid);
                } else {
                    self.rule(pattern, |import| &mut import.prefer);
                }
            }
            "post_kill_exe" | "warning_exe" if value.is_empty() => {}
            "post_kill_exe" => self.hook(key, value, "ended"),
            "warning_exe" => self.hook(key, value, "warn"),
            _ => self.left_out.push(quoted(key)),
        }
    }

    fn systemd_oomd(&mut self, text: &str) {
        let has = |key: &str| text.lines().any(|line| line.trim().starts_with(key));
        self.note("ManagedOOMPreference= of units is honoured as it is");
        if has("DefaultMemoryPressureLimit") {
            self.note(
                "DefaultMemoryPressureLimit: pressure alone kills nothing here; headroom and growth decide",
            );
        }
        if has("SwapUsedLimit") {
            self.note("SwapUsedLimit: free swap counts as headroom here, with its own cost");
        }
    }

    fn le9uo(&mut self, key: &str, value: &str) {
        match key.trim_start_matches('-').replace('/', ".").as_str() {
            "vm.clean_min_ratio" => {
                self.protect();
                self.cache_most = hundredths(value).map(|share| share.clamp(500, 9000));
            }
            "vm.clean_low_ratio" | "vm.anon_min_ratio" | "vm.workingset_protection" => {
                self.protect();
                self.note(format!(
                    "{key}: on a kernel that has it, the mode protect drives it by what it measures"
                ));
            }
            _ => {}
        }
    }

    /// What le9uo is for: files in use stay in memory, on any kernel.
    fn protect(&mut self) {
        self.mode = Some("protect");
        self.protects = true;
    }

    fn toml(&self, name: &str) -> String {
        let mode = self.mode.unwrap_or("guard");
        let mut toml = format!("# Taken over from {name}.\nmode = \"{mode}\"\n\n[guard]\n");
        let shares = [
            ("term-room", self.term_room),
            ("kill-room", self.kill_room),
            ("cache-most", self.cache_most),
        ];
        for (key, share) in shares {
            let Some(share) = share else { continue };
            // The configuration takes no share above 90 %.
            let share = share.min(9000);
            let _ = writeln!(toml, "{key} = \"{}.{:02} %\"", share / 100, share % 100);
        }
        for (key, rules) in [
            ("spare", &self.spare),
            ("avoid", &self.avoid),
            ("prefer", &self.prefer),
        ] {
            if !rules.is_empty() {
                // Names are plain letters, so quotes are all they need.
                let rules: Vec<String> = rules.iter().map(|rule| format!("\"{rule}\"")).collect();
                let _ = writeln!(toml, "{key} = [{}]", rules.join(", "));
            }
        }
        if self.protects {
            toml += "\n[protect]\nenabled = true\n";
        }
        toml
    }
}

/// `5`, `5.5`, `5 %`, in hundredths of a per cent.
fn hundredths(text: &str) -> Option<u64> {
    let number = text.trim().trim_end_matches('%').trim();
    let share: f64 = number.parse().ok()?;
    if (0.0..=100.0).contains(&share) {
        Some((share * 100.0) as u64)
    } else {
        None
    }
}

/// The names of a pattern that is nothing but a list of them.
fn names(pattern: &str) -> Option<Vec<&str>> {
    let inner = pattern.strip_suffix('$').unwrap_or(pattern);
    let inner = inner
        .strip_prefix("(^|/)")
        .or_else(|| inner.strip_prefix('^'))
        .unwrap_or(inner);
    let inner = inner
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .unwrap_or(inner);
    let names: Vec<&str> = inner.split('|').collect();
    if names.iter().all(|name| is_plain(name)) {
        Some(names)
    } else {
        None
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_+.@ ".contains(letter);
    !name.is_empty() && name.chars().all(is_plain)
}

/// Without the quotes around the whole.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let quote = text
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''));
    let inner = quote.and_then(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    inner.unwrap_or(text).to_owned()
}

/// Words as a service manager splits them: at spaces, but for what is in quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for letter in text.chars() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            (' ' | '\t', None) => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use pressure::config::{Config, Mode};
    use proptest::prelude::*;

    fn imported(program: Peer, text: &str) -> (String, String) {
        let Imported { toml, notes } = peer(program, text).unwrap();
        (toml, notes.join("\n"))
    }

    #[test]
    fn earlyooms_arguments_become_rooms_and_rules() {
        let text = "# theirs\nEARLYOOM_ARGS=\"-r 3600 -m 4,2 -s 10 -n -g --avoid '(^|/)(init|Xorg|ssh)$' --prefer='^(java|chrome)$' --ignore '^x.*y$'\"\n";
        let (toml, notes) = imported(Peer::Earlyoom, text);
        expect_test::expect![[r#"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "4.00 %"
            kill-room = "2.00 %"
            avoid = ["program:init", "program:Xorg", "program:ssh"]
            prefer = ["program:java", "program:chrome"]
        "#]]
        .assert_eq(&toml);
        expect_test::expect![[r#"
            -s: free swap counts as headroom here, with its own cost; there is no threshold for it
            -n: each user may have notices: systemctl --user enable --now warmset-notice
            -g: a unit of its own is killed whole where no process stands out in it; there is no switch
            "(^|/)(init|Xorg|ssh)$": only programs whose file is root's are known by name here
            "^(java|chrome)$": only programs whose file is root's are known by name here
            "^x.*y$" is more than a list of names: name units or programs
            stop earlyoom before warmsetd guards: beside another guard it kills nothing"#]]
        .assert_eq(&notes);
        assert_eq!(
            Config::parse("x", &imported(Peer::Earlyoom, "EARLYOOM_ARGS=--dryrun").0)
                .unwrap()
                .mode,
            Mode::Observe
        );
        for text in ["EARLYOOM_ARGS=-g", "# nothing"] {
            assert!(
                imported(Peer::Earlyoom, text)
                    .1
                    .contains("not its 10 % and 5 %"),
                "{text}"
            );
        }
    }

    #[test]
    fn nohang_systemd_oomd_and_le9uo_are_understood() {
        let nohang = "soft_threshold_min_mem = 5 %\nhard_threshold_min_mem=2.5%\n@BADNESS_ADJ_RE_NAME -500 /// ^(sshd|Xorg)$\n";
        assert!(
            imported(Peer::Nohang, nohang)
                .0
                .contains("kill-room = \"2.50 %\"\navoid = [\"program:sshd\", \"program:Xorg\"]")
        );
        assert!(
            imported(Peer::SystemdOomd, "[OOM]\nSwapUsedLimit=80%\n")
                .1
                .contains("SwapUsedLimit")
        );
        let said = imported(
            Peer::Nohang,
            "zram_checking_enabled = True\npost_kill_exe = /usr/bin/x $PID\nwarning_exe =\n",
        )
        .1;
        assert!(
            said.contains("nothing like it here: \"zram_checking_enabled\"\n"),
            "{said}"
        );
        assert!(
            said.contains("post_kill_exe \"/usr/bin/x $PID\": a program of root's")
                && !said.contains("warn = ")
        );
        let (toml, notes) = imported(Peer::Le9uo, "vm.clean_min_ratio = 12\nvm/anon_min_ratio=15");
        expect_test::expect![[r#"
            # Taken over from le9uo.
            mode = "protect"

            [guard]
            cache-most = "12.00 %"

            [protect]
            enabled = true
        "#]]
        .assert_eq(&toml);
        assert!(
            notes.contains("vm/anon_min_ratio: on a kernel") && !notes.contains("stop le9uo"),
            "{notes}"
        );
        assert!(
            imported(Peer::Le9uo, "kernel.x = 1")
                .0
                .contains("mode = \"guard\""),
            "nothing of it is set"
        );
    }

    proptest! {
        #[test]
        fn whatever_the_file_says_the_result_is_valid(
            text in "((EARLYOOM_ARGS=|-m |--avoid |soft_threshold_min_mem=|vm.clean_min_ratio=|@BADNESS_ADJ_RE_NAME )?.{0,30}\n){0,6}",
        ) {
            for program in [Peer::Earlyoom, Peer::Nohang, Peer::SystemdOomd, Peer::Le9uo] {
                let imported = peer(program, &text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(Config::parse("x", &imported.toml).is_ok());
            }
        }
    }
}
