//! What kind of place a control group is, by its path.
//!
//! A path below any slice of the system is named by root; what is below a user's manager is named by that user.

use crate::scan::Place;

/// A place, and where in the path its unit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'p> {
    /// The kind of place.
    pub place: Place,
    /// The unit's own name; empty in the root group.
    pub unit: &'p [u8],
    /// The path from the root group down to the unit.
    pub directory: &'p [u8],
}

/// How container runtimes name the group of a container.
const CONTAINERS: &[&[u8]] = &[
    b"docker-",
    b"libpod-",
    b"crio-",
    b"cri-containerd-",
    b"machine-",
    b"lxc.payload.",
    b"nspawn-",
    b"buildkit-",
];

/// How they name the group of what only watches over a container.
const MONITORS: &[&[u8]] = &[b"libpod-conmon-", b"crio-conmon-", b"lxc.monitor"];

/// The unit template of systemd-nspawn. Inside, `supervisor` has systemd-nspawn itself, and `payload` the container.
const NSPAWN: &[u8] = b"systemd-nspawn@";

/// The place that a group's path names.
///
/// A guard in a container with a namespace of control groups is told of others by the way up and down from its own group,
/// `/../../system.slice/a.service`. The way up is left out: what follows begins at the root, unless both are in one slice, and then
/// the directory is not found, which takes the unit's files and nothing else.
pub fn place(path: &[u8]) -> Found<'_> {
    let mut path = path;
    while let Some(rest) = path
        .strip_prefix(b"/..")
        .filter(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
    {
        path = rest;
    }
    let mut parts = Parts::of(path);
    let Some(first) = parts.next() else {
        return Found {
            place: Place::Unknown,
            unit: b"",
            directory: b"/",
        };
    };
    if let Some(found) = Parts::of(path).find_map(|part| container(path, part)) {
        return found;
    }
    let found = |part: Part<'_>, place| {
        let end = part.end;
        let start = end - part.name.len();
        Found {
            place,
            unit: &path[start..end],
            directory: &path[..end],
        }
    };
    match first.name {
        b"init.scope" => found(first, Place::Service),
        b"user.slice" => users(path, parts).unwrap_or_else(|| found(first, Place::Session)),
        // Any other slice is root's, as `system.slice` is.
        name if name.ends_with(b".slice") => match parts.find(|part| is_unit(part.name)) {
            Some(unit) => found(unit, Place::Service),
            None => found(first, Place::Unknown),
        },
        _ => found(Parts::of(path).last().unwrap_or(first), Place::Unknown),
    }
}

fn users<'p>(path: &'p [u8], mut parts: Parts<'p>) -> Option<Found<'p>> {
    let found = |part: Part<'p>, place| Found {
        place,
        unit: part.name,
        directory: &path[..part.end],
    };
    let _slice = parts.next()?;
    let top = parts.next()?;
    if !(top.name.starts_with(b"user@") && top.name.ends_with(b".service")) {
        return Some(found(top, Place::Session));
    }
    let mut desktop = false;
    let mut unit = None;
    for part in parts {
        desktop |= matches!(part.name, b"session.slice" | b"init.scope");
        if is_unit(part.name) && unit.is_none() {
            unit = Some(part);
        }
    }
    match unit {
        Some(unit) if desktop => Some(found(unit, Place::Desktop)),
        Some(unit) => Some(found(unit, Place::App)),
        None => Some(found(top, Place::Session)),
    }
}

