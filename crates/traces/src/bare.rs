//! Bare page numbers, one after the other: words of four or eight bytes without a header.

use crate::input::Input;
use crate::numpy;
use crate::oracle::array;
use crate::{BATCH, Error, Format, Reading, Source};
use std::collections::HashSet;
use workingset::{About, Batch};

/// The size and byte order of a page number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Little32,
    Big32,
    Little64,
    Big64,
}

impl Word {
    fn size(self) -> usize {
        match self {
            Self::Little32 | Self::Big32 => 4,
            Self::Little64 | Self::Big64 => 8,
        }
    }

    /// The name of the format of such words.
    fn format(self) -> &'static str {
        match self {
            Self::Little32 => "u32",
            Self::Big32 => "u32be",
            Self::Little64 => "u64",
            Self::Big64 => "u64be",
        }
    }

    fn value(self, word: &[u8]) -> u64 {
        match self {
            Self::Little32 => u32::from_le_bytes(array(word)).into(),
            Self::Big32 => u32::from_be_bytes(array(word)).into(),
            Self::Little64 => u64::from_le_bytes(array(word)),
            Self::Big64 => u64::from_be_bytes(array(word)),
        }
    }
}

/// Page numbers one after the other, without a header.
pub(crate) struct Words<'a> {
    input: Input<'a>,
    word: Word,
    page_size: u64,
    format: &'static str,
    /// A higher number is a negative one.
    highest: u64,
    /// How many are to come, where a header says so.
    left: Option<u64>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(input: Input<'a>, word: Word, reading: Reading) -> Self {
        Self {
            input,
            word,
            page_size: reading.page_size,
            format: word.format(),
            highest: u64::MAX,
            left: None,
        }
    }

    /// The numbers of a NumPy array.
    pub(crate) fn numpy(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let array = numpy::header(&mut input)?;
        let highest = match (array.is_signed, array.word.size()) {
            (false, _) => u64::MAX,
            (true, 4) => i32::MAX as u64,
            (true, _) => i64::MAX as u64,
        };
        Ok(Self {
            format: "npy",
            highest,
            left: Some(array.count),
            ..Self::new(input, array.word, reading)
        })
    }

    /// Refuses a negative number, and an array that ends too soon.
    fn check(&mut self, pages: &[u64]) -> Result<(), Error> {
        let negative = pages.iter().position(|page| *page > self.highest);
        if let Some(at) = negative {
            let before = (pages.len() - at) * self.word.size();
            return Err(self.input.wrong_byte(before, "a negative page number"));
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(pages.len() as u64);
            if pages.is_empty() && *left > 0 {
                let what = format!("the array ends {left} numbers too soon");
                return Err(self.input.wrong_byte(0, &what));
            }
        }
        Ok(())
    }
}

impl Source for Words<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let size = self.word.size();
        if self.left == Some(0) {
            return if self.input.peek()?.is_empty() {
                Ok(false)
            } else {
                Err(self.input.wrong_byte(0, "more follows the array"))
            };
        }
        let most = self.left.map_or(BATCH, |left| BATCH.min(left as usize));
        let records = self.input.records(size, most)?;
        let words = records.chunks_exact(size);
        // One loop for each kind: the choice is not to be made for each word.
        let pages = &mut batch.page;
        match self.word {
            Word::Little32 => pages.extend(words.map(|word| Word::Little32.value(word))),
            Word::Big32 => pages.extend(words.map(|word| Word::Big32.value(word))),
            Word::Little64 => pages.extend(words.map(|word| Word::Little64.value(word))),
            Word::Big64 => pages.extend(words.map(|word| Word::Big64.value(word))),
        }
        self.check(&batch.page)?;
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            format: self.format.to_owned(),
            page_size: self.page_size,
            ..About::default()
        }
    }
}

/// Words that there must be: fewer are too few to tell anything.
const FEWEST: usize = 16;
/// Records of so many words are looked for, and each place in them must have come so often.
const LONGEST_RECORD: usize = 16;
const OFTEN: usize = 32;
/// Numbers of one place in records that are so many times those of another are of another kind.
const APART: u64 = 64;

