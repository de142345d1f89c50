//! `synth`, `simulate`, `curve`, `convert`, `together` and `policies`, as a user runs them.

#[path = "helpers/as_user.rs"]
mod as_user;

use as_user::{complaint, lines, made, said, warmset};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = made(directory.path(), "zipf.parquet", "zipf:pages=50");
    let plot = directory.path().join("plot.svg").display().to_string();
    let page = directory.path().join("page.html").display().to_string();
    fs::write(&plot, "mine").expect("a file");
    fs::write(&page, "mine").expect("a file");
    for (file, arguments) in [
        (&trace, vec!["synth", "zipf", "-n", "100", "-o", &trace]),
        (&trace, vec!["convert", &trace, &trace]),
        (&trace, vec!["trace", "-o", &trace, "--", "true"]),
        (&plot, vec!["simulate", &trace, "--plot", &plot]),
        (&plot, vec!["curve", &trace, "--plot", &plot]),
        (&page, vec!["analyze", &trace, "-o", &page]),
    ] {
        let before = fs::read(file).expect("the file");
        let said = complaint(&arguments);
        let expected = format!("{file}: this file is there already");
        assert!(said.contains(&expected), "{arguments:?}: {said}");
        assert_eq!(fs::read(file).expect("the file"), before, "{arguments:?}");
    }
    said(&["simulate", &trace, "--plot", &plot, "--force"]);
    assert!(fs::read_to_string(&plot).expect("a plot").contains("<svg"));
    // A pipe is no file of a user's: it is written to, and stays one.
    let pipe = directory.path().join("pipe").display().to_string();
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let reader = Command::new("cat")
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .expect("cat runs");
    said(&["convert", &trace, &pipe, "--to", "plain"]);
    let read = reader.wait_with_output().expect("what was read").stdout;
    assert!(read.split(|byte| *byte == b'\n').count() > 20_000);
}

