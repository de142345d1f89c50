//! NumPy's `.npy`: one array of page numbers, and a header that says of which kind.
//!
//! Source: NumPy Enhancement Proposal 1 (`numpy/lib/format.py`). One dimension of integers of four or eight bytes is read; what
//! else an array may be is refused by name.

use crate::Error;
use crate::bare::Word;
use crate::input::Input;

/// The first bytes of the file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is read. NumPy writes some hundred bytes for an array of numbers.
const LONGEST: usize = 1 << 16;

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) word: Word,
    pub(crate) is_signed: bool,
    pub(crate) count: u64,
}

/// Passes over the header.
///
/// Errors: what is no line of integers.
pub(crate) fn header(input: &mut Input<'_>) -> Result<Array, Error> {
    let head = input.peek()?;
    let (start, length) = match head.get(6).copied() {
        Some(1) => (10, length::<2>(head)),
        Some(2 | 3) => (12, length::<4>(head)),
        _ => return Err(refused("a version that is not known")),
    };
    let length = length.filter(|length| *length <= LONGEST);
    let end = start + length.ok_or_else(|| refused("its header is damaged"))?;
    let text = head
        .get(start..end)
        .ok_or_else(|| refused("its header is cut"))?;
    let text = String::from_utf8_lossy(text).into_owned();
    input.skip(end);
    let kind = value_of(&text, "descr").ok_or_else(|| refused("its header has no descr"))?;
    let kind = kind.trim_matches(['\'', '"']);
    let word = match kind {
        "<u4" | "<i4" => Word::Little32,
        ">u4" | ">i4" => Word::Big32,
        "<u8" | "<i8" => Word::Little64,
        ">u8" | ">i8" => Word::Big64,
        other => {
            return Err(refused(&format!(
                "its numbers are {other}: array.astype('uint64') makes page numbers of integers"
            )));
        }
    };
    let shape = value_of(&text, "shape").ok_or_else(|| refused("its header has no shape"))?;
    let sizes: Vec<&str> = shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .collect();
    let [count] = sizes.as_slice() else {
        return Err(refused(&format!(
            "its shape is {shape}: array[:, 0] takes one column of it"
        )));
    };
    let count = count
        .parse()
        .map_err(|_| refused(&format!("its shape is {shape}")))?;
    Ok(Array {
        word,
        is_signed: kind.contains('i'),
        count,
    })
}

/// The length of the header, a number of so many bytes at 8.
fn length<const SIZE: usize>(head: &[u8]) -> Option<usize> {
    let bytes = head.get(8..8 + SIZE)?;
    let mut word = [0; 8];
    word[..SIZE].copy_from_slice(bytes);
    usize::try_from(u64::from_le_bytes(word)).ok()
}

/// What the header, a dictionary of Python, has under a name: up to the comma outside of brackets.
fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, after) = text
        .split_once(&format!("'{name}':"))
        .or_else(|| text.split_once(&format!("\"{name}\":")))?;
    let after = after.trim_start();
    let mut depth = 0_usize;
    for (at, letter) in after.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' | '}' if depth == 0 => return Some(after[..at].trim()),
            _ => {}
        }
    }
    None
}

fn refused(what: &str) -> Error {
    Error::Format(format!("this NumPy array is no trace: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str) -> Vec<u8> {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        file
    }

    fn read(bytes: &[u8]) -> Result<Array, String> {
        let mut input = Input::new(Box::new(bytes));
        header(&mut input).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_of_integers_is_a_trace() {
        let array = Array {
            word: Word::Little64,
            is_signed: true,
            count: 12,
        };
        assert_eq!(read(&file("'<i8'", "(12,)")), Ok(array));
        let array = Array {
            word: Word::Big32,
            is_signed: false,
            count: 3,
        };
        assert_eq!(read(&file("'>u4'", "(3,)")), Ok(array));
    }

    #[test]
    fn what_else_an_array_is_is_named() {
        for (descr, shape, says) in [
            ("'<f8'", "(3,)", "<f8"),
            ("'<u8'", "(3, 2)", "its shape is (3, 2)"),
            ("'<u8'", "()", "its shape is ()"),
            ("[('page', '<u8'), ('op', '|u1')]", "(3,)", "[('page'"),
        ] {
            let said = read(&file(descr, shape)).unwrap_err();
            assert!(said.contains(says), "{descr} {shape}: {said}");
        }
        assert!(
            read(&file("'<u8'", "(3,)")[..40])
                .unwrap_err()
                .contains("cut")
        );
        assert!(read(MAGIC).unwrap_err().contains("version"));
    }
}
