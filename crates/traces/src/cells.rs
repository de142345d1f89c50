//! A table of text, split into rows and these into cells.
//!
//! Blocks of whole lines are searched for line ends and delimiters at once. A row with a quoted cell, which may have both inside,
//! is split by the csv library.

use crate::Error;
use crate::input::Input;
use crate::marks::Marks;
use csv::{ByteRecord, ReaderBuilder};

/// The longest row with a quoted cell: a longer one has a quote that is not closed.
const LONGEST_QUOTED: usize = 1 << 20;

/// The rows of a table.
pub(crate) struct Rows<'a> {
    input: Input<'a>,
    delimiter: u8,
    /// Line ends before the next row.
    lines: u64,
    /// Cells of a row that are wanted: what is behind them is not kept.
    wanted: usize,
}

/// Where the search for rows goes on.
enum Next {
    /// The rows of this block are done, or no more are wanted: so many bytes have been used.
    Block(usize),
    /// No more rows are wanted.
    Enough(usize),
}

impl<'a> Rows<'a> {
    pub(crate) fn new(input: Input<'a>, delimiter: u8) -> Self {
        Self {
            input,
            delimiter,
            lines: 0,
            wanted: usize::MAX,
        }
    }

    /// From now on only the first cells of each row are needed.
    pub(crate) fn want(&mut self, cells: usize) {
        self.wanted = cells;
    }

    /// Shows rows, one by one, until `take` wants no more. Empty lines and comments, lines that begin with `#`, are passed over.
    ///
    /// Returns false at the end of the table. Errors: what `take` finds wrong, with the line's number; a row that is too long.
    pub(crate) fn each(
        &mut self,
        mut take: impl FnMut(&[&[u8]]) -> Result<bool, String>,
    ) -> Result<bool, Error> {
        let mut longer = 0;
        loop {
            let (block, is_last) = self.input.lines(longer)?;
            if block.is_empty() {
                return Ok(false);
            }
            let mut rows = BlockRows {
                delimiter: self.delimiter,
                wanted: self.wanted,
                is_last,
                lines: self.lines,
            };
            let size = block.len();
            let done = rows.each(block, &mut take);
            let next = done.map_err(|what| Error::Malformed {
                place: format!("line {}", rows.lines + 1),
                what,
            })?;
            self.lines = rows.lines;
            match next {
                Next::Enough(used) => {
                    self.input.skip(used);
                    return Ok(true);
                }
                Next::Block(used) => {
                    self.input.skip(used);
                    // A quoted cell goes on behind the block: the next one must be longer than what is left.
                    let left = size - used;
                    longer = if left > 0 { left + 1 } else { 0 };
                    if longer > LONGEST_QUOTED {
                        return Err(Error::Malformed {
                            place: format!("line {}", self.lines + 1),
                            what: "a quote is not closed within 1 MiB".to_owned(),
                        });
                    }
                }
            }
        }
    }

    /// The next row, and takes it.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut row = None;
        self.each(|cells| {
            row = Some(cells.iter().map(|cell| cell.to_vec()).collect());
            Ok(false)
        })?;
        Ok(row)
    }

    /// The next row, without taking it.
    pub(crate) fn peek(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let before = self.input.offset();
        let lines = self.lines;
        let row = self.next()?;
        self.input.give_back(self.input.offset() - before);
        self.lines = lines;
        Ok(row)
    }
}

/// Whether the cell that begins here is quoted. In a comment none is.
#[inline]
fn is_quoted(block: &[u8], row: usize, start: usize) -> bool {
    block.get(start) == Some(&b'"') && block[row] != b'#'
}

/// Shows a row, unless it is an empty line or a comment. Returns whether more are wanted.
#[inline]
fn end_row(
    line: &[u8],
    cells: &[&[u8]],
    take: &mut impl FnMut(&[&[u8]]) -> Result<bool, String>,
) -> Result<bool, String> {
    match line {
        [] | [b'\r'] | [b'#', ..] => Ok(true),
        _ => take(cells),
    }
}

/// The rows of one block.
struct BlockRows {
    delimiter: u8,
    wanted: usize,
    /// Whether nothing follows the block, so that its last row needs no line end.
    is_last: bool,
    lines: u64,
}

