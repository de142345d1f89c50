//! The texts of `/proc/PID`, as bytes that a process may have chosen itself.

use super::lines::{self, number};
use pressure::scan::Life;
use units::{Bytes, Pages};

/// The kernel's mark of its own threads in the flags.
const PF_KTHREAD: u64 = 0x0020_0000;
/// The kernel's mark of a process that exits.
const PF_EXITING: u64 = 0x0000_0004;

/// What is taken from `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat<'t> {
    pub(crate) name: &'t [u8],
    pub(crate) life: Life,
    pub(crate) is_kernels: bool,
    /// Its memory is given back.
    pub(crate) is_dead: bool,
    pub(crate) parent: u32,
    /// Its process group; 0 if that is outside of our PID namespace.
    pub(crate) group: u32,
    /// Its session; 0 if that is outside of our PID namespace.
    pub(crate) session: u32,
    pub(crate) has_terminal: bool,
    /// Time that the kernel worked for it, in clock ticks, cut to 32 bits.
    pub(crate) system_time: u32,
    /// In clock ticks since boot.
    pub(crate) start: u64,
    /// Files and shared memory included.
    pub(crate) resident: Pages,
}

/// `123 (name) S …`.
///
/// `None` if a field is missing or is no number: a text that was cut short says nothing.
pub(crate) fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let (name, mut words) = lines::stat(text)?;
    let state = *words.next()?.first()?;
    let parent = identifier(words.next()?)?;
    let group = identifier(words.next()?)?;
    let session = identifier(words.next()?)?;
    // tty_nr is 0 without a terminal and may be negative.
    let has_terminal = words.next()? != b"0";
    // tpgid, then flags.
    let flags = number(words.nth(1)?)?;
    // minflt cminflt majflt cmajflt utime, then stime.
    let system_time = number(words.nth(5)?)? as u32;
    // cutime cstime priority nice, then num_threads.
    let threads = number(words.nth(4)?)?;
    // itrealvalue, then starttime; vsize, then rss.
    let start = number(words.nth(1)?)?;
    let resident = number(words.nth(1)?).map(Pages::new)?;
    // A zombie that leads other threads still holds their memory.
    let is_dead = matches!(state, b'Z' | b'X' | b'x') && threads <= 1;
    let life = match state {
        _ if is_dead || (flags & PF_EXITING != 0 && threads <= 1) => Life::Dying,
        b'D' => Life::Stuck,
        b'T' | b't' => Life::Stopped,
        _ => Life::Alive,
    };
    let is_kernels = flags & PF_KTHREAD != 0;
    Some(Stat {
        name,
        life,
        is_kernels,
        is_dead,
        parent,
        group,
        session,
        has_terminal,
        system_time,
        start,
        resident,
    })
}

/// A process ID.
fn identifier(word: &[u8]) -> Option<u32> {
    u32::try_from(number(word)?).ok()
}

/// What is taken from `status`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) anon: Option<Bytes>,
    /// Pages of files.
    pub(crate) files: Option<Bytes>,
    /// Shared memory that it maps: memfd, tmpfs, System V, shared anonymous mappings.
    pub(crate) shared: Option<Bytes>,
    pub(crate) swapped: Option<Bytes>,
    /// Page tables.
    pub(crate) tables: Option<Bytes>,
    /// Pages of the huge page pools.
    pub(crate) hugetlb: Option<Bytes>,
    pub(crate) user: Option<u32>,
}

