//! Every format: what it holds is read, what is wrong is named, and nothing panics.

#![allow(clippy::unwrap_used, reason = "a test may")]

use proptest::prelude::*;
use std::io::{Read, Write};
use traces::{Error, FORMATS, Format, Known, Output, Reading, Source, open, read, write};
use workingset::{About, Batch, Clock, Op};

/// All references in some bytes. The format is recognised, unless it is given.
fn references(bytes: &[u8], name: &str, format: Option<Format>) -> Result<Batch, Error> {
    let mut source = open(bytes, name, format, Reading::default())?;
    let mut all = Batch::default();
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        all.append(&batch);
    }
    Ok(all)
}

fn pages(text: &str, name: &str) -> Vec<u64> {
    references(text.as_bytes(), name, None).unwrap().page
}

#[test]
fn text_formats_are_recognised() {
    assert_eq!(pages("1\n2\n*\n1\n", "lirs.trace"), [1, 2, 1]);
    assert_eq!(pages("# a comment\n0x10\n17\n", "-"), [16, 17]);
    assert_eq!(pages("5 3 0 0\n9 1 0 1\n", "P1.lis"), [5, 6, 7, 9]);
    assert_eq!(pages("5 3 0 7\n9 1 0 8\n", "-"), [5, 6, 7, 9]);
    assert_eq!(pages("\u{feff}7\r\n8\r\n", "-"), [7, 8]);
    assert_eq!(pages("l 0x1fff 3\ns 0x2000 1\n", "-"), [1, 2]);
    assert_eq!(pages("==7== Lackey\nI  04000,3\n S 05ffe,8\n", "-"), [4, 5]);
    assert_eq!(pages("time,page,op\n1,7,r\n2,8,w\n", "-"), [7, 8]);
    assert_eq!(pages("address,size\n4096,8192\n", "-"), [1, 2]);
    assert_eq!(
        pages("1,8,4096,w,0.5\n0,0,8192,R,0.7\n", "-"),
        [1 << 48 | 1, 0, 1]
    );
    assert_eq!(
        pages("128166372003061629,usr,0,Read,8192,4096,559\n", "-"),
        [2]
    );
    assert_eq!(
        pages(
            "kdamond.0 44 [000] 8.5: damon:damon_aggregated: target_id=0 nr_regions=1 4096-12288: 2 1\n",
            "-"
        ),
        [1, 2]
    );
    let told = "  kdamond.0-44  [000] .....  8.5: damon_aggregated: target_id=0 nr_regions=1 4096-12288: 2 1\n";
    assert_eq!(pages(told, "-"), [1, 2]);
    let json = r#"[{"target_id":0,"snapshots":[{"end_time":"5","regions":[{"start":"4,096","end":8192,"nr_accesses":3}]}]}]"#;
    assert_eq!(pages(json, "damon.json"), [1]);
}