#[test]
fn a_pipe_from_synth_to_every_policy() {
    let mut synth = Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
        .args(["synth", "zipf:pages=500", "-n", "20000"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("synth runs");
    let simulate = Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
        .args([
            "simulate",
            "-",
            "--policy",
            "all",
            "--capacity",
            "1%,10%,50%",
            "--json",
        ])
        .stdin(synth.stdout.take().expect("a pipe"))
        .output()
        .expect("simulate runs");
    assert!(synth.wait().expect("synth ends").success() && simulate.status.success());
    let rows = lines(&String::from_utf8(simulate.stdout).expect("text"));
    let policies: Value = serde_json::from_str(&said(&["policies", "--json"])).expect("JSON");
    assert_eq!(rows.len(), policies.as_array().expect("a list").len() * 3);
    for row in &rows {
        assert_eq!(row["references"], 20_000);
        assert_eq!(row["distinct"], 500);
        let ratio = row["misses"].as_f64().expect("misses") / 20_000.0;
        assert!((row["miss_ratio"].as_f64().expect("a ratio") - ratio).abs() < 1e-12);
        assert!(
            row["writebacks"].is_null(),
            "writes are not told, so they are unknown"
        );
        assert!(row["references_per_second"].as_f64().expect("a speed") > 0.0);
    }
}

#[test]
fn a_trace_is_the_same_in_every_format() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = made(
        directory.path(),
        "a.parquet",
        "indexed-db:index=20,records=300",
    );
    let misses = |path: &str| {
        lines(&said(&[
            "simulate", path, "-p", "lru,2q", "-c", "50", "--json",
        ]))
        .iter()
        .map(|row| row["misses"].clone())
        .collect::<Vec<_>>()
    };
    let expected = misses(&trace);
    for name in [
        "a.arrow",
        "a.oracleGeneral.zst",
        "a.txt.gz",
        "a.csv",
        "a.u32",
        "a.u64.zst",
    ] {
        let path = directory.path().join(name).display().to_string();
        said(&["convert", &trace, &path]);
        assert_eq!(misses(&path), expected, "{name}");
    }
    let made_of: Vec<_> = fs::read_dir(directory.path())
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(made_of.len(), 7, "nothing else is left: {made_of:?}");
}

#[test]
fn curves_agree_with_runs_and_are_drawn() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = made(directory.path(), "a.parquet", "phases:pages=50,length=2000");
    let plot = directory.path().join("curve.html").display().to_string();
    let curves = lines(&said(&[
        "curve",
        &trace,
        "--of",
        "lru,ws,opt,fifo",
        "--plot",
        &plot,
        "--json",
    ]));
    let names: Vec<_> = curves
        .iter()
        .map(|curve| curve["policy"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["lru", "ws", "opt", "fifo"]);
    let run = &lines(&said(&[
        "simulate", &trace, "-p", "lru", "-c", "40", "--json",
    ]))[0];
    let points = curves[0]["points"].as_array().expect("points");
    let same = points
        .iter()
        .find(|point| point["parameter"] == 40)
        .expect("a point");
    assert_eq!(same["misses"].as_f64(), run["misses"].as_f64());
    let html = fs::read_to_string(&plot).expect("a page");
    assert!(html.contains("<svg") && html.matches("<polyline").count() == 4);
    let svg = directory.path().join("misses.svg").display().to_string();
    said(&["simulate", &trace, "-p", "lru,opt", "--plot", &svg]);
    assert!(
        fs::read_to_string(&svg)
            .expect("a picture")
            .starts_with("<svg")
    );
    // Letters need a font, which a bare machine may not have.
    let png = directory.path().join("misses.png").display().to_string();
    let drawn = warmset(&["simulate", &trace, "-p", "lru", "--plot", &png]);
    if drawn.status.success() {
        assert!(fs::read(&png).expect("a picture").starts_with(b"\x89PNG"));
    } else {
        assert!(String::from_utf8_lossy(&drawn.stderr).contains("no font is installed"));
    }
    let streamed = &lines(&said(&["curve", &trace, "--stream", "1000", "--json"]))[0];
    assert_eq!(
        (streamed["references"].as_u64(), streamed["rate"].as_f64()),
        (Some(20_000), Some(1.0))
    );
}

#[test]
fn a_sampled_curve_says_what_it_is_from_and_what_it_does_not_tell() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = made(directory.path(), "zipf.parquet", "zipf:pages=1000");
    let lru = ["curve", &trace, "--of", "lru"];
    let sampled = said(&[&lru[..], &["--sample", "0.1"]].concat());
    assert!(sampled.contains("within about"), "{sampled}");
    assert!(
        sampled.contains("sizes below 10 pages are left out"),
        "{sampled}"
    );
    let line = &lines(&said(&[&lru[..], &["--sample", "0.1", "--json"]].concat()))[0];
    let sample = &line["sample"];
    assert_eq!(sample["resolution"], 10);
    let pages = sample["pages"].as_u64().expect("a number");
    let distinct = line["distinct"].as_u64().expect("a number");
    assert!(pages > 0 && pages < distinct / 5, "{pages} of {distinct}");
    assert!(sample["error"].as_f64().is_some_and(|error| error > 0.0));
    assert!(
        sample["rate"]
            .as_f64()
            .is_some_and(|rate| (rate - 0.1).abs() < 1e-9)
    );
    let points = line["points"].as_array().expect("points");
    assert!(
        points
            .iter()
            .all(|point| point["parameter"].as_u64() >= Some(10))
    );
    let csv = said(&[&lru[..], &["--sample", "0.1", "--csv"]].concat());
    assert!(csv.starts_with("policy,"), "{csv}");
    let whole = &lines(&said(&[&lru[..], &["--json"]].concat()))[0];
    assert!(whole["sample"].is_null());

    let streamed = said(&["curve", &trace, "--stream", "100"]);
    assert!(streamed.contains("are left out"), "{streamed}");
    let streamed = &lines(&said(&["curve", &trace, "--stream", "100", "--json"]))[0];
    let rate = streamed["rate"].as_f64().expect("a rate");
    assert_eq!(streamed["sample"]["rate"].as_f64(), Some(rate));
    assert_eq!(
        streamed["sample"]["resolution"].as_f64(),
        Some((1.0 / rate).round())
    );
}

#[test]
fn a_stream_of_all_pages_is_exact() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = made(directory.path(), "zipf.parquet", "zipf:pages=1000");
    let whole = &lines(&said(&["curve", &trace, "--of", "lru", "--json"]))[0];
    let streamed = &lines(&said(&["curve", &trace, "--stream", "all", "--json"]))[0];
    assert_eq!(streamed["references"], whole["references"]);
    assert_eq!(streamed["distinct"].as_f64(), whole["distinct"].as_f64());
    assert!(streamed["sample"].is_null());
    let points = whole["points"].as_array().expect("points");
    let steps = streamed["points"].as_array().expect("points");
    assert!(steps.len() > 100);
    for step in steps {
        let size = step["size"].as_f64().expect("a size") as usize;
        assert_eq!(step["misses"], points[size - 1]["misses"], "{size}");
    }
    let text = said(&["curve", &trace, "--stream", "all"]);
    assert!(text.starts_with("lru exactly: "), "{text}");
    let refused = warmset(&["curve", &trace, "--stream", "some"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("write a number of pages, or all"));
}

