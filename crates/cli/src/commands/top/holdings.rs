//! The table of working sets: a row for each unit, or for each process group where control groups do not count memory.

use super::columns::{Column, Side, cell};
use super::view::Paints;
use crate::ui::text::Style;
use inspect::survey::Holding;
use pressure::distress::keeps_the_system_up;
use pressure::scan::Place;
use ratatui::widgets::Row;
use units::{Bytes, Rate};

/// Slower growth than 1 MiB/s is not shown: it is noise of the counters.
const LEAST_GROWTH: u64 = 1 << 20;

/// The role of a unit, by its name and its place.
pub(super) fn role(one: &Holding, protected: &[String]) -> &'static str {
    match one.place {
        Place::Session | Place::Desktop => "session",
        Place::Container => "container",
        Place::Service if keeps_the_system_up(&one.name) || protected.contains(&one.name) => {
            "critical"
        }
        Place::Service => "background",
        Place::App if one.path.contains("/background.slice/") => "background",
        Place::App => "foreground",
        Place::Unknown => "",
    }
}

/// What a column shows of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfUnit {
    Warm,
    Used,
    /// What was evicted of its files.
    Evicted,
    Growth,
    Refaults,
    KnownBy,
    Role,
    Name,
}

/// On a narrow terminal they are left out in this order: EVICTED, KNOWN BY, REFLT/S, ROLE, OF.
#[rustfmt::skip]
pub(super) const COLUMNS: &[Column<OfUnit>] = &[
    Column { kind: OfUnit::Warm, name: "WARM", side: Side::Right, width: (9, 9), leaves: None },
    Column { kind: OfUnit::Used, name: "OF", side: Side::Right, width: (9, 9), leaves: Some(5) },
    Column { kind: OfUnit::Evicted, name: "EVICTED", side: Side::Right, width: (9, 9), leaves: Some(1) },
    Column { kind: OfUnit::Growth, name: "GROWTH", side: Side::Right, width: (11, 12), leaves: None },
    Column { kind: OfUnit::Refaults, name: "REFLT/S", side: Side::Right, width: (7, 7), leaves: Some(3) },
    Column { kind: OfUnit::KnownBy, name: "KNOWN BY", side: Side::Left, width: (8, 8), leaves: Some(2) },
    Column { kind: OfUnit::Role, name: "ROLE", side: Side::Left, width: (10, 10), leaves: Some(4) },
    Column { kind: OfUnit::Name, name: "UNIT", side: Side::Left, width: (18, 64), leaves: None },
];

/// The cell of growth, and its style; growth is a rate, and true if it is upwards.
pub(super) fn growth(of: Option<(Rate, bool)>) -> (String, Option<Style>) {
    match of {
        Some((rate, _)) if rate.get() < LEAST_GROWTH => (String::new(), None),
        Some((rate, true)) => (format!("+{rate}"), Some(Style::Notable)),
        Some((rate, false)) => (format!("-{rate}"), None),
        None => (String::new(), None),
    }
}

/// The row of a unit; `*` marks one that has a floor.
pub(super) fn row(
    one: &Holding,
    role: &str,
    columns: &[(&'static Column<OfUnit>, u16)],
    paints: Paints,
) -> Row<'static> {
    let (growth_text, style) = growth(one.growth);
    let mut cells = Vec::new();
    for (column, _) in columns {
        let text = match column.kind {
            OfUnit::Warm if one.floor > Bytes::ZERO => format!("{}*", one.warm),
            OfUnit::Warm => one.warm.to_string(),
            OfUnit::Used => one.used.to_string(),
            OfUnit::Evicted => one
                .evicted
                .map(|bytes| bytes.to_string())
                .unwrap_or_default(),
            OfUnit::Growth => growth_text.clone(),
            OfUnit::Refaults => match one.refaults {
                Some(pages) if pages > 0 => pages.to_string(),
                _ => String::new(),
            },
            OfUnit::KnownBy => one.by.name().to_owned(),
            OfUnit::Role => role.to_owned(),
            OfUnit::Name => one.name.clone(),
        };
        cells.push(cell(text, column.side));
    }
    Row::new(cells).style(paints.of(style))
}
