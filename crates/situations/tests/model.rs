//! The model does what a kernel does, and knows no program.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use pressure::config::Guard;
use pressure::decision::Attention;
use pressure::recording::{Encoder, Entry, Opening, decode};
use pressure::{Decision, History, Sample, decide};
use situations::model::{Model, STEP};
use situations::{Situation, Watch, run, watch};
use std::path::{Path, PathBuf};
use units::Bytes;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../situations")
}

fn text_of(name: &str) -> Situation {
    let path = directory().join(format!("{name}.toml"));
    Situation::parse(name, &std::fs::read_to_string(path).unwrap()).unwrap()
}

fn situation(machine: &str, programs: &str) -> Situation {
    let text = format!(
        "kind = \"test\"\ntitle = \"test\"\nsource = \"none\"\n[machine]\n{machine}\n{programs}\n[right]\nnobody = true\n"
    );
    Situation::parse("test", &text).unwrap()
}

/// Runs a machine without a guard for some seconds; the sample at its end.
fn left_alone(situation: &Situation, seconds: u64) -> Sample {
    let mut model = Model::new(situation);
    for _ in 0..seconds * 1000 / STEP {
        model.step();
    }
    let mut sample = Sample::default();
    model.observe(Attention::Candidates, &Guard::default(), &mut sample);
    sample
}

const HOG: &str = "[[program]]\nname = \"hog\"\nstarts = \"1 s\"\ngrows = \"100 MiB/s\"\n[[program]]\nname = \"small\"\nhas = \"100 MiB\"\n";

#[test]
fn without_a_guard_the_kernel_kills_the_largest() {
    let sample = left_alone(&situation("memory = \"1 GiB\"", HOG), 20);
    assert_eq!(sample.counters.oom_kill, Some(1));
    assert_eq!(sample.scan.candidates.len(), 1);
    assert_eq!(sample.scan.candidates[0].name.as_str(), "small");
    assert!(sample.memory.free.unwrap() > Bytes::mib(500));
}

#[test]
fn idle_cache_goes_first_and_costs_nothing() {
    let machine = "memory = \"1 GiB\"\ncache = { size = \"500 MiB\", in-use = \"100 MiB\", touches = \"100 MiB/s\" }";
    let programs =
        "[[program]]\nname = \"job\"\nstarts = \"1 s\"\ngrows = \"100 MiB/s\"\nto = \"450 MiB\"\n";
    let sample = left_alone(&situation(machine, programs), 20);
    assert_eq!(sample.counters.oom_kill, Some(0));
    assert_eq!(sample.counters.workingset_refault_file, Some(0));
    assert!(sample.counters.pgsteal_kswapd.unwrap() > 0);
    assert!(sample.memory.inactive_file.unwrap() < Bytes::mib(300));
}

#[test]
fn cache_in_use_is_refaulted_and_stalls() {
    let machine = "memory = \"1 GiB\"\ndisk-reads = \"50 MiB/s\"\ncache = { size = \"400 MiB\", in-use = \"400 MiB\", touches = \"500 MiB/s\" }";
    let programs = "[[program]]\nname = \"job\"\nstarts = \"1 s\"\ngrows = \"100 MiB/s\"\nto = \"500 MiB\"\n[[program]]\nname = \"busy\"\nhas = \"10 MiB\"\ntouches = \"10 MiB/s\"\n";
    let sample = left_alone(&situation(machine, programs), 30);
    assert!(sample.counters.workingset_refault_file.unwrap() > 10_000);
    assert!(sample.memory_pressure.full_avg10.unwrap().fraction() > 0.3);
}

#[test]
fn idle_memory_goes_to_swap_and_zram_costs_memory() {
    let programs = "[[program]]\nname = \"old\"\nhas = \"500 MiB\"\n[[program]]\nname = \"job\"\nstarts = \"1 s\"\ngrows = \"50 MiB/s\"\nto = \"500 MiB\"\n";
    let disk = "memory = \"1 GiB\"\nswap = [{ kind = \"disk\", size = \"1 GiB\" }]";
    let sample = left_alone(&situation(disk, programs), 20);
    assert_eq!(sample.counters.oom_kill, Some(0));
    assert!(sample.swaps[0].amounts.used.unwrap() > Bytes::mib(200));
    let zram = "memory = \"1 GiB\"\nswap = [{ kind = \"zram\", size = \"1 GiB\", ratio = 2.0 }]";
    let compressed = left_alone(&situation(zram, programs), 20);
    let pool = compressed
        .counters
        .nr_zspages
        .unwrap()
        .to_bytes(Bytes::kib(4));
    let used = compressed.swaps[0].amounts.used.unwrap();
    assert!(used > sample.swaps[0].amounts.used.unwrap());
    assert!(pool.less(used.scaled(1, 2)) < Bytes::mib(1));
}

#[test]
fn the_cache_of_zfs_shrinks_to_its_least() {
    let machine = "memory = \"8 GiB\"\narc = { size = \"5 GiB\", least = \"1 GiB\" }";
    let programs =
        "[[program]]\nname = \"job\"\nstarts = \"1 s\"\ngrows = \"500 MiB/s\"\nto = \"6 GiB\"\n";
    let sample = left_alone(&situation(machine, programs), 20);
    assert_eq!(sample.counters.oom_kill, Some(0));
    let arc = sample.returnable.arc.unwrap();
    assert!(arc >= Bytes::mib(1024), "{arc}");
    assert!(arc < Bytes::mib(2000), "{arc}");
}

