//! What one tick costs on this machine: the sample, the decision, and both together; and a look at all processes.

use host::SystemReader;
use pressure::{Config, History, Sample, decide};
use std::path::Path;
use std::process::{Child, Command};
use units::Bytes;

fn main() {
    divan::main();
}

/// Reads the machine a few times, then waits for nothing.
fn warm() -> (SystemReader, Sample, History, Config) {
    let mut reader = SystemReader::open(Path::new("/")).expect("a machine");
    let config = Config::default();
    let mut history = History::new(reader.facts(), &config);
    let mut sample = Sample::default();
    for _ in 0..20 {
        reader.read(&mut sample);
        sample.knobs.found = sample.knobs.now;
        history.push(&sample);
    }
    (reader, sample, history, config)
}

/// Everything that is read in a tick.
#[divan::bench]
fn sample(bencher: divan::Bencher<'_, '_>) {
    let (mut reader, mut sample, ..) = warm();
    bencher.bench_local(|| reader.read(&mut sample));
}

/// Taking a sample in and deciding.
#[divan::bench]
fn push_and_decide(bencher: divan::Bencher<'_, '_>) {
    let (_, mut sample, mut history, config) = warm();
    bencher.bench_local(|| {
        sample.at = units::Span::new(sample.at.get() + std::time::Duration::from_millis(100));
        sample.counters.pgsteal_kswapd = sample.counters.pgsteal_kswapd.map(|stolen| stolen + 1000);
        history.push(&sample);
        divan::black_box(decide(&config, &history))
    });
}

/// Deciding alone.
#[divan::bench]
fn deciding(bencher: divan::Bencher<'_, '_>) {
    let (_, _, history, config) = warm();
    bencher.bench_local(|| decide(&config, divan::black_box(&history)));
}

/// A look at all of 600 processes and more, which is done only while memory is short.
#[divan::bench]
fn look_at_processes(bencher: divan::Bencher<'_, '_>) {
    let sleeper = || Command::new("sleep").arg("600").spawn().expect("sleep");
    let mut sleepers: Vec<Child> = std::iter::repeat_with(sleeper).take(600).collect();
    let page = Bytes::new(rustix::param::page_size() as u64);
    let mut processes = host::processes::Processes::open(Path::new("/"), page).expect("a machine");
    let mut scan = pressure::scan::ProcessScan::default();
    let mut at = std::time::Duration::ZERO;
    bencher.bench_local(|| {
        // A minute later each time: a look is due.
        at += std::time::Duration::from_secs(60);
        processes.look(units::Span::new(at), &mut scan);
    });
    for sleeper in &mut sleepers {
        let _ = sleeper.kill();
        let _ = sleeper.wait();
    }
}
