//! `warmset status`: what the guard reads, expects and has set.

use crate::means;
use crate::observation;
use crate::ui::bar::Parts;
use crate::ui::socket::{ANSWERS_TO, Guard, JOIN, ask};
use crate::ui::text::{LABEL, Page, Screen, Side, counted, or_unknown, table};
use crate::ui::{Context, Form, clock, json};
use anyhow::Result;
use pressure::config::Mode;
use pressure::decision::Phase;
use pressure::knob::KNOBS;
use pressure::protect::WarmFile;
use pressure::sample::Zone;
use pressure::status::{Past, Status};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;
use units::{Bytes, Pages, Span};

/// Past decisions that are shown: a screen has no rows for more, and `warmset why` lists them.
const LAST: usize = 3;

/// A status, and where it comes from.
#[derive(Debug, Serialize)]
struct Seen {
    guard: Origin,
    #[serde(flatten)]
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Origin {
    /// From the running guard.
    Running,
    /// Observed by this command, because no guard runs.
    Absent,
    /// Observed by this command, because we may not ask the guard, if there is one.
    Closed,
}

/// Show memory, demand, forecast, and what the guard has set
///
/// Asks the running guard. Without one, observes the machine for a second and shows what a guard would say; the exit code
/// is 0 then, too.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let (guard, status) = match ask(&context.run)? {
        Guard::Running(status) => (Origin::Running, *status),
        Guard::Absent => (Origin::Absent, observation::status(context)?),
        Guard::Closed(why) => {
            writeln!(
                commandline::stderr(),
                "note: {why}; if a guard is running, it {ANSWERS_TO}: {JOIN}"
            )?;
            (Origin::Closed, observation::status(context)?)
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
        page.entry("rival", rival);
    }
    for warning in &status.warnings {
        page.entry("warning", warning);
    }
    last(&mut page, status);
    page.text
}

