//! What works here, found by its effect: a page is locked and counted, an event is caused and heard, a file is found.

mod floors;
mod signals;

use crate::finder;
use crate::handle;
use crate::map::Map;
use crate::ring::{Rings, Said, Sources, Wanted};
use crate::tracepoint::{Tracepoint, of_the_page_cache, one_page_in_stride};
use host::holder::check::FLOORS;
use pressure::means::Means;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

/// Files that nearly every system has and no program maps, and one that is always there, but mapped: such a file cannot
/// be dropped from the cache.
const COMMON: [&str; 3] = ["/usr/lib/os-release", "/etc/passwd", "/proc/self/exe"];

/// Where tracefs is mounted.
const TRACING: &str = "/sys/kernel/tracing/events";

/// The means of the process that holds files, tried.
pub fn probe_holder() -> Vec<Means> {
    means_of_holder(&sources())
}

/// The tracepoints of the page cache with what they come from, opened; the error says why there are none.
pub(crate) type Opened = io::Result<(Vec<Tracepoint>, Rc<Sources>)>;

/// Opens the tracepoints of the page cache.
pub(crate) fn sources() -> Opened {
    let points = of_the_page_cache(Path::new("/"))?;
    let ids: Vec<u16> = points.iter().map(|point| point.id).collect();
    let filter = one_page_in_stride();
    let wanted = Wanted {
        filter: Some(&filter),
        wakes: false,
    };
    let sources = Rc::new(Sources::open(&ids, wanted)?);
    Ok((points, sources))
}

/// The means of the process that holds files, tried with these tracepoints.
pub(crate) fn means_of_holder(opened: &Opened) -> Vec<Means> {
    let (evictions, uses) = events(opened);
    let traces = if Path::new(TRACING).exists() {
        "CAP_PERFMON for warmset-hold (and CAP_SYS_ADMIN, where kernel.perf_event_paranoid is 3 or more), and a kernel with \
         CONFIG_PERF_EVENTS and CONFIG_FTRACE"
    } else {
        "mount -t tracefs nodev /sys/kernel/tracing"
    };
    vec![
        tried(
            "locks of files' pages",
            lock(),
            Some("LimitMEMLOCK=infinity for warmset-hold"),
        ),
        tried("events of the page cache", evictions, Some(traces)),
        tried("reads from memory", uses, None),
        tried(
            "files by their number",
            by_number(),
            Some("CAP_DAC_READ_SEARCH for warmset-hold"),
        ),
    ]
}

/// The means of the guard itself, tried with the rights of the process that starts this one.
pub fn probe_guard() -> Vec<Means> {
    let cgroups = if Path::new(floors::CONTROLLERS).exists() {
        "ReadWritePaths=/sys/fs/cgroup for warmsetd, and the memory controller for /sys/fs/cgroup"
    } else {
        "boot with control groups of version 2: systemd.unified_cgroup_hierarchy=1"
    };
    let limits = floors::limits().map(|()| "a unit can be throttled and frozen".to_owned());
    let users = signals::has(signals::DAC_OVERRIDE)
        .map(|()| "units of users can be throttled and frozen, too".to_owned());
    let sent = signals::kill_child().map(|()| "a process can be ended".to_owned());
    vec![
        tried(
            "signals",
            sent,
            Some("CAP_KILL for warmsetd, and Linux 5.3 or newer"),
        ),
        tried("limits of units", limits, Some(cgroups)),
        tried(
            "limits of users' units",
            users,
            Some("CAP_DAC_OVERRIDE for warmsetd"),
        ),
        tried(FLOORS, kept(), Some(cgroups)),
    ]
}

fn tried(name: &str, tried: io::Result<String>, remedy: Option<&str>) -> Means {
    match tried {
        Ok(gives) => Means::armed(name, &gives),
        Err(error) => Means::not_armed(name, error, remedy),
    }
}

fn kept() -> io::Result<String> {
    if !floors::hold()? {
        return Err(io::Error::other(
            "reclaim takes what is below memory.min: floors are not counted on",
        ));
    }
    Ok("memory.min keeps what a unit uses".to_owned())
}

fn lock() -> io::Result<String> {
    let before = locked_kib()?;
    let map = Map::of(&File::open("/proc/self/exe")?, 1)?;
    map.keep(0, 1)?;
    map.bring_in(0, 1)?;
    if locked_kib()? <= before {
        return Err(io::Error::other(
            "a page was locked, and the kernel counts none",
        ));
    }
    Ok("hot files can be held in memory".to_owned())
}

/// `VmLck` of this process, in KiB: no other thread may lock meanwhile.
fn locked_kib() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmLck:"));
    let number = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    number.ok_or_else(|| io::Error::other("/proc/self/status: no VmLck"))
}

/// Events of pages that come in and leave, and of pages that are read from memory.
fn events(opened: &Opened) -> (io::Result<String>, io::Result<String>) {
    match heard(opened) {
        Err(error) => (
            Err(error),
            Err(io::Error::other("no events of the page cache")),
        ),
        Ok([evictions, uses]) => (
            says(
                evictions,
                "files that thrash are learned",
                "a page was dropped and read again, and no event came",
            ),
            says(
                uses,
                "files in use are known before they are evicted",
                "this kernel has no such events: files in use are known once they are evicted",
            ),
        ),
    }
}

fn says(works: bool, yes: &str, no: &str) -> io::Result<String> {
    if works {
        Ok(yes.to_owned())
    } else {
        Err(io::Error::other(no.to_owned()))
    }
}

/// Whether events of evictions came, and events of uses.
fn heard(opened: &Opened) -> io::Result<[bool; 2]> {
    let (points, sources) = match opened {
        Ok(opened) => opened,
        Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
    };
    let mut rings = Rings::open(sources)?;
    for path in COMMON {
        let Ok(mut file) = File::open(path) else {
            continue;
        };
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        let _ = file.read(&mut [0; 16])?;
    }
    let mut heard = [false; 2];
    rings.drain(&mut |said| {
        if let Said::Record(_, record) = said {
            if let Some(point) = points.iter().find(|point| point.event(record).is_some()) {
                heard[usize::from(point.tells_uses())] = true;
            }
        }
    });
    Ok(heard)
}

fn by_number() -> io::Result<String> {
    let own = finder::id_of(&File::open("/proc/self/exe")?)?;
    match handle::open(own) {
        Some(_) => Ok("files that thrash are found after their readers have ended".to_owned()),
        None => Err(io::Error::other(
            "found by the task that reads them, while it runs",
        )),
    }
}