#[test]
fn what_the_report_drew_stands_beside_what_is_right() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.lackey").display().to_string();
    let line = |at: u64| match at % 4 {
        3 => format!(" L {:x},8\n", (at / 100 % 30) << 12),
        _ => format!("I  {:x},4\n", (1000 << 12) + at % 64 * 4),
    };
    fs::write(&path, (0..20_000).map(line).collect::<String>()).expect("a trace");
    let curves = lines(&said(&[
        "curve",
        &path,
        "--clock",
        "trace",
        "--of",
        "lru",
        "--as-published",
        "--json",
    ]));
    let lifetime = |curve: &Value| curve["points"][0]["lifetime"].as_f64().expect("a lifetime");
    assert_eq!(curves[1]["policy"], "lru as published");
    let bytes = lifetime(&curves[1]) / lifetime(&curves[0]);
    assert!(
        (bytes - 4.0).abs() < 0.01,
        "instructions of four bytes: {bytes}"
    );
    let sizes = &[
        "curve",
        &path,
        "--clock",
        "trace",
        "--show",
        "size",
        "--theta",
        "2000",
        "--as-published",
        "--json",
    ];
    let sizes = lines(&said(sizes));
    let most = |line: &Value| {
        line["pixels"]
            .as_array()
            .expect("pixels")
            .iter()
            .map(|p| p["most"].as_u64())
            .max()
    };
    assert!(
        most(&sizes[1]) < most(&sizes[0]),
        "data pages leave early: {sizes:?}"
    );
    assert!(complaint(&["curve", &path, "--format", "plain", "--as-published"]).contains("line 1"));
    let other = made(directory.path(), "b.parquet", "scan:pages=10");
    assert!(complaint(&["curve", &other, "--as-published"]).contains("lackey trace alone"));
}

#[test]
fn windows_and_tasks_cut_a_trace() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("two.parquet").display().to_string();
    said(&[
        "synth",
        "scan:pages=10",
        "zipf:pages=30",
        "-n",
        "4000",
        "--quantum",
        "100",
        "-o",
        &path,
    ]);
    let references = |cut: &[&str]| {
        let arguments = [&["simulate", &path, "-p", "lru", "-c", "5", "--json"], cut].concat();
        let row = &lines(&said(&arguments))[0];
        (
            row["references"].as_u64().expect("references"),
            row["distinct"].as_u64().expect("pages"),
        )
    };
    assert_eq!(references(&["--task", "0"]), (2000, 10));
    assert_eq!(references(&["--window", "50..150"]).0, 100);
    assert_eq!(references(&["--window", "3900.."]).0, 100);
}

#[test]
fn programs_share_a_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let a = made(directory.path(), "a.parquet", "scan:pages=400");
    let b = made(directory.path(), "b.parquet", "zipf:pages=200");
    let rows = lines(&said(&[
        "together",
        &a,
        "--with",
        &b,
        "-m",
        "50%",
        "-p",
        "lru,linux,mglru,mglru:1,le9,le9:20/10/20,share,ws:500,token,up-largest",
        "--json",
    ]));
    assert_eq!(rows.len(), 10);
    for row in rows {
        assert_eq!(row["processes"][0]["references"], 20_000);
        assert!(row["full_ns"].as_u64() <= row["some_ns"].as_u64());
    }
    assert!(complaint(&["together", &a, "-p", "magic"]).contains("no manager 'magic'"));
    assert!(complaint(&["together", &a, "-p", "le9:60/0/60"]).contains("that leave some memory"));
}

