//! Patterns with stars, compared without any allocation.

/// What a star stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Star {
    /// Any text.
    Anything,
    /// Any text without a slash; at the end of the pattern any text.
    Part,
}

/// Whether a text is what the pattern says; a star stands for any text, also for none.
pub fn matches_text(pattern: &str, text: impl AsRef<[u8]>) -> bool {
    glob(pattern.as_bytes(), text.as_ref(), Star::Anything)
}

/// Whether a path is what the pattern says. A star at the end stands for anything, one before the
/// end for any text within one part of the path.
pub(crate) fn matches_path(pattern: &str, path: impl AsRef<[u8]>) -> bool {
    glob(pattern.as_bytes(), path.as_ref(), Star::Part)
}

/// Whether a group's path is what the pattern says, or lies below such a group.
pub(crate) fn matches_group(pattern: &str, path: impl AsRef<[u8]>) -> bool {
    let path = path.as_ref();
    if matches_path(pattern, path) {
        return true;
    }
    if pattern == "/" {
        return false;
    }
    // The first slash is the root group, which has all others below it.
    for end in 1..path.len() {
        if path[end] == b'/' && matches_path(pattern, &path[..end]) {
            return true;
        }
    }
    false
}

/// The same as [`matches_text`] for a text that is cut where it is longer than `capacity` bytes: of a
/// pattern without a star, then, as many bytes count.
pub(crate) fn matches_cut(pattern: &str, text: &str, capacity: usize) -> bool {
    let is_full = text.len() == capacity && pattern.len() > capacity;
    if is_full && !pattern.contains('*') {
        return pattern.starts_with(text);
    }
    matches_text(pattern, text)
}

/// On a mismatch the last star takes one more byte. That suffices: what an earlier star takes more
/// of, the last one takes less of.
///
/// A star that stops at a slash never needs to be tried again behind it, as slashes of pattern and
/// path correspond one to one.
fn glob(pattern: &[u8], text: &[u8], star: Star) -> bool {
    let mut at = 0;
    let mut read = 0;
    // Behind the last star in the pattern, and up to where it takes the text.
    let mut retry: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                if at == pattern.len() {
                    return true;
                }
                retry = Some((at, read));
            }
            Some(byte) if *byte == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((behind, taken)) = retry else {
                    return false;
                };
                if star == Star::Part && text[taken] == b'/' {
                    return false;
                }
                retry = Some((behind, taken + 1));
                at = behind;
                read = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stands_for_any_text_anywhere() {
        for (pattern, text, is) in [
            ("", "", true),
            ("*", "", true),
            ("a", "", false),
            ("a*", "a", true),
            ("*b", "ab", true),
            ("*b", "abc", false),
            ("a*c", "abcabc", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXb", false),
            ("*jupyter*", "python3 -m jupyter lab", true),
            ("*jupyter*", "python3 -m notebook", false),
            ("**", "anything", true),
        ] {
            assert_eq!(matches_text(pattern, text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn in_a_path_a_star_is_one_part_and_at_the_end_anything() {
        for (pattern, path, is) in [
            ("/opt/*", "/opt/a/b/c", true),
            ("/opt/*", "/opt", false),
            ("/home/*/bin/x", "/home/ann/bin/x", true),
            ("/home/*/bin/x", "/home/ann/lib/bin/x", false),
            ("/home/*/x*", "/home/ann/x/y/z", true),
            ("/usr/lib/jvm/*/bin/java", "/usr/lib/jvm/17/bin/java", true),
            ("/usr/lib/jvm/*/bin/java", "/usr/lib/jvm/17/jre/java", false),
            ("/a*c/d", "/abcabc/d", true),
            ("/*", "/", true),
        ] {
            assert_eq!(matches_path(pattern, path), is, "{pattern} {path}");
        }
    }

    #[test]
    fn a_group_has_those_below_it() {
        assert!(matches_group("/batch.slice", "/batch.slice"));
        assert!(matches_group("/batch.slice", "/batch.slice/a.service/sub"));
        assert!(!matches_group("/batch.slice", "/batch.slicer/a.service"));
        assert!(matches_group("/*/a.service", "/x.slice/a.service/deep"));
        assert!(matches_group("/", "/"));
        assert!(!matches_group("/", "/system.slice"));
    }

    #[test]
    fn of_a_text_that_was_cut_the_beginning_counts() {
        assert!(matches_cut("abcdef", "abcd", 4));
        assert!(!matches_cut("abxdef", "abcd", 4));
        assert!(!matches_cut("abcdef", "abc", 4));
        assert!(!matches_cut("ab*f", "abcd", 4));
    }

    /// The law itself, as plainly as it can be said.
    fn plain(pattern: &[u8], text: &[u8], in_path: bool) -> bool {
        match pattern {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|taken| {
                let may = !in_path || rest.is_empty() || !text[..taken].contains(&b'/');
                may && plain(rest, &text[taken..], in_path)
            }),
            [first, rest @ ..] => text.first() == Some(first) && plain(rest, &text[1..], in_path),
        }
    }

    proptest! {
        #[test]
        fn as_the_plain_model_says(pattern in "[ab/*]{0,8}", text in "[ab/]{0,12}") {
            let bytes = pattern.as_bytes();
            prop_assert_eq!(matches_text(&pattern, &text), plain(bytes, text.as_bytes(), false));
            prop_assert_eq!(matches_path(&pattern, &text), plain(bytes, text.as_bytes(), true));
        }
    }
}
