//! Process groups, where control groups do not count memory: a shell's job, a program and what it started.

use super::{By, Holding};
use crate::tracee::watch::kilobytes;
use host::Error;
use host::parse::lines::{number, stat};
use host::parse::process::printable;
use pressure::scan::Place;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use units::{Bytes, Pages};

/// Of so many, the largest, the page tables are walked.
const WALKED: usize = 12;

/// One group, being added up.
#[derive(Debug, Default)]
struct Crew {
    name: Vec<u8>,
    pids: Vec<u32>,
    resident: Bytes,
}

/// Every process group that has memory of its own, and its processes.
pub(super) fn all(root: &Path, page_size: Bytes) -> Result<Vec<(Holding, Vec<u32>)>, Error> {
    let proc = root.join("proc");
    let entries = fs::read_dir(&proc).map_err(|error| Error::unreadable(&proc, error))?;
    let mut process_groups: HashMap<u64, Crew> = HashMap::new();
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // Who has ended meanwhile is left out.
        let Some((group, name, resident)) = fs::read(entry.path().join("stat"))
            .ok()
            .and_then(|text| member(&text, page_size))
        else {
            continue;
        };
        let crew = process_groups.entry(group).or_default();
        if crew.name.is_empty() || u64::from(pid) == group {
            crew.name = name;
        }
        crew.pids.push(pid);
        crew.resident += resident;
    }
    let mut process_groups: Vec<(u64, Crew)> = process_groups
        .into_iter()
        .filter(|(_, crew)| crew.resident > Bytes::ZERO)
        .collect();
    process_groups.sort_by_key(|(group, crew)| (std::cmp::Reverse(crew.resident), *group));
    let holdings = process_groups.into_iter().enumerate();
    Ok(holdings
        .map(|(index, (group, crew))| crew.holding(&proc, group, index < WALKED))
        .collect())
}

/// The process group of a `stat`, the name and what is resident; `None` of a kernel thread, which has nothing.
fn member(text: &[u8], page_size: Bytes) -> Option<(u64, Vec<u8>, Bytes)> {
    let (name, mut fields) = stat(text)?;
    // state ppid, then pgrp; session to starttime and vsize, then rss.
    let group = number(fields.nth(2)?)?;
    let resident = number(fields.nth(18)?).map(Pages::new)?.to_bytes(page_size);
    (group > 0).then(|| (group, name.to_vec(), resident))
}

impl Crew {
    fn holding(self, proc: &Path, group: u64, is_walked: bool) -> (Holding, Vec<u32>) {
        let walked = if is_walked { self.walk(proc) } else { None };
        let (used, warm, swapped) = walked.unwrap_or((self.resident, self.resident, Bytes::ZERO));
        let holding = Holding {
            path: group.to_string(),
            name: printable::<64>(&self.name).to_string(),
            place: Place::Unknown,
            used,
            warm,
            by: if walked.is_some() {
                By::Bits
            } else {
                By::Resident
            },
            swapped: walked.map(|_| swapped),
            floor: Bytes::ZERO,
            refaults: None,
            growth: None,
            refaulted: None,
            evicted: None,
        };
        (holding, self.pids)
    }

    /// Resident, shared parts shared; of it used; and swapped. `None` if anyone's may not be looked at.
    fn walk(&self, proc: &Path) -> Option<(Bytes, Bytes, Bytes)> {
        let mut sum = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        for pid in &self.pids {
            let text = fs::read(proc.join(pid.to_string()).join("smaps_rollup")).ok()?;
            let field = |name| kilobytes(&text, name);
            let (rss, shared, used) = (field("Rss")?, field("Pss")?, field("Referenced")?);
            sum.0 += shared;
            // Of what is shared the same part is used.
            sum.1 += used.scaled(shared.get(), rss.get().max(1));
            sum.2 += field("Swap")?;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_told_by_its_stat() {
        let text = b"7 (a b) S 1 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 900 5000 33 18446744073709551615 0\n";
        assert_eq!(
            member(text, Bytes::kib(4)),
            Some((42, b"a b".to_vec(), Bytes::kib(132)))
        );
        assert_eq!(
            member(b"2 (kthreadd) S 0 0 0 0 -1 2129984", Bytes::kib(4)),
            None
        );
    }
}
