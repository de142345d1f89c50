//! A play: cgroups and programs of a situation under systemd, a guard beside them, and what came of it.
//!
//! ```text
//!  play ──► hand ──► launch ROLE ──► the program's file, as its user, in its cgroup
//!   │         └── one without a terminal, one with: programs of one kin share a process group
//!   └──► watch: the kernel's own record of signals, limits of cgroups, what is left
//! ```
//!
//! The cgroups have the paths and names of units, and systemd does not know them: no unit stops because one of its processes
//! ended, in no arm.

mod cache;
mod groups;
mod hands;
mod launch;
mod watch;

pub(crate) use hands::hand;
pub(crate) use launch::launch;

use crate::clock::now;
use crate::setup::{make_swap, put};
use anyhow::{Context, Result, ensure};
use hands::Hands;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use warmset_vmlab::decisions::play::{Play, Role, Seen, SwapArea};
use watch::Watch;

/// The variable that makes this program one of a play; it names the role.
pub(crate) const ACT: &str = "WARMSET_ACT";
/// A file for each program that holds what it has at its start.
pub(crate) const READY: &str = "/run/play/ready";
/// A file for each program that came to hold what it notes.
pub(crate) const REACHED: &str = "/run/play/reached";
/// Is there once the play has begun.
pub(crate) const BEGUN: &str = "/run/play/begun";
/// The data disk.
pub(crate) const DATA: &str = "/dev/vdb";
/// A file of a user's.
pub(crate) const FOREIGN: &str = "/home/preloaded";
const ROLES: &str = "/run/play/roles";
/// Most time for programs to take what they have: some 100 MiB at the speed of an emulated machine that is busy.
const MOST_TO_GET_READY: Duration = Duration::from_secs(60);
/// Time for a guard to take its first samples before something grows.
const SETTLE: Duration = Duration::from_secs(3);
/// Time between two looks: a limit that is set and taken back within less is not seen.
const LOOK: Duration = Duration::from_millis(100);
/// The nice value of what looks on.
const FIRST: i32 = -20;
/// The nice value of programs of the play.
const USUAL: i32 = 0;
/// The user of files that are not root's, if nobody in the play is their user.
const SOMEBODY: u32 = 1000;

/// Plays.
pub(crate) fn perform(play: &Play) -> Result<Seen> {
    // Nothing of the lab may be killed. What it starts for the play gets its own value.
    put("/proc/self/oom_score_adj", "-1000")?;
    // A storm of programs must not keep it from looking.
    rustix::process::setpriority_process(None, FIRST)?;
    for directory in [ROLES, READY, REACHED] {
        fs::create_dir_all(directory)?;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o1777))?;
    }
    fs::set_permissions(DATA, fs::Permissions::from_mode(0o666))?;
    for area in &play.swap {
        swap_on(area)?;
    }
    for mount in &play.mounts {
        make_tmpfs(mount)?;
    }
    groups::make(play)?;
    install_files(play)?;
    for (number, role) in play.cast.iter().enumerate() {
        fs::write(role_file(number), serde_json::to_vec(role)?)?;
    }
    let mut stage = Director::new(play)?;
    stage.start_the_first()?;
    cache::fill(&play.cache)?;
    cache::use_it(&play.cache)?;
    stage.start_the_guard()?;
    thread::sleep(SETTLE);
    let begun = now();
    let mut watch = Watch::start(play, begun)?;
    fs::write(BEGUN, "")?;
    stage.begun = begun;
    while !stage.is_over(&watch) {
        thread::sleep(LOOK);
        stage.start_what_is_due()?;
        watch.look(&stage.pids)?;
    }
    let seen = watch.finish(&stage.pids)?;
    if let (Some(service), false) = (&play.service, play.keep.is_empty()) {
        // Its files are whole once it has ended.
        let _ = Command::new("systemctl").args(["stop", service]).status();
    }
    Ok(seen)
}

fn role_file(number: usize) -> String {
    format!("{ROLES}/{number}.json")
}

/// Starts programs when it is time.
struct Director<'p> {
    play: &'p Play,
    hands: Hands,
    begun: f64,
    /// When each role starts next, in milliseconds since the play began.
    due: Vec<Option<f64>>,
    /// The role of each process that was started.
    pids: BTreeMap<u32, usize>,
    /// The last process of each role.
    latest: Vec<Option<u32>>,
    /// The process group of each kin.
    groups: BTreeMap<u32, u32>,
}

impl<'p> Director<'p> {
    fn new(play: &'p Play) -> Result<Self> {
        let due = play.cast.iter().map(|role| role.starts_ms);
        Ok(Self {
            play,
            hands: Hands::new()?,
            begun: now(),
            due: due.map(|starts| starts.map(|ms| ms as f64)).collect(),
            pids: BTreeMap::new(),
            latest: vec![None; play.cast.len()],
            groups: BTreeMap::new(),
        })
    }

    fn start(&mut self, number: usize, role: &Role) -> Result<()> {
        let group = self.groups.get(&role.kin).copied();
        let pid = self
            .hands
            .start(role.terminal, &role_file(number), group)
            .with_context(|| format!("cannot start {}", role.name))?;
        self.groups.entry(role.kin).or_insert(pid);
        self.pids.insert(pid, number);
        if let Some(latest) = self.latest.get_mut(number) {
            *latest = Some(pid);
        }
        Ok(())
    }

