use super::*;
use clap::Parser;
use host::recordings::RecordingWriter;
use pressure::decide;
use pressure::knob::Knob;
use pressure::sample::{Cgroups, Facts, Sample, Zone};
use pressure::{Config, History};
use units::{Bytes, Pages};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
    #[arg(long)]
    json: bool,
}

fn context(command: &Command) -> Context {
    let form = if command.json { Form::Json } else { Form::Text };
    Context {
        form,
        root: "/".into(),
        run: "/run/warmset".into(),
    }
}

fn replay(words: &[&str]) -> (String, bool) {
    let command = Command::try_parse_from([&["replay"], words].concat()).unwrap();
    let mut out = Vec::new();
    let code = run(&command.args, &context(&command), &mut out).unwrap();
    (String::from_utf8(out).unwrap(), code == ExitCode::SUCCESS)
}

/// A minute of a small machine: demand is steady, kswapd runs half the time, and a burst every ten
/// seconds stalls.
fn recording(path: &Path, tamper: impl Fn(&mut Decision)) {
    let facts = Facts {
        page_size: Bytes::kib(4),
        kernel: "6.12.0".to_owned(),
        boot_id: "5f1c".to_owned(),
        cpus: 2,
        pmd_order: None,
        cgroups: Cgroups::V2,
        container: None,
        hidepid: false,
    };
    let config = Config::default();
    let mut history = History::new(&facts, &config);
    let mut recorder = RecordingWriter::single(path, &facts, &config, &history).unwrap();
    let mut sample = Sample::default();
    let mut stolen = 0;
    let mut direct = 0;
    sample.zones.push(Zone::default());
    let zone = &mut sample.zones[0].amounts;
    zone.managed = Some(Pages::new(247_768));
    zone.min = Some(Pages::new(11_264));
    zone.low = Some(Pages::new(14_080));
    zone.high = Some(Pages::new(16_896));
    for (knob, value) in [
        (Knob::MinFreeKbytes, 45_056),
        (Knob::WatermarkScaleFactor, 10),
    ] {
        sample.knobs.now.put(knob, Some(value));
        sample.knobs.found.put(knob, Some(value));
    }
    for tick in 0..600_u64 {
        let burst = tick % 100 == 50;
        let [free, freed] =
            [[12_000, 0], [13_000, 2000], [14_000, 2000], [13_000, 0]][tick as usize % 4];
        stolen += freed;
        direct += if burst { 5000 } else { 0 };
        sample.at = Span::millis(100 * (tick + 1));
        sample.counters.nr_free_pages = Some(Pages::new(free));
        sample.counters.pgsteal_kswapd = Some(stolen);
        sample.counters.pgsteal_direct = Some(direct);
        sample.counters.allocstall_normal = Some(direct / 32);
        history.push(&sample);
        let mut decision = decide(&config, &history);
        tamper(&mut decision);
        recorder.push(&sample, Some(&decision)).unwrap();
    }
}

#[test]
fn a_recording_is_verified_and_a_changed_one_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.rec.gz");
    recording(&path, |_| {});
    let (text, good) = replay(&[path.to_str().unwrap(), "--verify"]);
    assert_eq!(
        text,
        "600 samples, 600 decisions made again by the recorded configuration: all the same\n"
    );
    assert!(good);
    let path = temp.path().join("b.rec.gz");
    recording(&path, |decision| decision.patience = Span::secs(77));
    let (text, good) = replay(&[path.to_str().unwrap(), "--verify"]);
    assert!(
        text.contains("600 differ") && text.contains("… and 580 more"),
        "{text}"
    );
    assert!(!good);
    let (_, good) = replay(&[path.to_str().unwrap()]);
    assert!(good, "only --verify judges");
}

#[test]
fn a_recording_that_is_written_anew_verifies_and_no_file_is_overwritten() {
    let temp = tempfile::tempdir().unwrap();
    let old = temp.path().join("old.rec.gz");
    recording(&old, |decision| decision.patience = Span::secs(77));
    let old = old.to_str().unwrap();
    for name in ["new.rec.gz", "new.rec"] {
        let new = temp.path().join(name);
        let new = new.to_str().unwrap();
        replay(&[old, "--rewrite", new]);
        let (text, good) = replay(&[new, "--verify"]);
        assert!(
            text.contains("600 decisions") && text.contains("all the same"),
            "{text}"
        );
        assert!(good);
        let command = Command::try_parse_from(["replay", old, "--rewrite", new]).unwrap();
        let error = run(&command.args, &context(&command), &mut Vec::new()).unwrap_err();
        assert!(
            format!("{error:#}").contains("cannot create a new file"),
            "{error:#}"
        );
    }
}

#[test]
fn the_table_has_a_line_for_each_arm_and_its_columns_line_up() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.rec.gz");
    recording(&path, |_| {});
    let (text, _) = replay(&[
        path.to_str().unwrap(),
        "--compare",
        "static:1000,classic,none",
    ]);
    let (head, table) = text.split_once("\n\n").unwrap();
    assert!(
        head.starts_with(
            "Linux 6.12.0, 600 samples over 59.9 s\nfound:   gap 11 MiB (factor 10)\n"
        ),
        "{head}"
    );
    assert!(head.contains("counted: 6 episodes, "), "{head}");
    let arms: Vec<&str> = table
        .lines()
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_eq!(
        arms,
        [
            "modelled",
            "recorded",
            "none",
            "warmset",
            "static:1000",
            "classic"
        ]
    );
    let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
    let (json, _) = replay(&[path.to_str().unwrap(), "--compare", "static:1000", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["comparison"]["arms"][3]["episodes"], 0, "{json}");
    assert!(
        json["comparison"]["arms"][1]["episodes"].as_u64() > Some(0),
        "{json}"
    );
}

#[test]
fn a_wrong_arm_and_a_missing_recording_are_errors() {
    let parse = |words: &[&str]| {
        Command::try_parse_from([&["replay"], words].concat())
            .map(drop)
            .unwrap_err()
    };
    let error = parse(&["a", "--compare", "static:0"]).to_string();
    assert!(
        error.contains("\"static:0\" is not an arm: recorded, none, static:1 to static:3000"),
        "{error}"
    );
    parse(&[]);
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("empty");
    std::fs::write(&path, "").unwrap();
    let command = Command::try_parse_from(["replay", path.to_str().unwrap()]).unwrap();
    let error = run(&command.args, &context(&command), &mut Vec::new())
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("empty: no recording in it"), "{error}");
}
