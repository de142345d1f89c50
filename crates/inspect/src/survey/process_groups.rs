//! Process groups, where control groups do not count memory: a shell's job, a program and what it started.

use super::{By, Holding};
use crate::pids::pids;
use crate::tracee::rollup::Rollup;
use host::Error;
use host::parse::lines::{number, stat};
use host::parse::process::printable;
use pressure::scan::Place;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use units::{Bytes, Pages};

/// Process groups, the largest, that have their page tables walked: a walk takes about 5 ms for each GiB.
const WALKED: usize = 12;

/// One group, being added up.
#[derive(Debug, Default)]
struct ProcessGroup {
    name: Vec<u8>,
    pids: Vec<u32>,
    resident: Bytes,
}

/// What the page tables of a process group say.
#[derive(Debug, Default, Clone, Copy)]
struct Walked {
    /// A page that several processes map counts by its share (`Pss`).
    resident: Bytes,
    /// Of it, with its accessed bit set.
    used: Bytes,
    swapped: Bytes,
}

/// Every process group that has memory of its own, and its processes.
pub(super) fn all(root: &Path, page_size: Bytes) -> Result<Vec<(Holding, Vec<u32>)>, Error> {
    let proc = root.join("proc");
    let mut process_groups: HashMap<u64, ProcessGroup> = HashMap::new();
    for pid in pids(root)? {
        // A process that has ended meanwhile is left out.
        let Some((id, name, resident)) = fs::read(proc.join(format!("{pid}/stat")))
            .ok()
            .and_then(|text| member(&text, page_size))
        else {
            continue;
        };
        let group = process_groups.entry(id).or_default();
        if group.name.is_empty() || u64::from(pid) == id {
            group.name = name;
        }
        group.pids.push(pid);
        group.resident += resident;
    }
    let mut process_groups: Vec<(u64, ProcessGroup)> = process_groups
        .into_iter()
        .filter(|(_, group)| group.resident > Bytes::ZERO)
        .collect();
    process_groups.sort_by_key(|(id, group)| (std::cmp::Reverse(group.resident), *id));
    let holdings = process_groups.into_iter().enumerate();
    Ok(holdings
        .map(|(index, (id, group))| group.holding(&proc, id, index < WALKED))
        .collect())
}

/// The process group of a `stat`, the name and what is resident; `None` of a kernel thread, which has nothing.
fn member(text: &[u8], page_size: Bytes) -> Option<(u64, Vec<u8>, Bytes)> {
    let (name, mut fields) = stat(text)?;
    // state ppid, then pgrp; session to starttime and vsize, then rss.
    let group = number(fields.nth(2)?)?;
    let resident = number(fields.nth(18)?).map(Pages::new)?.to_bytes(page_size);
    if group == 0 {
        return None;
    }
    Some((group, name.to_vec(), resident))
}

impl ProcessGroup {
    fn holding(self, proc: &Path, id: u64, is_walked: bool) -> (Holding, Vec<u32>) {
        let walked = if is_walked { self.walk(proc) } else { None };
        let by = match &walked {
            Some(_) => By::Bits,
            None => By::Resident,
        };
        let holding = Holding {
            path: id.to_string(),
            name: printable::<64>(&self.name).to_string(),
            place: Place::Unknown,
            used: walked.map_or(self.resident, |walked| walked.resident),
            warm: walked.map_or(self.resident, |walked| walked.used),
            by,
            swapped: walked.map(|walked| walked.swapped),
            floor: Bytes::ZERO,
            refaults: None,
            growth: None,
            refaulted: None,
            evicted: None,
        };
        (holding, self.pids)
    }

    /// `None` if the page tables of a process may not be walked.
    fn walk(&self, proc: &Path) -> Option<Walked> {
        let mut sum = Walked::default();
        for pid in &self.pids {
            let text = fs::read(proc.join(pid.to_string()).join("smaps_rollup")).ok()?;
            let rollup = Rollup::of(&text).ok()?;
            sum.resident += rollup.share;
            sum.used += rollup.used();
            sum.swapped += rollup.swapped;
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
