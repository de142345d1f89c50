//! What a real bash completes, by the completions that the package installs.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![allow(dead_code, reason = "the examples' own parts are used by the examples")]

#[path = "../examples/pages/values.rs"]
mod values;

mod place;

use clap_complete::Shell;
use place::Place;
use std::process::Command;
use values::{values_of, whole_command, with_values};
use workingset::objects::ObjectChoice;
use workingset::policy::Choice;

/// A shell that has read the completions.
struct Bash {
    place: Place,
}

impl Bash {
    fn new() -> Self {
        let place = Place::new();
        let mut text = Vec::new();
        let mut command = with_values(whole_command());
        clap_complete::generate(Shell::Bash, &mut command, "warmset", &mut text);
        place.write("completions", text);
        Self { place }
    }

    /// What bash offers for the last word of a line, sorted.
    fn completes(&self, line: &str) -> Vec<String> {
        let script = r#"
            source "$1"
            # How words are shown; bash has it while a person waits for a completion only.
            compopt() { :; }
            read -ra COMP_WORDS <<<"$2"
            # A line that ends with a blank has an empty last word.
            case $2 in *" ") COMP_WORDS+=("") ;; esac
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _warmset warmset "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        let output = Command::new("bash")
            .args(["--norc", "-c", script, "bash"])
            .arg(self.place.path("completions"))
            .arg(line)
            .current_dir(self.place.path(""))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(error, "", "{line}");
        let text = String::from_utf8(output.stdout).unwrap();
        let mut words: Vec<String> = text.lines().map(str::to_owned).collect();
        words.sort();
        words
    }
}

#[test]
fn bash_completes_policies_formats_modes_and_files() {
    let bash = Bash::new();
    assert_eq!(
        bash.completes("warmset simulate --policy lr"),
        ["lru", "lru-k"]
    );
    assert_eq!(bash.completes("warmset convert --to pa"), ["parquet"]);
    assert_eq!(bash.completes("warmset mode pro"), ["protect"]);
    assert_eq!(
        bash.completes("warmset top --every 1"),
        ["100ms", "10s", "1h", "1min", "1s"]
    );
    bash.place.write("incident.rec.gz", "");
    assert_eq!(
        bash.completes("warmset why --recording inc"),
        ["incident.rec.gz"]
    );
}

#[test]
fn what_is_completed_is_understood() {
    let place = Place::new();
    let made = place.warmset(&["synth", "zipf:pages=20", "-n", "200", "-o", "a.parquet"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let list = |option, value| {
        let values: Vec<&str> = values_of(option, value)
            .iter()
            .map(|(name, _)| *name)
            .collect();
        assert!(values.len() > 1, "{option} {value}");
        values
    };
    let managers = list("policy", "MANAGER").join(",");
    let together = place.warmset(&[
        "together",
        "a.parquet",
        "--with",
        "a.parquet",
        "-m",
        "50%",
        "-p",
        &managers,
    ]);
    assert_eq!(together.code, Some(0), "{together:?}");
    let sizes = list("capacities", "SIZE").join(",");
    let known = list("policies", "POLICY");
    let is_of_objects = |name: &&str| ObjectChoice::parse(name).is_ok();
    let (of_pages, others): (Vec<&str>, Vec<&str>) =
        known.iter().partition(|name| Choice::parse(name).is_ok());
    assert!(
        others
            .iter()
            .all(|name| is_of_objects(name) || *name == "all"),
        "{others:?}"
    );
    for policies in ["all", &of_pages.join(",")] {
        let args = [
            "simulate",
            "a.parquet",
            "--policy",
            policies,
            "--capacity",
            &sizes,
        ];
        let simulated = place.warmset(&args);
        assert_eq!(simulated.code, Some(0), "{simulated:?}");
    }
    for kind in list("kinds", "KIND") {
        let synth = place.warmset(&["synth", kind, "-n", "10", "-o", "-", "--to", "plain"]);
        assert_eq!(synth.code, Some(0), "{kind}: {synth:?}");
    }
    for format in list("to", "FORMAT") {
        let converted = place.warmset(&["convert", "a.parquet", "out", "--to", format, "--force"]);
        assert_eq!(converted.code, Some(0), "{format}: {converted:?}");
    }
    for format in list("format", "FORMAT") {
        assert!(traces::Format::named(format).is_ok(), "{format}");
    }
    for size in list("page_size", "SIZE") {
        let analyzed = place.warmset(&["simulate", "a.parquet", "--page-size", size]);
        assert_eq!(analyzed.code, Some(0), "{size}: {analyzed:?}");
    }
    for span in list("every", "SPAN") {
        assert!(span.parse::<units::Span>().is_ok(), "{span}");
    }
    for arm in list("compare", "ARMS") {
        assert!(arm.parse::<pressure::replay::Arm>().is_ok(), "{arm}");
    }
    for unit in list("identity", "IDENTITY") {
        assert!(pressure::config::is_protected(unit), "{unit}");
    }
}
