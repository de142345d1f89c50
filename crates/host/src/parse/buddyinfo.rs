//! `/proc/buddyinfo`: free blocks of each zone by order, as many columns as the kernel has orders.

use super::lines::{lines, number, tail, words};
use super::zoneinfo::header;
use crate::error::Malformed;
use pressure::sample::{Blocks, MAX_ORDERS, Zone};

/// Words before the numbers: `Node 0, zone Normal`.
const HEADER: usize = 4;

/// Fills the blocks of `zones`. Lines of zones that are not among them are passed over.
///
/// Cost: O(bytes); the zones are in the order of the lines, so none is searched for.
pub(crate) fn parse<'t>(text: &'t [u8], zones: &mut [Zone]) -> Result<(), Malformed<'t>> {
    if text.is_empty() {
        return Err(Malformed::new("first line", text));
    }
    let mut wrong = None;
    let mut next = 0;
    for line in lines(text) {
        let Some(name) = header(line) else {
            wrong = wrong.or(Some(Malformed::new("zone", line)));
            continue;
        };
        let is_it = |zone: &Zone| (zone.node, zone.kind) == name;
        let Some(index) = zones
            .iter()
            .skip(next)
            .position(is_it)
            .map(|ahead| next + ahead)
        else {
            continue;
        };
        match blocks(line) {
            Some(blocks) => zones[index].blocks = blocks,
            None => wrong = wrong.or(Some(Malformed::new("free blocks", line))),
        }
        next = index + 1;
    }
    let cut = tail(text);
    if !cut.is_empty() {
        wrong = wrong.or(Some(Malformed::new("end of line", cut)));
    }
    wrong.map_or(Ok(()), Err)
}

/// The numbers of one line; `None` without any, with too many, or with one that is none.
fn blocks(line: &[u8]) -> Option<Blocks> {
    let mut blocks = Blocks::default();
    for (order, word) in words(line).skip(HEADER).enumerate() {
        *blocks
            .counts
            .get_mut(order)
            .filter(|_| order < MAX_ORDERS)? = number(word)?;
        blocks.orders = order as u8 + 1;
    }
    (blocks.orders > 0).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pressure::sample::ZoneKind;

    fn zone(node: u32, kind: ZoneKind) -> Zone {
        Zone {
            node,
            kind,
            ..Zone::default()
        }
    }

    #[test]
    fn a_line_finds_its_zone_by_node_and_name() {
        let mut zones = [zone(0, ZoneKind::Normal), zone(1, ZoneKind::Normal)];
        let text = b"Node 0, zone    DMA32      9      9 \nNode 0, zone   Normal      1      2 \n\
                     Node 1, zone   Normal      3      4      5 \n";
        parse(text, &mut zones).unwrap();
        assert_eq!(
            (zones[0].blocks.orders, &zones[0].blocks.counts[..3]),
            (2, &[1, 2, 0][..])
        );
        assert_eq!(
            (zones[1].blocks.orders, &zones[1].blocks.counts[..3]),
            (3, &[3, 4, 5][..])
        );
    }

    #[test]
    fn more_orders_than_we_can_hold_are_malformed() {
        let mut zones = [zone(0, ZoneKind::Normal)];
        let line = format!("Node 0, zone   Normal {}\n", "1 ".repeat(MAX_ORDERS));
        parse(line.as_bytes(), &mut zones).unwrap();
        assert_eq!(usize::from(zones[0].blocks.orders), MAX_ORDERS);
        let mut zones = [zone(0, ZoneKind::Normal)];
        let line = format!("Node 0, zone   Normal {}\n", "1 ".repeat(MAX_ORDERS + 1));
        assert_eq!(
            parse(line.as_bytes(), &mut zones).unwrap_err().field,
            "free blocks"
        );
        assert_eq!(zones[0].blocks.orders, 0);
    }
}
