//! `/proc/zoneinfo`: the zones with their watermarks.
//!
//! A zone's block opens with `Node 0, zone   Normal`; the first of a node has the node's own numbers
//! next. The zone's numbers begin at `pages free`. Only a populated zone goes on to `pagesets`, so
//! nothing but the next header ends a block. Watermarks are printed with the boost added; it is
//! taken off here.

use super::lines::{Plan, lines, number, tail, words};
use crate::error::Malformed;
use pressure::sample::{Zone, ZoneAmounts, ZoneKind};
use pressure::section::Section;
use units::Pages;

/// What a line is for.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// A new block begins.
    Zone { node: u32, kind: ZoneKind },
    /// A header that names a zone no kernel has had yet.
    Strange,
    /// A number of the zone.
    Field(u16),
    /// Anything else.
    Skip,
}

/// The file, with the plan of its lines.
#[derive(Debug)]
pub(crate) struct Zoneinfo {
    plan: Plan<Target>,
}

impl Zoneinfo {
    pub(crate) const fn new() -> Self {
        Self { plan: Plan::new() }
    }

    /// Fills `zones` with the populated zones of the text, in its order; blocks are left empty.
    ///
    /// On error `zones` holds what was understood.
    pub(crate) fn parse<'t>(
        &mut self,
        text: &'t [u8],
        zones: &mut Vec<Zone>,
    ) -> Result<(), Malformed<'t>> {
        if text.is_empty() {
            zones.clear();
            return Err(Malformed::new("first line", text));
        }
        if let Some(result) = self.follow(text, zones) {
            return result;
        }
        self.make_plan(text);
        self.follow(text, zones)
            .unwrap_or(Err(Malformed::new("lines", text)))
    }

    fn make_plan(&mut self, text: &[u8]) {
        self.plan.clear();
        let mut inside = false;
        for line in lines(text) {
            if line.starts_with(b"Node ") {
                inside = false;
                let target = header(line)
                    .map_or(Target::Strange, |(node, kind)| Target::Zone { node, kind });
                self.plan.push(line, target);
                continue;
            }
            let key = key(line);
            let name = key.trim_ascii();
            inside = (inside || name == b"pages free") && line.trim_ascii() != b"pagesets";
            let field = field(name).filter(|_| inside);
            self.plan
                .push(key, field.map_or(Target::Skip, Target::Field));
        }
    }

    /// `None` if the text does not follow the plan.
    fn follow<'t>(
        &self,
        text: &'t [u8],
        zones: &mut Vec<Zone>,
    ) -> Option<Result<(), Malformed<'t>>> {
        zones.clear();
        let mut open = None;
        let mut wrong = None;
        let held = self.plan.follow(text, |target, rest, line| match target {
            Target::Zone { node, kind } => {
                zones.extend(open.take().and_then(finished));
                open = Some(Zone {
                    node,
                    kind,
                    ..Zone::default()
                });
                rest.is_empty()
            }
            Target::Strange => {
                zones.extend(open.take().and_then(finished));
                wrong = wrong.or(Some(Malformed::new("zone", line)));
                rest.is_empty()
            }
            Target::Field(index) => {
                let index = usize::from(index);
                let value = number(rest);
                if let Some(zone) = &mut open {
                    zone.amounts.set(index, value);
                }
                if value.is_none() {
                    wrong = wrong.or(Some(Malformed::new(ZoneAmounts::FIELDS[index].name, line)));
                }
                !rest.contains(&b' ')
            }
            Target::Skip => !rest.contains(&b' '),
        });
        if !held {
            return None;
        }
        let cut = tail(text);
        if !cut.is_empty() {
            // The last zone may be cut in the middle: its other numbers are unknown, but not wrong.
            wrong = wrong.or(Some(Malformed::new("end of line", cut)));
        }
        zones.extend(open.and_then(finished));
        Some(wrong.map_or(Ok(()), Err))
    }
}

/// A line up to its last space: what stays the same while the number changes.
fn key(line: &[u8]) -> &[u8] {
    line.iter()
        .rposition(|&byte| byte == b' ')
        .map_or(&[], |end| &line[..=end])
}

/// The field printed as `name`; the first number of a zone is `pages free`.
fn field(name: &[u8]) -> Option<u16> {
    let name = name.strip_prefix(b"pages ").unwrap_or(name);
    let index = ZoneAmounts::FIELDS
        .iter()
        .position(|field| field.name.as_bytes() == name)?;
    u16::try_from(index).ok()
}

/// `Node 1, zone   Normal`; also the start of a line of `/proc/buddyinfo`.
pub(super) fn header(line: &[u8]) -> Option<(u32, ZoneKind)> {
    let mut words = words(line.strip_prefix(b"Node ")?);
    let node = number(words.next()?.strip_suffix(b",")?)?;
    let named = words.next()? == b"zone";
    let kind = ZoneKind::from_name(std::str::from_utf8(words.next()?).ok()?)?;
    Some((u32::try_from(node).ok().filter(|_| named)?, kind))
}

