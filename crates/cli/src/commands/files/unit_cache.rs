//! Which units the page cache is charged to.

use super::file_json::one_charged;
use super::file_table::{or_unknown, shown};
use crate::ui::text::{Page, Side, counted, table};
use anyhow::Result;
use host::SystemReader;
use inspect::files::{Charged, charged};
use pressure::Sample;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Units, and what each had at the look before.
pub(super) struct Look {
    root: PathBuf,
    limit: usize,
    reader: SystemReader,
    sample: Sample,
    units: Vec<Charged>,
    before: HashMap<String, Charged>,
}

/// What changed of a unit since the look before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    came: Bytes,
    went: Bytes,
    refaulted: Option<Bytes>,
}

impl Look {
    /// Of the machine at `root`; looks at nothing yet.
    pub(super) fn of(root: &Path, limit: usize) -> Result<Self> {
        Ok(Self {
            root: root.to_owned(),
            limit,
            reader: SystemReader::open(root)?,
            sample: Sample::default(),
            units: Vec::new(),
            before: HashMap::new(),
        })
    }

    pub(super) fn again(&mut self) {
        self.reader.read(&mut self.sample);
        let units = std::mem::replace(&mut self.units, charged(&self.root));
        self.before = units
            .into_iter()
            .map(|one| (one.path.clone(), one))
            .collect();
    }

    fn change(&self, now: &Charged) -> Option<Change> {
        let before = self.before.get(&now.path)?;
        let refaulted = now.refaulted.zip(before.refaulted);
        Some(Change {
            came: now.cached.less(before.cached),
            went: before.cached.less(now.cached),
            refaulted: refaulted.map(|(now, before)| now.less(before)),
        })
    }

    pub(super) fn json(&self) -> Value {
        let memory = &self.sample.memory;
        let units = self.units.iter().take(self.limit).map(|one| {
            let mut value = one_charged(one);
            let change = self.change(one);
            value["came"] = json!(change.map(|change| change.came));
            value["went"] = json!(change.map(|change| change.went));
            value["refaulted_since"] = json!(change.and_then(|change| change.refaulted));
            value
        });
        json!({
            "machine": {
                "total": memory.total, "cached": memory.cached, "buffers": memory.buffers, "shared": memory.shmem,
            },
            "units": units.collect::<Vec<_>>(),
            "more": self.units.len().saturating_sub(self.limit),
        })
    }

    pub(super) fn show(&self, page: &mut Page, is_watched: bool) {
        let memory = &self.sample.memory;
        let text = format!(
            "{} of {} of memory, of it {} shared memory and tmpfs",
            or_unknown(memory.cached),
            or_unknown(memory.total),
            or_unknown(memory.shmem),
        );
        page.entry("page cache", text);
        page.text.push('\n');
        if self.units.is_empty() {
            page.paragraph(0, "Control groups do not count memory here, so it is not known which unit has how much.");
        } else {
            self.rows(page, is_watched);
        }
        let more = self.units.len().saturating_sub(self.limit);
        if more > 0 {
            let more = counted(more as u64, "unit", "units");
            page.paragraph(0, &format!("and {more} more: --limit shows them"));
        }
        if !is_watched {
            page.text.push('\n');
            page.paragraph(
                0,
                "A page is charged to the unit that brought it in. File by file: warmset files --unit UNIT, --pid PID or \
                 PATH.",
            );
        }
    }

    fn rows(&self, page: &mut Page, is_watched: bool) {
        let units = self.units.iter().take(self.limit);
        if page.screen.is_narrow() {
            let mut cells = vec![["CACHE", "UNIT"].map(str::to_owned)];
            for one in units {
                cells.push([one.cached.to_string(), shown(Path::new(&one.path))]);
            }
            page.text
                .push_str(&table([Side::Right, Side::Left], &cells));
            return;
        }
        let head = if is_watched {
            ["CACHE", "CAME", "WENT", "REFAULTED", "DIRTY", "UNIT"]
        } else {
            ["CACHE", "SHARED", "MAPPED", "REFAULTED", "DIRTY", "UNIT"]
        };
        let mut cells = vec![head.map(str::to_owned)];
        for one in units {
            let change = self.change(one);
            let [second, third, fourth] = if is_watched {
                [
                    change.map(|change| change.came),
                    change.map(|change| change.went),
                    change.and_then(|change| change.refaulted),
                ]
            } else {
                [one.shared, one.mapped, one.refaulted]
            };
            cells.push([
                one.cached.to_string(),
                or_unknown(second),
                or_unknown(third),
                or_unknown(fourth),
                or_unknown(one.dirty),
                shown(Path::new(&one.path)),
            ]);
        }
        let mut sides = [Side::Right; 6];
        sides[5] = Side::Left;
        page.text.push_str(&table(sides, &cells));
    }
}