#[test]
fn files_on_a_tmpfs_stay_when_their_writer_ends() {
    let programs = "[[program]]\nname = \"cp\"\nmemory = \"tmpfs\"\nmount = \"/tmp\"\nstarts = \"1 s\"\ngrows = \"100 MiB/s\"\nto = \"300 MiB\"\nthen = \"exit\"\n";
    let sample = left_alone(&situation("memory = \"1 GiB\"", programs), 10);
    assert_eq!(sample.scan.mounts.len(), 1);
    assert_eq!(sample.scan.mounts[0].writer, None);
    assert!(sample.memory.shmem.unwrap() >= Bytes::mib(299));
}

#[test]
fn a_group_at_its_own_limit_leaves_the_machine_alone() {
    let mut sample = Sample::default();
    let situation = text_of("thrash-at-own-limit");
    let mut model = Model::new(&situation);
    for _ in 0..30_000 / STEP {
        model.step();
    }
    model.observe(Attention::Candidates, &Guard::default(), &mut sample);
    assert!(sample.memory_pressure.full_avg10.unwrap().fraction() > 0.3);
    assert!(sample.memory.available.unwrap() > Bytes::mib(8000));
    assert_eq!(sample.counters.pgscan_kswapd, Some(0));
}

/// What a sample says of memory adds up to all of it, in every text, at any time.
#[test]
fn every_byte_is_accounted_for() {
    for entry in std::fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let situation = Situation::parse("test", &text).unwrap();
        let mut model = Model::new(&situation);
        let mut sample = Sample::default();
        for step in 0..20_000 / STEP {
            model.step();
            if step % 50 != 0 {
                continue;
            }
            model.observe(Attention::Rest, &Guard::default(), &mut sample);
            let memory = &sample.memory;
            let page = situation.machine.page_size.0;
            let compressed = sample.counters.nr_zspages.unwrap().to_bytes(page);
            let named = [
                memory.free,
                memory.anon,
                memory.cached,
                memory.slab_reclaimable,
                memory.slab_unreclaimable,
                memory.page_tables,
                memory.hugetlb,
                memory.balloon,
                sample.returnable.arc,
                Some(compressed),
            ];
            let named: Bytes = named.into_iter().flatten().sum();
            let total = memory.total.unwrap();
            let difference = named.less(total) + total.less(named);
            let most = page.scaled(8, 1);
            let is_unplugged = situation.machine.unplug.is_some();
            assert!(
                difference <= most || is_unplugged,
                "{}: {difference}",
                path.display()
            );
        }
    }
}

#[test]
fn the_same_text_has_the_same_outcome() {
    let situation = text_of("two-hogs-at-once");
    let first = run(&situation).unwrap();
    let second = run(&situation).unwrap();
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

/// Keeps a recording.
struct Keep {
    config: pressure::Config,
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Watch for Keep {
    fn decided(&mut self, model: &Model, before: &History, sample: &Sample, decision: &Decision) {
        if !self.encoder.fits(sample) {
            let opening = Opening {
                facts: model.facts(),
                config: &self.config,
                state: before,
                sample,
            };
            self.encoder.header(&mut self.bytes, &opening).unwrap();
        }
        self.encoder.sample(&mut self.bytes, sample).unwrap();
        self.encoder.decision(&mut self.bytes, decision).unwrap();
    }
}

#[test]
fn a_recording_of_it_is_decided_the_same_again() {
    let situation = text_of("lone-hog-own-unit");
    let config = situation.config("test").unwrap();
    let mut keep = Keep {
        config: config.clone(),
        encoder: Encoder::new(),
        bytes: Vec::new(),
    };
    watch(&situation, 0, &mut keep).unwrap();
    let mut history = None;
    let mut compared = 0;
    for entry in decode(&keep.bytes) {
        match entry.unwrap() {
            Entry::Header(header) => history = header.state,
            Entry::Sample(sample) => history.as_mut().unwrap().push(&sample),
            Entry::Decision(decision) => {
                assert_eq!(*decision, decide(&config, history.as_ref().unwrap()));
                compared += 1;
            }
            Entry::Lost(_) => panic!("nothing is lost"),
        }
    }
    assert!(compared > 50, "{compared}");
}

/// Nothing is fitted: the code of the model names no program, unit or file of any text.
#[test]
fn the_model_knows_no_program() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = std::fs::read_to_string(&path).unwrap();
            let situation = Situation::parse("test", &text).unwrap();
            names.extend(situation.programs.into_iter().map(|program| program.name));
        }
    }
    assert!(names.len() > 200);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut directories = vec![source];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // Its own tests may name examples.
            let code = text.split("#[cfg(test)]").next().unwrap();
            for name in &names {
                let quoted = format!("\"{name}\"");
                assert!(!code.contains(&quoted), "{} names {name}", path.display());
            }
        }
    }
}
