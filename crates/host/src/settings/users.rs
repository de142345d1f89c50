//! Users by their names, for rules `user:NAME`.

use pressure::config::Guard;
use std::fs;
use std::path::Path;

/// Looks up the users that rules name; an error says which one is unknown, and in which list.
///
/// Only `/etc/passwd` is read: at boot no server that knows more users needs to answer yet.
pub fn know_users(root: &Path, guard: &mut Guard) -> Result<(), String> {
    let lists = [
        ("guard.spare", &mut guard.spare),
        ("guard.avoid", &mut guard.avoid),
        ("guard.prefer", &mut guard.prefer),
    ];
    for (key, rules) in lists {
        for rule in rules {
            let Some(name) = rule.unknown_user() else {
                continue;
            };
            let Some(number) = number(root, name) else {
                return Err(format!(
                    "{key}: rule \"{rule}\": /etc/passwd has no user {name}; of a user from elsewhere give the \
                     number, as `id -u {name}` prints it: user:NUMBER"
                ));
            };
            rule.know_user(number);
        }
    }
    Ok(())
}

/// The number of a user; `None` if the machine at `root` has no such user of its own.
fn number(root: &Path, name: &str) -> Option<u32> {
    let text = fs::read(root.join("etc/passwd")).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(name);
        // The password stands between the name and the number.
        let number = fields.nth(1).filter(|_| is_it)?;
        number.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_an_unknown_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("etc")).unwrap();
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\n+::::::\nann:x:1000:1000:Ann:/home/ann:/bin/sh\n";
        fs::write(dir.path().join("etc/passwd"), passwd).unwrap();
        let mut guard = Guard {
            prefer: vec!["user:ann".parse().unwrap(), "user:7".parse().unwrap()],
            ..Guard::default()
        };
        know_users(dir.path(), &mut guard).unwrap();
        assert_eq!(guard.prefer[0].user(), Some(1000));
        assert_eq!(guard.prefer[1].user(), Some(7));
        guard.avoid = vec!["user:bob".parse().unwrap()];
        let error = know_users(dir.path(), &mut guard).unwrap_err();
        assert!(
            error.starts_with("guard.avoid: rule \"user:bob\""),
            "{error}"
        );
        assert!(error.contains("user:NUMBER"), "{error}");
    }
}