/// The container that a part of the path names, or what is in it.
fn container<'p>(path: &'p [u8], part: Part<'p>) -> Option<Found<'p>> {
    let begins = |names: &[&[u8]]| names.iter().any(|name| part.name.starts_with(name));
    let mut below = Parts {
        path,
        from: part.end,
    };
    let found = |part: Part<'p>, place| Found {
        place,
        unit: part.name,
        directory: &path[..part.end],
    };
    let is_nspawn = part.name.starts_with(NSPAWN) && part.name.ends_with(b".service");
    let is_supervisor = is_nspawn
        && below
            .clone()
            .next()
            .is_some_and(|part| part.name == b"supervisor");
    if is_supervisor || begins(MONITORS) {
        // A service is named by root. What a user's runtime makes is an app like any other.
        let is_users = path.starts_with(b"/user.slice/");
        return (!is_users).then(|| found(part, Place::Service));
    }
    // `/docker/<64 hexadecimal digits>`, `/kubepods/…/<id>`.
    let by_id = part.name.len() == 64 && part.name.iter().all(u8::is_ascii_hexdigit);
    // A slice has units, and is none: `machine-libpod_pod_….slice` has the containers of a pod of Podman.
    let by_name = begins(CONTAINERS) && !part.name.ends_with(b".slice");
    if !(is_nspawn || by_name || by_id || is_of_lxc(path, part)) {
        return None;
    }
    // A container may be a whole system: what grows is one unit of it.
    let inner = below.find(|part| is_unit(part.name));
    Some(found(inner.unwrap_or(part), Place::Container))
}

/// Whether this is NAME in `/lxc/NAME`, as LXC before 4.0 has it.
fn is_of_lxc(path: &[u8], part: Part<'_>) -> bool {
    let above = &path[..part.end - part.name.len()];
    above == b"/lxc/"
}

fn is_unit(name: &[u8]) -> bool {
    name.ends_with(b".service") || name.ends_with(b".scope")
}

/// One part of a path, and where it ends.
#[derive(Debug, Clone, Copy)]
struct Part<'p> {
    name: &'p [u8],
    end: usize,
}

#[derive(Debug, Clone)]
struct Parts<'p> {
    path: &'p [u8],
    from: usize,
}

impl<'p> Parts<'p> {
    const fn of(path: &'p [u8]) -> Self {
        Self { path, from: 0 }
    }
}

impl<'p> Iterator for Parts<'p> {
    type Item = Part<'p>;

