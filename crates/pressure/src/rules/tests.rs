use super::*;
use crate::config::Guard;
use crate::scan::{Identity, PathName, Place, UnitName};
use proptest::prelude::*;

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

fn wrong(text: &str) -> String {
    text.parse::<Rule>().unwrap_err().to_string()
}

fn applies(text: &str, candidate: &Candidate) -> bool {
    rule(text).applies(candidate)
}

fn in_unit(place: Place, unit: &str, cgroup: &str) -> Candidate {
    Candidate {
        place,
        unit: UnitName::from(unit).unwrap(),
        cgroup: PathName::from(cgroup).unwrap(),
        ..Candidate::default()
    }
}

fn runs(exe: &str) -> Candidate {
    Candidate {
        exe: PathName::from(exe).unwrap(),
        ..Candidate::default()
    }
}

fn called(name: &str) -> Candidate {
    Candidate {
        name: Name::from(name).unwrap(),
        ..Candidate::default()
    }
}

#[test]
fn old_texts_mean_what_they_meant() {
    let service = in_unit(
        Place::Service,
        "postgresql.service",
        "/system.slice/postgresql.service",
    );
    let of_a_user = Candidate {
        place: Place::App,
        ..service
    };
    for text in ["postgresql.service", "unit:postgresql.service", "postgres*"] {
        assert!(applies(text, &service), "{text}");
        assert!(!applies(text, &of_a_user), "{text}");
        assert_eq!(rule(text).to_string(), text);
    }
    assert!(applies("app:postgresql.service", &of_a_user));
    assert!(!applies("app:postgresql.service", &service));
    let process = Candidate {
        identity: Identity {
            pid: 20,
            start: 200,
        },
        ..Candidate::default()
    };
    assert!(applies("pid:20", &process) && applies("pid:20@200", &process));
    assert!(!applies("pid:20@199", &process) && !applies("pid:2", &process));
}

#[test]
fn a_program_is_a_file_of_roots_or_a_script_of_roots() {
    let program = Candidate {
        program: Some(Name::from("postgres").unwrap()),
        ..called("hog")
    };
    let script = Candidate {
        program: Some(Name::from("python3.13").unwrap()),
        script: Some(Name::from("qtile").unwrap()),
        ..Candidate::default()
    };
    assert!(applies("program:postgres", &program) && applies("program:post*", &program));
    assert!(!applies("program:hog", &program));
    assert!(applies("program:qtile", &script) && applies("program:python*", &script));
    // Longer names than a scan keeps count by their beginning.
    let name = "a-program-whose-name-is-very-long-indeed";
    let long = Candidate {
        program: Some(Name::from(&name[..32]).unwrap()),
        ..Candidate::default()
    };
    assert!(applies(&format!("program:{name}"), &long));
    assert!(!applies("program:a-program-whose", &long));
}

#[test]
fn a_file_is_named_by_its_path_whoever_owns_it() {
    let game = runs("/home/ann/.local/share/Steam/steamapps/common/Game/bin/game");
    assert!(applies(
        "exe:/home/*/.local/share/Steam/steamapps/common/*",
        &game
    ));
    assert!(applies("exe:/home/ann/*", &game));
    assert!(!applies("exe:/home/*/game", &game));
    assert!(applies("exe:/opt/a", &runs("/opt/a (deleted)")));
    assert!(!applies("exe:/opt/a", &runs("")));
    assert!(wrong("exe:bin/a").contains("begins with a slash"));
}

#[test]
fn a_path_that_was_cut_is_what_the_host_found() {
    let guard = Guard {
        spare: vec![rule("exe:/opt/*")],
        avoid: vec![rule("command:*a*")],
        prefer: vec![rule("cgroup:/batch.slice"), rule("command:*b*")],
        ..Guard::default()
    };
    assert_eq!(guard.commands().collect::<Vec<_>>(), ["*a*", "*b*"]);
    let texts = Texts {
        command: b"server b",
        exe: b"/opt/very/deep",
        cgroup: b"/batch.slice/x.service",
    };
    let cut = Candidate {
        commands: guard.bits(&texts),
        ..runs("very/deep")
    };
    assert_eq!(cut.commands, 0b1110);
    assert!(guard.spares(&cut).is_some());
    assert!(guard.avoids(&cut).is_none());
    assert_eq!(guard.prefers(&cut).unwrap().as_str(), "cgroup:/batch.slice");
    let unknown = Candidate { commands: 0, ..cut };
    assert!(guard.spares(&unknown).is_none() && guard.prefers(&unknown).is_none());
    // What was found by other rules is found by these, as far as they are the same.
    let other = Guard {
        prefer: vec![rule("command:*b*"), rule("command:*c*")],
        ..Guard::default()
    };
    assert_eq!(other.bits_by(&guard, cut.commands), 0b01);
}

