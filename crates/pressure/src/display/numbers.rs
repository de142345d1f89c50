//! Numbers as text: what the log prints at the verbosities 3 to 5.

use crate::decision::{Exhaustion, Forecast};
use crate::sample::Sample;
use std::fmt::{Display, Formatter, Result};

/// The rates of a forecast.
#[derive(Debug, Clone, Copy)]
pub struct Rates<'a>(pub &'a Forecast);

/// What a sample has read, in short.
#[derive(Debug, Clone, Copy)]
pub struct Readings<'a>(pub &'a Sample);

/// A value, or that it is not known.
struct Known<T>(Option<T>);

impl<T: Display> Display for Known<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("unknown"),
        }
    }
}

impl Display for Rates<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(forecast) = self;
        write!(
            f,
            "demand {}, kswapd frees {}, memory that cannot be reclaimed grows by {}",
            Known(forecast.demand),
            Known(forecast.reclaim),
            Known(forecast.outlook.map(|outlook| outlook.growth)),
        )
    }
}

impl Display for Exhaustion {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.latest {
            Some(latest) => write!(f, "{} to {latest}", self.earliest),
            None => write!(f, "{} or later", self.earliest),
        }
    }
}

impl Display for Forecast {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{}; gap {}, {} needed, {} withheld",
            Rates(self),
            Known(self.gap),
            Known(self.gap_needed),
            Known(self.withheld),
        )?;
        if let Some(outlook) = &self.outlook {
            write!(f, "; headroom {}", outlook.headroom)?;
            if let Some(left) = outlook.left {
                write!(f, ", used up in {left}")?;
            }
        }
        if let Some(until_min) = self.until_min {
            write!(f, "; free memory meets the min watermark in {until_min}")?;
        }
        if let Some(by_trend) = &self.exhaustion {
            write!(f, "; by its trend memory runs out in {by_trend}")?;
        }
        if let Some(blocks) = &self.blocks {
            write!(
                f,
                "; blocks of order {}: {} free, {} needed",
                blocks.order, blocks.free, blocks.needed
            )?;
        }
        Ok(())
    }
}

impl Display for Readings<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self(sample) = self;
        let memory = &sample.memory;
        write!(
            f,
            "available {}, swap {} free of {}; tasks stalled in the last 10 s: some {}, all {}",
            Known(memory.available),
            Known(memory.swap_free),
            Known(memory.swap_total),
            Known(sample.memory_pressure.some_avg10),
            Known(sample.memory_pressure.full_avg10),
        )?;
        write!(
            f,
            "; {} units throttled, {} processes signalled",
            sample.groups.throttled.len(),
            sample.scan.victims.len(),
        )?;
        for candidate in &sample.scan.candidates {
            let identity = candidate.identity;
            write!(
                f,
                "; {} ({}) {}",
                candidate.name,
                identity.pid,
                candidate.size()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distress::Outlook;
    use crate::scan::{Candidate, Identity, Name};
    use units::{Bytes, Rate, Span};

    #[test]
    fn what_is_not_known_is_told_so_and_what_is_has_its_unit() {
        let unknown = Forecast::default();
        assert_eq!(
            unknown.to_string(),
            "demand unknown, kswapd frees unknown, memory that cannot be reclaimed grows by unknown; gap unknown, \
             unknown needed, unknown withheld"
        );
        let forecast = Forecast {
            demand: Some(Rate::new(60 << 20)),
            reclaim: Some(Rate::new(20 << 20)),
            gap: Some(Bytes::mib(12)),
            gap_needed: Some(Bytes::mib(156)),
            withheld: Some(Bytes::ZERO),
            outlook: Some(Outlook {
                headroom: Bytes::mib(700),
                growth: Rate::new(100 << 20),
                left: Some(Span::secs(7)),
                ..Outlook::default()
            }),
            exhaustion: Some(Exhaustion {
                growth: Rate::new(90 << 20),
                earliest: Span::secs(6),
                expected: Span::secs(8),
                latest: None,
            }),
            ..Forecast::default()
        };
        assert_eq!(
            forecast.to_string(),
            "demand 60 MiB/s, kswapd frees 20 MiB/s, memory that cannot be reclaimed grows by 100 MiB/s; gap 12 MiB, \
             156 MiB needed, 0 B withheld; headroom 700 MiB, used up in 7 s; by its trend memory runs out in 6 s or later"
        );
    }

    #[test]
    fn readings_name_each_candidate() {
        let mut sample = Sample::default();
        sample.memory.available = Some(Bytes::mib(800));
        sample.scan.candidates.push(Candidate {
            identity: Identity { pid: 7, start: 1 },
            name: Name::from("hog").unwrap(),
            resident: Bytes::mib(300),
            ..Candidate::default()
        });
        assert_eq!(
            Readings(&sample).to_string(),
            "available 800 MiB, swap unknown free of unknown; tasks stalled in the last 10 s: some unknown, all unknown; \
             0 units throttled, 0 processes signalled; hog (7) 300 MiB"
        );
    }
}
