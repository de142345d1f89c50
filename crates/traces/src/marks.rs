//! Where a text has line ends and delimiters.
//!
//! Cells are short: a search that begins anew at each of them spends most of its time on beginning. Here 64 bytes are compared at
//! once, and what was found is kept as bits.

use crate::oracle::array;

/// Bytes that are compared at once: as many as a word has bits.
const PIECE: usize = 64;

/// The places of line ends and delimiters, in order.
pub(crate) struct Marks<'t> {
    text: &'t [u8],
    delimiter: u8,
    /// Where the piece begins that `left` is of.
    piece: usize,
    /// Where the next piece begins.
    next: usize,
    /// Marks that were not shown yet; the lowest bit is the piece's first byte.
    left: u64,
}

impl<'t> Marks<'t> {
    /// The places from `from` on.
    pub(crate) fn new(text: &'t [u8], delimiter: u8, from: usize) -> Self {
        Self {
            text,
            delimiter,
            piece: from,
            next: from,
            left: 0,
        }
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            let rest = &self.text[self.next..];
            if rest.is_empty() {
                return None;
            }
            self.piece = self.next;
            match rest.first_chunk() {
                Some(bytes) => {
                    self.left = marks(bytes, self.delimiter);
                    self.next += PIECE;
                }
                None => {
                    self.left = marks_of_rest(rest, self.delimiter);
                    self.next = self.text.len();
                }
            }
        }
        let at = self.piece + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(at)
    }
}

/// Which bytes are line ends or delimiters.
#[inline]
fn marks(bytes: &[u8; PIECE], delimiter: u8) -> u64 {
    // The product gathers the lowest bits of eight bytes in its highest byte, without a carry.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let is_mark = bytes.map(|byte| u8::from(byte == b'\n' || byte == delimiter));
    let mut marks = 0;
    for (place, eight) in is_mark.chunks_exact(8).enumerate() {
        let gathered = u64::from_le_bytes(array(eight)).wrapping_mul(GATHER) >> 56;
        marks |= gathered << (8 * place);
    }
    marks
}

/// The same of fewer bytes, at the text's end.
#[cold]
fn marks_of_rest(bytes: &[u8], delimiter: u8) -> u64 {
    let mut piece = [0; PIECE];
    piece[..bytes.len()].copy_from_slice(bytes);
    let in_text = (1 << bytes.len()) - 1;
    marks(&piece, delimiter) & in_text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_are_those_of_memchr(
            text in "[a,\\n\\x00]{0,300}",
            delimiter in prop::sample::select(vec![b',', b'\0', 0xff]),
            from in 0_usize..300,
        ) {
            let from = from.min(text.len());
            let found: Vec<usize> = Marks::new(text.as_bytes(), delimiter, from).collect();
            let expected = memchr::memchr2_iter(b'\n', delimiter, &text.as_bytes()[from..]);
            let expected: Vec<usize> = expected.map(|at| at + from).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
