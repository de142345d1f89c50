//! `warmset.toml(5)` from the commented configuration file.

use clap_mangen::roff::{Roff, bold, roman};

const PACKAGED: &str = include_str!("../../../../packaging/warmset.toml");

/// The page, as roff.
pub(crate) fn page() -> String {
    let mut roff = Roff::new();
    let version = concat!("warmset ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", ["warmset.toml", "5", "", version, "File formats"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(
        "warmset.toml - what Warmset may do on this machine, and how",
    )]);
    roff.control("SH", ["DESCRIPTION"]);
    let mut comment: Vec<&str> = Vec::new();
    for line in PACKAGED.lines() {
        match Line::of(line) {
            Line::Blank => paragraph(&mut roff, &mut comment),
            Line::Comment(text) => comment.push(text),
            Line::Section(name) => {
                roff.control("SH", [name]);
                paragraph(&mut roff, &mut comment);
            }
            Line::Key(text) => {
                roff.control("TP", []);
                roff.text([bold(text)]);
                explain(&mut roff, &mut comment);
            }
        }
    }
    paragraph(&mut roff, &mut comment);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman("warmsetd(8), warmset(1)")]);
    roff.render()
}

/// What a line of the file is.
enum Line<'a> {
    Blank,
    Comment(&'a str),
    Section(&'a str),
    Key(&'a str),
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        if line.trim().is_empty() {
            return Self::Blank;
        }
        match line.strip_prefix('#') {
            Some("") => Self::Blank,
            Some(text) if text.starts_with(' ') => Self::Comment(&text[1..]),
            marked => {
                let text = marked.unwrap_or(line);
                if text.starts_with('[') {
                    Self::Section(text)
                } else {
                    Self::Key(text)
                }
            }
        }
    }
}

/// Lines so far as a paragraph of their own.
fn paragraph(roff: &mut Roff, comment: &mut Vec<&str>) {
    if comment.is_empty() {
        return;
    }
    explain(roff, comment);
    roff.control("PP", []);
}

/// Lines so far as running text; indented ones, which are lists, stand each on its own.
fn explain(roff: &mut Roff, comment: &mut Vec<&str>) {
    for line in comment.drain(..) {
        match line.strip_prefix("  ") {
            Some(item) => {
                roff.control("br", []);
                roff.text([roman(item)]);
            }
            None => {
                roff.text([roman(line)]);
            }
        }
    }
}
