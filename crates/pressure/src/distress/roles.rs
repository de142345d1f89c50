//! Exemptions: which processes are never killed, and how they are recognised.
//!
//! The name that a process gives itself does not count: a hog called `sshd` is a hog. A system unit is
//! named by root, so its name counts. In a user's own units and sessions only the file that runs
//! counts, if root owns it.

use crate::config::Guard;
use crate::scan::{Candidate, Life, Mark, Place};
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
    "connman.service",
    "cosmic-greeter*",
    "dbus*",
    "dhcpcd*",
    "display-manager.service",
    "dnf*",
    "elogind*",
    "emergency.service",
    "emptty*",
    "gdm*",
    "getty@*",
    "greetd*",
    "init.scope",
    "iscsid.service",
    "iwd.service",
    "lemurs*",
    "lightdm*",
    "lvm2-*",
    "lxdm*",
    "ly.service",
    "ly@*",
    "multipathd.service",
    "NetworkManager*",
    "packagekit.service",
    "plasmalogin*",
    "plymouth*",
    "polkit*",
    "rescue.service",
    "rpm-ostree*",
    "rsyslog.service",
    "rtkit-daemon.service",
    "sddm*",
    "seatd.service",
    "serial-getty@*",
    "snapd.service",
    "ssh.service",
    "ssh@*",
    "sshd*",
    "system-getty*",
    "systemd-*",
    "turnstiled*",
    "udisks2.service",
    "unattended-upgrades.service",
    "upower.service",
    "warmset*",
    "wpa_supplicant*",
    "xdm.service",
    "zypper*",
];

/// Services with systemd's name in theirs that hold a whole machine: of that any program may fill
/// memory.
const MACHINES: &[&str] = &["systemd-nspawn@*", "systemd-vmspawn@*"];

/// Programs that a session or the system depends on: compositors, session managers, desktop shells,
/// lock screens, login, buses, sound, package managers, supervisors, other guards.
///
/// In the order of their bytes, so that they are found by halves.
const PROGRAMS: &[&str] = &[
    "Hyprland",
    "Xorg",
    "Xvnc",
    "Xwayland",
    "agetty",
    "apk",
    "apt",
    "apt-get",
    "aptitude",
    "aptitude-curses",
    "at-spi-bus-launcher",
    "awesome",
    "bootc",
    "bspwm",
    "budgie-daemon",
    "budgie-desktop-view",
    "budgie-panel",
    "budgie-session-binary",
    "budgie-wm",
    "cage",
    "cinnamon",
    "cinnamon-launcher",
    "cinnamon-screensaver",
    "cinnamon-session-binary",
    "cosmic-bg",
    "cosmic-comp",
    "cosmic-greeter",
    "cosmic-greeter-daemon",
    "cosmic-idle",
    "cosmic-launcher",
    "cosmic-notifications",
    "cosmic-osd",
    "cosmic-panel",
    "cosmic-session",
    "cosmic-settings-daemon",
    "cosmic-workspaces",
    "dbus-broker",
    "dbus-broker-launch",
    "dbus-daemon",
    "dinit",
    "dnf",
    "dnf-3",
    "dnf5",
    "dpkg",
    "dpkg-deb",
    "dropbear",
    "dwl",
    "dwm",
    "earlyoom",
    "elogind",
    "emerge",
    "emptty",
    "enlightenment",
    "eopkg",
    "fluxbox",
    "gala",
    "gamescope",
    "gdm",
    "gdm3",
    "gnome-keyring-daemon",
    "gnome-settings-daemon",
    "gnome-shell",
    "greetd",
    "gtkgreet",
    "gtklock",
    "guix-daemon",
    "herbstluftwm",
    "hyprland",
    "hyprlock",
    "i3",
    "i3lock",
    "icewm",
    "icewm-session",
    "jwm",
    "kscreenlocker_greet",
    "ksmserver",
    "kwalletd5",
    "kwalletd6",
    "labwc",
    "leftwm",
    "lemurs",
    "lightdm",
    "login",
    "lxpanel",
    "lxqt-panel",
    "lxqt-session",
    "lxsession",
    "ly",
    "mango",
    "marco",
    "mate-panel",
    "mate-session",
    "mate-settings-daemon",
    "microdnf",
    "miriway",
    "miriway-shell",
    "mosh-server",
    "muffin",
    "mutter",
    "mutter-x11-frames",
    "niri",
    "nix-daemon",
    "nohang",
    "oomd",
    "openbox",
    "openrc-run",
    "packagekitd",
    "pacman",
    "phoc",
    "pipewire",
    "pipewire-pulse",
    "plasma_session",
    "plasmashell",
    "polkitd",
    "pulseaudio",
    "qtile",
    "quickshell",
    "regreet",
    "river",
    "rpm",
    "rpm-ostree",
    "rpm-ostreed",
    "runsv",
    "runsvdir",
    "s6-supervise",
    "s6-svscan",
    "screen",
    "seatd",
    "snapd",
    "spectrwm",
    "sshd",
    "sshd-auth",
    "sshd-session",
    "start-hyprland",
    "start-stop-daemon",
    "startplasma-wayland",
    "startplasma-x11",
    "su",
    "sudo",
    "supervise-daemon",
    "sway",
    "swaylock",
    "systemd",
    "systemd-executor",
    "systemd-journald",
    "systemd-logind",
    "systemd-oomd",
    "systemd-udevd",
    "tmux",
    "tuigreet",
    "turnstiled",
    "unattended-upgrade",
    "warmset",
    "warmset-hold",
    "warmsetd",
    "wayfire",
    "waylock",
    "weston",
    "wireplumber",
    "xbps-install",
    "xdg-document-portal",
    "xdg-permission-store",
    "xfce4-panel",
    "xfce4-power-manager",
    "xfce4-screensaver",
    "xfce4-session",
    "xfdesktop",
    "xfsettingsd",
    "xfwm4",
    "xmonad",
    "xscreensaver",
    "yum",
    "zellij",
    "zypper",
];

