//! Synthetic traces. What a policy does on them can be computed in advance.
//!
//! | kind | references |
//! |---|---|
//! | `zipf` | page k with a chance proportional to k^−alpha |
//! | `scan` | pages in a circle, or each once; beside a hot set, if `hot` is given |
//! | `indexed-db` | an index page and a record page alternately, both at random: a case in which LRU fails |
//! | `phases` | a set of pages for a while, then another, sharing some |
//!
//! Several kinds can be interleaved as processes, each with its own pages and its own task.

use crate::rng::Rng;
use crate::{About, Batch, Error, Op};

/// A kind of references.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Independent references by Zipf's law.
    Zipf {
        /// Pages.
        pages: u64,
        /// The exponent, 0 (uniform) and above.
        alpha: f64,
    },
    /// A scan beside a hot set.
    Scan {
        /// Pages of the circle.
        pages: u64,
        /// Whether pages are never used again, instead of in a circle.
        once: bool,
        /// Pages of the hot set.
        hot: u64,
        /// Share of references that go to the hot set.
        share: f64,
    },
    /// Index pages and record pages alternately.
    IndexedDb {
        /// Index pages.
        index: u64,
        /// Record pages.
        records: u64,
    },
    /// Localities one after the other.
    Phases {
        /// Pages of each.
        pages: u64,
        /// How many different ones.
        count: u64,
        /// References of each.
        length: u64,
        /// Share of its pages that the next one keeps.
        overlap: f64,
    },
}

/// What is to be made: references of one process, or of several that take turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Each process.
    pub processes: Vec<Kind>,
    /// References that a process makes before the next one does.
    pub quantum: u64,
    /// References in all.
    pub references: u64,
    /// Share of references that write.
    pub writes: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// The distance of the pages of two processes: more than a kind has pages.
const APART: u64 = 1 << 40;

impl Kind {
    /// Reads a kind such as `zipf:pages=1000,alpha=1`. A parameter that is not given has its
    /// default.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut given: Vec<(&str, f64)> = Vec::new();
        for word in rest.split(',').filter(|word| !word.is_empty()) {
            let parsed = word
                .split_once('=')
                .and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)));
            let Some((key, value)) = parsed.filter(|(_, value)| *value >= 0.0 && value.is_finite())
            else {
                return Err(Error::Unknown(format!(
                    "'{word}' for {name}: NAME=NUMBER of 0 or more is meant"
                )));
            };
            given.push((key, value));
        }
        let known: &[(&str, f64)] = match name {
            "zipf" => &[("pages", 1000.0), ("alpha", 1.0)],
            "scan" => &[
                ("pages", 1000.0),
                ("once", 0.0),
                ("hot", 0.0),
                ("share", 0.5),
            ],
            "indexed-db" => &[("index", 100.0), ("records", 10_000.0)],
            "phases" => &[
                ("pages", 100.0),
                ("count", 8.0),
                ("length", 20_000.0),
                ("overlap", 0.1),
            ],
            _ => {
                return Err(Error::Unknown(format!(
                    "no kind '{name}': there are zipf, scan, indexed-db, phases"
                )));
            }
        };
        let is_unknown = |key: &str| known.iter().all(|(name, _)| *name != key);
        if let Some((wrong, _)) = given.iter().find(|(key, _)| is_unknown(key)) {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            return Err(Error::Unknown(format!(
                "{name} has no '{wrong}': it has {}",
                names.join(", ")
            )));
        }
        let get = |key: &str| {
            // The last of several values counts.
            let mut values = known.iter().chain(&given).rev();
            let found = values.find(|(name, _)| *name == key);
            found.map_or(0.0, |(_, value)| *value)
        };
        let whole = |key: &str| get(key) as u64;
        Ok(match name {
            "zipf" => Self::Zipf {
                pages: whole("pages"),
                alpha: get("alpha"),
            },
            "scan" => {
                let hot = whole("hot");
                let share = if hot == 0 { 0.0 } else { get("share") };
                Self::Scan {
                    pages: whole("pages"),
                    once: get("once") >= 1.0,
                    hot,
                    share,
                }
            }
            "indexed-db" => Self::IndexedDb {
                index: whole("index"),
                records: whole("records"),
            },
            _ => Self::Phases {
                pages: whole("pages"),
                count: whole("count"),
                length: whole("length"),
                overlap: get("overlap"),
            },
        })
    }

    fn check(&self) -> Result<(), Error> {
        let bad = |what: &str| Err(Error::Unfit(what.to_owned()));
        match self {
            Self::Zipf { pages: 0, .. }
            | Self::Scan { pages: 0, .. }
            | Self::Phases { pages: 0, .. } => bad("no pages"),
            Self::Zipf { alpha, .. } if !(0.0..=10.0).contains(alpha) => bad("alpha is 0 to 10"),
            Self::Scan { share, .. } if *share > 1.0 => bad("share is at most 1"),
            Self::IndexedDb { index, records } if *index == 0 || *records == 0 => {
                bad("no index or no records")
            }
            Self::Phases {
                count,
                length,
                overlap,
                ..
            } if *count == 0 || *length == 0 || *overlap > 1.0 => {
                bad("phases need a count, a length, and an overlap of at most 1")
            }
            _ => Ok(()),
        }
    }
}