#[test]
fn no_more_commands_than_bits_are_asked() {
    let rules = (0..70).map(|number| rule(&format!("command:*{number}")));
    let guard = Guard {
        prefer: rules.collect(),
        ..Guard::default()
    };
    let texts = Texts {
        command: b"x 69",
        ..Texts::default()
    };
    assert_eq!(guard.bits(&texts), 1 << 9);
}

#[test]
fn a_user_is_a_number_or_has_to_be_looked_up() {
    let ann = Candidate {
        user: 1000,
        ..Candidate::default()
    };
    assert!(applies("user:1000", &ann) && !applies("user:1001", &ann));
    let mut named = rule("user:ann");
    assert_eq!(named.unknown_user(), Some("ann"));
    assert!(!named.applies(&ann));
    named.know_user(1000);
    assert!(named.applies(&ann));
    assert_eq!(named.unknown_user(), None);
    assert_eq!(named.to_string(), "user:ann");
    assert_eq!(serde_json::to_string(&named).unwrap(), "\"user:1000\"");
    assert!(wrong("user:4294967295").contains("no number of a user"));
}

#[test]
fn a_name_is_compared_as_the_kernel_cuts_it() {
    let isolated = called("Isolated Web Co");
    assert!(applies("name:Isolated Web Content", &isolated));
    assert!(applies("name:Isolated Web Content*", &isolated));
    assert!(applies("name:Isolated*", &isolated) && applies("name:*Web*", &isolated));
    assert!(!applies("name:Web Content", &isolated));
    assert_eq!(
        rule("name:Isolated Web Content").cut_name(),
        Some("Isolated Web Co")
    );
    assert_eq!(rule("name:Isolated*").cut_name(), None);
    assert!(applies("name:hog", &called("hog")) && !applies("name:hog", &called("hogs")));
}

#[test]
fn a_name_exempts_nobody() {
    let error = rule("name:hog").exempts().unwrap_err().to_string();
    assert!(error.contains("any process can take any name: use program:, exe:, unit: or command:"));
    assert!(rule("program:hog").exempts().is_ok());
}

#[test]
fn a_container_goes_by_either_of_its_names() {
    let by_hand = in_unit(
        Place::Container,
        "app.service",
        "/machine.slice/machine-box.scope/payload/system.slice/app.service",
    );
    let by_unit = in_unit(
        Place::Service,
        "systemd-nspawn@box.service",
        "/machine.slice/systemd-nspawn@box.service/payload/system.slice/app.service",
    );
    for text in ["systemd-nspawn@box.service", "machine-box.scope"] {
        assert!(applies(text, &by_hand), "{text}");
        assert!(applies(text, &by_unit), "{text}");
    }
    for text in ["systemd-nspawn@other.service", "machine-bo.scope"] {
        assert!(
            !applies(text, &by_hand) && !applies(text, &by_unit),
            "{text}"
        );
    }
    assert!(applies("machine.slice", &by_hand) && applies("machine.slice", &by_unit));
    assert!(applies("machine-*", &by_hand));
    // A service that runs one container with podman holds that container's cgroup.
    let quadlet = in_unit(
        Place::Container,
        "libpod-payload-1",
        "/system.slice/web.service/libpod-payload-1",
    );
    assert!(applies("web.service", &quadlet) && !applies("other.service", &quadlet));
}

#[test]
fn what_a_container_or_a_user_calls_a_group_is_no_name_of_roots() {
    let inside = in_unit(
        Place::Container,
        "app.service",
        "/machine.slice/machine-box.scope/payload/important.service/app.service",
    );
    assert!(!applies("important.service", &inside));
    let rootless = in_unit(
        Place::Container,
        "libpod-1.scope",
        "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-1.scope",
    );
    assert!(!applies("libpod-1.scope", &rootless));
    assert!(applies("app:libpod-1.scope", &rootless));
    let named_so = in_unit(
        Place::App,
        "x.service",
        "/user.slice/user-1000.slice/user@1000.service/machine.slice/x.service",
    );
    assert!(!applies("machine.slice", &named_so));
    assert!(applies("user-1000.slice", &named_so) && applies("user.slice", &rootless));
}

#[test]
fn a_long_unit_counts_whole_as_far_as_it_is_known() {
    let number = "0123456789abcdef".repeat(4);
    let unit = format!("docker-{number}.scope");
    let path = format!("/system.slice/{unit}");
    let known = in_unit(Place::Container, &unit[..64], &path);
    let unknown = in_unit(Place::Container, &unit[..64], "");
    assert!(applies(&unit, &known) && applies(&unit, &unknown));
    assert!(applies("docker-*.scope", &known));
    assert!(!applies(&format!("docker-{number}x.scope"), &known));
}

