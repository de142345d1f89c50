//! The values that shells complete, where an option takes one of a known set or a file.
//!
//! The command line takes more than these: `static:120` beside `static:100`, or three policies with commas between. So they
//! are told to the completions only, and not to the parser.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};
use traces::Output;

/// A value, and what it is.
type Value = (&'static str, &'static str);

/// What can be compared with what was recorded.
const ARMS: &[Value] = &[
    ("recorded", "what was"),
    ("none", "no gap at all"),
    ("static:100", "a fixed vm.watermark_scale_factor"),
    ("classic", "the founding predictor"),
    ("warmset", "the present one"),
];
/// Kernels of the VM lab that need no building.
const KERNELS: &[Value] = &[
    ("6.1", "Debian 12's"),
    ("6.12", "Debian 13's"),
    ("7", "Debian's newest"),
];
/// Managers of memory; those that take a number are not completed by one.
const MANAGERS: &[Value] = &[
    ("lru", "one list, by every use"),
    ("clock", "one list, by accessed bits"),
    ("linux", "the kernel's active and inactive lists"),
    ("mglru", "the kernel's generations"),
    ("le9", "linux with floors"),
    ("mglru-le9", "mglru with floors"),
    ("le9-adaptive", "a floor that refaults raise"),
    ("share", "an equal share for each program"),
    ("token", "linux with the swap token"),
];
/// Kinds of synthetic traces, with the parameter that is most often set.
const KINDS: &[Value] = &[
    ("zipf", "independent references by Zipf's law"),
    ("scan", "a scan, with a hot set or without"),
    ("indexed-db", "an index page, then a record page"),
    ("phases", "localities one after the other"),
];
/// Spans of time, one of each unit.
const SPANS: &[Value] = &[
    ("100ms", ""),
    ("1s", ""),
    ("10s", ""),
    ("1min", ""),
    ("1h", ""),
];
/// Shares of a footprint.
const SHARES: &[Value] = &[("1%", ""), ("10%", ""), ("50%", "")];
/// Page sizes.
const PAGES: &[Value] = &[("4096", ""), ("16KiB", ""), ("64KiB", ""), ("2MiB", "")];
/// Where a sweep runs.
const PLACES: &[Value] = &[("local", "on this machine")];

/// The command with the subcommands of `warmset-tools` as that program defines them: it runs them under its own name.
pub(crate) fn whole_command() -> Command {
    warmset_tools::in_place_of_names(warmset_cli::command())
}

/// A command with the values of its options, and of its subcommands'.
pub(crate) fn with_values(command: Command) -> Command {
    command.mut_args(with_value).mut_subcommands(with_values)
}

fn with_value(arg: Arg) -> Arg {
    let Some(name) = value_name(&arg) else {
        return arg;
    };
    let values = values_of(arg.get_id().as_str(), &name);
    if !values.is_empty() {
        let mut known = Vec::new();
        for (value, what) in values {
            known.push(PossibleValue::new(value).help(what));
        }
        // A default need not be among them.
        let arg = arg.default_value(None::<&str>);
        return arg.value_parser(PossibleValuesParser::new(known));
    }
    match (arg.get_value_hint(), name.as_str()) {
        (ValueHint::AnyPath, "DIR" | "DIRECTORY") => arg.value_hint(ValueHint::DirPath),
        (ValueHint::AnyPath, "FILE") => arg.value_hint(ValueHint::FilePath),
        _ => arg,
    }
}

/// The name of its value in the help, if it takes one.
fn value_name(arg: &Arg) -> Option<String> {
    if !arg.get_action().takes_values() {
        return None;
    }
    Some(arg.get_value_names()?.first()?.to_string())
}

/// The values of an option, by its own name and by that of its value.
pub(crate) fn values_of(option: &str, value: &str) -> Vec<Value> {
    match (option, value) {
        ("format", "FORMAT") => formats().collect(),
        ("to", "FORMAT") => formats()
            .filter(|(name, _)| Output::named(name).is_ok())
            .collect(),
        ("policies", "POLICY") => {
            let mut all = policies();
            all.extend(of_objects_alone());
            all.push(("all", "every policy"));
            all
        }
        (_, "POLICY") => policies(),
        ("page_size", "SIZE") => PAGES.to_vec(),
        ("capacities" | "memory", "SIZE") => SHARES.to_vec(),
        ("identity", "IDENTITY") => units(),
        (_, "ARMS") => ARMS.to_vec(),
        (_, "KERNEL") => KERNELS.to_vec(),
        (_, "MANAGER") => MANAGERS.to_vec(),
        (_, "KIND") => KINDS.to_vec(),
        (_, "SPAN") => SPANS.to_vec(),
        (_, "WHERE") => PLACES.to_vec(),
        _ => Vec::new(),
    }
}

fn formats() -> impl Iterator<Item = Value> {
    traces::FORMATS.iter().map(|(_, name, what)| (*name, *what))
}

fn policies() -> Vec<Value> {
    let specs = workingset::POLICIES.iter();
    specs.map(|spec| (spec.name, spec.about)).collect()
}

/// The policies for `--objects` that have no name of one of pages.
fn of_objects_alone() -> Vec<Value> {
    let mut values = Vec::new();
    for spec in workingset::objects::OBJECT_POLICIES {
        let is_of_pages = workingset::POLICIES
            .iter()
            .any(|page| page.name == spec.name);
        if !is_of_pages {
            values.push((spec.name, spec.about));
        }
    }
    values
}

/// The units that are protected as packaged: a name to begin with.
fn units() -> Vec<Value> {
    let units = pressure::Config::default().protect.units;
    let mut values = Vec::new();
    for unit in units {
        // Lent for ever: this program writes completions and ends.
        let name: &'static str = unit.leak();
        values.push((name, ""));
    }
    values
}
