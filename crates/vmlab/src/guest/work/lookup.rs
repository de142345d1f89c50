//! The indexed database of the Linux-MM wiki: an index that every lookup walks, data that a lookup rarely meets again.
//!
//! SQLite, in two files: `index.db` maps a key to a record's number, `data.db` has the records. SQLite's own cache is
//! small, so that the kernel's page cache decides which pages stay.

use super::{Dice, Out, Words};
use crate::clock::now;
use crate::work::locked::locked;
use crate::work::resident::resident_pages;
use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags, params};
use std::fs::File;
use std::path::Path;

const INDEX: &str = "index.db";
const DATA: &str = "data.db";
/// SQLite's own cache: a negative number is KiB.
const CACHE: &str = "-256";
/// Lookups between two lines of output with sums.
const BATCH: u32 = 32;

/// Makes both files. Keys are scattered, so that neighbours in the index are not neighbours in the data.
pub(super) fn make(words: &Words<'_>) -> Result<()> {
    let directory = Path::new(words.text(0)?);
    let records: u64 = words.number(1)?;
    let size: usize = words.number(2)?;
    let settings = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=4096;";
    let mut index = Connection::open(directory.join(INDEX))?;
    index.execute_batch(&format!(
        "{settings} CREATE TABLE key (name TEXT PRIMARY KEY, record INTEGER) WITHOUT ROWID;"
    ))?;
    let mut data = Connection::open(directory.join(DATA))?;
    data.execute_batch(&format!(
        "{settings} CREATE TABLE record (id INTEGER PRIMARY KEY, body BLOB);"
    ))?;
    let keys = index.transaction()?;
    let bodies = data.transaction()?;
    {
        let mut add_key = keys.prepare("INSERT INTO key VALUES (?1, ?2)")?;
        let mut add_body = bodies.prepare("INSERT INTO record VALUES (?1, ?2)")?;
        let mut body = vec![0; size];
        for record in 0..records {
            let mut dice = Dice::seeded(record);
            dice.fill(&mut body);
            add_key.execute(params![name(record), record as i64])?;
            add_body.execute(params![record as i64, body])?;
        }
    }
    keys.commit()?;
    bodies.commit()?;
    Ok(())
}

/// The key of a record: as long as a path or an address, scattered.
fn name(record: u64) -> String {
    let scattered = Dice::seeded(record ^ 0x5bd1_e995).roll();
    format!("{scattered:016x}/customer/{record:010}")
}

/// Looks up random keys; with `lock`, the index is locked in memory first.
pub(super) fn lookup(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let directory = Path::new(words.text(0)?);
    let index_path = directory.join(INDEX);
    // Locked until the end of this function.
    let _locked = match words.text(1) {
        Ok("lock") => Some(locked(&index_path)?),
        _ => None,
    };
    let index = open(&index_path)?;
    let data = open(&directory.join(DATA))?;
    let count = "SELECT max(id) + 1 FROM record";
    let records: i64 = data.query_row(count, [], |row| row.get(0))?;
    let mut find = index.prepare("SELECT record FROM key WHERE name = ?1")?;
    let mut fetch = data.prepare("SELECT length(body) FROM record WHERE id = ?1")?;
    let mut dice = Dice::seeded(words.own());
    while out.goes_on() {
        for _ in 0..BATCH {
            let began = now();
            let wanted = dice.below(records as u64);
            let record: i64 = find
                .query_row([name(wanted)], |row| row.get(0))
                .context("a key is missing")?;
            let found = now();
            let size: i64 = fetch.query_row([record], |row| row.get(0))?;
            anyhow::ensure!(
                record as u64 == wanted && size > 0,
                "record {wanted} is not what was stored"
            );
            out.took("index", began, found - began);
            out.op("lookup", began);
        }
        out.sum("lookups", f64::from(BATCH));
        let resident = resident_pages(&File::open(&index_path)?)?;
        out.sum("index_resident_pages", resident as f64);
        out.sum("index_looks", 1.0);
    }
    Ok(())
}

fn open(path: &Path) -> Result<Connection> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| path.display().to_string())?;
    file.execute_batch(&format!("PRAGMA cache_size={CACHE}; PRAGMA mmap_size=0;"))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_finds_its_record() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        make(&Words(&[path, "500", "256"])).unwrap();
        let index = open(&directory.path().join(INDEX)).unwrap();
        let data = open(&directory.path().join(DATA)).unwrap();
        for record in [0_u64, 7, 499] {
            let query = "SELECT record FROM key WHERE name = ?1";
            let found: i64 = index
                .query_row(query, [name(record)], |row| row.get(0))
                .unwrap();
            assert_eq!(found as u64, record);
            let body: Vec<u8> = data
                .query_row("SELECT body FROM record WHERE id = ?1", [found], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(body.len(), 256);
        }
    }
}