/// The same by the beginning of their names.
const PROGRAM_FAMILIES: &[&str] = &[
    "cosmic-applet*",
    "fvwm*",
    "gdm-*",
    "gnome-session*",
    "gsd-*",
    "kded*",
    "kglobalaccel*",
    "kwin_*",
    "polkit-*",
    "sddm*",
    "xdg-desktop-portal*",
];

/// Programs owned by root that run any user's file.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "fish", "guile*", "java*", "ksh*", "lua*", "mksh", "node*",
    "perl*", "php*", "pypy*", "python*", "qemu-*", "ruby*", "sh", "tclsh*", "wine*", "zsh",
];

/// Weight of a process in `guard.prefer`: it is chosen unless another grows four times as fast.
const PREFERRED: f64 = 4.0;
/// Weight of a process in `guard.avoid`: it is chosen only if it grows four times as fast as others.
const AVOIDED: f64 = 0.25;

fn runs_anything(program: &str) -> bool {
    is_one_of(INTERPRETERS, program)
}

/// Whether one of these patterns, with a star at the end or none, is this name.
fn is_one_of(patterns: &[&str], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => *pattern == name,
        })
}

/// Whether the system depends on the service of this name: login, log, bus, screen, packages.
pub fn keeps_the_system_up(service: &str) -> bool {
    is_one_of(UNITS, service) && !is_one_of(MACHINES, service)
}

/// Whether a session or the system depends on the program of this name.
fn keeps_a_session_up(program: &str) -> bool {
    PROGRAMS.binary_search(&program).is_ok() || is_one_of(PROGRAM_FAMILIES, program)
}

/// Why this process is exempt; `None` if it may be killed.
///
/// Cost: some ten comparisons of short names, and those of the rules.
pub fn exemption(candidate: &Candidate, config: &Guard) -> Option<Exemption> {
    if candidate.identity.pid <= 1 {
        Some(Exemption::Init)
    } else if candidate.life == Life::Dying {
        Some(Exemption::Dying)
    } else if candidate.oom_score_adj <= -1000 {
        Some(Exemption::Adjusted)
    } else if candidate.mark == Mark::Omit {
        Some(Exemption::Mark)
    } else if config.spares(candidate).is_some() {
        Some(Exemption::Rule)
    } else if candidate.place == Place::Service
        && keeps_the_system_up(&candidate.unit)
        && !is_a_persons(candidate.user)
    {
        // Without logind, a user's shell and all that it starts run in the unit of the login service.
        Some(Exemption::Unit)
    } else if candidate.foreign_code {
        // A library of a user's in a program of root's: what the program is says nothing.
        None
    } else if candidate.place == Place::Desktop && runs_roots(candidate) {
        // Any user may start a unit in their session slice; only root decides what a file of root's does.
        Some(Exemption::Unit)
    } else if is_a_program_of_the_session(candidate) {
        Some(Exemption::Program)
    } else {
        None
    }
}

/// Whether root decides what the process does: by its program, or by the script that one runs.
fn runs_roots(candidate: &Candidate) -> bool {
    let Some(program) = candidate.program.as_deref() else {
        return false;
    };
    candidate.script.is_some() || !runs_anything(program)
}

fn is_a_program_of_the_session(candidate: &Candidate) -> bool {
    let names = [&candidate.program, &candidate.script];
    names
        .into_iter()
        .any(|name| name.as_deref().is_some_and(keeps_a_session_up))
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
    let is_preferred = config.prefers(candidate).is_some();
    let is_avoided = config.avoids(candidate).is_some() || candidate.mark == Mark::Avoid;
    let by_rule = match (is_preferred, is_avoided) {
        (true, false) => PREFERRED,
        (false, true) => AVOIDED,
        _ => 1.0,
    };
    by_score * by_rule
}

#[cfg(test)]
mod tests;
