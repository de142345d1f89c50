//! `/proc/swaps`: a heading, then a line for each area: name, type, size and used in KiB, priority.

use super::lines::{lines, number, tail, words};
use crate::error::Malformed;
use pressure::sample::{Swap, SwapAmounts, SwapKind};
use units::Bytes;

/// Fills `swaps` with the areas, in the kernel's order. On error it holds what was understood.
pub(crate) fn parse<'t>(text: &'t [u8], swaps: &mut Vec<Swap>) -> Result<(), Malformed<'t>> {
    swaps.clear();
    if !text.starts_with(b"Filename") {
        return Err(Malformed::new("heading", text));
    }
    for line in lines(text).skip(1) {
        swaps.push(swap(line).ok_or(Malformed::new("swap area", line))?);
    }
    match tail(text) {
        b"" => Ok(()),
        cut => Err(Malformed::new("end of line", cut)),
    }
}

/// One area. Blanks in a name are printed as `\040`, so words are words; a swap file that was
/// removed while in use has ` (deleted)` behind its name, so the numbers are counted from the end.
fn swap(line: &[u8]) -> Option<Swap> {
    let name = words(line).next()?;
    let mut from_the_end = line
        .rsplit(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let _priority = from_the_end.next()?;
    let used = number(from_the_end.next()?)?.checked_mul(1024)?;
    let size = number(from_the_end.next()?)?.checked_mul(1024)?;
    let kind = match from_the_end.next()? {
        b"file" => SwapKind::File,
        _ if name.starts_with(b"/dev/zram") => SwapKind::Zram,
        // lxcfs sums up the areas of the host as `none virtual`, by the limits of the container.
        b"partition" | b"virtual" => SwapKind::Partition,
        _ => return None,
    };
    Some(Swap {
        kind,
        amounts: SwapAmounts {
            size: Some(Bytes::new(size)),
            used: Some(Bytes::new(used)),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_each_kind_are_told_apart() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/sda2                               partition\t8388604\t\t1024\t\t-2\n\
            /swap\\040file                           file\t\t4\t\t0\t\t-3\n\
            /gone\\040(deleted)                      file\t\t4\t\t0\t\t-4\n\
            /dev/zram0                              partition\t16\t\t8\t\t100\n";
        let mut swaps = Vec::new();
        parse(text, &mut swaps).unwrap();
        let kinds: Vec<_> = swaps.iter().map(|swap| swap.kind).collect();
        assert_eq!(
            kinds,
            [
                SwapKind::Partition,
                SwapKind::File,
                SwapKind::File,
                SwapKind::Zram
            ]
        );
        assert_eq!(swaps[0].amounts.size, Some(Bytes::kib(8_388_604)));
        assert_eq!(swaps[0].amounts.used, Some(Bytes::kib(1024)));
    }

    /// As lxcfs prints it (lxc/lxcfs#551).
    #[test]
    fn the_swap_of_a_container_is_an_area() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            none                                    virtual         2097152 102400  0\n";
        let mut swaps = Vec::new();
        parse(text, &mut swaps).unwrap();
        assert_eq!(swaps.len(), 1);
        assert_eq!(swaps[0].kind, SwapKind::Partition);
        assert_eq!(swaps[0].amounts.size, Some(Bytes::mib(2048)));
        assert_eq!(swaps[0].amounts.used, Some(Bytes::mib(100)));
    }

    #[test]
    fn a_heading_alone_is_a_machine_without_swap() {
        let mut swaps = vec![Swap::default()];
        assert_eq!(
            parse(
                b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
                &mut swaps
            ),
            Ok(())
        );
        assert!(swaps.is_empty());
        assert!(parse(b"", &mut swaps).is_err());
    }
}
