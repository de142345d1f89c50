//! The format: what is refused, and in which words.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use situations::{Situation, Verdict, judge, run};
use std::path::Path;

const HOG: &str = r#"
kind = "test"
title = "a hog"
source = "none"
runs = "30 s"

[machine]
memory = "2 GiB"
cache = { size = "400 MiB", in-use = "100 MiB", touches = "50 MiB/s" }

[[program]]
name = "hog"
file = "/home/u/hog"
starts = "1 s"
grows = "150 MiB/s"

[[program]]
name = "innocent"
has = "200 MiB"

[right]
acts = [{ do = "end", whom = "hog", by = "20 s" }]
lives = ["innocent"]
"#;

fn error_of(text: &str) -> String {
    Situation::parse("a.toml", text).unwrap_err().to_string()
}

#[test]
fn errors_name_the_file_the_line_and_what_is_wrong() {
    let unknown =
        error_of(&HOG.replace("memory = \"2 GiB\"", "memory = \"2 GiB\"\ncolour = \"red\""));
    assert!(unknown.contains("a.toml"), "{unknown}");
    assert!(unknown.contains("line 9"), "{unknown}");
    assert!(unknown.contains("unknown field `colour`"), "{unknown}");
    for (from, to, says) in [
        ("\"2 GiB\"", "\"2 bananas\"", "is not a size with its unit"),
        ("\"150 MiB/s\"", "\"150 MiB\"", "is not an amount a second"),
        (
            "whom = \"hog\"",
            "whom = \"hgo\"",
            "\"hgo\", which is no program",
        ),
        (
            "grows =",
            "parent = \"sh\"\ngrows =",
            "has the parent \"sh\", which is no program",
        ),
        (
            "acts = [",
            "nobody = true\nacts = [",
            "says nobody and somebody",
        ),
        (
            "[right]",
            "[config]\nterm-room = \"many\"\n\n[right]",
            "[config]",
        ),
        (
            "starts = \"1 s\"",
            "starts = \"1 s\"\nhas = \"1 GiB\"",
            "let it grow",
        ),
        (
            "starts = \"1 s\"",
            "later = [\"jump\"]",
            "is not \"wait 5 s\"",
        ),
        (
            "starts = \"1 s\"",
            "later = [\"repeat\"]\nmemory = \"tmpfs\"",
            "say its `mount`",
        ),
    ] {
        assert!(HOG.contains(from), "{from}");
        let error = error_of(&HOG.replacen(from, to, 1));
        assert!(error.contains(says), "{to}: {error}");
    }
}

#[test]
fn what_is_deliberately_wrong_is_found_wrong() {
    let verdict = |text: &str| {
        let situation = Situation::parse("a.toml", text).unwrap();
        judge(&situation, &run(&situation).unwrap())
    };
    assert_eq!(verdict(HOG), Verdict::Right);
    let acts = "acts = [{ do = \"end\", whom = \"hog\", by = \"20 s\" }]";
    for (right, says) in [
        ("nobody = true", "hog"),
        (
            "acts = [{ do = \"end\", whom = \"innocent\", by = \"20 s\" }]\nmay = [\"hog\"]",
            "no end of innocent",
        ),
        (
            "acts = [{ do = \"throttle\", whom = \"hog\", by = \"20 s\" }]\nmay = [\"hog\"]",
            "no throttle",
        ),
        (
            "acts = [{ do = \"end\", whom = \"hog\", by = \"29 s\", not-before = \"28 s\" }]",
            "before 28 s",
        ),
        (
            "nobody = true\nmay = [\"hog\"]\nnotice = \"unheard-of\"",
            "not a word",
        ),
        ("nobody = true\nmay = [\"hog\"]\nquiet = true", "said"),
        (
            "nobody = true\nmay = [\"hog\"]\nsignalled-at-most = 0",
            "0 at most",
        ),
        (
            "nobody = true\nmay = [\"hog\"]\nreaches = [{ whom = \"hog\", size = \"9 GiB\", by = \"9 s\" }]",
            "never reaches",
        ),
    ] {
        let text = HOG
            .replace(acts, right)
            .replace("lives = [\"innocent\"]\n", "");
        let Verdict::Wrong(why) = verdict(&text) else {
            panic!("{right} is not found wrong");
        };
        assert!(why.iter().any(|one| one.contains(says)), "{right}: {why:?}");
    }
    let late = HOG.replace("by = \"20 s\"", "by = \"2 s\"");
    assert!(matches!(verdict(&late), Verdict::Late(_)));
}

#[test]
fn the_example_of_the_page_can_be_read() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../situations/README.md");
    let text = std::fs::read_to_string(page).unwrap();
    let example = text.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let situation = Situation::parse("README.md", example).unwrap();
    assert_eq!(situation.programs.len(), 1);
}
