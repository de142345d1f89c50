use super::*;
use std::fs;
use std::path::Path;
use units::Percent;

const PAGE: Bytes = Bytes::kib(4);

fn options() -> Options {
    Options {
        budget: Percent::new(1),
        step: Percent::new(1),
        interval: Span::secs(1),
        window: Span::secs(10),
        page: PAGE,
        assumed: Micros::new(50),
    }
}

/// A unit with a part that it uses and a part that it does not. What is taken of the first comes back.
struct Model {
    now: u64,
    hot: Bytes,
    cold: Bytes,
    /// What nothing can take.
    fixed: Bytes,
    /// Of the part in use, what is out of memory.
    out: Bytes,
    refaulted: Bytes,
    stalled: u64,
    /// Microseconds for a page that comes back.
    cost: u64,
    /// Of each request, one part in so many is of the part in use, as long as there is another.
    stray: u64,
    /// It uses all of its part in so many seconds.
    round: u64,
    limit: Option<Bytes>,
    ends: Option<u64>,
    /// What it does at each second.
    each: fn(&mut Model),
}

impl Model {
    fn of(hot: u64, cold: u64, fixed: u64) -> Self {
        Self {
            now: 0,
            hot: Bytes::mib(hot),
            cold: Bytes::mib(cold),
            fixed: Bytes::mib(fixed),
            out: Bytes::ZERO,
            refaulted: Bytes::ZERO,
            stalled: 0,
            cost: 50,
            stray: 20,
            round: 1,
            limit: None,
            ends: None,
            each: |_| {},
        }
    }

    fn used(&self) -> Bytes {
        (self.hot + self.cold + self.fixed).less(self.out)
    }

    fn second(&mut self) {
        self.now += 1;
        let pages = self.out.scaled(1, self.round).get().div_ceil(PAGE.get());
        let back = PAGE.scaled(pages, 1).min(self.out);
        self.out = self.out.less(back);
        self.refaulted += back;
        self.stalled += pages * self.cost;
        (self.each)(self);
    }

    fn measured(&mut self, seconds: u64) -> Record {
        measured_by(self, options(), seconds)
    }
}

fn measured_by(model: &mut Model, options: Options, seconds: u64) -> Record {
    let model = std::cell::RefCell::new(model);
    let mut subject = Shared(&model);
    let mut wait = || {
        let mut model = model.borrow_mut();
        model.second();
        (model.now >= seconds).then_some(End::Time)
    };
    measure(&mut subject, options, &mut wait, &mut |_, _| {}).unwrap()
}

/// The model is looked at by the measurement, and its time goes on by what waits.
struct Shared<'a>(&'a std::cell::RefCell<&'a mut Model>);

impl Subject for Shared<'_> {
    fn look(&mut self) -> Result<Option<Sample>, Error> {
        let model = self.0.borrow();
        if model.ends.is_some_and(|end| model.now >= end) {
            return Ok(None);
        }
        Ok(Some(Sample {
            at: Span::secs(model.now),
            used: model.used(),
            anon: model.fixed,
            file: model.used().less(model.fixed),
            refaulted: model.refaulted,
            stalled: Micros::new(model.stalled),
            limit: model.limit,
            ..Sample::default()
        }))
    }

    fn take(&mut self, asked: Bytes) -> Result<Option<Taken>, Error> {
        let mut model = self.0.borrow_mut();
        let there = model.hot.less(model.out);
        let stray = asked.scaled(1, model.stray).min(there);
        let cold = asked.less(stray).min(model.cold);
        let hot = asked.less(cold).min(there);
        model.cold = model.cold.less(cold);
        model.out += hot;
        Ok(Some(Taken {
            asked,
            got: cold + hot,
        }))
    }
}

#[test]
fn the_part_in_use_lies_in_the_interval() {
    let mut model = Model::of(64, 96, 4);
    let record = model.measured(400);
    let found = record.estimate();
    let truth = Bytes::mib(68);
    let lower = found.lower.unwrap();
    let upper = found.upper.unwrap();
    assert!(lower < truth && truth <= upper, "{found:?}");
    assert!(upper.less(lower) <= Bytes::mib(6), "{found:?}");
    let over_time = found.over_time.unwrap();
    assert!(over_time.p50 <= over_time.p95 && over_time.p95 <= over_time.p99);
    assert!(over_time.p50.less(truth) + truth.less(over_time.p50) <= Bytes::mib(3));
    assert!(record.taken >= Bytes::mib(90) && record.came_back() < record.taken);
    assert_eq!(record.end, End::Time);
}

