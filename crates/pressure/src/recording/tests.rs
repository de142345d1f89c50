#![allow(
    clippy::large_stack_arrays,
    reason = "some samples beside each other, in a test"
)]

use super::*;
use crate::decide;
use crate::sample::{Cgroups, MAX_ORDERS, Wall};
use crate::section::Section;
use proptest::prelude::*;
use std::time::Duration;
use units::Span;

pub(crate) fn facts() -> Facts {
    Facts {
        page_size: Bytes::kib(4),
        kernel: "6.12.0".to_owned(),
        boot_id: "5f1c".to_owned(),
        cpus: 2,
        pmd_order: Some(9),
        cgroups: Cgroups::V2,
        container: None,
        hidepid: false,
    }
}

/// Every number of every section, and every list, may be there or not.
fn any_sample() -> impl Strategy<Value = Sample> {
    let zones = prop::sample::subsequence(ZoneKind::ALL.map(|kind| (0, kind)).to_vec(), 0..4);
    let pools = prop::sample::subsequence(vec![Bytes::mib(2), Bytes::mib(1024)], 0..2);
    let shape = (
        zones,
        0..3u32,
        pools,
        prop::collection::vec(0..3usize, 0..3),
    );
    let times = (any::<u64>(), any::<u64>());
    (
        shape,
        times,
        prop::collection::vec(any::<Option<u64>>(), 64),
        0..=MAX_ORDERS,
    )
        .prop_map(
            |((zones, nodes, pools, swaps), (at, wall), values, orders)| {
                let kinds = [SwapKind::Partition, SwapKind::File, SwapKind::Zram];
                let swaps = swaps.into_iter().map(|kind| kinds[kind]).collect();
                let mut sample = Shape {
                    zones,
                    nodes: (0..nodes).collect(),
                    pools,
                    swaps,
                }
                .unknown();
                sample.at = Span::new(Duration::from_nanos(at));
                sample.wall = Wall(wall);
                let mut values = values.into_iter().cycle();
                for section in sample.sections_mut() {
                    (0..section.fields().len())
                        .for_each(|index| section.set(index, values.next().flatten()));
                }
                for zone in &mut sample.zones {
                    (0..MAX_ORDERS).for_each(|order| {
                        zone.blocks
                            .set(order, (order < orders).then_some(order as u64));
                    });
                }
                sample
            },
        )
}

fn write(samples: &[Sample]) -> Vec<u8> {
    let facts = facts();
    let config = Config::default();
    let mut history = History::new(&facts, &config);
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    for sample in samples {
        if !encoder.fits(sample) {
            assert_eq!(encoder.sample(&mut Vec::new(), sample), Err(Misfit));
            let opening = Opening {
                facts: &facts,
                config: &config,
                state: &history,
                sample,
            };
            encoder.header(&mut out, &opening).unwrap();
        }
        encoder.sample(&mut out, sample).unwrap();
        history.push(sample);
        encoder
            .decision(&mut out, &decide(&config, &history))
            .unwrap();
    }
    out
}

fn sample_at(second: u64, free: u64) -> Sample {
    let mut sample = Shape {
        zones: vec![(0, ZoneKind::Normal)],
        ..Shape::default()
    }
    .unknown();
    sample.at = Span::secs(second);
    sample.wall = Wall(1_700_000_000_000 + second * 1000);
    sample.memory.free = Some(Bytes::new(free));
    sample
}

#[test]
fn only_what_changed_is_written() {
    let mut second = sample_at(2, 4096);
    second.circumstances.rival_tuner = Some(1);
    let mut third = sample_at(3, 4096);
    third.memory.free = None;
    let mut samples = vec![sample_at(1, 4096)];
    samples.extend([second, third]);
    let text = String::from_utf8(write(&samples)).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('s')).collect();
    assert_eq!(
        lines,
        [
            "s\t1000000000\t1700000001000\t\t\t\t\t\t\t\t\t4096",
            "s\t2000000000\t1700000002000\t\t\t1",
            "s\t3000000000\t1700000003000\t\t\t-\t\t\t\t\t\t-",
        ]
    );
}