#[test]
fn errors_name_what_is_wrong() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = made(directory.path(), "a.txt", "scan:pages=10");
    let bad = directory.path().join("bad.txt").display().to_string();
    fs::write(&bad, "1\n2\n-3\n").expect("a file");
    let empty = directory.path().join("empty.txt").display().to_string();
    fs::write(&empty, "").expect("a file");
    for (arguments, says) in [
        (
            vec!["simulate", "/nowhere", "-c", "1"],
            "/nowhere: cannot read",
        ),
        (
            vec!["simulate", &bad, "-c", "1"],
            "line 3: \"-3\" is negative",
        ),
        (vec!["simulate", &empty, "-c", "1"], "no references"),
        (
            vec!["simulate", &trace, "-c", "0"],
            "a policy needs a page of memory",
        ),
        (vec!["simulate", &trace, "-c", "1000%"], "at most 100 %"),
        (
            vec!["simulate", &trace, "-c", "many"],
            "pages, bytes or per cent",
        ),
        (vec!["simulate", &trace, "-p", "mru"], "no policy 'mru'"),
        (vec!["simulate", &trace, "-p", "2q:x=1"], "it has kin, kout"),
        (
            vec!["simulate", &trace, "--page-size", "1000"],
            "power of two",
        ),
        (
            vec!["simulate", &trace, "--format", "foo"],
            "no format 'foo'",
        ),
        (vec!["simulate", &trace, "--task", "1"], "tells no tasks"),
        (vec!["simulate", &trace, "--clock", "trace"], "has no times"),
        (
            vec!["simulate", &trace, "--window", "5..5"],
            "no reference is between",
        ),
        (
            vec!["simulate", &trace, "--plot", "x.gif"],
            "must end in .svg, .png or .html",
        ),
        (vec!["convert", &trace, "/dev/full/x.csv"], "cannot write"),
        (
            vec!["convert", &trace, "out.what"],
            "no format has this ending",
        ),
        (vec!["synth", "loop"], "there are zipf"),
    ] {
        let said = complaint(&arguments);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

/// A file that cannot be written to its end does not appear, and nothing is left of it.
#[test]
fn no_half_of_a_file_is_left() {
    let directory = tempfile::tempdir().expect("a directory");
    let bad = directory.path().join("bad.txt").display().to_string();
    fs::write(&bad, format!("{}x\n", "7\n".repeat(50_000))).expect("a file");
    let out = directory.path().join("out.parquet").display().to_string();
    let said = complaint(&["convert", &bad, &out]);
    assert!(
        said.contains("line 50001") && said.contains("out.parquet"),
        "{said}"
    );
    let left: Vec<_> = fs::read_dir(directory.path())
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["bad.txt"]);
    let full = warmset(&["synth", "scan", "-n", "100000", "-o", "-", "--to", "csv"]);
    assert!(full.status.success());
    let to_full = Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
        .args(["synth", "scan", "-n", "100000", "--to", "csv"])
        .stdout(
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .expect("/dev/full"),
        )
        .output()
        .expect("synth runs");
    let said = String::from_utf8_lossy(&to_full.stderr).into_owned();
    assert!(
        !to_full.status.success() && said.contains("No space left"),
        "{said}"
    );
}

#[test]
fn an_analysis_says_draws_and_prints_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let trace = made(
        directory.path(),
        "phased.parquet",
        "phases:pages=60,count=4,length=5000,overlap=0",
    );
    let page = directory.path().join("report.html");
    let page = page.to_str().unwrap();
    let pictures = directory.path().join("pictures");
    let pictures = pictures.to_str().unwrap();
    let told: Value =
        serde_json::from_str(&said(&["analyze", &trace, "-o", page, "--json"])).unwrap();
    assert_eq!(told[0]["program"]["pages"], 240);
    assert_eq!(
        told[0]["moves"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|step| step["distance"].as_f64() > Some(0.5))
            .count(),
        3
    );
    let html = fs::read_to_string(page).unwrap();
    assert_eq!(html.matches("<svg").count(), 9);
    let command = told[0]["program"]["command"].as_str().unwrap();
    assert!(
        command == "warmset synth" && !html.contains(command),
        "a page that is shared has no command line"
    );
    let size = told[0]["windows"][0]["size"].as_f64().unwrap();
    assert!(html.contains(&format!("<td>{size:.3}</td>")));
    let text = said(&["analyze", &trace, "--theta", "100,2000"]);
    assert!(
        text.contains("θ = 100:") && text.contains("In 3 of 200 intervals"),
        "{text}"
    );
    let other = made(directory.path(), "other.parquet", "zipf:pages=50");
    said(&["analyze", &trace, &other, "-o", page, "--force"]);
    assert!(fs::read_to_string(page).unwrap().contains("phased, other"));
    said(&["analyze", &other, "--pictures", pictures]);
    assert_eq!(fs::read_dir(pictures).unwrap().count(), 9 * 2);
}

