//! The packaged configuration is valid, has every key, and shows each default.

use pressure::config::{Config, Mode};

const PACKAGED: &str = include_str!("../../../packaging/warmset.toml");
/// The first line of the last block, which is an example and not a default.
const EXAMPLE: &str = "#[[tunable]]";

/// The text without the "#" before each key. Keys without a default stay comments.
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
fn as_packaged_it_protects() {
    let config = Config::parse("warmset.toml", PACKAGED).unwrap();
    assert_eq!(config.mode, Mode::Protect);
    assert_eq!(config, Config::default());
}

#[test]
fn without_its_comment_marks_it_is_the_defaults() {
    let (defaults, _) = PACKAGED.split_once(EXAMPLE).unwrap();
    let config = Config::parse("warmset.toml", &unmarked(defaults)).unwrap();
    assert_eq!(config, Config::default());
}

#[test]
fn the_example_of_a_tunable_is_valid() {
    let config = Config::parse("warmset.toml", &unmarked(PACKAGED)).unwrap();
    assert_eq!(config.tunables.len(), 1);
}

#[test]
fn every_key_is_in_the_file() {
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
fn every_key_has_its_own_line() {
    // A default that is left out would parse as the same configuration: so the lines are counted.
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
        "three lines belong to the example of a tunable"
    );
}
