//! `warmset take-over`: at every moment one guard is there, whichever step fails.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use expect_test::expect;
use place::{Place, Said};
use serde_json::{Value, json};
use std::fs;

/// A machine on which a guard runs.
struct Machine {
    place: Place,
}

impl Machine {
    /// `comm` runs as `unit`, with these arguments.
    fn with(comm: &str, line: &str, unit: &str) -> Self {
        let place = Place::new();
        let mut arguments = line.replace(' ', "\0");
        arguments.push('\0');
        place.write("root/proc/12/comm", format!("{comm}\n"));
        place.write("root/proc/12/cmdline", arguments);
        place.write("root/proc/12/cgroup", format!("0::/system.slice/{unit}\n"));
        place.write("root/proc/12/status", "Name:\tx\nUid:\t0\t0\t0\t0\n");
        place.write("root/etc/warmset/warmset.toml", "mode = \"tune\"\n");
        place.write(&format!("state/active-{unit}"), "");
        place.write(&format!("state/enabled-{unit}"), "");
        place.with_systemctl();
        Self { place }
    }

    fn earlyoom() -> Self {
        let machine = Self::with("earlyoom", "/usr/bin/earlyoom -m 7,3", "earlyoom.service");
        machine.place.write(
            "root/usr/lib/systemd/system/earlyoom.service",
            "[Service]\nEnvironmentFile=-/etc/default/earlyoom\nExecStart=/usr/bin/earlyoom $EARLYOOM_ARGS\n",
        );
        machine.place.write(
            "root/etc/default/earlyoom",
            "EARLYOOM_ARGS=\"-m 7,3 --prefer '^(java)$'\"\n",
        );
        machine
    }

    /// Lets warmsetd answer so, as often as it is asked.
    fn warmsetd(&self, mode: &str, only_observes: Value) {
        self.place.guard_answers(mode, &only_observes);
    }

    fn take_over(&self, arguments: &[&str]) -> Said {
        self.place.on_its_root("take-over", arguments)
    }

    fn fail(&self, what: &str) {
        self.place.write("state/fail", format!("{what}\n"));
    }

    fn is(&self, state: &str) -> bool {
        self.place.path(&format!("state/{state}")).exists()
    }

    /// What systemctl was asked for, without the questions.
    fn asked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.place.path("state/log")).unwrap_or_default();
        log.lines()
            .filter(|line| !line.starts_with("is-"))
            .map(str::to_owned)
            .collect()
    }

    fn drop_in(&self, name: &str) -> Option<String> {
        fs::read_to_string(
            self.place
                .path(&format!("root/etc/warmset/conf.d/50-{name}.toml")),
        )
        .ok()
    }

    /// The other guard guards as before, and of warmsetd nothing is left.
    fn assert_as_before(&self, unit: &str) {
        assert!(self.is(&format!("active-{unit}")), "it runs");
        assert!(self.is(&format!("enabled-{unit}")), "at the next boot, too");
        assert!(!self.is("active-warmsetd.service"));
        assert!(!self.is("enabled-warmsetd.service"));
        let left = fs::read_dir(self.place.path("root/etc/warmset/conf.d"));
        assert!(left.is_err() || left.unwrap().next().is_none());
    }
}

