//! `/proc/spl/kstat/zfs/arcstats`: what the cache of ZFS holds, and what it keeps.

use super::lines::{lines, number, words};
use crate::error::Malformed;
use units::Bytes;

/// The two numbers that tell what the cache can give back.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arc {
    /// All of it: `size`.
    pub(crate) size: Option<Bytes>,
    /// What it keeps in any case: `c_min`.
    pub(crate) least: Option<Bytes>,
}

/// `name type data` on each line, below two lines of title. A name that is not there stays unknown.
pub(crate) fn parse(text: &[u8]) -> Result<Arc, Malformed<'_>> {
    let mut arc = Arc::default();
    for line in lines(text) {
        let mut words = words(line);
        let field = match words.next() {
            Some(b"size") => &mut arc.size,
            Some(b"c_min") => &mut arc.least,
            _ => continue,
        };
        let value = words.nth(1).and_then(number);
        let value = value.ok_or(Malformed::new("arcstats", line))?;
        *field = Some(Bytes::new(value));
    }
    Ok(arc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] = b"9 1 0x01 147 39984 3480000000 9000000000000
name                            type data
c                               4    33285996544
c_min                           4    2101346304
size                            4    32212254720
memory_available_bytes          3    -3221225472
";

    #[test]
    fn size_and_minimum_are_told_by_their_whole_names() {
        let arc = parse(TEXT).unwrap();
        assert_eq!(arc.size, Some(Bytes::new(32_212_254_720)));
        assert_eq!(arc.least, Some(Bytes::new(2_101_346_304)));
    }

    #[test]
    fn a_field_that_is_missing_or_cut_is_unknown() {
        assert_eq!(parse(b""), Ok(Arc::default()));
        assert_eq!(parse(b"size 4 1"), Ok(Arc::default()), "cut");
        assert!(parse(b"size 4 -1\n").is_err());
        assert!(parse(b"c_min 4\n").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
