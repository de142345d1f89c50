//! The program as it is called: arguments → exit code, standard output, standard error.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use expect_test::expect;
use place::{Place, Said};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[test]
fn every_help_succeeds_and_lists_the_exit_codes() {
    let place = Place::new();
    let help = |args: &[&str]| {
        let said = place.warmset(args);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{args:?}");
        assert!(
            said.out
                .contains("  3    no guard is running, and one is needed"),
            "{args:?}: {}",
            said.out
        );
        assert!(
            said.out.lines().all(|line| line.chars().count() <= 100),
            "{args:?}: {}",
            said.out
        );
    };
    help(&["--help"]);
    let tools = warmset_tools::command();
    for subcommand in warmset_cli::command().get_subcommands() {
        let is_own = tools.find_subcommand(subcommand.get_name()).is_none();
        if !is_own || subcommand.get_name() == "help" {
            continue;
        }
        help(&[subcommand.get_name(), "--help"]);
        help(&[subcommand.get_name(), "-h"]);
    }
}

/// A copy of the program where `warmset-tools` is not beside it.
fn alone(place: &Place) -> Command {
    let program = place.path("bin/warmset");
    fs::create_dir_all(place.path("bin")).unwrap();
    // Not fs::copy: a child that another test starts may hold the copy open for writing (ETXTBSY).
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_warmset").as_ref(), program.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    Command::new(program)
}

#[test]
fn a_subcommand_of_the_tools_runs_them_with_the_same_arguments() {
    let place = Place::new();
    fs::create_dir_all(place.path("bin")).unwrap();
    testsupport::write_program(
        &place.path("bin/warmset-tools"),
        "#!/bin/sh\necho \"$@\"\nexit 7\n",
    );
    for (args, expected) in [
        (
            &["--json", "simulate", "a.xz", "--policy", "lru", "--json"][..],
            "--json simulate a.xz --policy lru --json\n",
        ),
        (&["curve", "--help"], "curve --help\n"),
        (&["help", "curve"], "curve --help\n"),
        (&["trace", "--", "ls", "-l"], "trace -- ls -l\n"),
    ] {
        let said = Said::new(alone(&place).args(args).output().unwrap(), place.dir.path());
        assert_eq!((said.code, said.out.as_str()), (Some(7), expected));
    }
}