#[test]
fn a_guards_place_is_taken() {
    let machine = Machine::earlyoom();
    machine.warmsetd("guard", Value::Null);
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 0
        --- out
        earlyoom.service runs (process 12, earlyoom.service) and reads PLACE/root/etc/default/earlyoom
        note: a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
        wrote PLACE/root/etc/warmset/conf.d/50-earlyoom.toml; the whole configuration is right
        warmsetd runs in mode guard (process 42)
        earlyoom.service is stopped and disabled
        warmsetd guards this machine now
        To go back: sudo systemctl enable --now earlyoom.service && sudo rm PLACE/root/etc/warmset/conf.d/50-earlyoom.toml && sudo systemctl restart warmsetd.service
        --- err
    "#]]);
    expect![[r##"
        # Taken over from earlyoom.
        mode = "guard"

        [guard]
        term-room = "7 %"
        kill-room = "3 %"
        prefer = ["name:java"]
    "##]]
    .assert_eq(&machine.drop_in("earlyoom").unwrap());
    assert_eq!(
        machine.asked(),
        [
            "enable warmsetd.service",
            "restart warmsetd.service",
            "disable --now earlyoom.service",
        ]
    );
    assert!(!machine.is("active-earlyoom.service"));
    assert!(!machine.is("enabled-earlyoom.service"));
    assert!(machine.is("active-warmsetd.service"));
    assert!(machine.is("enabled-warmsetd.service"));
}

#[test]
fn a_dry_run_changes_nothing() {
    let machine = Machine::earlyoom();
    machine
        .take_over(&["earlyoom", "--dry-run"])
        .assert(&expect![[r#"
            exit 0
            --- out
            earlyoom.service runs (process 12, earlyoom.service) and reads PLACE/root/etc/default/earlyoom; nothing is changed now
            The steps, of which each has to succeed before the next:
              1. write PLACE/root/etc/warmset/conf.d/50-earlyoom.toml:
                   # Taken over from earlyoom.
                   mode = "guard"

                   [guard]
                   term-room = "7 %"
                   kill-room = "3 %"
                   prefer = ["name:java"]
              2. systemctl enable warmsetd.service
              3. systemctl restart warmsetd.service
              4. ask warmsetd whether it runs in mode guard
              5. systemctl disable --now earlyoom.service
              6. ask whether earlyoom.service has stopped
            note: a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            --- err
        "#]]);
    assert_eq!(machine.asked(), Vec::<String>::new());
    assert_eq!(machine.drop_in("earlyoom"), None);
}

#[test]
fn json_has_the_whole_plan() {
    let machine = Machine::earlyoom();
    let said = machine
        .take_over(&["earlyoom", "--dry-run", "--json"])
        .json();
    assert_eq!(said["unit"], "earlyoom.service");
    assert_eq!(said["done"], false);
    assert_eq!(said["mode"], "guard");
}

/// hakavlad/nohang#142: what runs is `nohang-desktop.service`, and it reads another file.
#[test]
fn the_unit_that_runs_and_its_file_are_taken() {
    let machine = Machine::with(
        "python3",
        "/usr/bin/python3 /usr/sbin/nohang --monitor --config /etc/nohang/nohang-desktop.conf",
        "nohang-desktop.service",
    );
    machine.place.write(
        "root/etc/nohang/nohang-desktop.conf",
        "soft_threshold_min_mem = 7 %\n",
    );
    machine.place.write(
        "root/etc/nohang/nohang.conf",
        "soft_threshold_min_mem = 1 %\n",
    );
    machine.warmsetd("guard", Value::Null);
    let said = machine.take_over(&["nohang-desktop"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let drop_in = machine.drop_in("nohang-desktop").unwrap();
    assert!(drop_in.contains("term-room = \"7 %\""), "{drop_in}");
    assert!(
        machine
            .asked()
            .contains(&"disable --now nohang-desktop.service".to_owned())
    );
}

/// oomd.conf(5): the file may be in /usr/lib only. Its socket would start it again.
#[test]
fn systemd_oomd_is_stopped_with_its_socket() {
    let machine = Machine::with(
        "systemd-oomd",
        "/usr/lib/systemd/systemd-oomd",
        "systemd-oomd.service",
    );
    machine
        .place
        .write("root/usr/lib/systemd/oomd.conf", "[OOM]\n");
    machine.place.write(
        "root/usr/lib/systemd/system/systemd-oomd.socket",
        "[Socket]\n",
    );
    machine.place.write(
        "root/usr/lib/systemd/system/-.slice.d/10.conf",
        "[Slice]\nManagedOOMSwap=kill\n",
    );
    machine.warmsetd("guard", Value::Null);
    let said = machine.take_over(&["systemd-oomd"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        machine
            .asked()
            .contains(&"disable --now systemd-oomd.service systemd-oomd.socket".to_owned())
    );
}

/// A tuner kills nothing, so warmsetd need not either.
#[test]
fn a_tuners_place_is_taken_in_mode_tune() {
    let machine = Machine::with(
        "adaptivemmd",
        "/usr/sbin/adaptivemmd",
        "adaptivemmd.service",
    );
    machine
        .place
        .write("root/etc/sysconfig/adaptivemmd", "AGGRESSIVENESS = 3\n");
    machine.warmsetd("tune", Value::Null);
    let said = machine.take_over(&["adaptivemmd"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("warmsetd drives what it drove"),
        "{said:?}"
    );
    let drop_in = machine.drop_in("adaptivemmd").unwrap();
    assert!(drop_in.contains("aggressiveness = 3"), "{drop_in}");
}

/// What bustd does is in its program: there is nothing to carry over, and a guard is a guard.
#[test]
fn bustd_has_no_configuration_to_lose() {
    let machine = Machine::with("bustd", "/usr/bin/bustd", "bustd.service");
    machine.warmsetd("guard", Value::Null);
    let said = machine.take_over(&["bustd"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(machine.drop_in("bustd").unwrap(), "mode = \"guard\"\n");
}

/// A drop-in of the unit says how it starts: its arguments are what counts, and not the file.
#[test]
fn arguments_of_a_drop_in_are_not_lost() {
    let machine = Machine::earlyoom();
    machine.place.write(
        "root/etc/systemd/system/earlyoom.service.d/override.conf",
        "[Service]\nExecStart=\nExecStart=/usr/bin/earlyoom -m 4,2\n",
    );
    machine
        .place
        .write("root/proc/12/cmdline", "/usr/bin/earlyoom\0-m\u{0}4,2\0");
    machine.warmsetd("guard", Value::Null);
    let said = machine.take_over(&["earlyoom"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let drop_in = machine.drop_in("earlyoom").unwrap();
    assert!(drop_in.contains("term-room = \"4 %\""), "{drop_in}");
}

/// What the other guard does and this one cannot is no step to take in silence.
#[test]
fn a_setting_that_would_be_lost_stops_the_take_over() {
    let machine = Machine::earlyoom();
    machine.place.write(
        "root/etc/default/earlyoom",
        "EARLYOOM_ARGS=\"-m 4,2 -s 10\"\n",
    );
    machine.warmsetd("guard", Value::Null);
    let said = machine.take_over(&["earlyoom"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("left out: ") && said.err.contains("--lenient"),
        "{said:?}"
    );
    assert!(machine.drop_in("earlyoom").is_none());
    assert_eq!(machine.asked(), Vec::<String>::new(), "nothing was touched");
    let said = machine.take_over(&["earlyoom", "--lenient"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("left out: "), "{said:?}");
}

#[test]
fn protection_is_not_lowered_to_a_guard() {
    for text in ["mode = \"protect\"\n", "# The packaged default.\n"] {
        let machine = Machine::earlyoom();
        machine.place.write("root/etc/warmset/warmset.toml", text);
        machine.warmsetd("protect", Value::Null);
        let said = machine.take_over(&["earlyoom"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(!machine.drop_in("earlyoom").unwrap().contains("mode"));
    }
}

#[test]
fn nothing_is_done_if_the_translation_fails() {
    let machine = Machine::with(
        "python3",
        "python3 /usr/sbin/nohang --monitor --config /etc/gone.conf",
        "nohang.service",
    );
    machine.take_over(&["nohang"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: PLACE/root/etc/gone.conf: cannot read: No such file or directory (os error 2)
        hint: nothing was changed; nohang.service still guards
    "#]]);
    assert_eq!(machine.asked(), Vec::<String>::new());
    machine.assert_as_before("nohang.service");
}

#[test]
fn nothing_is_done_if_the_configuration_would_be_wrong() {
    let machine = Machine::earlyoom();
    machine
        .place
        .write("root/etc/warmset/warmset.toml", "mood = \"good\"\n");
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: the configuration would not be right: PLACE/root/etc/warmset/warmset.toml:1:1: unknown field `mood`, expected one of `mode`, `predictor`, `aggressiveness`, `verbosity`, `log`, `gap`, `compaction`, `caches`, `balance`, `leak`, `guard`, `protect`, `squeeze`, `hooks`, `wake`, `recording`, `metrics`, `tunable`
        hint: nothing was changed; earlyoom.service still guards
    "#]]);
    assert_eq!(machine.asked(), Vec::<String>::new());
}

#[test]
fn nothing_is_done_if_warmsetd_would_not_guard() {
    let machine = Machine::earlyoom();
    machine
        .place
        .write("root/etc/warmset/conf.d/90-site.toml", "mode = \"tune\"\n");
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: with this configuration warmsetd would run in mode tune, and not do the work of earlyoom: see which file sets the mode after PLACE/root/etc/warmset/conf.d/50-earlyoom.toml
        hint: nothing was changed; earlyoom.service still guards
    "#]]);
    assert_eq!(machine.asked(), Vec::<String>::new());
}

#[test]
fn a_file_that_is_there_is_never_overwritten() {
    let machine = Machine::earlyoom();
    machine
        .place
        .write("root/etc/warmset/conf.d/50-earlyoom.toml", "# mine\n");
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: PLACE/root/etc/warmset/conf.d/50-earlyoom.toml: this file is there already
        hint: it may be of an earlier import: move it away, and take over again
    "#]]);
    assert_eq!(machine.asked(), Vec::<String>::new());
    assert_eq!(machine.drop_in("earlyoom").unwrap(), "# mine\n");
}

#[test]
fn what_was_done_is_undone_if_warmsetd_does_not_start() {
    let machine = Machine::earlyoom();
    machine.fail("restart warmsetd");
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        earlyoom.service runs (process 12, earlyoom.service) and reads PLACE/root/etc/default/earlyoom
        note: a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
        wrote PLACE/root/etc/warmset/conf.d/50-earlyoom.toml; the whole configuration is right
        --- err
        error: systemctl restart warmsetd.service: exit status: 1: it is broken
        hint: what was done is undone; earlyoom.service still guards
    "#]]);
    machine.assert_as_before("earlyoom.service");
}

#[test]
fn what_was_done_is_undone_if_warmsetd_does_not_guard() {
    for (mode, only_observes) in [("tune", Value::Null), ("guard", json!("only root may act"))] {
        let machine = Machine::earlyoom();
        machine.warmsetd(mode, only_observes);
        let said = machine.take_over(&["earlyoom"]);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(
            said.err.contains("earlyoom.service still guards"),
            "{said:?}"
        );
        machine.assert_as_before("earlyoom.service");
    }
}

#[test]
fn what_was_done_is_undone_if_the_other_does_not_stop() {
    let machine = Machine::earlyoom();
    machine.warmsetd("guard", Value::Null);
    machine.fail("disable --now earlyoom");
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        earlyoom.service runs (process 12, earlyoom.service) and reads PLACE/root/etc/default/earlyoom
        note: a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
        wrote PLACE/root/etc/warmset/conf.d/50-earlyoom.toml; the whole configuration is right
        warmsetd runs in mode guard (process 42)
        --- err
        error: systemctl disable --now earlyoom.service: exit status: 1: it is broken
        hint: what was done is undone; earlyoom.service still guards
    "#]]);
    machine.assert_as_before("earlyoom.service");
}

/// A warmsetd that ran before goes on as before.
#[test]
fn a_warmsetd_that_ran_runs_again() {
    let machine = Machine::earlyoom();
    machine.place.write("state/active-warmsetd.service", "");
    machine.place.write("state/enabled-warmsetd.service", "");
    machine.warmsetd("tune", Value::Null);
    let said = machine.take_over(&["earlyoom"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(
        machine.asked(),
        [
            "enable warmsetd.service",
            "restart warmsetd.service",
            "restart warmsetd.service",
        ]
    );
    assert!(machine.is("active-warmsetd.service"));
    assert!(machine.is("enabled-warmsetd.service"));
    assert_eq!(machine.drop_in("earlyoom"), None);
}

#[test]
fn there_is_nothing_to_take_over_where_it_does_not_run() {
    let machine = Machine::with("bash", "bash", "x.service");
    machine.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: earlyoom does not run here, so there is nothing to take over
        hint: warmset doctor names what runs; to guard without another guard before: mode = "guard" in PLACE/root/etc/warmset/warmset.toml, and systemctl restart warmsetd
    "#]]);
    let by_hand = Machine::with("earlyoom", "earlyoom", "user-0.slice");
    by_hand.take_over(&["earlyoom"]).assert(&expect![[r#"
        exit 1
        --- out
        --- err
        error: earlyoom (process 12) runs in no service of the system, so systemctl cannot stop it
        hint: run it as its service first, or stop it by hand once warmsetd guards
    "#]]);
}
