//! Files of nohang.

use super::*;

#[test]
fn indented_lines_of_nohang_are_comments() {
    check(
        Program::Nohang,
        case!("nohang-indented.conf"),
        &expect![[r##"
            # Taken over from nohang.
            mode = "guard"

            [guard]
            term-room = "8 %"
            kill-room = "4 %"
            avoid = ["exe:/usr/bin/icewm", "exe:/usr/bin/xfce4-panel"]
            prefer = ["name:Web Content", "name:file:// Content", "name:my-renderer"]
            -- points become a list: avoid weighs a quarter and prefer four times, whatever the number was
            -- stop nohang before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
}

#[test]
fn sizes_and_all_rules_of_nohang_are_understood() {
    check(
        Program::Nohang,
        case!("nohang-sizes.conf"),
        &expect![[r##"
            # Taken over from nohang.
            mode = "guard"

            [guard]
            term-room = "500 MiB"
            kill-room = "250 MiB"
            avoid = ["name:sshd", "name:Xorg", "cgroup:/system.slice/postgresql.service*", "exe:/usr/bin/plasmashell*"]
            prefer = ["name:Web Content", "name:Privileged Cont"]
            -- left out: @SOFT_ACTION_RE_NAME ^mysqld$ /// systemctl restart mysqld: no command is run instead of a signal; let the unit restart itself by Restart=, or name a program of root's in [hooks]
            -- left out: soft_threshold_min_swap = 100 %, hard_threshold_min_swap = 100 %: it kills although swap is free; free swap always counts as headroom here
            -- left out: ignore_positive_oom_score_adj = True: a positive oom_score_adj counts little here, and there is no switch
            -- points become a list: avoid weighs a quarter and prefer four times, whatever the number was
            -- stop nohang before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    let rules = "@BADNESS_ADJ_RE_CMDLINE 200 /// --type=renderer\n\
                 @BADNESS_ADJ_RE_CMDLINE-200///^/usr/lib/virtualbox\n\
                 @BADNESS_ADJ_RE_UID -100 /// ^(0|33)$\n\
                 @BADNESS_ADJ_RE_UID 1 /// ^10\n\
                 @BADNESS_ADJ_RE_CGROUP_V2 100 /// ^/workload\n\
                 @BADNESS_ADJ_RE_CGROUP_V1 -50 /// ^/system\\.slice/\n\
                 @BADNESS_ADJ_RE_CWD 20 /// ^/home/\n\
                 @BADNESS_ADJ_RE_ENVIRON 100 /// USER=user\n\
                 @BADNESS_ADJ_RE_REALPATH 10 /// ^/opt/.*/bin/x$\n\
                 @BADNESS_ADJ_RE_REALPATH 10 /// firefox\n\
                 @BADNESS_ADJ_RE_NAME 0 /// ^x$\n\
                 @BADNESS_ADJ_RE_NAME much /// ^x$\n\
                 @BADNESS_ADJ_RE_NAME 5 ^x$\n\
                 @SOFT_ACTION_RE_CGROUP_V2 ^/x /// systemctl restart x\n\
                 @NO_SUCH_LINE\n\
                 @check_kmsg\n";
    check(
        Program::Nohang,
        rules,
        &expect![[r##"
        # Taken over from nohang.
        mode = "guard"

        [guard]
        avoid = ["command:/usr/lib/virtualbox*", "user:0", "user:33"]
        prefer = ["command:*--type=renderer*", "cgroup:/workload*", "exe:/opt/*/bin/x"]
        -- left out: @BADNESS_ADJ_RE_CGROUP_V1 -50 /// ^/system\.slice/: cgroups of version 1 are not looked at; name the unit, or cgroup:/PATH
        -- left out: @BADNESS_ADJ_RE_CWD 20 /// ^/home/: the working directory is not looked at
        -- left out: @BADNESS_ADJ_RE_ENVIRON 100 /// USER=user: the environment is not looked at
        -- left out: @BADNESS_ADJ_RE_NAME much /// ^x$: its points are no whole number
        -- left out: @BADNESS_ADJ_RE_NAME 5 ^x$: it has no ///
        -- left out: @SOFT_ACTION_RE_CGROUP_V2 ^/x /// systemctl restart x: no command is run instead of a signal; let the unit restart itself by Restart=, or name a program of root's in [hooks]
        -- left out: "@NO_SUCH_LINE": nohang knows no such line
        -- left out: @BADNESS_ADJ_RE_UID "10*": only whole user IDs can be named
        -- left out: @BADNESS_ADJ_RE_REALPATH "/opt/*/bin/x": carried over, but a star within a path is one part of it here, without a slash
        -- left out: @BADNESS_ADJ_RE_REALPATH "*firefox*": a path is named from its beginning here, as by ^/
        -- @BADNESS_ADJ_RE_NAME 0 /// ^x$: 0 points change nothing
        -- OOM kills by the kernel are counted and shown here in any case
        -- points become a list: avoid weighs a quarter and prefer four times, whatever the number was
        -- without soft_threshold_min_mem and hard_threshold_min_mem nohang does not start; term-room and kill-room keep their defaults
        -- stop nohang before warmsetd guards: beside another guard it kills nothing
    "##]],
    );
}

#[test]
fn each_key_of_nohang_is_translated_or_named() {
    let text = "zram_checking_enabled = True\n\
                psi_checking_enabled = True\n\
                psi_path = /proc/pressure/memory\n\
                psi_metrics = full_avg10\n\
                psi_excess_duration = 20\n\
                psi_post_action_delay = 15\n\
                soft_threshold_max_psi = 35.5\n\
                hard_threshold_max_psi = 90\n\
                soft_threshold_min_mem = 5 %\n\
                hard_threshold_min_mem = 2 %\n\
                soft_threshold_min_swap = 10 %\n\
                hard_threshold_min_swap = 100 M\n\
                soft_threshold_max_zram = 55 %\n\
                hard_threshold_max_zram = 60 %\n\
                low_memory_warnings_enabled = True\n\
                warning_exe = /usr/bin/warn\n\
                warning_threshold_min_mem = 20 %\n\
                post_action_gui_notifications = True\n\
                post_kill_exe = /usr/bin/x $PID\n\
                max_soft_exit_time = 2.5\n\
                min_badness = 10\n\
                fill_rate_mem = 6000\n\
                separate_log = Maybe\n\
                no_such_key = 1\n\
                soft_threshold_min_mem = 6 %\n";
    check(
        Program::Nohang,
        text,
        &expect![[r##"
        # Taken over from nohang.
        mode = "guard"

        [guard]
        term-room = "6 %"
        kill-room = "2 %"
        term-grace = "2500 ms"
        stall-limit = "35.5 %"
        stall-for = "20 s"
        -- left out: soft_threshold_min_swap = 10 %, hard_threshold_min_swap = 100 M: free swap counts as headroom here, with its own cost; there is no threshold for it alone
        -- left out: soft_threshold_max_zram = 55 %, hard_threshold_max_zram = 60 %: what zram takes is part of headroom at its ratio; there is no threshold for it alone
        -- left out: hard_threshold_max_psi = 90: SIGKILL follows SIGTERM here, at kill-room or after term-grace
        -- left out: warning_threshold_min_mem = 20 %: users are warned by time (warn-ahead), not by an amount; each starts notices: systemctl --user enable --now warmset-notice
        -- left out: post_action_gui_notifications: each user starts notices: systemctl --user enable --now warmset-notice
        -- left out: warning_exe = /usr/bin/warn: a program of root's alone may be warn = "…" in [hooks]; it gets variables, and no arguments: warmset.toml(5)
        -- left out: post_kill_exe = /usr/bin/x $PID: a program of root's alone may be ended = "…" in [hooks]; it gets variables, and no arguments: warmset.toml(5)
        -- left out: min_badness = 10: there is no badness here, and no least of it
        -- left out: "no_such_key": nohang has no such key
        -- "soft_threshold_min_mem" is there twice, with which nohang does not start; the last counts
        -- psi_post_action_delay: the time to the next signal is how long freed memory takes to show
        -- about nohang's own work and log, and not needed: fill_rate_mem, separate_log
        -- stop nohang before warmsetd guards: beside another guard it kills nothing
    "##]],
    );
    // Without its check of pressure nothing is killed for that.
    let imported = translated(Program::Nohang, "psi_checking_enabled = False\n");
    assert_eq!(config(&imported).guard.stall_for, Span::default());
    // At once is not never.
    let at_once =
        "psi_checking_enabled = True\nsoft_threshold_max_psi = 40\npsi_excess_duration = 0\n";
    let imported = translated(Program::Nohang, at_once);
    assert_eq!(config(&imported).guard.stall_for, Span::secs(1));
    for metrics in [
        "psi_metrics = some_avg60",
        "psi_path = /sys/fs/cgroup/user.slice/memory.pressure",
    ] {
        let text = format!("psi_checking_enabled = True\nsoft_threshold_max_psi = 40\n{metrics}\n");
        let imported = translated(Program::Nohang, &text);
        assert_eq!(left_out(&imported), [metrics], "{metrics}");
        assert_eq!(
            config(&imported).guard.stall_limit,
            Config::default().guard.stall_limit
        );
    }
}

#[test]
fn sigkill_never_comes_before_sigterm() {
    check(
        Program::Nohang,
        case!("nohang-kill-above-term.conf"),
        &expect![[r##"
            # Taken over from nohang.
            mode = "guard"

            [guard]
            term-room = "30 %"
            kill-room = "30 %"
            -- left out: soft_threshold_min_swap = 14 %: free swap counts as headroom here, with its own cost; there is no threshold for it alone
            -- left out: hard_threshold_min_swap = 100 %: it kills although swap is free; free swap always counts as headroom here
            -- stop nohang before warmsetd guards: beside another guard it kills nothing
            -- SIGKILL at 30 % comes before SIGTERM at 15 %: both are at 30 %
        "##]],
    );
    for (term, kill, rooms) in [
        ("500 M", "5 %", ["5 %", "5 %"]),
        ("1 %", "", ["1 %", "1 %"]),
        ("", "9 %", ["9 %", "9 %"]),
        ("50 %", "1 M", ["50 %", "1 MiB"]),
    ] {
        let mut text = String::new();
        for (key, value) in [("soft", term), ("hard", kill)] {
            if !value.is_empty() {
                writeln!(text, "{key}_threshold_min_mem = {value}").unwrap();
            }
        }
        let guard = config(&translated(Program::Nohang, &text)).guard;
        assert_eq!(
            [guard.term_room, guard.kill_room].map(draft::exact),
            rooms,
            "{text}"
        );
    }
}

#[test]
fn the_file_of_debian_s_desktop_service_is_understood() {
    let imported = translated(Program::NohangDesktop, case!("nohang-desktop.conf"));
    let config = config(&imported);
    let guard = &config.guard;
    assert_eq!(config.mode, Mode::Guard);
    assert_eq!(guard.term_room, Share::Percent(Percent::new(5)));
    assert_eq!(guard.kill_room, Share::Percent(Percent::new(2)));
    assert_eq!(guard.term_grace, Span::secs(10));
    assert_eq!(guard.stall_limit, Percent::new(40));
    assert_eq!(guard.stall_for, Span::secs(30));
    // All its entries: 3 by name and 76 by file.
    assert_eq!(guard.avoid.len(), 79);
    assert_eq!(guard.prefer.len(), 3);
    expect![[r#"
        soft_threshold_min_swap = 10 %, hard_threshold_min_swap = 4 %: free swap counts as headroom here, with its own cost; there is no threshold for it alone
        hard_threshold_max_psi = 90: SIGKILL follows SIGTERM here, at kill-room or after term-grace
        warning_threshold_min_mem = 20 %, warning_threshold_min_swap = 25 %, warning_threshold_max_zram = 45 %, warning_threshold_max_psi = 10, min_post_warning_delay = 60: users are warned by time (warn-ahead), not by an amount; each starts notices: systemctl --user enable --now warmset-notice
        post_action_gui_notifications: each user starts notices: systemctl --user enable --now warmset-notice"#]].assert_eq(&imported.losses().join("\n"));
}