/// The lines of `status`; what is missing stays unknown. A name in the first line cannot make a line of its own: the
/// kernel escapes its newlines.
pub(crate) fn status(text: &[u8]) -> Status {
    let mut status = Status::default();
    // A line without its end may be cut in the middle of a number.
    for line in lines::lines(text).skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let mut words = line[colon + 1..]
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let Some(value) = words.next().and_then(number) else {
            continue;
        };
        match &line[..colon] {
            b"RssAnon" => status.anon = Some(Bytes::kib(value)),
            b"RssFile" => status.files = Some(Bytes::kib(value)),
            b"RssShmem" => status.shared = Some(Bytes::kib(value)),
            b"VmPTE" => status.tables = Some(Bytes::kib(value)),
            b"HugetlbPages" => status.hugetlb = Some(Bytes::kib(value)),
            b"VmSwap" => status.swapped = Some(Bytes::kib(value)),
            b"Uid" => status.user = u32::try_from(value).ok(),
            _ => {}
        }
    }
    status
}

/// The path of a process's group: of version 2, else of systemd's own hierarchy.
pub(crate) fn cgroup(text: &[u8]) -> Option<&[u8]> {
    let lines = || text.split(|byte| *byte == b'\n');
    let path = |line: &'_ [u8], prefix: &[u8]| line.strip_prefix(prefix).map(<[u8]>::len);
    let v2 = lines().find_map(|line| {
        path(line, b"0::")
            .filter(|length| *length > 1)
            .map(|_| &line[3..])
    });
    let named = || {
        lines().find_map(|line| {
            let at = line
                .windows(14)
                .position(|window| window == b":name=systemd:")?;
            Some(&line[at + 14..])
        })
    };
    v2.or_else(named)
        .or_else(|| lines().find_map(|line| line.strip_prefix(b"0::")))
}

/// −1000 to 1000, and a newline.
pub(crate) fn adjustment(text: &[u8]) -> Option<i16> {
    let text = text.trim_ascii();
    let (sign, digits) = text
        .strip_prefix(b"-")
        .map_or((1, text), |digits| (-1, digits));
    let value = i16::try_from(number(digits)?)
        .ok()
        .filter(|value| *value <= 1000)?;
    Some(sign * value)
}

/// Bytes that another program chose, as text that can be printed: cut to fit, what is no plain letter replaced.
pub fn printable<const N: usize>(bytes: &[u8]) -> arrayvec::ArrayString<N> {
    let mut text = arrayvec::ArrayString::new();
    for letter in String::from_utf8_lossy(bytes).chars() {
        let letter = if letter.is_control() || letter == '\u{fffd}' || is_bidi(letter) {
            '?'
        } else {
            letter
        };
        if text.try_push(letter).is_err() {
            break;
        }
    }
    text
}

/// The end of such bytes, if they do not fit: of a path, the end tells most.
pub(crate) fn printable_end<const N: usize>(bytes: &[u8]) -> arrayvec::ArrayString<N> {
    let mut from = bytes.len().saturating_sub(N);
    // A letter of several bytes is left out whole.
    while from > 0 && from < bytes.len() && bytes[from] & 0xc0 == 0x80 {
        from += 1;
    }
    printable(&bytes[from..])
}

