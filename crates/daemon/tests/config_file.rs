//! The packaged configuration is a true account: it is valid, and every key in it shows its default.

use pressure::config::{Config, Mode};

const PACKAGED: &str = include_str!("../../../packaging/warmset.toml");
/// What opens the last block, which is an example and no default.
const EXAMPLE: &str = "#[[tunable]]";

/// The file with the mark before each key removed; keys without a default stay away.
fn unmarked(text: &str) -> String {
    let is_key = |line: &str| {
        let name = line
            .split([' ', '=', '[', ']'])
            .find(|word| !word.is_empty())
            .unwrap_or_default();
        let looks_so = !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-');
        looks_so && !line.starts_with(' ') && (line.contains(" = ") || line.starts_with('['))
    };
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.strip_prefix('#') {
            Some(rest) if is_key(rest) && !rest.contains("= unset") => lines.push(rest),
            _ => lines.push(line),
        }
    }
    lines.join("\n")
}

fn keys(config: &Config) -> Vec<String> {
    let serde_json::Value::Object(top) =
        serde_json::to_value(config).expect("a configuration is JSON")
    else {
        panic!("not a table")
    };
    let mut names = Vec::new();
    for (name, value) in top {
        match value {
            serde_json::Value::Object(section) => {
                names.extend(section.into_iter().map(|(key, _)| key));
            }
            _ => names.push(name),
        }
    }
    names
}

#[test]
fn as_packaged_it_tunes_and_ends_nobody() {
    let config = Config::parse("warmset.toml", PACKAGED).unwrap();
    assert_eq!(
        config,
        Config {
            mode: Mode::Tune,
            ..Config::default()
        }
    );
}

#[test]
fn with_its_marks_removed_it_is_the_defaults() {
    let (defaults, _) = PACKAGED.split_once(EXAMPLE).unwrap();
    let config = Config::parse("warmset.toml", &unmarked(defaults)).unwrap();
    assert_eq!(
        config,
        Config {
            mode: Mode::Tune,
            ..Config::default()
        }
    );
}

#[test]
fn the_example_of_a_tunable_is_valid() {
    let config = Config::parse("warmset.toml", &unmarked(PACKAGED)).unwrap();
    assert_eq!(config.tunables.len(), 1);
}

#[test]
fn every_key_is_explained() {
    for key in keys(&Config::default()) {
        let shown = |line: &str| {
            line.trim_start_matches('#')
                .trim_start_matches('[')
                .starts_with(&key)
        };
        assert!(
            PACKAGED.lines().any(shown),
            "{key} is missing from packaging/warmset.toml"
        );
    }
}

#[test]
fn every_default_is_shown_not_only_its_key() {
    // What is parsed from the unmarked text carries each key: leaving one line out must be seen above.
    let shown = unmarked(PACKAGED);
    let count = shown
        .lines()
        .filter(|line| !line.starts_with('#') && line.contains(" = "))
        .count();
    let unset = PACKAGED
        .lines()
        .filter(|line| line.contains("= unset"))
        .count();
    assert_eq!(
        count - 3 + unset,
        keys(&Config::default()).len() - 1,
        "three lines are of the tunable's example"
    );
}
