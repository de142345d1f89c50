//! The kept inputs of every parser, and copies of them that were changed a little: none makes a parser panic.
//!
//! A test for each, so that they run beside each other. `MUTATIONS=1000000 cargo test -p warmset-parsers` tries more.

use parsers::{PARSERS, Parser, corpus, named, reads_a_trace};
use std::collections::BTreeSet;
use std::fs;
use testsupport::mutated;

/// The kept inputs of a parser, in the same order everywhere, so that the changed copies are the same.
fn kept(parser: Parser) -> Vec<Vec<u8>> {
    let directory = corpus(parser.name);
    let files = fs::read_dir(&directory).unwrap_or_else(|_| panic!("{}", directory.display()));
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    let mut inputs = Vec::new();
    for path in paths {
        inputs.push(fs::read(path).expect("a kept input"));
    }
    inputs
}

fn survives(name: &str) {
    let parser = named(name).expect("a parser");
    let inputs = kept(parser);
    let kept: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    mutated::each(&kept, |input| {
        (parser.read)(input);
    });
}

#[test]
fn every_parser_has_a_corpus_with_a_good_input_and_every_corpus_a_parser() {
    let mut names = BTreeSet::new();
    for parser in PARSERS {
        let inputs = kept(parser);
        let good = inputs.iter().filter(|input| (parser.read)(input)).count();
        assert!(
            good > 0,
            "{}: none of {} is good",
            parser.name,
            inputs.len()
        );
        names.insert(parser.name.to_owned());
    }
    let directories = fs::read_dir(corpus("")).expect("the corpora").flatten();
    let found: BTreeSet<String> = directories
        .map(|directory| directory.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, names);
}

#[test]
fn changed_recordings_of_superblocks_are_survived() {
    survives("blocks");
}

#[test]
fn changed_configurations_are_survived() {
    survives("configuration");
}

#[test]
fn changed_lines_of_damon_are_survived() {
    survives("damon");
}

#[test]
fn changed_messages_of_the_holder_are_survived() {
    survives("holder");
}

#[test]
fn changed_requests_are_survived() {
    survives("http");
}

#[test]
fn changed_files_of_predecessors_are_survived() {
    survives("import");
}

#[test]
fn changed_messages_of_users_are_survived() {
    survives("notice");
}

#[test]
fn changed_recordings_are_survived() {
    survives("recording");
}

#[test]
fn changed_sweeps_are_survived() {
    survives("sweep");
}

#[test]
fn changed_traces_are_survived() {
    survives("trace");
}

/// Changed copies are read to their first thousands of references, so that many fit into a test: the kept ones much farther.
#[test]
fn kept_traces_are_read_to_their_millionth_reference() {
    let inputs = kept(named("trace").expect("a parser"));
    let good = inputs.iter().filter(|input| reads_a_trace(input, 1 << 20));
    assert!(good.count() > 0);
}

#[test]
fn changed_tracepoints_are_survived() {
    survives("tracepoint");
}

#[test]
fn changed_undo_logs_are_survived() {
    survives("undo");
}