fn head(page: &mut Page, seen: &Seen) {
    let status = &seen.status;
    let phase = status.decision.phase;
    match seen.guard {
        Origin::Running => {
            page.heading(&format!("warmsetd {}: {phase}", status.version));
            let acts = match &status.only_observes {
                Some(why) => format!(", but it only observes: {why}"),
                None => String::new(),
            };
            let text = format!(
                "mode {}{acts}; predictor {}; process {}, since {}",
                status.mode,
                status.predictor,
                status.pid,
                clock::local(status.started)
            );
            page.entry("guard", text);
            means::show(page, &status.means);
        }
        Origin::Absent => page.heading(&format!(
            "no guard is running; this is what one would say: {phase}"
        )),
        Origin::Closed => page.heading(&format!(
            "the guard may not be asked; this is what one would say: {phase}"
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
    let share = match (memory.available, memory.total) {
        (Some(available), Some(total)) => available.share_of(total),
        _ => None,
    };
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
    let sample = &status.sample;
    let pressure = format!(
        "in the last 10 s: memory {}, all stalled {}; disk {}; CPU {}",
        or_unknown(sample.memory_pressure.some_avg10),
        or_unknown(sample.memory_pressure.full_avg10),
        or_unknown(sample.io_pressure.some_avg10),
        or_unknown(sample.cpu_pressure.some_avg10),
    );
    page.entry("pressure", pressure);
}

/// Columns of the table of zones.
const ZONE: [&str; 7] = ["node", "zone", "free", "min", "low", "high", "gap"];

fn zones(page: &mut Page, status: &Status) {
    if status.sample.zones.is_empty() {
        return;
    }
    let page_size = status.facts.page_size;
    if page.screen.is_narrow() {
        for zone in &status.sample.zones {
            let [node, kind, numbers @ ..] = zone_row(zone, page_size);
            let mut words = Vec::new();
            for (name, number) in ZONE[2..].iter().zip(numbers) {
                words.push(format!("{name} {number}"));
            }
            page.entry("zone", format!("{node} {kind}: {}", words.join(", ")));
        }
        return;
    }
    let mut rows = vec![ZONE.map(str::to_owned)];
    for zone in &status.sample.zones {
        rows.push(zone_row(zone, page_size));
    }
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

/// The cells of a zone; `?` for what is not known.
fn zone_row(zone: &Zone, page_size: Bytes) -> [String; 7] {
    let size = |pages: Option<Pages>| match pages {
        Some(pages) => pages.to_bytes(page_size).to_string(),
        None => "?".to_owned(),
    };
    let amounts = &zone.amounts;
    let gap = match (amounts.low, amounts.min) {
        (Some(low), Some(min)) => Some(low.less(min)),
        _ => None,
    };
    [
        zone.node.to_string(),
        zone.kind.name().to_owned(),
        size(amounts.free),
        size(amounts.min),
        size(amounts.low),
        size(amounts.high),
        size(gap),
    ]
}

fn forecast(page: &mut Page, seen: &Seen) {
    let forecast = &seen.status.decision.forecast;
    let mut demand = or_unknown(forecast.demand);
    if let Some(rate) = forecast.reclaim {
        let _ = write!(demand, "; kswapd frees {rate} while it runs");
    }
    if let Some(quantile) = forecast.quantile {
        let _ = write!(demand, "; the gap is to meet {quantile} of bursts");
    }
    page.entry("demand", demand);
    let mut gap = format!(
        "{} now, {} found",
        or_unknown(forecast.gap),
        or_unknown(forecast.gap_found)
    );
    if let Some(needed) = forecast.gap_needed {
        let _ = write!(gap, ", demand needs {needed}");
    }
    page.entry("gap", gap);
    let withheld = match forecast.withheld {
        None => "unknown".to_owned(),
        Some(Bytes::ZERO) => "nothing".to_owned(),
        Some(bytes) => format!("{bytes} less counts as available because of the guard"),
    };
    page.entry("withheld", withheld);
    page.entry("forecast", exhaustion(seen));
    if let Some(until) = forecast.until_min {
        let text = format!("at this rate free memory meets the min watermark in {until}");
        page.entry("", text);
    }
    for blocks in forecast.all_blocks() {
        let mut text = format!(
            "of order {}: {} are free, {} will be needed",
            blocks.order, blocks.free, blocks.needed
        );
        if let Some(share) = blocks.fragmentation {
            let _ = write!(text, "; {share} of free memory is in smaller blocks");
        }
        page.entry("blocks", text);
    }
}

fn exhaustion(seen: &Seen) -> String {
    match seen.status.decision.forecast.exhaustion {
        None if seen.guard != Origin::Running => {
            "unknown: one second of samples is too short".to_owned()
        }
        None if seen.status.decision.phase == Phase::Learning => {
            "unknown: too few samples yet".to_owned()
        }
        None => "memory does not run out soon".to_owned(),
        Some(end) => {
            let latest = match end.latest {
                Some(latest) => format!("to {latest}"),
                None => "or never".to_owned(),
            };
            format!(
                "memory runs out in {} ({} {latest}): what cannot be reclaimed grows by {}",
                end.expected, end.earliest, end.growth
            )
        }
    }
}

/// What the guard has set and not yet put back: knobs, limits of cgroups, locks on files.
fn holds(page: &mut Page, status: &Status) {
    let knobs = held_knobs(status);
    if knobs.is_empty() {
        page.entry("holds", holds_no_knob(status));
    } else {
        page.entry("holds", knobs.join(", "));
    }
    held_cgroups(page, status);
    held_files(page, status);
    let keeps_units = status
        .sample
        .groups
        .protected
        .iter()
        .any(|one| one.ours.is_some());
    let warm = &status.sample.warm;
    let keeps_named = warm.sums.named_held.is_some_and(|held| held > Bytes::ZERO);
    let keeps_files = keeps_named || warm.files.iter().any(WarmFile::is_held);
    let acts = status.only_observes.is_none();
    if status.mode == Mode::Protect && acts && !keeps_units && !keeps_files {
        page.entry(
            "",
            "no memory of units or files: that is kept while it is short",
        );
    }
}

/// Why no knob is held: never a bare "nothing".
fn holds_no_knob(status: &Status) -> &'static str {
    if status.only_observes.is_some() || status.mode == Mode::Observe {
        "no knob: it only observes"
    } else if status.decision.phase == Phase::Yielding {
        "no knob: another program drives them, or the kill switch is on"
    } else {
        "no knob: demand does not ask for it now"
    }
}

/// `KNOB FOUND → NOW` for each knob that the guard has set, and no other program since.
fn held_knobs(status: &Status) -> Vec<String> {
    let knobs = &status.sample.knobs;
    let mut held = Vec::new();
    for spec in KNOBS {
        let is_ours = knobs.ours.of(spec.knob).is_some() && !knobs.is_foreign(spec.knob);
        let Some(now) = knobs.now.of(spec.knob) else {
            continue;
        };
        if is_ours {
            let found = or_unknown(knobs.found.of(spec.knob));
            held.push(format!("{} {found} → {now}", spec.name));
        }
    }
    held
}

fn held_cgroups(page: &mut Page, status: &Status) {
    let groups = &status.sample.groups;
    for one in &groups.protected {
        if one.ours.is_some() {
            let text = format!(
                "{} protected for {}, which uses {}",
                one.floor, one.unit, one.used
            );
            page.entry("", text);
        }
    }
    for one in &groups.throttled {
        let text = format!(
            "{} throttled at {}, uses {}",
            one.unit, one.memory_high, one.used
        );
        page.entry("", text);
    }
    if let Some(away) = status.decision.forecast.squeezed {
        let summed = Bytes::new(status.tally.squeezed_seconds);
        let text =
            format!("{away} taken of squeezed units and not missed, {summed}·s since it started");
        page.entry("", text);
    }
    for one in &groups.squeezed {
        let text = format!(
            "{} squeezed, uses {}; {} taken",
            one.unit, one.used, one.taken
        );
        page.entry("", text);
    }
    for one in &groups.frozen {
        if one.is_frozen() {
            let text = format!("{} frozen until user {} answers", one.unit, one.user);
            page.entry("", text);
        }
    }
}

fn held_files(page: &mut Page, status: &Status) {
    let sums = &status.sample.warm.sums;
    if let (Some(size), Some(held)) = (sums.named, sums.named_held) {
        if size > Bytes::ZERO {
            let text = format!(
                "{held} of {size} of named files locked in memory; warmset hold lists them"
            );
            page.entry("", text);
        }
    }
    for file in &status.sample.warm.files {
        let Some(id) = file.id().filter(|_| file.is_held()) else {
            continue;
        };
        let known = status.names.iter().find(|(known, _)| *known == id);
        let name = match known {
            Some((_, name)) => name.clone(),
            None => id.to_string(),
        };
        let text = format!("{} of {name} locked in memory", or_unknown(file.held));
        page.entry("", text);
    }
}

fn cost(page: &mut Page, seen: &Seen) {
    let tally = &seen.status.tally;
    if seen.guard == Origin::Running {
        let allocations = counted(tally.allocation_stalls, "allocation", "allocations");
        let compactions = counted(tally.compaction_stalls, "compaction", "compactions");
        let text = format!(
            "since it started: {allocations} and {compactions} stalled, tasks waited {}; {} refaults; {} killed by the \
             kernel",
            tally.stalled, tally.refaults, tally.oom_kills
        );
        page.entry("stalls", text);
    }
    let lost = if tally.lost_samples > 0 {
        format!(", {} not recorded", tally.lost_samples)
    } else {
        String::new()
    };
    let samples = counted(tally.samples, "sample", "samples");
    let text = format!(
        "{} of CPU, {} resident, {samples}{lost}",
        tally.own_cpu, tally.own_memory
    );
    page.entry("cost", text);
}

/// The last decisions, the latest first; without any, what the present decision would do.
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
        for step in &past.steps {
            page.entry("last", format!("{when}: {would}{step}"));
        }
        for notice in &past.notices {
            page.entry("last", format!("{when}: {notice}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::ui::text::Paint;
    use expect_test::expect;
    use pressure::groups::Squeezed;
    use units::Micros;

    fn shown(guard: Origin, status: Status) -> String {
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
            pressure   in the last 10 s: memory 1.52 %, all stalled 0.3 %; disk 2 %; CPU
                       unknown

            node  zone       free     min      low     high     gap
               0  DMA32   250 MiB  10 MiB   40 MiB   70 MiB  30 MiB
               0  Normal  750 MiB  30 MiB  120 MiB  210 MiB  90 MiB

            demand     60 MiB/s; kswapd frees 200 MiB/s while it runs; the gap is to meet 99
                       % of bursts
            gap        156 MiB now, 24 MiB found, demand needs 180 MiB
            withheld   320 MiB less counts as available because of the guard
            forecast   memory runs out in 15 min (10 min to 30 min): what cannot be
                       reclaimed grows by 4 MiB/s
                       at this rate free memory meets the min watermark in 14 s
            blocks     of order 9: 40 are free, 12 will be needed; 35 % of free memory is in
                       smaller blocks
            holds      vm.watermark_scale_factor 10 → 143
            stalls     since it started: 3 allocations and 0 compactions stalled, tasks
                       waited 12.5 ms; 240 refaults; 0 killed by the kernel
            cost       81 ms of CPU, 3.1 MiB resident, 812 samples
            rival      earlyoom (process 12): we keep available memory above its threshold
            warning    /proc/pressure/io: cannot read: Permission denied
            last       58 s ago: would: vm.watermark_scale_factor 10 → 143: demand reaches
                       176 MiB within 1 s, kswapd frees 20 MiB of it meanwhile, the gap
                       holds 24 MiB
            last       59 s ago: vm.watermark_scale_factor 10 → 143: demand reaches 176 MiB
                       within 1 s, kswapd frees 20 MiB of it meanwhile, the gap holds 24 MiB
            last       59 s ago: reclaim 32 MiB from node 0: free 80 MiB is below the new
                       low watermark 180 MiB, and kswapd would wake only later
            last       1 min ago: allocations stalled: 3 in reclaim, 0 in compaction
        "]]
        .assert_eq(&shown(Origin::Running, example::guarding()));
    }

    #[test]
    fn squeezed_units_are_told_with_what_is_not_missed() {
        let mut status = example::guarding();
        status.decision.forecast.squeezed = Some(Bytes::mib(84));
        status.tally.squeezed_seconds = 3 << 30;
        status.sample.groups.squeezed.push(Squeezed {
            id: 7,
            unit: "backup.service".parse().unwrap(),
            at: Span::secs(7260),
            used: Bytes::mib(70),
            refaulted: Bytes::mib(6),
            waited: Micros::new(900),
            asked: Bytes::mib(90),
            taken: Bytes::mib(88),
        });
        let text = shown(Origin::Running, status);
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            joined.contains(
                "84 MiB taken of squeezed units and not missed, 3 GiB·s since it started"
            ),
            "{text}"
        );
        assert!(
            joined.contains("backup.service squeezed, uses 70 MiB; 88 MiB taken"),
            "{text}"
        );
    }

    #[test]
    fn it_fits_a_phone() {
        let screen = Screen {
            paint: Paint::Plain,
            columns: 40,
        };
        let text = text(
            &Seen {
                guard: Origin::Running,
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
                       CPU unknown
            demand     unknown
            gap        unknown now, unknown found
            withheld   unknown
            forecast   memory does not run out soon
            holds      no knob: demand does not ask for it now
            stalls     since it started: 0 allocations and 0 compactions stalled, tasks
                       waited 0 ns; 0 refaults; 0 killed by the kernel
            cost       0 ns of CPU, 0 B resident, 0 samples
        "]]
        .assert_eq(&shown(Origin::Running, example::unknown()));
    }

    #[test]
    fn without_a_guard_it_says_what_one_would_do() {
        let mut status = Status {
            past: Vec::new(),
            ..example::guarding()
        };
        status.decision.steps = example::guarding().past[1].steps.clone();
        let text = shown(Origin::Absent, status);
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
    fn what_another_program_has_set_is_not_held() {
        let mut status = example::guarding();
        status
            .sample
            .knobs
            .now
            .put(pressure::knob::Knob::WatermarkScaleFactor, Some(77));
        assert!(shown(Origin::Running, status).contains("holds      no knob"));
    }
}
