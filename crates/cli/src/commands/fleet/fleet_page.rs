//! The page: sentences, pictures and tables.

use super::bought::Bought;
use super::host::{Cost, Host};
use super::numbers::{mean, percent};
use super::pictures;
use crate::ui::clock;
use crate::ui::text::or_unknown;
use pressure::replay::Coverage;
use report::{Figure, Section, document};
use units::{Bytes, Micros, Span};

/// Caption, heading and rows.
type Table = (String, Vec<String>, Vec<Vec<String>>);

/// The page as an HTML document.
pub(super) fn page(hosts: &[Host]) -> String {
    let sections = [
        stalls(hosts),
        cost(hosts),
        forecasts(hosts),
        withheld(hosts),
        events(hosts),
    ];
    document("Memory of the hosts", &[summary(hosts)], &sections)
}

/// The hosts in two sentences.
fn summary(hosts: &[Host]) -> String {
    let sum = |of: fn(&Cost) -> u64| hosts.iter().map(|host| of(&host.cost)).sum::<u64>();
    let waits = |host: &&Host| host.lost().is_some_and(|lost| lost >= 0.001);
    let waiting = hosts.iter().filter(waits).count();
    let recorded = hosts.iter().map(|host| host.cost.watched.get());
    let seconds: f64 = recorded.map(|time| time.as_secs_f64()).sum();
    format!(
        "{} hosts, {:.1} hours recorded in all. On {waiting} of them, at least one task waited for memory for 0.1 % of the time or \
         more. The kernel killed {} processes because memory ran out. The guards sent SIGTERM to {} and SIGKILL to {}.",
        hosts.len(),
        seconds / 3600.0,
        sum(|cost| cost.kernel_kills.unwrap_or(0)),
        sum(|cost| cost.asked),
        sum(|cost| cost.killed)
    )
}

fn section(
    id: &str,
    title: &str,
    words: &str,
    figures: Vec<(String, &str)>,
    table: Table,
) -> Section {
    let figures = figures.into_iter().map(|(svg, caption)| Figure {
        svg,
        caption: caption.to_owned(),
    });
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        words: vec![words.to_owned()],
        figures: figures.collect(),
        tables: vec![table],
    }
}

/// A table with one row or more for each host.
fn table(caption: &str, heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    (
        caption.to_owned(),
        heading.iter().map(|&cell| cell.to_owned()).collect(),
        rows.collect(),
    )
}

fn stalls(hosts: &[Host]) -> Section {
    let rows = hosts.iter().map(|host| {
        vec![
            host.name.clone(),
            or_unknown(host.kernel.as_ref()),
            or_unknown(host.memory),
            or_unknown(host.mode.map(|mode| format!("{mode:?}").to_lowercase())),
            host.cost.watched.to_string(),
            or_unknown(host.lost().map(percent)),
            host.cost.lost_samples.to_string(),
            host.notes.join("; "),
        ]
    });
    let heading = [
        "host",
        "kernel",
        "memory",
        "mode",
        "recorded",
        "time lost",
        "samples missing",
        "notes",
    ];
    section(
        "stalls",
        "Time lost",
        "Time lost is time in which at least one task waited for memory, as the kernel counts it (PSI, some). It includes \
         tasks in a control group at its own limit; the allocation stalls below do not.",
        vec![(
            pictures::map(hosts),
            "Each row is a host. White: not recorded, or not counted by the kernel.",
        )],
        table("The hosts", &heading, rows),
    )
}

fn cost(hosts: &[Host]) -> Section {
    let rows = hosts.iter().map(|host| {
        let cost = &host.cost;
        vec![
            host.name.clone(),
            or_unknown(cost.stalled.map(Micros::span)),
            or_unknown(cost.allocation_stalls),
            or_unknown(cost.compaction_stalls),
            or_unknown(cost.refaults),
            or_unknown(cost.kernel_kills),
            cost.asked.to_string(),
            cost.killed.to_string(),
        ]
    });
    let heading = [
        "host",
        "time lost",
        "allocations that reclaimed",
        "allocations that compacted",
        "refaulted pages",
        "killed by the kernel",
        "SIGTERM by the guard",
        "SIGKILL by the guard",
    ];
    section(
        "cost",
        "Cost",
        "The pictures show the worst hosts; the table has all of them.",
        vec![
            (
                pictures::lost(hosts),
                "Steep is bad: at one second per second some task always waits.",
            ),
            (
                pictures::available(hosts),
                "What programs could use without swapping, by the kernel's estimate.",
            ),
        ],
        table("Counters", &heading, rows),
    )
}

