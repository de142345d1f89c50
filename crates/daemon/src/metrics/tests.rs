#![allow(
    clippy::large_stack_arrays,
    reason = "some samples beside each other, in a test"
)]

mod sketch;

use super::*;
use crate::testing::status as bare;
use expect_test::expect_file;
use sketch::busy;
use std::collections::HashSet;

fn text(status: &Status, dialect: Dialect) -> String {
    let mut out = String::new();
    exposition(status, dialect, &mut out);
    out
}

#[test]
fn a_busy_guard_is_exported_as_expected_in_both_dialects() {
    expect_file!["openmetrics.expected"].assert_eq(&text(&busy(), Dialect::OpenMetrics));
    expect_file!["prometheus.expected"].assert_eq(&text(&busy(), Dialect::Prometheus));
}

#[test]
fn both_dialects_have_the_same_samples() {
    let samples = |dialect| -> Vec<String> {
        text(&busy(), dialect)
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(samples(Dialect::OpenMetrics), samples(Dialect::Prometheus));
}

#[test]
fn an_unknown_value_has_no_line() {
    let text = text(&bare(), Dialect::OpenMetrics);
    for unknown in [
        "knob",
        "demand_",
        "gap",
        "exhaustion",
        "memory_",
        "swap_",
        "zone_",
        "pressure_stall",
        "recent_steps",
    ] {
        assert!(
            !text.contains(&format!("warmset_{unknown}")),
            "{unknown} in\n{text}"
        );
    }
    assert!(
        text.contains("\nwarmset_samples_total 7\n"),
        "a count of nothing is known:\n{text}"
    );
}

#[test]
fn a_label_cannot_break_out_of_its_quotes() {
    let mut status = bare();
    status.facts.kernel = "6\"} 1\n\\x".into();
    let text = text(&status, Dialect::OpenMetrics);
    assert!(
        text.contains("warmset_machine_info{kernel=\"6\\\"} 1\\n\\\\x\"} 1\n"),
        "{text}"
    );
    assert_eq!(fault(&text), None);
}

#[test]
fn the_exposition_keeps_the_rules_of_openmetrics() {
    for status in [bare as fn() -> Status, busy] {
        let text = text(&status(), Dialect::OpenMetrics);
        assert_eq!(fault(&text), None, "{text}");
    }
}

#[test]
fn the_validator_finds_faults() {
    let good = "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds A.\na_seconds{b=\"c\"} 1\n# EOF\n";
    assert_eq!(fault(good), None);
    let faults = [
        ("# EOF\n", ""),
        ("a_seconds{", "b_seconds{"),
        ("} 1\n", "} 1\na_seconds{b=\"c\"} 2\n"),
        ("} 1", "} x"),
        ("gauge", "counter"),
        ("gauge", "stateset"),
        ("seconds seconds", "seconds minutes"),
        ("# EOF", "# TYPE a_seconds gauge\n# EOF"),
        ("# HELP a_seconds A.\n", ""),
        ("b=\"c\"", "b=\"c\"d\""),
        ("b=\"c\"", "0b=\"c\""),
    ];
    for (from, to) in faults {
        let bad = good.replace(from, to);
        assert!(fault(&bad).is_some(), "{bad}");
    }
}

/// The header last read.
#[derive(Default)]
struct Header<'a> {
    name: &'a str,
    kind: &'a str,
    has_help: bool,
}

/// The first line that breaks a rule of the `OpenMetrics` text format.
fn fault(text: &str) -> Option<String> {
    let Some(body) = text.strip_suffix("# EOF\n") else {
        return Some("no # EOF at the end".into());
    };
    let mut families = HashSet::new();
    let mut samples = HashSet::new();
    let mut header = Header::default();
    for line in body.lines() {
        if !keeps_rules(line, &mut header, &mut families, &mut samples) {
            return Some(line.to_owned());
        }
    }
    None
}

