//! Regular expressions of other guards, as texts with stars.
//!
//! Their patterns are mostly lists: `^(sshd|systemd-.*)$`, `(^|/)(init|X)$`, `gnome`. Each way in which
//! such a pattern can match becomes one text, in which a star stands for anything. What is more than
//! that is named alone, and the rest is kept: a list is the union of its parts.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassSet, ClassSetItem, ClassSetUnion, GroupKind, Repetition,
    RepetitionKind, RepetitionRange, Span,
};

/// Texts from one pattern, at most. Configurations seen in public have up to 40 names in a pattern.
const MOST_TEXTS: usize = 512;
/// Letters of a set such as `[0-9]` that are written out, at most: digits and a few more.
const MOST_LETTERS: usize = 16;
/// Repetitions such as `a{3}` that are written out, at most; more is no name that a person wrote.
const MOST_REPEATS: u32 = 8;

/// What became of a pattern.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    /// Each matches a whole name, path or line; a star stands for anything, or nothing.
    pub(super) texts: Vec<String>,
    /// Parts of the pattern that no such text can say.
    pub(super) lost: Vec<Lost>,
}

/// A part of a pattern that is lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// As it was written.
    pub(super) part: String,
    /// Why it is lost.
    pub(super) reason: String,
}

/// One way to match, letter by letter.
type Sequence = Vec<Piece>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Letter(char),
    Anything,
    Start,
    End,
}

/// The texts that match what `pattern` finds anywhere in a text.
pub(super) fn texts(pattern: &str) -> Texts {
    let mut expansion = Expansion {
        pattern,
        lost: Vec::new(),
    };
    let parsed = ParserBuilder::new().build().parse(pattern);
    let sequences = match parsed {
        Ok(ast) => expansion.part(&ast, Span::splat(ast.span().start).with_end(ast.span().end)),
        Err(error) => {
            expansion.lose(pattern, &format!("it cannot be read: {}", error.kind()));
            Vec::new()
        }
    };
    let mut texts: Vec<String> = Vec::new();
    for sequence in &sequences {
        let Some(text) = text(sequence) else { continue };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() && expansion.lost.is_empty() {
        expansion.lose(pattern, "it can match nothing");
    }
    Texts {
        texts,
        lost: expansion.lost,
    }
}

struct Expansion<'a> {
    pattern: &'a str,
    lost: Vec<Lost>,
}

