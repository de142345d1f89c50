//! Which `command:` rules match a command line.
//!
//! The command line may hold secrets. So it is matched when it is read, and only the answers are kept: one bit for each
//! rule of `guard.spare`, `guard.avoid` and `guard.prefer`, in this order.

use pressure::config::Guard;

const PREFIX: &str = "command:";

/// The patterns of the rules, in the order of their bits.
fn patterns(rules: &Guard) -> impl Iterator<Item = &str> {
    let all = rules.spare.iter().chain(&rules.avoid).chain(&rules.prefer);
    all.filter_map(|rule| rule.strip_prefix(PREFIX))
}

/// Whether any rule asks for the command line.
pub(super) fn is_asked_for(rules: &Guard) -> bool {
    patterns(rules).next().is_some()
}

/// One bit for each rule that matches this text of `cmdline`. There are 64 bits; the check of the configuration allows no
/// more rules.
pub(super) fn matching(rules: &Guard, command: &[u8]) -> u64 {
    let mut line = command.to_vec();
    while line.last() == Some(&0) {
        line.pop();
    }
    for byte in &mut line {
        if *byte == 0 {
            *byte = b' ';
        }
    }
    let mut bits = 0;
    for (place, pattern) in patterns(rules).take(64).enumerate() {
        if matches_text(pattern.as_bytes(), &line) {
            bits |= 1 << place;
        }
    }
    bits
}

/// Returns true if `text` is `pattern`, in which each `*` stands for anything.
fn matches_text(pattern: &[u8], text: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&[u8]> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(behind) = behind(rest, part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

/// What is behind the first `part` in a text.
fn behind<'t>(text: &'t [u8], part: &[u8]) -> Option<&'t [u8]> {
    if part.is_empty() {
        return Some(text);
    }
    let at = text.windows(part.len()).position(|piece| piece == part)?;
    Some(&text[at + part.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stands_for_anything_anywhere() {
        for (pattern, text, matches) in [
            ("a b", "a b", true),
            ("a b", "a b c", false),
            ("a*", "a b c", true),
            ("*jupyter*", "/usr/bin/python3 -m jupyter lab", true),
            ("*jupyter", "/usr/bin/python3 -m jupyter lab", false),
            ("python3*--port*80", "python3 x --port 80", true),
            ("ab*bc", "abc", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("**a**", "ba", true),
        ] {
            let found = matches_text(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, matches, "{pattern} {text}");
        }
    }

    #[test]
    fn bits_go_by_the_order_of_the_command_rules() {
        let rule = |text: &str| text.to_owned();
        let rules = Guard {
            spare: vec![rule("sshd.service"), rule("command:*lab*")],
            avoid: vec![rule("command:nothing")],
            prefer: vec![rule("name:x"), rule("command:python3 -m *")],
            ..Guard::default()
        };
        assert!(is_asked_for(&rules));
        assert!(!is_asked_for(&Guard::default()));
        assert_eq!(matching(&rules, b"python3\0-m\0jupyter\0lab\0"), 0b101);
        assert_eq!(matching(&rules, b"nothing\0\0"), 0b010);
        assert_eq!(matching(&rules, b""), 0);
        assert_eq!(matching(&rules, b"\xff\x1b[2Jlab"), 0b001);
        let many = Guard {
            spare: vec![rule("command:*"); 100],
            ..Guard::default()
        };
        assert_eq!(matching(&many, b"x"), u64::MAX);
    }

    /// The plain way: by trying each length that a star may have.
    fn model(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|cut| model(rest, &text[cut..])),
            Some((first, rest)) => text.first() == Some(first) && model(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn a_text_matches_as_by_the_plain_way(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            let expected = model(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches_text(pattern.as_bytes(), text.as_bytes()), expected);
        }
    }
}
