//! `/proc/pressure/*`: `some avg10=0.00 avg60=0.00 avg300=0.02 total=7233077`, and `full` likewise.

use super::lines::{lines, number, tail, words};
use crate::error::Malformed;
use pressure::sample::Pressure;
use units::{Micros, Percent};

/// Reads the text; `full` stays unknown where the kernel has none (`cpu` before 5.13).
pub(crate) fn parse(text: &[u8]) -> Result<Pressure, Malformed<'_>> {
    if text.is_empty() {
        return Err(Malformed::new("first line", text));
    }
    let cut = tail(text);
    if !cut.is_empty() {
        return Err(Malformed::new("end of line", cut));
    }
    let mut pressure = Pressure::default();
    for line in lines(text) {
        let mut words = words(line);
        match words.next() {
            Some(b"some") => {
                for word in words {
                    some(&mut pressure, word).ok_or(Malformed::new("some", line))?;
                }
            }
            Some(b"full") => {
                for word in words {
                    full(&mut pressure, word).ok_or(Malformed::new("full", line))?;
                }
            }
            _ => {}
        }
    }
    if pressure.some_total.is_none() {
        Err(Malformed::new("some", text))
    } else {
        Ok(pressure)
    }
}

/// Sets what `word` names; `None` if its number is wrong. Names of a newer kernel are passed over.
fn some(pressure: &mut Pressure, word: &[u8]) -> Option<()> {
    match pair(word)? {
        (b"avg10", value) => pressure.some_avg10 = Some(percent(value)?),
        (b"avg60", value) => pressure.some_avg60 = Some(percent(value)?),
        (b"avg300", value) => pressure.some_avg300 = Some(percent(value)?),
        (b"total", value) => pressure.some_total = Some(Micros::new(number(value)?)),
        _ => {}
    }
    Some(())
}

fn full(pressure: &mut Pressure, word: &[u8]) -> Option<()> {
    match pair(word)? {
        (b"avg10", value) => pressure.full_avg10 = Some(percent(value)?),
        (b"avg60", value) => pressure.full_avg60 = Some(percent(value)?),
        (b"avg300", value) => pressure.full_avg300 = Some(percent(value)?),
        (b"total", value) => pressure.full_total = Some(Micros::new(number(value)?)),
        _ => {}
    }
    Some(())
}

fn pair(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let sign = word.iter().position(|&byte| byte == b'=')?;
    Some((&word[..sign], &word[sign + 1..]))
}

/// `12.34`, always with two decimals.
fn percent(text: &[u8]) -> Option<Percent> {
    let point = text.iter().position(|&byte| byte == b'.')?;
    let decimals = Some(&text[point + 1..]).filter(|decimals| decimals.len() == 2)?;
    let whole = number(&text[..point])?.checked_mul(100)?;
    whole
        .checked_add(number(decimals)?)
        .map(Percent::hundredths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_exact_to_a_hundredth() {
        let text =
            b"some avg10=4.50 avg60=0.91 avg300=100.00 total=7233077\nfull avg10=0.00 avg60=0.00 avg300=0.07 total=9\n";
        let pressure = parse(text).unwrap();
        assert_eq!(pressure.some_avg10, Some(Percent::hundredths(450)));
        assert_eq!(pressure.some_avg300, Some(Percent::WHOLE));
        assert_eq!(pressure.some_total, Some(Micros::new(7_233_077)));
        assert_eq!(pressure.full_avg300, Some(Percent::hundredths(7)));
        assert_eq!(pressure.full_total, Some(Micros::new(9)));
    }

    #[test]
    fn a_bad_number_is_quoted_with_its_line() {
        for bad in [
            "some avg10=4.5 total=1\n",
            "some avg10=4.50 total=\n",
            "some\n",
            "some avg10\n",
            "full total=1\n",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let error = parse(b"some avg10=x total=1\n").unwrap_err();
        assert_eq!(error, Malformed::new("some", b"some avg10=x total=1"));
    }
}
