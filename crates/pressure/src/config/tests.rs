use super::*;
use units::Percent;

fn refused(text: &str) -> String {
    Config::parse("warmset.toml", text)
        .expect_err(text)
        .to_string()
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(Config::parse("warmset.toml", ""), Ok(Config::default()));
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(
        refused("[gap]\nmaximum = \"1 GiB\"")
            .lines()
            .next()
            .unwrap(),
        "warmset.toml:2:1: unknown field `maximum`, expected one of `enabled`, `max`, `available-floor`, \
         `stall-cost`, `refault-cost`, `half-life`, `give-back-after`, `settle`, `dead-band`, `refault-target`, \
         `cap-boost`, `reclaim-ahead`, `min-free`"
    );
    assert!(
        refused("[wake]\ncalmest = \"5\"")
            .starts_with("warmset.toml:2:11: \"5\" is not a time with its unit")
    );
    assert!(
        refused("[wake]\ncalmest = 5").starts_with("warmset.toml:2:11: invalid type: integer `5`")
    );
    assert!(refused("aggressiveness = 0").contains("0 is not an aggressiveness of 1, 2 or 3"));
    assert!(refused("verbosity = 6").contains("6 is not a verbosity of 0 to 5"));
    assert!(
        refused("[[tunable]]\nknob = \"vm.drop_caches\"\nvalue = 1")
            .contains("\"vm.drop_caches\" is not a knob")
    );
    assert!(
        refused("[[tunable]]\nknob = \"vm.swappiness\"\nvalue = 500")
            .contains("not between 0 and 200")
    );
    assert!(refused("mode = \"tune").starts_with("warmset.toml:1:"));
    assert!(refused("[wake]\nfastest = \"9 s\"\ncalmest = \"1 s\"").contains("wake.calmest"));
    assert!(refused("[gap]\nmax = \"30 %\"").contains("more than a quarter"));
    assert!(refused("[protect]\nfloors = \"30 %\"").contains("more than a quarter"));
    assert!(
        refused("[hooks]\nended = \"logger\"")
            .contains("hooks.ended: \"logger\" is no absolute path")
    );
    assert!(refused("[hooks]\ntimeout = \"2 min\"").contains("hooks.timeout"));
    for (path, why) in [
        ("srv/index", "no absolute path"),
        ("/srv/../etc/index", "a part that is"),
        ("/srv/./index", "a part that is"),
    ] {
        let error = refused(&format!("[protect]\nfiles = [{path:?}]"));
        assert!(error.contains(why), "{error}");
    }
    let many = vec!["\"/srv/index\""; 257].join(", ");
    assert!(refused(&format!("[protect]\nfiles = [{many}]")).contains("257 paths"));
    for unit in [
        "user.slice",
        "app.slice",
        "*",
        "/user.slice/user-1000.slice",
    ] {
        assert!(
            refused(&format!("[protect]\nunits = [{unit:?}]")).contains("may hold anything"),
            "{unit}"
        );
    }
}

#[test]
fn what_is_written_is_read_back() {
    let text = "mode = \"protect\"\npredictor = \"classic\"\n[gap]\nmax = \"2.5 %\"\nmin-free = \"64 MiB\"\n\
                [[tunable]]\nknob = \"vm.swappiness\"\nvalue = 10\non = \"swap\"\n";
    let config = Config::parse("warmset.toml", text).unwrap();
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
}

/// The notes about a file, and what it says.
fn read(text: &str) -> (Vec<String>, Config) {
    let mut layers = Layers::default();
    let notes = layers.add("warmset.toml", text).unwrap();
    (notes, layers.finish().unwrap())
}

#[test]
fn metrics_are_for_this_machine_only() {
    let error = refused("[metrics]\nlisten = \"0.0.0.0:9750\"");
    assert!(
        error.starts_with("warmset.toml:2:10: \"0.0.0.0:9750\" can be reached from other machines"),
        "{error}"
    );
}

#[test]
fn old_names_of_keys_still_work_and_are_said() {
    let (notes, config) = read(
        "[guard]\ncontain-ahead = \"0 s\"\n  contain-for = \"9 s\"\n[hooks]\ncontained = \"/usr/bin/x\"\n",
    );
    assert_eq!(config.guard.throttle_ahead, Span::default());
    assert_eq!(config.guard.throttle_for, Span::secs(9));
    assert_eq!(config.hooks.throttled.as_deref(), Some("/usr/bin/x"));
    assert_eq!(
        notes,
        [
            "warmset.toml:2:1: guard.contain-ahead is now called guard.throttle-ahead; the old name still works",
            "warmset.toml:3:3: guard.contain-for is now called guard.throttle-for; the old name still works",
            "warmset.toml:5:1: hooks.contained is now called hooks.throttled; the old name still works, and \
             WARMSET_EVENT is throttled",
        ]
    );
    let (notes, new) = read("[guard]\nthrottle-ahead = \"0 s\"\nthrottle-for = \"9 s\"\n");
    assert!(notes.is_empty());
    assert_eq!(new.guard, config.guard);
}

