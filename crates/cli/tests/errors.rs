//! An error tells each cause once.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use place::Place;
use std::fs;
use std::path::{Path, PathBuf};

/// A part of a message that stands in it twice.
fn repeated(message: &str) -> Option<&str> {
    let parts: Vec<&str> = message.lines().next()?.split(": ").collect();
    let mut rest = parts.iter().enumerate();
    rest.find(|(index, part)| parts[..*index].contains(part))
        .map(|(_, part)| *part)
}

/// Command lines that fail, on files that are not there, are of another kind, or cannot be made.
const FAILING: &[&str] = &[
    "why --recording nowhere",
    "why --recording directory",
    "check nowhere.toml",
    "check text",
    "check directory",
    "record -o nowhere/x.rec.gz --for 100ms",
    "record --config nowhere",
    "replay nowhere",
    "replay directory",
    "replay text",
    "replay nowhere --config nowhere",
    "restore --run text",
    "import earlyoom nowhere",
    "protect 999999999",
    "spare 999999999",
    "spare user:nobody-at-all",
    "release nothing",
    "simulate nowhere",
    "simulate directory",
    "simulate text",
    "simulate text --format parquet",
    "simulate text --page-size x",
    "curve nowhere",
    "together nowhere --with nowhere",
    "together text --with text -m x",
    "convert nowhere out.parquet",
    "convert text out.parquet",
    "synth nothing",
    "synth zipf -o nowhere/x.parquet",
    "analyze nowhere",
    "analyze text",
    "analyze text --format lackey",
    "sweep plan nowhere --into out",
    "sweep plan text --into out",
    "sweep run nowhere",
    "sweep merge nowhere",
    "trace --pid 999999999",
    "trace -- nowhere",
    "report --from nowhere",
    "report --from text",
];

#[test]
fn each_cause_is_told_once() {
    let place = Place::new();
    place.write("text", "no such thing\n");
    fs::create_dir(place.path("directory")).unwrap();
    let mut wrong = Vec::new();
    for line in FAILING {
        let args: Vec<&str> = line.split(' ').collect();
        let said = if line.contains("--run") {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warmset"));
            command.args(&args).current_dir(place.path(""));
            place::Said::new(command.output().unwrap(), place.dir.path())
        } else {
            place.warmset(&args)
        };
        let is_error = said.code == Some(1) && said.err.starts_with("error: ");
        if !is_error || repeated(&said.err).is_some() {
            wrong.push(format!("{line}: {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// A kind of error whose text has its cause must not name it as its cause, too: the end of a message is all causes. The
/// field is called `error`, not `source`.
#[test]
fn no_kind_of_error_has_its_cause_in_its_text_and_beside_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    let mut kinds = 0;
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for kind in text.split("#[error(").skip(1) {
            kinds += 1;
            let (message, rest) = kind.split_once(")]").unwrap();
            // The fields, up to the next kind or the end of the type.
            let fields = rest.split("#[error(").next().unwrap();
            let fields = fields.split("\n}").next().unwrap();
            let names_cause = ["#[from]", "#[source]", "source:"]
                .iter()
                .any(|mark| fields.contains(mark));
            if names_cause && !message.starts_with("transparent") {
                wrong.push(format!("{}: {message}", file.display()));
            }
        }
    }
    assert!(kinds > 20, "{kinds} kinds of errors");
    assert_eq!(wrong, Vec::<String>::new());
}
