//! One picture as data: `--json`.

use super::frame::Frame;
use inspect::survey::Holding;
use pressure::decision::Forecast;
use pressure::distress::Exemption;
use pressure::scan::Candidate;
use serde::Serialize;
use units::{Bytes, Rate};

/// What [`Frame`] shows. Growth is in bytes a second, negative when it shrinks.
#[derive(Debug, Serialize)]
pub(super) struct Picture<'f> {
    guard: &'f str,
    forecast: &'f Forecast,
    units: Vec<Unit<'f>>,
    processes: Vec<Process<'f>>,
    last: Option<&'f str>,
}

#[derive(Debug, Serialize)]
struct Unit<'f> {
    path: &'f str,
    name: &'f str,
    role: &'f str,
    warm: Bytes,
    known_by: &'static str,
    used: Bytes,
    swapped: Option<Bytes>,
    floor: Bytes,
    refaults_per_second: Option<u64>,
    evicted: Option<Bytes>,
    growth: Option<i64>,
}

#[derive(Debug, Serialize)]
struct Process<'f> {
    #[serde(flatten)]
    #[serde(rename = "suspect")]
    candidate: &'f Candidate,
    user_name: &'f str,
    growth: Option<i64>,
    #[serde(rename = "spared")]
    exempt: Option<&'static str>,
}

impl<'f> Picture<'f> {
    pub(super) fn of(frame: &'f Frame) -> Self {
        let mut units = Vec::new();
        for (one, role) in &frame.holdings {
            units.push(Unit::of(one, role));
        }
        let mut processes = Vec::new();
        for line in &frame.lines {
            processes.push(Process {
                candidate: &line.candidate,
                user_name: &line.user,
                growth: line.growth.map(signed),
                exempt: line.exemption.map(Exemption::why),
            });
        }
        Self {
            guard: &frame.state,
            forecast: &frame.forecast,
            units,
            processes,
            last: frame.last.as_deref(),
        }
    }
}

impl<'f> Unit<'f> {
    fn of(one: &'f Holding, role: &'f str) -> Self {
        Self {
            path: &one.path,
            name: &one.name,
            role,
            warm: one.warm,
            known_by: one.by.name(),
            used: one.used,
            swapped: one.swapped,
            floor: one.floor,
            refaults_per_second: one.refaults,
            evicted: one.evicted,
            growth: one.growth.map(signed),
        }
    }
}

fn signed((rate, up): (Rate, bool)) -> i64 {
    let rate = i64::try_from(rate.get()).unwrap_or(i64::MAX);
    if up { rate } else { -rate }
}