#[test]
fn the_second_switch_of_protection_is_honoured_and_said() {
    let (notes, config) = read("mode = \"protect\"\n[protect]\nenabled = true\nfloors = \"5 %\"\n");
    assert_eq!(config.mode, Mode::Protect);
    assert_eq!(
        notes,
        ["warmset.toml:3:1: protect.enabled is gone: mode = \"protect\" alone protects"]
    );
    let (notes, config) = read("mode = \"protect\"\n[protect]\nenabled = false\n");
    assert_eq!(config.mode, Mode::Guard, "what it was with this file");
    assert_eq!(
        notes,
        [
            "warmset.toml:3:1: protect.enabled is gone: false still makes the mode \"protect\" a \"guard\"; \
          write mode = \"guard\" instead"
        ]
    );
    let (_, config) = read("mode = \"tune\"\n[protect]\nenabled = false\n");
    assert_eq!(config.mode, Mode::Tune);
    assert!(refused("[protect]\nenabled = 1").contains("unknown field `enabled`"));
    // The switch of one file, and the mode of another.
    for (second, mode) in [("true", Mode::Protect), ("false", Mode::Guard)] {
        let mut layers = Layers::default();
        layers
            .add("warmset.toml", "[protect]\nenabled = false")
            .unwrap();
        layers.add("conf.d/a.toml", "mode = \"protect\"").unwrap();
        let last = format!("[protect]\nenabled = {second}");
        layers.add("conf.d/b.toml", &last).unwrap();
        assert_eq!(layers.finish().unwrap().mode, mode);
    }
}

#[test]
fn a_number_of_files_is_read_as_their_size() {
    let (notes, config) = read("[recording]\nfile-size = \"2 MiB\"\nfiles = 3\n");
    assert_eq!(config.recording.size, Bytes::mib(6));
    assert_eq!(
        notes,
        [
            "warmset.toml:3:1: recording.files is gone: recording.size says how much is kept; without it, so many files of \
             recording.file-size are"
        ]
    );
    let (_, both) = read("[recording]\nsize = \"32 MiB\"\nfiles = 3\n");
    assert_eq!(both.recording.size, Bytes::mib(32));
    assert!(refused("[recording]\nfiles = 0").contains("is less than one file"));
    assert!(refused("[recording]\nfiles = \"3\"").contains("unknown field `files`"));
    let mut recorded = serde_json::to_value(Config::default()).unwrap();
    recorded["recording"]["files"] = 2.into();
    let recorded = Config::recorded(recorded).unwrap();
    assert_eq!(recorded.recording.size, Bytes::mib(16));
}

#[test]
fn a_recording_of_a_guard_with_the_second_switch_replays_as_it_ran() {
    let recorded = |mode: &str, enabled: bool| {
        let mut config = serde_json::to_value(Config::default()).unwrap();
        config["mode"] = mode.into();
        config["protect"]["enabled"] = enabled.into();
        Config::recorded(config).unwrap().mode
    };
    assert_eq!(recorded("protect", false), Mode::Guard);
    assert_eq!(recorded("protect", true), Mode::Protect);
    assert_eq!(recorded("tune", false), Mode::Tune);
}

#[test]
fn a_value_under_an_old_name_is_checked_where_it_stands() {
    assert!(
        refused("[guard]\ncontain-for = 9").starts_with("warmset.toml:2:15: invalid type"),
        "{}",
        refused("[guard]\ncontain-for = 9")
    );
    assert!(
        refused("[guard]\ncontain-for = \"1 h\"")
            .contains("guard.throttle-for = \"60 min\" is not between"),
        "{}",
        refused("[guard]\ncontain-for = \"1 h\"")
    );
    assert_eq!(
        refused("[guard]\nthrottle-for = \"2 s\"\ncontain-for = \"9 s\""),
        "warmset.toml:3:1: guard.contain-for is the old name of guard.throttle-for, which is set too: \
         keep throttle-for"
    );
}

#[test]
fn a_drop_in_wins_over_an_old_name_in_the_main_file() {
    let mut layers = Layers::default();
    layers.add("a", "[guard]\ncontain-for = \"9 s\"").unwrap();
    layers.add("b", "[guard]\nthrottle-for = \"4 s\"").unwrap();
    assert_eq!(layers.finish().unwrap().guard.throttle_for, Span::secs(4));
}

#[test]
fn the_experiment_of_local_replacement_is_passed_over_and_said() {
    // As the packaged file of an older version has it, and as a user may have filled it.
    for text in [
        "[local]\n#policy = \"off\"\n",
        "[local]\npolicy = \"up-largest\"\nevery = \"1 s\"\n",
    ] {
        let (notes, config) = read(text);
        assert_eq!(config, Config::default());
        assert_eq!(
            notes,
            [
                "warmset.toml:1:2: [local] is passed over: the experiment is now the program warmset-local of \
                 the VM lab (warmset-lab run --arms local:WAY)"
            ]
        );
    }
}

