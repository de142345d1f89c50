//! nohang: lines `key = value`, and lines that begin with `@`.
//!
//! A line that begins with `#` or a blank is a comment there, whatever follows: its own file explains
//! each key in indented lines. Its patterns are found anywhere in what they are compared with.

use super::draft::{Draft, List, Subject, percent, seconds};
use pressure::config::Share;
use pressure::import::quoted;
use std::collections::BTreeMap;
use units::{Bytes, Percent, Span};

/// Between the parts of a line with `@`.
const SEPARATOR: &str = "///";

/// Keys about its own work and log, which lose nothing.
const OWN: &[&str] = &[
    "debug_gui_notifications",
    "debug_psi",
    "debug_sleep",
    "debug_threading",
    "env_cache_time",
    "exe_timeout",
    "extra_table_info",
    "fill_rate_mem",
    "fill_rate_swap",
    "fill_rate_zram",
    "hide_corrective_action_type",
    "max_sleep",
    "max_victim_ancestry_depth",
    "min_mem_report_interval",
    "min_sleep",
    "post_zombie_delay",
    "print_config_at_startup",
    "print_mem_check_results",
    "print_proc_table",
    "print_statistics",
    "print_victim_cmdline",
    "print_victim_status",
    "separate_log",
    "victim_cache_time",
];

/// Keys that have another name since its version 0.2.
const RENAMED: &[(&str, &str)] = &[
    ("mem_min_sigterm", "soft_threshold_min_mem"),
    ("mem_min_sigkill", "hard_threshold_min_mem"),
    ("swap_min_sigterm", "soft_threshold_min_swap"),
    ("swap_min_sigkill", "hard_threshold_min_swap"),
];

/// Lines `@BADNESS_ADJ_RE_…`: what their pattern is compared with; `None` if there is nothing like it here.
const BADNESS: &[(&str, Option<Subject>)] = &[
    ("NAME", Some(Subject::Name)),
    ("CMDLINE", Some(Subject::Line)),
    ("UID", Some(Subject::User)),
    ("CGROUP_V2", Some(Subject::Cgroup)),
    ("REALPATH", Some(Subject::Path)),
    ("CGROUP_V1", None),
    ("CWD", None),
    ("ENVIRON", None),
];

/// The translation of its file.
pub(super) fn file(draft: &mut Draft, text: &str) {
    draft.mode = Some("guard");
    let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
    let mut badness = Vec::new();
    for line in text.lines() {
        let is_comment = line.is_empty() || line.starts_with(['#', ' ', '\t']);
        if is_comment || line.trim().is_empty() {
            continue;
        }
        if let Some(rule) = line.strip_prefix('@') {
            if !rule_line(draft, rule, &mut badness) {
                draft.leave_out(quoted(line.trim_end()), "nohang knows no such line");
            }
        } else {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let key = key.trim();
            let renamed = RENAMED.iter().find(|(old, _)| *old == key);
            let key = renamed.map_or(key, |(_, new)| new);
            if keys.insert(key, value.trim()).is_some() {
                draft.note(format!(
                    "{} is there twice, with which nohang does not start; the last counts",
                    quoted(key)
                ));
            }
        }
    }
    adjust(draft, &badness);
    Keys { draft, keys }.translate();
}

/// A rule of the list that makes a process more or less likely to be chosen.
struct Badness<'a> {
    setting: String,
    points: i64,
    pattern: &'a str,
    subject: Subject,
}

/// Returns false if the line is none of nohang's.
fn rule_line<'a>(draft: &mut Draft, rule: &'a str, badness: &mut Vec<Badness<'a>>) -> bool {
    if matches!(rule.trim_end(), "check_kmsg" | "debug_kmsg") {
        draft.note("OOM kills by the kernel are counted and shown here in any case");
        return true;
    }
    let shown = format!("@{}", rule.trim_end());
    if rule.starts_with("SOFT_ACTION_RE_") {
        draft.leave_out(
            shown,
            "no command is run instead of a signal; let the unit restart itself by Restart=, or name a program of root's \
             in [hooks]",
        );
        return true;
    }
    let Some(rest) = rule.strip_prefix("BADNESS_ADJ_RE_") else {
        return false;
    };
    // nohang takes what begins so: the points may follow at once.
    let Some((kind, subject)) = BADNESS.iter().find(|(kind, _)| rest.starts_with(kind)) else {
        return false;
    };
    let Some((points, pattern)) = rest[kind.len()..].split_once(SEPARATOR) else {
        draft.leave_out(shown, format!("it has no {SEPARATOR}"));
        return true;
    };
    let Some(subject) = subject else {
        let what = match *kind {
            "CGROUP_V1" => "cgroups of version 1 are not looked at; name the unit, or cgroup:/PATH",
            "CWD" => "the working directory is not looked at",
            _ => "the environment is not looked at",
        };
        draft.leave_out(shown, what);
        return true;
    };
    match points.trim().parse() {
        Ok(0) => draft.note(format!("{shown}: 0 points change nothing")),
        Ok(points) => badness.push(Badness {
            setting: format!("@BADNESS_ADJ_RE_{kind}"),
            points,
            pattern: pattern.trim(),
            subject: *subject,
        }),
        Err(_) => draft.leave_out(shown, "its points are no whole number"),
    }
    true
}

