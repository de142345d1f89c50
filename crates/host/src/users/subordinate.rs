//! Whose a user ID is: `/etc/subuid` gives a user ranges of further IDs, for containers without root.
//!
//! In a user namespace its owner can act as any ID of these ranges, so all of them together are one user.
//!
//! Limit: ranges that a directory service gives out (`subid:` in `nsswitch.conf`) are not known here, as no server is asked.

use crate::settings::number;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The beginning of `/etc/subuid` that is read: some 30,000 users. A longer file is cut, and users behind that are not known.
const LONGEST: u64 = 1 << 20;

/// Ranges begin no lower: below are root, services and the users of the machine, each of whom is nobody else, whatever a line
/// says. `SUB_UID_MIN` of login.defs(5) is 100,000.
const LEAST: u32 = 65_536;

/// The user to whom `user` belongs on the machine at `root`: the owner of the range that has it, else `user`.
///
/// What cannot be read says nothing. Of ranges that overlap the first counts.
pub fn owner(root: &Path, user: u32) -> u32 {
    if user < LEAST {
        return user;
    }
    let mut text = Vec::new();
    let read = File::open(root.join("etc/subuid"))
        .and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    if read.is_err() {
        return user;
    }
    let text = String::from_utf8_lossy(&text);
    let mut ranges = text.lines().filter_map(Range::parse);
    let Some(range) = ranges.find(|range| range.has(user)) else {
        return user;
    };
    let by_number = range.owner.parse().ok();
    by_number
        .or_else(|| number(root, range.owner))
        .unwrap_or(user)
}

/// One line, `ann:100000:65536`: a name or a number, the first ID, and how many there are.
struct Range<'t> {
    owner: &'t str,
    first: u32,
    count: u32,
}

impl<'t> Range<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let mut fields = line.trim().split(':');
        let owner = fields.next().filter(|owner| !owner.is_empty())?;
        let first = fields.next()?.parse().ok()?;
        let count = fields.next()?.parse().ok()?;
        Some(Self {
            owner,
            first,
            count,
        })
    }

    fn has(&self, user: u32) -> bool {
        user.checked_sub(self.first)
            .is_some_and(|place| place < self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(subuid: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("etc")).unwrap();
        let passwd = "ann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n";
        fs::write(dir.path().join("etc/passwd"), passwd).unwrap();
        fs::write(dir.path().join("etc/subuid"), subuid).unwrap();
        dir
    }

    #[test]
    fn every_number_of_a_range_is_its_owners_and_no_other_is() {
        let dir = machine("ann:100000:65536\n1001:165536:10\n");
        for (user, whose) in [
            (0, 0),
            (1000, 1000),
            (1001, 1001),
            (99_999, 99_999),
            (100_000, 1000),
            (165_535, 1000),
            (165_536, 1001),
            (165_545, 1001),
            (165_546, 165_546),
            (u32::MAX, u32::MAX),
        ] {
            assert_eq!(owner(dir.path(), user), whose, "{user}");
        }
    }

    #[test]
    fn a_file_that_is_absent_or_wrong_makes_nobody_another() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(owner(dir.path(), 100_000), 100_000);
        let wrong = "# ann:100000:65536\nann\nann:x:1\nann:100000\nann:100000:-1\n::\n:100000:65536\ncarl:100000:65536\n";
        assert_eq!(owner(machine(wrong).path(), 100_000), 100_000);
        // The end of the numbers is no overflow.
        let all = machine("ann:100000:4294967295\n");
        assert_eq!(owner(all.path(), u32::MAX), 1000);
    }

    /// A range over them, by mistake, makes nobody another.
    #[test]
    fn root_and_the_users_of_the_machine_are_nobodys_subordinates() {
        let dir = machine("ann:0:65536\n");
        assert_eq!(owner(dir.path(), 0), 0);
        assert_eq!(owner(dir.path(), 1001), 1001);
    }
}
