//! Which rules name a process by more than a scan keeps: its command line, and whole paths.
//!
//! The command line may hold secrets. So it is matched when it is read, and only the answers are kept: one bit for each
//! rule, as [`Guard::bits`] numbers them.

use pressure::config::Guard;
use pressure::rules::Texts;

/// Whether any rule asks for the command line.
pub(super) fn is_asked_for(rules: &Guard) -> bool {
    rules.commands().next().is_some()
}

/// The bits of the rules that match. The command is a text of `cmdline`, empty if no rule asks for it.
pub(super) fn matching(rules: &Guard, command: &[u8], exe: &[u8], cgroup: &[u8]) -> u64 {
    if !rules.wants_texts() {
        return 0;
    }
    let command = joined(command);
    rules.bits(&Texts {
        command: &command,
        exe,
        cgroup,
    })
}

/// Arguments joined by blanks; each ends with a zero byte.
fn joined(command: &[u8]) -> Vec<u8> {
    let mut line = command.to_vec();
    while line.last() == Some(&0) {
        line.pop();
    }
    for byte in &mut line {
        if *byte == 0 {
            *byte = b' ';
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_go_by_the_order_of_the_command_rules_and_paths_follow() {
        let rules = Guard {
            spare: vec![
                "sshd.service".parse().unwrap(),
                "command:*lab*".parse().unwrap(),
            ],
            avoid: vec!["command:nothing".parse().unwrap()],
            prefer: vec![
                "exe:/opt/*".parse().unwrap(),
                "command:python3 -m *".parse().unwrap(),
            ],
            ..Guard::default()
        };
        assert!(is_asked_for(&rules));
        assert!(!is_asked_for(&Guard::default()));
        let bits = |command: &[u8], exe: &[u8]| matching(&rules, command, exe, b"/");
        assert_eq!(
            bits(b"python3\0-m\0jupyter\0lab\0", b"/usr/bin/python3"),
            0b101
        );
        assert_eq!(bits(b"nothing\0\0", b""), 0b010);
        assert_eq!(bits(b"", b"/opt/game"), 0b1000);
        assert_eq!(bits(b"\xff\x1b[2Jlab", b""), 0b001);
        assert_eq!(matching(&Guard::default(), b"x", b"/opt/game", b"/"), 0);
    }
}
