//! What the program says of a guard that runs, of one that ran, and of none.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use daemon::shared_status::SharedStatus;
use daemon::status_server::StatusServer;
use expect_test::expect;
use place::Place;
use pressure::config::Metrics;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Answers one request with `reply`, as the guard's socket does; gives the request back.
fn serve(place: &Place, reply: impl Into<Vec<u8>>) -> JoinHandle<String> {
    fs::create_dir_all(place.path("run")).unwrap();
    let listener = UnixListener::bind(place.path("run/warmset.sock")).unwrap();
    let reply = reply.into();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() > 0 {
            request.extend_from_slice(&byte);
        }
        client.write_all(&reply).unwrap();
        String::from_utf8(request).unwrap()
    })
}

fn http(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// What a guard of this version answers on the recorded machine, with a past.
fn status() -> Value {
    let mut status = Place::new().warmset(&["status", "--json"]).json();
    status["guard"].take();
    status["pid"] = json!(42);
    status["only_observes"] = Value::Null;
    status["tally"]["own_cpu"] = json!(81_000);
    status["tally"]["own_memory"] = json!(3 << 20);
    let action = json!({"do": "set", "knob": "watermark-scale-factor", "from": 10, "to": 143});
    let why = json!({"because": "quiet", "calm": 20_000_000_000_u64});
    let step = json!({"action": action, "why": why});
    let stalled = json!({"note": "stalled", "allocation": 3, "compaction": 1});
    status["past"] = json!([
        {"at": 4_000_000_000_000_u64, "wall": 1_795_228_000_000_u64, "phase": "watching", "done": true, "steps": [],
         "notices": [stalled]},
        {"at": 4_100_000_000_000_u64, "wall": 1_795_228_100_000_u64, "phase": "guarding", "done": true, "steps": [step],
         "notices": []},
    ]);
    status
}

#[test]
fn status_asks_the_guard() {
    let place = Place::new();
    let guard = serve(&place, http(&status().to_string()));
    let said = place.warmset(&["status"]);
    assert_eq!(guard.join().unwrap(), "GET /status HTTP/1.0\r\n\r\n");
    said.assert(&expect![[r#"
        exit 0
        --- out
        warmsetd 0.1.0: calm
        guard      mode protect; predictor base-stock; process 42, since 2026-11-21
                   02:31:54 UTC
        memory     [................................................................]
                   # programs 27.7 MiB, k kernel 62 MiB
                   = caches 92.2 MiB, . free 23.3 GiB; 23.5 GiB in all
        available  23.2 GiB (98.93 %); swap none
        pressure   in the last 10 s: memory 0 %, all stalled 0 %; disk 0 %; CPU 0 %

        node  zone       free       min       low      high       gap
           0  DMA      15 MiB   220 KiB   272 KiB   324 KiB    52 KiB
           0  DMA32   2.9 GiB  43.5 MiB  54.4 MiB  65.3 MiB  10.8 MiB
           0  Normal  1.3 GiB  22.1 MiB  27.7 MiB  33.2 MiB   5.5 MiB

        demand     unknown; the gap is to meet 99 % of bursts
        gap        16.4 MiB now, 16.4 MiB found, demand needs 16.4 MiB
        withheld   nothing
        forecast   memory does not run out soon
        blocks     of order 9: 2000 are free, 0 will be needed; 8.84 % of free memory is
                   in smaller blocks
        holds      no knob: demand does not ask for it now
                   no memory of units or files: that is kept while it is short
        stalls     since it started: 0 allocations and 0 compactions stalled, tasks
                   waited 0 ns; 0 refaults; 0 killed by the kernel
        cost       81 ms of CPU, 3 MiB resident, 3 samples
        last       55.1 s ago: vm.watermark_scale_factor 10 → 143: quiet for 20 s, so
                   held memory goes back
        last       2.5 min ago: allocations stalled: 3 in reclaim, 1 in compaction
        --- err
    "#]]);
    assert!(
        said.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        said.out
    );
}

#[test]
fn status_without_a_guard_observes_by_itself_and_is_no_failure() {
    let said = Place::new().warmset(&["status"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(
        said.out
            .starts_with("no guard is running; this is what one would say: "),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("forecast   unknown: one second of samples is too short\n"),
        "{}",
        said.out
    );
}

#[test]
fn json_names_the_origin_of_the_status_and_has_all_of_it() {
    let absent = Place::new().warmset(&["--json", "status"]).json();
    assert_eq!(absent["guard"], "absent");
    let place = Place::new();
    let recorded = status();
    let guard = serve(&place, http(&recorded.to_string()));
    let mut running = place.warmset(&["status", "--json"]).json();
    guard.join().unwrap();
    assert_eq!(running["guard"].take(), "running");
    assert_eq!(running, recorded);
}

#[test]
fn the_daemons_own_status_server_is_understood() {
    let place = Place::new();
    fs::create_dir(place.path("run")).unwrap();
    let recorded = status();
    let shared_status = Arc::new(SharedStatus::new(
        serde_json::from_value(recorded.clone()).unwrap(),
    ));
    let status_server =
        StatusServer::open(&place.path("run"), &Metrics::default(), shared_status).unwrap();
    let mut running = place.warmset(&["status", "--json"]).json();
    assert_eq!(running["guard"].take(), "running");
    assert_eq!(running, recorded);
    drop(status_server);
    assert_eq!(
        place.warmset(&["status", "--json"]).json()["guard"],
        "absent"
    );
}

#[test]
fn a_guard_that_answers_nonsense_is_an_error_with_a_hint() {
    for (reply, expected) in [
        (http("{\"version\":\"9\"}"), "missing field"),
        (
            "HTTP/1.1 404 Not Found\r\n\r\n".to_owned(),
            "the guard replies \"HTTP/1.1 404 Not Found\"",
        ),
        ("SSH-2.0-x\r\n".to_owned(), "is not an HTTP reply"),
        (String::new(), "\"\" is not an HTTP reply"),
    ] {
        let place = Place::new();
        let guard = serve(&place, reply);
        let said = place.warmset(&["status"]);
        guard.join().unwrap();
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
        assert!(
            said.err.starts_with("error: PLACE/run/warmset.sock: "),
            "{}",
            said.err
        );
        assert!(
            said.err.contains(expected) && said.err.contains("\nhint: "),
            "{}",
            said.err
        );
    }
}

#[test]
fn why_lists_the_last_decisions_of_the_guard() {
    let place = Place::new();
    let guard = serve(&place, http(&status().to_string()));
    let said = place.warmset(&["why", "-n", "1"]);
    guard.join().unwrap();
    said.assert(&expect![[r#"
        exit 0
        --- out
        2026-11-21 02:28:20 UTC  guarding
          vm.watermark_scale_factor 10 → 143: quiet for 20 s, so held memory goes back
        --- err
    "#]]);
}

#[test]
fn why_without_guard_and_recording_is_3() {
    let said = Place::new().warmset(&["why", "--state", "nowhere"]);
    said.assert(&expect![[r#"
        exit 3
        --- out
        --- err
        error: no guard is running, and there is no recording in nowhere/recordings
        hint: systemctl start warmsetd, or --recording FILE
    "#]]);
}

#[test]
fn why_reads_the_newest_recording_of_those_there() {
    let place = Place::new();
    let made = place.warmset(&["record", "-o", "x.rec.gz", "--for", "300 ms"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let recordings = place.path("state/recordings");
    fs::create_dir_all(&recordings).unwrap();
    fs::write(
        recordings.join("warmset-20200101T000000Z-000001.rec.gz"),
        "not gzip",
    )
    .unwrap();
    fs::rename(
        place.path("x.rec.gz"),
        recordings.join("warmset-20200101T000000Z-000002.rec.gz"),
    )
    .unwrap();
    let said = place.warmset(&["why", "--state", "state"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        said.err,
        "note: this is from state/recordings/warmset-20200101T000000Z-000002.rec.gz\n"
    );
    assert_eq!(said.out, "Nothing was done, and nothing was reported.\n");
    let json = place.warmset(&["why", "--state", "state", "--json"]).json();
    assert_eq!(json, json!([]));
}
