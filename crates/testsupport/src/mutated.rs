//! Inputs that are nearly right: kept ones, changed a little. A parser must answer each of them without a panic.
//!
//! The changes are the same in each run. `MUTATIONS=1000000 cargo test mutated` tries more of them.

use std::env;
use std::thread;

/// Inputs that each test tries, unless the environment says otherwise: half a minute for all parsers.
const USUAL: u64 = 20_000;
/// Longest input that is made: what is longer is tested by name.
const LONGEST: usize = 1 << 16;
/// Changes of one input, at most: more leave nothing of it.
const MOST_CHANGES: u64 = 8;
/// Numbers and letters at which parsers go wrong.
const PIECES: [&[u8]; 20] = [
    b"",
    b"0",
    b"-1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775808",
    b"4294967296",
    b"1e400",
    b"0.1",
    b"\n",
    b"\t",
    b"\r\n",
    b"\0",
    b"\"",
    b"\\u0000",
    b"{",
    b"[[[[[[[[",
    b"\xff\xfe",
    b"\xc2",
    "\u{202e}".as_bytes(),
];

/// Calls `test` with changed copies of the kept inputs. A panic in it is told with the input.
pub fn each(kept: &[&[u8]], mut test: impl FnMut(&[u8])) {
    assert!(!kept.is_empty(), "there is nothing to change");
    let asked = env::var("MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for input in kept {
        test(input);
    }
    for number in 0..asked.unwrap_or(USUAL) {
        let input = changed(kept, &mut dice);
        let told = Told {
            number,
            input: &input,
        };
        test(&input);
        drop(told);
    }
}

/// Tells of the input if the test panics.
struct Told<'a> {
    number: u64,
    input: &'a [u8],
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self { number, input } = self;
            eprintln!("mutated: input {number}: {}", input.escape_ascii());
        }
    }
}

fn changed(kept: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let mut input = dice.one_of(kept).to_vec();
    for _ in 0..=dice.below(MOST_CHANGES) {
        change(&mut input, kept, dice);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, kept: &[&[u8]], dice: &mut Dice) {
    let at = dice.place(input.len());
    let end = at + dice.place(input.len() - at);
    match dice.below(7) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => input.truncate(at),
        2 => drop(input.drain(at..end)),
        3 => {
            let twice = input[at..end].to_vec();
            input.splice(at..at, twice);
        }
        4 => {
            let other = *dice.one_of(kept);
            let from = dice.place(other.len());
            let to = from + dice.place(other.len() - from);
            input.splice(at..at, other[from..to].iter().copied());
        }
        5 => {
            let piece = *dice.one_of(&PIECES);
            input.splice(at..at, piece.iter().copied());
        }
        _ => {
            let digits = input[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let end = at + digits.count();
            let piece = *dice.one_of(&PIECES);
            input.splice(at..end, piece.iter().copied());
        }
    }
}

/// Numbers without order, the same in each run: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A place in a list of this length, its end included.
    fn place(&mut self, length: usize) -> usize {
        self.below(length as u64 + 1) as usize
    }

    fn one_of<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        let index = self.below(list.len() as u64) as usize;
        &list[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_differ_are_bounded_and_are_the_same_again() {
        let kept: [&[u8]; 2] = [b"mode = \"tune\"\n", b"[gap]\nenabled = true\n"];
        let mut first = Vec::new();
        each(&kept, |input| first.push(input.to_vec()));
        let mut again = Vec::new();
        each(&kept, |input| again.push(input.to_vec()));
        assert_eq!(first, again);
        assert!(first.iter().all(|input| input.len() <= LONGEST));
        first.sort();
        first.dedup();
        assert!(first.len() > again.len() / 2, "{}", first.len());
    }
}
