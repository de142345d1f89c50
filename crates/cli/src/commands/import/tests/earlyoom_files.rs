//! Files of earlyoom.

use super::*;

/// Here a share is of 16 GiB at most. What was a share of more keeps its meaning as an amount.
#[test]
fn a_share_of_a_large_machine_becomes_an_amount() {
    let large = Bytes::mib(64 * 1024);
    let imported = of_file(Program::Earlyoom, "EARLYOOM_ARGS=-m 5,2", Some(large)).unwrap();
    let guard = config(&imported).guard;
    assert_eq!(guard.term_room, Share::Bytes(Percent::new(5).of(large)));
    assert_eq!(guard.kill_room, Share::Bytes(Percent::new(2).of(large)));
    let guard = config(&translated(Program::Earlyoom, "EARLYOOM_ARGS=-m 5,2")).guard;
    assert_eq!(guard.term_room, Share::Percent(Percent::new(5)));
}

#[test]
fn a_value_of_earlyoom_goes_on_over_lines() {
    check(
        Program::Earlyoom,
        case!("earlyoom-continued.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "6 %"
            kill-room = "3 %"
            avoid = ["name:systemd", "name:labwc", "name:foot", "name:sshd", "name:my-console", "name:login", "name:bash"]
            prefer = ["name:firefox-esr", "name:llama-server", "name:mpv"]
            -- left out: -s 10: free swap counts as headroom here, with its own cost; there is no threshold for it alone
            -- -r 3600 is about its own log; see warmset status and verbosity
            -- a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    check(
        Program::Earlyoom,
        case!("earlyoom-unquoted.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "8 %"
            kill-room = "4 %"
            avoid = ["name:sshd", "name:sshd-session", "name:tmux", "name:dbus-daemon", "name:init"]
            prefer = ["name:node", "name:chrome", "name:chromium", "name:java"]
            -- left out: -s 15,8: free swap counts as headroom here, with its own cost; there is no threshold for it alone
            -- left out: --sort-by-rss: what grows is chosen, then what holds the most memory, swap included; there is no switch
            -- -r 3600 is about its own log; see warmset status and verbosity
            -- a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
}

#[test]
fn each_entry_of_a_list_is_carried_over_or_named_alone() {
    check(
        Program::Earlyoom,
        case!("earlyoom-tmux.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "8 %"
            kill-room = "4 %"
            avoid = ["name:sshd", "name:tmux", "name:tmux:*", "name:systemd", "name:systemd-*", "name:dbus-daemon", "name:init"]
            prefer = ["name:node", "name:chrome", "name:python*", "name:java"]
            -- a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    check(
        Program::Earlyoom,
        case!("earlyoom-unanchored.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "5 %"
            kill-room = "2.5 %"
            avoid = ["name:*gnome*", "name:postgres*"]
            prefer = ["name:*java*"]
            -- left out: --ignore "postgres*": killed late here, not never: any process can take any name; to exempt it, name its file in guard.spare, as "exe:/PATH"
            -- a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    check(
        Program::Earlyoom,
        case!("earlyoom-desktop.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "10 %"
            kill-room = "5 %"
            avoid = ["name:init", "name:X", "name:sshd", "name:plasmashell", "name:kwin_x11", "name:kded5", "name:featherpad"]
            prefer = ["name:festival *", "name:festival"]
            -- left out: --avoid "python(\d(.\d)?)?", --prefer "\wineboot.exe": it stands for more letters than a list could have
            -- left out: --prefer "firefox *-contentproc *", --prefer "firefox *-contentproc": a name has 15 letters at most, so it can match nothing
            -- -r 0 is about its own log; see warmset status and verbosity
            -- a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    check(
        Program::Earlyoom,
        case!("earlyoom-ignore.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "8 %"
            kill-room = "5 %"
            avoid = ["name:claude", "name:warp", "name:zsh", "name:bash", "name:kwin_wayland", "name:plasmashell", "name:Xwayland", "name:sddm", "name:systemd*"]
            prefer = ["name:chrome", "name:vitest", "name:node-MainThread", "name:node", "name:npm"]
            -- left out: -s 35,25: free swap counts as headroom here, with its own cost; there is no threshold for it alone
            -- left out: --ignore "claude", --ignore "warp", --ignore "zsh", --ignore "bash", --ignore "systemd*": killed late here, not never: any process can take any name; to exempt it, name its file in guard.spare, as "exe:/PATH"
            -- left out: --prefer "node.\(vitest\)": a dot stands for any one letter, which no rule can say; \. is a dot
            -- -r 0 is about its own log; see warmset status and verbosity
            -- --ignore: programs of these names are exempt here if their file is root's: "kwin_wayland", "plasmashell", "Xwayland", "sddm"
            -- a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
}

#[test]
fn names_that_the_kernel_cuts_keep_their_meaning() {
    check(
        Program::Earlyoom,
        case!("earlyoom-cut-names.default"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "400 MiB"
            kill-room = "200 MiB"
            avoid = ["name:dnf", "name:packagekitd", "name:gnome-shell", "name:gnome-session-c", "name:gnome-session-b", "name:gdm-wayland-ses", "name:gdm-session-wor", "name:Xorg", "name:systemd", "name:systemd-logind", "name:dbus-broker", "name:cinnamon-sessio", "name:kwin_wayland", "name:plasmashell", "name:plasma_session", "name:startplasma-way", "name:xfce4-session"]
            prefer = ["name:Web Content", "name:Isolated Web Co"]
            -- -r 0 is about its own log; see warmset status and verbosity
            -- -m 4 and -M 409600: the lower is in force; on this machine with 16 GiB that is 400 MiB, and 200 MiB for SIGKILL
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    let long = "EARLYOOM_ARGS=--prefer '^(gnome-control-center|gnome-control-c.*x)$'";
    let imported = translated(Program::Earlyoom, long);
    assert!(
        imported
            .toml
            .contains("prefer = [\"name:gnome-control-center\"]"),
        "{}",
        imported.toml
    );
    assert_eq!(left_out(&imported), ["--prefer \"gnome-control-c*x\""]);
    assert!(
        imported.notes[0].contains("matched nothing there"),
        "{:?}",
        imported.notes
    );
}

#[test]
fn a_drop_in_of_the_unit_is_read() {
    check(
        Program::Earlyoom,
        case!("earlyoom-drop-in.conf"),
        &expect![[r##"
            # Taken over from earlyoom.
            mode = "guard"

            [guard]
            term-room = "1000000 KiB"
            kill-room = "500000 KiB"
            avoid = ["name:dnf", "name:gnome-shell"]
            -- -r 0 is about its own log; see warmset status and verbosity
            -- -m 15 and -M 1000000: the lower is in force; on this machine with 16 GiB that is 1000000 KiB, and 500000 KiB for SIGKILL
            -- stop earlyoom before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    let whole = "[Unit]\nDescription=x\n[Service]\nEnvironment=\"EARLYOOM_ARGS=-m 9\" X=1\nExecStart=/usr/bin/earlyoom -m 7 \\\n  -n $OTHER --avoid ^x$$\n";
    let imported = translated(Program::Earlyoom, whole);
    assert_eq!(
        config(&imported).guard.term_room,
        Share::Percent(Percent::new(7))
    );
    assert!(
        imported.toml.contains("avoid = [\"name:x\"]"),
        "{}",
        imported.toml
    );
    assert_eq!(left_out(&imported), ["-n"]);
}

#[test]
fn every_spelling_of_an_option_is_understood() {
    for (arguments, term, kill) in [
        ("-m 5,2", "5 %", "2 %"),
        ("-m5,2", "5 %", "2 %"),
        ("-kim5", "5 %", "2.5 %"),
        ("-m 5 -m 7", "7 %", "3.5 %"),
        ("-m 5,8", "8 %", "8 %"),
        ("-M 512000", "500 MiB", "250 MiB"),
        ("-M512000,102400", "500 MiB", "100 MiB"),
        ("-m 1 -M 512000", "1 %", "0.5 %"),
        ("-m 10 -M 512000", "500 MiB", "250 MiB"),
        ("-r60 -d", "10 %", "5 %"),
        ("", "10 %", "5 %"),
    ] {
        let imported = translated(Program::Earlyoom, &format!("EARLYOOM_ARGS={arguments}"));
        let guard = config(&imported).guard;
        let rooms = [guard.term_room, guard.kill_room].map(draft::exact);
        assert_eq!(rooms, [term, kill], "{arguments}");
        assert_eq!(left_out(&imported), Vec::<&str>::new(), "{arguments}");
    }
    for arguments in [
        "--avoid ^a$ --prefer ^b$",
        "--avoid=^a$ --prefer='^b$'",
        "--av ^a$ --pref=^b$",
        "--prefer ^x$ --prefer ^b$ --avoid ^a$",
    ] {
        let imported = translated(Program::Earlyoom, &format!("EARLYOOM_ARGS=\"{arguments}\""));
        let lists = "avoid = [\"name:a\"]\nprefer = [\"name:b\"]\n";
        assert!(
            imported.toml.ends_with(lists),
            "{arguments}: {}",
            imported.toml
        );
        assert_eq!(left_out(&imported), Vec::<&str>::new(), "{arguments}");
    }
    let observe = translated(Program::Earlyoom, "EARLYOOM_ARGS='--dryrun --syslog'");
    let observe = config(&observe);
    assert_eq!(observe.mode, Mode::Observe);
    assert_eq!(observe.log, pressure::config::Log::Syslog);
}

#[test]
fn an_option_without_a_counterpart_is_named() {
    let text = "EARLYOOM_ARGS=-gn -s100 -S 5,2 -N /x/y --ign --ignore-r --sort --kernel --no-such -x --dryrun=1 extra -m";
    let imported = translated(Program::Earlyoom, text);
    expect![[r#"
        -g: it kills a whole process group; here a unit is killed whole if it is one program's, and there is no switch
        -n: each user starts notices: systemctl --user enable --now warmset-notice
        -s 100: it kills although swap is free; free swap always counts as headroom here
        -S 5,2: free swap counts as headroom here, with its own cost; there is no threshold for it alone
        -N /x/y: a program of root's alone may be ended = "…" in [hooks], and gets other variables than EARLYOOM_PID: warmset.toml(5)
        "--ign": it stands for several options of earlyoom's
        --ignore-root-user: root's processes may be killed here, but for what the system needs; add "user:root" to guard.spare to exempt them all
        --sort-by-rss: what grows is chosen, then what holds the most memory, swap included; there is no switch
        --kernel-oom: the kernel is not asked to choose
        "--no-such", "-x": earlyoom has no such option
        "--dryrun=1": it takes no value
        "extra": earlyoom takes options only
        "-m": its value is missing"#]].assert_eq(&imported.losses().join("\n"));
    // A shell that reads the file lets a value go on; another variable starts no earlyoom.
    let text = "OTHER=1\nEARLYOOM_ARGS='-m 5'\nEARLYOOM_ARGS=\"$EARLYOOM_ARGS -d\"\nEARLYOOM_ARGS+=' -r 1'\n";
    let imported = translated(Program::Earlyoom, text);
    assert_eq!(
        config(&imported).guard.term_room,
        Share::Percent(Percent::new(5))
    );
    assert_eq!(left_out(&imported), ["OTHER=1"]);
}

#[test]
fn the_lower_of_two_thresholds_is_unknown_without_a_machine() {
    let imported = of_file(Program::Earlyoom, "EARLYOOM_ARGS=-m 4 -M 409600", None).unwrap();
    assert_eq!(left_out(&imported), ["-m 4"]);
    assert!(
        imported.toml.contains("term-room = \"400 MiB\""),
        "{}",
        imported.toml
    );
}