#[test]
fn columns_of_a_reference_are_read() {
    let lackey = references(
        b"I  04000,3\n S 04010,4\nI  05000,1\n M 04010,4\n",
        "-",
        None,
    )
    .unwrap();
    assert_eq!(lackey.time, [1, 1, 2, 2]);
    assert_eq!(lackey.op, [Op::FETCH, Op::STORE, Op::FETCH, Op::MODIFY]);
    let csv = references(b"task,op,page,time\n3,w,9,100\n4,r,9,101\n", "x.csv", None).unwrap();
    assert_eq!(csv.task, [3, 4]);
    assert_eq!(csv.time, [100, 101]);
    assert_eq!(csv.page, [9, 9]);
    let mut split = open(
        &b" L 04fff,2\n"[..],
        "-",
        None,
        Reading {
            split: true,
            ..Reading::default()
        },
    )
    .unwrap();
    let mut batch = Batch::default();
    split.fill(&mut batch).unwrap();
    assert_eq!(batch.page, [4, 5]);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, name, says) in [
        ("1\n-2\n", "-", "line 2: \"-2\" is negative"),
        (
            "1\n18446744073709551616\n",
            "-",
            "line 2: \"18446744073709551616\" is above 2^64",
        ),
        ("1\nx\n", "-", "line 2: \"x\" is no number"),
        ("5\n", "a.lis", "line 1: a number is missing"),
        ("5 99999999999 0 0\n", "a.lis", "above 2^20"),
        ("l 0xzz 1\n", "-", "line 1: \"0xzz\" is no number"),
        ("I  04000\n", "-", "cannot be told"),
        (
            "I  04000,3\nI  04000,0\n",
            "-",
            "line 2: a reference of 0 bytes",
        ),
        (
            "time,page\n5,1\n4,2\n",
            "-",
            "line 3: time goes back from 5 to 4",
        ),
        (
            "page,op\n1,q\n",
            "-",
            "line 2: \"q\" is neither a read nor a write",
        ),
        ("{\"a\":1}", "-", "JSON, but no record of DAMON"),
        ("hello world\n", "-", "Say which it is with --format"),
        (
            "5 3 0 0\n",
            "-",
            "several numbers without a header. Say which",
        ),
        ("109 26 1\n139 3 2\n", "-", "with --columns page=1"),
        ("1538323200,12910952,128,0,1063\n", "-", "several numbers"),
        (
            "0 1 3 0\n1 2 3 1\n",
            "-",
            "several numbers without a header",
        ),
        ("1\n2 3 4 5\n", "-", "line 2 is \"2 3 4 5\""),
        (
            "1\nl 0x1 1\n",
            "-",
            "line 1 looks like plain, and line 2 like address",
        ),
        ("\u{feff}{}", "-", "JSON, but no record of DAMON"),
        (
            "address,page\n1,2\n",
            "-",
            "each of address, page could be the page. Say which with --columns address=address or --columns page=page",
        ),
        ("", "-", "no references"),
    ] {
        let said = references(text.as_bytes(), name, None)
            .unwrap_err()
            .to_string();
        assert!(said.contains(says), "{text:?}: {said}");
    }
    let said = references(b"alpha\nbeta\n", "-", Some(Format::Lackey))
        .unwrap_err()
        .to_string();
    assert!(said.contains("none of 2 lines"), "{said}");
    let said = references(&[0; 30], "a.oracleGeneral", None)
        .unwrap_err()
        .to_string();
    assert!(said.contains("byte 24: the last 6 bytes"), "{said}");
    let said = Reading::of_pages(4095).unwrap_err().to_string();
    assert!(said.contains("power of two"), "{said}");
    assert!(
        Format::named("foo")
            .unwrap_err()
            .to_string()
            .contains("oracleGeneral")
    );
}

fn packed(text: &[u8], how: &str) -> Vec<u8> {
    match how {
        "gz" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
        "zst" => zstd::encode_all(text, 3).unwrap(),
        _ => {
            let mut out =
                lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
    }
}

#[test]
fn compression_is_recognised_and_a_missing_end_is_an_error() {
    let text: Vec<String> = (0..50_000_u64)
        .map(|n| (n * n % 7919).to_string())
        .collect();
    let text = text.join("\n");
    let expected: Vec<u64> = (0..50_000).map(|n| n * n % 7919).collect();
    for how in ["gz", "zst", "xz"] {
        let bytes = packed(text.as_bytes(), how);
        assert_eq!(
            references(&bytes, "-", None).unwrap().page,
            expected,
            "{how}"
        );
        let said = references(&bytes[..bytes.len() / 2], "-", None)
            .unwrap_err()
            .to_string();
        assert!(said.contains("after byte"), "{how}: {said}");
        let mut broken = bytes.clone();
        let middle = broken.len() / 2;
        for byte in &mut broken[middle..middle + 8] {
            *byte ^= 0x5a;
        }
        assert!(
            references(&broken, "-", None).is_err(),
            "{how}: a corrupt stream was read"
        );
    }
}

/// A batch as a source.
struct Once(Option<Batch>);

impl Source for Once {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        *batch = self.0.take().unwrap_or_default();
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            program: "a test".to_owned(),
            page_size: 4096,
            regions: vec![(1, 2, "/bin/x".to_owned())],
            ..About::default()
        }
    }
}