/// A process, and how far it is.
#[derive(Debug)]
struct Process {
    kind: Kind,
    zipf: Option<Zipf>,
    /// References so far.
    done: u64,
    /// Pages of the scan so far.
    scanned: u64,
}

impl Process {
    fn page(&mut self, rng: &mut Rng) -> u64 {
        let done = self.done;
        self.done += 1;
        match &self.kind {
            Kind::Zipf { .. } => self.zipf.as_ref().map_or(0, |zipf| zipf.draw(rng)),
            Kind::Scan {
                pages,
                once,
                hot,
                share,
            } => {
                if *hot > 0 && rng.unit() < *share {
                    return rng.below(*hot);
                }
                self.scanned += 1;
                hot + if *once {
                    self.scanned
                } else {
                    self.scanned % pages
                }
            }
            Kind::IndexedDb { index, records } => {
                if done % 2 == 0 {
                    rng.below(*index)
                } else {
                    index + rng.below(*records)
                }
            }
            Kind::Phases {
                pages,
                count,
                length,
                overlap,
            } => {
                let phase = done / length % count;
                let step = ((*pages as f64 * (1.0 - overlap)).round() as u64).max(1);
                phase * step + rng.below(*pages)
            }
        }
    }
}

/// A trace that is being made.
#[derive(Debug)]
pub struct Synth {
    recipe: Recipe,
    processes: Vec<Process>,
    rng: Rng,
    made: u64,
}

impl Synth {
    /// A trace of which nothing is made yet.
    ///
    /// Errors: numbers that make no trace.
    pub fn new(recipe: Recipe) -> Result<Self, Error> {
        if recipe.processes.is_empty() || recipe.references == 0 {
            return Err(Error::Empty);
        }
        if recipe.quantum == 0
            || !(0.0..=1.0).contains(&recipe.writes)
            || recipe.processes.len() > 1 << 16
        {
            return Err(Error::Unfit(
                "a turn of 1 reference or more, and a share of writes of at most 1, are meant"
                    .to_owned(),
            ));
        }
        recipe.processes.iter().try_for_each(Kind::check)?;
        let process = |kind: &Kind| {
            let zipf = match kind {
                Kind::Zipf { pages, alpha } => Some(Zipf::new(*pages, *alpha)),
                _ => None,
            };
            Process {
                kind: kind.clone(),
                zipf,
                done: 0,
                scanned: 0,
            }
        };
        let processes = recipe.processes.iter().map(process).collect();
        let rng = Rng::new(recipe.seed);
        Ok(Self {
            recipe,
            processes,
            rng,
            made: 0,
        })
    }

    /// Clears a batch and makes at most so many references. Returns false at the end.
    pub fn fill(&mut self, batch: &mut Batch, most: usize) -> bool {
        batch.clear();
        let several = self.processes.len() as u64;
        while batch.len() < most && self.made < self.recipe.references {
            let task = self.made / self.recipe.quantum % several;
            let page = self.processes[task as usize].page(&mut self.rng);
            batch.page.push(page + task * APART);
            if several > 1 {
                batch.task.push(task as u16);
            }
            if self.recipe.writes > 0.0 {
                let is_write = self.rng.unit() < self.recipe.writes;
                batch.op.push(if is_write { Op::STORE } else { Op::LOAD });
            }
            self.made += 1;
        }
        !batch.is_empty()
    }

    /// The parameters, so that the trace can be made again.
    pub fn about(&self) -> About {
        let tell = |name: &str, value: String| (name.to_owned(), value);
        let mut parameters = vec![
            tell("references", self.recipe.references.to_string()),
            tell("seed", self.recipe.seed.to_string()),
            tell("writes", self.recipe.writes.to_string()),
            tell("quantum", self.recipe.quantum.to_string()),
        ];
        let kinds = self.recipe.processes.iter().enumerate();
        parameters
            .extend(kinds.map(|(at, kind)| tell(&format!("process {at}"), format!("{kind:?}"))));
        About {
            program: "warmset synth".to_owned(),
            format: "synth".to_owned(),
            page_size: 4096,
            parameters,
            ..About::default()
        }
    }
}