    /// Starts what is there before the play begins, and waits until each has what it has.
    fn start_the_first(&mut self) -> Result<()> {
        let play = self.play;
        let mut awaited = Vec::new();
        for (number, role) in play.cast.iter().enumerate() {
            if role.starts_ms.is_none() {
                self.start(number, role)?;
                awaited.push(number);
            }
        }
        let end = now() + MOST_TO_GET_READY.as_secs_f64() * 1e3;
        for number in awaited {
            let path = Path::new(READY).join(number.to_string());
            while !path.exists() {
                let name = play.cast.get(number).map(|role| role.name.clone());
                ensure!(
                    now() < end,
                    "{} does not get ready within {} s",
                    name.unwrap_or_default(),
                    MOST_TO_GET_READY.as_secs()
                );
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    fn start_the_guard(&self) -> Result<()> {
        for (path, text) in &self.play.files {
            if let Some(directory) = Path::new(path).parent() {
                fs::create_dir_all(directory)?;
            }
            put(path, text)?;
        }
        if self.play.start.is_empty() {
            return Ok(());
        }
        let output = Command::new("/bin/sh")
            .args(["-c", &self.play.start])
            .stdin(Stdio::null())
            .output()?;
        let said = [output.stdout, output.stderr].concat();
        ensure!(
            output.status.success(),
            "the guard did not start: {}",
            String::from_utf8_lossy(&said)
        );
        // systemd may have taken the controllers of cgroups that it does not know.
        groups::make(self.play)
    }

    fn start_what_is_due(&mut self) -> Result<()> {
        let time = now() - self.begun;
        let play = self.play;
        for (number, role) in play.cast.iter().enumerate() {
            let is_due = self
                .due
                .get(number)
                .copied()
                .flatten()
                .is_some_and(|due| due <= time);
            if is_due {
                self.set_due(number, None);
                self.start(number, role)?;
                continue;
            }
            let Some(after) = role.respawns_ms else {
                continue;
            };
            let latest = self.latest.get(number).copied().flatten();
            let is_waiting = self.due.get(number).copied().flatten().is_some();
            if latest.is_some_and(|pid| !watch::is_alive(pid)) && !is_waiting {
                self.set_due(number, Some(time + after as f64));
            }
        }
        Ok(())
    }

    fn set_due(&mut self, number: usize, due: Option<f64>) {
        if let Some(place) = self.due.get_mut(number) {
            *place = due;
        }
    }

    fn is_over(&self, watch: &Watch<'_>) -> bool {
        let time = now() - self.begun;
        if time >= self.play.lasts_ms as f64 {
            return true;
        }
        let last = watch.last_signal();
        let is_quiet = last.is_some_and(|last| time - last as f64 >= self.play.quiet_ms as f64);
        is_quiet && !self.play.awaited.is_empty() && watch.all_signalled(&self.play.awaited)
    }
}

fn swap_on(area: &SwapArea) -> Result<()> {
    if area.device == "/dev/zram0" {
        put("/sys/block/zram0/disksize", &area.size.to_string())?;
    }
    make_swap(&area.device)?;
    let status = Command::new("/sbin/swapon")
        .arg(&area.device)
        .stdin(Stdio::null())
        .status()
        .context("cannot run swapon")?;
    ensure!(status.success(), "swapon {} failed", area.device);
    Ok(())
}

/// Makes a tmpfs as large as memory: the usual half would end a play before memory is short.
fn make_tmpfs(path: &str) -> Result<()> {
    fs::create_dir_all(path)?;
    let mounts = fs::read_to_string("/proc/mounts")?;
    let is_there = mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some(path));
    let options = if is_there {
        "remount,size=100%"
    } else {
        "size=100%"
    };
    let status = Command::new("/bin/mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs", path])
        .stdin(Stdio::null())
        .status()
        .context("cannot run mount")?;
    ensure!(status.success(), "cannot mount a tmpfs at {path}");
    fs::set_permissions(path, fs::Permissions::from_mode(0o1777))?;
    Ok(())
}

/// Puts this program where the play's programs are. Files of root's are one file with many names, and files of users are
/// another: each costs disk and page cache once.
fn install_files(play: &Play) -> Result<()> {
    const OWN: &str = "/lab/guest";
    let mut of_users: BTreeMap<u32, String> = BTreeMap::new();
    let mut done: Vec<&str> = Vec::new();
    for role in &play.cast {
        if done.contains(&role.file.as_str()) {
            continue;
        }
        done.push(&role.file);
        if let Some(directory) = Path::new(&role.file).parent() {
            fs::create_dir_all(directory)?;
        }
        let _ = fs::remove_file(&role.file);
        if role.roots {
            fs::hard_link(OWN, &role.file).with_context(|| format!("cannot make {}", role.file))?;
            continue;
        }
        let user = if role.user == 0 { SOMEBODY } else { role.user };
        if let Some(first) = of_users.get(&user) {
            fs::hard_link(first, &role.file)?;
            continue;
        }
        fs::copy(OWN, &role.file).with_context(|| format!("cannot make {}", role.file))?;
        chown(&role.file, Some(user), Some(user))?;
        of_users.insert(user, role.file.clone());
    }
    if play.cast.iter().any(|role| role.act.foreign_code) {
        fs::copy(OWN, FOREIGN)?;
        chown(FOREIGN, Some(SOMEBODY), Some(SOMEBODY))?;
    }
    Ok(())
}
