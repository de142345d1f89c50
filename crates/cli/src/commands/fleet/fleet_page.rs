//! The page: what there is to say, beside the pictures.

use super::bought::Bought;
use super::host::{Cost, Host};
use super::{mean, percent, pictures};
use crate::ui::clock;
use crate::ui::text::or_unknown;
use pressure::replay::Coverage;
use report::{Figure, Section, document};
use units::Bytes;

type Table = (String, Vec<String>, Vec<Vec<String>>);

/// As an HTML document.
pub(super) fn page(hosts: &[Host]) -> String {
    let sections = [
        identity(hosts),
        cost(hosts),
        forecasts(hosts),
        bought(hosts),
        events(hosts),
    ];
    document("Memory of the hosts", &[whole(hosts)], &sections)
}

/// The whole in a sentence or two.
fn whole(hosts: &[Host]) -> String {
    let sum = |of: fn(&Cost) -> u64| hosts.iter().map(|host| of(&host.cost)).sum::<u64>();
    let waited = hosts
        .iter()
        .filter(|host| host.lost().is_some_and(|lost| lost >= 0.001))
        .count();
    let seconds: f64 = hosts
        .iter()
        .map(|host| host.cost.watched.get().as_secs_f64())
        .sum();
    format!(
        "{} hosts, {:.1} hours recorded in all. On {waited} of them some task waited for memory a thousandth of the time or more. \
         The kernel killed {} processes for want of memory; the guards asked {} to end and killed {}.",
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
    let (id, title, words) = (id.to_owned(), title.to_owned(), vec![words.to_owned()]);
    Section {
        id,
        title,
        words,
        figures: figures.collect(),
        tables: vec![table],
    }
}

/// A table with a row for each host, or for what a host has several of.
fn table(caption: &str, heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    (
        caption.to_owned(),
        heading.iter().map(|&cell| cell.to_owned()).collect(),
        rows.collect(),
    )
}

fn identity(hosts: &[Host]) -> Section {
    let rows = hosts.iter().map(|host| {
        vec![
            host.name.clone(),
            or_unknown(host.kernel.as_ref()),
            or_unknown(host.memory),
            host.mode.map_or_else(
                || "unknown".to_owned(),
                |mode| format!("{mode:?}").to_lowercase(),
            ),
            host.cost.watched.to_string(),
            host.lost().map_or_else(|| "unknown".to_owned(), percent),
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
        "who",
        "Who stalled",
        "Time lost is time in which at least one task waited for memory, as the kernel counts it (pressure, some). \
         A control group at its own limit counts too; allocation stalls, below, are the machine's alone.",
        vec![(
            pictures::map(hosts),
            "Each row is a host. White: not recorded, or the kernel does not tell.",
        )],
        table("The hosts", &heading, rows),
    )
}

fn cost(hosts: &[Host]) -> Section {
    let rows = hosts.iter().map(|host| {
        let cost = &host.cost;
        vec![
            host.name.clone(),
            cost.stalled.map_or_else(
                || "unknown".to_owned(),
                |stalled| stalled.span().to_string(),
            ),
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
        "some task waited",
        "allocations reclaimed",
        "allocations compacted",
        "pages read again",
        "killed by the kernel",
        "asked to end",
        "killed by the guard",
    ];
    section(
        "cost",
        "What it cost",
        "The worst hosts; all are in the numbers.",
        vec![
            (
                pictures::lost(hosts),
                "Steep is bad: one second a second is a host on which always some task waits.",
            ),
            (
                pictures::available(hosts),
                "What could be had without swapping, by the kernel's estimate.",
            ),
        ],
        table("What was counted", &heading, rows),
    )
}

fn held(coverage: Coverage) -> String {
    let share = coverage.share().map_or_else(
        || "none made".to_owned(),
        |share| format!("{:.0} %", share * 100.0),
    );
    format!("{share} of {}", coverage.made)
}

fn forecasts(hosts: &[Host]) -> Section {
    let rows = hosts.iter().filter_map(|host| {
        let both = host.forecasts?;
        Some(vec![
            host.name.clone(),
            held(both.growth),
            held(both.demand),
        ])
    });
    let said = hosts
        .iter()
        .filter_map(|host| host.forecasts)
        .next_back()
        .unwrap_or_default();
    let words = format!(
        "Made again from the recorded samples and compared with what came after them. The interval of growth says that it holds {:.0} % of the time, \
         the quantile of demand {:.1} %.",
        said.growth.said * 100.0,
        said.demand.said * 100.0
    );
    section(
        "forecasts",
        "What the forecast said",
        &words,
        vec![(
            pictures::forecast(hosts),
            "A point is the shortest forecast of a moment; no point is no end in sight.",
        )],
        table(
            "How often forecasts came true",
            &["host", "growth held", "demand held"],
            rows,
        ),
    )
}

fn bought(hosts: &[Host]) -> Section {
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
        "stalled without",
        "as recorded",
        "by this version",
        "reclaimed without",
        "as recorded",
        "by this version",
        "gap it would add, mean",
    ];
    section(
        "bought",
        "What withheld memory bought",
        &trade(hosts),
        vec![(
            pictures::withheld(hosts),
            "By how much available memory was lower because of the guard.",
        )],
        table(
            "The recorded demand under three gaps (a model)",
            &heading,
            rows,
        ),
    )
}

/// The trade in words.
fn trade(hosts: &[Host]) -> String {
    let modelled = || hosts.iter().filter_map(|host| host.bought);
    let stalled = |of: fn(&Bought) -> units::Span| {
        modelled()
            .map(|it| of(&it).get().as_secs_f64())
            .sum::<f64>()
    };
    let memory: u64 = hosts.iter().map(|host| host.withheld().get()).sum();
    format!(
        "A model of kswapd met the recorded demand with the gap that was found, with the gap as it was, and with the gap that this version \
         would make ({} of {} hosts). Withheld, in all: {} on average. Allocations stalled {:.1} s without it, {:.1} s with it; by this \
         version, {:.1} s. What the model leaves out is in the manual of warmset replay --compare.",
        modelled().count(),
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
        "What happened",
        "The last things on each host that a person would want to know. Processes are called what they call themselves; paths are left out.",
        Vec::new(),
        table("Events", &["host", "when", "what"], rows),
    )
}
