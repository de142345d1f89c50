//! The cgroups of a play.

use crate::setup::put;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use warmset_vmlab::decisions::play::{Play, UnitProperties};

/// Where cgroups are.
pub(super) const CGROUPS: &str = "/sys/fs/cgroup";

/// Makes every cgroup of the play, with its properties. Makes only what is missing the second time.
pub(super) fn make(play: &Play) -> Result<()> {
    for path in paths(play) {
        make_one(&path)?;
    }
    for unit in &play.units {
        set(unit)?;
    }
    Ok(())
}

/// The paths of all cgroups with programs in them or with properties.
pub(super) fn paths(play: &Play) -> Vec<String> {
    let of_roles = play.cast.iter().map(|role| &role.cgroup);
    let of_units = play.units.iter().map(|unit| &unit.path);
    let mut paths: Vec<String> = of_roles.chain(of_units).cloned().collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The path of a cgroup's directory.
pub(super) fn directory(path: &str) -> String {
    format!("{CGROUPS}/{}", path.trim_matches('/'))
}

fn make_one(path: &str) -> Result<()> {
    let mut parent = CGROUPS.to_owned();
    let mut owner = None;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        put(&format!("{parent}/cgroup.subtree_control"), "+memory +pids")?;
        let child = format!("{parent}/{part}");
        if !Path::new(&child).exists() {
            fs::create_dir(&child).with_context(|| format!("cannot make the cgroup {child}"))?;
        }
        // A user's manager owns its own cgroup and all below.
        let manages = part
            .strip_prefix("user@")
            .and_then(|rest| rest.strip_suffix(".service"))
            .and_then(|user| user.parse::<u32>().ok());
        owner = owner.or(manages);
        if let Some(user) = owner {
            chown(&child, Some(user), Some(user))?;
        }
        parent = child;
    }
    Ok(())
}

fn set(unit: &UnitProperties) -> Result<()> {
    let directory = directory(&unit.path);
    if let Some(max) = unit.max {
        put(&format!("{directory}/memory.max"), &max.to_string())?;
    }
    if unit.oom_group {
        put(&format!("{directory}/memory.oom.group"), "1")?;
    }
    if let Some(attribute) = &unit.attribute {
        chown(&directory, Some(unit.owner), Some(unit.owner))?;
        rustix::fs::setxattr(
            &directory,
            attribute.as_str(),
            b"1",
            rustix::fs::XattrFlags::empty(),
        )
        .with_context(|| format!("cannot mark {directory} by {attribute}"))?;
    }
    Ok(())
}