impl BlockRows {
    fn each(
        &mut self,
        block: &[u8],
        take: &mut impl FnMut(&[&[u8]]) -> Result<bool, String>,
    ) -> Result<Next, String> {
        let mut cells: Vec<&[u8]> = Vec::new();
        let has_quotes = memchr::memchr(b'"', block).is_some();
        // Where the row, and the cell, begin.
        let mut row = 0;
        let mut start = 0;
        'search: loop {
            for at in Marks::new(block, self.delimiter, start) {
                if has_quotes && is_quoted(block, row, start) {
                    let Some(end) = self.quoted_row_end(&block[row..])? else {
                        return Ok(Next::Block(row));
                    };
                    let text = &block[row..row + end];
                    let goes_on = self.take_quoted(text, take)?;
                    self.lines += memchr::memchr_iter(b'\n', text).count() as u64;
                    cells.clear();
                    row += end;
                    start = row;
                    if !goes_on {
                        return Ok(Next::Enough(row));
                    }
                    continue 'search;
                }
                self.end_cell(&mut cells, &block[start..at]);
                start = at + 1;
                if block[at] == b'\n' {
                    let goes_on = end_row(&block[row..at], &cells, take)?;
                    self.lines += 1;
                    cells.clear();
                    row = start;
                    if !goes_on {
                        return Ok(Next::Enough(row));
                    }
                }
            }
            break;
        }
        // Without a line end; an empty rest is no row.
        if !self.is_last || row == block.len() {
            return Ok(Next::Block(row));
        }
        let goes_on = if is_quoted(block, row, start) {
            self.quoted_row_end(&block[row..])?;
            self.take_quoted(&block[row..], take)?
        } else {
            self.end_cell(&mut cells, &block[start..]);
            end_row(&block[row..], &cells, take)?
        };
        if goes_on {
            return Ok(Next::Block(block.len()));
        }
        Ok(Next::Enough(block.len()))
    }

    #[inline]
    fn end_cell<'b>(&self, cells: &mut Vec<&'b [u8]>, cell: &'b [u8]) {
        if cells.len() < self.wanted {
            cells.push(cell);
        }
    }

    /// The end of a row with a quoted cell, behind its line end; `None` if it is not in the block.
    ///
    /// A cell is quoted if it begins with a quote; a quote inside of it stands twice. Errors: a quote that is not closed when the
    /// table ends.
    fn quoted_row_end(&self, text: &[u8]) -> Result<Option<usize>, String> {
        let mut is_inside = false;
        // Where a quote opens a cell, or goes on with one: at its start, and right behind a quote that closed it.
        let mut opens_at = 0;
        for at in memchr::memchr3_iter(b'\n', self.delimiter, b'"', text) {
            match text[at] {
                b'"' if is_inside => {
                    is_inside = false;
                    opens_at = at + 1;
                }
                b'"' if at == opens_at => is_inside = true,
                b'"' => {}
                _ if is_inside => {}
                b'\n' => return Ok(Some(at + 1)),
                _ => opens_at = at + 1,
            }
        }
        if self.is_last && is_inside {
            return Err("a quote is not closed".to_owned());
        }
        Ok(self.is_last.then_some(text.len()))
    }

    /// Splits a row by the library, and shows it.
    fn take_quoted(
        &self,
        text: &[u8],
        take: &mut impl FnMut(&[&[u8]]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .delimiter(self.delimiter)
            .flexible(true)
            .from_reader(text);
        let mut record = ByteRecord::new();
        let is_row = reader
            .read_byte_record(&mut record)
            .map_err(|error| error.to_string())?;
        if !is_row {
            return Ok(true);
        }
        let cells: Vec<&[u8]> = record.iter().collect();
        take(&cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All rows as this module splits them, some at a time.
    fn rows(text: &[u8], at_once: usize) -> Vec<Vec<Vec<u8>>> {
        let mut table = Rows::new(Input::new(Box::new(text)), b',');
        let mut rows: Vec<Vec<Vec<u8>>> = Vec::new();
        loop {
            let mut left = at_once;
            let more = table.each(|cells| {
                rows.push(
                    cells
                        .iter()
                        .map(|cell| cell.trim_ascii().to_vec())
                        .collect(),
                );
                left -= 1;
                Ok(left > 0)
            });
            if !more.unwrap() {
                return rows;
            }
        }
    }

    /// The same by the library.
    fn by_library(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .from_reader(text);
        reader
            .byte_records()
            .map(|row| {
                row.unwrap()
                    .iter()
                    .map(|cell| cell.trim_ascii().to_vec())
                    .collect()
            })
            .collect()
    }

    /// Rows of cells, some of them quoted with anything inside, and lines that are none.
    fn text() -> impl Strategy<Value = String> {
        let cell = prop::sample::select(vec![
            "a",
            "",
            "12",
            " b ",
            "x\"y",
            "\"a,\nb\"",
            "\"x\"\"y\"",
            "\"\"",
        ]);
        let row = prop::collection::vec(cell, 1..5).prop_map(|cells| cells.join(","));
        let comment =
            prop::sample::select(vec!["# a, \"comment", "#\"", ""]).prop_map(str::to_owned);
        let line = prop_oneof![4 => row.clone(), 1 => comment];
        let end = prop::sample::select(vec!["\n", "\r\n"]);
        let lines = prop::collection::vec((line, end), 0..12);
        // The last row may lack its end; of a comment without one the library makes a row.
        let last = prop_oneof![Just(String::new()), row];
        (lines, last).prop_map(|(lines, last)| {
            let ended: Vec<String> = lines
                .iter()
                .map(|(line, end)| format!("{line}{end}"))
                .collect();
            let mut text = ended.concat();
            text.push_str(&last);
            text
        })
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_library(text in text(), at_once in 1_usize..4) {
            let text = text.as_bytes();
            prop_assert_eq!(rows(text, at_once), by_library(text));
        }
    }

    #[test]
    fn a_quoted_cell_may_span_lines_and_blocks() {
        let long = "x\n".repeat(200_000);
        let text = format!("1,\"{long}\",2\n3,4,5\n");
        let found = rows(text.as_bytes(), 1);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0][1], long.trim_ascii_end().as_bytes());
        assert_eq!(found[1], [b"3", b"4", b"5"]);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_an_error() {
        let text = format!("1,2\n3,\"{}", "y\n".repeat(1_000_000));
        let mut table = Rows::new(Input::new(Box::new(text.as_bytes())), b',');
        let wrong = table.each(|_| Ok(true)).unwrap_err().to_string();
        assert_eq!(wrong, "line 2: a quote is not closed within 1 MiB");
        let mut table = Rows::new(Input::new(Box::new(&b"1,2\n3,\"4\n5,6\n"[..])), b',');
        let wrong = table.each(|_| Ok(true)).unwrap_err().to_string();
        assert_eq!(wrong, "line 2: a quote is not closed");
    }
}