#[test]
fn a_cgroup_has_those_below_it() {
    let inside = in_unit(Place::Service, "a.service", "/batch.slice/a.service");
    assert!(applies("cgroup:/batch.slice", &inside) && applies("cgroup:/batch.slice/", &inside));
    assert!(applies("cgroup:/batch.slice/*", &inside));
    assert!(!applies("cgroup:/batch", &inside) && !applies("cgroup:/", &inside));
    assert!(wrong("cgroup:batch.slice").contains("begins with a slash"));
}

#[test]
fn code_of_others_takes_the_name_of_a_program_away() {
    let list = || vec![rule("program:gimp")];
    let guard = Guard {
        spare: list(),
        ..Guard::default()
    };
    let gimp = Candidate {
        program: Some(Name::from("gimp").unwrap()),
        ..Candidate::default()
    };
    let preloaded = Candidate {
        foreign_code: true,
        ..gimp
    };
    assert!(guard.spares(&gimp).is_some());
    assert!(guard.spares(&preloaded).is_none());
    let guard = Guard {
        avoid: list(),
        ..Guard::default()
    };
    assert!(guard.avoids(&preloaded).is_none());
    let guard = Guard {
        prefer: list(),
        ..Guard::default()
    };
    assert!(guard.prefers(&preloaded).is_some());
}

#[test]
fn texts_that_say_nothing_are_refused() {
    for text in ["", " ", "program:", "name: ", "command:", "user:", "pid:"] {
        assert!(wrong(text).ends_with("it names nothing"), "{text}");
    }
    for text in ["pid:x", "pid:1@x", "pid:-1"] {
        assert!(wrong(text).contains("is no process"), "{text}");
    }
    assert!(wrong("command:a\nb").contains("control character"));
}

#[test]
fn what_can_match_nothing_is_said_with_what_to_write() {
    for (text, hint) in [
        ("sshd", "such as sshd.service"),
        ("sshd", "program:sshd"),
        ("app:editor", "app:editor.service"),
        ("backup.timer", "such as backup.service"),
        ("a/b.service", "has no slash"),
        ("/usr/bin/x", "exe:/usr/bin/x"),
        ("programs:x", "programs: is no kind of rule"),
        ("program:/usr/bin/x", "write exe:/usr/bin/x"),
        ("program:bin/x", "such as program:x"),
    ] {
        let fault = rule(text).fault().expect(text);
        assert!(fault.contains(hint), "{text}: {fault}");
    }
    let long = "a".repeat(256);
    assert!(rule(&format!("program:{long}")).fault().is_some());
    assert!(rule(&format!("{long}.service")).fault().is_some());
    for text in [
        "sshd.service",
        "session-*",
        "machine.slice",
        "lxc.payload.box",
        "dbus-:1.2-org.a@0.service",
        "program:a",
        "command:x",
    ] {
        assert_eq!(rule(text).fault(), None, "{text}");
    }
    assert_eq!(rule(&"0a".repeat(32)).fault(), None);
}

#[test]
fn two_spellings_of_one_rule_are_told() {
    assert!(rule("a.service").says_the_same_as(&rule("unit:a.service")));
    assert!(!rule("a.service").says_the_same_as(&rule("app:a.service")));
}

proptest! {
    #[test]
    fn any_text_is_a_rule_or_an_error(text in "\\PC{0,40}") {
        if let Ok(rule) = text.parse::<Rule>() {
            let _ = rule.fault();
            rule.applies(&Candidate::default());
            let again: Rule = rule.to_string().parse().unwrap();
            prop_assert!(again.says_the_same_as(&rule));
        }
    }

    #[test]
    fn any_kind_of_any_text_is_a_rule_or_an_error(
        kind in 0..KEYWORDS.len(),
        text in "[a-zé\\\\x2d/*@:.0-9 -]{0,40}",
        name in "[a-zé.-]{0,15}",
    ) {
        let text = format!("{}:{text}", KEYWORDS[kind]);
        if let Ok(rule) = text.parse::<Rule>() {
            let candidate = in_unit(Place::Container, &name, &format!("/{name}/machine-{name}.scope"));
            rule.applies(&Candidate { name: Name::from(&name).unwrap(), ..candidate });
            let json = serde_json::to_string(&rule).unwrap();
            let again: Rule = serde_json::from_str(&json).unwrap();
            prop_assert!(again.says_the_same_as(&rule));
        }
    }
}