fn batches() -> impl Strategy<Value = Batch> {
    let row = (
        0..u64::from(u32::MAX),
        0..3_u64,
        prop::sample::select(vec![Op::FETCH, Op::LOAD, Op::STORE, Op::MODIFY]),
        any::<u16>(),
    );
    (prop::collection::vec(row, 1..200), any::<[bool; 3]>()).prop_map(|(rows, has)| {
        let mut batch = Batch::default();
        let mut now = 0;
        for (page, step, op, task) in rows {
            now += step;
            batch.page.push(page / 3);
            batch.time.extend(has[0].then_some(now));
            batch.op.extend(has[1].then_some(op));
            batch.task.extend(has[2].then_some(task));
        }
        batch
    })
}

fn written(batch: &Batch, output: Output) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = write(&mut Once(Some(batch.clone())), output, &mut bytes).unwrap();
    assert_eq!(count as usize, batch.len());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(batch in batches()) {
        for output in [Output::Parquet, Output::Arrow] {
            let bytes = written(&batch, output);
            prop_assert_eq!(&references(&bytes, "-", None).unwrap(), &batch, "{:?}", output);
            let about = open(&bytes[..], "-", None, Reading::default()).unwrap().about();
            prop_assert_eq!(about.regions, vec![(1, 2, "/bin/x".to_owned())]);
        }
        let csv = references(&written(&batch, Output::Csv), "x.csv", Some(Format::Csv)).unwrap();
        prop_assert_eq!(&csv, &batch);
        for (output, format) in [(Output::Plain, Format::Plain), (Output::U32, Format::U32), (Output::U64, Format::U64)] {
            prop_assert_eq!(&references(&written(&batch, output), "-", Some(format)).unwrap().page, &batch.page);
        }
        let oracle = references(&written(&batch, Output::OracleGeneral), "-", Some(Format::OracleGeneral)).unwrap();
        prop_assert_eq!(&oracle.page, &batch.page);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), cut in any::<prop::sample::Index>()) {
        for (format, name, _) in FORMATS {
            let _ = references(&bytes, name, Some(format.clone()));
        }
        let _ = references(&bytes, "-", None);
        let batch = Batch { page: vec![1, 2, 3, 3], ..Batch::default() };
        for output in [Output::Parquet, Output::Arrow, Output::OracleGeneral, Output::Csv] {
            let mut whole = written(&batch, output);
            let at = cut.index(whole.len());
            let _ = references(&whole[..at], "-", None);
            whole[at] ^= bytes.first().copied().unwrap_or(1);
            let _ = references(&whole, "-", None);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[0-9a-fx ,.:*\\-lsILSM\n]{0,300}") {
        for (format, name, _) in FORMATS {
            let _ = references(text.as_bytes(), name, Some(format.clone()));
        }
    }
}

#[test]
fn a_source_that_fails_is_an_error() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is on fire"))
        }
    }
    let Err(error) = open(Failing, "-", None, Reading::default()) else {
        panic!("opened")
    };
    assert!(error.to_string().contains("on fire"));
    let said = read(&mut Once(None), &|_| {}).unwrap_err().to_string();
    assert!(said.contains("no references"));
}

