//! What must hold of a configuration as a whole; each message names the keys.

use super::{Config, Guard, MOST_NAMED, Occasion, Share, is_protected, named_fault};
use crate::rules::{MOST_COMMANDS, Rule};
use units::{Bytes, Percent, Span};

/// No other share of memory may be larger: a tenth stays for what the share is not about.
const MOST: Percent = Percent::new(90);
/// What Warmset itself withholds or holds is never more of memory than this.
const QUARTER: Percent = Percent::new(25);

/// A share of stalls that is normal under a burst, and says nothing about the seconds to come.
const LEAST_STALL: Percent = Percent::new(5);

type Checked = Result<(), String>;

impl Config {
    /// What must hold between keys; the message names both.
    pub(super) fn consistent(&self) -> Checked {
        self.spans()?;
        self.shares()?;
        self.names()?;
        self.rules()?;
        if self.gap.stall_cost == Span::default() && self.gap.refault_cost == Span::default() {
            return Err(
                "gap.stall-cost and gap.refault-cost are both zero: nothing to weigh".to_owned(),
            );
        }
        let recording = &self.recording;
        if recording.size < recording.file_size {
            return Err(format!(
                "recording.size = {} is less than one file, recording.file-size = {}; recording.enabled = false keeps none",
                recording.size, recording.file_size
            ));
        }
        self.tunables.iter().try_for_each(|tunable| {
            let spec = tunable.knob.spec();
            if spec.range.contains(&tunable.value) {
                return Ok(());
            }
            let least = spec.range.start();
            let most = spec.range.end();
            Err(format!(
                "tunable {} = {} is not between {least} and {most}",
                spec.name, tunable.value
            ))
        })
    }

    fn spans(&self) -> Checked {
        const DAY: Span = Span::secs(86_400);
        let Self {
            wake,
            gap,
            compaction,
            guard,
            protect,
            ..
        } = self;
        for (name, value, least, most) in [
            (
                "wake.fastest",
                wake.fastest,
                Span::millis(20),
                Span::secs(10),
            ),
            ("wake.calmest", wake.calmest, wake.fastest, Span::secs(60)),
            (
                "wake.pressure-window",
                wake.pressure_window,
                Span::millis(500),
                Span::secs(10),
            ),
            (
                "wake.pressure-stall",
                wake.pressure_stall,
                Span::millis(1),
                wake.pressure_window,
            ),
            ("gap.settle", gap.settle, Span::secs(1), Span::secs(3600)),
            (
                "gap.half-life",
                gap.half_life,
                Span::secs(10),
                Span::secs(7 * 86_400),
            ),
            (
                "gap.give-back-after",
                gap.give_back_after,
                Span::secs(1),
                DAY,
            ),
            (
                "compaction.horizon",
                compaction.horizon,
                Span::millis(500),
                Span::secs(600),
            ),
            (
                "compaction.node-interval",
                compaction.node_interval,
                Span::secs(60),
                DAY,
            ),
            ("leak.every", self.leak.every, Span::secs(10), DAY),
            (
                "guard.warn-ahead",
                guard.warn_ahead,
                Span::secs(1),
                Span::secs(600),
            ),
            (
                "guard.kill-ahead",
                guard.kill_ahead,
                Span::millis(200),
                Span::secs(10),
            ),
            (
                "guard.term-ahead",
                guard.term_ahead,
                Span::default(),
                Span::secs(60),
            ),
            (
                "guard.term-grace",
                guard.term_grace,
                Span::millis(100),
                Span::secs(60),
            ),
            (
                "guard.hopeless-after",
                guard.hopeless_after,
                Span::secs(2),
                Span::secs(3600),
            ),
            (
                "guard.stall-for",
                guard.stall_for,
                Span::default(),
                Span::secs(3600),
            ),
            (
                "guard.throttle-ahead",
                guard.throttle_ahead,
                Span::default(),
                Span::secs(60),
            ),
            (
                "guard.throttle-for",
                guard.throttle_for,
                Span::secs(1),
                Span::secs(600),
            ),
            (
                "guard.ask-for",
                guard.ask_for,
                Span::default(),
                Span::secs(600),
            ),
            (
                "protect.reuse",
                protect.reuse,
                Span::secs(1),
                Span::secs(600),
            ),
            (
                "protect.release-after",
                protect.release_after,
                Span::secs(5),
                DAY,
            ),
            (
                "hooks.timeout",
                self.hooks.timeout,
                Span::millis(100),
                Span::secs(60),
            ),
        ] {
            if value < least || value > most {
                return Err(format!(
                    "{name} = \"{value}\" is not between {least} and {most}"
                ));
            }
        }
        Ok(())
    }

