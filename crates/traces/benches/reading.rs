//! How fast formats are read, in references a second; beside the csv library, which only splits the same rows.

#![allow(clippy::unwrap_used, reason = "a benchmark may")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::fmt::Write;
use traces::{Format, Reading, open};
use workingset::Batch;

/// References of each input: some ten batches.
const COUNT: u64 = 200_000;

fn main() {
    divan::main();
}

/// Numbers that look drawn at random, the same each time.
fn pages() -> impl Iterator<Item = u64> {
    (0..COUNT).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44)
}

/// `time,page,size,op`: 26 bytes a row.
fn table() -> Vec<u8> {
    let mut text = "time,page,size,op\n".to_owned();
    for (time, page) in pages().enumerate() {
        let op = if page % 3 == 0 { 'w' } else { 'r' };
        writeln!(text, "{},{page},4096,{op}", 1_000_000 + time).unwrap();
    }
    text.into_bytes()
}

/// A key in each row instead of a number.
fn keyed() -> Vec<u8> {
    let mut text = "time,key,size,op\n".to_owned();
    for (time, page) in pages().enumerate() {
        writeln!(
            text,
            "{},user:{}:profile,4096,get",
            1_000_000 + time,
            page % 20_000
        )
        .unwrap();
    }
    text.into_bytes()
}

fn oracle_general() -> Vec<u8> {
    let records = pages().zip(0_u32..).flat_map(|(page, time)| {
        let mut record = (time / 1000).to_le_bytes().to_vec();
        record.extend(page.to_le_bytes());
        record.extend(4096_u32.to_le_bytes());
        record.extend((-1_i64).to_le_bytes());
        record
    });
    records.collect()
}

fn words() -> Vec<u8> {
    pages()
        .flat_map(|page| (page as u32).to_le_bytes())
        .collect()
}

/// Reads all, and keeps nothing.
fn read(bencher: Bencher<'_, '_>, bytes: &[u8], format: &Format, time: bool) {
    let reading = Reading {
        time,
        ..Reading::default()
    };
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        let mut source = open(bytes, "-", Some(format.clone()), reading).unwrap();
        let mut batch = Batch::default();
        while source.fill(&mut batch).unwrap() {
            black_box(&batch);
        }
    });
}

#[divan::bench(args = [false, true])]
fn csv(bencher: Bencher<'_, '_>, time: bool) {
    read(bencher, &table(), &Format::Csv, time);
}

#[divan::bench]
fn csv_with_keys(bencher: Bencher<'_, '_>) {
    read(bencher, &keyed(), &Format::Csv, true);
}

#[divan::bench]
fn csv_library_alone(bencher: Bencher<'_, '_>) {
    let bytes = table();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let mut row = csv::ByteRecord::new();
        while reader.read_byte_record(&mut row).unwrap() {
            black_box(&row);
        }
    });
}

#[divan::bench]
fn oracle_general_records(bencher: Bencher<'_, '_>) {
    read(bencher, &oracle_general(), &Format::OracleGeneral, false);
}

#[divan::bench]
fn words_of_four_bytes(bencher: Bencher<'_, '_>) {
    read(bencher, &words(), &Format::U32, false);
}
