//! One picture on a screen of a given size.

use super::columns::{constraints, fitting, head};
use super::dialogs;
use super::frame::{Frame, Line, Rows, is_narrow};
use super::history::Moment;
use super::view::{Keys, Overlay, View};
use super::{holdings, process_rows};
use crate::ui::text::Style;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::{Modifier, Style as Look};
use ratatui::widgets::{Row, StatefulWidget, Table, TableState};

/// Rows left for the tables below which only processes are shown: two tables of three rows would tell too little.
const BOTH: u16 = 9;
/// Rows of the table of processes that what was decided leaves to it: its head, and the largest.
const PROCESSES: u16 = 4;

/// What is shown.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shown<'s> {
    Now(&'s Frame),
    /// A moment of the recording, and the row with its place in it.
    Past(&'s Moment, &'s str),
}

impl<'s> Shown<'s> {
    pub(super) const fn frame(self) -> &'s Frame {
        match self {
            Self::Now(frame) => frame,
            Self::Past(moment, _) => &moment.frame,
        }
    }
}

/// Returns true if a screen of so many columns shows what was evicted of the files in use.
pub(super) fn shows_evicted(columns: u16) -> bool {
    let kept = fitting(holdings::COLUMNS, columns);
    kept.iter()
        .any(|(column, _)| column.kind == holdings::OfUnit::Evicted)
}

/// Draws everything.
pub(super) fn draw(shown: Shown<'_>, view: &mut View, area: Rect, buffer: &mut Buffer) {
    let lines = view.arranged(shown.frame());
    let mut canvas = Canvas {
        left: area,
        view,
        buffer,
    };
    match shown {
        Shown::Now(frame) => canvas.now(frame, &lines),
        Shown::Past(moment, bar) => canvas.past(moment, bar, &lines),
    }
    match &view.overlay {
        Overlay::Nothing => {}
        Overlay::Help => dialogs::help(area, buffer),
        Overlay::Confirm(identity) => {
            let place = process_rows::place(&lines, *identity);
            dialogs::confirm(place.map(|place| lines[place]), area, buffer);
        }
    }
}

/// The part of a screen that is still empty.
struct Canvas<'c> {
    left: Rect,
    view: &'c mut View,
    buffer: &'c mut Buffer,
}

