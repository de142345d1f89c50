//! The runs that are still to be made, in order.
//!
//! Every second repetition has the arms in reverse (ABBA), so that a drift of the host affects all arms alike. Each cell
//! is run once before any is run twice, so that an interrupted table lacks repetitions and not cells.

use super::Order;
use crate::arm::Arm;
use crate::line::{Line, Setting, State};
use crate::plan::Gap;
use std::fmt;

/// One run to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// On what.
    pub setting: Setting,
    /// Beside what.
    pub arm: Arm,
    /// Which repetition.
    pub rep: u32,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({}, {} MiB)",
            self.arm.name,
            self.rep + 1,
            self.setting.kernel,
            self.setting.memory_mib
        )
    }
}

/// Jobs and lines.
#[derive(Debug)]
pub struct Queue {
    open: Vec<Job>,
    running: Vec<Job>,
    lines: Vec<Line>,
}

/// What a thread is to do next.
#[derive(Debug)]
pub enum Pull {
    /// This run; with the mean gap that warmset held in the same cell, if its arm needs one.
    Job(Job, Option<Gap>),
    /// Runs are left, but they need results of those that are under way.
    Wait,
    /// No run is left.
    Empty,
}

impl Queue {
    /// All jobs of an order except those that have a line already.
    pub fn new(order: &Order, there: Vec<Line>) -> Self {
        let mut arms = order.arms.clone();
        let needs_equal_mean = order.balanced
            && order.scenario.by_gap
            && arms.iter().any(Arm::gives_a_gap)
            && !arms.iter().any(Arm::needs_a_gap);
        if needs_equal_mean {
            arms.extend(Arm::parse("equal-mean"));
        }
        let mut open = Vec::new();
        for rep in 0..order.reps {
            for setting in &order.cells {
                let job = |arm: &Arm| Job {
                    setting: setting.clone(),
                    arm: arm.clone(),
                    rep,
                };
                match rep % 2 {
                    0 => open.extend(arms.iter().map(job)),
                    _ => open.extend(arms.iter().rev().map(job)),
                }
            }
        }
        let lines: Vec<Line> = there
            .into_iter()
            .filter(|line| order.cells.contains(&line.machine.setting))
            .collect();
        open.retain(|job| !lines.iter().any(|line| is_of(line, job)));
        Self {
            open,
            running: Vec::new(),
            lines,
        }
    }

    /// How many runs are left.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// The next job that can be run.
    pub fn pull(&mut self) -> Pull {
        while let Some(place) = self.open.iter().position(|job| self.is_ready(job)) {
            let job = self.open.remove(place);
            let gap = if job.arm.needs_a_gap() {
                let Some(gap) = self.gap(&job.setting) else {
                    // warmset never finished in this cell: there is no mean to be equal to.
                    continue;
                };
                Some(gap)
            } else {
                None
            };
            self.running.push(job.clone());
            return Pull::Job(job, gap);
        }
        if self.open.is_empty() {
            Pull::Empty
        } else {
            Pull::Wait
        }
    }

    /// Returns false if the job needs a gap that warmset has yet to hold.
    fn is_ready(&self, job: &Job) -> bool {
        !job.arm.needs_a_gap() || !self.may_yet_have_a_gap(job) || self.gap(&job.setting).is_some()
    }

    /// Returns true if warmset runs, or will run, in the cell of this job.
    fn may_yet_have_a_gap(&self, job: &Job) -> bool {
        self.open
            .iter()
            .chain(&self.running)
            .any(|other| other.arm.gives_a_gap() && other.setting == job.setting)
    }

    /// The mean gap that warmset held in this cell so far.
    fn gap(&self, setting: &Setting) -> Option<Gap> {
        let mut gaps: Vec<Gap> = Vec::new();
        for line in &self.lines {
            let finished = line.arm == "warmset" && line.state == State::Finished;
            if finished && line.machine.setting == *setting {
                gaps.extend(line.report.gap);
            }
        }
        let first = gaps.first()?;
        let sum: f64 = gaps.iter().map(|gap| gap.mean).sum();
        let mean = sum / gaps.len() as f64;
        Some(Gap { mean, ..*first })
    }

