//! One picture: text of a given size, whatever is known.

use super::holdings::{self, Columns};
use crate::bar::Parts;
use crate::page::{Paint, Screen, Style, wrapped};
use crate::shown;
use inspect::survey::Holding;
use pressure::Sample;
use pressure::decision::Forecast;
use pressure::distress::{Exemption, Outlook};
use pressure::groups::Groups;
use pressure::scan::Candidate;
use std::fmt::Write as _;
use units::{Bytes, Rate};

/// Rows that a terminal must have for its lines to be wrapped, not cut.
const TALL: u16 = 20;
/// Rows below which processes alone are shown.
const BOTH: usize = 9;
/// From so many columns on all that is known of a unit is shown.
pub(super) const WIDE: u16 = 90;

/// Everything that a picture shows.
#[derive(Debug)]
pub(super) struct Frame {
    /// Columns and rows.
    pub(super) size: (u16, u16),
    /// The guard's mode and phase, or why it cannot be asked.
    pub(super) state: String,
    pub(super) sample: Sample,
    pub(super) forecast: Forecast,
    /// Whose memory is warm, and what each is for; the warmest first.
    pub(super) holdings: Vec<(Holding, &'static str)>,
    /// Who holds most, largest first.
    pub(super) lines: Vec<Line>,
    /// Whom the guard holds up, or has stopped.
    pub(super) groups: Groups,
    /// The last thing the guard did or said.
    pub(super) last: Option<String>,
}

/// One process.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) candidate: Candidate,
    /// How fast, and whether upwards.
    pub(super) growth: Option<(Rate, bool)>,
    pub(super) exemption: Option<Exemption>,
}