    fn shares(&self) -> Checked {
        for (name, share) in [
            ("guard.term-room", self.guard.term_room),
            ("guard.kill-room", self.guard.kill_room),
            ("guard.cache-most", self.guard.cache_most),
            ("gap.available-floor", self.gap.available_floor),
        ] {
            at_most(MOST, "90 %", name, share)?;
        }
        self.guard.amounts(None)?;
        if self.guard.stall_limit < LEAST_STALL {
            return Err(format!(
                "guard.stall-limit = \"{}\" is less than {LEAST_STALL}: healthy machines stall so much",
                self.guard.stall_limit
            ));
        }
        for (name, share) in [
            ("guard.stall-limit", self.guard.stall_limit),
            ("squeeze.budget", self.squeeze.budget),
            ("gap.dead-band", self.gap.dead_band),
            ("caches.negative-cap", self.caches.negative_cap),
        ] {
            if share > MOST {
                return Err(format!("{name} = \"{share}\" is more than 90 %"));
            }
        }
        for (name, share) in [
            ("protect.budget", self.protect.budget),
            ("protect.floors", self.protect.floors),
            ("gap.max", self.gap.max.unwrap_or_default()),
        ] {
            at_most(QUARTER, "a quarter of memory", name, share)?;
        }
        Ok(())
    }

    /// A process cannot be killed late and early, or never and early.
    fn rules(&self) -> Checked {
        let guard = &self.guard;
        let commands = guard.commands().count();
        if commands > MOST_COMMANDS {
            return Err(format!(
                "{commands} rules command: in guard.spare, avoid and prefer, at most {MOST_COMMANDS} are \
                 allowed: join some by a star"
            ));
        }
        contradict("avoid", &guard.avoid, "prefer", &guard.prefer)?;
        contradict("spare", &guard.spare, "prefer", &guard.prefer)
    }

    fn names(&self) -> Checked {
        if let Some(unit) = self.protect.units.iter().find(|unit| !is_protected(unit)) {
            return Err(format!(
                "protect.units: {unit:?} may hold anything, and so what makes memory run out"
            ));
        }
        for unit in &self.squeeze.units {
            let is_named = unit == "background.slice" || is_protected(unit);
            if !is_named || unit == "session.slice" {
                return Err(format!(
                    "squeeze.units: {unit:?} is no service, no background.slice and no path of a control group"
                ));
            }
            if self.protect.units.contains(unit) {
                return Err(format!(
                    "squeeze.units and protect.units both name {unit:?}: what is kept for it cannot be taken from it"
                ));
            }
        }
        let files = &self.protect.files;
        if files.len() > MOST_NAMED {
            return Err(format!(
                "protect.files has {} paths, and at most {MOST_NAMED} are allowed: name a directory instead",
                files.len()
            ));
        }
        for path in files {
            if let Some(fault) = named_fault(path) {
                return Err(format!("protect.files: {path:?}: {fault}"));
            }
        }
        let programs = self
            .protect
            .programs
            .iter()
            .map(|path| ("protect.programs".to_owned(), path.as_str()));
        let hooks = Occasion::ALL.into_iter().filter_map(|occasion| {
            let path = self.hooks.of(occasion)?;
            Some((format!("hooks.{}", occasion.name()), path))
        });
        match programs
            .chain(hooks)
            .find(|(_, path)| !path.starts_with('/'))
        {
            Some((name, path)) => Err(format!("{name}: {path:?} is no absolute path")),
            None => Ok(()),
        }
    }
}

/// An error for a share above `most`. How much of memory bytes are, only the machine can tell.
fn at_most(most: Percent, called: &str, name: &str, share: Share) -> Checked {
    match share {
        Share::Percent(percent) if percent > most => {
            Err(format!("{name} = \"{share}\" is more than {called}"))
        }
        _ => Ok(()),
    }
}

/// Whether one amount is above another on a machine with so much memory.
fn is_above(one: Share, other: Share, managed: Option<Bytes>) -> bool {
    match (one, other, managed) {
        (Share::Bytes(one), Share::Bytes(other), _) => one > other,
        (Share::Percent(one), Share::Percent(other), _) => one > other,
        (one, other, Some(managed)) => one.of(managed) > other.of(managed),
        (_, _, None) => false,
    }
}

impl Guard {
    /// What must hold between amounts, which may be bytes or shares: both are compared on a machine with
    /// so much `managed` memory; where that is unknown, only those of one kind.
    pub fn amounts(&self, managed: Option<Bytes>) -> Result<(), String> {
        let here = match managed {
            Some(managed) => format!(" on a machine with {managed}"),
            None => String::new(),
        };
        let least = self.cache_least;
        let most = self.cache_most;
        if is_above(least, most, managed) {
            return Err(format!(
                "guard.cache-most = \"{most}\" is less than guard.cache-least = \"{least}\"{here}"
            ));
        }
        // Without SIGTERM there is nothing that SIGKILL could come before.
        let sends_sigterm = self.term_ahead > Span::default();
        let kill = self.kill_room;
        let term = self.term_room;
        if sends_sigterm && is_above(kill, term, managed) {
            return Err(format!(
                "guard.kill-room = \"{kill}\" is above guard.term-room = \"{term}\"{here}: SIGKILL would come \
                 before SIGTERM; lower kill-room"
            ));
        }
        Ok(())
    }
}

/// An error for a rule that is in both lists.
fn contradict(one: &str, rules: &[Rule], other: &str, others: &[Rule]) -> Checked {
    for rule in rules {
        if others.iter().any(|it| it.says_the_same_as(rule)) {
            return Err(format!(
                "guard.{one} and guard.{other} both name \"{rule}\": keep it in one of them"
            ));
        }
    }
    Ok(())
}
