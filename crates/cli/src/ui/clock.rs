//! The wall clock as text.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pressure::sample::Wall;

/// The time at this machine, `2026-11-21 04:10:22 CET`.
pub(crate) fn local(wall: Wall) -> String {
    // A test must not depend on where it runs.
    let zone = if cfg!(test) {
        TimeZone::UTC
    } else {
        TimeZone::system()
    };
    told(wall, zone)
}

/// `2026-11-21 03:10:22 UTC`, for pages that show several machines.
pub(crate) fn utc(wall: Wall) -> String {
    told(wall, TimeZone::UTC)
}

/// `04:10:22` at this machine.
pub(crate) fn time_of_day(wall: Wall) -> String {
    let local = local(wall);
    local.split(' ').nth(1).unwrap_or(&local).to_owned()
}

fn told(wall: Wall, zone: TimeZone) -> String {
    let time = i64::try_from(wall.0)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    match time {
        Some(time) => time
            .to_zoned_datetime(zone)
            .strftime("%Y-%m-%d %H:%M:%S %Z")
            .to_string(),
        // A damaged recording may say any time.
        None => format!("{} ms after 1970", wall.0),
    }
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
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(Wall(seconds * 1000)), expected);
        }
        assert!(utc(Wall(u64::MAX)).ends_with("after 1970"));
        assert_eq!(time_of_day(Wall(1_795_228_314_000)), "02:31:54");
    }

    #[test]
    fn a_zone_has_its_own_hour_and_name() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let winter = told(Wall(1_795_228_314_000), zone.clone());
        assert_eq!(winter, "2026-11-21 03:31:54 CET");
        let summer = told(Wall(1_783_000_000_000), zone);
        assert!(summer.ends_with(" CEST"), "{summer}");
    }
}
