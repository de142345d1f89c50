//! One picture as text of a given size.

use super::holdings::{self, Columns};
use crate::ui::bar::Parts;
use crate::ui::text::{Paint, Screen, Style, or_unknown, wrapped};
use inspect::survey::Holding;
use pressure::Sample;
use pressure::decision::Forecast;
use pressure::distress::{Exemption, Outlook};
use pressure::groups::Groups;
use pressure::scan::Candidate;
use std::fmt::Write as _;
use std::time::Duration;
use units::{Bytes, Rate};

/// A row of the picture.
type Row = (String, Option<Style>);

/// Rows of a terminal from which on long lines are wrapped; with fewer they are cut, to leave rows to the tables.
const TALL: u16 = 20;
/// Rows left for the tables below which only processes are shown: two tables of three rows would tell too little.
const BOTH: usize = 9;
/// Columns from which on the table of units has all of its columns.
pub(super) const WIDE: u16 = 90;

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
    /// Columns and rows.
    pub(super) size: (u16, u16),
    /// The guard's mode and phase, or why it cannot be asked.
    pub(super) state: String,
    pub(super) sample: Sample,
    pub(super) forecast: Forecast,
    /// Units and their roles, the largest working set first.
    pub(super) holdings: Vec<(Holding, &'static str)>,
    /// Processes, the largest first.
    pub(super) lines: Vec<Line>,
    /// Units that the guard has protected, throttled or frozen.
    pub(super) groups: Groups,
    /// The last step or notice of the guard.
    pub(super) last: Option<String>,
    /// For how long each picture has told that memory runs out within [`LATER`].
    pub(super) runs_out_for: Duration,
}

/// One process.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) candidate: Candidate,
    /// Rate, and true if upwards; `None` if it is new.
    pub(super) growth: Option<(Rate, bool)>,
    pub(super) exemption: Option<Exemption>,
}

