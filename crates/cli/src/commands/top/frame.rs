//! What one picture shows: numbers, and the lines of text above and below the tables.

use crate::ui::bar::Parts;
use crate::ui::text::{Screen, Style, or_unknown, wrapped};
use inspect::survey::Holding;
use pressure::decision::Forecast;
use pressure::distress::{Exemption, Outlook};
use pressure::groups::Groups;
use pressure::sample::{Memory, Pressure};
use pressure::scan::Candidate;
use ratatui::layout::Size;
use std::fmt::Write as _;
use std::time::Duration;
use units::{Bytes, Rate, Span};

/// A row of text.
pub(super) type Row = (String, Option<Style>);

/// Rows of a terminal from which on long lines are wrapped; with fewer they are cut, to leave rows to the tables.
const TALL: u16 = 20;

/// Growth of two seconds says enough of a time no longer than this. Of a longer one it says nothing: a program that
/// starts grows, too.
const SOON: Duration = Duration::from_secs(30);
/// A person has no time to act.
const NOW: Duration = Duration::from_secs(15);
/// A forecast of more than ten minutes is too uncertain to worry about.
const LATER: Duration = Duration::from_secs(600);
/// A forecast that has held for so long is told as an interval.
const LASTS: Duration = Duration::from_secs(30);

/// Everything that a picture shows.
#[derive(Debug)]
pub(super) struct Frame {
    /// The guard's mode and phase, or why it cannot be asked.
    pub(super) state: String,
    pub(super) memory: Memory,
    pub(super) pressure: Pressure,
    pub(super) forecast: Forecast,
    /// Units and their roles, the largest working set first; none of the past.
    pub(super) holdings: Vec<(Holding, &'static str)>,
    /// Processes, the largest first.
    pub(super) lines: Vec<Line>,
    /// What the guard keeps for protected units.
    pub(super) floors: Bytes,
    /// A line for each unit that the guard has throttled or frozen.
    pub(super) limited: Vec<String>,
    /// The last step or notice of the guard.
    pub(super) last: Option<String>,
    /// For how long each picture has told that memory runs out within [`LATER`].
    pub(super) runs_out_for: Duration,
}

/// One process.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) candidate: Candidate,
    /// Its user's name, or number.
    pub(super) user: String,
    /// Rate, and true if upwards; `None` if it is new.
    pub(super) growth: Option<(Rate, bool)>,
    pub(super) exemption: Option<Exemption>,
}

/// Rows of text, wrapped on a narrow and tall screen.
#[derive(Debug)]
pub(super) struct Rows {
    size: Size,
    pub(super) rows: Vec<Row>,
}

impl Rows {
    pub(super) fn of(size: Size) -> Self {
        Self {
            size,
            rows: Vec::new(),
        }
    }

    /// Adds a line.
    pub(super) fn put(&mut self, line: &str, style: Option<Style>) {
        if !is_narrow(self.size.width) || self.size.height < TALL {
            self.rows.push((line.to_owned(), style));
            return;
        }
        self.put_whole(line, style);
    }

    /// Adds a line that is always wrapped.
    pub(super) fn put_whole(&mut self, line: &str, style: Option<Style>) {
        for line in wrapped(line, self.size.width.into()) {
            self.rows.push((line, style));
        }
    }
}

/// Returns true if a screen is a phone's.
pub(super) fn is_narrow(columns: u16) -> bool {
    let screen = Screen {
        columns: columns.into(),
        ..Screen::from(crate::ui::text::Paint::Plain)
    };
    screen.is_narrow()
}

impl Frame {
    /// Memory, pressure and headroom.
    pub(super) fn put_numbers(&self, rows: &mut Rows) {
        self.put_memory(rows);
        rows.put(&self.swap(), None);
        rows.put(&self.pressure(), None);
        let (outlook, style) = self.outlook();
        rows.put(&outlook, style);
    }

