//! Reads numbers in text, and says what is wrong with text that is no number.

use crate::oracle::array;

/// A decimal number, or what is wrong with it.
#[inline]
pub(crate) fn decimal(word: &[u8]) -> Result<u64, String> {
    if let Some(number) = short_decimal(word) {
        return Ok(number);
    }
    let digits = word.strip_prefix(b"+").unwrap_or(word);
    radix(digits, 10).ok_or_else(|| no_number(word))
}

/// A decimal number of at most 16 digits, as nearly all are: eight at a time.
#[inline]
fn short_decimal(digits: &[u8]) -> Option<u64> {
    const EIGHT: u64 = 100_000_000;
    match digits.len() {
        1..=8 => eight_digits(in_a_word(digits)),
        9..=16 => {
            let (upper, lower) = digits.split_at(digits.len() - 8);
            let upper = eight_digits(in_a_word(upper))?;
            let lower = eight_digits(in_a_word(lower))?;
            Some(upper * EIGHT + lower)
        }
        _ => None,
    }
}

/// One to eight letters at the end of a word, zeros before them; the first letter is the lowest byte.
#[inline]
fn in_a_word(letters: &[u8]) -> u64 {
    const ZEROS: u64 = u64::from_le_bytes(*b"00000000");
    let count = letters.len();
    let before = 8 * (8 - count);
    let zeros = ZEROS.checked_shr(8 * count as u32).unwrap_or(0);
    // Letters in the middle may be taken twice, to the same place.
    let taken = if count >= 4 {
        let first = u64::from(u32::from_le_bytes(array(letters)));
        let last = u64::from(u32::from_le_bytes(array(&letters[count - 4..])));
        first << before | last << 32
    } else {
        let middle = count / 2;
        let first = u64::from(letters[0]) << before;
        let between = u64::from(letters[middle]) << (before + 8 * middle);
        let last = u64::from(letters[count - 1]) << 56;
        first | between | last
    };
    taken | zeros
}

/// The number that eight digits make, of which the first is the lowest byte. Three multiplications add two neighbours at once:
/// D. Lemire, "Quickly parsing eight digits", 2018.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    const UPPER_HALVES: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    const OF_DIGITS: u64 = 0x3030_3030_3030_3030;
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    // Six above nine leaves the row of the digits.
    const SIXES: u64 = 0x0606_0606_0606_0606;
    let is_row = word & UPPER_HALVES == OF_DIGITS;
    let is_below_ten = word.wrapping_add(SIXES) & UPPER_HALVES == OF_DIGITS;
    if !is_row || !is_below_ten {
        return None;
    }
    let digits = word - OF_DIGITS;
    let pairs = digits * 10 + (digits >> 8);
    let first_and_third = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let second_and_fourth = (pairs >> 16 & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    Some(first_and_third.wrapping_add(second_and_fourth) >> 32)
}

/// A hexadecimal number, with or without `0x`.
pub(crate) fn hex(word: &[u8]) -> Result<u64, String> {
    let digits = word
        .strip_prefix(b"0x")
        .or_else(|| word.strip_prefix(b"0X"))
        .unwrap_or(word);
    radix(digits, 16).ok_or_else(|| no_number(word))
}

/// Decimal, or hexadecimal after `0x`.
pub(crate) fn either(word: &[u8]) -> Result<u64, String> {
    if word.starts_with(b"0x") || word.starts_with(b"0X") {
        hex(word)
    } else {
        decimal(word)
    }
}

fn radix(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        let digit = char::from(*digit).to_digit(radix)?;
        value = value.checked_mul(u64::from(radix))?;
        value = value.checked_add(u64::from(digit))?;
    }
    Some(value)
}

fn no_number(word: &[u8]) -> String {
    let text = quoted(word);
    match word {
        [] => "a number is missing".to_owned(),
        [b'-', ..] => format!("{text} is negative"),
        _ if word.iter().all(u8::is_ascii_hexdigit) => {
            format!("{text} is above 2^64, or no decimal number")
        }
        _ => format!("{text} is no number"),
    }
}

/// Bytes that are quoted of a text: what fits in one line of a message.
const QUOTED: usize = 60;

/// Bytes as a message can show them: in quotes, at most [`QUOTED`].
pub(crate) fn quoted(bytes: &[u8]) -> String {
    if bytes.len() <= QUOTED {
        return format!("{:?}", String::from_utf8_lossy(bytes));
    }
    let start = String::from_utf8_lossy(&bytes[..QUOTED]);
    format!("{start:?}…")
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decimals_are_those_of_the_standard_library(text in "[0-9]{1,20}|[0-9/:;a ]{0,18}") {
            let expected = text.parse::<u64>().ok();
            prop_assert_eq!(decimal(text.as_bytes()).ok(), expected);
        }
    }

    #[test]
    fn numbers_and_what_is_none() {
        assert_eq!(decimal(b"42"), Ok(42));
        assert_eq!(hex(b"0xFf"), Ok(255));
        assert_eq!(either(b"0x10"), Ok(16));
        for (word, says) in [
            (&b"-1"[..], "negative"),
            (b"18446744073709551616", "above 2^64"),
            (b"", "missing"),
            (b"x", "no number"),
        ] {
            assert!(decimal(word).unwrap_err().contains(says), "{word:?}");
        }
    }
}