impl Frame {
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        let columns = usize::from(self.size.0);
        for (line, style) in self.rows() {
            let line: String = line.trim_end().chars().take(columns).collect();
            let painted = match style {
                Some(style) => paint.paint(style, &line),
                None => line,
            };
            let _ = writeln!(text, "{painted}");
        }
        text
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = self.above();
        let below = self.below();
        rows.push((String::new(), None));
        // A row is left for the cursor, and one for the head of each table.
        let mut left = usize::from(self.size.1)
            .saturating_sub(rows.len() + below.len() + 2)
            .max(1);
        let units = if left < BOTH {
            0
        } else {
            self.holdings.len().min((left - 1) / 2)
        };
        if units > 0 {
            let columns = self.columns();
            rows.push((holdings::head(columns), Some(Style::Strong)));
            for (one, role) in &self.holdings[..units] {
                rows.push(holdings::row(one, role, columns));
            }
            left = left.saturating_sub(units + 1);
        }
        rows.push((Line::head(self.is_narrow()), Some(Style::Strong)));
        for line in self.lines.iter().take(left) {
            rows.push(line.row(self.is_narrow()));
        }
        rows.extend(below);
        rows
    }

    fn columns(&self) -> Columns {
        match self.size.0 {
            _ if self.is_narrow() => Columns::Few,
            WIDE.. => Columns::All,
            _ => Columns::Usual,
        }
    }

    fn is_narrow(&self) -> bool {
        Screen {
            paint: Paint::Plain,
            columns: self.size.0.into(),
        }
        .is_narrow()
    }

    /// Adds a line, wrapped on a narrow and tall screen.
    fn put(&self, rows: &mut Vec<Row>, line: &str, style: Option<Style>) {
        if !self.is_narrow() || self.size.1 < TALL {
            rows.push((line.to_owned(), style));
            return;
        }
        for line in wrapped(line, self.size.0.into()) {
            rows.push((line, style));
        }
    }

    fn above(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let title = format!("warmset top · {}", self.state);
        self.put(&mut rows, &title, Some(Style::Strong));
        self.put_memory(&mut rows);
        self.put(&mut rows, &self.swap(), None);
        self.put(&mut rows, &self.pressure(), None);
        let (outlook, style) = self.outlook();
        self.put(&mut rows, &outlook, style);
        rows
    }

    /// The bar of memory, and its legend.
    fn put_memory(&self, rows: &mut Vec<Row>) {
        let Some(parts) = Parts::of(&self.sample.memory) else {
            let text = "the kernel does not say what memory is used for";
            self.put(rows, text, Some(Style::Bad));
            return;
        };
        let Parts {
            total,
            programs,
            caches,
            free,
        } = parts;
        let columns = usize::from(self.size.0).saturating_sub(total.to_string().len() + 1);
        rows.push((format!("{} {total}", parts.bar(columns)), None));
        let rest = parts.rest();
        let legend =
            format!("# programs {programs} · k kernel {rest} · = caches {caches} · . free {free}");
        self.put(rows, &legend, None);
    }

    fn below(&self) -> Vec<Row> {
        let mut rows = vec![(String::new(), None)];
        for line in self.limited() {
            self.put(&mut rows, &line, Some(Style::Notable));
        }
        let last = match &self.last {
            Some(last) => format!("last: {last}"),
            None => String::new(),
        };
        self.put(&mut rows, &last, None);
        rows.push(("* has a floor, or is exempt · q quits".to_owned(), None));
        rows
    }

    /// A line for each unit that the guard has throttled or frozen.
    fn limited(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in &self.groups.throttled {
            lines.push(format!(
                "throttled: {} has {} of at most {}",
                one.unit, one.used, one.memory_high
            ));
        }
        for one in &self.groups.frozen {
            if one.is_frozen() {
                lines.push(format!("frozen: {}, until its user answers", one.unit));
            }
        }
        lines
    }

    /// Swap, the gap, and what is kept for caches and protected units.
    fn swap(&self) -> String {
        let memory = &self.sample.memory;
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
        let protected = self.groups.protected.iter();
        let floors: Bytes = protected.filter_map(|cgroup| cgroup.ours).sum();
        if floors > Bytes::ZERO {
            let _ = write!(line, " · floors {floors}");
        }
        line
    }

    fn pressure(&self) -> String {
        let pressure = &self.sample.memory_pressure;
        format!(
            "pressure: some {}, all {} of the last 10 s · demand {}",
            or_unknown(pressure.some_avg10),
            or_unknown(pressure.full_avg10),
            or_unknown(self.forecast.demand)
        )
    }

    /// Headroom, and when it will be used up.
    fn outlook(&self) -> Row {
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

/// Whether memory runs out within [`LATER`] by its trend.
pub(super) fn runs_out(forecast: &Forecast) -> bool {
    let by_trend = forecast.exhaustion;
    by_trend.is_some_and(|by_trend| by_trend.expected.get() < LATER)
}

impl Line {
    /// The names of the columns.
    fn head(is_narrow: bool) -> String {
        if is_narrow {
            return format!(
                "{:>7} {:<10} {:>9} {:>11}",
                "PID", "NAME", "MEMORY", "GROWTH"
            );
        }
        format!(
            "{:>7} {:<15} {:>9} {:>9} {:>12} {:<22}",
            "PID", "NAME", "MEMORY", "SWAP", "GROWTH", "UNIT"
        )
    }

    fn row(&self, is_narrow: bool) -> Row {
        let candidate = &self.candidate;
        let pid = candidate.identity.pid;
        let (growth_text, style) = holdings::growth(self.growth);
        let mark = if self.exemption.is_some() { '*' } else { ' ' };
        let swapped = if candidate.swapped == Bytes::ZERO {
            String::new()
        } else {
            candidate.swapped.to_string()
        };
        if is_narrow {
            let name: String = candidate.name.chars().take(10).collect();
            let size = (candidate.resident + candidate.swapped).to_string();
            let row = format!("{pid:>7}{mark}{name:<10} {size:>9} {growth_text:>11}");
            return (row, style);
        }
        let name: String = candidate.name.chars().take(15).collect();
        let resident = candidate.resident.to_string();
        let row = format!(
            "{pid:>7}{mark}{name:<15} {resident:>9} {swapped:>9} {growth_text:>12} {:<22}",
            candidate.unit
        );
        (row, style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, holding};
    use pressure::decision::Exhaustion;
    use pressure::groups::{Frozen, Throttled};
    use pressure::scan::{Identity, Name, Place, UnitName};
    use units::{Percent, Span};

    fn candidate(pid: u32, name: &str, mib: u64) -> Candidate {
        Candidate {
            identity: Identity { pid, start: 1 },
            age: Span::secs(10),
            name: Name::from(name).unwrap(),
            unit: UnitName::from("app-gnome-org.mozilla.firefox-4711.scope").unwrap(),
            place: Place::App,
            user: 1000,
            resident: Bytes::mib(mib),
            ..Candidate::default()
        }
    }

    fn frame(size: (u16, u16)) -> Frame {
        let outlook = Outlook {
            headroom: Bytes::mib(700),
            swap: Bytes::ZERO,
            lent: Bytes::ZERO,
            managed: Bytes::mib(8000),
            floor: Bytes::mib(400),
            in_flight: Bytes::ZERO,
            growth: Rate::new(100 << 20),
            left: Some(Span::secs(7)),
            stalled: Some(Percent::new(3)),
            ..Outlook::default()
        };
        let grows = Line {
            candidate: candidate(4711, "a-name-that-is-longer", 2900),
            growth: Some((Rate::new(98 << 20), true)),
            exemption: None,
        };
        let exempt = Line {
            candidate: candidate(1200, "gnome-shell", 400),
            growth: None,
            exemption: Some(Exemption::Program),
        };
        let status = example::guarding();
        Frame {
            size,
            state: "guard · distress".to_owned(),
            sample: example::sample(),
            forecast: Forecast {
                outlook: Some(outlook),
                ..status.decision.forecast
            },
            holdings: vec![
                (
                    holding("app-gnome-org.mozilla.firefox-4711.scope", 2700),
                    "foreground",
                ),
                (holding("ssh.service", 12), "critical"),
            ],
            lines: vec![grows, exempt],
            groups: Groups::default(),
            last: Some("04:31:55 SIGTERM to hog (4711), which holds 2.9 GiB".to_owned()),
            runs_out_for: Duration::ZERO,
        }
    }

    /// The row of headroom, where it would last for this time at the present growth.
    fn outlook(left: Span, expected: Span, runs_out_for: Duration) -> String {
        let mut frame = frame((80, 24));
        frame.runs_out_for = runs_out_for;
        frame.forecast.outlook = frame.forecast.outlook.map(|outlook| Outlook {
            left: Some(left),
            ..outlook
        });
        frame.forecast.exhaustion = frame.forecast.exhaustion.map(|by_trend| Exhaustion {
            earliest: Span::secs(100),
            expected,
            latest: None,
            ..by_trend
        });
        let (text, _) = frame.outlook();
        text.split_once(": ").unwrap().1.to_owned()
    }

    /// In 33 of 120 pictures of an idle machine with 17 GiB of headroom it told of minutes.
    #[test]
    fn minutes_are_told_only_once_they_have_lasted_and_as_an_interval() {
        let minutes = Span::secs(138);
        let lasting = Duration::from_secs(31);
        let silent = "memory does not run out soon";
        assert_eq!(
            outlook(Span::secs(29), minutes, Duration::ZERO),
            "out of memory in 29 s"
        );
        assert_eq!(outlook(minutes, minutes, Duration::ZERO), silent);
        assert_eq!(
            outlook(minutes, minutes, lasting),
            "out of memory in 1.6 min or later"
        );
        assert_eq!(outlook(minutes, Span::secs(3600), lasting), silent);
    }

    #[test]
    fn a_picture_fits_eighty_by_twenty_four() {
        let text = frame((80, 24)).text(Paint::Plain);
        assert!(
            text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        expect_test::expect![[r"
            warmset top · guard · distress
            [########################kkk=============================........] 7.8 GiB
            # programs 2.9 GiB · k kernel 400 MiB · = caches 3.5 GiB · . free 1000 MiB
            swap 48 MiB of 2 GiB · gap 156 MiB, 320 MiB withheld · cache in use 400 MiB
            pressure: some 1.52 %, all 0.3 % of the last 10 s · demand 60 MiB/s
            headroom 700 MiB, growth 100 MiB/s: out of memory in 7 s

                 WARM        OF       GROWTH REFLT/S KNOWN BY ROLE       UNIT
              2.6 GiB   2.8 GiB  +84.3 MiB/s      27 lists    foreground app-gnome-org.mozil
              12 MiB*   212 MiB                      lists    critical   ssh.service
                PID NAME               MEMORY      SWAP       GROWTH UNIT
               4711 a-name-that-is-   2.8 GiB              +98 MiB/s app-gnome-org.mozilla.f
               1200*gnome-shell       400 MiB                        app-gnome-org.mozilla.f

            last: 04:31:55 SIGTERM to hog (4711), which holds 2.9 GiB
            * has a floor, or is exempt · q quits
        "]]
        .assert_eq(&text);
    }

    #[test]
    fn a_wide_terminal_shows_what_was_evicted_of_the_files_in_use() {
        let text = frame((90, 24)).text(Paint::Plain);
        assert!(
            text.lines().all(|line| line.chars().count() <= 90),
            "{text}"
        );
        let told = text
            .lines()
            .filter(|line| line.contains("EVICTED") || line.contains("ssh.service"));
        expect_test::expect![[r"
            WARM        OF   EVICTED       GROWTH REFLT/S KNOWN BY ROLE       UNIT
            12 MiB*   212 MiB     1 MiB                      lists    critical   ssh.service
        "]]
        .assert_eq(
            &told
                .flat_map(|line| [line.trim_start(), "\n"])
                .collect::<String>(),
        );
    }

    #[test]
    fn a_phone_shows_all_that_matters() {
        let text = frame((40, 30)).text(Paint::Plain);
        assert!(
            text.lines().count() < 30 && text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        expect_test::expect![[r"
            warmset top · guard · distress
            [###########k==============....] 7.8 GiB
            # programs 2.9 GiB · k kernel 400 MiB ·
            = caches 3.5 GiB · . free 1000 MiB
            swap 48 MiB of 2 GiB · gap 156 MiB, 320
            MiB withheld · cache in use 400 MiB
            pressure: some 1.52 %, all 0.3 % of the
            last 10 s · demand 60 MiB/s
            headroom 700 MiB, growth 100 MiB/s: out
            of memory in 7 s

                 WARM      GROWTH UNIT
              2.6 GiB +84.3 MiB/s app-gnome-org.mozi
               12 MiB             ssh.service
                PID NAME          MEMORY      GROWTH
               4711 a-name-tha   2.8 GiB   +98 MiB/s
               1200*gnome-shel   400 MiB

            last: 04:31:55 SIGTERM to hog (4711),
            which holds 2.9 GiB
            * has a floor, or is exempt · q quits
        "]]
        .assert_eq(&text);
    }

    #[test]
    fn throttled_and_frozen_units_are_shown() {
        let mut limited = frame((80, 24));
        let id = 1;
        let unit = UnitName::from("batch.service").unwrap();
        let since = Span::secs(1);
        limited.groups.throttled.push(Throttled {
            id,
            unit,
            since,
            used: Bytes::mib(690),
            memory_high: Bytes::mib(700),
            reserve: Bytes::mib(60),
            pushes: 3,
        });
        let frozen = Frozen {
            id,
            unit,
            user: 1000,
            since,
            headroom: Bytes::mib(60),
            thawed: None,
            answer: None,
        };
        limited.groups.frozen.extend([
            frozen,
            Frozen {
                thawed: Some(since),
                ..frozen
            },
        ]);
        let text = limited.text(Paint::Plain);
        assert!(
            text.contains("\nthrottled: batch.service has 690 MiB of at most 700 MiB\nfrozen: batch.service, until"),
            "{text}"
        );
        assert_eq!(
            text.matches("frozen:").count(),
            1,
            "a thawed unit is not shown"
        );
    }

    #[test]
    fn a_small_terminal_loses_lines_of_the_table_first() {
        let mut many = frame((40, 12));
        many.lines = (0..12)
            .map(|pid| Line {
                candidate: candidate(pid, "x", 1),
                growth: None,
                exemption: None,
            })
            .collect();
        let text = many.text(Paint::Plain);
        assert!(
            text.lines().count() <= 12 && text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }
}
