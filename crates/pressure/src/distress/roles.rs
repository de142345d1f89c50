//! Exemptions: which processes are never killed, and how they are recognised.
//!
//! The name that a process gives itself does not count: a hog called `sshd` is a hog. A system unit is
//! named by root, so its name counts. In a user's own units and sessions only the file that runs
//! counts, if root owns it.

use crate::config::Guard;
use crate::scan::{Candidate, Life, Mark, Name, Place};
use serde::{Deserialize, Serialize};

/// Why a process is exempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exemption {
    /// The first process.
    Init,
    /// `oom_score_adj` is −1000.
    Adjusted,
    /// Its unit keeps the system up.
    Unit,
    /// The program it runs keeps the system or a session up.
    Program,
    /// A rule of `guard.spare` exempts it.
    Rule,
    /// Root set `ManagedOOMPreference=omit` on its unit.
    Mark,
    /// It is already exiting.
    Dying,
}

impl Exemption {
    /// As text that follows "exempt, ".
    pub const fn why(self) -> &'static str {
        match self {
            Self::Init => "it is the first process",
            Self::Adjusted => "oom_score_adj is -1000",
            Self::Unit => "its unit keeps the system up",
            Self::Program => "it runs a program of the system or the session",
            Self::Rule => "guard.spare names it",
            Self::Mark => "its unit is marked ManagedOOMPreference=omit",
            Self::Dying => "it is already exiting",
        }
    }
}

/// System services without which there is no login, no log, no bus or no screen, or a package is left
/// half-installed. A star at the end stands for anything.
const UNITS: &[&str] = &[
    "accounts-daemon.service",
    "apt-daily*",
    "auditd.service",
    "colord.service",
    "dbus*",
    "display-manager.service",
    "dnf*",
    "emergency.service",
    "gdm*",
    "getty@*",
    "greetd*",
    "init.scope",
    "lightdm*",
    "ly.service",
    "ly@*",
    "lxdm*",
    "NetworkManager*",
    "packagekit.service",
    "polkit*",
    "rescue.service",
    "rpm-ostree*",
    "rtkit-daemon.service",
    "sddm*",
    "serial-getty@*",
    "ssh.service",
    "ssh@*",
    "sshd*",
    "system-getty*",
    "systemd-*",
    "udisks2.service",
    "unattended-upgrades.service",
    "upower.service",
    "warmset*",
    "wpa_supplicant*",
    "xdm.service",
    "zypper*",
];

/// Programs that a session or the system depends on: compositors, session managers, desktop shells,
/// login, buses, sound, package managers, other guards.
const PROGRAMS: &[&str] = &[
    "agetty",
    "apt",
    "apt-get",
    "aptitude",
    "aptitude-curses",
    "at-spi-bus-launcher",
    "awesome",
    "bspwm",
    "budgie-wm",
    "cage",
    "cinnamon",
    "cinnamon-session-binary",
    "cosmic-comp",
    "cosmic-session",
    "dbus-broker",
    "dbus-broker-launch",
    "dbus-daemon",
    "dnf",
    "dnf5",
    "dpkg",
    "dpkg-deb",
    "dropbear",
    "dwm",
    "earlyoom",
    "enlightenment",
    "gamescope",
    "gdm",
    "gdm-session-worker",
    "gdm-wayland-session",
    "gdm-x-session",
    "gdm3",
    "gnome-keyring-daemon",
    "gnome-session-binary",
    "gnome-session-service",
    "gnome-shell",
    "greetd",
    "herbstluftwm",
    "hyprland",
    "Hyprland",
    "i3",
    "kscreenlocker_greet",
    "ksmserver",
    "kwin_wayland",
    "kwin_x11",
    "labwc",
    "lightdm",
    "login",
    "lxqt-session",
    "marco",
    "mate-session",
    "muffin",
    "mutter",
    "nix-daemon",
    "niri",
    "openbox",
    "pacman",
    "phoc",
    "pipewire",
    "pipewire-pulse",
    "plasmashell",
    "polkitd",
    "pulseaudio",
    "qtile",
    "river",
    "rpm",
    "screen",
    "sddm",
    "sddm-helper",
    "sshd",
    "sshd-session",
    "startplasma-wayland",
    "startplasma-x11",
    "su",
    "sudo",
    "sway",
    "swaylock",
    "systemd",
    "systemd-executor",
    "systemd-journald",
    "systemd-logind",
    "systemd-oomd",
    "systemd-udevd",
    "tmux",
    "warmset",
    "warmset-hold",
    "warmsetd",
    "wayfire",
    "weston",
    "wireplumber",
    "xfce4-session",
    "xfdesktop",
    "xfwm4",
    "Xorg",
    "Xvnc",
    "Xwayland",
    "zypper",
];

