//! Rows of a page trace: what is written is what is read, whatever the columns hold.

#![allow(
    clippy::unwrap_used,
    reason = "a test's helpers fail where the test would"
)]

use traces::blocks::Decoder;
use traces::{Error, Output, PageRows, Reading, RowSource, Source, open, read, write, write_rows};
use workingset::{About, Batch, Clock, Op, Trace};

/// A program of a few instructions that forks, as the tool for Valgrind wrote it.
const FORK: &[u8] = include_bytes!("../../../fuzz/corpus/blocks/a-fork");

/// All rows of a recording at once.
struct Recorded {
    rows: Option<PageRows>,
    clock: Clock,
}

impl RowSource for Recorded {
    fn fill_rows(&mut self, rows: &mut PageRows) -> Result<bool, Error> {
        *rows = self.rows.take().unwrap_or_default();
        Ok(!rows.is_empty())
    }

    fn about(&self) -> About {
        About {
            page_size: 4096,
            clock: self.clock,
            ..About::default()
        }
    }
}

/// Batches one after the other.
struct Batches(Vec<Batch>);

impl Source for Batches {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        *batch = self.0.pop().unwrap_or_default();
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            page_size: 4096,
            ..About::default()
        }
    }
}

fn read_back(bytes: &[u8], name: &str) -> Trace {
    let mut source = open(bytes, name, None, Reading::default()).unwrap();
    read(&mut *source, &|_| {}).unwrap()
}

fn recorded(clock: Clock, output: Output, name: &str) -> (Decoder, Trace) {
    let mut decoder = Decoder::new(4096, clock);
    let mut rows = PageRows::default();
    decoder.push(FORK, &mut rows).unwrap();
    decoder.finish(&mut rows).unwrap();
    let mut source = Recorded {
        rows: Some(rows),
        clock,
    };
    let mut bytes = Vec::new();
    let references = write_rows(&mut source, output, &mut bytes).unwrap();
    assert_eq!(references, decoder.references());
    (decoder, read_back(&bytes, name))
}

#[test]
fn the_fetches_tell_the_time() {
    for (output, name) in [(Output::Parquet, "it.parquet"), (Output::Arrow, "it.arrow")] {
        let (decoder, trace) = recorded(Clock::Instructions, output, name);
        assert_eq!(trace.len() as u64, decoder.references());
        assert_eq!(trace.pages(), decoder.pages());
        let mut now = 0;
        for (op, time) in trace.op().unwrap().iter().zip(trace.time().unwrap()) {
            if *op == Op::FETCH {
                now += 1;
            }
            assert_eq!(*time, now);
        }
        // No fetch of this program lies over the end of a page.
        assert_eq!(now, decoder.time());
        assert_eq!(trace.task().unwrap().iter().max(), Some(&1));
    }
    let (decoder, trace) = recorded(Clock::InstructionBytes, Output::Parquet, "it.parquet");
    let (counted, _) = recorded(Clock::Instructions, Output::Parquet, "it.parquet");
    assert_eq!(trace.time().unwrap().last(), Some(&decoder.time()));
    assert!(decoder.time() > 2 * counted.time());
}

#[test]
fn few_and_many_different_values_are_read_as_written() {
    for different in [1, 2, 255, 256, 257, 65_536, 65_537_u64] {
        let mut pages: Vec<u64> = (0..different).map(|page| page << 37).collect();
        pages.extend([0, 0, 0]);
        let batch = Batch {
            page: pages.clone(),
            time: (0..pages.len() as u64).map(|at| at * at).collect(),
            task: (0..pages.len()).map(|at| at as u16).collect(),
            ..Batch::default()
        };
        let mut bytes = Vec::new();
        write(
            &mut Batches(vec![batch.clone()]),
            Output::Parquet,
            &mut bytes,
        )
        .unwrap();
        let trace = read_back(&bytes, "it.parquet");
        assert_eq!(trace.batch(0, usize::MAX), batch, "{different}");
    }
}