impl Frame {
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        let columns = usize::from(self.size.0);
        for (line, style) in self.rows() {
            let line: String = line.trim_end().chars().take(columns).collect();
            let _ = writeln!(
                text,
                "{}",
                style.map_or(line.clone(), |style| paint.paint(style, &line))
            );
        }
        text
    }

    fn rows(&self) -> Vec<(String, Option<Style>)> {
        let (mut rows, below) = (self.above(), self.below());
        rows.push((String::new(), None));
        // A line is left for the cursor, and one for the head of each table.
        let headroom = usize::from(self.size.1)
            .saturating_sub(rows.len() + below.len() + 2)
            .max(1);
        let units = if headroom < BOTH {
            0
        } else {
            self.holdings.len().min((headroom - 1) / 2)
        };
        if units > 0 {
            rows.push((holdings::head(self.columns()), Some(Style::Strong)));
            let row =
                |(one, role): &(Holding, &'static str)| holdings::row(one, role, self.columns());
            rows.extend(self.holdings.iter().take(units).map(row));
        }
        rows.push((Line::head(self.is_narrow()), Some(Style::Strong)));
        let headroom = headroom.saturating_sub(if units > 0 { units + 1 } else { 0 });
        rows.extend(
            self.lines
                .iter()
                .take(headroom)
                .map(|line| line.row(self.is_narrow())),
        );
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

    /// A line that is cut where it does not fit, or wrapped where there is room.
    fn put(&self, rows: &mut Vec<(String, Option<Style>)>, line: &str, style: Option<Style>) {
        if self.is_narrow() && self.size.1 >= TALL {
            rows.extend(
                wrapped(line, self.size.0.into())
                    .into_iter()
                    .map(|line| (line, style)),
            );
        } else {
            rows.push((line.to_owned(), style));
        }
    }

    fn above(&self) -> Vec<(String, Option<Style>)> {
        let mut rows = Vec::new();
        self.put(
            &mut rows,
            &format!("warmset top · {}", self.state),
            Some(Style::Strong),
        );
        match Parts::of(&self.sample.memory) {
            Some(parts) => {
                let Parts {
                    total,
                    programs,
                    caches,
                    free,
                } = parts;
                let columns = usize::from(self.size.0).saturating_sub(total.to_string().len() + 1);
                rows.push((format!("{} {total}", parts.bar(columns)), None));
                let rest = parts.rest();
                let parts = format!(
                    "# programs {programs} · k kernel {rest} · = caches {caches} · . free {free}"
                );
                self.put(&mut rows, &parts, None);
            }
            None => self.put(
                &mut rows,
                "the kernel does not say what memory is used for",
                Some(Style::Bad),
            ),
        }
        self.put(&mut rows, &self.swap(), None);
        self.put(&mut rows, &self.pressure(), None);
        let (outlook, style) = self.outlook();
        self.put(&mut rows, &outlook, style);
        rows
    }

    fn below(&self) -> Vec<(String, Option<Style>)> {
        let mut rows = vec![(String::new(), None)];
        self.limited()
            .iter()
            .for_each(|line| self.put(&mut rows, line, Some(Style::Notable)));
        let last = self
            .last
            .as_ref()
            .map_or_else(String::new, |last| format!("last: {last}"));
        self.put(&mut rows, &last, None);
        rows.push(("* has a floor, is never ended · q ends".to_owned(), None));
        rows
    }

    /// Whom the guard holds up, and who stands still.
    fn limited(&self) -> Vec<String> {
        let throttled = self.groups.throttled.iter();
        let throttled = throttled.map(|one| {
            format!(
                "held up: {} has {} of at most {}",
                one.unit, one.used, one.memory_high
            )
        });
        let frozen = self.groups.frozen.iter().filter(|one| one.is_frozen());
        throttled
            .chain(frozen.map(|one| format!("stopped: {}, its user is asked", one.unit)))
            .collect()
    }

    fn swap(&self) -> String {
        let memory = &self.sample.memory;
        let (total, free) = (
            memory.swap_total.unwrap_or_default(),
            memory.swap_free.unwrap_or_default(),
        );
        let swap = if total == Bytes::ZERO {
            "no swap".to_owned()
        } else {
            format!("swap {} of {total}", total.less(free))
        };
        let gap = self
            .forecast
            .gap
            .map_or_else(String::new, |gap| format!(" · gap {gap}"));
        let held = self.forecast.withheld.filter(|held| *held > Bytes::ZERO);
        let floor = self.forecast.outlook.map_or_else(String::new, |outlook| {
            format!(" · cache in use {}", outlook.floor)
        });
        let kept: Bytes = self
            .groups
            .protected
            .iter()
            .filter_map(|cgroup| cgroup.ours)
            .sum();
        let kept = if kept == Bytes::ZERO {
            String::new()
        } else {
            format!(" · floors {kept}")
        };
        format!(
            "{swap}{gap}{}{floor}{kept}",
            held.map_or_else(String::new, |held| format!(", {held} withheld"))
        )
    }

    fn pressure(&self) -> String {
        let pressure = &self.sample.memory_pressure;
        format!(
            "pressure: some {}, all {} of the last 10 s · demand {}",
            shown(pressure.some_avg10),
            shown(pressure.full_avg10),
            shown(self.forecast.demand)
        )
    }

    /// The forecast as a time.
    fn outlook(&self) -> (String, Option<Style>) {
        let Some(Outlook {
            headroom,
            growth,
            left,
            ..
        }) = self.forecast.outlook
        else {
            return ("room: unknown".to_owned(), None);
        };
        match left {
            Some(left) if left.get().as_secs() < 600 => {
                let style = if left.get().as_secs() < 15 {
                    Style::Bad
                } else {
                    Style::Notable
                };
                (
                    format!(
                        "room for {headroom} more, growing by {growth}: out of memory in {left}"
                    ),
                    Some(style),
                )
            }
            _ => (
                format!("room for {headroom} more, growing by {growth}: no end in sight"),
                Some(Style::Good),
            ),
        }
    }
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

    fn row(&self, is_narrow: bool) -> (String, Option<Style>) {
        let candidate = &self.candidate;
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
            return (
                format!(
                    "{:>7}{mark}{name:<10} {size:>9} {growth_text:>11}",
                    candidate.identity.pid
                ),
                style,
            );
        }
        let row = format!(
            "{:>7}{mark}{:<15} {:>9} {:>9} {:>12} {:<22}",
            candidate.identity.pid,
            candidate.name.chars().take(15).collect::<String>(),
            candidate.resident.to_string(),
            swapped,
            growth_text,
            candidate.unit
        );
        (row, style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, holding};
    use pressure::groups::{Frozen, Throttled};
    use pressure::scan::{Identity, Life, Mark, Name, Place, UnitName};
    use units::{Percent, Span};

    fn candidate(pid: u32, name: &str, mib: u64) -> Candidate {
        Candidate {
            identity: Identity { pid, start: 1 },
            age: Span::secs(10),
            name: Name::from(name).unwrap(),
            program: None,
            unit: UnitName::from("app-gnome-org.mozilla.firefox-4711.scope").unwrap(),
            place: Place::App,
            user: 1000,
            resident: Bytes::mib(mib),
            mapped: None,
            swapped: Bytes::ZERO,
            oom_score_adj: 0,
            mark: Mark::None,
            group: None,
            life: Life::Alive,
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
        };
        let grows = Line {
            candidate: candidate(4711, "a-name-that-is-longer", 2900),
            growth: Some((Rate::new(98 << 20), true)),
            exemption: None,
        };
        let still = Line {
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
            lines: vec![grows, still],
            groups: Groups::default(),
            last: Some("04:31:55 SIGTERM to hog (4711), which holds 2.9 GiB".to_owned()),
        }
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
            room for 700 MiB more, growing by 100 MiB/s: out of memory in 7 s

                 WARM        OF       GROWTH AGAIN/S KNOWN BY ROLE       WHOSE
              2.6 GiB   2.8 GiB  +84.3 MiB/s      27 lists    foreground app-gnome-org.mozil
              12 MiB*   212 MiB                      lists    critical   ssh.service
                PID NAME               MEMORY      SWAP       GROWTH UNIT
               4711 a-name-that-is-   2.8 GiB              +98 MiB/s app-gnome-org.mozilla.f
               1200*gnome-shell       400 MiB                        app-gnome-org.mozilla.f

            last: 04:31:55 SIGTERM to hog (4711), which holds 2.9 GiB
            * has a floor, is never ended · q ends
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
            WARM        OF   EVICTED       GROWTH AGAIN/S KNOWN BY ROLE       WHOSE
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
            room for 700 MiB more, growing by 100
            MiB/s: out of memory in 7 s

                 WARM      GROWTH WHOSE
              2.6 GiB +84.3 MiB/s app-gnome-org.mozi
               12 MiB             ssh.service
                PID NAME          MEMORY      GROWTH
               4711 a-name-tha   2.8 GiB   +98 MiB/s
               1200*gnome-shel   400 MiB

            last: 04:31:55 SIGTERM to hog (4711),
            which holds 2.9 GiB
            * has a floor, is never ended · q ends
        "]]
        .assert_eq(&text);
    }

    #[test]
    fn who_is_held_up_or_stopped_is_shown() {
        let mut limited = frame((80, 24));
        let (id, unit, since) = (1, UnitName::from("batch.service").unwrap(), Span::secs(1));
        let (used, memory_high, reserve) = (Bytes::mib(690), Bytes::mib(700), Bytes::mib(60));
        limited.groups.throttled.push(Throttled {
            id,
            unit,
            since,
            used,
            memory_high,
            reserve,
            pushes: 3,
        });
        let headroom = Bytes::mib(60);
        let frozen = Frozen {
            id,
            unit,
            user: 1000,
            since,
            headroom,
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
            text.contains("\nheld up: batch.service has 690 MiB of at most 700 MiB\nstopped: batch.service, its user"),
            "{text}"
        );
        assert_eq!(
            text.matches("stopped:").count(),
            1,
            "who was let go on is not"
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
