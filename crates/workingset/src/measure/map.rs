//! The memory reference map: which page was used when, as a grid.
//!
//! Rows are ranks of pages by number, not addresses: an address space of 47 bits would leave the
//! picture empty. Each cell counts its references and keeps what they did.
//!
//! - Cost: O(n + w·h), 4 B for each page.
//! - Source: the founding report's memory reference maps, one circle for each cell of 800 by 600.

use crate::{Op, Page, Trace, Uses};
use serde::Serialize;

/// A grid of time by memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Map {
    /// Columns: time.
    pub width: usize,
    /// Rows: pages by rank, the lowest first.
    pub height: usize,
    /// References in each cell, row by row.
    pub count: Vec<u32>,
    /// What they did, as bits of [`Op`]; 0 where it is not known.
    pub did: Vec<u8>,
    /// The page number that each row begins with.
    pub rows: Vec<u64>,
}

impl Map {
    /// The map of a trace in references. It has at most a column for each reference and a row for
    /// each page.
    pub fn of(trace: &Trace, width: usize, height: usize) -> Self {
        let width = width.clamp(1, trace.len());
        let mut grid = Grid::new(trace, width, height);
        for (at, page) in trace.refs().iter().enumerate() {
            let column = (at as u128 * width as u128 / trace.len() as u128) as usize;
            let op = trace.op().map_or(Op(0), |op| op[at]);
            grid.add(*page, column, op);
        }
        grid.map
    }

    /// The map of uses in their time; cells count uses.
    pub fn of_uses(uses: &Uses, width: usize, height: usize) -> Self {
        let width = width.clamp(1, uses.len());
        let mut grid = Grid::new(uses.trace(), width, height);
        let column_time = uses.time() as f64 / width as f64;
        for one in uses {
            let since = (one.from - uses.start()) as f64;
            let column = ((since / column_time) as usize).min(width - 1);
            grid.add(one.page, column, one.op);
        }
        grid.map
    }

    /// What was done in a cell.
    pub fn op(&self, column: usize, row: usize) -> Op {
        Op(self.did[row * self.width + column])
    }
}

/// A map that is being made, and the row of each page.
struct Grid {
    map: Map,
    row: Vec<u32>,
}

impl Grid {
    fn new(trace: &Trace, width: usize, height: usize) -> Self {
        let height = height.clamp(1, trace.pages());
        let mut order: Vec<Page> = (0..trace.pages() as Page).collect();
        order.sort_unstable_by_key(|page| trace.names()[*page as usize]);
        let mut row = vec![0_u32; trace.pages()];
        let mut rows = vec![u64::MAX; height];
        for (rank, page) in order.iter().enumerate() {
            let place = rank * height / trace.pages();
            row[*page as usize] = place as u32;
            rows[place] = rows[place].min(trace.names()[*page as usize]);
        }
        let map = Map {
            width,
            height,
            count: vec![0; width * height],
            did: vec![0; width * height],
            rows,
        };
        Self { map, row }
    }

    #[inline]
    fn add(&mut self, page: Page, column: usize, op: Op) {
        let row = self.row[page as usize] as usize;
        let cell = row * self.map.width + column;
        let count = &mut self.map.count[cell];
        *count = count.saturating_add(1);
        self.map.did[cell] |= op.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_in_one_cell() {
        let trace = Trace::of(&[500, 7, 7, 500, 9, 9, 9, 9]).unwrap();
        let map = Map::of(&trace, 4, 3);
        assert_eq!(map.rows, [7, 9, 500]);
        assert_eq!(map.count, [1, 1, 0, 0, 0, 0, 2, 2, 1, 1, 0, 0]);
        assert_eq!(map.op(0, 0), Op(0));
        let uses = Uses::of(&trace, false).unwrap();
        assert_eq!(Map::of_uses(&uses, 2, 3).count, [1, 0, 0, 1, 2, 0]);
        let small = Map::of(&trace, 1000, 1000);
        assert_eq!((small.width, small.height), (8, 3));
    }
}
