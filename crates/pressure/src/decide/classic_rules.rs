//! The founding design's actions on its forecasts (see [`crate::classic`]).

use super::draft::Draft;
use crate::classic::{Classic, Outlook};
use crate::decision::{Action, Phase, Reason};
use crate::knob::Knob;
use crate::watermark;
use std::time::Duration;
use units::{Pages, Span};

const FACTOR: Knob = Knob::WatermarkScaleFactor;

impl Draft<'_> {
    /// Raises, lowers and compacts by least squares over eight samples.
    pub(super) fn classic(&mut self) -> Phase {
        let history = self.history;
        let Some(classic) = &history.classic else {
            return Phase::Learning;
        };
        for outlook in classic.outlook() {
            match outlook {
                Outlook::Exhaustion { falling, within } => {
                    self.raise_classic(classic, falling, within);
                }
                Outlook::Rising { rising } => self.lower_classic(Reason::ClassicRising { rising }),
                Outlook::Fragmentation {
                    node,
                    order,
                    within,
                } => self.compact_classic(node, order, within),
            }
        }
        if self.sample.knobs.ours.of(FACTOR).is_some() {
            Phase::Guarding
        } else {
            Phase::Watching
        }
    }

    /// Raises the gap by what the line loses in one period.
    fn raise_classic(&mut self, classic: &Classic, falling: u64, within: Duration) {
        let history = self.history;
        let lost = Pages::new(falling)
            .scaled(classic.period().as_secs(), 1)
            .to_bytes(history.page_size);
        let mut target = self.forecast.gap.unwrap_or_default() + lost;
        if let Some(max) = self.config.gap.max {
            target = target.min(max.of(history.latest.sizes.managed));
        }
        let Some(to) = watermark::factor_for(self.sample, history.page_size, target) else {
            return;
        };
        let to = to.min(classic.most_factor());
        if self.drivable(FACTOR).is_some_and(|now| to > now) {
            let why = Reason::ClassicReclaim {
                falling,
                reclaimed: classic.reclaim_rate(),
                exhausted_in: Span::new(within),
            };
            self.drive(FACTOR, to, why);
        }
    }

    /// Lowers the factor by a tenth, never below what was found.
    fn lower_classic(&mut self, why: Reason) {
        let Some(now) = self.drivable(FACTOR) else {
            return;
        };
        let Some(found) = self.sample.knobs.found.of(FACTOR) else {
            return;
        };
        if now > found {
            self.drive(FACTOR, (now - now.div_ceil(10)).max(found), why);
        }
    }

    fn compact_classic(&mut self, node: u32, order: u32, within: Duration) {
        let can_compact = self
            .sample
            .nodes
            .iter()
            .any(|it| it.id == node && it.amounts.can_compact == Some(1));
        if can_compact && self.config.compaction.enabled {
            let why = Reason::ClassicCompaction {
                order,
                exhausted_in: Span::new(within),
            };
            self.step(Action::Compact { node }, why);
        }
    }
}
