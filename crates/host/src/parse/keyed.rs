//! Files of names and numbers, a pair a line: meminfo, vmstat, and their like for nodes and control groups.

use super::lines::{Plan, lines, number, tail};
use crate::error::Malformed;
use pressure::section::{Field, Section};

/// How a file writes its pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `MemFree:   123 kB`, on a node with `Node 0 ` before it. The kernel's `kB` are 1024 bytes.
    Meminfo,
    /// `nr_free_pages 123`.
    Vmstat,
    /// As [`Dialect::Vmstat`]; the field's name has this before the kernel's.
    Prefixed(&'static str),
}

impl Dialect {
    /// The part of a line that stays the same. Numbers of meminfo are flush right, so the spaces
    /// before them are not part of it.
    fn key(self, line: &[u8]) -> &[u8] {
        let sign = if self == Self::Meminfo { b':' } else { b' ' };
        line.iter()
            .position(|&byte| byte == sign)
            .map_or(line, |end| &line[..=end])
    }

    /// Whether `key` is how this file prints `field`.
    fn names(self, key: &[u8], field: &Field) -> bool {
        let name = field.name.as_bytes();
        match self {
            Self::Meminfo => without_node(key)
                .strip_suffix(b":")
                .is_some_and(|key| key == name),
            Self::Vmstat => key.strip_suffix(b" ").unwrap_or(key) == name,
            Self::Prefixed(prefix) => name
                .strip_prefix(prefix.as_bytes())
                .is_some_and(|name| key.strip_suffix(b" ").unwrap_or(key) == name),
        }
    }

    /// The number behind the key, in the unit of the field.
    fn value(self, rest: &[u8]) -> Option<u64> {
        match self {
            Self::Meminfo => {
                number(rest.trim_ascii_start().strip_suffix(b" kB")?)?.checked_mul(1024)
            }
            Self::Vmstat | Self::Prefixed(_) => number(rest),
        }
    }
}

/// Takes `Node 0 ` off.
fn without_node(key: &[u8]) -> &[u8] {
    let parse = || {
        let rest = key.strip_prefix(b"Node ")?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        rest[digits..].strip_prefix(b" ")
    };
    parse().unwrap_or(key)
}

/// A file of pairs with the plan of its lines.
#[derive(Debug)]
pub(crate) struct Keyed {
    dialect: Dialect,
    plan: Plan<Option<u16>>,
}

impl Keyed {
    pub(crate) const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            plan: Plan::new(),
        }
    }

    /// Sets the fields of `section` that the text names; the others are left as they are.
    ///
    /// A line with a wrong number leaves its field; the first such line is the error.
    pub(crate) fn parse<'t>(
        &mut self,
        text: &'t [u8],
        section: &mut dyn Section,
    ) -> Result<(), Malformed<'t>> {
        if text.is_empty() {
            return Err(Malformed::new("first line", text));
        }
        if let Some(result) = self.follow(text, section) {
            return result;
        }
        self.plan.clear();
        for line in lines(text) {
            let key = self.dialect.key(line);
            let field = section
                .fields()
                .iter()
                .position(|field| self.dialect.names(key, field));
            self.plan
                .push(key, field.and_then(|index| u16::try_from(index).ok()));
        }
        self.follow(text, section)
            .unwrap_or(Err(Malformed::new("lines", text)))
    }

    /// `None` if the text does not follow the plan.
    fn follow<'t>(
        &self,
        text: &'t [u8],
        section: &mut dyn Section,
    ) -> Option<Result<(), Malformed<'t>>> {
        let fields = section.fields();
        let mut wrong = None;
        let held = self.plan.follow(text, |target, rest, line| {
            let Some(index) = target.map(usize::from) else {
                return true;
            };
            match self.dialect.value(rest) {
                Some(value) => section.set(index, Some(value)),
                None if wrong.is_none() => wrong = Some(Malformed::new(fields[index].name, line)),
                None => {}
            }
            true
        });
        let cut = || {
            Some(tail(text))
                .filter(|tail| !tail.is_empty())
                .map(|tail| Malformed::new("end of line", tail))
        };
        held.then(|| wrong.or_else(cut).map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pressure::sample::{Cgroup, Counters, Memory, NodeAmounts};
    use units::{Bytes, Pages};

    #[test]
    fn kernel_kilobytes_are_1024_bytes() {
        let mut memory = Memory::default();
        let text =
            b"MemTotal:       24684096 kB\nHugePages_Total:       0\nActive(anon):       1552 kB\n";
        Keyed::new(Dialect::Meminfo)
            .parse(text, &mut memory)
            .unwrap();
        assert_eq!(memory.total, Some(Bytes::kib(24_684_096)));
        assert_eq!(memory.active_anon, Some(Bytes::kib(1552)));
        assert_eq!(memory.free, None);
    }

    #[test]
    fn a_node_line_names_its_node_first() {
        let mut amounts = NodeAmounts::default();
        let text = b"Node 12 MemTotal:       24684096 kB\nNode 12 MemFree:  3 kB\n";
        Keyed::new(Dialect::Meminfo)
            .parse(text, &mut amounts)
            .unwrap();
        assert_eq!(amounts.total, Some(Bytes::kib(24_684_096)));
        assert_eq!(amounts.free, Some(Bytes::kib(3)));
    }

    #[test]
    fn a_field_of_a_control_group_has_the_files_name_before_it() {
        let mut cgroup = Cgroup::default();
        Keyed::new(Dialect::Prefixed("memory.stat."))
            .parse(b"anon 5\nanon_thp 6\nhigh 7\n", &mut cgroup)
            .unwrap();
        assert_eq!(
            (cgroup.anon, cgroup.events_high, cgroup.high),
            (Some(Bytes::new(5)), None, None)
        );
    }

    #[test]
    fn a_number_that_does_not_fit_is_quoted_and_the_rest_is_kept() {
        let mut counters = Counters::default();
        let text = b"nr_free_pages 99999999999999999999\npgfree 7\n";
        let error = Keyed::new(Dialect::Vmstat)
            .parse(text, &mut counters)
            .unwrap_err();
        assert_eq!(
            error,
            Malformed::new("nr_free_pages", b"nr_free_pages 99999999999999999999")
        );
        assert_eq!((counters.nr_free_pages, counters.pgfree), (None, Some(7)));
        let mut memory = Memory::default();
        let wraps = b"MemTotal: 18446744073709551615 kB\n";
        assert!(
            Keyed::new(Dialect::Meminfo)
                .parse(wraps, &mut memory)
                .is_err(),
            "times 1024 does not fit"
        );
    }

    #[test]
    fn a_number_cut_by_the_end_of_the_text_is_not_taken() {
        let mut counters = Counters::default();
        let error = Keyed::new(Dialect::Vmstat)
            .parse(b"pgfree 7\nnr_free_pages 112", &mut counters)
            .unwrap_err();
        assert_eq!(error, Malformed::new("end of line", b"nr_free_pages 112"));
        assert_eq!((counters.nr_free_pages, counters.pgfree), (None, Some(7)));
    }

    #[test]
    fn a_new_line_in_the_middle_makes_a_new_plan() {
        let mut vmstat = Keyed::new(Dialect::Vmstat);
        let mut counters = Counters::default();
        vmstat
            .parse(b"nr_free_pages 1\npgfree 2\n", &mut counters)
            .unwrap();
        vmstat
            .parse(b"nr_free_pages 3\nnr_new 9\npgfree 4\n", &mut counters)
            .unwrap();
        assert_eq!(
            (counters.nr_free_pages, counters.pgfree),
            (Some(Pages::new(3)), Some(4))
        );
    }
}