#[test]
fn it_waits_no_longer_than_the_budget() {
    for budget in [1, 5] {
        for round in [1, 7, 40] {
            let options = Options {
                budget: Percent::new(budget),
                ..options()
            };
            let mut model = Model::of(64, 30, 4);
            model.round = round;
            let record = measured_by(&mut model, options, 600);
            assert!(record.worst <= options.budget, "{round}: {}", record.worst);
            assert!(record.worst > Percent::ZERO, "something was missed");
        }
    }
}

#[test]
fn a_disk_slower_than_assumed_is_met_once() {
    let mut model = Model::of(64, 30, 4);
    model.cost = 2000;
    // Until the cold part is gone, nothing tells what a page costs.
    model.stray = u64::MAX;
    let record = model.measured(900);
    assert!(
        record.worst > Percent::new(1),
        "it is told: {}",
        record.worst
    );
    let after = model.stalled;
    let waited = |from: u64, to: u64| {
        let at = |second: u64| {
            let is_then = |one: &&Sample| one.at >= Span::secs(second);
            record.samples.iter().find(is_then).unwrap().stalled.get()
        };
        Percent::ratio(at(to) - at(from), (to - from) * 1_000_000).unwrap()
    };
    assert!(after > 0);
    for from in (300..880).step_by(10) {
        assert!(waited(from, from + 10) <= Percent::new(1), "{from}");
    }
}

#[test]
fn what_is_taken_beyond_a_request_is_not_asked_for_again() {
    let mut controller = Controller::new(options());
    let look = |second| Sample {
        at: Span::secs(second),
        used: Bytes::mib(500),
        ..Sample::default()
    };
    assert_eq!(controller.next(&look(0)), Next::Wait);
    let asked = PAGE.scaled(200, 1);
    assert_eq!(controller.next(&look(10)), Next::Take(asked));
    controller.took(Taken {
        asked,
        got: asked + asked,
    });
    assert_eq!(controller.taken(), PAGE.scaled(400, 1));
    let half = PAGE.scaled(100, 1);
    assert_eq!(controller.next(&look(11)), Next::Take(half));
    // Far too much: as if it had answered, and in proportion besides.
    controller.took(Taken {
        asked: half,
        got: half.scaled(5, 1),
    });
    assert_eq!(controller.next(&look(12)), Next::Take(PAGE.scaled(20, 1)));
    controller.took(Taken {
        asked: half,
        got: half,
    });
    assert_eq!(controller.next(&look(13)), Next::Take(half));
    // A window later without an answer.
    assert_eq!(controller.next(&look(20)), Next::Take(asked));
}

#[test]
fn a_unit_of_which_nothing_comes_back_is_only_bounded_above() {
    let mut model = Model::of(64, 500, 0);
    let record = model.measured(60);
    let found = record.estimate();
    assert_eq!((found.lower, found.over_time), (None, None));
    assert_eq!(found.upper, record.samples.iter().map(|one| one.used).min());
    assert!(found.upper.unwrap() > Bytes::mib(500));
}

#[test]
fn without_swap_the_kernel_finds_a_floor() {
    let mut model = Model::of(0, 10, 200);
    let record = model.measured(200);
    let found = record.estimate();
    assert!(
        record
            .events
            .iter()
            .any(|event| event.kind == EventKind::Floor)
    );
    assert_eq!(found.lower, None, "whether it needs it all is not known");
    assert_eq!(found.upper, Some(Bytes::mib(200)));
}

#[test]
fn a_unit_that_waits_by_itself_is_left_alone() {
    let mut model = Model::of(64, 0, 0);
    model.each = |model| model.stalled += 20_000;
    let record = model.measured(200);
    assert_eq!((record.end, record.taken), (End::Short, Bytes::ZERO));
    assert_eq!(record.at_rest, Some(Percent::new(2)));
    let found = record.estimate();
    assert_eq!((found.lower, found.upper), (Some(Bytes::mib(64)), None));
}

#[test]
fn a_unit_at_its_limit_is_left_alone_only_if_it_reads_again() {
    let mut model = Model::of(64, 0, 0);
    model.limit = Some(Bytes::mib(65));
    model.each = |model| model.refaulted += Bytes::mib(1);
    assert_eq!(model.measured(100).end, End::Short);
    // A cache that is full of what is read once.
    let mut model = Model::of(20, 44, 0);
    model.limit = Some(Bytes::mib(64));
    assert_eq!(model.measured(100).end, End::Time);
}

