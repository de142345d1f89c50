//! `warmset status`: what the guard sees, expects and holds.

use crate::observation;
use crate::ui::bar::Parts;
use crate::ui::socket::{Guard, ask};
use crate::ui::text::{LABEL, Page, Screen, Side, counted, or_unknown, table};
use crate::ui::{Context, Form, clock, json};
use anyhow::Result;
use pressure::decision::Phase;
use pressure::knob::KNOBS;
use pressure::sample::Zone;
use pressure::status::{Past, Status};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use units::{Bytes, Pages, Percent, Span};

/// Past decisions that are shown; `why` has more.
const LAST: usize = 3;

/// A status, and whose it is.
#[derive(Debug, Serialize)]
struct Seen {
    guard: Whose,
    #[serde(flatten)]
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Whose {
    /// A running guard's.
    Running,
    /// Our own, since no guard runs.
    Absent,
    /// Our own, since the guard, if there is one, does not answer to us.
    Closed,
}

/// Show memory, demand, forecast, and what is held
///
/// Asks the running guard; where there is none, looks for a second and says what one would say, which is no
/// failure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let (guard, status) = match ask(&context.run)? {
        Guard::Running(status) => (Whose::Running, *status),
        Guard::Absent => (Whose::Absent, observation::status(context)?),
        Guard::Closed(why) => {
            writeln!(
                io::stderr(),
                "note: {why}; a guard may be running, and answers to root only"
            )?;
            (Whose::Closed, observation::status(context)?)
        }
    };
    let seen = Seen { guard, status };
    match context.form {
        Form::Json => json(out, &seen)?,
        Form::Text => out.write_all(text(&seen, Screen::of_environment()).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(seen: &Seen, screen: impl Into<Screen>) -> String {
    let mut page = Page::new(screen);
    head(&mut page, seen);
    let status = &seen.status;
    memory(&mut page, status);
    zones(&mut page, status);
    forecast(&mut page, seen);
    holds(&mut page, status);
    cost(&mut page, seen);
    for rival in &status.rivals {
        page.entry("beside us", rival);
    }
    for error in &status.warnings {
        page.entry("trouble", error);
    }
    last(&mut page, status);
    page.text
}

fn head(page: &mut Page, seen: &Seen) {
    let status = &seen.status;
    let phase = status.decision.phase;
    match seen.guard {
        Whose::Running => {
            page.heading(&format!("warmsetd {}: {phase}", status.version));
            let acts = match &status.only_observes {
                Some(why) => format!(", but it only observes: {why}"),
                None => String::new(),
            };
            let (mode, predictor) = (status.mode, status.predictor);
            let since = clock::utc(status.started);
            page.entry(
                "guard",
                format!(
                    "mode {mode}{acts}; predictor {predictor}; process {}, since {since}",
                    status.pid
                ),
            );
        }
        Whose::Absent => page.heading(&format!(
            "no guard is running; this is what one would say: {phase}"
        )),
        Whose::Closed => page.heading(&format!(
            "not asked; this is what a guard would say: {phase}"
        )),
    }
}

fn memory(page: &mut Page, status: &Status) {
    let memory = &status.sample.memory;
    if let Some(parts) = Parts::of(memory) {
        page.entry("memory", parts.bar(page.screen.columns - LABEL));
        let Parts {
            total,
            programs,
            caches,
            free,
        } = parts;
        let rest = parts.rest();
        page.entry("", format!("# programs {programs}, k kernel {rest}"));
        page.entry(
            "",
            format!("= caches {caches}, . free {free}; {total} in all"),
        );
    }
    let share = memory
        .available
        .zip(memory.total)
        .and_then(|(part, whole)| part.share_of(whole));
    let share = share.map(|share| format!(" ({share})")).unwrap_or_default();
    let swap = match (memory.swap_total, memory.swap_free) {
        (Some(Bytes::ZERO), _) => "none".to_owned(),
        (Some(total), Some(free)) => format!("{} used of {total}", total.less(free)),
        _ => "unknown".to_owned(),
    };
    page.entry(
        "available",
        format!("{}{share}; swap {swap}", or_unknown(memory.available)),
    );
    let average = |pressure: Option<Percent>| or_unknown(pressure);
    let sample = &status.sample;
    page.entry(
        "pressure",
        format!(
            "in the last 10 s: memory {}, all stalled {}; disk {}; processor {}",
            average(sample.memory_pressure.some_avg10),
            average(sample.memory_pressure.full_avg10),
            average(sample.io_pressure.some_avg10),
            average(sample.cpu_pressure.some_avg10),
        ),
    );
}

fn zones(page: &mut Page, status: &Status) {
    if status.sample.zones.is_empty() {
        return;
    }
    let head = ["node", "zone", "free", "min", "low", "high", "gap"].map(str::to_owned);
    let size = status.facts.page_size;
    let row = |zone: &Zone| {
        let pages = |pages: Option<Pages>| {
            pages.map_or_else(|| "?".to_owned(), |pages| pages.to_bytes(size).to_string())
        };
        let amounts = &zone.amounts;
        let gap = amounts.low.zip(amounts.min).map(|(low, min)| low.less(min));
        let kind = zone.kind.name().to_owned();
        let [free, min, low, high, gap] =
            [amounts.free, amounts.min, amounts.low, amounts.high, gap].map(pages);
        [zone.node.to_string(), kind, free, min, low, high, gap]
    };
    if page.screen.is_narrow() {
        for zone in &status.sample.zones {
            let [node, kind, numbers @ ..] = row(zone);
            let numbers = head[2..]
                .iter()
                .zip(numbers)
                .map(|(name, number)| format!("{name} {number}"));
            page.entry(
                "zone",
                format!("{node} {kind}: {}", numbers.collect::<Vec<_>>().join(", ")),
            );
        }
        return;
    }
    let rows: Vec<_> = std::iter::once(head)
        .chain(status.sample.zones.iter().map(row))
        .collect();
    let sides = [
        Side::Right,
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
    ];
    page.text.push('\n');
    page.text.push_str(&table(sides, &rows));
    page.text.push('\n');
}

fn forecast(page: &mut Page, seen: &Seen) {
    let forecast = &seen.status.decision.forecast;
    let quantile = forecast
        .quantile
        .map(|quantile| format!("; {quantile} of bursts are to be met"))
        .unwrap_or_default();
    let reclaim = forecast
        .reclaim
        .map(|rate| format!("; kswapd frees {rate} while it runs"))
        .unwrap_or_default();
    page.entry(
        "demand",
        format!("{}{reclaim}{quantile}", or_unknown(forecast.demand)),
    );
    let needed = forecast
        .gap_needed
        .map(|gap| format!(", demand calls for {gap}"))
        .unwrap_or_default();
    page.entry(
        "gap",
        format!(
            "{} now, {} found{needed}",
            or_unknown(forecast.gap),
            or_unknown(forecast.gap_found)
        ),
    );
    let withheld = match forecast.withheld {
        None => "unknown".to_owned(),
        Some(Bytes::ZERO) => "nothing".to_owned(),
        Some(bytes) => format!("{bytes} less counts as available, because of us"),
    };
    page.entry("withheld", withheld);
    page.entry("forecast", exhaustion(seen));
    if let Some(until) = forecast.until_min {
        page.entry(
            "",
            format!("at the present rate free memory meets the min watermark in {until}"),
        );
    }
    if let Some(blocks) = forecast.blocks {
        let worn = blocks
            .fragmentation
            .map(|share| format!("; {share} of free memory is in smaller blocks"));
        let (order, free, needed) = (blocks.order, blocks.free, blocks.needed);
        let worn = worn.unwrap_or_default();
        page.entry(
            "blocks",
            format!("of order {order}: {free} could be served, {needed} expected{worn}"),
        );
    }
}

fn exhaustion(seen: &Seen) -> String {
    match seen.status.decision.forecast.exhaustion {
        None if seen.guard != Whose::Running => {
            "unknown: one second is too short to tell".to_owned()
        }
        None if seen.status.decision.phase == Phase::Learning => {
            "unknown: too few samples yet".to_owned()
        }
        None => "no end of memory in sight".to_owned(),
        Some(end) => {
            let latest = end
                .latest
                .map_or_else(|| "or never".to_owned(), |latest| format!("to {latest}"));
            let (expected, earliest, growth) = (end.expected, end.earliest, end.growth);
            format!(
                "memory runs out in {expected} ({earliest} {latest}): what cannot be reclaimed grows by {growth}"
            )
        }
    }
}

fn holds(page: &mut Page, status: &Status) {
    let knobs = &status.sample.knobs;
    let held: Vec<String> = KNOBS
        .iter()
        .filter(|spec| !knobs.is_foreign(spec.knob))
        .filter_map(|spec| {
            let (_, now) = knobs.ours.of(spec.knob).zip(knobs.now.of(spec.knob))?;
            Some(format!(
                "{} {} → {now}",
                spec.name,
                or_unknown(knobs.found.of(spec.knob))
            ))
        })
        .collect();
    page.entry(
        "holds",
        if held.is_empty() {
            "nothing".to_owned()
        } else {
            held.join(", ")
        },
    );
    for cgroup in status
        .sample
        .groups
        .protected
        .iter()
        .filter(|cgroup| cgroup.ours.is_some())
    {
        page.entry(
            "",
            format!(
                "{} of memory kept for {}, which has {}",
                cgroup.floor, cgroup.unit, cgroup.used
            ),
        );
    }
    for one in &status.sample.groups.throttled {
        page.entry(
            "",
            format!(
                "{} contained at {}, has {}",
                one.unit, one.memory_high, one.used
            ),
        );
    }
    for one in status
        .sample
        .groups
        .frozen
        .iter()
        .filter(|one| one.is_frozen())
    {
        page.entry(
            "",
            format!(
                "{} stopped, until user {} says what becomes of it",
                one.unit, one.user
            ),
        );
    }
    for file in status
        .sample
        .warm
        .files
        .iter()
        .filter(|file| file.is_held())
    {
        let Some(id) = file.id() else { continue };
        let known = status.names.iter().find(|(known, _)| *known == id);
        let name = known.map_or_else(|| id.to_string(), |(_, name)| name.clone());
        page.entry(
            "",
            format!("{} of {name} locked in memory", or_unknown(file.held)),
        );
    }
}

fn cost(page: &mut Page, seen: &Seen) {
    let tally = &seen.status.tally;
    if seen.guard == Whose::Running {
        let allocations = counted(tally.allocation_stalls, "allocation", "allocations");
        let compactions = counted(tally.compaction_stalls, "compaction", "compactions");
        let (stalled, refaults, killed) = (tally.stalled, tally.refaults, tally.oom_kills);
        let stalled = format!("{allocations} and {compactions} stalled, tasks waited {stalled}");
        page.entry(
            "stalls",
            format!("since it started: {stalled}; {refaults} refaults; {killed} killed"),
        );
    }
    let lost = if tally.lost_samples > 0 {
        format!(", {} not recorded", tally.lost_samples)
    } else {
        String::new()
    };
    let samples = counted(tally.samples, "sample", "samples");
    page.entry(
        "cost",
        format!(
            "{} of processor, {} resident, {samples}{lost}",
            tally.own_cpu, tally.own_memory
        ),
    );
}

fn last(page: &mut Page, status: &Status) {
    let now = status.sample.at.get();
    let proposed = Past {
        at: status.sample.at,
        wall: status.sample.wall,
        phase: status.decision.phase,
        done: false,
        steps: status.decision.steps.clone(),
        notices: status.decision.notices.clone(),
    };
    let from = status.past.len().saturating_sub(LAST);
    let shown = if status.past.is_empty() {
        std::slice::from_ref(&proposed)
    } else {
        &status.past[from..]
    };
    for past in shown.iter().rev() {
        let ago = now.saturating_sub(past.at.get());
        let when = if ago.as_secs() == 0 {
            "now".to_owned()
        } else {
            format!("{} ago", Span::new(ago))
        };
        let would = if past.done { "" } else { "would: " };
        let steps = past
            .steps
            .iter()
            .map(|step| format!("{when}: {would}{step}"));
        let notices = past
            .notices
            .iter()
            .map(|notice| format!("{when}: {notice}"));
        steps
            .chain(notices)
            .for_each(|line| page.entry("last", line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::ui::text::Paint;
    use expect_test::expect;

    fn shown(guard: Whose, status: Status) -> String {
        let text = text(&Seen { guard, status }, Paint::Plain);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        text
    }

    #[test]
    fn a_guard_under_load_tells_all_of_it_in_80_columns() {
        expect![[r"
            warmsetd 1.2.3: guarding
            guard      mode tune; predictor base-stock; process 42, since 2026-11-21
                       02:31:54 UTC
            memory     [########################kkk=============================........]
                       # programs 2.9 GiB, k kernel 400 MiB
                       = caches 3.5 GiB, . free 1000 MiB; 7.8 GiB in all
            available  4.1 GiB (52.5 %); swap 48 MiB used of 2 GiB
            pressure   in the last 10 s: memory 1.52 %, all stalled 0.3 %; disk 2 %;
                       processor unknown

            node  zone       free     min      low     high     gap
               0  DMA32   250 MiB  10 MiB   40 MiB   70 MiB  30 MiB
               0  Normal  750 MiB  30 MiB  120 MiB  210 MiB  90 MiB

            demand     60 MiB/s; kswapd frees 200 MiB/s while it runs; 99 % of bursts are to
                       be met
            gap        156 MiB now, 24 MiB found, demand calls for 180 MiB
            withheld   320 MiB less counts as available, because of us
            forecast   memory runs out in 15 min (10 min to 30 min): what cannot be
                       reclaimed grows by 4 MiB/s
                       at the present rate free memory meets the min watermark in 14 s
            blocks     of order 9: 40 could be served, 12 expected; 35 % of free memory is
                       in smaller blocks
            holds      vm.watermark_scale_factor 10 → 143
            stalls     since it started: 3 allocations and 0 compactions stalled, tasks
                       waited 12.5 ms; 240 refaults; 0 killed
            cost       81 ms of processor, 3.1 MiB resident, 812 samples
            beside us  earlyoom (process 12): we keep available memory above its threshold
            trouble    /proc/pressure/io: cannot read: Permission denied
            last       58 s ago: would: vm.watermark_scale_factor 10 → 143: demand reaches
                       176 MiB within 1 s, kswapd frees 20 MiB of it meanwhile, the gap
                       holds 24 MiB
            last       59 s ago: vm.watermark_scale_factor 10 → 143: demand reaches 176 MiB
                       within 1 s, kswapd frees 20 MiB of it meanwhile, the gap holds 24 MiB
            last       59 s ago: reclaim 32 MiB from node 0: free 80 MiB is below the new
                       low watermark 180 MiB, and kswapd would wake only later
            last       1 min ago: allocations stalled: 3 in reclaim, 0 in compaction
        "]]
        .assert_eq(&shown(Whose::Running, example::guarding()));
    }

    #[test]
    fn it_fits_a_phone() {
        let screen = Screen {
            paint: Paint::Plain,
            columns: 40,
        };
        let text = text(
            &Seen {
                guard: Whose::Running,
                status: example::guarding(),
            },
            screen,
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        expect![[r"
            warmsetd 1.2.3: guarding
            guard      mode tune; predictor
                       base-stock; process 42, since
                       2026-11-21 02:31:54 UTC
            memory     [##########k============....]
        "]]
        .assert_eq(&text.split_inclusive('\n').take(5).collect::<String>());
        assert!(
            text.contains("zone       0 DMA32: free 250 MiB, min 10"),
            "{text}"
        );
    }

    #[test]
    fn what_is_unknown_is_said_and_never_zero() {
        expect![[r"
            warmsetd 1.2.3: calm
            guard      mode tune; predictor base-stock; process 42, since 2026-11-21
                       02:31:54 UTC
            available  unknown; swap unknown
            pressure   in the last 10 s: memory unknown, all stalled unknown; disk unknown;
                       processor unknown
            demand     unknown
            gap        unknown now, unknown found
            withheld   unknown
            forecast   no end of memory in sight
            holds      nothing
            stalls     since it started: 0 allocations and 0 compactions stalled, tasks
                       waited 0 ns; 0 refaults; 0 killed
            cost       0 ns of processor, 0 B resident, 0 samples
        "]]
        .assert_eq(&shown(Whose::Running, example::unknown()));
    }

    #[test]
    fn without_a_guard_it_says_what_one_would_do() {
        let mut status = Status {
            past: Vec::new(),
            ..example::guarding()
        };
        status.decision.steps = example::guarding().past[1].steps.clone();
        let text = shown(Whose::Absent, status);
        assert!(
            text.starts_with("no guard is running; this is what one would say: guarding\n"),
            "{text}"
        );
        assert!(
            text.contains("last       now: would: vm.watermark_scale_factor 10 → 143: demand"),
            "{text}"
        );
    }

    #[test]
    fn what_someone_else_has_set_is_not_held() {
        let mut status = example::guarding();
        status
            .sample
            .knobs
            .now
            .put(pressure::knob::Knob::WatermarkScaleFactor, Some(77));
        assert!(shown(Whose::Running, status).contains("holds      nothing\n"));
    }
}