#[test]
fn a_trace_that_cannot_be_analyzed_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let trace = made(directory.path(), "it.parquet", "zipf:pages=50");
    let part = |name: &str, size: usize| {
        let path = directory.path().join(name);
        fs::write(&path, &fs::read(&trace).unwrap()[..size]).unwrap();
        path.display().to_string()
    };
    let empty = part("empty.parquet", 0);
    let cut = part("cut.parquet", 3000);
    for (arguments, says) in [
        (&["analyze", &empty][..], "no references"),
        (&["analyze", &cut], "cut.parquet: "),
        (
            &["analyze", &trace, "--theta", "30000"],
            "a window of 30000",
        ),
        (
            &["analyze", &trace, "-o", "/no/such/folder/report.html"],
            "/no/such/folder",
        ),
        (
            &["analyze", &trace, "-o", "report.pdf"],
            "must end in .html",
        ),
        (&["analyze", "/no/such/trace"], "/no/such/trace"),
    ] {
        let complaint = complaint(arguments);
        assert!(complaint.contains(says), "{arguments:?}: {complaint}");
    }
}

/// Up to the number after `--window 0..`.
fn window_told(complaint: &str) -> &str {
    let (_, after) = complaint.split_once("`--window ").expect("a window");
    after.split_once('`').expect("its end").0
}

#[test]
fn a_trace_that_needs_too_much_memory_is_refused_with_what_fits() {
    let directory = tempfile::tempdir().unwrap();
    let trace = made(directory.path(), "it.parquet", "zipf:pages=50");
    let memory = ["--memory", "24660 KiB"];
    let complaint_of_all = complaint(&[&["analyze", &trace][..], &memory].concat());
    for says in [
        "20000 references to 50 pages takes about 24",
        "24 MiB may be taken",
        "curve --stream all",
    ] {
        assert!(complaint_of_all.contains(says), "{complaint_of_all}");
    }
    let window = window_told(&complaint_of_all);
    said(&[&["analyze", &trace, "--window", window][..], &memory].concat());
    said(&["analyze", &trace, "--memory", "30 MiB"]);
    let hardly = complaint(&["analyze", &trace, "--memory", "1 MiB"]);
    assert!(
        hardly.contains("curve --stream all") && !hardly.contains("--window"),
        "{hardly}"
    );
}

#[test]
fn a_capacity_above_the_footprint_is_marked_and_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("a.txt");
    fs::write(&trace, "1\n2\n3\n1\n2\n4\n").unwrap();
    let trace = trace.display().to_string();
    let done = warmset(&["simulate", &trace, "-p", "lru,s3fifo", "-c", "2,1000"]);
    assert!(done.status.success());
    let said = String::from_utf8(done.stdout).unwrap();
    let marked: Vec<&str> = said.lines().filter(|line| line.ends_with(" +")).collect();
    assert_eq!(marked.len(), 2, "{said}");
    assert!(
        marked.iter().all(|line| line.contains("1000            4")),
        "{said}"
    );
    assert!(said.contains("more than 4 pages is never used"), "{said}");
}

#[test]
fn convert_says_what_it_drops() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let trace = path("requests.csv");
    fs::write(&trace, "time,key,size,op\n1.0,a,100,get\n2.0,b,50,get\n").expect("a trace");
    for (name, dropped) in [
        ("a.oracleGeneral", Some("op")),
        ("a.u64", Some("time, op, size")),
        ("a.parquet", None),
        ("a.csv", None),
    ] {
        let output = warmset(&["convert", &trace, &path(name)]);
        assert!(output.status.success(), "{name}");
        let said = String::from_utf8(output.stderr).expect("text");
        let note = dropped
            .map(|columns| format!("dropped, as its format has no place for it: {columns}\n"));
        match note {
            Some(note) => assert!(said.contains(&note), "{name}: {said}"),
            None => assert!(!said.contains("dropped"), "{name}: {said}"),
        }
    }
    let told: Value =
        serde_json::from_str(&said(&["convert", &trace, &path("b.u32"), "--json"])).expect("JSON");
    assert_eq!(told["dropped"], serde_json::json!(["time", "op", "size"]));
    let quiet = warmset(&["convert", "--quiet", &trace, &path("c.u32")]);
    assert!(quiet.stderr.is_empty());
    // Instructions are no nanoseconds, as which a table's times are read.
    let lackey = path("lackey.txt");
    fs::write(&lackey, "I  04000,4\n L 08000,4\nI  04004,4\n").expect("a trace");
    let output = warmset(&[
        "convert",
        &lackey,
        &path("lackey.csv"),
        "--format",
        "lackey",
    ]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("its times are instructions"), "{said}");
}