    /// The bar of memory, and its legend.
    fn put_memory(&self, rows: &mut Rows) {
        let Some(parts) = Parts::of(&self.memory) else {
            let text = "the kernel does not say what memory is used for";
            rows.put(text, Some(Style::Bad));
            return;
        };
        let Parts {
            total,
            programs,
            caches,
            free,
        } = parts;
        let columns = usize::from(rows.size.width).saturating_sub(total.to_string().len() + 1);
        let bar = format!("{} {total}", parts.bar(columns));
        rows.rows.push((bar, None));
        let rest = parts.rest();
        let legend =
            format!("# programs {programs} · k kernel {rest} · = caches {caches} · . free {free}");
        rows.put(&legend, None);
    }

    /// Swap, the gap, and what is kept for caches and protected units.
    fn swap(&self) -> String {
        let memory = &self.memory;
        let total = memory.swap_total.unwrap_or_default();
        let free = memory.swap_free.unwrap_or_default();
        let mut line = if total == Bytes::ZERO {
            "no swap".to_owned()
        } else {
            format!("swap {} of {total}", total.less(free))
        };
        if let Some(gap) = self.forecast.gap {
            let _ = write!(line, " · gap {gap}");
        }
        if let Some(withheld) = self.forecast.withheld.filter(|bytes| *bytes > Bytes::ZERO) {
            let _ = write!(line, ", {withheld} withheld");
        }
        if let Some(outlook) = self.forecast.outlook {
            let _ = write!(line, " · cache in use {}", outlook.floor);
        }
        if self.floors > Bytes::ZERO {
            let _ = write!(line, " · floors {}", self.floors);
        }
        line
    }

    fn pressure(&self) -> String {
        let pressure = &self.pressure;
        format!(
            "pressure: some {}, all {} of the last 10 s · demand {}",
            or_unknown(pressure.some_avg10),
            or_unknown(pressure.full_avg10),
            or_unknown(self.forecast.demand)
        )
    }

    /// Headroom, and when it will be used up.
    pub(super) fn outlook(&self) -> Row {
        let Some(Outlook {
            headroom,
            growth,
            left,
            ..
        }) = self.forecast.outlook
        else {
            return ("headroom: unknown".to_owned(), None);
        };
        let line = format!("headroom {headroom}, growth {growth}");
        if let Some(left) = left.filter(|left| left.get() <= SOON) {
            let style = if left.get() < NOW {
                Style::Bad
            } else {
                Style::Notable
            };
            return (format!("{line}: out of memory in {left}"), Some(style));
        }
        match self.forecast.exhaustion {
            Some(by_trend) if self.runs_out_for >= LASTS && runs_out(&self.forecast) => {
                let text = format!("{line}: out of memory in {by_trend}");
                (text, Some(Style::Notable))
            }
            _ => (
                format!("{line}: memory does not run out soon"),
                Some(Style::Good),
            ),
        }
    }
}

/// For how long forecasts have told that memory runs out within [`LATER`].
#[derive(Debug, Default)]
pub(super) struct RunsOut {
    since: Option<Span>,
}

impl RunsOut {
    /// Takes the next forecast.
    pub(super) fn look(&mut self, forecast: &Forecast, now: Span) -> Duration {
        if !runs_out(forecast) {
            self.since = None;
            return Duration::ZERO;
        }
        let since = *self.since.get_or_insert(now);
        now.get().saturating_sub(since.get())
    }
}

/// Whether memory runs out within [`LATER`] by its trend.
fn runs_out(forecast: &Forecast) -> bool {
    let by_trend = forecast.exhaustion;
    by_trend.is_some_and(|by_trend| by_trend.expected.get() < LATER)
}

/// A line for each unit that is throttled or frozen.
pub(super) fn limited(groups: &Groups) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &groups.throttled {
        lines.push(format!(
            "throttled: {} has {} of at most {}",
            one.unit, one.used, one.memory_high
        ));
    }
    for one in &groups.frozen {
        if one.is_frozen() {
            lines.push(format!("frozen: {}, until its user answers", one.unit));
        }
    }
    lines
}