/// Programs owned by root that run any user's file.
const INTERPRETERS: &[&str] = &[
    "bash", "dash", "deno", "fish", "java*", "lua*", "node*", "perl*", "php*", "python*", "ruby*",
    "sh", "zsh",
];

/// Weight of a process in `guard.prefer`: it is chosen unless another grows four times as fast.
const PREFERRED: f64 = 4.0;
/// Weight of a process in `guard.avoid`: it is chosen only if it grows four times as fast as others.
const AVOIDED: f64 = 0.25;

fn runs_anything(program: &str) -> bool {
    INTERPRETERS.iter().any(|pattern| matches(pattern, program))
}

/// Whether the system depends on the service of this name: login, log, bus, screen, packages.
pub fn keeps_the_system_up(service: &str) -> bool {
    UNITS.iter().any(|pattern| matches(pattern, service))
}

/// Why this process is exempt; `None` if it may be killed.
///
/// Cost: some hundred comparisons of short names.
pub fn exemption(candidate: &Candidate, config: &Guard) -> Option<Exemption> {
    let program = candidate.program.as_ref().map(Name::as_str);
    if candidate.identity.pid <= 1 {
        Some(Exemption::Init)
    } else if candidate.life == Life::Dying {
        Some(Exemption::Dying)
    } else if candidate.oom_score_adj <= -1000 {
        Some(Exemption::Adjusted)
    } else if candidate.mark == Mark::Omit {
        Some(Exemption::Mark)
    } else if any_applies(&config.spare, candidate) {
        Some(Exemption::Rule)
    } else if candidate.place == Place::Service
        && keeps_the_system_up(&candidate.unit)
        && !is_a_persons(candidate.user)
    {
        // Without logind, a user's shell and all that it starts run in the unit of the login service.
        Some(Exemption::Unit)
    } else if candidate.place == Place::Desktop
        && program.is_some_and(|program| !runs_anything(program))
    {
        // Any user may start a unit in their session slice; only root decides what a file of root's does.
        Some(Exemption::Unit)
    } else if program.is_some_and(|program| PROGRAMS.contains(&program)) {
        Some(Exemption::Program)
    } else {
        None
    }
}

/// Whether a user ID is a human user's, by systemd's ranges (`systemd-homed` included).
pub const fn is_a_persons(user: u32) -> bool {
    matches!(user, 1000..=60_513)
}

/// Weight of a process among those that may be killed: 1 without any preference.
///
/// A positive `oom_score_adj` counts little, so that browser tabs with +300 do not outrank a process
/// that really grows. A negative one counts in full.
pub(crate) fn weight(candidate: &Candidate, config: &Guard) -> f64 {
    let adjusted = f64::from(candidate.oom_score_adj);
    let by_score = if adjusted < 0.0 {
        (1000.0 + adjusted) / 1000.0
    } else {
        1.0 + adjusted / 2000.0
    };
    let is_preferred = any_applies(&config.prefer, candidate);
    let is_avoided = any_applies(&config.avoid, candidate) || candidate.mark == Mark::Avoid;
    let by_rule = match (is_preferred, is_avoided) {
        (true, false) => PREFERRED,
        (false, true) => AVOIDED,
        _ => 1.0,
    };
    by_score * by_rule
}

fn any_applies(rules: &[String], candidate: &Candidate) -> bool {
    rules.iter().any(|rule| applies(rule, candidate))
}

/// Whether a rule names this process: by its unit, by `program:` and a file of root's, or by `pid:` and
/// a process ID.
///
/// A user names their own units, and may call one `postgresql.service`. So a rule names a user's unit
/// only by `app:`.
fn applies(rule: &str, candidate: &Candidate) -> bool {
    if let Some(pattern) = rule.strip_prefix("program:") {
        return candidate
            .program
            .is_some_and(|program| matches(pattern, &program));
    }
    if let Some(number) = rule.strip_prefix("pid:") {
        // `pid:123@4567` names the process with that start time, and no later one with the same ID.
        let (pid, start) = number.split_once('@').unwrap_or((number, ""));
        let started = start.is_empty() || start.parse() == Ok(candidate.identity.start);
        return pid.parse() == Ok(candidate.identity.pid) && started;
    }
    let of_a_user = matches!(candidate.place, Place::App | Place::Desktop);
    match rule.strip_prefix("app:") {
        Some(pattern) => of_a_user && matches(pattern, &candidate.unit),
        None => !of_a_user && matches(rule.strip_prefix("unit:").unwrap_or(rule), &candidate.unit),
    }
}

/// Whether `name` is `pattern`, or begins with what is before the pattern's star.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}
