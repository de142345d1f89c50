//! Who is never ended, and how that is known.
//!
//! A name that a process gives itself protects nothing: a hog called `sshd` is a hog. A unit of the system is named by
//! root; in a user's own units and sessions only the file that runs counts, if it is root's.

use crate::config::Guard;
use crate::scan::{Candidate, Life, Mark, Name, Place};
use serde::{Deserialize, Serialize};

/// Why a process is not ended.
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
    /// The configuration spares it.
    Rule,
    /// Root asked for it by an attribute of its unit.
    Mark,
    /// It is on its way out already.
    Dying,
}

impl Exemption {
    /// In words that follow "spared:".
    pub const fn why(self) -> &'static str {
        match self {
            Self::Init => "it is the first process",
            Self::Adjusted => "oom_score_adj is -1000",
            Self::Unit => "its unit keeps the system up",
            Self::Program => "it runs a program of the system or the session",
            Self::Rule => "the configuration spares it",
            Self::Mark => "its unit is marked ManagedOOMPreference=omit",
            Self::Dying => "it is on its way out",
        }
    }
}

/// Services of the system without which there is no way in, no log, no bus, no screen, or a half-installed package.
/// A star at the end stands for anything.
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

/// Programs that hold a session or the system together: compositors, session managers, shells of a desktop, ways in,
/// buses, sound, package managers, other guards.
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

/// Programs of root's that do whatever a file of anyone's says.
const INTERPRETERS: &[&str] = &[
    "bash", "dash", "deno", "fish", "java*", "lua*", "node*", "perl*", "php*", "python*", "ruby*",
    "sh", "zsh",
];

fn runs_anything(program: &str) -> bool {
    INTERPRETERS.iter().any(|pattern| matches(pattern, program))
}

/// Whether a service of this name is one without which there is no way in, no log, no bus or no screen.
pub fn keeps_the_system_up(service: &str) -> bool {
    UNITS.iter().any(|pattern| matches(pattern, service))
}

/// What protects this process from being ended, if anything does. Cost: some hundred comparisons of short names.
pub fn exemption(candidate: &Candidate, config: &Guard) -> Option<Exemption> {
    let program = candidate.program.as_ref().map(Name::as_str);
    let listed = |rules: &[String]| rules.iter().any(|rule| applies(rule, candidate));
    if candidate.identity.pid <= 1 {
        Some(Exemption::Init)
    } else if candidate.life == Life::Dying {
        Some(Exemption::Dying)
    } else if candidate.oom_score_adj <= -1000 {
        Some(Exemption::Adjusted)
    } else if candidate.mark == Mark::Omit {
        Some(Exemption::Mark)
    } else if listed(&config.spare) {
        Some(Exemption::Rule)
    } else if candidate.place == Place::Service
        && keeps_the_system_up(&candidate.unit)
        && !is_a_persons(candidate.user)
    {
        // Where nobody makes sessions, a person's shell and all that it starts live in the unit of the way in.
        Some(Exemption::Unit)
    } else if candidate.place == Place::Desktop
        && program.is_some_and(|program| !runs_anything(program))
    {
        // Anyone may start a unit in their session slice; only root decides what a root-owned program does there.
        Some(Exemption::Unit)
    } else if program.is_some_and(|program| PROGRAMS.contains(&program)) {
        Some(Exemption::Program)
    } else {
        None
    }
}

/// Whether a user is a person: as systemd numbers them, those of `systemd-homed` included.
pub const fn is_a_persons(user: u32) -> bool {
    matches!(user, 1000..=60_513)
}

/// How much a process weighs among those that may be ended: 1 is as any other.
///
/// A positive `oom_score_adj` counts little, so that a browser's tabs with +300 do not outrank what really grows;
/// a negative one counts in full.
pub(crate) fn weight(candidate: &Candidate, config: &Guard) -> f64 {
    let adjusted = f64::from(candidate.oom_score_adj);
    let by_score = if adjusted < 0.0 {
        (1000.0 + adjusted) / 1000.0
    } else {
        1.0 + adjusted / 2000.0
    };
    let listed = |rules: &[String]| rules.iter().any(|rule| applies(rule, candidate));
    let by_rule = match (
        listed(&config.prefer),
        listed(&config.avoid) || candidate.mark == Mark::Avoid,
    ) {
        (true, false) => 4.0,
        (false, true) => 0.25,
        _ => 1.0,
    };
    by_score * by_rule
}

/// Whether a rule names this process: its unit, or `program:` and a program of root's, or `pid:` and a number.
///
/// What users start has units that they name: one called `postgresql.service` is theirs. A rule means it by `app:`.
fn applies(rule: &str, candidate: &Candidate) -> bool {
    if let Some(pattern) = rule.strip_prefix("program:") {
        return candidate
            .program
            .is_some_and(|program| matches(pattern, &program));
    }
    if let Some(number) = rule.strip_prefix("pid:") {
        // `pid:123@4567` names the process that started then, and none that comes after it.
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

/// A name, or its beginning before a star.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}
