//! Disks that the machines boot from and work on.
//!
//! The root disk has our static programs under `/lab`, busybox for a shell, and the peers with what they need, unpacked
//! from Debian's packages. Programs are on a disk and not in the first root: the kernel never evicts files of an
//! initramfs, so a probe of them would measure nothing.

use crate::debian::Apt;
use crate::scenario::Data;
use crate::store::{self, Store};
use crate::tool;
use crate::vm::{self, disk};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use units::Bytes;

/// The suite that the guests' programs come from.
pub const SUITE: &str = "trixie";
/// Free space on the root disk: more than the logs and recordings of any run so far took. Less could fill the disk during
/// a run, more takes longer to make.
const FREE: Bytes = Bytes::mib(64);
/// Names of the guest's program on the disk. The start of a command is timed with the second, so that what is read from
/// the disk for it is not in memory already for the first.
const GUEST: [&str; 2] = ["guest", "probe"];

/// A program of Debian's that a root disk can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The guard that kills by available memory and free swap.
    Earlyoom,
    /// The guard that kills by pressure too.
    Nohang,
    /// gcc and make.
    Compiler,
    /// The shell and the commands that people type, where busybox's own would do the same in another way.
    Shell,
    /// mkfs.btrfs and btrfs, which make a file system with subvolumes.
    Btrfs,
    /// strace, which shows the files that a guard opens.
    Strace,
}

impl Part {
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Earlyoom => &["earlyoom"],
            Self::Nohang => &["nohang", "python3-minimal"],
            Self::Compiler => &["gcc", "make", "libc6-dev"],
            Self::Shell => &["bash", "coreutils"],
            Self::Btrfs => &["btrfs-progs"],
            Self::Strace => &["strace"],
        }
    }
}

/// Our own programs, as files on the host.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `warmset-guest`.
    pub guest: PathBuf,
    /// `warmsetd` and the `warmset-hold` beside it, if an arm needs them.
    pub(crate) daemon: Option<[PathBuf; 2]>,
    /// The same of an older version, on the disk below `old/`.
    pub(crate) old: Option<[PathBuf; 2]>,
    /// Others that are wanted, by their own names: the command, the tests of a kernel series.
    pub others: Vec<PathBuf>,
}

impl Programs {
    /// Only the guest.
    pub fn alone(guest: PathBuf) -> Self {
        Self {
            guest,
            daemon: None,
            old: None,
            others: Vec::new(),
        }
    }

    /// The guest and the daemon, with the `warmset-hold` beside it.
    ///
    /// Errors: either is missing, or needs libraries that the disk does not have.
    pub fn with_daemon(guest: PathBuf, daemon: PathBuf) -> Result<Self> {
        Ok(Self {
            daemon: Some(with_holder(daemon)?),
            ..Self::alone(guest)
        })
    }

    /// Also an older daemon, with the `warmset-hold` beside it, which the daemon looks for beside itself.
    ///
    /// Errors: either is missing, or needs libraries that the disk does not have.
    pub fn and_an_older_daemon(self, daemon: PathBuf) -> Result<Self> {
        Ok(Self {
            old: Some(with_holder(daemon)?),
            ..self
        })
    }

    /// Our programs besides the guest: the name of each below `/lab`, and where it is on the host.
    ///
    /// Errors: two have one name.
    fn ours(&self) -> Result<Vec<(String, &Path)>> {
        let mut ours: Vec<(String, &Path)> = Vec::new();
        if let Some([daemon, holder]) = &self.daemon {
            ours.push(("warmsetd".to_owned(), daemon));
            ours.push(("warmset-hold".to_owned(), holder));
        }
        if let Some([daemon, holder]) = &self.old {
            ours.push(("old/warmsetd".to_owned(), daemon));
            ours.push(("old/warmset-hold".to_owned(), holder));
        }
        for program in &self.others {
            let name = program.file_name().unwrap_or_default();
            ours.push((name.to_string_lossy().into_owned(), program));
        }
        let mut taken = BTreeSet::from(GUEST);
        for (name, program) in &ours {
            let is_free = taken.insert(name.as_str());
            anyhow::ensure!(
                is_free,
                "{}: the disk has another /lab/{name}; give it another name",
                program.display()
            );
        }
        Ok(ours)
    }