fn adjust(draft: &mut Draft, badness: &[Badness<'_>]) {
    for rule in badness {
        let list = if rule.points < 0 {
            List::Avoid
        } else {
            List::Prefer
        };
        draft.rules(&rule.setting, rule.pattern, rule.subject, list);
    }
    if !badness.is_empty() {
        draft.note(
            "points become a list: avoid weighs a quarter and prefer four times, whatever the number was",
        );
    }
}

struct Keys<'a, 'b> {
    draft: &'a mut Draft,
    keys: BTreeMap<&'b str, &'b str>,
}

impl Keys<'_, '_> {
    /// Each key is taken out of the map where it is understood; what remains is unknown.
    fn translate(&mut self) {
        self.rooms();
        self.swap();
        self.zram();
        self.pressure();
        self.warnings();
        self.choice();
        let own: Vec<&str> = OWN
            .iter()
            .copied()
            .filter(|key| self.keys.remove(key).is_some())
            .collect();
        if !own.is_empty() {
            self.draft.note(format!(
                "about nohang's own work and log, and not needed: {}",
                own.join(", ")
            ));
        }
        let unknown: Vec<String> = self.keys.keys().map(|key| quoted(key)).collect();
        for key in unknown {
            self.draft.leave_out(key, "nohang has no such key");
        }
    }

    fn leave_out(&mut self, key: &str, value: &str, reason: &str) {
        let setting = format!("{key} = {value}");
        self.draft.leave_out(setting.trim_end(), reason);
    }

    fn rooms(&mut self) {
        let term = self.amount("soft_threshold_min_mem");
        let kill = self.amount("hard_threshold_min_mem");
        if term.is_none() && kill.is_none() {
            self.draft.note(
                "without soft_threshold_min_mem and hard_threshold_min_mem nohang does not start; term-room and \
                 kill-room keep their defaults",
            );
        }
        self.draft.term_room = term;
        self.draft.kill_room = kill;
    }

    /// `5 %`, or `500 M` for MiB.
    fn amount(&mut self, key: &str) -> Option<Share> {
        let value = self.keys.remove(key)?;
        let amount = match value.strip_suffix('M') {
            Some(number) => mebibytes(number).map(Share::Bytes),
            None if value.ends_with('%') => percent(value).map(Share::Percent),
            None => None,
        };
        match amount {
            Some(amount) => Some(self.draft.within_bounds(key, amount)),
            None => {
                self.leave_out(
                    key,
                    value,
                    "it is neither a share such as 5 % nor a size such as 500 M",
                );
                None
            }
        }
    }

    fn swap(&mut self) {
        for key in ["soft_threshold_min_swap", "hard_threshold_min_swap"] {
            let Some(value) = self.keys.remove(key) else {
                continue;
            };
            let ignores_swap = percent(value) == Some(Percent::WHOLE) && value.ends_with('%');
            let reason = if ignores_swap {
                "it kills although swap is free; free swap always counts as headroom here"
            } else {
                "free swap counts as headroom here, with its own cost; there is no threshold for it alone"
            };
            self.leave_out(key, value, reason);
        }
    }

    fn zram(&mut self) {
        let is_checked = self.is_on("zram_checking_enabled");
        for key in ["soft_threshold_max_zram", "hard_threshold_max_zram"] {
            let value = self.keys.remove(key);
            if let Some(value) = value.filter(|_| is_checked) {
                self.leave_out(
                    key,
                    value,
                    "what zram takes is part of headroom at its ratio; there is no threshold for it alone",
                );
            }
        }
    }

    fn pressure(&mut self) {
        let checking = self.keys.get("psi_checking_enabled").copied();
        let is_checked = self.is_on("psi_checking_enabled");
        let soft = self.keys.remove("soft_threshold_max_psi");
        let hard = self.keys.remove("hard_threshold_max_psi");
        let duration = self.keys.remove("psi_excess_duration");
        let metrics = self.keys.remove("psi_metrics");
        let path = self.keys.remove("psi_path");
        let pause = self.keys.remove("psi_post_action_delay");
        if !is_checked {
            if checking.is_some() {
                // Nothing is killed for pressure alone there.
                self.draft.stall_for = Some(Span::default());
            }
            return;
        }
        if let Some(path) = path.filter(|path| *path != "/proc/pressure/memory") {
            self.leave_out(
                "psi_path",
                path,
                "the pressure of one group kills nothing here; that of the machine does",
            );
            return;
        }
        let metrics = metrics.unwrap_or("full_avg10");
        if metrics.starts_with("full_avg") {
            self.stall(soft, duration);
            if metrics != "full_avg10" {
                self.leave_out(
                    "psi_metrics",
                    metrics,
                    "stalls are counted over stall-for itself",
                );
            }
        } else {
            self.leave_out(
                "psi_metrics",
                metrics,
                "stall-limit is about all tasks stalled at once (full), so soft_threshold_max_psi is left out too",
            );
        }
        if let Some(value) = hard {
            self.leave_out(
                "hard_threshold_max_psi",
                value,
                "SIGKILL follows SIGTERM here, at kill-room or after term-grace",
            );
        }
        if pause.is_some() {
            self.draft.note(
                "psi_post_action_delay: the time to the next signal is how long freed memory takes to show",
            );
        }
    }

    fn stall(&mut self, limit: Option<&str>, duration: Option<&str>) {
        let Some(limit) = limit else { return };
        let Some(share) = percent(limit) else {
            return self.leave_out("soft_threshold_max_psi", limit, "it is no share");
        };
        let time = duration.unwrap_or("30");
        let Some(time) = seconds(time) else {
            return self.leave_out("psi_excess_duration", time, "it is no time in seconds");
        };
        self.draft.stall("psi_excess_duration", share, time);
    }

    fn warnings(&mut self) {
        let warns = self.is_on("low_memory_warnings_enabled");
        let tells = self.is_on("post_action_gui_notifications");
        let program = self.keys.remove("warning_exe").unwrap_or_default();
        for key in [
            "warning_threshold_min_mem",
            "warning_threshold_min_swap",
            "warning_threshold_max_zram",
            "warning_threshold_max_psi",
            "min_post_warning_delay",
        ] {
            let value = self.keys.remove(key);
            if let Some(value) = value.filter(|_| warns) {
                self.leave_out(
                    key,
                    value,
                    "users are warned by time (warn-ahead), not by an amount; each starts notices: \
                     systemctl --user enable --now warmset-notice",
                );
            }
        }
        if tells {
            self.draft.leave_out(
                "post_action_gui_notifications",
                "each user starts notices: systemctl --user enable --now warmset-notice",
            );
        }
        if warns && !program.is_empty() {
            self.hook("warning_exe", program, "warn");
        }
        let program = self.keys.remove("post_kill_exe").unwrap_or_default();
        if !program.is_empty() {
            self.hook("post_kill_exe", program, "ended");
        }
    }

    fn hook(&mut self, key: &str, value: &str, event: &str) {
        let reason = format!(
            "a program of root's alone may be {event} = \"…\" in [hooks]; it gets variables, and no arguments: \
             warmset.toml(5)"
        );
        self.leave_out(key, value, &reason);
    }

    /// What decides between processes, and what happens after a signal.
    fn choice(&mut self) {
        if self.is_on("ignore_positive_oom_score_adj") {
            self.draft.leave_out(
                "ignore_positive_oom_score_adj = True",
                "a positive oom_score_adj counts little here, and there is no switch",
            );
        }
        let min_badness = self.keys.remove("min_badness");
        if let Some(value) = min_badness.filter(|value| *value != "1") {
            self.leave_out(
                "min_badness",
                value,
                "there is no badness here, and no least of it",
            );
        }
        if let Some(value) = self.keys.remove("max_soft_exit_time") {
            self.grace(value);
        }
        if let Some(value) = self.keys.remove("post_soft_action_delay") {
            self.draft.note(format!(
                "post_soft_action_delay = {value}: no command is run instead of a signal, so nothing waits for one"
            ));
        }
    }

    /// Time from SIGTERM to SIGKILL.
    fn grace(&mut self, value: &str) {
        const LEAST: Span = Span::millis(100);
        const MOST: Span = Span::secs(60);
        match seconds(value) {
            Some(time) if (LEAST..=MOST).contains(&time) => self.draft.term_grace = Some(time),
            Some(time) => {
                let bounded = time.clamp(LEAST, MOST);
                self.draft.term_grace = Some(bounded);
                let reason = format!("term-grace is {LEAST} to {MOST}; it is {bounded}");
                self.leave_out("max_soft_exit_time", value, &reason);
            }
            None => self.leave_out("max_soft_exit_time", value, "it is no time in seconds"),
        }
    }

    /// Takes a switch out. What is neither True nor False is said, and off.
    fn is_on(&mut self, key: &str) -> bool {
        match self.keys.remove(key) {
            Some("True") => true,
            Some("False") | None => false,
            Some(value) => {
                self.leave_out(key, value, "it is neither True nor False");
                false
            }
        }
    }
}

/// A size in MiB, such as `500` or `0.5`.
fn mebibytes(text: &str) -> Option<Bytes> {
    /// 1 PiB in MiB: more is no machine's memory.
    const MOST: f64 = (1_u64 << 30) as f64;
    let number: f64 = text.trim().parse().ok()?;
    if (0.0..=MOST).contains(&number) {
        Some(Bytes::kib((number * 1024.0).round() as u64))
    } else {
        None
    }
}
