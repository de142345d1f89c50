//! Where systemd looks for units and for its configuration: below a machine's root, the first directory wins.

/// Units of the system.
pub(crate) const UNITS: [&str; 7] = [
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];
/// Units of users' managers.
pub(crate) const USERS_UNITS: [&str; 4] = [
    "etc/systemd/user",
    "run/systemd/user",
    "usr/local/lib/systemd/user",
    "usr/lib/systemd/user",
];
/// Configuration of systemd's own programs.
pub(crate) const CONFIGURATIONS: [&str; 4] = [
    "etc/systemd",
    "run/systemd",
    "usr/local/lib/systemd",
    "usr/lib/systemd",
];