#[test]
fn a_rule_that_is_none_is_an_error_where_it_stands() {
    for (text, at, what) in [
        (
            "[guard]\nspare = [\"a.service\", \"name:hog\"]",
            "2:23",
            "rule \"name:hog\": any process can take any name: use program:, exe:, unit: or command:",
        ),
        (
            "[guard]\navoid = [\n  \"a.service\",\n  \"exe:bin/a\",\n]",
            "4:3",
            "rule \"exe:bin/a\": the file that runs is named by its whole path",
        ),
        ("[guard]\nprefer = [\"name:\"]", "2:11", "it names nothing"),
        ("[guard]\nprefer = [3]", "2:11", "invalid type: integer `3`"),
    ] {
        let error = refused(text);
        assert!(
            error.starts_with(&format!("warmset.toml:{at}: ")),
            "{error}"
        );
        assert!(error.contains(what), "{error}");
    }
    let names = "[guard]\navoid = [\"name:a\"]\nprefer = [\"name:b\"]";
    assert!(Config::parse("x", names).is_ok());
}

#[test]
fn rules_that_contradict_each_other_are_refused() {
    for (text, keys) in [
        (
            "avoid = [\"a.service\"]\nprefer = [\"unit:a.service\"]",
            "guard.avoid and guard.prefer",
        ),
        (
            "spare = [\"program:a\"]\nprefer = [\"program:a\"]",
            "guard.spare and guard.prefer",
        ),
    ] {
        let error = refused(&format!("[guard]\n{text}"));
        assert!(error.contains(keys), "{error}");
    }
    // One file may say it, and another the contrary.
    let mut layers = Layers::default();
    layers.add("a", "[guard]\navoid = [\"user:1\"]").unwrap();
    layers.add("b", "[guard]\nprefer = [\"user:1\"]").unwrap();
    assert!(layers.finish().unwrap_err().to_string().contains("user:1"));
    let commands: Vec<String> = (0..65).map(|it| format!("\"command:{it}\"")).collect();
    let many = format!("[guard]\nprefer = [{}]", commands.join(", "));
    assert!(refused(&many).contains("65 rules command:"));
}

#[test]
fn sigkill_does_not_come_before_sigterm() {
    for rooms in [
        "term-room = \"2 %\"\nkill-room = \"6 %\"",
        "term-room = \"100 MiB\"\nkill-room = \"1 GiB\"",
    ] {
        assert!(refused(&format!("[guard]\n{rooms}")).contains("kill-room"));
    }
    let mixed = "[guard]\nterm-room = \"10 %\"\nkill-room = \"1 GiB\"";
    let guard = Config::parse("x", mixed).unwrap().guard;
    assert_eq!(guard.amounts(None), Ok(()));
    assert_eq!(guard.amounts(Some(Bytes::mib(65_536))), Ok(()));
    let error = guard.amounts(Some(Bytes::mib(8192))).unwrap_err();
    assert!(error.contains("on a machine with 8 GiB"), "{error}");
    // Without SIGTERM there is nothing that SIGKILL could come before.
    let none = "[guard]\nterm-ahead = \"0 s\"\nterm-room = \"2 %\"\nkill-room = \"6 %\"";
    assert!(Config::parse("x", none).is_ok());
    assert!(refused("[guard]\nstall-limit = \"1 %\"").contains("guard.stall-limit"));
}

#[test]
fn amounts_are_bytes_or_shares() {
    let text = "[gap]\navailable-floor = \"2 GiB\"\n[guard]\ncache-least = \"512 MiB\"\ncache-most = \"20 %\"\n\
                [protect]\nbudget = \"4 GiB\"\nfloors = \"10 %\"\n";
    let config = Config::parse("x", text).unwrap();
    assert_eq!(config.gap.available_floor, Share::Bytes(Bytes::mib(2048)));
    assert_eq!(config.guard.cache_least, Share::Bytes(Bytes::mib(512)));
    assert_eq!(config.protect.budget, Share::Bytes(Bytes::mib(4096)));
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
    let error = config.guard.amounts(Some(Bytes::mib(2048))).unwrap_err();
    assert!(
        error.contains("guard.cache-most = \"20 %\" is less than"),
        "{error}"
    );
    assert!(refused("[guard]\ncache-most = \"95 %\"").contains("more than 90 %"));
}

#[test]
fn a_share_of_an_older_recording_is_read() {
    let read = |text: &str| serde_json::from_str::<Share>(text).unwrap();
    assert_eq!(read("550"), Share::Percent(Percent::hundredths(550)));
    for share in [Share::Percent(Percent::new(6)), Share::Bytes(Bytes::mib(3))] {
        assert_eq!(read(&serde_json::to_string(&share).unwrap()), share);
    }
}
