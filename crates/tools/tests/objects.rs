//! `simulate` and `policies` with `--objects`, as a user runs them.

#[path = "helpers/as_user.rs"]
mod as_user;

use as_user::{complaint, lines, made, said};
use serde_json::Value;
use std::fs;

#[test]
fn a_cache_of_objects_counts_misses_and_bytes() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let trace = path("requests.csv");
    // b changes its size, c is larger than the cache, and d has no bytes.
    let text =
        "key,size,op\na,100,get\nb,50,get\na,100,get\nb,60,get\nc,900,get\nd,0,get\na,100,get\n";
    fs::write(&trace, text).expect("a trace");
    let rows = lines(&said(&[
        "simulate",
        &trace,
        "--objects",
        "-c",
        "200",
        "-p",
        "lru,fifo",
        "--json",
    ]));
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["references"], 6);
        assert_eq!(
            (&row["misses"], &row["missed_bytes"]),
            (&4.into(), &1110.into())
        );
        assert_eq!(row["byte_miss_ratio"].as_f64(), Some(1110.0 / 1310.0));
        assert_eq!(
            (&row["objects"], &row["footprint"]),
            (&3.into(), &1060.into())
        );
        assert_eq!((&row["too_large"], &row["resized"]), (&1.into(), &1.into()));
        assert_eq!(row["without_size"], 1);
        assert_eq!(row["trace"]["references"], 7);
    }
    let table = said(&["simulate", &trace, "--objects", "-c", "200", "-p", "all"]);
    let first = "6 references of 1.2 KiB to 3 objects of 1 KiB, the largest 900 B";
    assert!(table.starts_with(first), "{table}");
    for note in [
        "the largest has 900 bytes",
        "1 references are to an object of another size than before: they count as misses",
        "1 references of size 0 are passed over",
    ] {
        assert!(table.contains(note), "{table}");
    }
    let as_hits = [
        "simulate",
        &trace,
        "--objects",
        "--resized",
        "hit",
        "-c",
        "200",
        "-p",
        "lru",
        "--csv",
    ];
    let row = said(&as_hits);
    assert!(row.contains("\n\"lru\",200,6,1310,3,1060,3,"), "{row}");
    let refused = complaint(&["simulate", &trace, "--objects", "--resized", "refuse"]);
    assert!(
        refused.contains("changes its size from 50 to 60 bytes"),
        "{refused}"
    );
    let pages = made(directory.path(), "pages.parquet", "zipf:pages=50");
    let refused = complaint(&["simulate", &pages, "--objects"]);
    assert!(
        refused.contains("the trace has no sizes of objects"),
        "{refused}"
    );
    let refused = complaint(&["simulate", &trace, "--objects", "-p", "arc"]);
    assert!(refused.contains("no policy of objects 'arc'"), "{refused}");
    // The sizes are kept in a page trace, and the result is the same.
    let parquet = path("requests.parquet");
    said(&["convert", &trace, &parquet]);
    let again = lines(&said(&[
        "simulate",
        &parquet,
        "--objects",
        "-c",
        "200",
        "-p",
        "lru",
        "--json",
    ]));
    assert_eq!(again[0]["missed_bytes"], 1110);
    let plot = path("plot.svg");
    said(&["simulate", &trace, "--objects", "--plot", &plot]);
    assert!(
        fs::read_to_string(&plot)
            .expect("a plot")
            .contains("lru, bytes")
    );
    let listed: Value =
        serde_json::from_str(&said(&["policies", "--objects", "--json"])).expect("JSON");
    let names: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|policy| policy["name"].as_str())
        .collect();
    assert!(
        names.contains(&"gdsf") && !names.contains(&"arc"),
        "{names:?}"
    );
}
