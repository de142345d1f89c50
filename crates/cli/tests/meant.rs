//! "did you mean": our own suggestions are those of clap.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use place::Place;

/// What clap suggests for a word where these are known.
fn of_clap(known: &[&'static str], word: &str) -> Option<String> {
    let values = PossibleValuesParser::new(known.to_vec());
    let command = Command::new("x").arg(Arg::new("value").value_parser(values));
    let error = command.try_get_matches_from(["x", word]).unwrap_err();
    match error.get(ContextKind::SuggestedValue)? {
        ContextValue::String(suggested) => Some(suggested.clone()),
        other => panic!("{other:?}"),
    }
}

/// The word that a message suggests.
fn suggested(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("did you mean ")?;
    let (word, _) = rest.split_once('?')?;
    Some(word.trim_matches('\'').to_owned())
}

#[test]
fn policies_are_suggested_as_clap_would() {
    let place = Place::new();
    let made = place.warmset(&["synth", "zipf:pages=20", "-n", "200", "-o", "a.parquet"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let known: Vec<&str> = workingset::POLICIES.iter().map(|spec| spec.name).collect();
    let mut found = 0;
    for word in [
        "lruu", "siev", "seive", "s3fifoo", "clok", "nonsense", "x", "optimal",
    ] {
        let said = place.warmset(&["simulate", "a.parquet", "--policy", word]);
        assert_eq!(said.code, Some(1), "{word}: {said:?}");
        let expected = of_clap(&known, word);
        assert_eq!(suggested(&said.err), expected, "{word}: {}", said.err);
        found += usize::from(expected.is_some());
    }
    assert!(found > 3, "{found} words have a suggestion");
}

#[test]
fn keys_are_suggested_as_clap_would() {
    let place = Place::new();
    for word in ["gurad", "protekt", "zzz"] {
        let file = place.write("x.toml", format!("[{word}]\n"));
        let said = place.warmset(&["check", file.to_str().unwrap()]);
        let listed: Vec<&'static str> = said
            .err
            .split('`')
            .skip(3)
            .step_by(2)
            .map(|name| &*name.to_owned().leak())
            .collect();
        assert!(listed.len() > 5, "{}", said.err);
        assert_eq!(suggested(&said.err), of_clap(&listed, word), "{}", said.err);
    }
}
