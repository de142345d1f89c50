//! What the header of a table, or its fields, tell of its columns.

use crate::Error;
use crate::numbers::decimal;
use crate::roles::{Column, Roles, Tick, Unit, delimiter_of};
use crate::values::nanoseconds;

/// The roles as places in a row, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) page: usize,
    pub(crate) unit: Unit,
    /// How much is used, and the bytes of one.
    pub(crate) size: Option<(usize, u64)>,
    pub(crate) time: Option<(usize, Tick)>,
    pub(crate) op: Option<usize>,
    pub(crate) task: Option<usize>,
    pub(crate) disk: Option<usize>,
    pub(crate) count: Option<usize>,
}

impl Places {
    /// Cells of a row up to the last that has a role.
    pub(crate) fn cells(&self) -> usize {
        let mut last = self.page;
        let sized = self.size.map(|(at, _)| at);
        let timed = self.time.map(|(at, _)| at);
        let others = [sized, timed, self.op, self.task, self.disk, self.count];
        for at in others.into_iter().flatten() {
            last = last.max(at);
        }
        last + 1
    }
}

const PAGE: &[&str] = &["page", "page_number", "vpn", "pfn", "block", "lbn"];
const KEY: &[&str] = &[
    "key",
    "obj_id",
    "id",
    "object",
    "cachekey",
    "hashed_path_query",
    "hashed_host_path_query",
];
const ADDRESS: &[&str] = &["address", "addr", "offset"];
const SECTORS: &[&str] = &["lba", "sector"];
const SIZE: &[&str] = &[
    "size",
    "bytes",
    "length",
    "obj_size",
    "objectsize",
    "response_size",
];
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "t",
    "clock",
    "op_time",
    "relative_unix",
];
const OP: &[&str] = &["op", "type", "rw", "operation", "iotype", "optype"];
const TASK: &[&str] = &["task", "pid", "tid", "process"];
const DISK: &[&str] = &["disk", "disknumber", "lun", "asu", "device"];
const COUNT: &[&str] = &["count", "op_count"];

/// What the names of columns that tell what is used mean.
const USED: &[(&[&str], Unit)] = &[
    (PAGE, Unit::Pages),
    (KEY, Unit::NumbersOrKeys),
    (ADDRESS, Unit::Bytes),
    (SECTORS, Unit::Sectors),
];

/// Returns true if a line has the name of a column that tells what is used.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let delimiter = delimiter_of(line);
    let names = names(line.split(|byte| *byte == delimiter));
    names.iter().any(|name| unit_of(name).is_some())
}

/// Returns true if columns of keys have this name.
pub(crate) fn is_name_of_keys(cell: &[u8]) -> bool {
    let name = names(std::iter::once(cell));
    KEY.contains(&name[0].as_str())
}

/// What a column of this name holds, if it tells what is used.
fn unit_of(name: &str) -> Option<Unit> {
    let found = USED.iter().find(|(known, _)| known.contains(&name));
    found.map(|(_, unit)| *unit)
}

/// Returns true if these are the fields of UMass SPC: unit, block, bytes, r or w, seconds.
pub(crate) fn is_spc(fields: &[&[u8]]) -> bool {
    match fields {
        [unit, block, size, op, time, ..] => {
            let is_number = |field: &[u8]| decimal(field).is_ok();
            let is_operation = op.eq_ignore_ascii_case(b"r") || op.eq_ignore_ascii_case(b"w");
            is_number(unit)
                && is_number(block)
                && is_number(size)
                && is_operation
                && nanoseconds(time).is_ok()
        }
        _ => false,
    }
}

/// Returns true if these are the fields of MSR Cambridge: ticks since 1601, host, disk, Read or Write, offset, bytes, response.
pub(crate) fn is_msr(fields: &[&[u8]]) -> bool {
    match fields {
        [ticks, _, disk, op, offset, size, _] => {
            let is_number = |field: &[u8]| decimal(field).is_ok();
            let is_operation =
                op.eq_ignore_ascii_case(b"read") || op.eq_ignore_ascii_case(b"write");
            ticks.len() > 15
                && is_number(ticks)
                && is_number(disk)
                && is_operation
                && is_number(offset)
                && is_number(size)
        }
        _ => false,
    }
}

