//! On recordings made in the lab, forecasts come true as often as they say.

use host::recordings::Reader;
use pressure::recording::Entry;
use pressure::replay::{Coverage, calibrate};
use std::path::Path;

/// Points of a hundred by which a forecast may be better or worse than it says.
const POINTS: f64 = 0.05;

#[test]
fn forecasts_cover_what_happens_as_often_as_they_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/lab");
    let mut growth = Coverage::default();
    let mut demand = Coverage::default();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "gz") {
            let entries: Vec<Entry> = Reader::open(&path)
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let calibration = calibrate(&entries).unwrap();
            (growth, demand) = (
                growth.and(calibration.growth),
                demand.and(calibration.demand),
            );
        }
    }
    for (name, coverage, least) in [("growth", growth, 100), ("demand", demand, 2000)] {
        let share = coverage.share().unwrap();
        assert!(coverage.made >= least, "{name}: {coverage:?}");
        assert!(
            (share - coverage.said).abs() <= POINTS,
            "{name}: {share:.3}, {coverage:?}"
        );
    }
}
