//! Whose memory is warm: a row for each unit, or each process group where control groups do not count memory.

use crate::page::Style;
use inspect::survey::Holding;
use pressure::distress::keeps_the_system_up;
use pressure::scan::Place;
use units::{Bytes, Rate};

/// Slower growth is not worth a word.
const LEAST_GROWTH: u64 = 1 << 20;

/// What a unit is for, as its name and its place tell.
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

/// Which columns there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    Few,
    Usual,
    /// For what was evicted of its files, too.
    All,
}

/// The names of the columns.
pub(super) fn head(columns: Columns) -> String {
    if columns == Columns::Few {
        return format!("{:>9} {:>11} {:<18}", "WARM", "GROWTH", "WHOSE");
    }
    let evicted = evicted("EVICTED", columns);
    format!(
        "{:>9} {:>9} {evicted}{:>12} {:>7} {:<8} {:<10} {:<19}",
        "WARM", "OF", "GROWTH", "AGAIN/S", "KNOWN BY", "ROLE", "WHOSE"
    )
}

/// The column of what was evicted, where there is room for it.
fn evicted(text: &str, columns: Columns) -> String {
    if columns == Columns::All {
        format!("{text:>9} ")
    } else {
        String::new()
    }
}

/// How fast something grows, as all tables have it.
pub(super) fn growth(of: Option<(Rate, bool)>) -> (String, Option<Style>) {
    let growth = of.filter(|(rate, _)| rate.get() >= LEAST_GROWTH);
    let text = growth.map_or_else(String::new, |(rate, up)| {
        format!("{}{rate}", if up { '+' } else { '-' })
    });
    (text, growth.filter(|(_, up)| *up).map(|_| Style::Notable))
}

/// One of them; `*` marks what is left to it by a floor.
pub(super) fn row(one: &Holding, role: &str, columns: Columns) -> (String, Option<Style>) {
    let (growth_text, style) = growth(one.growth);
    let (warm, used) = (one.warm.to_string(), one.used.to_string());
    if columns == Columns::Few {
        return (
            format!("{warm:>9} {growth_text:>11} {:<18}", one.name),
            style,
        );
    }
    let again = one
        .refaults
        .filter(|pages| *pages > 0)
        .map_or_else(String::new, |pages| pages.to_string());
    let evicted = evicted(
        &one.evicted
            .map_or_else(String::new, |gone| gone.to_string()),
        columns,
    );
    let mark = if one.floor > Bytes::ZERO { "*" } else { "" };
    let row = format!(
        "{:>9} {used:>9} {evicted}{growth_text:>12} {again:>7} {:<8} {role:<10} {:<19}",
        warm + mark,
        one.by.name(),
        one.name
    );
    (row, style)
}
