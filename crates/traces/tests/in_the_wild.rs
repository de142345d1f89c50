//! Files as other programs write them: lines and headers as their tools have them, and what each must give.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::io::Write;
use traces::{Error, Format, Order, Reading, open};
use workingset::{About, Batch, Op};

/// All references in some bytes of a format that is recognised, and what is known of them.
fn read(bytes: &[u8], reading: Reading) -> Result<(Batch, About), Error> {
    let mut source = open(bytes, "-", None, reading)?;
    let mut all = Batch::default();
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        all.append(&batch);
    }
    Ok((all, source.about()))
}

fn text(text: &str) -> (Batch, About) {
    read(text.as_bytes(), Reading::default()).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    read(bytes, Reading::default()).unwrap_err().to_string()
}

#[test]
fn drmemtrace_is_read_as_view_prints_it() {
    let (all, about) = text(
        "Output format:
<--record#-> <--instr#->: <---tid---> <record details>
------------------------------------------------------------
           1           0:     3264175 <marker: version 5>
           2           0:     3264175 <marker: page size 4096>
           3           1:     3264175 ifetch       3 byte(s) @ 0x00007f86ef03d107 48 89 e7             mov    %rsp, %rdi
           4           1:     3264175 write        8 byte(s) @ 0x00007ffe5c3f1a28 by PC 0x00007f86ef03d107
           5           2:     3264180 ifetch       5 byte(s) @ 0x00007f86ef03d10a non-branch
           6           2:     3264180 read         8 byte(s) @ 0x00007ffe5c3f2000 by PC 0x00007f86ef03d10a
           7           2:     3264180 pref-r       8 byte(s) @ 0x00007ffe5c3f9000 by PC 0x00007f86ef03d10a
View tool results:
              2 : total instructions
",
    );
    assert_eq!(about.format, "drmemtrace");
    assert_eq!(
        all.page,
        [0x7_f86e_f03d, 0x7_ffe5_c3f1, 0x7_f86e_f03d, 0x7_ffe5_c3f2]
    );
    assert_eq!(all.op, [Op::FETCH, Op::STORE, Op::FETCH, Op::LOAD]);
    assert_eq!(all.time, [1, 1, 2, 2]);
    assert_eq!(all.task, [0, 0, 1, 1]);
    let (several, _) = text(
        "     1  1: W0.T12 ifetch       4 byte(s) @ 0x0000000000401000 non-branch
     2  2: W1.T12 ifetch       4 byte(s) @ 0x0000000000402000 non-branch
",
    );
    assert_eq!(several.task, [0, 1], "one number in two programs");
}

#[test]
fn samples_of_perf_mem_are_read() {
    let (all, about) = text(
        "         sqlite3    4711 [002]  8123.456789:          1 cpu/mem-loads,ldlat=30/P:     7f3a5c001238         68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A               56     55d0c0de1234 sqlite3VdbeExec+0x44 (/usr/bin/sqlite3)
 Web Content  812/901   8123.456801:          1         cpu/mem-stores/P:     7f3a5c002ff8          5080144 |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A                0     55d0c0de5678 memcpy+0x10 (/usr/lib/libc.so.6)
         sqlite3    4711 [002]  8123.456900:          1 cpu/mem-loads,ldlat=30/P:                0         68100142 |OP LOAD|LVL N/A|SNP N/A 0 55d0c0de1234 f+0x44 (/usr/bin/sqlite3)
",
    );
    assert_eq!(about.format, "perf-mem");
    assert_eq!(all.page, [0x7_f3a5_c001, 0x7_f3a5_c002]);
    assert_eq!(all.op, [Op::LOAD, Op::STORE]);
    assert_eq!(all.time, [8_123_456_789_000, 8_123_456_801_000]);
    assert_eq!(all.task, [0, 1]);
}