    /// The key of the disk with these on this base, by their contents and by their names on it.
    fn key(&self, base: &Path) -> Result<String> {
        let mut parts = vec![
            store::sum(&self.guest)?.to_vec(),
            base.as_os_str().as_encoded_bytes().to_vec(),
        ];
        for (name, program) in self.ours()? {
            parts.extend([name.into_bytes(), store::sum(program)?.to_vec()]);
        }
        Ok(store::key(parts.iter().map(Vec::as_slice)))
    }
}

/// A daemon and the `warmset-hold` beside it.
fn with_holder(daemon: PathBuf) -> Result<[PathBuf; 2]> {
    let holder = daemon.with_file_name("warmset-hold");
    for program in [&daemon, &holder] {
        anyhow::ensure!(
            vm::is_static(program),
            "{} is not there or not static: make build, or --warmsetd FILE",
            program.display()
        );
    }
    Ok([daemon, holder])
}

/// The root disk with these parts.
pub fn root(store: &Store, programs: &Programs, parts: &BTreeSet<Part>) -> Result<PathBuf> {
    let base = base(store, parts)?;
    let key = programs.key(&base)?;
    let image = disk::made_of(store, "roots", &key, FREE, |tree| {
        // Hard links are enough: nothing writes to the files of the base.
        let mut copy = Command::new("cp");
        copy.arg("-al").arg(base.join(".")).arg(tree);
        tool::run(&mut copy, "coreutils")?;
        for directory in [
            "dev", "proc", "sys", "run", "tmp", "root", "lab/old", "data", "var/tmp",
        ] {
            fs::create_dir_all(tree.join(directory))?;
        }
        for name in GUEST {
            install(&programs.guest, &tree.join("lab").join(name))?;
        }
        for (name, program) in programs.ours()? {
            install(program, &tree.join("lab").join(name))?;
        }
        Ok(())
    })?;
    store.prune("roots", &key)?;
    Ok(image)
}

/// A small Debian with systemd and our package installed, for the tests of unit and package. Needs root.
pub fn debian(store: &Store, guest: &Path, deb: &Path) -> Result<PathBuf> {
    installed(store, guest, deb, &[], &small_debian(store, &[])?)
}

/// The same with these packages of a kernel with our series, and its floors turned on at boot. Needs root.
pub fn debian_with_kernel(
    store: &Store,
    guest: &Path,
    deb: &Path,
    kernel: &[PathBuf],
) -> Result<PathBuf> {
    installed(store, guest, deb, kernel, &small_debian(store, &[])?)
}

/// What turns the floors on, where systemd looks for it.
const FLOORS: (&str, &str) = (
    "etc/sysctl.d/60-workingset-protection.conf",
    include_str!("../../../packaging/kernel/60-workingset-protection.conf"),
);

/// The same with the guards that Debian has, which are started at boot as their packages say. Needs root.
pub fn debian_beside_guards(store: &Store, guest: &Path, deb: &Path) -> Result<PathBuf> {
    installed(store, guest, deb, &[], &guarded_debian(store)?)
}

/// The same with what makes containers: systemd-nspawn, LXC, managers and subordinate IDs of users, FUSE. Needs root.
pub fn debian_with_containers(store: &Store, guest: &Path, deb: &Path) -> Result<PathBuf> {
    installed(store, guest, deb, &[], &small_debian(store, CONTAINERS)?)
}

/// What makes containers, with or without root.
const CONTAINERS: &[&str] = &[
    "systemd-container",
    "lxc",
    "libpam-systemd",
    "dbus-user-session",
    "uidmap",
    "bindfs",
    "fuse3",
];

