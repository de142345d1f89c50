//! A look at files, for programs.

use inspect::files::{By, Charged, Report, Totals};
use serde_json::{Map, Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A report with what units are charged for.
pub(super) fn report(report: &Report, by: By, charged: &[Charged]) -> Value {
    let by = match by {
        By::File => "file",
        By::Directory => "directory",
        By::Mount => "mount",
    };
    let rows = report.rows.iter().map(|row| {
        let mut entries = path("path", &row.path);
        entries.append(&mut totals(&row.totals));
        Value::Object(entries)
    });
    let left_out = report.left_out.kinds().map(|(why, kind)| {
        let mut entries = path("example", &kind.example);
        entries.insert("why".to_owned(), json!(why.name()));
        entries.insert("count".to_owned(), json!(kind.count));
        entries.insert("detail".to_owned(), json!(kind.detail));
        Value::Object(entries)
    });
    json!({
        "by": by,
        "rows": rows.collect::<Vec<_>>(),
        "more": report.more,
        "total": Value::Object(totals(&report.total)),
        "left_out": left_out.collect::<Vec<_>>(),
        "charged": charged.iter().map(one_charged).collect::<Vec<_>>(),
    })
}

/// What a unit is charged for.
pub(super) fn one_charged(one: &Charged) -> Value {
    json!({
        "cgroup": one.path,
        "cached": one.cached,
        "shared": one.shared,
        "mapped": one.mapped,
        "dirty": one.dirty,
        "writeback": one.writeback,
        "refaulted": one.refaulted,
    })
}

/// A path as text. One that is not text in UTF-8 is told by its bytes, too.
fn path(name: &str, path: &Path) -> Map<String, Value> {
    let mut entries = Map::new();
    entries.insert(name.to_owned(), json!(path.to_string_lossy()));
    if path.to_str().is_none() {
        let bytes = path.as_os_str().as_bytes();
        entries.insert(format!("{name}_bytes"), json!(bytes));
    }
    entries
}

fn totals(totals: &Totals) -> Map<String, Value> {
    let share = totals
        .resident
        .and_then(|resident| resident.share_of(totals.whole));
    let mut entries = Map::new();
    for (name, value) in [
        ("files", json!(totals.files)),
        ("untold", json!(totals.untold)),
        ("by_residency", json!(totals.by_residency)),
        ("size", json!(totals.size)),
        ("whole", json!(totals.whole)),
        ("resident", json!(totals.resident)),
        ("share", json!(share.map(units::Percent::fraction))),
        ("dirty", json!(totals.dirty)),
        ("writeback", json!(totals.writeback)),
        ("evicted", json!(totals.evicted)),
        ("recently_evicted", json!(totals.recently_evicted)),
        ("came", json!(totals.came)),
        ("went", json!(totals.went)),
    ] {
        entries.insert(name.to_owned(), value);
    }
    entries
}
