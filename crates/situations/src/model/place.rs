//! What kind of place a cgroup is, by its path: the same meaning as `cgroups/place.rs` of the host.

use ::pressure::scan::Place;

/// How container runtimes name the cgroup of a container.
const CONTAINERS: &[&str] = &[
    "docker-",
    "libpod-",
    "crio-",
    "cri-containerd-",
    "machine-",
    "lxc.payload.",
    "nspawn-",
    "systemd-nspawn@",
    "buildkit-",
];

/// A place, its unit, and the path of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) unit: String,
    pub(super) directory: String,
}

/// The place that a cgroup's path names.
pub(super) fn place(path: &str) -> Found {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let found = |end: usize, place: Place| Found {
        place,
        unit: parts.get(end).copied().unwrap_or_default().to_owned(),
        directory: format!("/{}", parts[..parts.len().min(end + 1)].join("/")),
    };
    let Some(first) = parts.first() else {
        return found(0, Place::Unknown);
    };
    if let Some(at) = parts.iter().position(|part| is_container(part)) {
        let inner = parts[at + 1..].iter().position(|part| is_unit(part));
        return found(inner.map_or(at, |inner| at + 1 + inner), Place::Container);
    }
    if *first == "init.scope" {
        return found(0, Place::Service);
    }
    if *first == "user.slice" {
        return users(&parts, &found);
    }
    if !first.ends_with(".slice") {
        return found(parts.len() - 1, Place::Unknown);
    }
    match parts.iter().position(|part| is_unit(part)) {
        Some(at) => found(at, Place::Service),
        None => found(0, Place::Unknown),
    }
}

fn users(parts: &[&str], found: &dyn Fn(usize, Place) -> Found) -> Found {
    let Some(top) = parts.get(2) else {
        return found(0, Place::Session);
    };
    if !(top.starts_with("user@") && top.ends_with(".service")) {
        return found(2, Place::Session);
    }
    let Some(at) = parts[3..].iter().position(|part| is_unit(part)) else {
        return found(2, Place::Session);
    };
    let at = at + 3;
    let is_desktop = parts[3..=at]
        .iter()
        .any(|part| matches!(*part, "session.slice" | "init.scope"));
    let place = if is_desktop {
        Place::Desktop
    } else {
        Place::App
    };
    found(at, place)
}

fn is_unit(name: &str) -> bool {
    name.ends_with(".service") || name.ends_with(".scope")
}

fn is_container(name: &str) -> bool {
    let is_id = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id || CONTAINERS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_as_the_host_reads_them() {
        let user = "/user.slice/user-1000.slice";
        for (path, kind, unit) in [
            ("/".to_owned(), Place::Unknown, ""),
            (
                "/system.slice/a.service/deep".to_owned(),
                Place::Service,
                "a.service",
            ),
            (
                format!("{user}/session-2.scope"),
                Place::Session,
                "session-2.scope",
            ),
            (
                format!("{user}/user@1000.service/session.slice/x.service"),
                Place::Desktop,
                "x.service",
            ),
            (
                format!("{user}/user@1000.service/app.slice/y.scope"),
                Place::App,
                "y.scope",
            ),
            (
                "/system.slice/docker-01.scope".to_owned(),
                Place::Container,
                "docker-01.scope",
            ),
            (
                "/machine.slice/machine-box.scope/payload/system.slice/b.service".to_owned(),
                Place::Container,
                "b.service",
            ),
        ] {
            let found = place(&path);
            assert_eq!((found.place, found.unit.as_str()), (kind, unit), "{path}");
            assert!(path.starts_with(&found.directory), "{path}");
        }
    }
}
