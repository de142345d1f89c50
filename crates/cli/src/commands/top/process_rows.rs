//! The table of processes.

use super::columns::{Column, Side, cell};
use super::frame::Line;
use super::holdings::growth;
use super::view::{Order, Paints};
use pressure::scan::Identity;
use ratatui::widgets::Row;
use std::cmp::Ordering;
use units::Bytes;

/// What a column shows of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfProcess {
    Number,
    Name,
    User,
    /// In RAM; with what is in swap where that has no column of its own.
    Memory,
    Swap,
    Growth,
    Unit,
}

/// On a narrow terminal they are left out in this order: UNIT, SWAP, USER.
#[rustfmt::skip]
pub(super) const COLUMNS: &[Column<OfProcess>] = &[
    Column { kind: OfProcess::Number, name: "PID", side: Side::Right, width: (7, 7), leaves: None },
    Column { kind: OfProcess::Name, name: " NAME", side: Side::Left, width: (10, 16), leaves: None },
    Column { kind: OfProcess::User, name: "USER", side: Side::Left, width: (8, 12), leaves: Some(3) },
    Column { kind: OfProcess::Memory, name: "MEMORY", side: Side::Right, width: (9, 9), leaves: None },
    Column { kind: OfProcess::Swap, name: "SWAP", side: Side::Right, width: (9, 9), leaves: Some(2) },
    Column { kind: OfProcess::Growth, name: "GROWTH", side: Side::Right, width: (11, 12), leaves: None },
    Column { kind: OfProcess::Unit, name: "UNIT", side: Side::Left, width: (12, 64), leaves: Some(1) },
];

/// What processes are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Memory,
    Swap,
    Growth,
    Number,
    Name,
    User,
}

impl Sort {
    /// The column that shows it.
    pub(super) const fn column(self) -> OfProcess {
        match self {
            Self::Memory => OfProcess::Memory,
            Self::Swap => OfProcess::Swap,
            Self::Growth => OfProcess::Growth,
            Self::Number => OfProcess::Number,
            Self::Name => OfProcess::Name,
            Self::User => OfProcess::User,
        }
    }

    /// The order that this begins with: the largest amount first, and the first name.
    pub(super) const fn order(self) -> Order {
        match self {
            Self::Memory | Self::Swap | Self::Growth => Order::Falling,
            Self::Number | Self::Name | Self::User => Order::Rising,
        }
    }
}

/// The processes in this order; those that are equal stay in the order of their memory.
pub(super) fn sorted(lines: &[Line], sort: Sort, order: Order) -> Vec<&Line> {
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by(|one, other| {
        let rising = compare(one, other, sort);
        match order {
            Order::Rising => rising,
            Order::Falling => rising.reverse(),
        }
    });
    sorted
}

fn compare(one: &Line, other: &Line, sort: Sort) -> Ordering {
    let this = &one.candidate;
    let that = &other.candidate;
    match sort {
        Sort::Memory => this.size().cmp(&that.size()),
        Sort::Swap => this.swapped.cmp(&that.swapped),
        Sort::Growth => signed(one).cmp(&signed(other)),
        Sort::Number => this.identity.pid.cmp(&that.identity.pid),
        Sort::Name => this.name.cmp(&that.name),
        Sort::User => one.user.cmp(&other.user),
    }
}

/// Growth, negative of a process that shrinks; a new one has none.
fn signed(line: &Line) -> i128 {
    match line.growth {
        Some((rate, true)) => i128::from(rate.get()),
        Some((rate, false)) => -i128::from(rate.get()),
        None => 0,
    }
}

/// The row of a process; `*` marks one that is exempt.
pub(super) fn row(
    line: &Line,
    columns: &[(&'static Column<OfProcess>, u16)],
    paints: Paints,
) -> Row<'static> {
    let candidate = &line.candidate;
    let (growth_text, style) = growth(line.growth);
    let has_swap = columns
        .iter()
        .any(|(column, _)| column.kind == OfProcess::Swap);
    let mut cells = Vec::new();
    for (column, _) in columns {
        let text = match column.kind {
            OfProcess::Number => candidate.identity.pid.to_string(),
            OfProcess::Name if line.exemption.is_some() => format!("*{}", candidate.name),
            OfProcess::Name => format!(" {}", candidate.name),
            OfProcess::User => line.user.clone(),
            OfProcess::Memory if has_swap => candidate.resident.to_string(),
            OfProcess::Memory => (candidate.resident + candidate.swapped).to_string(),
            OfProcess::Swap if candidate.swapped == Bytes::ZERO => String::new(),
            OfProcess::Swap => candidate.swapped.to_string(),
            OfProcess::Growth => growth_text.clone(),
            OfProcess::Unit => candidate.unit.to_string(),
        };
        cells.push(cell(text, column.side));
    }
    Row::new(cells).style(paints.of(style))
}

/// The place of a process in the sorted list.
pub(super) fn place(sorted: &[&Line], identity: Identity) -> Option<usize> {
    sorted
        .iter()
        .position(|line| line.candidate.identity == identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pressure::scan::{Candidate, Name};
    use units::Rate;

    fn line(pid: u32, name: &str, mib: u64, growth: Option<(Rate, bool)>, user: &str) -> Line {
        Line {
            candidate: Candidate {
                identity: Identity { pid, start: 1 },
                name: Name::from(name).unwrap(),
                resident: Bytes::mib(mib),
                swapped: Bytes::mib(100 - mib),
                ..Candidate::default()
            },
            growth,
            exemption: None,
            user: user.to_owned(),
        }
    }

    #[test]
    fn processes_are_sorted_by_what_was_asked_for() {
        let lines = [
            line(30, "c", 9, Some((Rate::new(5), false)), "root"),
            line(10, "b", 5, Some((Rate::new(7), true)), "ann"),
            line(20, "a", 1, None, "www"),
        ];
        let names = |sort: Sort, order| -> String {
            let sorted = sorted(&lines, sort, order);
            sorted
                .iter()
                .map(|line| line.candidate.name.as_str())
                .collect()
        };
        assert_eq!(names(Sort::Swap, Sort::Swap.order()), "abc");
        assert_eq!(names(Sort::Growth, Sort::Growth.order()), "bac");
        assert_eq!(names(Sort::Number, Sort::Number.order()), "bac");
        assert_eq!(names(Sort::Name, Sort::Name.order()), "abc");
        assert_eq!(names(Sort::User, Sort::User.order()), "bca");
        assert_eq!(names(Sort::User, Order::Falling), "acb");
    }
}