/// Bytes of numbers of four bytes each, little end first.
fn words(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// What the plugin for QEMU writes of a machine in which a block runs twice: two fetches and a load of another page.
fn recorded_machine() -> Vec<u8> {
    const KIND: u32 = 28;
    let name = u32::from_le_bytes(*b"vm\0\0");
    let start = [7 << KIND | 4, 1, 0, 0, name];
    let describes = [
        5 << KIND | 6,
        0,
        4,
        0x1000,
        0,
        1 << 30 | 3,
        2 << 30 | 1 << 16 | 8,
    ];
    let runs = [0, 1 << KIND | 2, 0x5000, 0];
    let ends = [0, 8 << KIND];
    let body = words([&start[..], &[3 << KIND], &describes, &runs, &ends].concat());
    let head = words([
        u32::from_le_bytes(*b"USES"),
        body.len() as u32,
        7,
        0,
        0,
        700,
    ]);
    [head, body].concat()
}

#[test]
fn a_recorded_machine_is_read() {
    let bytes = recorded_machine();
    let mut source = open(&bytes[..], "-", None, Reading::default()).unwrap();
    let mut batch = Batch::default();
    source.fill(&mut batch).unwrap();
    assert_eq!(batch.page, [1, 1, 5, 1, 1, 5]);
    assert_eq!(batch.time, [1, 2, 2, 3, 4, 4]);
    assert_eq!(batch.op[1..3], [Op::FETCH, Op::LOAD]);
    assert!(!source.fill(&mut batch).unwrap());
    let about = source.about();
    assert_eq!(about.program, "vm");
    assert_eq!(about.clock, Clock::Instructions);
    assert!(about.parameters.is_empty(), "{:?}", about.parameters);
}

#[test]
fn a_recorded_machine_that_is_cut_is_an_error_or_says_so() {
    let mut bytes = recorded_machine();
    let short = &bytes[..bytes.len() - 2];
    let said = references(short, "-", None).unwrap_err().to_string();
    assert!(said.contains("within a piece"), "{said}");
    // A machine that was ended writes no end.
    bytes.truncate(bytes.len() - 4);
    let length = bytes.len() as u32 - 24;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    let mut source = open(&bytes[..], "-", None, Reading::default()).unwrap();
    let mut batch = Batch::default();
    source.fill(&mut batch).unwrap();
    assert_eq!(batch.len(), 6);
    let parameters = source.about().parameters;
    assert_eq!(parameters[0].0, "cut", "{parameters:?}");
}

#[test]
fn what_is_no_trace_is_refused_and_says_what_it_looks_like() {
    let floats = (1..5000_u16).flat_map(|n| (f32::from(n) / 7.0).to_le_bytes());
    let whole_floats = (1..5000_u16).flat_map(|n| f32::from(n).to_le_bytes());
    let floats_of_eight = (1..5000_u16).flat_map(|n| f64::from(n).to_le_bytes());
    let addresses = (1..5000_u64).flat_map(|n| (n * 977 % 4096 * 4096).to_le_bytes());
    let records = (0..5000_u32).flat_map(|n| [n * 977 % 60_000, 1, n % 7]);
    let kinds = (0..5000_u32).flat_map(|n| [n % 9, 40_000 + n * 31 % 2000]);
    let short = (0..5000_u32).flat_map(|n| (n as u16 % 200).to_le_bytes());
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"7z\xbc\xaf\x27\x1c\x00\x04".to_vec(), "a 7z archive"),
        (b"\xff\xfe1\x00\n\x00".to_vec(), "text in UTF-16"),
        (b"\x7fELF\x02\x01\x01\x00".to_vec(), "a program"),
        (floats.collect(), "no page numbers"),
        (whole_floats.collect(), "floating-point numbers"),
        (floats_of_eight.collect(), "floating-point numbers"),
        (addresses.collect(), "or addresses"),
        (words(records), "records of 3 words"),
        (words(kinds), "records of 2 words"),
        (short.collect(), "words of two bytes"),
        (vec![0; 4096], "zero"),
        (words(1..4), "12 bytes of no known beginning"),
    ];
    for (bytes, says) in cases {
        let said = references(&bytes, "-", None).err().unwrap().to_string();
        assert!(said.contains(says), "{says}: {said}");
        assert!(said.contains("--format, one of"), "{said}");
    }
}

