//! Users by their names, for rules `user:NAME`.

use pressure::config::Guard;
use std::collections::HashMap;
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
pub(crate) fn number(root: &Path, name: &str) -> Option<u32> {
    let text = fs::read(root.join("etc/passwd")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut users = text.lines().filter_map(user);
    users.find_map(|(known, number)| (known == name).then_some(number))
}

/// The name and the number of a line.
fn user(line: &str) -> Option<(&str, u32)> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    // The password stands between the name and the number.
    let number = fields.nth(1)?.parse().ok()?;
    Some((name, number))
}

/// Names of users by their numbers, to be shown.
#[derive(Debug, Default)]
pub struct UserNames(HashMap<u32, String>);

impl UserNames {
    /// Those of the machine at `root`. Of users from elsewhere only the numbers are known.
    pub fn read(root: &Path) -> Self {
        let text = fs::read(root.join("etc/passwd")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut names = HashMap::new();
        for (name, number) in text.lines().filter_map(user) {
            // Of several names the first counts, as for getpwuid(3).
            names.entry(number).or_insert_with(|| name.to_owned());
        }
        Self(names)
    }

    /// The name of a user, or else the number.
    pub fn of(&self, number: u32) -> String {
        match self.0.get(&number) {
            Some(name) => name.clone(),
            None if number == 0 => "root".to_owned(),
            None => number.to_string(),
        }
    }
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

    #[test]
    fn a_number_has_the_first_name_of_its_lines_or_stays_a_number() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("etc")).unwrap();
        let passwd = "ann:x:1000:1000::/home/ann:/bin/sh\nanna:x:1000:1000::/:/bin/sh\nnonsense\n";
        fs::write(dir.path().join("etc/passwd"), passwd).unwrap();
        let names = UserNames::read(dir.path());
        assert_eq!(
            [1000, 1001, 0].map(|number| names.of(number)),
            ["ann", "1001", "root"]
        );
    }
}