/// The list of orders is known as a whole or not at all, and it may come and go between two samples.
#[test]
fn free_blocks_that_become_unknown_are_unknown_again() {
    let blocks = |second, orders: usize| {
        let mut sample = sample_at(second, 4096);
        (0..orders).for_each(|order| sample.zones[0].blocks.set(order, Some(7)));
        sample
    };
    let samples = vec![
        blocks(1, 11),
        blocks(2, 0),
        blocks(3, 10),
        blocks(4, 11),
        blocks(5, 4),
    ];
    let text = write(&samples);
    let read = decode(&text).filter_map(|entry| match entry.unwrap() {
        Entry::Sample(sample) => Some(*sample),
        _ => None,
    });
    assert_eq!(read.collect::<Vec<_>>(), samples);
}

#[test]
fn a_header_names_columns_and_units_and_holds_the_state() {
    let text = write(&[sample_at(1, 4096)]);
    let header = text.split(|byte| *byte == b'\n').next().unwrap();
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let columns = header["columns"].as_array().unwrap();
    assert!(columns.contains(&serde_json::json!(["meminfo.MemTotal", "bytes"])));
    assert!(columns.contains(&serde_json::json!(["zone.0.Normal.low", "pages"])));
    assert_eq!(header["facts"]["kernel"], "6.12.0");
    let Some(Ok(Entry::Header(header))) = decode(&text).next() else {
        panic!("no header")
    };
    assert_eq!(
        header.state,
        Some(History::new(&facts(), &Config::default()))
    );
    assert_eq!(header.config, Some(Config::default()));
    assert!(header.notes.is_empty(), "{:?}", header.notes);
}

#[test]
fn a_file_of_another_version_is_read_by_its_column_names() {
    let text = String::from_utf8(write(&[sample_at(1, 4096)])).unwrap();
    let text = text
        .replace("[\"guard.disabled\",\"count\"],", "")
        .replace("meminfo.Zswapped", "meminfo.Future");
    let text = text
        .replace("\"predictor\"", "\"oracle\"")
        .replace("\t\t\t\t\t\t\t4096", "\t\t\t\t\t\t4096");
    let entries: Vec<Entry> = decode(text.as_bytes()).map(Result::unwrap).collect();
    let [Entry::Header(header), Entry::Sample(sample), _] = &entries[..] else {
        panic!("{entries:?}")
    };
    assert_eq!(**sample, sample_at(1, 4096));
    assert!(header.config.is_none() && header.state.is_some());
    assert!(header.notes[0].contains("oracle"), "{:?}", header.notes);
    assert!(
        header.notes[1].contains("meminfo.Future"),
        "{:?}",
        header.notes
    );
}

#[test]
fn a_bad_line_is_named_and_quoted_and_what_builds_on_it_is_passed_over() {
    let samples: Vec<Sample> = (1..=3)
        .map(|second| sample_at(second, 4096 << u64::from(second == 2)))
        .collect();
    let mut text = write(&samples);
    let place = text
        .windows(5)
        .position(|window| window == b"\t8192")
        .unwrap();
    text[place + 1] = b'x';
    text.extend(b"lost\t7\nlost\t-7\n");
    let read: Vec<_> = decode(&text).collect();
    assert_eq!(
        read.len(),
        6,
        "header, sample, decision, bad sample, lost, bad lost: {read:?}"
    );
    let error = read[3].as_ref().unwrap_err().to_string();
    assert!(
        error.starts_with("line 4: no valid number in cell 9 in \"s\\t2000000000"),
        "{error}"
    );
    assert_eq!(read[4], Ok(Entry::Lost(7)));
    assert!(
        read[5]
            .as_ref()
            .unwrap_err()
            .to_string()
            .starts_with("line 9: no number of lost samples")
    );
    let long = Decoder::new().line(&vec![b'y'; 10_000]).unwrap_err();
    assert_eq!(long.text.len(), 200);
}