fn keeps_rules<'a>(
    line: &'a str,
    header: &mut Header<'a>,
    families: &mut HashSet<&'a str>,
    samples: &mut HashSet<&'a str>,
) -> bool {
    let mut words = line.splitn(4, ' ');
    let mut next = || words.next();
    match (next(), next(), next(), next()) {
        (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
            *header = Header {
                name,
                kind,
                has_help: false,
            };
            ["gauge", "counter", "info", "stateset"].contains(&kind)
                && is_name(name)
                && families.insert(name)
        }
        (Some("#"), Some("UNIT"), Some(name), Some(unit)) => {
            name == header.name && name.ends_with(&format!("_{unit}")) && !header.has_help
        }
        (Some("#"), Some("HELP"), Some(name), Some(help)) => {
            header.has_help = true;
            name == header.name && help.ends_with('.') && !help.contains(['\\', '"'])
        }
        (Some("#"), ..) => false,
        _ => is_sample(line, header, samples),
    }
}

fn is_sample<'a>(line: &'a str, header: &Header<'_>, samples: &mut HashSet<&'a str>) -> bool {
    let Some((series, value)) = line.rsplit_once(' ') else {
        return false;
    };
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, label_names(labels)),
        None => (series, Some(Vec::new())),
    };
    let Some(labels) = labels else {
        return false;
    };
    let suffix = match header.kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    let different: HashSet<_> = labels.iter().collect();
    let is_number = |number: f64| number.is_finite() && number >= 0.0;
    name.strip_suffix(suffix) == Some(header.name)
        && header.has_help
        && (header.kind != "stateset" || labels == [header.name])
        && different.len() == labels.len()
        && value.parse::<f64>().is_ok_and(is_number)
        && samples.insert(series)
}

/// The names in `a="b",c="d"}`; `None` if that is not well formed.
fn label_names(mut rest: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    loop {
        let (name, value) = rest.split_once("=\"")?;
        let mut escaped = false;
        let end = value.find(|character| {
            let ends = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        })?;
        if !is_name(name) {
            return None;
        }
        names.push(name);
        match &value[end + 1..] {
            "}" => return Some(names),
            more => rest = more.strip_prefix(',')?,
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphabetic() || character == '_';
    name.starts_with(is_letter)
        && name
            .chars()
            .all(|character| is_letter(character) || character.is_ascii_digit())
}

/// Otherwise the test below, and the expected files, would miss a name.
#[test]
fn a_busy_guard_has_a_line_of_every_family() {
    let text = text(&busy(), Dialect::OpenMetrics);
    for family in TABLES.into_iter().flatten() {
        let head = family.head;
        assert!(text.contains(&format!("# HELP {head} ")), "{head}");
    }
}

#[test]
fn every_name_in_a_dashboard_or_an_alert_is_exported() {
    let exposed = text(&busy(), Dialect::OpenMetrics);
    let exported: HashSet<&str> = exposed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split([' ', '{']).next())
        .collect();
    let packaging = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    for (file, least) in [
        ("grafana/warmset.json", 30),
        ("prometheus/warmset.rules.yml", 10),
    ] {
        let text = std::fs::read_to_string(packaging.join(file)).unwrap();
        let words =
            text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        let asked: HashSet<&str> = words.filter(|word| word.starts_with("warmset_")).collect();
        let label = |name: &&str| {
            TABLES
                .into_iter()
                .flatten()
                .any(|family| family.head.to_string() == **name && family.head.kind == Kind::States)
        };
        let unknown: Vec<_> = asked
            .iter()
            .filter(|name| !exported.contains(*name) && !label(name))
            .collect();
        assert!(
            asked.len() >= least && unknown.is_empty(),
            "{file}: {} names, not exported: {unknown:?}",
            asked.len()
        );
    }
}

/// Metrics, log and replay must use the same names.
#[test]
fn reasons_have_their_names_in_a_recording() {
    for past in &busy().past {
        for step in &past.steps {
            let recorded = serde_json::to_value(step.why).unwrap();
            assert_eq!(recorded["because"], kind(&step.why));
        }
    }
    let different: HashSet<_> = REASON_KINDS.iter().collect();
    assert_eq!(REASON_KINDS.len(), different.len());
}