/// Returns true if these are the fields of Alibaba's disks: device, R or W, offset, bytes, microseconds since 1970.
pub(crate) fn is_alibaba(fields: &[&[u8]]) -> bool {
    match fields {
        [device, op, offset, size, time] => {
            let is_number = |field: &[u8]| decimal(field).is_ok();
            let is_operation = matches!(*op, b"R" | b"W");
            is_number(device)
                && is_operation
                && is_number(offset)
                && is_number(size)
                && time.len() == 16
                && is_number(time)
        }
        _ => false,
    }
}

/// Returns true if these are the fields of Twitter's caches: seconds, key, two sizes, client, an operation of memcached, life.
pub(crate) fn is_twitter(fields: &[&[u8]]) -> bool {
    const OPERATIONS: &[&[u8]] = &[
        b"get", b"gets", b"set", b"add", b"replace", b"cas", b"append", b"prepend", b"delete",
        b"incr", b"decr",
    ];
    match fields {
        [time, _, key_size, size, client, op, life] => {
            let numbers = [time, key_size, size, client, life];
            numbers.iter().all(|field| decimal(field).is_ok()) && OPERATIONS.contains(op)
        }
        _ => false,
    }
}

/// The names of a header's fields, in lower case.
pub(crate) fn names<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    fields
        .map(|field| {
            String::from_utf8_lossy(field.trim_ascii())
                .trim_matches('"')
                .to_ascii_lowercase()
        })
        .collect()
}

/// The roles that the names of a header tell.
pub(crate) fn places_of_header(names: &[String]) -> Result<Places, Error> {
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let mut candidates = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(unit) = unit_of(name) {
            candidates.push((at, name.as_str(), unit));
        }
    }
    let (page, unit) = match candidates.as_slice() {
        [(at, _, unit)] => (*at, *unit),
        [] => {
            let known: Vec<&str> = USED.iter().flat_map(|(known, _)| *known).copied().collect();
            return Err(Error::Format(format!(
                "line 1: no column is called one of {}; there are {}. Say which with --columns page=NAME",
                known.join(", "),
                names.join(", ")
            )));
        }
        several => {
            let mut named = Vec::new();
            let mut told = Vec::new();
            for (_, name, unit) in several {
                named.push(*name);
                told.push(format!("--columns {}={name}", unit.role()));
            }
            return Err(Error::Format(format!(
                "line 1: each of {} could be the page. Say which with {}",
                named.join(", "),
                told.join(" or ")
            )));
        }
    };
    Ok(Places {
        page,
        unit,
        size: find(SIZE).map(|at| (at, 1)),
        time: find(TIME).map(|at| (at, Tick::NANOSECOND)),
        op: find(OP),
        task: find(TASK),
        disk: find(DISK),
        count: find(COUNT),
    })
}

/// The places of roles, by the names of a header where they are told by name.
pub(crate) fn places(roles: &Roles, names: &[String]) -> Result<Places, Error> {
    let place = |column: &Column| match column {
        Column::Number(number) => Ok(number - 1),
        Column::Name(name) => names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                Error::Format(format!(
                    "line 1: no column is called {name}; there are {}",
                    names.join(", ")
                ))
            }),
    };
    let optional = |column: &Option<Column>| column.as_ref().map(place).transpose();
    let size = match &roles.size {
        Some((column, unit)) => Some((place(column)?, *unit)),
        None => None,
    };
    let time = match &roles.time {
        Some((column, tick)) => Some((place(column)?, *tick)),
        None => None,
    };
    Ok(Places {
        page: place(&roles.page.0)?,
        unit: roles.page.1,
        size,
        time,
        op: optional(&roles.op)?,
        task: optional(&roles.task)?,
        disk: optional(&roles.disk)?,
        count: optional(&roles.count)?,
    })
}