/// Zipf's law by rejection-inversion (Hörmann, Derflinger, ACM TOMACS 6(3), 1996): O(1) for each
/// draw, no table.
#[derive(Debug)]
struct Zipf {
    pages: f64,
    alpha: f64,
    low: f64,
    high: f64,
    sure: f64,
}

impl Zipf {
    fn new(pages: u64, alpha: f64) -> Self {
        let mut zipf = Self {
            pages: pages as f64,
            alpha,
            low: 0.0,
            high: 0.0,
            sure: 0.0,
        };
        zipf.low = zipf.area(1.5) - 1.0;
        zipf.high = zipf.area(zipf.pages + 0.5);
        zipf.sure = 2.0 - zipf.place(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    fn height(&self, x: f64) -> f64 {
        (-self.alpha * x.ln()).exp()
    }

    /// ∫ x^−alpha.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.alpha) * log;
        if power.abs() > 1e-8 {
            log * (power.exp_m1() / power)
        } else {
            log * (1.0 + power / 2.0)
        }
    }

    /// The place at which the area is reached.
    fn place(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.alpha)).max(-1.0);
        let scale = if t.abs() > 1e-8 {
            t.ln_1p() / t
        } else {
            1.0 - t / 2.0
        };
        (area * scale).exp()
    }

    /// Draws a page; 0 is the most likely.
    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.high + rng.unit() * (self.low - self.high);
            let x = self.place(area);
            let rank = x.round().clamp(1.0, self.pages);
            if rank - x <= self.sure || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kind: &str, references: u64) -> Vec<u64> {
        let recipe = Recipe {
            processes: vec![Kind::parse(kind).unwrap()],
            quantum: 1,
            references,
            writes: 0.0,
            seed: 1,
        };
        let mut synth = Synth::new(recipe).unwrap();
        let mut batch = Batch::default();
        let mut pages = Vec::new();
        while synth.fill(&mut batch, 1000) {
            pages.extend_from_slice(&batch.page);
        }
        pages
    }

    #[test]
    fn zipf_has_its_law() {
        for alpha in [0.0, 0.7, 1.0, 1.5] {
            let pages = made(&format!("zipf:pages=100,alpha={alpha}"), 200_000);
            let whole: f64 = (1..=100).map(|rank| f64::from(rank).powf(-alpha)).sum();
            for rank in [1_u32, 2, 10, 100] {
                let expected = f64::from(rank).powf(-alpha) / whole * 200_000.0;
                let seen = pages
                    .iter()
                    .filter(|page| **page == u64::from(rank) - 1)
                    .count() as f64;
                assert!(
                    (seen - expected).abs() < 5.0 * expected.sqrt(),
                    "alpha {alpha}, rank {rank}: {seen}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn kinds_are_as_their_table_says() {
        assert_eq!(made("scan:pages=3", 7), [1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(made("scan:once=1", 4), [1, 2, 3, 4]);
        let db = made("indexed-db:index=10,records=50", 1000);
        assert!(
            db.iter().step_by(2).all(|page| *page < 10)
                && db
                    .iter()
                    .skip(1)
                    .step_by(2)
                    .all(|page| (10..60).contains(page))
        );
        let phases = made("phases:pages=10,count=2,length=100,overlap=0", 400);
        assert!(
            phases[..100].iter().all(|page| *page < 10)
                && phases[100..200].iter().all(|page| (10..20).contains(page))
        );
        assert_eq!(made("zipf:pages=50", 100), made("zipf:pages=50", 100));
    }

    #[test]
    fn what_makes_no_trace_is_refused() {
        for (kind, says) in [
            ("zipf:pages=0", "no pages"),
            ("phases:count=0", "phases need"),
            ("scan:share=2,hot=1", "at most 1"),
        ] {
            let recipe = Recipe {
                processes: vec![Kind::parse(kind).unwrap()],
                quantum: 1,
                references: 1,
                writes: 0.0,
                seed: 1,
            };
            assert!(
                Synth::new(recipe).unwrap_err().to_string().contains(says),
                "{kind}"
            );
        }
        for (text, says) in [
            ("loop", "there are zipf"),
            ("zipf:beta=1", "it has pages"),
            ("zipf:pages=-1", "NAME=NUMBER"),
        ] {
            assert!(
                Kind::parse(text).unwrap_err().to_string().contains(says),
                "{text}"
            );
        }
    }
}