    fn next(&mut self) -> Option<Part<'p>> {
        while self.path.get(self.from) == Some(&b'/') {
            self.from += 1;
        }
        let rest = self.path.get(self.from..).filter(|rest| !rest.is_empty())?;
        let length = rest
            .iter()
            .position(|byte| *byte == b'/')
            .unwrap_or(rest.len());
        self.from += length;
        Some(Part {
            name: &rest[..length],
            end: self.from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_by_the_user_that_names_them() {
        for (path, place_, unit, directory) in [
            ("/", Place::Unknown, "", "/"),
            ("/init.scope", Place::Service, "init.scope", "/init.scope"),
            (
                "/system.slice/sshd.service",
                Place::Service,
                "sshd.service",
                "/system.slice/sshd.service",
            ),
            (
                "/system.slice/system-getty.slice/getty@tty1.service",
                Place::Service,
                "getty@tty1.service",
                "/system.slice/system-getty.slice/getty@tty1.service",
            ),
            (
                "/system.slice/a.service/sub/deep",
                Place::Service,
                "a.service",
                "/system.slice/a.service",
            ),
            (
                "/user.slice/user-1000.slice/session-2.scope",
                Place::Session,
                "session-2.scope",
                "/user.slice/user-1000.slice/session-2.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service",
                Place::Desktop,
                "org.gnome.Shell@wayland.service",
                "/user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/sshd.service",
                Place::App,
                "sshd.service",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/sshd.service",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service",
                Place::Session,
                "user@1000.service",
                "/user.slice/user-1000.slice/user@1000.service",
            ),
            (
                "/system.slice/docker-0123.scope",
                Place::Container,
                "docker-0123.scope",
                "/system.slice/docker-0123.scope",
            ),
            (
                "/database.slice/postgresql.service",
                Place::Service,
                "postgresql.service",
                "/database.slice/postgresql.service",
            ),
            (
                "/lxc.payload.web/system.slice/build.service/deep",
                Place::Container,
                "build.service",
                "/lxc.payload.web/system.slice/build.service",
            ),
            (
                "/machine.slice/systemd-nspawn@box.service",
                Place::Container,
                "systemd-nspawn@box.service",
                "/machine.slice/systemd-nspawn@box.service",
            ),
            (
                "/machine.slice/systemd-nspawn@box.service/payload/system.slice/a.service",
                Place::Container,
                "a.service",
                "/machine.slice/systemd-nspawn@box.service/payload/system.slice/a.service",
            ),
            (
                "/machine.slice/systemd-nspawn@box.service/payload/init.scope",
                Place::Container,
                "init.scope",
                "/machine.slice/systemd-nspawn@box.service/payload/init.scope",
            ),
            (
                "/machine.slice/systemd-nspawn@box.service/supervisor",
                Place::Service,
                "systemd-nspawn@box.service",
                "/machine.slice/systemd-nspawn@box.service",
            ),
            (
                "/machine.slice/machine-box.scope/payload/system.slice/a.service",
                Place::Container,
                "a.service",
                "/machine.slice/machine-box.scope/payload/system.slice/a.service",
            ),
            (
                "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator",
                Place::Container,
                "machine-qemu\\x2d1\\x2dvm.scope",
                "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope",
            ),
            (
                "/machine.slice/libpod-0123.scope/container",
                Place::Container,
                "libpod-0123.scope",
                "/machine.slice/libpod-0123.scope",
            ),
            (
                "/machine.slice/machine-libpod_pod_0123.slice/libpod-4567.scope",
                Place::Container,
                "libpod-4567.scope",
                "/machine.slice/machine-libpod_pod_0123.slice/libpod-4567.scope",
            ),
            (
                "/machine.slice/libpod-conmon-0123.scope",
                Place::Service,
                "libpod-conmon-0123.scope",
                "/machine.slice/libpod-conmon-0123.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0123.scope/container",
                Place::Container,
                "libpod-0123.scope",
                "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0123.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-0123.scope",
                Place::App,
                "libpod-conmon-0123.scope",
                "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-0123.scope",
            ),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab.slice/crio-conmon-0123.scope",
                Place::Service,
                "crio-conmon-0123.scope",
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab.slice/crio-conmon-0123.scope",
            ),
            (
                "/kubepods/burstable/pod01/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                Place::Container,
                "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "/kubepods/burstable/pod01/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            ),
            (
                "/lxc.monitor.web",
                Place::Service,
                "lxc.monitor.web",
                "/lxc.monitor.web",
            ),
            (
                "/lxc/web/system.slice/nginx.service",
                Place::Container,
                "nginx.service",
                "/lxc/web/system.slice/nginx.service",
            ),
            ("/lxc/web", Place::Container, "web", "/lxc/web"),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-01.scope",
                Place::App,
                "snap.firefox.firefox-01.scope",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-01.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.gimp.GIMP-42.scope",
                Place::App,
                "app-flatpak-org.gimp.GIMP-42.scope",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.gimp.GIMP-42.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/vte-spawn-0a.scope",
                Place::App,
                "vte-spawn-0a.scope",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/vte-spawn-0a.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/run-u123.scope",
                Place::App,
                "run-u123.scope",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/run-u123.scope",
            ),
            ("/hog", Place::Unknown, "hog", "/hog"),
            ("/..hog", Place::Unknown, "..hog", "/..hog"),
            (
                "/../../../../system.slice/kubelet.service",
                Place::Service,
                "kubelet.service",
                "/system.slice/kubelet.service",
            ),
            (
                "/../../kubepods-burstable.slice/kubepods-burstable-podab.slice/cri-containerd-01.scope",
                Place::Container,
                "cri-containerd-01.scope",
                "/kubepods-burstable.slice/kubepods-burstable-podab.slice/cri-containerd-01.scope",
            ),
        ] {
            let found = place(path.as_bytes());
            let shown = (
                found.place,
                String::from_utf8_lossy(found.unit),
                String::from_utf8_lossy(found.directory),
            );
            assert_eq!(shown, (place_, unit.into(), directory.into()), "{path}");
        }
    }

    #[test]
    fn a_name_made_of_slashes_and_nothing_is_read_without_a_panic() {
        for path in [
            "",
            "//",
            "/..",
            "/../..",
            "/system.slice",
            "/user.slice",
            "/user.slice/x",
            "user.slice//",
            "/user.slice/u/user@.service/",
        ] {
            let found = place(path.as_bytes());
            assert!(!found.place.is_of_its_own(), "{path}");
        }
    }
}