    /// Notes that a job has ended, with a line or without.
    pub fn done(&mut self, job: &Job, line: Option<Line>) {
        self.running.retain(|running| running != job);
        self.lines.extend(line);
    }

    /// All lines, of now and before.
    pub fn into_lines(self) -> Vec<Line> {
        self.lines
    }
}

fn is_of(line: &Line, job: &Job) -> bool {
    line.arm == job.arm.name && line.rep == job.rep && line.machine.setting == job.setting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Lru, Swap};
    use crate::runner::Lengths;
    use crate::scenario;

    fn order(arms: &[&str], reps: u32) -> Order {
        let setting = Setting {
            kernel: "6.12".to_owned(),
            lru: Some(Lru::Mglru),
            swap: Swap::None,
            memory_mib: 1024,
            cpus: 1,
            nodes: 1,
        };
        Order {
            scenario: scenario::named("storm").unwrap(),
            arms: arms.iter().map(|name| Arm::parse(name).unwrap()).collect(),
            reps,
            cells: vec![setting],
            jobs: 1,
            out: "out".into(),
            keep: None,
            size: Lengths::default(),
            daemon: "warmsetd".into(),
            command: String::new(),
            live: None,
            profile: false,
            balanced: true,
            recording: None,
        }
    }

    fn next(queue: &mut Queue) -> Option<(String, u32, Option<Gap>)> {
        match queue.pull() {
            Pull::Job(job, gap) => {
                let mut line = crate::line::tests::line(&job.arm.name, job.rep);
                line.report.gap = Some(Gap {
                    mean: f64::from(job.rep),
                    ..Gap::default()
                });
                queue.done(&job, Some(line));
                Some((job.arm.name, job.rep, gap))
            }
            _ => None,
        }
    }

    #[test]
    fn arms_run_in_reverse_every_second_time() {
        let mut queue = Queue::new(&order(&["none", "classic"], 3), Vec::new());
        let names: Vec<String> = std::iter::from_fn(|| next(&mut queue))
            .map(|(name, ..)| name)
            .collect();
        assert_eq!(
            names,
            ["none", "classic", "classic", "none", "none", "classic"]
        );
    }

    #[test]
    fn equal_mean_waits_for_the_gap_it_is_equal_to() {
        let mut queue = Queue::new(&order(&["warmset"], 2), Vec::new());
        let Pull::Job(first, None) = queue.pull() else {
            panic!("warmset first")
        };
        assert!(
            matches!(queue.pull(), Pull::Job(job, None) if job.arm.name == "warmset" && job.rep == 1)
        );
        assert!(matches!(queue.pull(), Pull::Wait));
        queue.done(&first, Some(crate::line::tests::line("warmset", 0)));
        assert!(matches!(queue.pull(), Pull::Job(job, Some(_)) if job.arm.name == "equal-mean"));
    }

    #[test]
    fn without_a_gap_there_is_no_equal_mean() {
        let mut queue = Queue::new(&order(&["warmset"], 1), Vec::new());
        let Pull::Job(first, None) = queue.pull() else {
            panic!("warmset first")
        };
        queue.done(&first, None);
        assert!(matches!(queue.pull(), Pull::Empty));
    }

    #[test]
    fn a_run_with_a_line_is_not_made_again() {
        let there = vec![crate::line::tests::line("none", 0)];
        let mut queue = Queue::new(&order(&["none", "classic"], 1), there);
        assert_eq!(next(&mut queue).unwrap().0, "classic");
        assert!(next(&mut queue).is_none());
        assert_eq!(queue.into_lines().len(), 2);
    }
}
