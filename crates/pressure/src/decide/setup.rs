//! What the configuration sets once at start, or after an event.

use super::Draft;
use crate::decision::{Event, Reason};
use crate::knob::Knob;

impl Draft<'_> {
    /// Sets each tunable whose event has happened, until it is so or someone else has set it.
    pub(super) fn setup(&mut self) {
        let config = self.config;
        for tunable in &config.tunables {
            if self.history.seen[tunable.on as usize] {
                self.drive(
                    tunable.knob,
                    tunable.value,
                    Reason::Configured { on: tunable.on },
                );
            }
        }
        let least = config.gap.min_free.map(|bytes| bytes.get() / 1024);
        let now = self.drivable(Knob::MinFreeKbytes);
        if let (Some(least), Some(now)) = (least, now) {
            // More than 5 % of memory can leave the machine without any.
            let most = self.history.latest.sizes.managed.scaled(5, 100).get() / 1024;
            if least > now && least <= most {
                self.drive(
                    Knob::MinFreeKbytes,
                    least,
                    Reason::Configured { on: Event::Start },
                );
            }
        }
    }
}
