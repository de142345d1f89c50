//! The wall clock as text.

use pressure::sample::Wall;

/// `2026-11-21 03:10:22 UTC`.
pub(crate) fn utc(wall: Wall) -> String {
    let seconds = wall.0 / 1000;
    let (year, month, day) = date(seconds / 86_400);
    let hour = seconds / 3600 % 24;
    let minute = seconds / 60 % 60;
    let second = seconds % 60;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a number of days since 1970, by the proleptic Gregorian calendar.
///
/// Years are counted from 1 March of year 0, so that the leap day is the last of its year. An era of 400 years has
/// 146 097 days. Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    if month < 10 {
        return (year, month + 3, day);
    }
    (year + 1, month - 9, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_228_314, "2026-11-21 02:31:54 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(Wall(seconds * 1000)), expected);
        }
        assert!(!utc(Wall(u64::MAX)).is_empty());
    }
}
