//! The line plan: what each line of a file was last time, so that it need not be looked up again.
//!
//! The kernel prints the same names in the same order at every reading. The plan keeps, for each
//! line, the bytes it starts with and what the rest is for. A steady reading compares those bytes
//! and takes the rest; it searches no names. When a line starts otherwise, or there are more or
//! fewer lines, the plan does not hold and is made again from the new text: a new CPU or zone
//! costs one slow reading. Every line is compared, so a plan never gives another answer than no plan.
//!
//! Cost: O(bytes), about one comparison per line.

/// Splits off the first line, without its newline. `None` if no newline is left: what is not
/// terminated may be cut in the middle of a number, and is not a line.
pub(crate) fn next_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    Some((&text[..end], &text[end + 1..]))
}

/// The terminated lines of `text`.
pub fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (line, rest) = next_line(text)?;
        text = rest;
        Some(line)
    })
}

/// What follows the last newline: empty if the text is whole.
pub(crate) fn tail(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |end| end + 1);
    &text[start..]
}

/// Calls `each` with every line of the first `most` bytes of a file, read through `buffer`, so that a long file takes no
/// memory. A line that is longer than the buffer is left out, as is one without its end.
pub(crate) fn each_line(
    mut file: impl std::io::Read,
    most: usize,
    buffer: &mut [u8],
    mut each: impl FnMut(&[u8]),
) {
    let mut left = most;
    let mut filled = 0;
    let mut is_inside = false;
    while left > 0 {
        let end = buffer.len().min(filled + left);
        let read = match file.read(&mut buffer[filled..end]) {
            Ok(read) if read > 0 => read,
            _ => return,
        };
        left -= read;
        filled += read;
        let mut from = 0;
        while let Some((line, _)) = next_line(&buffer[from..filled]) {
            from += line.len() + 1;
            if !is_inside {
                each(line);
            }
            is_inside = false;
        }
        buffer.copy_within(from..filled, 0);
        filled -= from;
        if filled == buffer.len() {
            // What follows belongs to a line that does not fit.
            filled = 0;
            is_inside = true;
        }
    }
}

/// A decimal number and nothing else; `None` if it does not fit into 64 bits.
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The command's name in `/proc/PID/stat`, and the fields behind it, the state first. The name may hold anything, spaces
/// and brackets too, so it ends at the last bracket.
pub fn stat(text: &[u8]) -> Option<(&[u8], impl Iterator<Item = &[u8]>)> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text
        .iter()
        .rposition(|byte| *byte == b')')
        .filter(|close| *close > open)?;
    let fields = text[close + 1..]
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    Some((&text[open + 1..close], fields))
}

/// Words between spaces and tabs.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// For each line the bytes it starts with, and what the rest is for.
#[derive(Debug)]
pub(crate) struct Plan<T> {
    /// Where each line's key ends in `keys`, and its target.
    lines: Vec<(usize, T)>,
    keys: Vec<u8>,
}

impl<T: Copy> Plan<T> {
    pub(crate) const fn new() -> Self {
        Self {
            lines: Vec::new(),
            keys: Vec::new(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        self.keys.clear();
    }

    /// The next line starts with `key`.
    pub(crate) fn push(&mut self, key: &[u8], target: T) {
        self.keys.extend_from_slice(key);
        self.lines.push((self.keys.len(), target));
    }

    /// Calls `take` with target, rest and whole of each line, in order. False as soon as a line is not
    /// the planned one, or at the end if lines are missing.
    ///
    /// `take` answers whether the rest is as planned.
    pub(crate) fn follow<'t>(
        &self,
        text: &'t [u8],
        mut take: impl FnMut(T, &'t [u8], &'t [u8]) -> bool,
    ) -> bool {
        let mut text = text;
        let mut start = 0;
        for &(end, target) in &self.lines {
            let Some((line, behind)) = next_line(text) else {
                return false;
            };
            let Some(rest) = line.strip_prefix(&self.keys[start..end]) else {
                return false;
            };
            if !take(target, rest, line) {
                return false;
            }
            start = end;
            text = behind;
        }
        next_line(text).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_must_fit_and_stand_alone() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            &b""[..],
            b"18446744073709551616",
            b"99999999999999999999",
            b"-1",
            b"+1",
            b"1 ",
            b"1x",
            b"\xff",
        ] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn an_unterminated_line_is_no_line() {
        assert_eq!(lines(b"a\nb").collect::<Vec<_>>(), [b"a"]);
        assert_eq!(tail(b"a\nb"), b"b");
        assert_eq!(tail(b"a\n"), b"");
        assert_eq!(tail(b"a"), b"a");
    }

    #[test]
    fn lines_are_read_through_a_small_buffer_and_long_ones_left_out() {
        let text = b"one\n\ntwo\nfar too long a line\nthree\ncut";
        for size in 6..40 {
            for most in [text.len(), 1000] {
                let mut seen = Vec::new();
                let mut buffer = vec![0; size];
                each_line(&text[..], most, &mut buffer, |line| {
                    seen.push(String::from_utf8_lossy(line).into_owned());
                });
                seen.retain(|line| line != "far too long a line");
                assert_eq!(seen, ["one", "", "two", "three"], "{size}");
            }
        }
        let mut seen = 0;
        each_line(&text[..], 6, &mut [0; 8], |_| seen += 1);
        assert_eq!(seen, 2, "no more than the first bytes");
    }

    #[test]
    fn a_plan_holds_only_for_the_same_lines() {
        let mut plan = Plan::new();
        plan.push(b"a ", 1);
        plan.push(b"b ", 2);
        let mut seen = Vec::new();
        assert!(plan.follow(b"a 10\nb 20\n", |target, rest, _| {
            seen.push((target, rest.to_vec()));
            true
        }));
        assert_eq!(seen, [(1, b"10".to_vec()), (2, b"20".to_vec())]);
        for other in [
            &b"a 1\n"[..],
            b"a 1\nc 2\n",
            b"a 1\nb 2\nc 3\n",
            b"",
            b"a 1\nb 2",
        ] {
            assert!(!plan.follow(other, |_, _, _| true), "{other:?}");
        }
    }
}
