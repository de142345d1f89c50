//! oomd: rulesets of detectors and actions, in JSON with comments.
//!
//! Its pressure of memory is that of all tasks of a group (full). That of the whole machine becomes
//! `stall-limit`. That of one group kills nothing here.

use super::draft::{Draft, percent, seconds};
use pressure::import::quoted;
use serde_json::Value;
use units::{Percent, Span};

/// What kills in it.
const KILLS: &str = "kill_by_";

/// The translation of its file.
pub(super) fn file(draft: &mut Draft, text: &str) {
    let parsed: Result<Value, _> = serde_json::from_str(&without_comments(text));
    let root = match parsed {
        Ok(root) => root,
        Err(error) => return draft.leave_out("the file", format!("it is no JSON: {error}")),
    };
    let Some(root) = root.as_object() else {
        return draft.leave_out("the file", "it is no object with rulesets");
    };
    draft.mode = Some("guard");
    let mut found = Found::default();
    for (key, value) in root {
        match key.as_str() {
            "rulesets" => {
                for (index, ruleset) in value.as_array().into_iter().flatten().enumerate() {
                    Ruleset::new(index, ruleset).read(draft, &mut found);
                }
            }
            "prekill_hooks" => draft.leave_out(
                quoted(key),
                "no hook is waited for before a kill; users are asked instead (ask-for)",
            ),
            "version" => {}
            _ => draft.leave_out(quoted(key), "oomd has no such part that is known here"),
        }
    }
    found.put(draft);
}

/// What was found in all rulesets.
#[derive(Default)]
struct Found {
    /// The lowest limit of the machine's pressure, and its time.
    machine: Option<(Percent, Span)>,
    /// The lowest limit of a group's.
    group: Option<(Percent, Span)>,
    kills: bool,
    /// Whether each kill is only said.
    all_dry: bool,
}

impl Found {
    fn put(self, draft: &mut Draft) {
        // A group's limit holds for the machine as well: if all tasks stall so much, those of the group do.
        if let Some((limit, time)) = self.machine.or(self.group) {
            draft.stall("pressure_above", limit, time);
        } else {
            draft.note("no ruleset is about pressure of memory: stall-limit and stall-for are the defaults of Warmset");
        }
        if self.kills && self.all_dry {
            draft.mode = Some("observe");
        } else if !self.kills {
            draft.note("no action kills there, so the mode is observe");
            draft.mode = Some("observe");
        }
    }
}

/// A detector or an action.
struct Plugin<'a> {
    name: &'a str,
    arguments: Option<&'a Value>,
}

impl<'a> Plugin<'a> {
    fn new(value: &'a Value) -> Option<Self> {
        Some(Self {
            name: value.get("name")?.as_str()?,
            arguments: value.get("args"),
        })
    }

    /// An argument as text; numbers and switches are written with quotes and without.
    fn argument(&self, name: &str) -> Option<String> {
        match self.arguments?.get(name)? {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    fn arguments(&self) -> String {
        let Some(Value::Object(arguments)) = self.arguments else {
            return String::new();
        };
        let mut text = String::new();
        for name in arguments.keys() {
            let value = self.argument(name).unwrap_or_default();
            text.push(' ');
            text.push_str(name);
            text.push('=');
            text.push_str(&value);
        }
        text
    }
}

struct Ruleset<'a> {
    name: String,
    value: &'a Value,
}

impl<'a> Ruleset<'a> {
    fn new(index: usize, value: &'a Value) -> Self {
        let name = value.get("name").and_then(Value::as_str);
        Self {
            name: name.map_or_else(|| format!("ruleset {}", index + 1), quoted),
            value,
        }
    }

    fn shown(&self, plugin: &Plugin<'_>) -> String {
        let whole = format!("{}{}", plugin.name, plugin.arguments());
        format!("{}: {whole}", self.name)
    }

    fn read(&self, draft: &mut Draft, found: &mut Found) {
        let Some(parts) = self.value.as_object() else {
            return draft.leave_out(self.name.as_str(), "it is no object");
        };
        let actions = plugins(self.value.get("actions"));
        let kills = actions.iter().any(|action| action.name.starts_with(KILLS));
        for action in &actions {
            self.action(draft, found, action);
        }
        for group in self
            .value
            .get("detectors")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            for detector in plugins(Some(group)) {
                self.detector(draft, found, &detector, kills);
            }
        }
        for key in parts.keys() {
            self.part(draft, key);
        }
    }

