//! `warmset mode`: what is in force is what it says, or all is as before.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use expect_test::expect;
use place::{Place, Said};
use serde_json::{Value, json};
use std::fs;

/// A machine with a main file, on which warmsetd runs in this mode, if in any.
fn machine(runs_in: Option<&str>) -> Place {
    let place = Place::new();
    place.with_systemctl();
    place.write("root/etc/warmset/warmset.toml", "mode = \"tune\"\n");
    if let Some(mode) = runs_in {
        place.write("state/active-warmsetd.service", "");
        place.guard_answers(mode, &Value::Null);
    }
    place
}

fn mode(place: &Place, arguments: &[&str]) -> Said {
    place.on_its_root("mode", arguments)
}

fn drop_in(place: &Place) -> Option<String> {
    fs::read_to_string(place.path("root/etc/warmset/conf.d/99-mode.toml")).ok()
}

/// What systemctl was asked for, without the questions.
fn asked(place: &Place) -> Vec<String> {
    let log = fs::read_to_string(place.path("state/log")).unwrap_or_default();
    let orders = log.lines().filter(|line| !line.starts_with("is-"));
    orders.map(str::to_owned).collect()
}

#[test]
fn the_mode_and_where_it_is_set_are_shown() {
    let place = machine(Some("tune"));
    mode(&place, &[]).assert(&expect![[r#"
        exit 0
        --- out
        mode       tune, set in PLACE/root/etc/warmset/warmset.toml
        it may     set watermarks, compaction and per-node reclaim; it signals no
                   process
        warmsetd   runs in mode tune (process 42)
        --- err
    "#]]);
    fs::remove_file(place.path("root/etc/warmset/warmset.toml")).unwrap();
    let said = mode(&place, &["--json"]).json();
    assert_eq!(said["mode"], "protect", "the default");
    assert_eq!(said["set_by"], Value::Null);
    assert_eq!(said["runs_in"], "tune");
}

#[test]
fn a_mode_is_written_and_taken_over() {
    let place = machine(Some("protect"));
    mode(&place, &["protect"]).assert(&expect![[r#"
        exit 0
        --- out
        mode       protect, set in PLACE/root/etc/warmset/conf.d/99-mode.toml
        it may     do what guard may; hold hot files and keep critical units in memory,
                   while memory is short
        warmsetd   runs in mode protect (process 42)
        --- err
    "#]]);
    assert_eq!(
        drop_in(&place).unwrap(),
        "# Written by `warmset mode`.\nmode = \"protect\"\n"
    );
    assert_eq!(asked(&place), ["reload warmsetd.service"]);
}

#[test]
fn a_guard_that_observes_is_restarted() {
    let place = machine(None);
    place.write("state/active-warmsetd.service", "");
    place.guard_answers("observe", &json!("mode observe"));
    let said = mode(&place, &["observe"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(asked(&place), ["restart warmsetd.service"]);
}

#[test]
fn where_no_guard_runs_the_mode_is_written_and_that_is_said() {
    let place = machine(None);
    mode(&place, &["guard"]).assert(&expect![[r#"
        exit 0
        --- out
        mode       guard, set in PLACE/root/etc/warmset/conf.d/99-mode.toml
        it may     do what tune may; throttle what makes memory run out, ask its user,
                   and send SIGTERM, then SIGKILL
        warmsetd   does not run: sudo systemctl enable --now warmsetd.service
        --- err
    "#]]);
    assert!(drop_in(&place).unwrap().contains("\"guard\""));
    assert_eq!(asked(&place), Vec::<String>::new());
}

#[test]
fn a_dry_run_changes_nothing() {
    let place = machine(Some("tune"));
    mode(&place, &["guard", "--dry-run"]).assert(&expect![[r#"
        exit 0
        --- out
        would write PLACE/root/etc/warmset/conf.d/99-mode.toml:
          # Written by `warmset mode`.
          mode = "guard"
        and have warmsetd.service take it over; nothing is changed now
        --- err
    "#]]);
    let plan = mode(&place, &["guard", "--dry-run", "--json"]).json();
    assert_eq!(plan["mode"], "guard");
    assert_eq!(plan["written"], false);
    assert!(plan["text"].as_str().unwrap().contains("mode = \"guard\""));
    assert_eq!(drop_in(&place), None);
    assert_eq!(asked(&place), Vec::<String>::new());
}

/// A file that sorts behind ours has the last word.
#[test]
fn a_later_file_is_named_and_nothing_is_changed() {
    let place = machine(Some("tune"));
    place.write(
        "root/etc/warmset/conf.d/protect.toml",
        "mode = \"protect\"\n",
    );
    mode(&place, &["guard"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: nothing was changed: PLACE/root/etc/warmset/conf.d/protect.toml sets the mode protect and is read last
        hint: remove the line `mode = …` there
    "#]]);
    assert_eq!(drop_in(&place), None);
}

/// The second switch of older versions is honoured, so it is named.
#[test]
fn an_old_switch_that_is_off_is_named() {
    let place = machine(Some("tune"));
    place.write(
        "root/etc/warmset/conf.d/old.toml",
        "[protect]\nenabled = false\n",
    );
    mode(&place, &["protect"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: nothing was changed: with this configuration the mode protect is guard
        hint: remove the line `enabled = false` below [protect]: warmset check names the file
    "#]]);
    assert_eq!(drop_in(&place), None);
}

#[test]
fn a_configuration_that_is_not_right_is_left_as_it_is() {
    let place = machine(Some("tune"));
    place.write("root/etc/warmset/conf.d/10-x.toml", "[gap]\nmaximum = 3\n");
    let said = mode(&place, &["guard"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("nothing was changed"), "{said:?}");
    assert!(said.err.contains("10-x.toml:2:1"), "{said:?}");
    assert_eq!(drop_in(&place), None);
}

#[test]
fn what_was_there_comes_back_where_a_step_fails() {
    let place = machine(Some("tune"));
    place.write("root/etc/warmset/conf.d/99-mode.toml", "mode = \"guard\"\n");
    place.write("state/fail", "reload\n");
    let said = mode(&place, &["protect"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("the mode is as it was before"),
        "{said:?}"
    );
    assert_eq!(drop_in(&place).unwrap(), "mode = \"guard\"\n");
    assert_eq!(
        asked(&place),
        ["reload warmsetd.service", "restart warmsetd.service"]
    );
}

/// It answers, but goes on in another mode.
#[test]
fn a_guard_that_does_not_follow_is_not_believed() {
    let place = machine(Some("tune"));
    let said = mode(&place, &["guard"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("warmsetd runs in mode tune"), "{said:?}");
    assert_eq!(drop_in(&place), None);
}
