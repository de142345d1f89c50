//! What a person has chosen: the order, the selected process, what stands over the picture. Keys in, requests out.

use super::frame::{Frame, Line};
use super::process_rows::{OfProcess, Sort, place, sorted};
use crate::ui::text::{Paint, Style};
use pressure::scan::Identity;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::widgets::TableState;

/// The direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Rising,
    Falling,
}

impl Order {
    const fn reversed(self) -> Self {
        match self {
            Self::Rising => Self::Falling,
            Self::Falling => Self::Rising,
        }
    }
}

/// What a key asks for beyond the view itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Nothing,
    Quit,
    /// Ctrl-Z: stop until the shell's `fg`.
    Suspend,
    /// A process was chosen to be killed: ask, or say why not.
    Ask(Identity),
    /// The question was answered with yes.
    Kill(Identity),
    Spare(Identity),
    Protect(Identity),
    Release(Identity),
    Scrub(Scrub),
}

/// A move through the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrub {
    Earlier,
    Later,
    /// To the sample before at which the guard did or said something.
    EarlierAct,
    LaterAct,
    Oldest,
    Newest,
    /// Back to what is now.
    Now,
}

/// What stands over the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overlay {
    Nothing,
    Help,
    /// The question before a kill.
    Confirm(Identity),
}

/// Whether keys are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// A picture on paper: no key is named.
    Absent,
    Live,
    /// In the recording.
    Past,
}

/// The colours of styles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paints(pub(super) Paint);

impl Paints {
    pub(super) fn of(self, style: Option<Style>) -> Look {
        let look = Look::new();
        if self.0 == Paint::Plain {
            return look;
        }
        match style {
            None => look,
            Some(Style::Strong) => look.add_modifier(Modifier::BOLD),
            Some(Style::Good) => look.fg(Color::Green),
            Some(Style::Notable) => look.fg(Color::Yellow),
            Some(Style::Bad) => look.fg(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

/// Rows that Page Up and Page Down move by: about half of what a small terminal shows.
const PAGE: isize = 5;

#[derive(Debug)]
pub(super) struct View {
    pub(super) paints: Paints,
    pub(super) keys: Keys,
    pub(super) sort: Sort,
    pub(super) order: Order,
    pub(super) overlay: Overlay,
    /// What the last key came to.
    pub(super) message: Option<(String, Style)>,
    /// The selected process: the selection stays on it while rows move.
    pub(super) selected: Option<Identity>,
    /// The selected row, and the first that is shown.
    pub(super) table: TableState,
}

impl View {
    pub(super) fn new(paint: Paint, keys: Keys) -> Self {
        Self {
            paints: Paints(paint),
            keys,
            sort: Sort::Memory,
            order: Sort::Memory.order(),
            overlay: Overlay::Nothing,
            message: None,
            selected: None,
            table: TableState::default(),
        }
    }

    /// The processes of a picture in the chosen order. The selection moves with its process; if that has ended, it stays
    /// in its row.
    pub(super) fn arranged<'f>(&mut self, frame: &'f Frame) -> Vec<&'f Line> {
        let lines = sorted(&frame.lines, self.sort, self.order);
        if self.keys != Keys::Live {
            self.table.select(None);
            return lines;
        }
        let found = self.selected.and_then(|identity| place(&lines, identity));
        let last = lines.len().saturating_sub(1);
        let row = found.or(self.table.selected()).unwrap_or(0).min(last);
        self.select(&lines, row);
        lines
    }

    fn select(&mut self, lines: &[&Line], row: usize) {
        self.selected = lines.get(row).map(|line| line.candidate.identity);
        self.table.select(self.selected.map(|_| row));
    }

    /// The mark behind the name of the column that processes are sorted by.
    pub(super) fn mark(&self, column: OfProcess) -> &'static str {
        if self.keys == Keys::Absent || column != self.sort.column() {
            return "";
        }
        match self.order {
            Order::Rising => "↑",
            Order::Falling => "↓",
        }
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent, frame: &Frame) -> Request {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'd') => Request::Quit,
                KeyCode::Char('z') => Request::Suspend,
                _ => Request::Nothing,
            };
        }
        self.message = None;
        match std::mem::replace(&mut self.overlay, Overlay::Nothing) {
            Overlay::Confirm(identity) => match key.code {
                KeyCode::Char('y' | 'Y') => Request::Kill(identity),
                _ => Request::Nothing,
            },
            // Any key leaves the help, and does nothing else but to quit.
            Overlay::Help => match key.code {
                KeyCode::Char('q' | 'Q') => Request::Quit,
                _ => Request::Nothing,
            },
            Overlay::Nothing => self.plain_key(key.code, frame),
        }
    }

    fn plain_key(&mut self, code: KeyCode, frame: &Frame) -> Request {
        match code {
            KeyCode::Char('q' | 'Q') => return Request::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.overlay = Overlay::Help,
            KeyCode::Left => return Request::Scrub(Scrub::Earlier),
            KeyCode::Right => return Request::Scrub(Scrub::Later),
            KeyCode::Char('[') => return Request::Scrub(Scrub::EarlierAct),
            KeyCode::Char(']') => return Request::Scrub(Scrub::LaterAct),
            KeyCode::Home if self.keys == Keys::Past => return Request::Scrub(Scrub::Oldest),
            KeyCode::End if self.keys == Keys::Past => return Request::Scrub(Scrub::Newest),
            KeyCode::Esc if self.keys == Keys::Past => return Request::Scrub(Scrub::Now),
            KeyCode::Up => self.move_by(-1, frame),
            KeyCode::Down => self.move_by(1, frame),
            KeyCode::PageUp => self.move_by(-PAGE, frame),
            KeyCode::PageDown => self.move_by(PAGE, frame),
            KeyCode::Home => self.move_by(isize::MIN, frame),
            KeyCode::End => self.move_by(isize::MAX, frame),
            KeyCode::Char('R') => self.order = self.order.reversed(),
            KeyCode::Char(letter) => {
                if let Some(sort) = sort_of(letter) {
                    self.sort = sort;
                    self.order = sort.order();
                } else {
                    return self.process_key(letter);
                }
            }
            _ => {}
        }
        Request::Nothing
    }

    /// A key on the selected process.
    fn process_key(&mut self, letter: char) -> Request {
        if !matches!(letter, 'k' | 's' | 'p' | 'r') {
            return Request::Nothing;
        }
        if self.keys == Keys::Past {
            let text = "this is the past: Esc goes back to now".to_owned();
            self.message = Some((text, Style::Notable));
            return Request::Nothing;
        }
        let Some(identity) = self.selected else {
            self.message = Some(("no process is selected".to_owned(), Style::Notable));
            return Request::Nothing;
        };
        match letter {
            'k' => Request::Ask(identity),
            's' => Request::Spare(identity),
            'p' => Request::Protect(identity),
            _ => Request::Release(identity),
        }
    }

    fn move_by(&mut self, rows: isize, frame: &Frame) {
        let lines = self.arranged(frame);
        let last = lines.len().saturating_sub(1);
        let row = self.table.selected().unwrap_or(0);
        let row = row.saturating_add_signed(rows).min(last);
        if self.keys == Keys::Live {
            self.select(&lines, row);
        }
    }
}

/// What a letter sorts by: capital letters sort, so that small ones may act.
const fn sort_of(letter: char) -> Option<Sort> {
    match letter {
        'M' => Some(Sort::Memory),
        'S' => Some(Sort::Swap),
        'G' => Some(Sort::Growth),
        'P' => Some(Sort::Number),
        'N' => Some(Sort::Name),
        'U' => Some(Sort::User),
        _ => None,
    }
}