/// A Debian with our package installed in it, and with packages of a kernel.
fn installed(
    store: &Store,
    guest: &Path,
    deb: &Path,
    kernel: &[PathBuf],
    base: &Path,
) -> Result<PathBuf> {
    let mut parts = vec![
        base.as_os_str().as_encoded_bytes().to_vec(),
        store::sum(guest)?.to_vec(),
        store::sum(deb)?.to_vec(),
    ];
    if !kernel.is_empty() {
        parts.push(FLOORS.1.as_bytes().to_vec());
    }
    for package in kernel {
        parts.push(store::sum(package)?.to_vec());
    }
    let key = store::key(parts.iter().map(Vec::as_slice));
    let image = disk::made_of(store, "services", &key, FREE, |tree| {
        plant_debian(base, guest, tree)?;
        fs::copy(deb, tree.join("lab/warmset.deb"))?;
        let mut install = Command::new("chroot");
        install
            .arg(tree)
            .args(["dpkg", "--install", "/lab/warmset.deb"]);
        if !kernel.is_empty() {
            fs::create_dir_all(tree.join("etc/sysctl.d"))?;
            fs::write(tree.join(FLOORS.0), FLOORS.1)?;
        }
        for package in kernel {
            let inside = Path::new("/lab").join(package.file_name().unwrap_or_default());
            fs::copy(
                package,
                tree.join(inside.strip_prefix("/").unwrap_or(&inside)),
            )?;
            install.arg(inside);
        }
        tool::run(&mut install, "coreutils")?;
        Ok(())
    })?;
    store.prune("services", &key)?;
    Ok(image)
}

/// Guards that Debian has.
const GUARDS: &[&str] = &["earlyoom", "nohang", "systemd-oomd"];
/// What starts them at boot.
const STARTED: &[&str] = &[
    "multi-user.target.wants/earlyoom.service",
    "multi-user.target.wants/nohang.service",
    "multi-user.target.wants/nohang-desktop.service",
    "multi-user.target.wants/systemd-oomd.service",
    "sockets.target.wants/systemd-oomd.socket",
];
/// Our service, as the package has it.
const UNIT: &str = include_str!("../../../packaging/systemd/warmsetd.service");

/// A small Debian with systemd and all guards as services, Warmset's as the package has it. None is started at boot. Needs
/// root.
pub fn debian_with_guards(store: &Store, guest: &Path, daemon: &Path) -> Result<PathBuf> {
    let base = guarded_debian(store)?;
    let [daemon, holder] = with_holder(daemon.to_owned())?;
    let mut parts = vec![
        base.as_os_str().as_encoded_bytes().to_vec(),
        UNIT.as_bytes().to_vec(),
    ];
    for program in [guest, &daemon, &holder] {
        parts.push(store::sum(program)?.to_vec());
    }
    let key = store::key(parts.iter().map(Vec::as_slice));
    let image = disk::made_of(store, "guards", &key, FREE, |tree| {
        plant_debian(&base, guest, tree)?;
        let system = tree.join("etc/systemd/system");
        for link in STARTED {
            remove_if_there(&system.join(link))?;
        }
        fs::write(system.join("warmsetd.service"), UNIT)?;
        install(&daemon, &tree.join("usr/sbin/warmsetd"))?;
        install(&holder, &tree.join("usr/libexec/warmset-hold"))?;
        fs::create_dir_all(tree.join("etc/warmset"))?;
        Ok(())
    })?;
    store.prune("guards", &key)?;
    Ok(image)
}

/// A small Debian with the guards that Debian has. Programs of a play are Python's by name, so its file is there, too.
fn guarded_debian(store: &Store) -> Result<PathBuf> {
    let mut packages = GUARDS.to_vec();
    packages.push("python3-minimal");
    small_debian(store, &packages)
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// Puts a Debian tree and the lab's listener into the tree of a disk.
fn plant_debian(base: &Path, guest: &Path, tree: &Path) -> Result<()> {
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(base.join("tree/.")).arg(tree);
    tool::run(&mut copy, "coreutils")?;
    fs::create_dir_all(tree.join("lab"))?;
    install(guest, &tree.join("lab/guest"))?;
    fs::write(tree.join("etc/systemd/system/lab.service"), LISTENER)?;
    let wants = tree.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants)?;
    symlink("../lab.service", wants.join("lab.service"))?;
    Ok(())
}

/// Debian with systemd and these packages, as a tree in the directory `tree`.
fn small_debian(store: &Store, more: &[&str]) -> Result<PathBuf> {
    const ALWAYS: [&str; 4] = ["systemd", "systemd-sysv", "dbus", "util-linux"];
    const MADE_AS: &str = "systemd, dbus, 1";
    let mut parts = vec![MADE_AS.as_bytes(), SUITE.as_bytes()];
    parts.extend(more.iter().map(|name| name.as_bytes()));
    let key = store::key(parts);
    store.kept("debians", &key, |place| {
        store.demand(Bytes::mib(1200))?;
        let mut packages = ALWAYS.to_vec();
        packages.extend(more);
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", "--variant=essential", "--format=directory"]);
        make.arg(format!("--include={}", packages.join(",")));
        make.arg(SUITE)
            .arg(place.join("tree"))
            .arg(crate::debian::sources_file(store, SUITE)?);
        tool::run(&mut make, "mmdebstrap")?;
        Ok(())
    })
}