#[test]
fn words_of_four_and_eight_bytes_are_told_apart_in_both_orders() {
    let numbers: Vec<u32> = (0..4000_u32).map(|n| n * 7919 % 5003 + 1).collect();
    let expected: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
    let bytes = |encode: &dyn Fn(u32) -> Vec<u8>| numbers.iter().flat_map(|n| encode(*n)).collect();
    let all: [Vec<u8>; 4] = [
        bytes(&|n| n.to_le_bytes().to_vec()),
        bytes(&|n| n.to_be_bytes().to_vec()),
        bytes(&|n| u64::from(n).to_le_bytes().to_vec()),
        bytes(&|n| u64::from(n).to_be_bytes().to_vec()),
    ];
    for bytes in all {
        assert_eq!(references(&bytes, "-", None).unwrap().page, expected);
    }
}

#[test]
fn instructions_of_champsim_are_read_with_their_loads_and_stores() {
    let mut bytes = Vec::new();
    for instruction in 0..8_u64 {
        let mut record = [0_u8; 64];
        record[..8].copy_from_slice(&(0x40_1000 + 4 * instruction).to_le_bytes());
        record[8] = u8::from(instruction == 3);
        record[16..24].copy_from_slice(&(0x7000 * (instruction % 2)).to_le_bytes());
        record[32..40].copy_from_slice(&0x9000_u64.to_le_bytes());
        bytes.extend(record);
    }
    let all = references(&bytes, "-", None).unwrap();
    assert_eq!(all.page[..5], [0x401, 9, 0x401, 9, 7]);
    assert_eq!(
        all.op[..5],
        [Op::FETCH, Op::LOAD, Op::FETCH, Op::LOAD, Op::STORE]
    );
    assert_eq!(all.time[..5], [0, 0, 1, 1, 1]);
    assert_eq!(all.page.len(), 8 * 2 + 4);
}

#[test]
fn both_versions_of_vscsi_are_read_as_libcachesim_does() {
    let mut first = Vec::new();
    let mut second = Vec::new();
    for request in 0..5_u64 {
        let command: u16 = if request == 2 { 0x2a } else { 0x28 };
        let block = (100 * request).to_le_bytes();
        let time = (5_000_000 + 10 * request).to_le_bytes();
        let three = [request as u32, 4096, 1].map(u32::to_le_bytes).concat();
        let command = command.to_le_bytes();
        first.extend([&three[..], &command, &[0, 1], &block, &time].concat());
        second.extend([&command[..], &[0, 2], &three, &block, &time, &[0; 8]].concat());
    }
    for bytes in [first, second] {
        let all = references(&bytes, "-", None).unwrap();
        assert_eq!(all.page, [0, 100, 200, 300, 400]);
        assert_eq!(all.time, [0, 10_000, 20_000, 30_000, 40_000]);
        assert_eq!(all.op[1..3], [Op::LOAD, Op::STORE]);
    }
}

#[test]
fn a_csv_has_times_only_where_they_are_wanted_and_disks_apart() {
    let untimed = Reading {
        time: false,
        ..Reading::default()
    };
    let read = |text: &str| {
        let mut batch = Batch::default();
        let mut source = open(text.as_bytes(), "-", None, untimed).unwrap();
        source.fill(&mut batch).unwrap();
        batch.page
    };
    let unsorted = "Timestamp,Hostname,DiskNumber,Type,Offset,Size\n9,hm,0,Read,8192,4096\n8,hm,1,Write,8192,512\n";
    assert_eq!(read(unsorted), [2, 1 << 48 | 2]);
    assert_eq!(
        read("\"time\",\"page\"\n\"0.5\",\"1\"\n\"0.1\",\"2\"\n"),
        [1, 2]
    );
    let seconds = references(b"time,page\n0.5,1\n1.25,2\n", "-", None).unwrap();
    assert_eq!(seconds.time, [500_000_000, 1_250_000_000]);
    assert_eq!(
        read("lba,size\n1000,4096\n2000000,8192\n"),
        [125, 250_000, 250_001]
    );
    let own = references(b"version,time,op,size,lbn\n1,5,2a,512,77\n", "-", None).unwrap();
    assert_eq!((own.page, own.op), (vec![77], vec![Op::STORE]));
}