#[test]
fn blkparse_gives_requests_as_they_are_queued() {
    let (all, about) = text(
        "  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427
  8,0    3        2     0.000001829   697  Q   W 223490 + 16 [kjournald]
  8,0    3        3     0.000009507   697  G   W 223490 + 16 [kjournald]
  8,0    1       47     0.001000000  2204  Q   R 8 + 8 [cat]
  8,16   1       48     0.001500000  2204  Q  RA 8 + 8 [cat]
  8,0    1       49     0.001700000  2204  Q FWS [cat]
  8,0    1       50     0.001800000  2204  Q   D 8 + 8 [fstrim]
CPU0 (8,0):
 Reads Queued:           2,        8KiB\t Writes Queued:           1,        8KiB
",
    );
    assert_eq!(about.format, "blkparse");
    // 223490 sectors are 27936 pages and a quarter.
    let second = 1 << 48 | 1;
    assert_eq!(all.page, [27_936, 27_937, 27_938, 1, second]);
    assert_eq!(all.op[..4], [Op::STORE, Op::STORE, Op::STORE, Op::LOAD]);
    assert_eq!(all.time, [1829, 1829, 1829, 1_000_000, 1_500_000]);
    assert_eq!(all.task, [0, 0, 0, 1, 1]);
    let passed = about
        .parameters
        .iter()
        .find(|(name, _)| name == "lines passed over");
    assert_eq!(passed.unwrap().1, "6");
    let only_completed = "  8,0    3        3     0.009507758     0  C   W 223490 + 16 [0]\n";
    assert!(refused(only_completed.as_bytes()).contains("none of 1 lines"));
}

#[test]
fn what_fio_replays_is_read_in_both_versions() {
    let (second, about) = text(
        "fio version 2 iolog
/dev/sdb add
/dev/sdb open
/dev/sdb write 8192 8192
/dev/sdb read 0 512
/dev/sdb wait 100
/dev/sdb trim 0 4096
/dev/sdb close
",
    );
    assert_eq!(about.format, "fio");
    assert_eq!(second.page, [2, 3, 0]);
    assert_eq!(second.op, [Op::STORE, Op::STORE, Op::LOAD]);
    assert!(second.time.is_empty());
    let (third, _) = text(
        "fio version 3 iolog
0 a.0.0 add
1 a.0.0 open
12 a.0.0 write 0 4096
15 b.0.0 read 0 4096
",
    );
    assert_eq!(third.page, [0, 1 << 48], "two files");
    assert_eq!(third.time, [12_000_000, 15_000_000]);
    assert!(refused(b"fio version 9 iolog\na add\n").contains("version \"9\" is not known"));
    assert!(refused(b"fio version 2 iolog\na rename 0 1\n").contains("fio does not \"rename\""));
}

/// A header of libCacheSim's lcs.
fn lcs(version: u64, size: usize) -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut header = vec![0; size];
    header[..8].copy_from_slice(&magic);
    header[8..16].copy_from_slice(&version.to_le_bytes());
    header[size - 8..].copy_from_slice(&magic);
    header
}

#[test]
fn lcs_is_read_in_all_its_versions() {
    let sized = Reading {
        sizes: true,
        ..Reading::default()
    };
    let mut first = lcs(1, 1024);
    for (time, object, size) in [(7_u32, 42_u64, 512_u32), (9, 43, 100)] {
        first.extend(time.to_le_bytes());
        first.extend(object.to_le_bytes());
        first.extend(size.to_le_bytes());
        first.extend((-1_i64).to_le_bytes());
    }
    let (all, about) = read(&first, sized).unwrap();
    assert_eq!(about.format, "lcs");
    assert_eq!(all.page, [42, 43]);
    assert_eq!(all.size, [512, 100]);
    assert_eq!(all.time, [7, 9]);
    for (version, features) in [(3, 0), (4, 1), (5, 2), (6, 4), (7, 8), (8, 16)] {
        let mut file = lcs(version, 8192);
        for (object, op, tenant) in [(42_u64, 1_u32, 5_u32), (43, 3, 6)] {
            file.extend(7_u32.to_le_bytes());
            file.extend(object.to_le_bytes());
            file.extend(4096_i64.to_le_bytes());
            file.extend((op | tenant << 8).to_le_bytes());
            file.extend(0_u32.to_le_bytes());
            file.extend((-1_i64).to_le_bytes());
            file.extend(vec![0; features * 4]);
        }
        let (all, _) = read(&file, sized).unwrap();
        assert_eq!(all.page, [42, 43], "version {version}");
        assert_eq!(all.op, [Op::LOAD, Op::STORE], "version {version}");
        assert_eq!(all.task, [5, 6], "version {version}");
        assert_eq!(all.size, [4096, 4096], "version {version}");
    }
    assert!(refused(&lcs(9, 8192)).contains("lcs version 9: 1 to 8 are known"));
    assert!(refused(&lcs(1, 1024)[..900]).contains("has no end"));
    let cut = &first[..first.len() - 1];
    assert!(refused(cut).contains("are no record of 24"));
}