/// Serves the lab's scripts under systemd.
const LISTENER: &str = "[Unit]\nAfter=multi-user.target\n[Service]\nExecStart=/lab/guest listen\n";

/// Debian's part of a root disk, as a tree.
fn base(store: &Store, parts: &BTreeSet<Part>) -> Result<PathBuf> {
    let apt = Apt::of(store, &[SUITE])?;
    let mut names = vec!["busybox-static"];
    names.extend(parts.iter().flat_map(|part| part.packages()));
    let kept = store.kept("bases", &apt.key(&names)?, |place| {
        store.demand(Bytes::mib(900))?;
        let tree = place.join("tree");
        fs::create_dir(&tree)?;
        apt.unpack_with_dependencies(&names, &tree)?;
        link_applets(&tree.join("usr/bin"))
    })?;
    Ok(kept.join("tree"))
}

/// Links each command of busybox that no other package brings.
fn link_applets(directory: &Path) -> Result<()> {
    let mut busybox = Command::new(directory.join("busybox"));
    let listed = tool::run(busybox.arg("--list"), "busybox-static")?;
    for name in listed.lines() {
        let link = directory.join(name);
        if fs::symlink_metadata(&link).is_err() {
            symlink("busybox", link)?;
        }
    }
    Ok(())
}

fn install(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o755))?)
}

/// The data disk with this on it.
pub fn data(store: &Store, programs: &Programs, data: &Data) -> Result<PathBuf> {
    match data {
        Data::Files(files, room) => disk::with_files(store, files, *room),
        Data::Database { records, bytes } => database(store, &programs.guest, *records, *bytes),
        Data::Source(package) => source(store, package),
    }
}

fn database(store: &Store, guest: &Path, records: u64, bytes: u64) -> Result<PathBuf> {
    const MADE_AS: &str = "index and data apart, 1";
    let size = Bytes::new(records * (bytes + 400));
    let key = store::key([MADE_AS.as_bytes(), format!("{records} {bytes}").as_bytes()]);
    disk::made_of(store, "databases", &key, Bytes::mib(16), |tree| {
        store.demand(size + size)?;
        let make = [
            "work",
            "fill-database",
            tool::text(tree)?,
            &records.to_string(),
            &bytes.to_string(),
        ];
        tool::run(Command::new(guest).args(make), "warmset-lab")?;
        Ok(())
    })
}

fn source(store: &Store, package: &str) -> Result<PathBuf> {
    let apt = Apt::of(store, &[SUITE])?;
    disk::made_of(store, "sources", package, Bytes::mib(128), |tree| {
        apt.source(package, tree)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(others: &[&Path]) -> Programs {
        let others = others.iter().map(|other| (*other).to_owned()).collect();
        Programs {
            others,
            ..Programs::alone("/bin/sh".into())
        }
    }

    #[test]
    fn a_disk_is_known_by_the_names_on_it_too() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
        fs::write(&one, "the same").unwrap();
        fs::copy(&one, &two).unwrap();
        let key = |others: &[&Path]| with(others).key(Path::new("base")).unwrap();
        assert_eq!(key(&[&one]), key(&[&one]));
        assert_ne!(key(&[&one]), key(&[&two]));
    }

    #[test]
    fn no_program_takes_the_place_of_another() {
        for others in [&["/a/guest"][..], &["/a/probe"], &["/a/one", "/b/one"]] {
            let others: Vec<&Path> = others.iter().map(Path::new).collect();
            let error = with(&others).ours().unwrap_err().to_string();
            assert!(error.contains("the disk has another /lab/"), "{error}");
        }
        assert_eq!(
            with(&[Path::new("/a/one"), Path::new("/a/two")])
                .ours()
                .unwrap()
                .len(),
            2
        );
    }
}