/// DAMON's records have no order within a look: a policy's misses would be of an order that never was.
#[test]
fn looks_at_a_program_are_refused_by_what_needs_an_order() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("damon.json");
    let record = r#"[{"target_id":0,"snapshots":[
        {"end_time":5000000,"regions":[{"start":4096,"end":40960,"nr_accesses":3}]},
        {"end_time":9000000,"regions":[{"start":4096,"end":20480,"nr_accesses":3}]}]}]"#;
    fs::write(&trace, record).unwrap();
    let trace = trace.display().to_string();
    for arguments in [
        &["simulate", &trace, "-c", "2"][..],
        &["curve", &trace, "--of", "lru"],
        &["curve", &trace, "--of", "lru", "--sample", "0.5"],
        &["curve", &trace, "--stream", "100"],
        &["curve", &trace, "--stream", "all"],
        &["together", &trace, "--with", &trace, "-m", "50%"],
    ] {
        let said = complaint(arguments);
        assert!(
            said.contains("needs the order of uses"),
            "{arguments:?}: {said}"
        );
    }
    let window = said(&["curve", &trace, "--of", "ws", "--clock", "trace"]);
    assert!(window.contains("ws"), "{window}");
}

/// The files of a directory, and what is in them.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries
        .map(|entry| (entry.path(), fs::read(entry.path()).expect("a file")))
        .collect()
}

#[test]
fn a_sweep_has_the_scores_of_simulations() {
    let directory = tempfile::tempdir().expect("a directory");
    let traces = [
        made(directory.path(), "a.parquet", "zipf:pages=300"),
        made(directory.path(), "b.parquet", "phases:pages=50,length=2000"),
    ];
    let sweep = directory.path().join("sweep.toml").display().to_string();
    let text = "traces = [\"a.parquet\", \"b.parquet\"]\npolicies = [\"lru\", \"fifo\", \"opt\"]\ncapacities = [\"40\", \"10%\"]\n";
    fs::write(&sweep, text).expect("a file");
    said(&["sweep", "all", &sweep, "--jobs", "2"]);
    let into = directory.path().join("sweep");
    let mut scores = 0;
    for task in fs::read_dir(into.join("tasks")).expect("tasks") {
        let path = task.expect("a task").path();
        let task: Value = serde_json::from_slice(&fs::read(&path).expect("a task")).expect("JSON");
        let id = path.file_stem().expect("a name").to_string_lossy();
        let part = fs::read(into.join(format!("parts/{id}.json.zst"))).expect("a part");
        let part = zstd::decode_all(&part[..]).expect("zstd");
        let part: Value = serde_json::from_slice(&part).expect("JSON");
        let policy = task["work"]["simulate"]["policy"].as_str().expect("a name");
        let trace = task["trace"].as_str().expect("a path");
        assert!(traces.iter().any(|path| trace.ends_with(path)), "{trace}");
        let rows = lines(&said(&[
            "simulate", trace, "-p", policy, "-c", "40,10%", "--json",
        ]));
        let found = part["part"]["scores"].as_array().expect("scores");
        assert_eq!(found.len(), rows.len());
        for (score, row) in found.iter().zip(&rows) {
            for column in ["capacity", "references", "distinct", "misses", "mean_size"] {
                assert_eq!(score[column], row[column], "{policy}: {column}");
            }
            scores += 1;
        }
    }
    assert_eq!(scores, 12);
    let again = said(&["sweep", "all", &sweep, "--jobs", "1"]);
    assert!(again.contains("12 rows in "), "{again}");
    // By hand, in the order of a shell.
    let parts = into.join("parts");
    let before = contents(&parts);
    fs::remove_dir_all(&parts).expect("the parts are removed");
    let tasks = contents(&into.join("tasks")).into_keys();
    let tasks: Vec<String> = tasks.map(|path| path.display().to_string()).collect();
    let mut run = vec!["sweep", "run"];
    run.extend(tasks.iter().map(String::as_str));
    assert!(said(&run).contains("6 of 6 tasks were run"));
    assert_eq!(contents(&parts), before);
}