#[test]
fn an_unknown_format_is_refused_in_one_sentence() {
    let refusal = |line: &[u8]| Decoder::new().line(line).unwrap_err().to_string();
    let newer = refusal(b"{\"warmset-recording\":3}");
    assert!(
        newer.starts_with(
            "line 1: this recording has format 3, and this version of warmset reads formats up to \
             2: read it with the version that made it, in"
        ),
        "{newer}"
    );
    let none = refusal(b"{\"warmset-recording\":0}");
    assert!(none.contains("there is no format 0"), "{none}");
}

/// A header of format 1 as it was written before there was a guard: with few sections of the
/// configuration, and a state without most of what is in it now.
const FORMAT_1: &str = include_str!("format-1.rec");

fn header_of(text: &str) -> Header {
    let Some(Ok(Entry::Header(header))) = decode(text.as_bytes()).next() else {
        panic!("no header")
    };
    *header
}

#[test]
fn a_recording_of_format_1_is_read_by_defaults() {
    let header = header_of(FORMAT_1);
    assert!(header.notes.is_empty(), "{:?}", header.notes);
    let config = header.config.unwrap();
    assert_eq!(config.guard, crate::config::Guard::default());
    // It was recorded before the first sample, so it is what an empty history is.
    assert_eq!(header.state, Some(History::new(&header.facts, &config)));
    let read: Result<Vec<Entry>, Malformed> = decode(FORMAT_1.as_bytes()).collect();
    assert_eq!(read.unwrap().len(), 25);
}

/// A recording of format 1 with this instead of that.
fn changed(from: &str, to: &str) -> String {
    assert!(FORMAT_1.contains(from), "{from}");
    FORMAT_1.replacen(from, to, 1)
}

#[test]
fn what_an_older_state_does_not_have_is_that_of_an_empty_one() {
    let header = header_of(&changed("\"samples\":0", "\"samples\":7"));
    assert_eq!(header.state.unwrap().samples, 7);
    // A trend with points from the time before slopes were kept for each.
    let points = "\"unreclaimable\":{\"points\":[[5000000000,1],[10000000000,2]]";
    let header = header_of(&changed("\"unreclaimable\":{\"points\":[]", points));
    let mut state = header.state.unwrap();
    assert_eq!(state.page_size, header.facts.page_size);
    for second in 3..300 {
        state.push(&sample_at(5 * second, 4096));
    }
}

#[test]
fn a_state_that_cannot_be_read_is_refused_in_plain_words() {
    for broken in [
        changed("\"samples\":0", "\"samples\":\"none\""),
        changed("\"weights\":[0.0,", "\"weights\":["),
    ] {
        let header = header_of(&broken);
        assert_eq!(header.state, None);
        assert_eq!(
            header.notes,
            [
                "this recording was made by format 1; its decision state cannot be read, so \
                 decisions are made from a fresh state and may differ"
            ]
        );
    }
}

