//! Inputs that are nearly right, for every parser of this crate: none makes it panic or loop.

use pressure::config::Layers;
use pressure::groups::Answer;
use pressure::import::{Legacy, legacy};
use pressure::recording::{Entry, decode};
use pressure::replay::{Arm, Calibrating, Deciding, Plan, Rewriting, Survey};
use pressure::sample::{Sample, Zone};
use pressure::users::{Reply, Tell};
use testsupport::{mutated, recorded};
use units::{Bytes, Pages, Span};

/// A recording of an older version, as it was written then.
const OLDER: &[u8] = include_bytes!("../src/recording/format-1.rec");

/// A recording of this version.
fn recording() -> Vec<u8> {
    let sample = |second| {
        let mut sample = Sample {
            at: Span::secs(second),
            ..Sample::default()
        };
        sample.zones.push(Zone::default());
        sample.memory.total = Some(Bytes::mib(1024));
        sample.memory.available = Some(Bytes::mib(300 - 70 * second));
        sample.counters.nr_free_pages = Some(Pages::new(9000 - 2000 * second));
        sample.counters.pgsteal_kswapd = Some(1000 * second);
        sample.counters.pgsteal_direct = Some(7 * second);
        sample
    };
    let mut text = recorded((0..4).map(sample));
    text.extend(b"lost\t3\n");
    text
}

/// Asks every question of a recording.
fn replay(entries: &[Entry]) {
    let mut deciding = Deciding::by(None);
    let mut calibrating = Calibrating::default();
    let mut rewriting = Rewriting::default();
    let mut survey = Survey::default();
    let mut text = Vec::new();
    for entry in entries {
        let _ = deciding.take(entry);
        let _ = calibrating.take(entry);
        let _ = rewriting.take(entry, &mut text);
        survey.take(entry);
    }
    let _ = deciding.end();
    let _ = calibrating.end();
    let arms = [Arm::Recorded, Arm::Nothing, Arm::Warmset, Arm::Classic];
    let Ok(mut modelling) = survey.model(&Plan::of(&arms)) else {
        return;
    };
    let is_modelled = entries.iter().all(|entry| modelling.take(entry).is_ok());
    if is_modelled {
        let _ = modelling.end();
    }
}

#[test]
fn mutated_recordings_are_survived() {
    let recording = recording();
    mutated::each(&[&recording, OLDER], |text| {
        let entries: Vec<Entry> = decode(text).filter_map(Result::ok).collect();
        replay(&entries);
    });
}

#[test]
fn mutated_configurations_are_survived() {
    // The packaged file with all of its keys set, where it only shows them.
    let packaged = include_str!("../../../packaging/warmset.toml");
    let set: String = packaged
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(key) if !key.starts_with(' ') => format!("{key}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let old =
        b"[guard]\ncontain-ahead = \"9 s\"\n[recording]\nfiles = 3\n[protect]\nenabled = false\n";
    mutated::each(&[set.as_bytes(), old], |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let mut layers = Layers::default();
        if layers.add("mutated.toml", &text).is_ok() {
            let _ = layers.finish();
        }
    });
}

#[test]
fn mutated_files_of_predecessors_are_survived() {
    let kept: [&[u8]; 2] = [
        b"ENABLE_FREE_PAGE_COMPACTION=1\nMAX_GAP=80\nAGGRESSIVENESS=2\nVERBOSE=3\n",
        b"# comment\nENABLE_NEGATIVE_DENTRY_CAP=1\nNEG-DENTRY-CAP=15\n",
    ];
    mutated::each(&kept, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for program in [Legacy::Adaptivemmd, Legacy::Memoptimizer] {
            let _ = legacy(program, &text);
        }
    });
}

#[test]
fn mutated_messages_of_users_are_survived() {
    let reply = serde_json::to_vec(&Reply {
        id: 9,
        answer: Answer::GoOn,
    });
    let tell = serde_json::to_vec(&Tell::Settled { id: 9 });
    let kept = [reply.expect("JSON"), tell.expect("JSON")];
    mutated::each(&[&kept[0], &kept[1]], |line| {
        let _ = serde_json::from_slice::<Reply>(line);
        let _ = serde_json::from_slice::<Tell>(line);
    });
}