/// A NumPy array, as `numpy.save` writes it.
fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    let padded = (text.len() + 1).next_multiple_of(64) + 54;
    file.extend((padded as u16).to_le_bytes());
    file.extend(format!("{text:<width$}\n", width = padded - 1).as_bytes());
    file.extend(data);
    file
}

#[test]
fn numpy_arrays_of_integers_are_traces() {
    let pages: Vec<u8> = [5_i64, 6, 5]
        .iter()
        .flat_map(|page| page.to_le_bytes())
        .collect();
    let (all, about) = read(&npy("<i8", 3, &pages), Reading::default()).unwrap();
    assert_eq!(about.format, "npy");
    assert_eq!(all.page, [5, 6, 5]);
    let negative: Vec<u8> = [5_i32, -1]
        .iter()
        .flat_map(|page| page.to_be_bytes())
        .collect();
    assert!(refused(&npy(">i4", 2, &negative)).contains("a negative page number"));
    assert!(refused(&npy("<i8", 4, &pages)).contains("1 numbers too soon"));
    assert!(refused(&npy("<i8", 2, &pages)).contains("more follows the array"));
    assert!(refused(&npy("<f8", 3, &pages)).contains("its numbers are <f8"));
}

fn bzip2(plain: &[u8]) -> Vec<u8> {
    let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    out.write_all(plain).unwrap();
    out.finish().unwrap()
}

fn lz4(plain: &[u8]) -> Vec<u8> {
    let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
    out.write_all(plain).unwrap();
    out.finish().unwrap()
}

/// A zip archive of these files.
fn zip(files: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, plain) in files {
        if name.ends_with('/') {
            out.add_directory(*name, options).unwrap();
            continue;
        }
        out.start_file(*name, options).unwrap();
        out.write_all(plain).unwrap();
    }
    out.finish().unwrap().into_inner()
}

#[test]
fn bzip2_lz4_and_zip_are_unpacked_and_damage_is_an_error() {
    let lines: Vec<String> = (0..50_000_u64)
        .map(|n| {
            format!(
                "{}
",
                n * n % 7919
            )
        })
        .collect();
    let lines = lines.concat();
    let expected: Vec<u64> = (0..50_000).map(|n| n * n % 7919).collect();
    let plain = lines.as_bytes();
    let deflated = zip::CompressionMethod::Deflated;
    let stored = zip::CompressionMethod::Stored;
    for (how, packed) in [
        ("bzip2", bzip2(plain)),
        ("lz4", lz4(plain)),
        (
            "zip",
            zip(&[("data/", b""), ("data/pages.txt", plain)], deflated),
        ),
        ("zip, stored", zip(&[("pages.txt", plain)], stored)),
    ] {
        let (all, _) = read(&packed, Reading::default()).unwrap();
        assert_eq!(all.page, expected, "{how}");
        assert!(
            read(&packed[..packed.len() / 2], Reading::default()).is_err(),
            "{how}"
        );
        let mut damaged = packed.clone();
        // Within the content, whatever is around it.
        let middle = damaged.len() / 2;
        for byte in &mut damaged[middle..middle + 8] {
            *byte ^= 0x15;
        }
        let read_damaged = read(&damaged, Reading::default());
        assert!(read_damaged.is_err(), "{how}: a damaged content is read");
    }
    let two: &[(&str, &[u8])] = &[("a", b"1\n"), ("b", b"2\n")];
    let said = refused(&zip(two, stored));
    assert!(
        said.contains("2 files, \"a\" and \"b\" among them"),
        "{said}"
    );
    assert!(refused(&zip(&[("data/", b"")], stored)).contains("has no file"));
}

