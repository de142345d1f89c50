//! The founding design's actions on its forecasts (see [`crate::classic`]).

use super::Draft;
use crate::classic::Outlook;
use crate::decision::{Action, Phase, Reason};
use crate::knob::Knob;
use crate::watermark;
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
                    // A gap that holds what the line loses in one period.
                    let lost = Pages::new(falling)
                        .scaled(classic.period().as_secs(), 1)
                        .to_bytes(history.page_size);
                    let target = self.forecast.gap.unwrap_or_default() + lost;
                    let target = self.config.gap.max.map_or(target, |max| {
                        target.min(max.of(history.latest.sizes.managed))
                    });
                    let reclaimed = classic.reclaim_rate();
                    let why = Reason::ClassicReclaim {
                        falling,
                        reclaimed,
                        exhausted_in: Span::new(within),
                    };
                    if let Some(to) = watermark::factor_for(self.sample, history.page_size, target)
                    {
                        self.raise_classic(to.min(classic.most_factor()), why);
                    }
                }
                Outlook::Rising { rising } => self.lower_classic(Reason::ClassicRising { rising }),
                Outlook::Fragmentation {
                    node,
                    order,
                    within,
                } => {
                    let able = self
                        .sample
                        .nodes
                        .iter()
                        .any(|n| n.id == node && n.amounts.can_compact == Some(1));
                    if able && self.config.compaction.enabled {
                        let exhausted_in = Span::new(within);
                        self.step(
                            Action::Compact { node },
                            Reason::ClassicCompaction {
                                order,
                                exhausted_in,
                            },
                        );
                    }
                }
            }
        }
        if self.sample.knobs.ours.of(FACTOR).is_some() {
            Phase::Guarding
        } else {
            Phase::Watching
        }
    }

    fn raise_classic(&mut self, to: u64, why: Reason) {
        if self.drivable(FACTOR).is_some_and(|now| to > now) {
            self.drive(FACTOR, to, why);
        }
    }

    /// A tenth lower, never below what was found.
    fn lower_classic(&mut self, why: Reason) {
        let (Some(now), Some(found)) = (self.drivable(FACTOR), self.sample.knobs.found.of(FACTOR))
        else {
            return;
        };
        if now > found {
            self.drive(FACTOR, (now - now.div_ceil(10)).max(found), why);
        }
    }
}
