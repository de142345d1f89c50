//! The table of working sets: a row for each unit, or for each process group where control groups do not count memory.

use crate::ui::text::Style;
use inspect::survey::Holding;
use pressure::distress::keeps_the_system_up;
use pressure::scan::Place;
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

/// The columns that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    Few,
    Usual,
    /// With what was evicted of its files.
    All,
}

/// The names of the columns.
pub(super) fn head(columns: Columns) -> String {
    if columns == Columns::Few {
        return format!("{:>9} {:>11} {:<18}", "WARM", "GROWTH", "UNIT");
    }
    let evicted = evicted("EVICTED", columns);
    format!(
        "{:>9} {:>9} {evicted}{:>12} {:>7} {:<8} {:<10} {:<19}",
        "WARM", "OF", "GROWTH", "REFLT/S", "KNOWN BY", "ROLE", "UNIT"
    )
}

/// A cell of the column of evicted memory, if there is one.
fn evicted(text: &str, columns: Columns) -> String {
    if columns == Columns::All {
        format!("{text:>9} ")
    } else {
        String::new()
    }
}

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
pub(super) fn row(one: &Holding, role: &str, columns: Columns) -> (String, Option<Style>) {
    let (growth_text, style) = growth(one.growth);
    let warm = one.warm.to_string();
    let used = one.used.to_string();
    if columns == Columns::Few {
        let row = format!("{warm:>9} {growth_text:>11} {:<18}", one.name);
        return (row, style);
    }
    let refaults = match one.refaults {
        Some(pages) if pages > 0 => pages.to_string(),
        _ => String::new(),
    };
    let evicted_text = match one.evicted {
        Some(bytes) => bytes.to_string(),
        None => String::new(),
    };
    let evicted = evicted(&evicted_text, columns);
    let mark = if one.floor > Bytes::ZERO { "*" } else { "" };
    let row = format!(
        "{:>9} {used:>9} {evicted}{growth_text:>12} {refaults:>7} {:<8} {role:<10} {:<19}",
        warm + mark,
        one.by.name(),
        one.name
    );
    (row, style)
}