#[test]
fn records_of_libcachesim_are_written_as_they_were_read() {
    let mut records = Vec::new();
    for (time, object, size, next) in [
        (50_u32, 7_u64, 512_u32, 3_i64),
        (51, 9, 4096, -1),
        (60, 7, 512, -1),
    ] {
        records.extend(time.to_le_bytes());
        records.extend(object.to_le_bytes());
        records.extend(size.to_le_bytes());
        records.extend(next.to_le_bytes());
    }
    let reading = Reading {
        sizes: true,
        ..Reading::default()
    };
    let mut source = open(&records[..], "-", None, reading).unwrap();
    let mut written = Vec::new();
    write(&mut *source, Output::OracleGeneral, &mut written).unwrap();
    assert_eq!(written, records);
}

#[test]
fn sizes_are_kept_where_there_is_a_place_for_them() {
    let sized = Reading {
        sizes: true,
        ..Reading::default()
    };
    // Three equal references of one size are a run; another size ends it.
    let text = "key,size,op\na,512,get\na,512,get\na,512,get\na,4096,get\nb,7,set\n";
    let trace_of = |bytes: &[u8], name: &str, reading: Reading| {
        let mut source = open(bytes, name, None, reading).unwrap();
        read(&mut *source, &|_| {}).unwrap()
    };
    let first = trace_of(text.as_bytes(), "a.csv", sized);
    assert_eq!(first.size().unwrap(), [512, 512, 512, 4096, 7]);
    for (output, name) in [
        (Output::Parquet, "a.parquet"),
        (Output::Arrow, "a.arrow"),
        (Output::OracleGeneral, "a.oracleGeneral"),
        (Output::Csv, "a.csv"),
    ] {
        let mut source = open(text.as_bytes(), "a.csv", None, sized).unwrap();
        let mut written = Vec::new();
        write(&mut *source, output, &mut written).unwrap();
        let again = trace_of(&written, name, sized);
        assert_eq!(again.refs(), first.refs(), "{name}");
        assert_eq!(again.size(), first.size(), "{name}");
        let without = trace_of(&written, name, Reading::default());
        assert_eq!(without.size(), None, "{name}: sizes were not asked for");
    }
    let large = "key,size\na,4294967295\nb,4294967296\n";
    let mut source = open(large.as_bytes(), "a.csv", None, sized).unwrap();
    let said = read(&mut *source, &|_| {}).unwrap_err().to_string();
    assert!(
        said.contains("line 3: an object of 4294967296 bytes"),
        "{said}"
    );
}

#[test]
fn a_format_tells_what_it_drops() {
    let all = Known {
        time: true,
        op: true,
        task: true,
        size: true,
    };
    let none: [&str; 0] = [];
    assert_eq!(Output::Parquet.drops(all, Clock::Seconds), none);
    assert_eq!(
        Output::OracleGeneral.drops(all, Clock::Nanoseconds),
        ["op", "task"]
    );
    assert_eq!(
        Output::OracleGeneral.drops(all, Clock::Instructions),
        ["time", "op", "task"]
    );
    assert_eq!(
        Output::U32.drops(all, Clock::Seconds),
        ["time", "op", "task", "size"]
    );
    assert_eq!(Output::U32.drops(Known::default(), Clock::Seconds), none);
}