/// Letters that turn the direction of what follows: a name must not rewrite the line it stands in.
const fn is_bidi(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(name: &str) -> Vec<u8> {
        format!("77 ({name}) D 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4242 99999 512 18446744073709551615 1")
            .into_bytes()
    }

    #[test]
    fn a_hostile_name_moves_no_field() {
        for name in [
            "sshd",
            "a) R 1 1 1",
            "((",
            "))",
            ") Z 0",
            "",
            "new\nline",
            "\u{7f}\u{1b}[2J",
        ] {
            let text = line(name);
            let stat = stat(&text).unwrap();
            assert_eq!(
                (stat.start, stat.resident, stat.life),
                (4242, Pages::new(512), Life::Stuck),
                "{name:?}"
            );
            assert_eq!(stat.name, name.as_bytes());
        }
    }

    #[test]
    fn kin_terminal_and_time_are_read_in_their_places() {
        let text = "77 (x) S 5 6 7 -3 -1 4194560 1 2 3 4 9 8 1 1 20 0 3 0 4242 99999 512 1";
        let stat = stat(text.as_bytes()).unwrap();
        assert_eq!((stat.parent, stat.group), (5, 6));
        assert!(stat.has_terminal);
        assert_eq!(stat.system_time, 8);
        assert_eq!((stat.start, stat.resident), (4242, Pages::new(512)));
        assert!(!super::stat(&line("x")).unwrap().has_terminal);
    }

    #[test]
    fn a_zombie_is_dead_only_with_its_last_thread() {
        let text = String::from_utf8(line("x")).unwrap();
        let life = |text: &str| stat(text.as_bytes()).unwrap().life;
        assert_eq!(
            life(&text.replace(") D", ") Z")),
            Life::Alive,
            "two others run"
        );
        assert_eq!(
            life(&text.replace(") D", ") Z").replace("20 0 3 0", "20 0 1 0")),
            Life::Dying
        );
        assert_eq!(life(&text.replace(") D", ") T")), Life::Stopped);
    }

    #[test]
    fn status_is_read_by_its_labels_and_the_name_is_skipped() {
        let text = b"Name:\tVmSwap:\t9 kB\nUid:\t1000\t1000\t1000\t1000\nVmRSS:\t  900 kB\nRssAnon:\t     512 kB\nRssFile:\t 1 kB\n\
            RssShmem:\t 2 kB\nVmPTE:\t 3 kB\nVmSwap:\t   4 kB\nHugetlbPages:\t 2048 kB\n";
        let expected = Status {
            anon: Some(Bytes::kib(512)),
            files: Some(Bytes::kib(1)),
            shared: Some(Bytes::kib(2)),
            swapped: Some(Bytes::kib(4)),
            tables: Some(Bytes::kib(3)),
            hugetlb: Some(Bytes::kib(2048)),
            user: Some(1000),
        };
        assert_eq!(status(text), expected);
        assert_eq!(status(b"Name:\tkworker\nUid:\t0\n").anon, None);
    }

    #[test]
    fn the_group_is_of_version_two_or_systemds() {
        assert_eq!(
            cgroup(b"0::/user.slice/x.scope\n"),
            Some(&b"/user.slice/x.scope"[..])
        );
        assert_eq!(
            cgroup(b"4:memory:/m\n1:name=systemd:/system.slice/a.service\n0::/\n"),
            Some(&b"/system.slice/a.service"[..])
        );
        assert_eq!(cgroup(b"0::/\n"), Some(&b"/"[..]));
        assert_eq!(cgroup(b"4:memory:/m\n"), None);
    }

    #[test]
    fn names_cannot_speak_to_the_terminal() {
        assert_eq!(printable::<32>(b"a\x1b[31mb\n\xff").as_str(), "a?[31mb??");
        assert_eq!(printable::<4>("ééé".as_bytes()).as_str(), "éé");
        assert_eq!(printable::<32>("x\u{202e}y".as_bytes()).as_str(), "x?y");
        assert_eq!(printable_end::<4>(b"/usr/bin").as_str(), "/bin");
        assert_eq!(printable_end::<3>("éé".as_bytes()).as_str(), "é");
        assert_eq!(printable_end::<8>(b"/a\n").as_str(), "/a?");
        assert_eq!(printable_end::<4>(b"").as_str(), "");
    }

    #[test]
    fn adjustments_are_bounded() {
        assert_eq!(adjustment(b"-1000\n"), Some(-1000));
        assert_eq!(adjustment(b"300\n"), Some(300));
        assert_eq!(adjustment(b"1001\n"), None);
        assert_eq!(adjustment(b"--1\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (stat(&bytes), status(&bytes), cgroup(&bytes), adjustment(&bytes), printable::<16>(&bytes), printable_end::<7>(&bytes));
        }

        #[test]
        fn any_name_leaves_the_numbers_as_they_are(name in "[^\u{0}]{0,15}") {
            let text = line(&name);
            let stat = stat(&text).unwrap();
            prop_assert_eq!((stat.start, stat.resident), (4242, Pages::new(512)));
        }
    }
}
