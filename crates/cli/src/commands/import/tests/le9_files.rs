//! Files of le9 and le9uo.

use super::*;

#[test]
fn le9_sizes_and_shares_protect_and_never_start_a_killer() {
    for (text, expected) in [
        (
            case!("le9-kbytes.conf"),
            expect![[r#"
                # Taken over from le9uo.
                -- left out: vm.anon_min_kbytes = 262144: how much stays with the units of protect.units is measured; on a kernel with this sysctl the mode protect drives it
                -- no mode is set: it is in force in mode protect, which is the default; in that mode a process is killed when memory runs out, too
                -- vm.clean_low_kbytes = 393216 KiB: that is 2.35 % of this machine's memory
                -- vm.clean_min_kbytes = 131072 KiB: that is 0.79 % of this machine's memory
                -- cache-least and cache-most stay as they are, 5 % and 15 %: the file asks for no more
            "#]],
        ),
        (
            case!("le9-first.conf"),
            expect![[r#"
                # Taken over from le9uo.
                -- no mode is set: it is in force in mode protect, which is the default; in that mode a process is killed when memory runs out, too
                -- vm.unevictable_activefile_kbytes_low = 250000 KiB: that is 1.5 % of this machine's memory
                -- cache-least and cache-most stay as they are, 5 % and 15 %: the file asks for no more
            "#]],
        ),
        (
            case!("le9uo-typical.conf"),
            expect![[r##"
                # Taken over from le9uo.

                [guard]
                cache-least = "15 %"

                [protect]
                budget = "15 %"
                -- left out: vm.anon_min_ratio = 15: how much stays with the units of protect.units is measured; on a kernel with this sysctl the mode protect drives it
                -- no mode is set: it is in force in mode protect, which is the default; in that mode a process is killed when memory runs out, too
            "##]],
        ),
        (
            case!("le9uo-low-only.conf"),
            expect![[r##"
                # Taken over from le9uo.

                [guard]
                cache-most = "30 %"

                [protect]
                budget = "25 %"
                -- left out: vm.anon_min_ratio = 1: how much stays with the units of protect.units is measured; on a kernel with this sysctl the mode protect drives it
                -- left out: vm.clean_low_ratio = 30: so much file cache counts as in use, but no more than 25 % of memory is held
                -- no mode is set: it is in force in mode protect, which is the default; in that mode a process is killed when memory runs out, too
            "##]],
        ),
    ] {
        check(Program::Le9uo, text, &expected);
        assert_eq!(
            config(&translated(Program::Le9uo, text)).mode,
            Config::default().mode
        );
    }
    let large = "-vm/clean_min_kbytes = 4194304\nvm.swappiness = 10\nvm.clean_low_kbytes = many\n";
    check(
        Program::Le9uo,
        large,
        &expect![[r##"
            # Taken over from le9uo.

            [guard]
            cache-least = "25 %"
            cache-most = "25 %"

            [protect]
            budget = "25 %"
            -- left out: "vm.clean_low_kbytes = many": it is no whole number
            -- none of le9's, and as the file has it: "vm.swappiness"
            -- no mode is set: it is in force in mode protect, which is the default; in that mode a process is killed when memory runs out, too
            -- vm.clean_min_kbytes = 4194304 KiB: that is 25 % of this machine's memory
        "##]],
    );
    let unknown = of_file(Program::Le9uo, "vm.clean_min_kbytes = 4194304", None).unwrap();
    assert_eq!(left_out(&unknown), ["vm.clean_min_kbytes = 4194304"]);
}

#[test]
fn le9_that_is_switched_off_sets_nothing() {
    for text in [
        case!("le9uo-off.conf"),
        "vm.clean_min_ratio = 0\nvm.anon_min_kbytes=0\n",
        "vm.clean_min_ratio = 15\nvm.workingset_protection=0\n",
        "vm.clean_min_ratio = 15\nvm.clean_min_ratio = 0\n",
    ] {
        let imported = translated(Program::Le9uo, text);
        assert_eq!(config(&imported), Config::default(), "{text}");
        assert_eq!(left_out(&imported), Vec::<&str>::new(), "{text}");
        assert!(
            imported.notes[0].contains("nothing is set here"),
            "{:?}",
            imported.notes
        );
    }
    let none = translated(Program::Le9uo, "kernel.x = 1");
    assert_eq!(left_out(&none), ["the file"]);
}
