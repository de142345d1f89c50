//! From how little memory another guard kills: as its arguments or its configuration say.

use super::ini::{Line, lines};
use pressure::config::Share;
use std::fs;
use std::path::Path;
use units::{Bytes, Percent};

/// Both earlyoom and nohang send SIGTERM below this share of memory if nothing else is said.
const USUAL: Share = Share::Percent(Percent::new(10));

/// The level of SIGTERM in earlyoom's arguments: `-m PERCENT[,KILL]` and `-M KIB[,KILL]`, joined or not.
///
/// With both, the lower one counts, which depends on the machine's memory; the share is taken then.
pub(super) fn earlyoom(arguments: &[String]) -> Share {
    let share = option(arguments, "-m")
        .and_then(|text| text.parse().ok())
        .filter(|share| *share <= 100)
        .map(|share| Share::Percent(Percent::new(share)));
    let size = option(arguments, "-M")
        .and_then(|text| text.parse().ok())
        .map(|kib| Share::Bytes(Bytes::kib(kib)));
    share.or(size).unwrap_or(USUAL)
}

/// The first number of an option's value, which stands in the next argument or joined to the option.
fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let mut found = None;
    for (index, word) in arguments.iter().enumerate() {
        let joined = word.strip_prefix(name);
        let value = match joined {
            Some("") => arguments.get(index + 1).map(String::as_str),
            other => other,
        };
        // The last one counts, as with getopt.
        found = value.or(found);
    }
    found?.split(',').next().map(str::trim)
}

/// The level of SIGTERM in the configuration that nohang was started with.
pub(super) fn nohang(root: &Path, arguments: &[String]) -> Share {
    let file = value_of(arguments, &["--config", "-c"]).unwrap_or("/etc/nohang/nohang.conf");
    let text = fs::read_to_string(root.join(file.trim_start_matches('/'))).unwrap_or_default();
    // An indented line is a comment to nohang.
    let settings = text.lines().filter(|line| !line.starts_with([' ', '\t']));
    let text = settings.collect::<Vec<_>>().join("\n");
    for line in lines(&text) {
        if let Line::Setting("soft_threshold_min_mem", value) = line {
            return amount(value).unwrap_or(USUAL);
        }
    }
    USUAL
}

/// `10 %` or `500 M`, as nohang writes amounts.
fn amount(text: &str) -> Option<Share> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let number: f64 = number.parse().ok()?;
    match unit.trim() {
        "%" if number <= 100.0 => {
            Some(Share::Percent(Percent::hundredths((number * 100.0) as u64)))
        }
        "M" => Some(Share::Bytes(Bytes::kib((number * 1024.0) as u64))),
        _ => None,
    }
}

/// The value of the first of these options, in the next argument or after `=`.
pub(super) fn value_of<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    for (index, word) in arguments.iter().enumerate() {
        if names.contains(&word.as_str()) {
            return arguments.get(index + 1).map(String::as_str);
        }
        for name in names {
            let joined = word
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('='));
            if joined.is_some() {
                return joined;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::rivals::tests::machine;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn earlyooms_level_is_read_in_all_spellings() {
        let share = |percent| Share::Percent(Percent::new(percent));
        assert_eq!(earlyoom(&words("earlyoom -m 15,5 -s 10")), share(15));
        assert_eq!(earlyoom(&words("earlyoom -m5,2")), share(5));
        assert_eq!(earlyoom(&words("earlyoom -m 5 -m 7")), share(7));
        assert_eq!(earlyoom(&words("earlyoom -r 60")), share(10));
        assert_eq!(earlyoom(&words("earlyoom -m 500")), share(10));
        let size = Share::Bytes(Bytes::mib(400));
        assert_eq!(earlyoom(&words("earlyoom -M 409600,204800")), size);
    }

    #[test]
    fn nohangs_level_is_in_the_file_that_it_was_started_with() {
        let dir = machine(&[
            (
                "etc/nohang/nohang-desktop.conf",
                "   soft_threshold_min_mem = 1 %\nsoft_threshold_min_mem    = 500 M\n",
            ),
            (
                "etc/nohang/nohang.conf",
                "soft_threshold_min_mem    = 5.5 %\n",
            ),
        ]);
        let desktop = words("nohang --monitor --config /etc/nohang/nohang-desktop.conf");
        assert_eq!(nohang(dir.path(), &desktop), Share::Bytes(Bytes::mib(500)));
        let usual = words("nohang --monitor");
        assert_eq!(
            nohang(dir.path(), &usual),
            Share::Percent(Percent::hundredths(550))
        );
        let gone = words("nohang -m -c /etc/gone");
        assert_eq!(nohang(dir.path(), &gone), USUAL);
    }
}
