use super::*;
use crate::ui::atomic_file;
use std::fs;
use std::path::Path;
use units::Bytes;

fn lab(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../fixtures/lab/{name}"))
        .display()
        .to_string()
}

fn host(from: &str) -> Host {
    Host::of(&Source::of(from).unwrap()).unwrap()
}

#[test]
fn stalls_are_counted_and_what_the_gap_gained_is_modelled() {
    let host = host(&format!(
        "guarded={}",
        lab("storm-6.12-1024-warmset-0.rec.gz")
    ));
    assert_eq!(host.name, "guarded");
    assert!(
        host.kernel
            .as_deref()
            .is_some_and(|kernel| kernel.starts_with("6.12")),
        "{:?}",
        host.kernel
    );
    assert!(
        host.cost.samples > 50 && host.cost.watched.get().as_secs() > 10,
        "{:?}",
        host.cost
    );
    assert!(
        host.lost().is_some_and(|lost| lost > 0.0 && lost < 1.0),
        "{:?}",
        host.lost()
    );
    assert!(host.withheld() > Bytes::ZERO);
    let bought = host.bought.expect("modelled");
    assert!(
        bought.without.memory >= bought.as_recorded.memory,
        "{bought:?}"
    );
    assert!(
        bought.without.byte_seconds == 0 && bought.as_recorded.byte_seconds > 0,
        "{bought:?}"
    );
    assert!(host.forecasts.expect("made again").demand.made > 0);
}

#[test]
fn files_of_a_directory_are_one_host_and_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut samples = 0;
    for (number, name) in ["storm-6.12-1024-warmset-0", "storm-6.12-1024-warmset-1"]
        .into_iter()
        .enumerate()
    {
        let path = lab(&format!("{name}.rec.gz"));
        samples += host(&path).cost.samples;
        fs::copy(
            path,
            directory.path().join(format!("warmset-{number}.rec.gz")),
        )
        .unwrap();
    }
    fs::write(directory.path().join("README"), "no recording").unwrap();
    let both = host(&format!("both={}", directory.path().display()));
    assert_eq!(both.cost.samples, samples);
}

#[test]
fn the_page_is_whole_and_has_no_path() {
    let hosts = [
        host(&lab("storm-6.12-1024-classic-0.rec.gz")),
        host(&lab("storm-6.1-1024-warmset-0.rec.gz")),
    ];
    let html = fleet_page::page(&hosts);
    for part in [
        "storm-6.12-1024-classic-0",
        "id=\"stalls\"",
        "id=\"withheld\"",
        "Forecasts",
        "</html>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("src=") && !html.contains("/home/") && !html.contains("fixtures/"));
}

#[test]
fn a_path_in_a_name_is_left_out_and_a_rate_is_not() {
    assert_eq!(
        host::redacted("end /home/bob/x (12) of (/srv/a) at 5 MiB/s"),
        "end … (12) of (… at 5 MiB/s"
    );
    assert_eq!(host::redacted("bob/a/b"), "bob…");
}

#[test]
fn a_file_that_is_no_recording_is_named_in_the_error() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().display().to_string();
    assert!(
        Source::of(&empty)
            .unwrap_err()
            .to_string()
            .contains("no recording")
    );
    assert!(
        Source::of("host=/nowhere")
            .unwrap_err()
            .to_string()
            .starts_with("/nowhere: cannot read")
    );
    let file = directory.path().join("a.rec");
    atomic_file::write(&file, |out| Ok(out.write_all(b"nothing\n")?)).unwrap();
    assert!(Host::of(&Source::of(&file.display().to_string()).unwrap()).is_err());
}

#[test]
fn the_worst_host_is_first_in_the_text() {
    let mut hosts = [
        host(&lab("storm-6.12-1024-warmset-0.rec.gz")),
        host(&lab("storm-6.12-1024-classic-0.rec.gz")),
    ];
    hosts.sort_by(|a, b| b.lost().partial_cmp(&a.lost()).unwrap());
    let text = text(&hosts);
    let lost: Vec<&str> = text
        .lines()
        .skip(1)
        .take(2)
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(lost, [hosts[0].name.as_str(), hosts[1].name.as_str()]);
    assert!(text.ends_with("2 hosts\n"), "{text}");
}
