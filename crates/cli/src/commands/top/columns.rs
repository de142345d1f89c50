//! Which columns of a table fit.

use super::view::Paints;
use crate::ui::text::Style;
use ratatui::layout::{Alignment, Constraint};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row};

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column<K> {
    pub(super) kind: K,
    pub(super) name: &'static str,
    pub(super) side: Side,
    /// Characters that it needs, and that it can use.
    pub(super) width: (u16, u16),
    /// Its place in the order in which columns are left out of a narrow terminal, from 1; `None` if it never is.
    pub(super) leaves: Option<u8>,
}

/// The columns that fit `width` characters with a blank between two, and how wide each is.
pub(super) fn fitting<K>(
    columns: &'static [Column<K>],
    width: u16,
) -> Vec<(&'static Column<K>, u16)> {
    let mut kept: Vec<(&'static Column<K>, u16)> = Vec::new();
    for column in columns {
        kept.push((column, column.width.0));
    }
    while taken(&kept) > width {
        let leaving = kept.iter().filter_map(|(column, _)| column.leaves).min();
        let Some(leaving) = leaving else {
            break;
        };
        kept.retain(|(column, _)| column.leaves != Some(leaving));
    }
    let mut spare = width.saturating_sub(taken(&kept));
    for (column, width) in &mut kept {
        let more = spare.min(column.width.1 - column.width.0);
        *width += more;
        spare -= more;
    }
    kept
}

/// Characters of columns with a blank between two.
fn taken<K>(columns: &[(&Column<K>, u16)]) -> u16 {
    let blanks = columns.len().saturating_sub(1) as u16;
    columns.iter().map(|(_, width)| width).sum::<u16>() + blanks
}

/// The widths, as a table takes them.
pub(super) fn constraints<K>(columns: &[(&Column<K>, u16)]) -> Vec<Constraint> {
    let widths = columns.iter().map(|(_, width)| *width);
    widths.map(Constraint::Length).collect()
}

/// The row of names; `mark` follows the name of a column.
pub(super) fn head<K>(
    columns: &[(&'static Column<K>, u16)],
    paints: Paints,
    mark: impl Fn(&K) -> &'static str,
) -> Row<'static> {
    let mut cells = Vec::new();
    for (column, _) in columns {
        let name = format!("{}{}", column.name, mark(&column.kind));
        cells.push(cell(name, column.side));
    }
    Row::new(cells).style(paints.of(Some(Style::Strong)))
}

/// A cell of a column.
pub(super) fn cell(text: String, side: Side) -> Cell<'static> {
    let alignment = match side {
        Side::Left => Alignment::Left,
        Side::Right => Alignment::Right,
    };
    Cell::new(Line::from(Span::raw(text)).alignment(alignment))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column<char>] = &[
        column('a', (4, 4), None),
        column('b', (6, 6), Some(2)),
        column('c', (5, 9), Some(1)),
    ];

    const fn column(kind: char, width: (u16, u16), leaves: Option<u8>) -> Column<char> {
        Column {
            kind,
            name: "X",
            side: Side::Left,
            width,
            leaves,
        }
    }

    fn fit(width: u16) -> Vec<(char, u16)> {
        let kept = fitting(COLUMNS, width);
        kept.iter()
            .map(|(column, width)| (column.kind, *width))
            .collect()
    }

    #[test]
    fn columns_leave_in_their_order_and_the_rest_is_given_to_those_that_can_use_it() {
        assert_eq!(fit(30), [('a', 4), ('b', 6), ('c', 9)]);
        assert_eq!(fit(18), [('a', 4), ('b', 6), ('c', 6)]);
        assert_eq!(fit(16), [('a', 4), ('b', 6)]);
        assert_eq!(fit(10), [('a', 4)]);
        assert_eq!(fit(1), [('a', 4)], "one column always stays");
    }
}
