//! One parser, led by libFuzzer: the environment names it. One program for all of them is built and linked once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::env;
use std::sync::LazyLock;

static READ: LazyLock<fn(&[u8]) -> bool> = LazyLock::new(|| {
    let name = env::var("PARSER").unwrap_or_default();
    let Some(parser) = parsers::named(&name) else {
        let all = parsers::PARSERS.map(|parser| parser.name).join(", ");
        eprintln!("PARSER={name}: there are {all}");
        std::process::exit(2);
    };
    parser.read
});

fuzz_target!(|bytes: &[u8]| {
    READ(bytes);
});
