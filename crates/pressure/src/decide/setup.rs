//! What the configuration sets once at start, or after an event.

use super::draft::Draft;
use crate::decision::Reason;
use crate::event::Event;
use crate::knob::Knob;

impl Draft<'_> {
    /// Sets each tunable once its event has happened, until the knob has that value or another program
    /// has set it.
    pub(super) fn setup(&mut self) {
        let config = self.config;
        for tunable in &config.tunables {
            if self.history.seen[tunable.on as usize] {
                let why = Reason::Configured { on: tunable.on };
                self.drive(tunable.knob, tunable.value, why);
            }
        }
        self.raise_min_free();
    }

    /// Raises `vm.min_free_kbytes` to the configured least.
    fn raise_min_free(&mut self) {
        let Some(least) = self.config.gap.min_free else {
            return;
        };
        let Some(now) = self.drivable(Knob::MinFreeKbytes) else {
            return;
        };
        let least = least.get() / 1024;
        // More than 5 % of memory can leave the machine without any.
        let most = self.history.latest.sizes.managed.scaled(5, 100).get() / 1024;
        if least > now && least <= most {
            let why = Reason::Configured { on: Event::Start };
            self.drive(Knob::MinFreeKbytes, least, why);
        }
    }
}