#[test]
fn seconds_are_the_same_in_a_table() {
    let mut record = Vec::new();
    record.extend(50_u32.to_le_bytes());
    record.extend(7_u64.to_le_bytes());
    record.extend(512_u32.to_le_bytes());
    record.extend((-1_i64).to_le_bytes());
    let mut source = open(&record[..], "a.oracleGeneral", None, Reading::default()).unwrap();
    let mut written = Vec::new();
    write(&mut *source, Output::Csv, &mut written).unwrap();
    let again = references(&written, "a.csv", None).unwrap();
    assert_eq!(again.time, [50_000_000_000], "nanoseconds");
}

#[test]
fn tables_that_people_have_are_read() {
    let told = |text: &str, format: &str| {
        references(text.as_bytes(), "-", Some(Format::named(format).unwrap())).unwrap()
    };
    let twitter =
        "0,q:q:1:8WT,17,213,27,get,0\n0,q:q:1:8WT,17,213,27,set,0\n1,yDqF:3q,27,27,5,gets,0\n";
    let all = references(twitter.as_bytes(), "-", None).unwrap();
    assert_eq!(all.page, [0, 0, 1]);
    assert_eq!(all.op, [Op::LOAD, Op::STORE, Op::LOAD]);
    assert_eq!(all.time, [0, 0, 1_000_000_000]);
    let alibaba = "419,W,8192,16384,1577808144360767\n725,R,0,512,1577808144360813\n";
    let all = references(alibaba.as_bytes(), "-", None).unwrap();
    let disk = 419 << 48;
    assert_eq!(
        all.page,
        [disk | 2, disk | 3, disk | 4, disk | 5, 725 << 48]
    );
    assert_eq!(all.time[4], 46_000);
    let all = told("1538323200,12910952,128,0,1063\n", "tencent");
    assert_eq!(all.page.len(), 16);
    // Block 12,910,952 of 512 bytes, on volume 1063.
    let first = 12_910_952 / 8;
    assert_eq!(all.page[0], 1063 << 48 | first);
    let all = told("109 26 1\n139 3 2 0.5\n158 26 2\n", "lrb");
    assert_eq!(all.page, [26, 3, 26]);
    let ibm = "1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056\n1221974 REST.HEAD.OBJECT 39d177fb735ac5df 528\n1232437 REST.HEAD.OBJECT 8d4fcda3d675bac9 1056\n";
    let all = told(ibm, "ibm");
    assert_eq!(
        (all.page, all.op[0], all.op[1]),
        (vec![0, 1, 0], Op::STORE, Op::LOAD)
    );
    let cachelib = "key,op,size,op_count,key_size\n1668,GET,82,2,35\nabc,SET,5,1,3\n";
    let said = references(cachelib.as_bytes(), "-", None)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("line 3: \"abc\"") && said.contains("--columns key="),
        "{said}"
    );
    let cachelib = "key,op,size,op_count,key_size\nx1668,GET,82,2,35\nabc,SET,5,1,3\n";
    assert_eq!(
        references(cachelib.as_bytes(), "-", None).unwrap().page,
        [0, 0, 1]
    );
    let wikimedia = "relative_unix\thashed_host_path_query\timage_type\tresponse_size\ttime_firstbyte\n0\t38da\tjpeg\t9\t0.01\n";
    let wikimedia = wikimedia.to_owned() + "5\tb\tpng\t8\t0.2\n5\t38da\tjpeg\t9\t0.3\n";
    assert_eq!(
        references(wikimedia.as_bytes(), "-", None).unwrap().page,
        [0, 1, 0]
    );
}