impl Expansion<'_> {
    fn lose(&mut self, part: &str, reason: &str) {
        self.lost.push(Lost {
            part: part.to_owned(),
            reason: reason.to_owned(),
        });
    }

    /// The ways in which a part can match. If there are too many, or no text can say them, the whole part is lost.
    fn part(&mut self, ast: &Ast, span: Span) -> Vec<Sequence> {
        let lost_before = self.lost.len();
        match self.ways(ast) {
            Ok(ways) => ways,
            Err(reason) => {
                // What was lost inside is a part of this.
                self.lost.truncate(lost_before);
                let pattern = self.pattern;
                self.lose(&pattern[span.start.offset..span.end.offset], &reason);
                Vec::new()
            }
        }
    }

    fn ways(&mut self, ast: &Ast) -> Result<Vec<Sequence>, String> {
        match ast {
            Ast::Empty(_) => Ok(vec![Vec::new()]),
            Ast::Literal(literal) => letter(literal.c),
            Ast::Dot(_) => Err(
                "a dot stands for any one letter, which no rule can say; \\. is a dot".to_owned(),
            ),
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine | AssertionKind::StartText => Ok(vec![vec![Piece::Start]]),
                AssertionKind::EndLine | AssertionKind::EndText => Ok(vec![vec![Piece::End]]),
                _ => Err("the edge of a word has no counterpart".to_owned()),
            },
            Ast::ClassBracketed(class) if !class.negated => set(&class.kind),
            Ast::ClassBracketed(_) | Ast::ClassPerl(_) | Ast::ClassUnicode(_) => {
                Err("it stands for more letters than a list could have".to_owned())
            }
            Ast::Repetition(repetition) => self.repetition(repetition),
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags) if !flags.items.is_empty() => {
                    Err("flags such as (?i) have no counterpart".to_owned())
                }
                _ => self.ways(&group.ast),
            },
            Ast::Alternation(alternation) => {
                let mut ways = Vec::new();
                for part in &alternation.asts {
                    ways.extend(self.part(part, *part.span()));
                }
                few(ways)
            }
            Ast::Concat(concat) => {
                let mut ways = vec![Vec::new()];
                for part in &concat.asts {
                    let next = self.ways(part)?;
                    ways = joined(&ways, &next)?;
                }
                Ok(ways)
            }
            Ast::Flags(_) => Err("flags such as (?i) have no counterpart".to_owned()),
        }
    }

    fn repetition(&mut self, repetition: &Repetition) -> Result<Vec<Sequence>, String> {
        let of_any_letter = matches!(*repetition.ast, Ast::Dot(_));
        match &repetition.op.kind {
            RepetitionKind::ZeroOrMore if of_any_letter => Ok(vec![vec![Piece::Anything]]),
            RepetitionKind::OneOrMore if of_any_letter => {
                Err(".+ is at least one letter; a star may be none".to_owned())
            }
            RepetitionKind::ZeroOrOne => {
                // A part inside that is lost takes this with it: what is optional is not half there.
                let lost_before = self.lost.len();
                let mut ways = self.ways(&repetition.ast)?;
                if self.lost.len() > lost_before {
                    return Err(self.lost[lost_before].reason.clone());
                }
                ways.push(Vec::new());
                few(ways)
            }
            RepetitionKind::Range(RepetitionRange::Exactly(times)) if *times <= MOST_REPEATS => {
                let once = self.ways(&repetition.ast)?;
                let mut ways = vec![Vec::new()];
                for _ in 0..*times {
                    ways = joined(&ways, &once)?;
                }
                Ok(ways)
            }
            _ => Err("it repeats without an end that a list could have".to_owned()),
        }
    }
}

fn letter(letter: char) -> Result<Vec<Sequence>, String> {
    if letter == '*' {
        return Err("a star of the text itself cannot be written here".to_owned());
    }
    Ok(vec![vec![Piece::Letter(letter)]])
}

/// The letters of a set such as `[Ww]`.
fn set(class: &ClassSet) -> Result<Vec<Sequence>, String> {
    let too_much = || "it stands for more letters than a list could have".to_owned();
    let ClassSet::Item(item) = class else {
        return Err(too_much());
    };
    let items: &[ClassSetItem] = match item {
        ClassSetItem::Union(ClassSetUnion { items, .. }) => items,
        item => std::slice::from_ref(item),
    };
    let mut letters: Vec<char> = Vec::new();
    for item in items {
        match item {
            ClassSetItem::Empty(_) => {}
            ClassSetItem::Literal(literal) => letters.push(literal.c),
            ClassSetItem::Range(range) => {
                let more = range.start.c..=range.end.c;
                letters.extend(more.take(MOST_LETTERS + 1));
            }
            _ => return Err(too_much()),
        }
        if letters.len() > MOST_LETTERS {
            return Err(too_much());
        }
    }
    let mut ways = Vec::new();
    for each in letters {
        ways.extend(letter(each)?);
    }
    Ok(ways)
}

fn joined(firsts: &[Sequence], seconds: &[Sequence]) -> Result<Vec<Sequence>, String> {
    if firsts.len().saturating_mul(seconds.len()) > MOST_TEXTS {
        return Err(format!("it is more than {MOST_TEXTS} texts"));
    }
    let mut ways = Vec::new();
    for first in firsts {
        for second in seconds {
            let mut way = first.clone();
            way.extend(second);
            ways.push(way);
        }
    }
    Ok(ways)
}

fn few(ways: Vec<Sequence>) -> Result<Vec<Sequence>, String> {
    if ways.len() > MOST_TEXTS {
        return Err(format!("it is more than {MOST_TEXTS} texts"));
    }
    Ok(ways)
}