#[test]
fn what_is_usual_is_no_answer() {
    let mut model = Model::of(20, 100, 0);
    // It streams a file larger than memory, and did so before.
    model.each = |model| model.refaulted += Bytes::mib(2);
    let record = model.measured(40);
    assert_eq!(record.events, []);
    assert!(record.taken > Bytes::mib(10));
}

#[test]
fn a_unit_that_vanishes_leaves_what_was_found() {
    let mut model = Model::of(64, 10, 0);
    model.ends = Some(90);
    let record = model.measured(400);
    assert_eq!((record.end, record.samples.len()), (End::Vanished, 90));
    assert!(record.estimate().lower.is_some());
    model.ends = Some(0);
    let record = Model::measured(&mut model, 400);
    assert_eq!(record.estimate(), Estimate::default());
}

#[test]
fn a_working_set_that_changes_shows_over_time() {
    let mut model = Model::of(40, 10, 0);
    model.each = |model| {
        let is_large = model.now / 100 % 4 == 1;
        let hot = Bytes::mib(if is_large { 60 } else { 40 });
        // What is no longer used becomes cold.
        model.cold += model.hot.less(hot);
        model.hot = hot;
    };
    let found = model.measured(800).estimate();
    let over_time = found.over_time.unwrap();
    assert_eq!([over_time.p50, over_time.p95], [40, 60].map(Bytes::mib));
    assert!(found.lower.unwrap() < Bytes::mib(40), "{found:?}");
    assert_eq!(found.upper, Some(Bytes::mib(60)));
}

#[test]
fn an_answer_on_the_way_down_is_none_unless_it_is_confirmed() {
    let mut model = Model::of(40, 60, 0);
    model.each = |model| {
        // The kernel has taken some pages in use before it has looked at which are.
        if (12..15).contains(&model.now) {
            model.refaulted += Bytes::mib(1);
        }
    };
    let early = model.measured(60);
    assert_eq!(early.events[0].kind, EventKind::Missed);
    assert_eq!(
        (early.estimate().lower, early.estimate().over_time),
        (None, None)
    );
    let found = Model::measured(&mut model, 600).estimate();
    assert!(found.lower.unwrap() < Bytes::mib(40), "{found:?}");
    assert_eq!(found.over_time.unwrap().p50, Bytes::mib(40));
    assert!(found.resolution.unwrap() <= Bytes::mib(1), "{found:?}");
}

#[test]
fn percentiles_are_of_sizes_that_were_there() {
    let sizes = (1..=200).rev().map(Bytes::mib).collect();
    let found = over_time(sizes).unwrap();
    let told = [found.p50, found.p95, found.p99, found.most];
    assert_eq!(told, [100, 190, 198, 200].map(Bytes::mib));
    assert_eq!(over_time(Vec::new()), None);
    let one = over_time(vec![Bytes::mib(7)]).unwrap();
    assert_eq!(
        (one.p50, one.p99, one.count),
        (Bytes::mib(7), Bytes::mib(7), 1)
    );
}