#[test]
fn an_arrow_file_is_read_as_its_stream() {
    let stream = {
        let mut source = open(&b"5\n6\n5\n"[..], "-", None, Reading::default()).unwrap();
        let mut out = Vec::new();
        traces::write(&mut *source, traces::Output::Arrow, &mut out).unwrap();
        out
    };
    let mut file = b"ARROW1\0\0".to_vec();
    file.extend(stream);
    file.extend(b"the index of an Arrow file\0\0ARROW1");
    let (all, about) = read(&file, Reading::default()).unwrap();
    assert_eq!(about.format, "arrow");
    assert_eq!(all.page, [5, 6, 5]);
}

#[test]
fn times_that_go_back_are_refused_or_sorted_by_choice() {
    let table = b"time,page,op\n30,7,r\n10,8,w\n20,9,r\n10,5,r\n";
    assert!(refused(table).contains("time goes back from 30 to 10"));
    let sorting = Reading {
        order: Order::Sort,
        ..Reading::default()
    };
    let (all, _) = read(table, sorting).unwrap();
    assert_eq!(all.time, [10, 10, 20, 30]);
    assert_eq!(
        all.page,
        [8, 5, 9, 7],
        "those of one time stay in their order"
    );
    assert_eq!(all.op, [Op::STORE, Op::LOAD, Op::LOAD, Op::LOAD]);
    let untimed = Reading {
        time: false,
        ..sorting
    };
    let (all, _) = read(table, untimed).unwrap();
    assert_eq!(all.page, [8, 5, 9, 7]);
    assert!(all.time.is_empty(), "times were not asked for");
    // Without times nothing can be sorted, and nothing is refused where they are not asked for.
    let said = read(b"7\n8\n", sorting).unwrap_err().to_string();
    assert!(said.contains("no times to sort it by"), "{said}");
    let unasked = Reading {
        time: false,
        ..Reading::default()
    };
    let (all, _) = read(table, unasked).unwrap();
    assert_eq!(all.page, [7, 8, 9, 5]);
    assert_eq!(Format::named("lcs").unwrap(), Format::Lcs);
    assert_eq!(
        Format::named("webcachesim").unwrap(),
        Format::named("lrb").unwrap()
    );
}

#[test]
fn tables_with_the_headers_of_cachelib_and_systor_are_read() {
    let sized = Reading {
        sizes: true,
        ..Reading::default()
    };
    let key_value = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase
5,k1,20,GET,2,100,1,0,u,s
5,k2,20,GET_LEASE,1,30,0,0,u,s
6,k1,20,SET,1,100,0,60,u,s
";
    let (all, _) = read(key_value.as_bytes(), sized).unwrap();
    assert_eq!(all.page, [0, 0, 1, 0], "a row may stand for several uses");
    assert_eq!(all.op, [Op::LOAD, Op::LOAD, Op::LOAD, Op::STORE]);
    assert_eq!(all.size, [100, 100, 30, 100]);
    let cdn = "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,SamplingRate,cache_hit
1679000000,8cb7,GET,4096,4096,300,0,0,3600,1,1
1679000001,91aa,GET,512,512,300,-,-,3600,1,0
1679000001,8cb7,GET,4096,4096,300,0,0,3600,1,1
";
    let (all, _) = read(cdn.as_bytes(), sized).unwrap();
    assert_eq!(all.page, [0, 1, 0]);
    assert_eq!(
        all.size,
        [4096, 512, 4096],
        "the object's, not the answer's"
    );
    let systor = "Timestamp,Response,IOType,LUN,Offset,Size
1455592511.046,0.00003,R,3,4096,8192
1455592511.045,0.00012,W,0,0,4096
";
    let untimed = Reading {
        time: false,
        ..Reading::default()
    };
    let (all, _) = read(systor.as_bytes(), untimed).unwrap();
    let third = 3 << 48;
    assert_eq!(all.page, [third | 1, third | 2, 0]);
    assert_eq!(all.op, [Op::LOAD, Op::LOAD, Op::STORE]);
    assert!(refused(systor.as_bytes()).contains("time goes back"));
}