/// A way to match as a text with stars; `None` if it can match nothing.
fn text(sequence: &[Piece]) -> Option<String> {
    let mut text = String::new();
    let mut is_at_start = true;
    let mut has_start = false;
    let mut has_end = false;
    for piece in sequence {
        match piece {
            Piece::Start if is_at_start => has_start = true,
            // `a^` matches nothing; `.*^` only what has nothing before it.
            Piece::Start if text == "*" => {
                text.clear();
                has_start = true;
                is_at_start = true;
            }
            Piece::Start => return None,
            Piece::End => has_end = true,
            Piece::Anything => {
                if !has_end && !text.ends_with('*') {
                    text.push('*');
                }
                is_at_start = false;
            }
            Piece::Letter(_) if has_end => return None,
            Piece::Letter(letter) => {
                text.push(*letter);
                is_at_start = false;
            }
        }
    }
    if !has_start && !text.starts_with('*') {
        text.insert(0, '*');
    }
    if !has_end && !text.ends_with('*') {
        text.push('*');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pattern: &str) -> (Vec<String>, Vec<String>) {
        let Texts { texts, lost } = texts(pattern);
        (texts, lost.into_iter().map(|lost| lost.part).collect())
    }

    #[test]
    fn lists_become_texts_and_what_is_more_is_named_alone() {
        for (pattern, expected, lost) in [
            (
                "^(sshd|tmux:.*|init)$",
                &["sshd", "tmux:*", "init"][..],
                &[][..],
            ),
            ("(^|/)(init|X)$", &["init", "X", "*/init", "*/X"], &[]),
            ("gnome", &["*gnome*"], &[]),
            ("^postgres", &["postgres*"], &[]),
            ("java$", &["*java"], &[]),
            ("^a( |$)", &["a *", "a"], &[]),
            (
                "^(a|python(\\d(.\\d)?)?|b)$",
                &["a", "b"],
                &["python(\\d(.\\d)?)?"],
            ),
            (
                "^(firefox .*-contentproc|x)$",
                &["firefox *-contentproc", "x"],
                &[],
            ),
            ("^node.\\(vitest\\)$", &[], &["^node.\\(vitest\\)$"]),
            ("^node \\(vitest\\)$", &["node (vitest)"], &[]),
            ("^[Ww]eb$", &["Web", "web"], &[]),
            ("^gdm3?$", &["gdm3", "gdm"], &[]),
            ("^(?:a|b)$", &["a", "b"], &[]),
            ("^a.+$", &[], &["^a.+$"]),
            ("^(a|[^b])$", &["a"], &["[^b]"]),
            ("(?i)a", &[], &["(?i)a"]),
            ("a(", &[], &["a("]),
            ("a$b", &[], &["a$b"]),
            ("^a{3}$", &["aaa"], &[]),
            ("", &["*"], &[]),
            (".*", &["*"], &[]),
            ("^x\\*$", &[], &["^x\\*$"]),
        ] {
            let (texts, parts) = found(pattern);
            let mut texts = texts;
            let mut expected = expected.to_vec();
            texts.sort();
            expected.sort_unstable();
            assert_eq!(texts, expected, "{pattern}");
            assert_eq!(parts, lost, "{pattern}");
        }
    }

    /// Whether `text` is what `star` stands for: the plain model.
    fn is_matched(star: &str, text: &str) -> bool {
        match star.chars().next() {
            None => text.is_empty(),
            Some('*') => {
                let rest = &star[1..];
                (0..=text.len())
                    .any(|at| text.is_char_boundary(at) && is_matched(rest, &text[at..]))
            }
            Some(letter) => text
                .strip_prefix(letter)
                .is_some_and(|text| is_matched(&star[letter.len_utf8()..], text)),
        }
    }

    proptest! {
        /// Against an independent matcher: a text matches one of ours if and only if the pattern finds it.
        #[test]
        fn no_text_is_wider_or_narrower_than_its_pattern(
            pattern in "\\^?(a|b|\\(a\\|b\\)|\\(a\\|\\)|a\\?|\\[ab\\]|\\.\\*|\\(\\^\\|/\\)){0,5}\\$?",
            text in "[ab/]{0,5}",
        ) {
            let Texts { texts, lost } = texts(&pattern);
            prop_assume!(lost.is_empty());
            let ours = texts.iter().any(|star| is_matched(star, &text));
            let theirs = regex_lite::Regex::new(&pattern).unwrap().is_match(&text);
            prop_assert_eq!(ours, theirs, "{:?}", texts);
        }
    }
}
