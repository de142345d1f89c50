//! Which column of a table has what: said by the user, by a header, or by a known format.

use crate::Error;
use crate::numbers::quoted;

/// Where a column is: counted from 1, or by the name that the header gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Counted from 1, as `cut -f` does.
    Number(usize),
    /// In the header; upper and lower case are the same.
    Name(String),
}

/// What the column of pages holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Page numbers.
    Pages,
    /// Addresses of bytes.
    Bytes,
    /// Addresses of blocks of a disk, 512 bytes each.
    Sectors,
    /// Any text. Equal texts are one page, and different ones never are.
    Keys,
    /// Page numbers if the first is a number, and else keys.
    NumbersOrKeys,
}

impl Unit {
    /// The role of a column with this unit, as `--columns` names it.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::Pages => "page",
            Self::Bytes => "address",
            Self::Sectors => "sector",
            Self::Keys | Self::NumbersOrKeys => "key",
        }
    }
}

/// The unit of a time, in nanoseconds; a time with a point is in seconds whatever it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick(pub u64);

impl Tick {
    pub(crate) const NANOSECOND: Self = Self(1);
    pub(crate) const MICROSECOND: Self = Self(1_000);
    pub(crate) const MILLISECOND: Self = Self(1_000_000);
    pub(crate) const SECOND: Self = Self(1_000_000_000);
    /// Of Windows' clock.
    pub(crate) const HUNDRED_NANOSECONDS: Self = Self(100);
}

/// Bytes of a block of a disk, as SCSI counts them.
pub(crate) const SECTOR: u64 = 512;

/// Which column of a table has what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// What is used.
    pub page: (Column, Unit),
    /// How much of it, and the bytes of one.
    pub size: Option<(Column, u64)>,
    /// When.
    pub time: Option<(Column, Tick)>,
    /// A read or a write.
    pub op: Option<Column>,
    /// By which task.
    pub task: Option<Column>,
    /// On which disk: pages of different disks are different pages.
    pub disk: Option<Column>,
    /// How often in a row.
    pub count: Option<Column>,
    /// What stands between two columns; found in the first line if not told.
    pub delimiter: Option<u8>,
}

impl Roles {
    /// A table of pages alone.
    pub(crate) fn of(page: Column, unit: Unit) -> Self {
        Self {
            page: (page, unit),
            size: None,
            time: None,
            op: None,
            task: None,
            disk: None,
            count: None,
            delimiter: None,
        }
    }

    /// Parses what the option `--columns` says: `time=1:us,key=2,size=4,op=6`.
    ///
    /// Errors: a role that does not exist or is told twice; no page.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |what: String| Error::Format(format!("--columns {text}: {what}"));
        let mut page = None;
        let mut roles = Self::of(Column::Number(1), Unit::Pages);
        for part in text.split(',') {
            let (role, column) = part
                .split_once('=')
                .ok_or_else(|| wrong(format!("'{part}' is not ROLE=COLUMN")))?;
            roles
                .take(&mut page, role.trim(), column.trim())
                .map_err(wrong)?;
        }
        roles.page = page.ok_or_else(|| {
            wrong("one of page, key, address, sector is needed: what is used".to_owned())
        })?;
        Ok(roles)
    }

    /// Takes one role; that of the page into `page`, so that it is known whether there was one.
    fn take(
        &mut self,
        page: &mut Option<(Column, Unit)>,
        role: &str,
        value: &str,
    ) -> Result<(), String> {
        match role {
            "page" => once(page, role, (column(value)?, Unit::Pages)),
            "key" => once(page, role, (column(value)?, Unit::Keys)),
            "address" => once(page, role, (column(value)?, Unit::Bytes)),
            "sector" => once(page, role, (column(value)?, Unit::Sectors)),
            "size" => once(&mut self.size, role, (column(value)?, 1)),
            "sectors" => once(&mut self.size, role, (column(value)?, SECTOR)),
            "time" => {
                let (value, unit) = value.split_once(':').unwrap_or((value, "ns"));
                once(&mut self.time, role, (column(value)?, tick(unit)?))
            }
            "op" => once(&mut self.op, role, column(value)?),
            "task" => once(&mut self.task, role, column(value)?),
            "disk" => once(&mut self.disk, role, column(value)?),
            "count" => once(&mut self.count, role, column(value)?),
            "delimiter" => once(&mut self.delimiter, role, delimiter(value)?),
            _ => Err(format!(
                "no role '{role}': there are page, key, address, sector, size, sectors, time, op, task, disk, count, delimiter"
            )),
        }
    }

    /// Whether a column is told by its name, so that there is a header.
    pub(crate) fn needs_header(&self) -> bool {
        let mut columns = vec![&self.page.0];
        columns.extend(self.size.as_ref().map(|(column, _)| column));
        columns.extend(self.time.as_ref().map(|(column, _)| column));
        columns.extend(
            [&self.op, &self.task, &self.disk, &self.count]
                .into_iter()
                .flatten(),
        );
        columns
            .iter()
            .any(|column| matches!(column, Column::Name(_)))
    }
}

fn once<T>(place: &mut Option<T>, role: &str, value: T) -> Result<(), String> {
    if place.is_some() {
        return Err(format!("'{role}' is told twice, or what it is told of is"));
    }
    *place = Some(value);
    Ok(())
}

fn column(text: &str) -> Result<Column, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("columns are counted from 1".to_owned()),
        Ok(number) => Ok(Column::Number(number)),
        Err(_) if text.is_empty() => Err("a column is missing".to_owned()),
        Err(_) => Ok(Column::Name(text.to_owned())),
    }
}

fn tick(unit: &str) -> Result<Tick, String> {
    match unit {
        "ns" => Ok(Tick::NANOSECOND),
        "us" | "µs" => Ok(Tick::MICROSECOND),
        "ms" => Ok(Tick::MILLISECOND),
        "s" => Ok(Tick::SECOND),
        _ => Err(format!("no unit of time '{unit}': ns, us, ms or s")),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "comma" => Ok(b','),
        "tab" => Ok(b'\t'),
        "space" => Ok(b' '),
        "semicolon" | ";" => Ok(b';'),
        "|" => Ok(b'|'),
        _ => Err(format!(
            "no delimiter {}: comma, tab, space, semicolon or |",
            quoted(text.as_bytes())
        )),
    }
}

/// What stands between the columns of a line: the first of these that is in it.
pub(crate) fn delimiter_of(line: &[u8]) -> u8 {
    let all = *b"\t,;| ";
    let found = all.into_iter().find(|byte| line.contains(byte));
    found.unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_told_by_name_and_number() {
        let roles = Roles::parse("time=1:us,key=Object,size=4, op=6,delimiter=tab").unwrap();
        assert_eq!(roles.page, (Column::Name("Object".to_owned()), Unit::Keys));
        assert_eq!(roles.time, Some((Column::Number(1), Tick::MICROSECOND)));
        assert_eq!(roles.delimiter, Some(b'\t'));
        assert!(roles.needs_header());
        assert!(!Roles::parse("page=2").unwrap().needs_header());
    }

    #[test]
    fn what_is_no_role_is_named() {
        for (text, says) in [
            ("time=1", "one of page, key, address, sector is needed"),
            ("page=1,key=2", "told twice"),
            ("page=0", "counted from 1"),
            ("page=", "missing"),
            ("page", "not ROLE=COLUMN"),
            ("page=1,time=2:h", "no unit of time 'h'"),
            ("adress=1", "no role 'adress'"),
            ("page=1,delimiter=x", "no delimiter \"x\""),
        ] {
            let said = Roles::parse(text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