/// A machine in a directory, with a unit of two processes and a shell outside it.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.process(7, 1, "0::/system.slice/db.service\n");
        machine.process(8, 7, "0::/system.slice/db.service/worker\n");
        machine.process(9, 1, "0::/user.slice/user-1.slice/session-1.scope\n");
        machine.process(10, 9, "0::/user.slice/user-1.slice/session-1.scope\n");
        let stat = "anon 3145728\nfile 1048576\nshmem 524288\nworkingset_refault_anon 2\nworkingset_refault_file 3\n";
        machine.put("memory.stat", stat);
        machine.put("memory.current", "4194304\n");
        machine.put("memory.max", "max\n");
        machine.put("memory.high", "8388608\n");
        machine.put("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
        machine.put("memory.reclaim", "");
        machine
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn group(&self, name: &str) -> std::path::PathBuf {
        let path = self.root().join("sys/fs/cgroup/system.slice/db.service");
        path.join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.group(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn process(&self, pid: u32, parent: u32, cgroup: &str) {
        let directory = self.root().join(format!("proc/{pid}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(
            directory.join("stat"),
            format!("{pid} (a b) S {parent} 1 1\n"),
        )
        .unwrap();
        fs::write(directory.join("cgroup"), cgroup).unwrap();
    }

    fn target(&self, word: &str) -> Option<Target> {
        target(self.root(), word).unwrap()
    }

    /// Why it is not measured by reclaim; `None` if it is.
    fn why_not(&self, word: &str) -> Option<String> {
        match means(self.root(), &self.target(word).unwrap(), PAGE) {
            Means::Reclaim(_) => None,
            Means::Accessed(why) => Some(why),
        }
    }
}

#[test]
fn a_unit_or_a_process_with_a_group_of_its_own_is_found() {
    let machine = Machine::new();
    let unit = Target {
        name: "db.service".to_owned(),
        group: Some("/system.slice/db.service".to_owned()),
        pids: vec![7, 8],
    };
    for word in ["db", "db.service", "/system.slice/db.service"] {
        assert_eq!(machine.target(word), Some(unit.clone()), "{word}");
    }
    let main = machine.target("7").unwrap();
    assert_eq!((main.group, main.pids), (unit.group, vec![7, 8]));
    let job = machine.target("10").unwrap();
    assert_eq!((job.group, job.pids), (None, vec![10]));
    assert_eq!(machine.target("11"), None);
    assert_eq!(machine.target("dbx"), None);
    let names: Vec<_> = unit_names(machine.root()).unwrap().into_iter().collect();
    assert_eq!(names, ["db.service", "session-1.scope"]);
}

#[test]
fn what_reclaim_needs_is_said() {
    let machine = Machine::new();
    assert_eq!(machine.why_not("db"), None);
    let why = machine.why_not("10").unwrap();
    assert!(why.contains("shares its control group"), "{why}");
    fs::remove_file(machine.group("memory.reclaim")).unwrap();
    let why = machine.why_not("db").unwrap();
    assert!(why.contains("5.19"), "{why}");
    fs::remove_file(machine.group("memory.pressure")).unwrap();
    let why = machine.why_not("db").unwrap();
    assert!(why.contains("psi=1"), "{why}");
    fs::remove_file(machine.group("memory.current")).unwrap();
    let why = machine.why_not("db").unwrap();
    assert!(why.contains("counts its memory"), "{why}");
}

#[test]
fn a_look_reads_the_units_files_and_a_request_is_written() {
    let machine = Machine::new();
    let Means::Reclaim(mut group) = means(machine.root(), &machine.target("db").unwrap(), PAGE)
    else {
        panic!("it can be taken from");
    };
    let sample = group.look().unwrap().unwrap();
    let told = [sample.used, sample.anon, sample.file, sample.shared];
    assert_eq!(told, [4 << 20, 3 << 20, 1 << 20, 1 << 19].map(Bytes::new));
    assert_eq!(sample.refaulted, Bytes::kib(20));
    assert_eq!(sample.stalled, Micros::new(7));
    assert_eq!((sample.limit, sample.swapped), (Some(Bytes::mib(8)), None));
    let taken = group.take(Bytes::kib(64)).unwrap().unwrap();
    assert_eq!(taken.got, Bytes::kib(64));
    assert_eq!(
        fs::read_to_string(machine.group("memory.reclaim")).unwrap(),
        "65536"
    );
    machine.put("memory.stat", "nonsense\n");
    assert!(group.look().unwrap_err().to_string().contains("not told"));
    fs::remove_dir_all(machine.group("")).unwrap();
    assert_eq!(group.look().unwrap(), None);
    assert_eq!(group.take(Bytes::kib(4)).unwrap(), None);
}

#[test]
fn swap_is_what_the_machine_and_the_unit_have_left() {
    let machine = Machine::new();
    let target = machine.target("db").unwrap();
    let group = Group::open(machine.root(), &target.group.unwrap(), PAGE).unwrap();
    let free = || group.swap_free(machine.root());
    assert_eq!(free(), None);
    fs::write(
        machine.root().join("proc/meminfo"),
        "SwapFree:    1024 kB\n",
    )
    .unwrap();
    assert_eq!(free(), Some(Bytes::mib(1)));
    machine.put("memory.swap.max", "0\n");
    assert_eq!(free(), Some(Bytes::ZERO));
}

#[test]
fn accessed_bits_tell_what_this_process_uses() {
    let _ours = crate::tracee::ACCESSED_BITS.lock();
    let own = target(Path::new("/"), &std::process::id().to_string())
        .unwrap()
        .unwrap();
    let accessed = Accessed::of(Path::new("/"), &own);
    let mut memory = vec![1_u8; 96 << 20];
    assert!(accessed.begin().unwrap());
    let used = 64 << 20;
    memory[..used]
        .iter_mut()
        .step_by(4096)
        .for_each(|byte| *byte += 1);
    let window = accessed.end().unwrap().unwrap();
    assert!(window.used >= Bytes::mib(44), "{window:?}");
    assert!(
        window.used.less(Bytes::mib(64)) < Bytes::mib(20),
        "{window:?}"
    );
    assert!(
        window.resident >= Bytes::mib(96) && window.processes >= 1,
        "{window:?}"
    );
    assert!(memory.contains(&2));
}