/// `97 % of 1200`: the share of forecasts that came true.
fn came_true(coverage: Coverage) -> String {
    let share = match coverage.share() {
        Some(share) => format!("{:.0} %", share * 100.0),
        None => "none made".to_owned(),
    };
    format!("{share} of {}", coverage.made)
}

fn forecasts(hosts: &[Host]) -> Section {
    let rows = hosts.iter().filter_map(|host| {
        let both = host.forecasts?;
        Some(vec![
            host.name.clone(),
            came_true(both.growth),
            came_true(both.demand),
        ])
    });
    let said = hosts
        .iter()
        .filter_map(|host| host.forecasts)
        .next_back()
        .unwrap_or_default();
    let words = format!(
        "Forecasts are made again from the recorded samples, and compared with what came after them. Growth should be within its \
         interval {:.0} % of the time, demand within its quantile {:.1} %.",
        said.growth.said * 100.0,
        said.demand.said * 100.0
    );
    section(
        "forecasts",
        "Forecasts",
        &words,
        vec![(
            pictures::forecast(hosts),
            "A point is the shortest forecast of a moment. Where there is no point, memory was not expected to run out.",
        )],
        table(
            "How often forecasts came true",
            &["host", "growth within", "demand within"],
            rows,
        ),
    )
}

fn withheld(hosts: &[Host]) -> Section {
    let rows = hosts.iter().filter_map(|host| {
        let Bought {
            as_recorded,
            without,
            by_this_version,
        } = host.bought?;
        let seconds = host.cost.watched.get().as_secs_f64();
        Some(vec![
            host.name.clone(),
            host.withheld().to_string(),
            without.time.to_string(),
            as_recorded.time.to_string(),
            by_this_version.time.to_string(),
            without.memory.to_string(),
            as_recorded.memory.to_string(),
            by_this_version.memory.to_string(),
            mean(by_this_version.byte_seconds as f64, seconds).to_string(),
        ])
    });
    let heading = [
        "host",
        "withheld, mean",
        "stalled, gap found",
        "gap recorded",
        "gap of this version",
        "reclaimed by allocations, gap found",
        "gap recorded",
        "gap of this version",
        "gap that this version adds, mean",
    ];
    section(
        "withheld",
        "What withheld memory gained",
        &gain(hosts),
        vec![(
            pictures::withheld(hosts),
            "By this much the guard lowered available memory.",
        )],
        table(
            "The recorded demand with three gaps (a model)",
            &heading,
            rows,
        ),
    )
}

/// What was withheld, and what stalls it saved, in sentences.
fn gain(hosts: &[Host]) -> String {
    let modelled: Vec<Bought> = hosts.iter().filter_map(|host| host.bought).collect();
    let stalled = |of: fn(&Bought) -> Span| -> f64 {
        let times = modelled.iter().map(of);
        times.map(|time| time.get().as_secs_f64()).sum()
    };
    let memory: u64 = hosts.iter().map(|host| host.withheld().get()).sum();
    format!(
        "A model of kswapd ran the recorded demand of {} of {} hosts with three gaps. The guards withheld {} in all, on average. \
         Allocations stalled for {:.1} s with the gap that was found, {:.1} s with the recorded gap, and {:.1} s with the gap of this \
         version. The documentation of warmset replay --compare says what the model leaves out.",
        modelled.len(),
        hosts.len(),
        Bytes::new(memory),
        stalled(|it| it.without.time),
        stalled(|it| it.as_recorded.time),
        stalled(|it| it.by_this_version.time)
    )
}

fn events(hosts: &[Host]) -> Section {
    let rows = hosts.iter().flat_map(|host| {
        host.events.iter().map(|event| {
            let would = if event.done { "" } else { "not carried out: " };
            vec![
                host.name.clone(),
                clock::utc(event.wall),
                format!("{would}{}", event.text),
            ]
        })
    });
    section(
        "events",
        "Events",
        "The last kills and warnings of each host. Processes have the names that they give themselves; paths are left out.",
        Vec::new(),
        table("Kills and warnings", &["host", "when", "event"], rows),
    )
}
