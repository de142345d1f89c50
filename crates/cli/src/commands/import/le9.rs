//! le9 and le9uo: sysctls of a patched kernel that keep file pages, and anonymous pages, in memory.
//!
//! What counts for a program is how much file cache never counts as free. Here that is `cache-least`
//! for what le9 keeps in any case (min), and `cache-most` for what it keeps as long as it can (low).
//! Neither is ever set below its default: a file that asks for protection must not lower it.
//!
//! A mode is not set. The mode that holds files also kills when memory runs out, and a sysctl file
//! never asked for that.

use super::draft::Draft;
use pressure::config::{Guard, Protect};
use pressure::import::quoted;
use std::fmt::Display;
use units::{Bytes, Percent};

/// Largest share that counts as in use (the configuration's own bound).
const MOST: Percent = Percent::new(90);
/// Largest share that is held (the configuration's own bound).
const MOST_HELD: Percent = Percent::new(25);

/// What a sysctl of le9's is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// File pages that are never reclaimed.
    Min,
    /// File pages that are reclaimed last.
    Low,
    /// Anonymous pages that are never reclaimed.
    Anonymous,
    /// The switch over all of them.
    Switch,
}

/// Its sysctls below `vm.`, in all versions: le9uo's shares, le9ec's sizes, and the older names.
const SYSCTLS: &[(&str, Kind)] = &[
    ("clean_min_ratio", Kind::Min),
    ("clean_low_ratio", Kind::Low),
    ("anon_min_ratio", Kind::Anonymous),
    ("workingset_protection", Kind::Switch),
    ("clean_min_kbytes", Kind::Min),
    ("clean_low_kbytes", Kind::Low),
    ("anon_min_kbytes", Kind::Anonymous),
    ("unevictable_activefile_kbytes", Kind::Min),
    ("unevictable_inactivefile_kbytes", Kind::Min),
    ("unevictable_activefile_kbytes_min", Kind::Min),
    ("unevictable_activefile_kbytes_low", Kind::Low),
    ("min_filelist_kbytes", Kind::Min),
];

/// A sysctl that is set, and to what.
struct Setting {
    /// As it stands in the file.
    shown: String,
    name: &'static str,
    kind: Kind,
    value: u64,
}

/// The translation of a sysctl file.
pub(super) fn file(draft: &mut Draft, text: &str) {
    let settings = settings(draft, text);
    if settings.is_empty() {
        draft.leave_out("the file", "no setting of le9 or le9uo is in it");
        return;
    }
    let is_off = settings
        .iter()
        .any(|setting| setting.kind == Kind::Switch && setting.value == 0);
    if is_off {
        draft.note("vm.workingset_protection = 0 switches it off, so nothing is set here");
        return;
    }
    if settings.iter().all(|setting| setting.value == 0) {
        draft.note("each is 0, which switches it off, so nothing is set here");
        return;
    }
    draft.note(
        "no mode is set: it is in force in mode protect, which is the default; in that mode a process is killed when \
         memory runs out, too",
    );
    let mut least: Option<Percent> = None;
    let mut most: Option<Percent> = None;
    for setting in &settings {
        if setting.value == 0 {
            continue;
        }
        match setting.kind {
            Kind::Min => least = least.max(share(draft, setting)),
            Kind::Low => most = most.max(share(draft, setting)),
            Kind::Anonymous => draft.leave_out(
                setting.shown.as_str(),
                "how much stays with the units of protect.units is measured; on a kernel with this sysctl the mode \
                 protect drives it",
            ),
            Kind::Switch => {}
        }
    }
    cache(draft, least, most);
}

/// The settings of le9's, each as it was set last. Others are not touched by the move, and said.
fn settings(draft: &mut Draft, text: &str) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut others = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            draft.leave_out(quoted(line), "it is not NAME = VALUE");
            continue;
        };
        // `-` only keeps sysctl from failing where the kernel has no such name.
        let key = key.trim().trim_start_matches('-').replace('/', ".");
        let known = key
            .strip_prefix("vm.")
            .and_then(|key| SYSCTLS.iter().find(|(name, _)| *name == key));
        let Some((name, kind)) = known else {
            others.push(quoted(&key));
            continue;
        };
        let shown = format!("vm.{name} = {}", value.trim());
        match value.trim().parse() {
            Ok(value) => {
                settings.retain(|earlier| earlier.name != *name);
                settings.push(Setting {
                    shown,
                    name,
                    kind: *kind,
                    value,
                });
            }
            Err(_) => draft.leave_out(quoted(&shown), "it is no whole number"),
        }
    }
    if !others.is_empty() {
        draft.note(format!(
            "none of le9's, and as the file has it: {}",
            others.join(", ")
        ));
    }
    settings
}

/// A setting as a share of memory, rounded up.
fn share(draft: &mut Draft, setting: &Setting) -> Option<Percent> {
    if !setting.name.ends_with("ratio") {
        let Some(memory) = draft.memory else {
            draft.leave_out(
                setting.shown.as_str(),
                "it is a size, and what share of memory that is is unknown here: give cache-least or cache-most",
            );
            return None;
        };
        let size = Bytes::new(setting.value.saturating_mul(1024));
        let share = Percent::ratio(size.get(), memory.get())?;
        let share = if share.of(memory) < size {
            Percent::hundredths(share.get().saturating_add(1))
        } else {
            share
        };
        draft.note(format!(
            "{} KiB: that is {share} of this machine's memory",
            setting.shown
        ));
        return Some(bounded(draft, setting, share));
    }
    Some(bounded(draft, setting, Percent::new(setting.value)))
}

fn bounded(draft: &mut Draft, setting: &Setting, share: Percent) -> Percent {
    if share > default_share(Protect::default().budget) {
        draft.budget = draft.budget.max(Some(share.min(MOST_HELD)));
    }
    if share > MOST {
        draft.leave_out(
            setting.shown.as_str(),
            format!("no more than {MOST} of memory can count as in use; it is {MOST}"),
        );
    } else if share > MOST_HELD {
        draft.leave_out(
            setting.shown.as_str(),
            format!(
                "so much file cache counts as in use, but no more than {MOST_HELD} of memory is held"
            ),
        );
    }
    share.min(MOST)
}

/// What counts as in use, where that is more than by default.
fn cache(draft: &mut Draft, least: Option<Percent>, most: Option<Percent>) {
    let default = Guard::default();
    let default_least = default_share(default.cache_least);
    let default_most = default_share(default.cache_most);
    if let Some(least) = least.filter(|least| *least > default_least) {
        draft.cache_least = Some(least);
    }
    let wanted = most.max(least);
    if let Some(most) = wanted.filter(|most| *most > default_most) {
        draft.cache_most = Some(most);
    }
    if draft.cache_least.is_none() && draft.cache_most.is_none() && wanted.is_some() {
        draft.note(format!(
            "cache-least and cache-most stay as they are, {default_least} and {default_most}: the file asks for no more"
        ));
    }
}

/// A default that the configuration writes as a share, by what it prints.
fn default_share(default: impl Display) -> Percent {
    default.to_string().parse().unwrap_or_default()
}
