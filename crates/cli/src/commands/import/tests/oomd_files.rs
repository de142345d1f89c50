//! Files of systemd-oomd and of oomd.

use super::*;

#[test]
fn systemd_oomd_is_translated_by_its_own_defaults() {
    check(
        Program::SystemdOomd,
        "[OOM]\n",
        &expect![[r##"
        # Taken over from systemd-oomd.
        mode = "guard"

        [guard]
        stall-limit = "60 %"
        stall-for = "30 s"
        -- stall-limit and stall-for are systemd-oomd's defaults, 60 % and 30 s
        -- its limit is of each group that asks for it (ManagedOOMMemoryPressure=kill), stall-limit is of the whole machine and of protected units
        -- ManagedOOMPreference= of units is honoured as it is
        -- stop systemd-oomd before warmsetd guards: beside another guard it kills nothing
    "##]],
    );
    let text = "[OOM]\n#SwapUsedLimit=1%\nSwapUsedLimit=80%\nDefaultMemoryPressureLimit=505‰\n\
                DefaultMemoryPressureDurationSec=1min 15s\nPrekillHookTimeoutSec=3\nNew=1\n";
    check(
        Program::SystemdOomd,
        text,
        &expect![[r##"
        # Taken over from systemd-oomd.
        mode = "guard"

        [guard]
        stall-limit = "50.5 %"
        stall-for = "75 s"
        -- left out: SwapUsedLimit=80%: free swap counts as headroom here, with its own cost; there is no threshold for it alone
        -- left out: PrekillHookTimeoutSec=3: no hook is waited for before a kill; users are asked instead (ask-for)
        -- left out: New=1: systemd-oomd has no such key that is known here
        -- its limit is of each group that asks for it (ManagedOOMMemoryPressure=kill), stall-limit is of the whole machine and of protected units
        -- ManagedOOMPreference= of units is honoured as it is
        -- stop systemd-oomd before warmsetd guards: beside another guard it kills nothing
    "##]],
    );
    for (value, seconds) in [
        ("0", 30),
        ("", 30),
        ("500ms", 30),
        ("10", 10),
        ("2 min", 120),
        ("x", 30),
    ] {
        let text = format!("[OOM]\nDefaultMemoryPressureDurationSec={value}\n");
        let imported = translated(Program::SystemdOomd, &text);
        assert_eq!(
            config(&imported).guard.stall_for,
            Span::secs(seconds),
            "{value}"
        );
    }
}

#[test]
fn what_units_ask_of_systemd_oomd_is_named() {
    let text = "[Slice]\nManagedOOMSwap=kill\nManagedOOMMemoryPressure=kill\nManagedOOMMemoryPressureLimit=50%\n\
                ManagedOOMPreference=omit\nOOMRules=hog\nMemoryHigh=1G\n\
                ManagedOOMMemoryPressureLimitPercent=40%\n[Unit]\nDescription=x\n";
    check(
        Program::SystemdOomd,
        text,
        &expect![[r##"
            # Taken over from systemd-oomd.
            mode = "guard"

            [guard]
            stall-limit = "60 %"
            stall-for = "30 s"
            -- left out: ManagedOOMSwap=kill: free swap counts as headroom here, with its own cost; nothing is killed for swap alone
            -- left out: ManagedOOMMemoryPressureLimit=50%: the pressure of one group kills nothing in it here; stall-limit and stall-for are of the machine and of protected units
            -- left out: OOMRules=hog: rules for single units have no counterpart; name the unit in guard.prefer
            -- left out: ManagedOOMMemoryPressureLimitPercent=40%: systemd has no such setting that is known here
            -- ManagedOOMMemoryPressure=kill: here the pressure of the whole machine is looked at
            -- stall-limit and stall-for are systemd-oomd's defaults, 60 % and 30 s
            -- its limit is of each group that asks for it (ManagedOOMMemoryPressure=kill), stall-limit is of the whole machine and of protected units
            -- ManagedOOMPreference= of units is honoured as it is
            -- stop systemd-oomd before warmsetd guards: beside another guard it kills nothing
        "##]],
    );
    let rule = "[Rule]\nMemoryPressureAbove=60%\nLastingSec=20s\nAction=kill-all\n";
    let imported = translated(Program::SystemdOomd, rule);
    assert_eq!(
        left_out(&imported),
        [
            "MemoryPressureAbove=60%",
            "LastingSec=20s",
            "Action=kill-all"
        ]
    );
}

#[test]
fn rulesets_of_oomd_are_understood() {
    let text = r#"// with comments
    { "rulesets": [ {
        "name": "machine", /* and "these" */
        "detectors": [ [ "group",
            { "name": "pressure_above",
              "args": { "cgroup": "/", "resource": "memory", "threshold": "55", "duration": "25" } },
            { "name": "memory_reclaim", "args": { "cgroup": "/", "duration": "10" } } ],
            [ "other",
            { "name": "pressure_above",
              "args": { "cgroup": "user.slice", "resource": "memory", "threshold": 5, "duration": 1 } },
            { "name": "swap_free", "args": { "threshold_pct": "10" } },
            { "name": "memory_above", "args": { "cgroup": "a", "threshold": "1G // not a comment" } } ] ],
        "actions": [ { "name": "kill_by_swap_usage", "args": { "cgroup": "system.slice/*" } } ]
    } ] }"#;
    check(
        Program::Oomd,
        text,
        &expect![[r##"
        # Taken over from oomd.
        mode = "guard"

        [guard]
        stall-limit = "55 %"
        stall-for = "25 s"
        -- left out: "machine": kill_by_swap_usage cgroup=system.slice/*: it kills a group of its list; here any process may be killed that is not exempt: name the others in guard.spare
        -- left out: "machine": pressure_above cgroup=user.slice duration=1 resource=memory threshold=5: the pressure of one group kills nothing here; the lowest such limit is stall-limit, for the whole machine, unless there is one for it
        -- left out: "machine": swap_free threshold_pct=10: free swap counts as headroom here, with its own cost; there is no threshold for it alone
        -- left out: "machine": memory_above cgroup=a threshold=1G // not a comment: what a group uses kills nothing here; give the unit MemoryHigh= or MemoryMax=
        -- "machine": memory_reclaim cgroup=/ duration=10: memory that cannot be given back is a condition of every kill here
        -- stop oomd before warmsetd guards: beside another guard it kills nothing
    "##]],
    );
    let dry = text.replace("\"cgroup\": \"system.slice/*\"", "\"dry\": true");
    assert_eq!(config(&translated(Program::Oomd, &dry)).mode, Mode::Observe);
    let broken = translated(Program::Oomd, "{");
    assert_eq!(
        (left_out(&broken), config(&broken)),
        (vec!["the file"], Config::default())
    );
}
