//! What one tick costs on this machine: the sample, the decision, and both together; and a look at all processes.

use host::SystemReader;
use host::processes::Processes;
use pressure::sample::Memory;
use pressure::scan::ProcessScan;
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

/// Processes of a scan in the benchmarks below.
const PROCESSES: u32 = 600;

/// A machine of which a sixth is shared memory: open files are looked at, too.
fn much_shared_memory() -> Memory {
    Memory {
        total: Some(Bytes::mib(6000)),
        shmem: Some(Bytes::mib(1000)),
        ..Memory::default()
    }
}

/// Scans the processes of the machine at `root`, a minute later each time: a scan is due.
fn bench_scan(bencher: divan::Bencher<'_, '_>, root: &Path, memory: &Memory) {
    let page = Bytes::new(rustix::param::page_size() as u64);
    let mut processes = Processes::open(root, page).expect("a machine");
    let mut scan = ProcessScan::default();
    let mut at = std::time::Duration::ZERO;
    bencher.bench_local(|| {
        at += std::time::Duration::from_secs(60);
        processes.see(units::Span::new(at), memory);
        processes.look(units::Span::new(at), &mut scan);
    });
    assert!(scan.processes >= Some(PROCESSES));
}

/// Six hundred processes that sleep, until it is dropped.
struct Sleepers(Vec<Child>);

impl Sleepers {
    fn new() -> Self {
        let sleeper = || Command::new("sleep").arg("600").spawn().expect("sleep");
        let sleepers = std::iter::repeat_with(sleeper).take(PROCESSES as usize);
        Self(sleepers.collect())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for sleeper in &mut self.0 {
            let _ = sleeper.kill();
            let _ = sleeper.wait();
        }
    }
}

/// A look at all of 600 processes and more, which is done only while memory is short.
#[divan::bench]
fn look_at_processes(bencher: divan::Bencher<'_, '_>) {
    let _sleepers = Sleepers::new();
    bench_scan(bencher, Path::new("/"), &Memory::default());
}

/// The same while the machine has much shared memory.
#[divan::bench]
fn look_at_processes_and_open_files(bencher: divan::Bencher<'_, '_>) {
    let _sleepers = Sleepers::new();
    bench_scan(bencher, Path::new("/"), &much_shared_memory());
}

/// A look at 600 processes of a recorded machine: forty families, each in a unit of its own.
#[divan::bench]
fn look_at_recorded_processes(bencher: divan::Bencher<'_, '_>) {
    let machine = tempfile::tempdir().expect("a directory");
    let write = |path: String, text: String| {
        let path = machine.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    for pid in 1000..1000 + PROCESSES {
        let group = pid - pid % 15;
        let rss = 1000 + pid % 97;
        let unit = format!("system.slice/work-{group}.service");
        let stat = format!(
            "{pid} (work-{group}) S 1 {group} 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 {pid} 99 {rss} 1\n"
        );
        write(format!("proc/{pid}/stat"), stat);
        let status = format!(
            "Name:\twork\nUid:\t1000\nRssAnon:\t{} kB\nRssFile:\t40 kB\nRssShmem:\t8 kB\nVmPTE:\t90 kB\n",
            rss * 4 - 48
        );
        write(format!("proc/{pid}/status"), status);
        write(format!("proc/{pid}/cgroup"), format!("0::/{unit}\n"));
        write(format!("proc/{pid}/oom_score_adj"), "0\n".to_owned());
        for file in 0..20 {
            let path = machine.path().join(format!("proc/{pid}/fd/{file}"));
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::os::unix::fs::symlink("/usr/lib/libc.so.6", path).expect("linked");
        }
        let directory = format!("sys/fs/cgroup/{unit}");
        write(format!("{directory}/memory.stat"), "anon 1\n".to_owned());
        write(format!("{directory}/pids.current"), "15\n".to_owned());
        let members: Vec<String> = (group..group + 15).map(|pid| pid.to_string()).collect();
        write(
            format!("{directory}/cgroup.procs"),
            members.join("\n") + "\n",
        );
    }
    bench_scan(bencher, machine.path(), &much_shared_memory());
}