#[test]
fn without_the_tools_their_package_is_named() {
    let place = Place::new();
    let output = alone(&place)
        .args(["simulate", "a.xz"])
        .env("PATH", place.path("bin"))
        .output()
        .unwrap();
    Said::new(output, place.dir.path()).assert(&expect![[r#"
        exit 127
        --- out
        --- err
        error: this subcommand needs warmset-tools, which is not installed
        hint: install the package warmset-tools, or build it from Warmset's source with `make build`
    "#]]);
}

#[test]
fn the_help_of_help_and_of_a_word_that_is_none() {
    let place = Place::new();
    let help = place.warmset(&["help"]);
    assert_eq!(help.out, place.warmset(&["--help"]).out);
    assert_eq!(
        place.warmset(&["help", "why"]).out,
        place.warmset(&["why", "--help"]).out
    );
    let said = place.warmset(&["simulat"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("'simulate'"), "{}", said.err);
}

#[test]
fn a_wrong_command_line_is_2_and_names_the_word() {
    let place = Place::new();
    for (args, word) in [
        (&[][..], "Usage"),
        (&["stat"], "stat"),
        (&["status", "--colour"], "--colour"),
        (&["why", "-n", "many"], "many"),
        (&["record", "--for", "30"], "\"30\" is not a time"),
        (&["replay"], "FILE"),
        (&["import", "swapd", "x"], "swapd"),
    ] {
        let said = place.warmset(args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(said.err.contains(word), "{args:?}: {}", said.err);
    }
}

#[test]
fn features_lists_all_knobs_and_json_parses() {
    let place = Place::new();
    let said = place.warmset(&["features"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(
        said.out
            .contains("vm.watermark_scale_factor        10         1 to 3000  by default\n"),
        "{}",
        said.out
    );
    assert!(
        said.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        said.out
    );
    let json = place.warmset(&["features", "--json"]).json();
    assert_eq!(
        json["knobs"].as_array().unwrap().len(),
        pressure::knob::COUNT
    );
    assert!(
        json["features"]
            .as_array()
            .unwrap()
            .iter()
            .any(|feature| feature["presence"] == "present")
    );
}

#[test]
fn doctor_opens_with_the_cost_and_fails_only_for_a_problem() {
    let place = Place::new();
    let said = place.warmset(&["doctor"]);
    let report = place.warmset(&["doctor", "--json"]);
    assert!(
        said.out
            .starts_with("What memory pressure has cost since boot, "),
        "{}",
        said.out
    );
    let levels: Vec<Value> = report.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["level"].clone())
        .collect();
    let is_ill = levels.iter().any(|level| level == "problem");
    assert_eq!(
        (said.code, report.code),
        (Some(i32::from(is_ill)), Some(i32::from(is_ill)))
    );
    assert_eq!(report.json()["cost"]["oom_kills"], 0);
    let cost = place.warmset(&["doctor", "--cost"]);
    assert_eq!((cost.code, cost.err.as_str()), (Some(0), ""));
    assert!(said.out.starts_with(&cost.out), "{}", cost.out);
    assert!(cost.out.contains("\nkilled  "), "{}", cost.out);
    assert_eq!(
        place.warmset(&["doctor", "--cost", "--json"]).json(),
        report.json()["cost"]
    );
}

#[test]
fn a_machine_that_is_none_is_an_error_with_its_path() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    for subcommand in ["status", "features", "doctor"] {
        let output = Command::new(env!("CARGO_BIN_EXE_warmset"))
            .args([subcommand, "--root"])
            .arg(place.path("empty"))
            .args(place.run_of(&[subcommand]))
            .output()
            .unwrap();
        let said = Said::new(output, place.dir.path());
        assert_eq!(
            (said.code, said.out.as_str()),
            (Some(1), ""),
            "{subcommand}"
        );
        assert!(
            said.err.starts_with("error: PLACE/empty/proc/meminfo: "),
            "{subcommand}: {}",
            said.err
        );
    }
}

#[test]
fn check_says_ok_and_what_differs() {
    let place = Place::new();
    place.write("a.toml", "aggressiveness = 3\n[gap]\nmax = \"2 %\"\n");
    let said = place.warmset(&["check", "a.toml"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("ok: a.toml\n"), "{}", said.out);
    assert!(
        said.out
            .ends_with("  aggressiveness: 2 → 3\n  gap.max: not set → \"2 %\"\n"),
        "{}",
        said.out
    );
}

#[test]
fn check_shows_the_line_with_a_mark_under_the_column() {
    let place = Place::new();
    place.write("a.toml", "[wake]\n\tcalmest = \"5\"\n");
    let said = place.warmset(&["check", "a.toml"]);
    said.assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: a.toml:2:12: "5" is not a time with its unit, such as "500 ms", "30 s" or "5 min"
          2 | 	calmest = "5"
            | 	          ^
    "#]]);
    let json = place.warmset(&["check", "a.toml", "--json"]);
    assert_eq!(
        (
            json.code,
            json.json()["ok"].clone(),
            json.json()["at"].clone()
        ),
        (Some(1), json!(false), json!([2, 12]))
    );
}

#[test]
fn check_refuses_what_the_guard_would() {
    let place = Place::new();
    let path = place.write("a.toml", "");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    place.warmset(&["check", "a.toml"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: a.toml: others may write to it; chmod go-w
    "#]]);
    place.write("binary.toml", [0xff, 0xfe, 0]);
    place
        .warmset(&["check", "binary.toml"])
        .assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: binary.toml: it is not text in UTF-8
    "#]]);
    place.warmset(&["check", "none.toml"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: none.toml: there is no such file
    "#]]);
}

#[test]
fn check_refuses_a_hook_that_cannot_be_run() {
    let place = Place::new();
    place.write("a.toml", "[hooks]\nended = \"/tmp/hook\"\n");
    let said = place.warmset(&["check", "a.toml"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("error: hooks.ended: ")
            && said.err.contains("/tmp: there is no such file"),
        "{}",
        said.err
    );
}

#[test]
fn restore_puts_back_what_is_ours_and_says_so() {
    let place = Place::new();
    let knob = place.write("proc/sys/vm/watermark_scale_factor", "143\n");
    place.write("proc/sys/kernel/random/boot_id", "this-boot\n");
    let log = "warmset-undo 1 this-boot\nproc/sys/vm/watermark_scale_factor\t10\t143\t120\n";
    let undo = place.write("run/undo", log);
    fs::set_permissions(&undo, fs::Permissions::from_mode(0o600)).unwrap();
    let restore = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warmset"));
        command
            .arg("restore")
            .arg("--root")
            .arg(place.dir.path())
            .arg("--run")
            .arg(place.path("run"));
        Said::new(command.output().unwrap(), place.dir.path())
    };
    restore().assert(&expect![[r#"
        exit 0
        --- out
        put back vm.watermark_scale_factor 143 → 10
        --- err
    "#]]);
    assert_eq!(fs::read_to_string(knob).unwrap(), "10\n");
    assert!(!undo.exists());
    restore().assert(&expect![[r#"
        exit 0
        --- out
        nothing to put back
        --- err
    "#]]);
}

#[test]
fn import_prints_the_translation_and_never_overwrites() {
    let place = Place::new();
    place.write("old", "# theirs\nAGGRESSIVENESS = 0\nMAXGAP=2\nFOO = 1\n");
    place.warmset(&["import", "adaptivemmd", "old"]).assert(&expect![[r#"
        exit 1
        --- out
        # Taken over from adaptivemmd.
        aggressiveness = 1 # AGGRESSIVENESS

        [gap]
        max = "2 GiB" # MAXGAP
        --- err
        left out: line 4: "FOO": it is not a key of theirs
        note: line 2: AGGRESSIVENESS = 0 made them loop without a pause
        note: line 2: AGGRESSIVENESS = 0 is out of range: taken as 1
        note: negative dentries were limited by default there; here caches.negative-dentries = "limit" asks for it
        note: names and inodes were preferred by default there; here caches.prefer = "objects" asks for it
        note: the gap is sized from demand; to compare with adaptivemmd's line through eight samples, add predictor = "classic"
    "#]]);
    // What loses a setting writes nothing, so that what follows `&&` does not happen.
    let refused = place.warmset(&["import", "memoptimizer", "old", "-o", "new.toml"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    let end = "error: new.toml: not written, as 1 setting is left out\nhint: add --lenient to write it without them\n";
    assert!(refused.err.ends_with(end), "{}", refused.err);
    assert!(!place.path("new.toml").exists());
    let lenient = [
        "import",
        "memoptimizer",
        "old",
        "-o",
        "new.toml",
        "--lenient",
    ];
    for time in ["first", "again"] {
        let written = place.warmset(&lenient);
        assert_eq!(
            (written.code, written.out.as_str()),
            (Some(0), ""),
            "{time}"
        );
    }
    assert_eq!(place.warmset(&["check", "new.toml"]).code, Some(0));
    place.write("new.toml", "# mine\n");
    let other = place.warmset(&lenient);
    assert_eq!(other.code, Some(1));
    assert!(
        other
            .err
            .contains("error: new.toml: cannot write: it is there, with other content"),
        "{}",
        other.err
    );
    assert_eq!(
        fs::read_to_string(place.path("new.toml")).unwrap(),
        "# mine\n"
    );
    let json = place
        .warmset(&["import", "adaptivemmd", "old", "--json"])
        .json();
    assert!(
        json["toml"]
            .as_str()
            .unwrap()
            .contains("aggressiveness = 1")
    );
    let left_out = json!([{ "setting": "line 4: \"FOO\"", "reason": "it is not a key of theirs" }]);
    assert_eq!(json["left_out"], left_out);
    assert_eq!(json["notes"].as_array().unwrap().len(), 5);
}

#[test]
fn a_page_that_is_there_is_replaced_only_by_force() {
    let place = Place::new();
    let page = place.write("page.html", "mine");
    let name = page.display().to_string();
    for args in [
        ["report", "--from", &name, "-o", &name],
        ["prove", "--kernel", "6.12", "--out", &name],
    ] {
        let said = place.warmset(&args);
        assert_eq!(said.code, Some(1), "{args:?}");
        assert!(said.err.contains("this file is there already"), "{said:?}");
        assert_eq!(fs::read_to_string(&page).unwrap(), "mine", "{args:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let mut child = place
        .command(&["features"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let said = Said::new(child.wait_with_output().unwrap(), place.dir.path());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn text_in_a_pipe_has_no_colour() {
    let place = Place::new();
    let output = place
        .command(&["doctor"])
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn all_of_it_fits_a_phone() {
    let place = Place::new();
    for args in [
        &["status"][..],
        &["top", "--once", "--every", "100ms"],
        &["doctor"],
    ] {
        let output = place.command(args).env("COLUMNS", "40").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            !text.is_empty() && text.lines().all(|line| line.chars().count() <= 40),
            "{args:?}: {text}"
        );
    }
}

#[test]
fn an_exemption_is_set_and_released_by_hand() {
    let place = Place::new();
    assert_eq!(place.warmset(&["spare"]).out, "nothing is exempt by hand\n");
    let exempt = place.warmset(&["spare", "postgresql.service"]);
    assert_eq!(exempt.out, "exempt: postgresql.service\n");
    assert!(
        exempt.err.contains("app:postgresql.service"),
        "no unit of that name runs: {}",
        exempt.err
    );
    let rules = fs::read_to_string(place.path("run/rules.toml")).unwrap();
    assert!(
        rules.contains("spare = [\"postgresql.service\"]"),
        "{rules}"
    );
    let unknown = place.warmset(&["release", "mysql.service"]);
    assert_eq!(
        (unknown.code, unknown.err.lines().count()),
        (Some(1), 2),
        "{}",
        unknown.err
    );
    assert_eq!(
        place.warmset(&["release", "postgresql.service"]).out,
        "released: postgresql.service\n"
    );
    assert!(!place.path("run/rules.toml").exists());
    assert_eq!(
        place.warmset(&["spare", "999999999"]).code,
        Some(1),
        "no such process"
    );
}

#[test]
fn a_unit_is_protected_by_hand_and_a_slice_of_users_is_not() {
    let place = Place::new();
    assert_eq!(
        place.warmset(&["protect"]).out,
        "nothing is protected by hand\n"
    );
    place.warmset(&["spare", "a.service"]);
    assert_eq!(
        place.warmset(&["protect", "postgresql.service"]).out,
        "protected: postgresql.service\n"
    );
    let rules = fs::read_to_string(place.path("run/rules.toml")).unwrap();
    assert!(
        rules.contains("units = [\"postgresql.service\"]")
            && rules.contains("spare = [\"a.service\"]"),
        "{rules}"
    );
    let slice = place.warmset(&["protect", "user.slice"]);
    assert_eq!(
        (slice.code, slice.err.lines().count()),
        (Some(1), 2),
        "{}",
        slice.err
    );
    assert_eq!(
        place.warmset(&["protect", "999999999"]).code,
        Some(1),
        "no such process"
    );
    assert_eq!(
        place.warmset(&["release", "postgresql.service"]).out,
        "released: postgresql.service\n"
    );
    assert_eq!(place.warmset(&["spare"]).out, "exempt: a.service\n");
}

#[test]
fn files_are_named_to_be_held_and_released_by_hand() {
    let place = Place::new();
    let nobody = "no guard runs: nothing is held; sudo systemctl start warmsetd\n";
    assert_eq!(
        place.warmset(&["hold"]).out,
        format!("no file is named to be held\n{nobody}")
    );
    place.write("data/one", "1");
    place.write("two", "2");
    let data = place.path("data").canonicalize().unwrap();
    let two = place.path("two").canonicalize().unwrap();
    let (data, two) = (data.to_str().unwrap(), two.to_str().unwrap());
    let named = place.warmset(&["hold", "data", "two", "data"]);
    assert_eq!(named.code, Some(0), "{}", named.err);
    let rules = fs::read_to_string(place.path("run/rules.toml")).unwrap();
    assert!(
        rules.contains(&format!("files = [\"{data}\", \"{two}\"]")),
        "each once, by its whole path: {rules}"
    );
    let listed = place.warmset(&["hold", "--json"]).json();
    assert_eq!(listed["paths"][1]["path"], "PLACE/two");
    assert_eq!(listed["paths"][1]["held"], Value::Null, "unknown");
    assert!(listed["nothing_is_held"].is_string());
    for wrong in ["none", "/dev/null"] {
        let refused = place.warmset(&["hold", wrong]);
        assert_eq!(
            (refused.code, refused.err.lines().count()),
            (Some(1), 2),
            "{}",
            refused.err
        );
    }
    let unknown = place.warmset(&["hold", "--release", "/etc/passwd"]);
    assert!(unknown.err.contains("not named by hand"), "{}", unknown.err);
    fs::remove_file(two).unwrap();
    let gone = place.warmset(&["hold", "--release", two]);
    assert_eq!(gone.code, Some(0), "also what is no more: {}", gone.err);
    assert_eq!(place.warmset(&["hold", "--release", "--all"]).code, Some(0));
    assert!(!place.path("run/rules.toml").exists());
    assert_eq!(place.warmset(&["hold", "--release"]).code, Some(2));
}

#[test]
fn a_guard_in_another_mode_holds_nothing_and_says_what_to_type() {
    let place = Place::new();
    place.write("file", "1");
    place.guard_answers("guard", &Value::Null);
    let said = place.warmset(&["hold"]);
    assert!(
        said.out
            .contains("warmsetd runs in mode guard: nothing is held; sudo warmset mode protect"),
        "{}",
        said.out
    );
}

#[test]
fn one_picture_is_printed_where_there_is_no_terminal() {
    let said = Place::new().warmset(&["top", "--every", "100ms"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.starts_with("warmset top · no guard is running\n["),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("GROWTH") && !said.out.contains('\x1b'),
        "{}",
        said.out
    );
}

#[test]
fn a_live_picture_ends_well_by_a_signal() {
    let place = Place::new();
    let mut command = place.command(&["--json", "top", "--every", "100ms"]);
    let mut top = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(top.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(first.starts_with('{'), "{first}");
    let pid = i32::try_from(top.id())
        .ok()
        .and_then(Pid::from_raw)
        .unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

#[test]
fn the_working_set_of_each_unit_comes_with_how_it_is_known() {
    let place = Place::new();
    // This machine, where the test itself is a process with memory.
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmset"));
    command
        .arg("--run")
        .arg(place.path("run"))
        .args(["--json", "top", "--once", "--every", "100ms"]);
    let said = Said::new(command.output().unwrap(), &place.path(""));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let picture = said.json();
    let units = picture["units"].as_array().unwrap();
    let known = ["ages", "lists", "bits", "resident"];
    assert!(
        !units.is_empty()
            && units
                .iter()
                .all(|one| known.contains(&one["known_by"].as_str().unwrap())),
        "{units:?}"
    );
    assert!(
        units
            .iter()
            .all(|one| one["warm"].as_u64() <= one["used"].as_u64()),
        "{units:?}"
    );
    assert!(!picture["processes"].as_array().unwrap().is_empty());
}