#[test]
fn columns_are_named_by_the_user() {
    let told = |columns: &str, text: &str| {
        let format = Format::named(&format!("columns:{columns}")).unwrap();
        references(text.as_bytes(), "-", Some(format))
    };
    let all = told("page=3,time=1:ms,count=2", "5 2 9 x\n6 1 8 y\n").unwrap();
    assert_eq!(
        (all.page, all.time),
        (vec![9, 9, 8], vec![5_000_000, 5_000_000, 6_000_000])
    );
    let all = told("key=Url,op=how", "How;Url\nget;/a b\nput;/c\nget;/a b\n").unwrap();
    assert_eq!(all.page, [0, 1, 0]);
    assert_eq!(all.op, [Op::LOAD, Op::STORE, Op::LOAD]);
    // A header is passed over where numbers are told by their place.
    assert_eq!(told("page=1", "number\n7\n").unwrap().page, [7]);
    assert_eq!(told("page=1", "6\n7\n").unwrap().page, [6, 7]);
    let all = told("sector=2,sectors=3,disk=1", "0 8 16\n1 8 8\n").unwrap();
    assert_eq!(all.page, [1, 2, 1 << 48 | 1]);
    let said = told("page=Page", "time,key\n1,2\n")
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("no column is called Page; there are time, key"),
        "{said}"
    );
    let said = told("page=2", "1\n").unwrap_err().to_string();
    assert!(
        said.contains("column 2 is asked for, and the first row has 1"),
        "{said}"
    );
    let said = told("page=1,time=9", "1 2\n").unwrap_err().to_string();
    assert!(said.contains("column 9 is asked for"), "{said}");
    let said = told("page=2", "1 2\n3\n").unwrap_err().to_string();
    assert!(said.contains("a number is missing"), "{said}");
    let all = told("key=2", "time,key\n1,a\n2,b\n").unwrap();
    assert_eq!(all.page, [0, 1], "the name of such a column is no key");
}

#[test]
fn accesses_of_simulators_and_tools_are_read() {
    let all = references(
        b"0x7f3b2c401234: R 0x7ffee4bff6e8\n0x7f3b2c401237: W 0x1008\n#eof\n",
        "-",
        None,
    )
    .unwrap();
    assert_eq!((all.page[1], all.op), (1, vec![Op::LOAD, Op::STORE]));
    let all = references(b"0x12345680 R\n0x2000 W\n", "-", None).unwrap();
    assert_eq!(all.page, [0x12345, 2]);
    let all = references(
        b"0x2000D5C0 IFETCH  30\n0x1FF96FC0 WRITE   160\n0x0 BOFF 170\n",
        "-",
        None,
    )
    .unwrap();
    assert_eq!(
        (all.page, all.op),
        (vec![0x2000d, 0x1ff96], vec![Op::FETCH, Op::STORE])
    );
    let told = |text: &str, format: &str| {
        references(text.as_bytes(), "-", Some(Format::named(format).unwrap()))
    };
    let all = told("0 1fc8\n1 1fd0\n2 40003c\n4 0\n", "din").unwrap();
    assert_eq!(
        (all.page, all.op),
        (vec![1, 1, 0x400], vec![Op::LOAD, Op::STORE, Op::FETCH])
    );
    let all = told("3 4096\n8 8192 12288\n", "ramulator-cpu").unwrap();
    assert_eq!((all.page, all.time), (vec![1, 2, 3], vec![3, 12, 12]));
    let said = told("5 1fc8\n", "din").unwrap_err().to_string();
    assert!(said.contains("no label of din"), "{said}");
    let all = references(
        br#"{"timestamp": 3, "input_length": 9, "output_length": 5, "hash_ids": [0, 7]}
{"timestamp": 4, "input_length": 9, "output_length": 5, "hash_ids": [0]}
"#,
        "-",
        None,
    )
    .unwrap();
    assert_eq!(
        (all.page, all.time),
        (vec![0, 7, 0], vec![3_000_000, 3_000_000, 4_000_000])
    );
}

#[test]
fn parquet_of_every_usual_compression_is_read() {
    use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
    use parquet::data_type::Int64Type;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::BROTLI(BrotliLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let schema = parse_message_type("message trace { required int64 page; }").unwrap();
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .build();
        let mut bytes = Vec::new();
        let mut file =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int64Type>()
            .write_batch(&[1, 2, 1, 2], None, None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        let read = references(&bytes, "-", None);
        assert_eq!(read.unwrap().page, [1, 2, 1, 2], "{compression:?}");
    }
}
