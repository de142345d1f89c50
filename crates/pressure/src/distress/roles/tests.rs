use super::*;
use crate::scan::{Identity, Name, UnitName};

/// A user's process that runs this program of root's.
fn runs(program: &str) -> Candidate {
    Candidate {
        identity: Identity {
            pid: 20,
            start: 200,
        },
        program: Some(Name::from(program).unwrap()),
        user: 1000,
        ..Candidate::default()
    }
}

fn why(candidate: &Candidate) -> Option<Exemption> {
    exemption(candidate, &Guard::default())
}

#[test]
fn programs_are_in_order() {
    assert!(PROGRAMS.is_sorted());
    assert!(PROGRAMS.iter().all(|name| !name.ends_with('*')));
    // A longer name would be cut in the scan, and never be found.
    assert!(PROGRAMS.iter().all(|name| Name::from(name).is_ok()));
}

#[test]
fn what_a_session_depends_on_is_exempt_whichever_way_it_is_started() {
    for program in [
        "Hyprland",
        "start-hyprland",
        "niri",
        "labwc",
        "kwin_wayland",
        "kwin_wayland_wrapper",
        "cosmic-comp",
        "cosmic-panel",
        "gnome-session-init-worker",
        "gdm-wayland-session",
        "plasma_session",
        "xdg-desktop-portal-gnome",
        "sshd-auth",
        "sshd-session",
        "dropbear",
    ] {
        assert_eq!(why(&runs(program)), Some(Exemption::Program), "{program}");
    }
    for program in ["cosmic-store", "tailscaled", "firefox", "python3.13"] {
        assert_eq!(why(&runs(program)), None, "{program}");
    }
    let qtile = Candidate {
        script: Some(Name::from("qtile").unwrap()),
        ..runs("python3.13")
    };
    assert_eq!(why(&qtile), Some(Exemption::Program));
}

#[test]
fn code_of_a_users_takes_the_exemption_of_a_program_away() {
    let desktop = Candidate {
        place: Place::Desktop,
        ..runs("a-daemon")
    };
    for candidate in [runs("gnome-shell"), desktop] {
        assert!(why(&candidate).is_some());
        let preloaded = Candidate {
            foreign_code: true,
            ..candidate
        };
        assert_eq!(why(&preloaded), None);
    }
}

#[test]
fn an_interpreter_is_what_its_script_is() {
    let desktop = |program, script: Option<&str>| Candidate {
        place: Place::Desktop,
        script: script.map(|name| Name::from(name).unwrap()),
        ..runs(program)
    };
    assert_eq!(why(&desktop("python3.13", None)), None);
    assert_eq!(
        why(&desktop("python3.13", Some("applet"))),
        Some(Exemption::Unit)
    );
    assert_eq!(why(&desktop("applet", None)), Some(Exemption::Unit));
}

#[test]
fn a_container_of_systemds_is_no_service_that_keeps_the_system_up() {
    assert!(keeps_the_system_up("systemd-logind.service"));
    assert!(!keeps_the_system_up("systemd-nspawn@box.service"));
    let inside = Candidate {
        place: Place::Service,
        unit: UnitName::from("systemd-nspawn@box.service").unwrap(),
        user: 0,
        ..runs("postgres")
    };
    assert_eq!(why(&inside), None);
}