/// Which kind of words a file of bare page numbers has.
///
/// Page numbers are small, so their highest bytes are zero in nearly all words. What is not told apart by that, or looks like
/// records, is refused.
pub(crate) fn recognise(head: &[u8], whole: bool) -> Result<Format, String> {
    let fits = |size: usize| !whole || head.len() % size == 0;
    if head.len() < FEWEST * 4 {
        let start = crate::numbers::quoted(&head[..head.len().min(24)]);
        return Err(format!(
            "{} bytes of no known beginning: {start}",
            head.len()
        ));
    }
    // How often each of eight bytes is zero.
    let zero = |byte: usize| is_mostly_zero(head, 8, byte);
    if fits(8) && head.len() >= FEWEST * 8 {
        let upper_half = (4..8).all(zero);
        let lower_half = (0..4).all(zero);
        match (upper_half, lower_half) {
            (true, true) => return Err("nearly all bytes are zero".to_owned()),
            (true, false) => return varied(head, 8, [0, 1]).map(|()| Format::U64),
            (false, true) => return varied(head, 8, [7, 6]).map(|()| Format::U64Be),
            (false, false) => {}
        }
    }
    if !fits(4) {
        return Err(format!("{} bytes are no whole words of four", head.len()));
    }
    let zero = |byte: usize| is_mostly_zero(head, 4, byte);
    let word = match (zero(0), zero(3)) {
        (true, false) => Word::Big32,
        (false, true) => Word::Little32,
        (true, true) => {
            return Err("both ends of nearly all words of four bytes are zero".to_owned());
        }
        (false, false) => {
            return Err("its words of four bytes are no page numbers: these are small, and their highest byte is zero".to_owned());
        }
    };
    // The bytes of a word, the lowest first.
    let [lowest, second, third] = match word {
        Word::Little32 => [0, 1, 2],
        _ => [3, 2, 1],
    };
    varied(head, 4, [lowest, second])?;
    // Of words of two bytes, a small one each, every second byte is zero.
    if zero(second) && !zero(third) {
        return Err("every second byte is zero, as in words of two bytes".to_owned());
    }
    let numbers: Vec<u64> = head
        .chunks_exact(4)
        .map(|bytes| word.value(bytes))
        .collect();
    if let Some(length) = record_length(&numbers) {
        return Err(format!(
            "its words of four bytes look like records of {length} words, of different kinds"
        ));
    }
    Ok(match word {
        Word::Big32 => Format::U32Be,
        _ => Format::U32,
    })
}

/// Refuses words whose lowest byte has fewer values than the next one, as floating-point numbers and addresses have them: the
/// lowest byte of page numbers varies the most.
fn varied(head: &[u8], size: usize, [lowest, next]: [usize; 2]) -> Result<(), String> {
    let values = |byte: usize| {
        let values: HashSet<u8> = head.chunks_exact(size).map(|word| word[byte]).collect();
        values.len()
    };
    if values(lowest) >= values(next) {
        return Ok(());
    }
    Err(format!(
        "the lowest byte of its words of {size} varies less than the next one, as in floating-point numbers or addresses"
    ))
}

/// Returns true if this byte of each word of `size` is zero in more than nine of ten words.
fn is_mostly_zero(head: &[u8], size: usize, byte: usize) -> bool {
    let words = head.chunks_exact(size);
    let count = words.len();
    let zeros = words.filter(|word| word[byte] == 0).count();
    zeros * 10 > count * 9
}

/// The length of the records that these numbers look like: at one place always the same number, or numbers of another order than
/// at another place. `None` if they look like one kind of number.
fn record_length(numbers: &[u64]) -> Option<usize> {
    let all_equal = |numbers: &[u64]| numbers.iter().all(|number| *number == numbers[0]);
    if all_equal(numbers) {
        return None;
    }
    (2..=LONGEST_RECORD)
        .filter(|length| numbers.len() >= length * OFTEN)
        .find(|length| {
            let places: Vec<Vec<u64>> = (0..*length)
                .map(|place| {
                    numbers
                        .iter()
                        .skip(place)
                        .step_by(*length)
                        .copied()
                        .collect()
                })
                .collect();
            let medians: Vec<u64> = places.iter().map(|place| median(place)).collect();
            let least = medians.iter().min().copied().unwrap_or_default();
            let most = medians.iter().max().copied().unwrap_or_default();
            let is_apart = most / least.max(1) >= APART;
            is_apart || places.iter().any(|place| all_equal(place))
        })
}

fn median(numbers: &[u64]) -> u64 {
    let mut sorted = numbers.to_vec();
    let middle = sorted.len() / 2;
    *sorted.select_nth_unstable(middle).1
}