    fn part(&self, draft: &mut Draft, key: &str) {
        let shown = format!("{}: {}", self.name, quoted(key));
        match key {
            "name" | "detectors" | "actions" | "silence-logs" => {}
            "post_action_delay" => draft.note(format!(
                "{shown}: the time to the next signal is how long freed memory takes to show"
            )),
            "prekill_hook_timeout" => draft.leave_out(
                shown,
                "no hook is waited for before a kill; users are asked instead (ask-for)",
            ),
            "cgroup" | "xattr_filter" => {
                draft.leave_out(
                    shown,
                    "here one set of limits is in force for the whole machine",
                );
            }
            "drop-in" | "disable-on-drop-in" => {
                draft.leave_out(
                    shown,
                    "files in conf.d are laid over the main file, key by key",
                );
            }
            _ => draft.leave_out(shown, "oomd has no such part that is known here"),
        }
    }

    fn detector(&self, draft: &mut Draft, found: &mut Found, plugin: &Plugin<'_>, kills: bool) {
        let shown = self.shown(plugin);
        match plugin.name {
            "pressure_above" | "pressure_rising_beyond" if !kills => {
                draft.leave_out(shown, "its ruleset kills nothing, so it sets no limit here");
            }
            "pressure_above" | "pressure_rising_beyond" => {
                pressure(draft, found, plugin, shown);
            }
            "memory_above" => draft.leave_out(
                shown,
                "what a group uses kills nothing here; give the unit MemoryHigh= or MemoryMax=",
            ),
            "memory_reclaim" => draft.note(format!(
                "{shown}: memory that cannot be given back is a condition of every kill here"
            )),
            "swap_free" => draft.leave_out(
                shown,
                "free swap counts as headroom here, with its own cost; there is no threshold for it alone",
            ),
            "dump_cgroup_overview" | "continue" => {
                draft.note(format!("{shown} is about its own log; see warmset why"));
            }
            _ => draft.leave_out(shown, "there is no such condition here"),
        }
    }

    fn action(&self, draft: &mut Draft, found: &mut Found, plugin: &Plugin<'_>) {
        let shown = self.shown(plugin);
        if plugin.name.starts_with(KILLS) {
            let is_dry = plugin.argument("dry").as_deref() == Some("true");
            found.all_dry = is_dry && (found.all_dry || !found.kills);
            found.kills = true;
            draft.leave_out(
                shown,
                "it kills a group of its list; here any process may be killed that is not exempt: name the others in \
                 guard.spare",
            );
        } else if plugin.name != "continue" && plugin.name != "stop" {
            draft.leave_out(shown, "there is no such action here");
        }
    }
}

/// A limit of pressure, of the machine or of a group.
fn pressure(draft: &mut Draft, found: &mut Found, plugin: &Plugin<'_>, shown: String) {
    if plugin.argument("resource").as_deref() != Some("memory") {
        return draft.leave_out(shown, "only pressure of memory is a reason to kill here");
    }
    let limit = plugin.argument("threshold").as_deref().and_then(percent);
    let time = plugin.argument("duration").as_deref().and_then(seconds);
    let (Some(limit), Some(time)) = (limit, time) else {
        return draft.leave_out(shown, "its threshold or its duration is no number");
    };
    let cgroup = plugin.argument("cgroup").unwrap_or_default();
    let is_machine = cgroup.split(',').any(|cgroup| matches!(cgroup, "/" | ""));
    let lowest = if is_machine {
        &mut found.machine
    } else {
        &mut found.group
    };
    let is_lower = lowest.is_none_or(|(other, _)| limit < other);
    if is_lower {
        *lowest = Some((limit, time));
    }
    if !is_machine {
        draft.leave_out(
            shown,
            "the pressure of one group kills nothing here; the lowest such limit is stall-limit, for the whole \
             machine, unless there is one for it",
        );
    } else if plugin.name == "pressure_rising_beyond" {
        draft.leave_out(shown, "a limit holds here whether or not pressure rises");
    }
}

/// The plugins in an array, in which names may stand, too.
fn plugins(value: Option<&Value>) -> Vec<Plugin<'_>> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Plugin::new).collect()
}

/// JSON without `//` and `/* */`, which oomd allows. Lines keep their numbers.
fn without_comments(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let end = if letter == '"' {
            end_of_string(rest)
        } else if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            rest = &rest[end..];
            continue;
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            let newlines = rest[..end].matches('\n').count();
            result.push_str(&"\n".repeat(newlines));
            rest = &rest[end..];
            continue;
        } else {
            letter.len_utf8()
        };
        result.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    result
}

/// Where the string that `text` begins with ends.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
