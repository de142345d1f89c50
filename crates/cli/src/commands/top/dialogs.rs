//! What stands over a picture: the keys, and the question before a kill.

use super::columns::Column;
use super::frame::{Line, is_narrow};
use super::{holdings, process_rows};
use crate::ui::text::wrapped;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Clear, Paragraph, Widget};

/// The keys, and what they do.
const KEYS: &[(&str, &str)] = &[
    ("↑ ↓", "select a process"),
    ("MSGPNU", "sort by memory, swap, growth, PID, name, user"),
    ("R", "reverse the order"),
    ("k", "kill it: SIGTERM, after a question"),
    ("s", "spare it: it is never killed"),
    ("p", "protect the memory of its unit"),
    ("r", "release: undo s and p"),
    ("← →", "the recording, a sample at a time"),
    ("[ ]", "what the guard did before, next"),
    ("Esc", "from the recording back to now"),
    ("q", "quit"),
];
/// Characters of the column of keys, with the blanks behind it.
const KEY: usize = 8;
/// The widest dialog: longer lines are hard to read.
const WIDEST: u16 = 64;

/// Draws the keys.
pub(super) fn help(area: Rect, buffer: &mut Buffer) {
    // A phone has no columns to lose to a border.
    let border = if is_narrow(area.width) { 0 } else { 2 };
    let width = usize::from(area.width.min(WIDEST).saturating_sub(border)).max(2 * KEY);
    let mut lines = Vec::new();
    for (key, what) in KEYS {
        for (index, text) in wrapped(what, width - KEY).iter().enumerate() {
            let key = if index == 0 { *key } else { "" };
            lines.push(format!("{key:<KEY$}{text}"));
        }
    }
    let order = format!(
        "s and p last until the next boot. Narrow terminals leave columns out: {}; then {}.",
        order(holdings::COLUMNS),
        order(process_rows::COLUMNS)
    );
    lines.extend(wrapped(&order, width));
    dialog("warmset top: keys", &lines, border, area, buffer);
}

/// The names of columns in the order in which they are left out.
fn order<K>(columns: &[Column<K>]) -> String {
    let mut leaving: Vec<(u8, &str)> = columns
        .iter()
        .filter_map(|column| Some((column.leaves?, column.name)))
        .collect();
    leaving.sort_unstable();
    let names: Vec<&str> = leaving.iter().map(|(_, name)| *name).collect();
    names.join(", ")
}

/// Draws the question before a kill; `None` if the process has ended meanwhile.
pub(super) fn confirm(line: Option<&Line>, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width.min(WIDEST).saturating_sub(2));
    let Some(line) = line else {
        let lines = wrapped("The process has ended. Any key goes on.", width);
        dialog("kill", &lines, 2, area, buffer);
        return;
    };
    let candidate = &line.candidate;
    let unit = if candidate.unit.is_empty() {
        String::new()
    } else {
        format!(", runs in {}", candidate.unit)
    };
    let text = format!(
        "It is {}'s{unit}, and holds {}. SIGTERM asks it to end: it may save its work, and may refuse.",
        line.user,
        candidate.size()
    );
    let mut lines = wrapped(&text, width);
    lines.push(String::new());
    lines.push("y  send SIGTERM".to_owned());
    lines.push("any other key  leave it alone".to_owned());
    let title = format!("kill {} ({})?", candidate.name, candidate.identity.pid);
    dialog(&title, &lines, 2, area, buffer);
}

/// Draws a dialog in the middle; `border` is what its border takes of each side.
fn dialog(title: &str, lines: &[String], border: u16, area: Rect, buffer: &mut Buffer) {
    let height = (lines.len() as u16 + border).min(area.height);
    let width = area.width.min(WIDEST);
    let text = Paragraph::new(lines.join("\n"));
    if border == 0 {
        Clear.render(area, buffer);
        text.block(Block::new().title(title)).render(area, buffer);
        return;
    }
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, buffer);
    let block = Block::bordered().title(format!(" {title} "));
    text.block(block).render(place, buffer);
}
