//! The guards beside which a situation is played. Each is a service of Debian's with the settings that people have.

use situations::Situation;

/// A guard, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arm {
    /// The name that `--arms` takes.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// Its service.
    pub service: Option<&'static str>,
}

/// All arms, in the order of the table.
pub const ARMS: &[Arm] = &[
    Arm {
        name: "none",
        about: "the kernel alone, with no guard",
        service: None,
    },
    Arm {
        name: "earlyoom",
        about: "earlyoom as Debian has it",
        service: Some("earlyoom"),
    },
    Arm {
        name: "nohang",
        about: "nohang as Debian has it",
        service: Some("nohang"),
    },
    Arm {
        name: "systemd-oomd",
        about: "systemd-oomd: pressure 50 % for 20 s in user.slice, swap at 90 % everywhere",
        service: Some("systemd-oomd"),
    },
    Arm {
        name: WARMSET,
        about: "warmsetd in mode guard, otherwise as packaged",
        service: Some("warmsetd"),
    },
];

/// The arm that is asked for more than the others: it says and throttles, too.
pub const WARMSET: &str = "warmset";

/// Where Warmset logs to. The journal would say when it took a line, which is much later where memory is short.
const LOG: &str = "/run/warmset-lab.log";

/// What distributions set for systemd-oomd. Fedora sets it on `user@.service`; here it is on `user.slice`, which also holds
/// sessions, so that systemd-oomd may act in all situations of users.
const OOMD: &[(&str, &str)] = &[
    (
        "/etc/systemd/system/user.slice.d/oomd.conf",
        "[Slice]\nManagedOOMMemoryPressure=kill\nManagedOOMMemoryPressureLimit=50%\n",
    ),
    (
        "/etc/systemd/system/-.slice.d/oomd.conf",
        "[Slice]\nManagedOOMSwap=kill\n",
    ),
    (
        "/etc/systemd/oomd.conf.d/lab.conf",
        "[OOM]\nDefaultMemoryPressureDurationSec=20s\n",
    ),
];

impl Arm {
    /// The arm of this name.
    pub fn named(name: &str) -> anyhow::Result<Self> {
        let names: Vec<&str> = ARMS.iter().map(|arm| arm.name).collect();
        let found = ARMS.iter().find(|arm| arm.name == name);
        found
            .copied()
            .ok_or_else(|| anyhow::anyhow!("no arm '{name}': {}", names.join(", ")))
    }

    /// Files that configure it in this situation.
    pub(super) fn files(&self, situation: &Situation) -> Vec<(String, String)> {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        match self.name {
            "systemd-oomd" => OOMD.iter().map(owned).collect(),
            WARMSET => {
                let logs =
                    format!("[Service]\nStandardOutput=append:{LOG}\nStandardError=append:{LOG}\n");
                vec![
                    (
                        "/etc/warmset/warmset.toml".to_owned(),
                        situation.config_text(),
                    ),
                    (
                        "/etc/systemd/system/warmsetd.service.d/lab.conf".to_owned(),
                        logs,
                    ),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Its own files, such as recordings.
    pub(super) fn own_files(&self) -> Vec<String> {
        if self.name == WARMSET {
            vec!["/var/lib/warmset".to_owned()]
        } else {
            Vec::new()
        }
    }

    /// The file that it logs to.
    pub(super) fn log(&self) -> Option<String> {
        (self.name == WARMSET).then(|| LOG.to_owned())
    }

    /// The script that starts it.
    pub(super) fn start(&self) -> String {
        let Some(service) = self.service else {
            return String::new();
        };
        // The service is up when it says so. One that does not say so gets a moment.
        format!(
            "systemctl daemon-reload && systemctl start {service} && systemctl is-active {service}"
        )
    }

    /// Whether throttling, questions and notices are asked of it, too.
    pub fn says_and_throttles(&self) -> bool {
        self.name == WARMSET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_arm_lists_those_there_are() {
        assert_eq!(Arm::named("nohang").unwrap().name, "nohang");
        let error = Arm::named("oomd").unwrap_err().to_string();
        assert!(error.contains("earlyoom, nohang, systemd-oomd"), "{error}");
    }
}