#[test]
fn keys_that_were_renamed_and_local_replacement_are_read_from_older_recordings() {
    let guard = "\"config\":{\"guard\":{\"contain-for\":\"9 s\"},\"hooks\":{\"contained\":\"/a\"},\
                 \"local\":{\"policy\":\"up-next\",\"every\":\"250 ms\"},";
    let text = changed("\"config\":{", guard);
    let config = header_of(&text).config.unwrap();
    assert_eq!(config.guard.throttle_for, Span::secs(9));
    assert_eq!(config.hooks.throttled.as_deref(), Some("/a"));

    let mut decision = decide(&config, &History::new(&facts(), &config));
    decision.attention = crate::decision::Attention::Candidates;
    let plain = serde_json::to_string(&decision).unwrap();
    let step = "\"steps\":[{\"action\":{\"do\":\"local\",\"way\":\"up\",\"who\":{\"pid\":7,\"start\":1},\
                \"name\":\"cc1\",\"size\":4096},\"why\":{\"because\":\"watermark\",\"free\":4096}}]";
    let old = plain
        .replace("\"steps\":[]", step)
        .replace("\"suspects\"", "\"runners\"");
    let scan = "p\t{\"at\":1,\"suspects\":[],\"victims\":[],\"runners\":[{\"who\":{\"pid\":7,\"start\":1},\
                \"name\":\"cc1\",\"resident\":4096,\"turn\":5}]}";
    let mut lines: Vec<&str> = text.lines().take(2).collect();
    let last = format!("d\t{old}");
    lines.insert(1, scan);
    lines.push(&last);
    let read: Vec<Entry> = decode(lines.join("\n").as_bytes())
        .map(Result::unwrap)
        .collect();
    assert_eq!(read.len(), 3);
    assert_eq!(read[2], Entry::Decision(Box::new(decision)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn samples_out_are_samples_in(samples in prop::collection::vec(any_sample(), 1..6)) {
        let read: Result<Vec<Entry>, Malformed> = decode(&write(&samples)).collect();
        let read = read.unwrap().into_iter().filter_map(|entry| match entry {
            Entry::Sample(sample) => Some(*sample),
            _ => None,
        });
        prop_assert_eq!(read.collect::<Vec<_>>(), samples);
    }

    #[test]
    fn states_and_decisions_out_are_those_in(samples in prop::collection::vec(any_sample(), 1..4)) {
        let mut history: Option<History> = None;
        for entry in decode(&write(&samples)) {
            match entry.unwrap() {
                Entry::Header(header) => {
                    let state = header.state.unwrap();
                    history.get_or_insert_with(|| state.clone());
                    prop_assert_eq!(history.as_ref().unwrap(), &state);
                }
                Entry::Sample(sample) => history.as_mut().unwrap().push(&sample),
                Entry::Decision(decision) => {
                    prop_assert_eq!(*decision, decide(&Config::default(), history.as_ref().unwrap()));
                }
                Entry::Lost(_) => {}
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        mut text in prop::collection::vec(any::<u8>(), 0..300),
        sample in any_sample(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        decode(&text).for_each(drop);
        let mut good = write(&[sample]);
        for (index, byte) in cuts {
            let place = index.index(good.len());
            good[place] = byte;
        }
        decode(&good).for_each(drop);
        let header = good.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        good.truncate(header + 1);
        good.append(&mut text);
        decode(&good).for_each(drop);
    }

    #[test]
    fn any_cells_are_read_or_refused(cells in "s\t[0-9]{1,22}\t[0-9]{1,3}(\t[-0-9+x]{0,3}){0,400}") {
        let mut text = write(&[sample_at(1, 1)]);
        text.extend(cells.as_bytes());
        decode(&text).for_each(drop);
    }
}

#[test]
fn groups_are_written_when_they_change_and_stand_until_then() {
    let cgroup = crate::groups::Protected {
        id: 7,
        unit: crate::scan::UnitName::from("ssh.service").unwrap(),
        at: Span::secs(1),
        used: Bytes::mib(9),
        warm: Bytes::mib(4),
        refaulted: Bytes::ZERO,
        floor: Bytes::ZERO,
        found: Bytes::ZERO,
        ours: None,
        waiting: None,
        swapped: Some(Bytes::mib(2)),
        swapped_before: None,
    };
    let mut samples: Vec<Sample> = (1..=5).map(|second| sample_at(second, 4096)).collect();
    samples[1].groups.protected = vec![cgroup];
    samples[2].groups.protected = vec![cgroup];
    samples[3].groups.protected = vec![crate::groups::Protected {
        ours: Some(Bytes::mib(5)),
        ..cgroup
    }];
    let text = write(&samples);
    assert_eq!(
        String::from_utf8_lossy(&text).matches("\ng\t").count(),
        3,
        "it comes, it changes, it goes"
    );
    let read = decode(&text).filter_map(|entry| match entry.unwrap() {
        Entry::Sample(sample) => Some(*sample),
        _ => None,
    });
    assert!(read.eq(samples));
}