/// The zone without the boost; `None` if it manages no pages.
fn finished(mut zone: Zone) -> Option<Zone> {
    let amounts = &mut zone.amounts;
    amounts.managed.filter(|managed| *managed > Pages::ZERO)?;
    let boost = amounts.boost.unwrap_or(Pages::ZERO).get();
    for mark in [
        &mut amounts.min,
        &mut amounts.low,
        &mut amounts.high,
        &mut amounts.promo,
    ] {
        // A boost above its watermark is two moments mixed: unknown.
        *mark = mark
            .and_then(|mark| mark.get().checked_sub(boost))
            .map(Pages::new);
    }
    Some(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes as 6.12 prints them, the unpopulated zones of node 0 without `pagesets`.
    const TWO_NODES: &[u8] = b"\
Node 0, zone    DMA32
  per-node stats
      nr_inactive_anon 10
      nr_mapped    7
  pages free     100
        boost    6
        min      16
        low      26
        high     36
        promo    46
        spanned  4095
        present  3998
        managed  3840
        cma      0
        protection: (0, 3019, 4555, 4555)
      nr_free_pages 100
      nr_zone_inactive_file 3
      numa_other   0
  pagesets
    cpu: 0
              count:    1
              high:     2
              batch:    1
              high_min: 34
              high_max: 240
  vm stats threshold: 4
  node_unreclaimable:  0
  start_pfn:           1
Node 0, zone  Movable
  pages free     0
        boost    0
        min      32
        low      32
        high     32
        promo    32
        spanned  0
        present  0
        managed  0
        cma      0
        protection: (0, 0, 0, 0)
Node 1, zone   Normal
  per-node stats
      nr_inactive_anon 20
  pages free     200
        boost    0
        min      5678
        low      7097
        high     8516
        promo    9935
        spanned  5505024
        present  5505024
        managed  393216
        cma      0
        protection: (0, 0, 0, 0)
      nr_free_pages 200
  pagesets
    cpu: 0
              count:    1727
              high:     3987
              batch:    63
  node_unreclaimable:  0
  start_pfn:           1048576
";

    fn zones(text: &[u8]) -> Vec<Zone> {
        let mut zones = Vec::new();
        Zoneinfo::new().parse(text, &mut zones).unwrap();
        zones
    }

    #[test]
    fn a_zone_is_credited_to_its_own_node_across_an_unpopulated_one() {
        let zones = zones(TWO_NODES);
        let names: Vec<_> = zones.iter().map(|zone| (zone.node, zone.kind)).collect();
        assert_eq!(names, [(0, ZoneKind::Dma32), (1, ZoneKind::Normal)]);
        assert_eq!(zones[1].amounts.managed, Some(Pages::new(393_216)));
        assert_eq!(
            zones[1].amounts.high,
            Some(Pages::new(8516)),
            "and not the pageset's"
        );
        assert_eq!(zones[0].amounts.inactive_file, Some(Pages::new(3)));
        assert_eq!(zones[1].amounts.inactive_file, None);
    }

    #[test]
    fn the_boost_is_taken_off_every_watermark() {
        let amounts = zones(TWO_NODES)[0].amounts;
        let marks = [
            amounts.boost,
            amounts.min,
            amounts.low,
            amounts.high,
            amounts.promo,
        ];
        assert_eq!(
            marks.map(|mark| mark.map(Pages::get)),
            [6, 10, 20, 30, 40].map(Some)
        );
    }

    #[test]
    fn a_boost_above_a_watermark_makes_it_unknown() {
        let text =
            String::from_utf8(TWO_NODES.to_vec())
                .unwrap()
                .replacen("boost    6", "boost    17", 1);
        let amounts = zones(text.as_bytes())[0].amounts;
        assert_eq!((amounts.min, amounts.low), (None, Some(Pages::new(9))));
    }

    #[test]
    fn a_zone_that_gets_pages_appears_at_the_next_reading() {
        let mut zoneinfo = Zoneinfo::new();
        let mut zones = Vec::new();
        zoneinfo.parse(TWO_NODES, &mut zones).unwrap();
        let text = String::from_utf8(TWO_NODES.to_vec()).unwrap().replacen(
            "managed  0",
            "managed  512",
            1,
        );
        zoneinfo.parse(text.as_bytes(), &mut zones).unwrap();
        let names: Vec<_> = zones.iter().map(|zone| (zone.node, zone.kind)).collect();
        assert_eq!(
            names,
            [
                (0, ZoneKind::Dma32),
                (0, ZoneKind::Movable),
                (1, ZoneKind::Normal)
            ]
        );
    }

    #[test]
    fn a_zone_of_unknown_kind_is_quoted_and_the_others_are_kept() {
        let text = String::from_utf8(TWO_NODES.to_vec())
            .unwrap()
            .replace("Movable", "Private");
        let mut zones = Vec::new();
        let error = Zoneinfo::new()
            .parse(text.as_bytes(), &mut zones)
            .unwrap_err();
        assert_eq!(error, Malformed::new("zone", b"Node 0, zone  Private"));
        assert_eq!(zones.len(), 2);
        assert_eq!(
            zones[0].amounts.managed,
            Some(Pages::new(3840)),
            "not overwritten by the strange zone"
        );
    }
}