impl Canvas<'_> {
    fn now(&mut self, frame: &Frame, lines: &[&Line]) {
        let mut above = self.rows();
        above.put(
            &format!("warmset top · {}", frame.state),
            Some(Style::Strong),
        );
        frame.put_numbers(&mut above);
        above.put("", None);
        let below = self.below(frame);
        self.put(&above);
        let left = self.left.height.saturating_sub(below.rows.len() as u16);
        let units = units_that_fit(frame.holdings.len(), left);
        if units > 0 {
            self.put_units(frame, units);
        }
        self.put_processes(lines, below.rows.len() as u16);
        self.put(&below);
    }

    fn past(&mut self, moment: &Moment, bar: &str, lines: &[&Line]) {
        let mut above = self.rows();
        let title = format!("warmset top · {} · {}", moment.time(), moment.frame.state);
        above.put(&title, Some(Style::Strong));
        above.put(bar, None);
        moment.frame.put_numbers(&mut above);
        above.put("", None);
        self.put(&above);
        let mut footer = self.rows();
        self.put_message(&mut footer);
        footer.put(self.footer(), None);
        let mut told = self.told(moment);
        if lines.is_empty() {
            let mut none = self.rows();
            none.put("memory was not short, so processes were not read", None);
            self.put(&none);
        } else {
            let table = PROCESSES.min(lines.len() as u16 + 1);
            told.rows
                .truncate(self.left_above(&footer).saturating_sub(table).into());
            self.put_processes(lines, (told.rows.len() + footer.rows.len()) as u16);
        }
        told.rows.truncate(self.left_above(&footer).into());
        self.put(&told);
        self.put(&footer);
    }

    /// Rows that are left if these stand below them.
    fn left_above(&self, rows: &Rows) -> u16 {
        self.left.height.saturating_sub(rows.rows.len() as u16)
    }

    /// What the guard did and said at a moment.
    fn told(&self, moment: &Moment) -> Rows {
        let mut told = self.rows();
        told.put("", None);
        let style = if moment.acts.is_empty() {
            None
        } else {
            Some(Style::Notable)
        };
        told.put_whole(moment.said(), style);
        for act in &moment.acts {
            told.put_whole(&format!("· {act}"), None);
        }
        told
    }

    /// What stands below the tables.
    fn below(&self, frame: &Frame) -> Rows {
        let mut rows = self.rows();
        rows.put("", None);
        for line in &frame.limited {
            rows.put(line, Some(Style::Notable));
        }
        match &frame.last {
            Some(last) => rows.put(&format!("last: {last}"), None),
            None => rows.put("", None),
        }
        self.put_message(&mut rows);
        rows.put(self.footer(), None);
        rows
    }

    fn put_message(&self, rows: &mut Rows) {
        if let Some((text, style)) = &self.view.message {
            rows.put_whole(text, Some(*style));
        }
    }

    fn footer(&self) -> &'static str {
        match (self.view.keys, is_narrow(self.left.width)) {
            (Keys::Absent, _) => "* has a floor, or is exempt",
            (Keys::Live, false) => {
                "* has a floor, or is exempt · ? help · k kill · ← history · q quit"
            }
            (Keys::Live, true) => "* floor or exempt · ? help · q quit",
            (Keys::Past, false) => {
                "← → step · [ ] what the guard did · Esc back to now · ? help · q quit"
            }
            (Keys::Past, true) => "← → [ ] step · Esc now · ? help",
        }
    }

    fn rows(&self) -> Rows {
        Rows::of(Size {
            width: self.left.width,
            height: self.buffer.area.height,
        })
    }

    /// Draws rows, and goes below them. A longer one is cut.
    fn put(&mut self, rows: &Rows) {
        for (text, style) in &rows.rows {
            if self.left.height == 0 {
                return;
            }
            let width = usize::from(self.left.width);
            let look = self.view.paints.of(*style);
            self.buffer
                .set_stringn(self.left.x, self.left.y, text.trim_end(), width, look);
            self.go_down(1);
        }
    }

    fn go_down(&mut self, rows: u16) {
        let rows = rows.min(self.left.height);
        self.left.y += rows;
        self.left.height -= rows;
    }

    fn put_units(&mut self, frame: &Frame, units: u16) {
        let columns = fitting(holdings::COLUMNS, self.left.width);
        let mut rows = Vec::new();
        for (one, role) in &frame.holdings[..units.into()] {
            rows.push(holdings::row(one, role, &columns, self.view.paints));
        }
        let head = head(&columns, self.view.paints, |_| "");
        let table = Table::new(rows, constraints(&columns)).header(head);
        self.put_table(table, units + 1, &mut TableState::default());
    }

    /// Draws processes into what is left but for some rows below them.
    fn put_processes(&mut self, lines: &[&Line], below: u16) {
        let columns = fitting(process_rows::COLUMNS, self.left.width);
        let rows: Vec<Row<'_>> = lines
            .iter()
            .map(|line| process_rows::row(line, &columns, self.view.paints))
            .collect();
        let height = self
            .left
            .height
            .saturating_sub(below)
            .min(rows.len() as u16 + 1)
            .max(2);
        let head = head(&columns, self.view.paints, |kind| self.view.mark(*kind));
        let table = Table::new(rows, constraints(&columns))
            .header(head)
            .row_highlight_style(Look::new().add_modifier(Modifier::REVERSED));
        let mut state = std::mem::take(&mut self.view.table);
        let top = self.left.y;
        self.put_table(table, height, &mut state);
        if let Some(row) = state.selected() {
            self.point_at(top + 1 + row.saturating_sub(state.offset()) as u16);
        }
        self.view.table = state;
    }

    /// Marks the selected row also where reversed video is not seen, unless a process number stands there.
    fn point_at(&mut self, row: u16) {
        if let Some(cell) = self.buffer.cell_mut((self.left.x, row)) {
            if cell.symbol() == " " {
                cell.set_symbol(">");
            }
        }
    }

    fn put_table(&mut self, table: Table<'_>, height: u16, state: &mut TableState) {
        let area = Rect {
            height: height.min(self.left.height),
            ..self.left
        };
        StatefulWidget::render(table, area, self.buffer, state);
        self.go_down(height);
    }
}

/// How many units are shown where so many rows are left for both tables.
fn units_that_fit(units: usize, left: u16) -> u16 {
    // A row for the head of each table.
    let rows = left.saturating_sub(2);
    if rows < BOTH {
        return 0;
    }
    let half = (rows - 1) / 2;
    half.min(u16::try_from(units).unwrap_or(u16::MAX))
}
