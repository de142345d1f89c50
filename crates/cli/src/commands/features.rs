//! `warmset features`: the kernel's features, and what is lost without each.

use crate::ui::text::{Page, Screen, Side, Style, counted, table};
use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::SystemReader;
use host::holder::check::checks;
use inspect::features::{Feature, Presence, features};
use pressure::knob::{Drive, KNOBS, KnobSpec, KnobValues};
use pressure::means::Means;
use pressure::{Facts, Sample};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Show the kernel's features, and what is lost without each
///
/// Features are found by looking. The means of protection are tried on a page, a file of a few MiB and a control group made
/// for that, which are removed afterwards. No setting is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let features = features(&context.root);
    let mut reader = SystemReader::open(&context.root)?;
    let mut sample = Sample::default();
    reader.read(&mut sample);
    let checks = if context.root == Path::new("/") {
        checks()
    } else {
        Err("this is a recorded machine".to_owned())
    };
    if context.form == Form::Json {
        let knobs: Vec<_> = KNOBS
            .iter()
            .map(|spec| {
                serde_json::json!({
                    "name": spec.name, "now": sample.knobs.now.of(spec.knob), "least": spec.range.start(),
                    "most": spec.range.end(), "drive": spec.drive, "sticky": spec.sticky,
                })
            })
            .collect();
        json(
            out,
            &serde_json::json!({ "facts": reader.facts(), "features": features, "knobs": knobs, "protection": checks.ok() }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Page::new(Screen::of_environment());
    show_kernel(&mut page, reader.facts(), &features, &sample.knobs.now);
    protection(&mut page, &checks);
    let text = page.text;
    out.write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The means of protection that were tried.
fn protection(page: &mut Page, checks: &Result<Vec<Means>, String>) {
    page.text.push('\n');
    page.heading("protection, tried");
    match checks {
        Ok(checks) => {
            for check in checks {
                if check.is_armed {
                    entry(page, Style::Good, "yes", &check.name);
                } else {
                    entry(page, Style::Notable, "no", &check.name);
                }
                page.paragraph(7, &check.says);
                if let Some(remedy) = &check.remedy {
                    page.paragraph(7, &format!("To do: {remedy}."));
                }
            }
        }
        Err(why) => page.paragraph(0, &format!("Not tried: {why}.")),
    }
}

fn show_kernel(page: &mut Page, facts: &Facts, features: &[Feature], now: &KnobValues) {
    let Facts {
        kernel,
        page_size,
        cpus,
        ..
    } = facts;
    page.heading(&format!(
        "Linux {kernel}, pages of {page_size}, {}",
        counted(*cpus, "CPU", "CPUs")
    ));
    if let Some(name) = &facts.container {
        page.paragraph(0, &format!("This looks like a container ({name})."));
    }
    page.text.push('\n');
    for feature in features {
        show(page, feature);
    }
    page.heading("knobs");
    let head = ["name", "now", "range", "driven"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head)
        .chain(KNOBS.iter().map(|spec| row(spec, now)))
        .collect();
    page.text.push_str(&table(
        [Side::Left, Side::Right, Side::Right, Side::Left],
        &rows,
    ));
    for spec in KNOBS {
        if let Some(sticky) = spec.sticky {
            page.text.push('\n');
            page.paragraph(
                0,
                &format!(
                    "{}: {sticky}; restoring the value does not undo that.",
                    spec.name
                ),
            );
        }
    }
}

/// What a feature gives if it is there; otherwise what is lost, and which kernels have it.
fn show(page: &mut Page, feature: &Feature) {
    let Feature {
        name,
        since,
        source,
        gives,
        without,
        ..
    } = feature;
    let (style, word, says) = match feature.presence {
        Presence::Present => (Style::Good, "yes", (*gives).to_owned()),
        Presence::Absent => (
            Style::Notable,
            "no",
            format!("{without} ({since}, {source})"),
        ),
        Presence::Unknown => (
            Style::Notable,
            "?",
            format!("{gives} ({since}; cannot be found by looking)"),
        ),
    };
    entry(page, style, word, name);
    page.paragraph(7, &says);
}

fn entry(page: &mut Page, style: Style, word: &str, name: &str) {
    let painted = page.screen.paint.paint(style, word);
    let _ = writeln!(page.text, "{painted}{}{name}", " ".repeat(5 - word.len()));
}

fn row(spec: &KnobSpec, now: &KnobValues) -> [String; 4] {
    let now = now
        .of(spec.knob)
        .map_or_else(|| "absent".to_owned(), |now| now.to_string());
    let driven = match spec.drive {
        Drive::Default => "by default",
        Drive::OptIn => "if configured",
        Drive::Tunable => "as a [[tunable]]",
        Drive::Respect => "never",
    };
    [
        spec.name.to_owned(),
        now,
        format!("{} to {}", spec.range.start(), spec.range.end()),
        driven.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn features_and_knobs_fit_80_columns() {
        let feature = |name, presence| Feature {
            name,
            presence,
            since: "5.0",
            source: "mm/page_alloc.c",
            gives: "boost kept to its bytes while the gap is raised",
            without: "there is no boost to keep, and nothing else is to be said of it",
        };
        let features = [
            feature("watermark boost", Presence::Present),
            feature("another", Presence::Absent),
            feature("a third", Presence::Unknown),
        ];
        let facts = Facts {
            container: Some("lxc".to_owned()),
            ..example::facts()
        };
        let mut page = Page::new(crate::ui::text::Paint::Plain);
        show_kernel(&mut page, &facts, &features, &example::sample().knobs.now);
        let mount = Some("mount -t tracefs nodev /sys/kernel/tracing");
        let checks = [
            Means::armed("locks", "hot files can be held"),
            Means::not_armed("events", "tracefs is not mounted", mount),
        ];
        protection(&mut page, &Ok(checks.to_vec()));
        let text = page.text;
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        expect_test::expect![[r"
            Linux 6.12.0, pages of 4 KiB, 2 CPUs
            This looks like a container (lxc).

            yes  watermark boost
                   boost kept to its bytes while the gap is raised
            no   another
                   there is no boost to keep, and nothing else is to be said of it (5.0,
                   mm/page_alloc.c)
            ?    a third
                   boost kept to its bytes while the gap is raised (5.0; cannot be found by
                   looking)

            knobs
            name                            now             range  driven
            vm.watermark_scale_factor       143         1 to 3000  by default
            vm.watermark_boost_factor    absent      0 to 1000000  by default
            vm.compaction_proactiveness  absent          0 to 100  by default
            vm.min_free_kbytes           absent  128 to 268435456  if configured
            vm.vfs_cache_pressure        absent      1 to 1000000  if configured
            vm.vfs_cache_pressure_denom  absent    100 to 1000000  never
            fs.dentry-negative           absent            0 to 1  if configured
            fs.negative-dentry-limit     absent          0 to 100  if configured
            vm.swappiness                absent          0 to 200  if configured
            vm.page-cluster              absent           0 to 10  if configured
            vm.extfrag_threshold         absent         0 to 1000  as a [[tunable]]
            vm.dirty_background_ratio    absent          0 to 100  as a [[tunable]]
            vm.dirty_ratio               absent          0 to 100  as a [[tunable]]
            mm.lru_gen.min_ttl_ms        absent       0 to 600000  if configured
            vm.workingset_protection     absent            0 to 1  if configured
            vm.clean_low_ratio           absent          0 to 100  if configured
            vm.clean_min_ratio           absent          0 to 100  if configured
            vm.anon_min_ratio            absent          0 to 100  if configured

            vm.compaction_proactiveness: writing any value but 0 starts one background
            compaction; restoring the value does not undo that.

            vm.min_free_kbytes: once written, the kernel no longer recalculates it on
            hotplug or huge-page changes until reboot; restoring the value does not undo
            that.

            vm.dirty_background_ratio: sets vm.dirty_background_bytes to 0; restoring the
            value does not undo that.

            vm.dirty_ratio: sets vm.dirty_bytes to 0; restoring the value does not undo
            that.


            protection, tried
            yes  locks
                   hot files can be held
            no   events
                   tracefs is not mounted
                   To do: mount -t tracefs nodev /sys/kernel/tracing.
        "]]
        .assert_eq(&text);
    }
}
