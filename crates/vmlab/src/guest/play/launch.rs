//! Becomes a program of a play: in its cgroup, as its user, by its file.

use super::{ACT, USUAL, groups};
use crate::setup::put;
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use warmset_vmlab::decisions::play::Role;

/// Returns only with an error.
pub(crate) fn launch(path: &str) -> Result<()> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    let role: Role = serde_json::from_slice(&text)?;
    let group = groups::directory(&role.cgroup);
    put(&format!("{group}/cgroup.procs"), "0")?;
    rustix::process::setpriority_process(None, USUAL)?;
    put("/proc/self/oom_score_adj", &role.oom_score_adj.to_string())?;
    let mut command = Command::new(&role.file);
    if let Some((first, rest)) = role.arguments.split_first() {
        command.arg0(first).args(rest);
    }
    command
        .env_clear()
        .env(ACT, Path::new(path))
        .current_dir("/")
        .uid(role.user)
        .gid(role.user);
    Err(command.exec()).with_context(|| format!("cannot run {}", role.file))
}
