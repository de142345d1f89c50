//! Compares what strace(1) saw a program write with the list of what it may write.
//!
//! The list is that of `warmsetd --list-writes`: on each line, with tabs between, a pattern, its kind, what undoes the
//! write, and what it is for. In a pattern `*` stands for any characters. A signal has the pattern `pidfd` or `kill`,
//! after the system call that sends it.
//!
//! The trace is that of `strace -ff -y -a 1 -e trace=open,openat,openat2,creat,…`: one system call a line, with the
//! paths of file descriptors in angle brackets. Only files that are opened for writing count, also where opening failed.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};

/// Flags of open(2) by which a file can be changed or made.
const WRITING: &[&str] = &["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
/// Name of the signals that are sent by pidfd_send_signal(2).
const BY_PIDFD: &str = "pidfd";
/// Name of the signals that are sent by number, which a reused number could misdirect.
const BY_NUMBER: &str = "kill";

/// Checks all traces; prints `used PATTERN` for each pattern that was needed.
///
/// Errors: a write that the list does not name, by its path and the call.
pub(crate) fn check(list: &str, traces: &[&str]) -> Result<()> {
    let text = fs::read_to_string(list).with_context(|| format!("cannot read {list}"))?;
    let patterns = patterns(&text);
    ensure!(!patterns.is_empty(), "{list} lists no pattern");
    ensure!(!traces.is_empty(), "no trace of strace was given");
    let mut result = Comparison::default();
    for trace in traces {
        let text = fs::read_to_string(trace).with_context(|| format!("cannot read {trace}"))?;
        result.add(&patterns, &text);
    }
    let mut output = io::stdout().lock();
    for pattern in &result.used {
        writeln!(output, "used {pattern}")?;
    }
    let unlisted: Vec<&str> = result.unlisted.iter().map(String::as_str).collect();
    ensure!(unlisted.is_empty(), "not listed: {}", unlisted.join("; "));
    Ok(())
}

/// The patterns of a list.
fn patterns(list: &str) -> Vec<&str> {
    let first_words = list.lines().filter_map(|line| line.split('\t').next());
    first_words.filter(|pattern| !pattern.is_empty()).collect()
}

/// What came of comparing.
#[derive(Debug, Default)]
struct Comparison<'l> {
    /// Patterns that named a write.
    used: BTreeSet<&'l str>,
    /// Writes that no pattern names, each with its system call.
    unlisted: BTreeSet<String>,
}

impl<'l> Comparison<'l> {
    fn add(&mut self, patterns: &[&'l str], trace: &str) {
        for line in trace.lines() {
            let Some(written) = written(line) else {
                continue;
            };
            // A path that climbs could leave the directory that its pattern names.
            let climbs = written.split('/').any(|part| part == "..");
            let named = patterns
                .iter()
                .find(|pattern| !climbs && matches(pattern, &written));
            match named {
                Some(pattern) => {
                    self.used.insert(pattern);
                }
                None => {
                    self.unlisted.insert(format!("{written}: {line}"));
                }
            }
        }
    }
}

/// What a system call may write: an absolute path, or the name of a signal's kind; `None` if it writes nothing.
fn written(line: &str) -> Option<String> {
    let (call, arguments) = line.split_once('(')?;
    match call {
        "open" | "openat" | "openat2" | "creat" => opened(call, arguments),
        "pidfd_send_signal" => signal(arguments, BY_PIDFD),
        "kill" | "tkill" | "tgkill" => signal(arguments, BY_NUMBER),
        _ => None,
    }
}

/// The signal 0 only asks whether a process is there.
fn signal(arguments: &str, kind: &str) -> Option<String> {
    if arguments.contains("SIG") {
        Some(kind.to_owned())
    } else {
        None
    }
}

/// The path of a call that opens a file for writing.
fn opened(call: &str, arguments: &str) -> Option<String> {
    let (before, rest) = arguments.split_once('"')?;
    let end = closing_quote(rest)?;
    let (path, rest) = rest.split_at(end);
    let (flags, result) = rest.split_once(')')?;
    let writes = call == "creat" || WRITING.iter().any(|flag| flags.contains(flag));
    if !writes {
        return None;
    }
    let asked = absolute(in_brackets(before), path);
    match in_brackets(result) {
        Some(real) if !is_own_process(&asked, real) => Some(real.to_owned()),
        _ => Some(asked),
    }
}

/// Where the quotes of a string of strace's end.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// The path that `-y` prints after a file descriptor: `5</run/warmset/undo>`.
fn in_brackets(text: &str) -> Option<&str> {
    let begin = text.find('<')?;
    let end = text.rfind('>')?;
    text.get(begin + 1..end)
}

fn absolute(directory: Option<&str>, path: &str) -> String {
    match directory {
        Some(directory) if !path.starts_with('/') => format!("{directory}/{path}"),
        _ => path.to_owned(),
    }
}

/// Returns true if `/proc/self/…` was asked for and `/proc/NUMBER/…` was opened: the list has it as `/proc/self`.
fn is_own_process(asked: &str, real: &str) -> bool {
    let Some(below_self) = asked.strip_prefix("/proc/self/") else {
        return false;
    };
    let below = real
        .strip_prefix("/proc/")
        .and_then(|rest| rest.split_once('/'));
    below.is_some_and(|(process, below)| {
        process.bytes().all(|byte| byte.is_ascii_digit()) && below == below_self
    })
}

/// Returns true if `text` is `pattern`, in which each `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(rest) = text.strip_prefix(head) else {
        return false;
    };
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.into_iter()
        .any(|at| rest.get(at..).is_some_and(|rest| matches(tail, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the list for all that [`TRACE`] has.
    const LIST: &str = "/proc/sys/vm/page-cluster\tknob\tthe undo log\tvm.page-cluster\n\
        /sys/fs/cgroup/system.slice*memory.min\tcgroup limit\tthe undo log\tkeeps memory\n\
        /sys/fs/cgroup/*/memory.high\tcgroup limit\tthe undo log\tthrottles\n\
        /sys/fs/cgroup/*/cgroup.freeze\tcgroup limit\tthe undo log\tfreezes\n\
        /sys/fs/cgroup/*/cgroup.kill\trequest\tcannot be undone\tkills\n\
        /sys/fs/cgroup/warmset-probe-*\trequest\tthe cgroup is removed\ttries floors\n\
        /sys/fs/cgroup/cgroup.procs\trequest\tmoves back\ttries floors\n\
        /var/tmp/warmset-probe-*\town file\tremoved at once\ttries floors\n\
        /proc/pressure/memory\trequest\tthe kernel\twakes\n\
        /proc/self/oom_score_adj\town process\tthe end of the process\tis not killed first\n\
        /run/warmset/*\town file\tremoved at the end\tundo log\n\
        /var/lib/warmset/*\town file\tkept\trecordings\n\
        /dev/null\town file\tnothing to undo\toutput\n\
        pidfd\tsignal\tcannot be undone\tSIGTERM, SIGKILL\n";

    /// What strace 6.13 saw of a guard and its warmset-hold in the fault `writes`, each line once.
    const TRACE: &str = include_str!("../../tests/data/guard.strace");

    fn compare(list: &'static str, trace: &str) -> Comparison<'static> {
        let mut result = Comparison::default();
        result.add(&patterns(list), trace);
        result
    }

    fn unlisted(list: &'static str, trace: &str) -> Vec<String> {
        compare(list, trace).unlisted.into_iter().collect()
    }

    #[test]
    fn a_trace_of_listed_writes_passes_and_names_what_was_used() {
        let result = compare(LIST, TRACE);
        assert_eq!(result.unlisted, BTreeSet::new());
        assert_eq!(result.used.len(), patterns(LIST).len());
    }

    #[test]
    fn each_pattern_left_out_is_missed() {
        for left_out in patterns(LIST) {
            let list: Vec<&str> = patterns(LIST)
                .into_iter()
                .filter(|pattern| *pattern != left_out)
                .collect();
            let mut result = Comparison::default();
            result.add(&list, TRACE);
            assert!(!result.unlisted.is_empty(), "{left_out} was not missed");
        }
    }

    #[test]
    fn an_extra_write_is_named_with_its_call() {
        let line = r#"openat(AT_FDCWD</>, "/proc/sys/vm/drop_caches", O_WRONLY|O_CLOEXEC) = 7</proc/sys/vm/drop_caches>"#;
        let unlisted = unlisted(LIST, line);
        assert_eq!(unlisted.len(), 1);
        assert!(unlisted[0].starts_with("/proc/sys/vm/drop_caches: openat("));
    }

    #[test]
    fn the_file_that_was_opened_counts_and_not_the_link_to_it() {
        let line = r#"openat(AT_FDCWD</>, "/run/warmset/link", O_RDWR) = 7</etc/passwd>"#;
        assert!(unlisted(LIST, line)[0].starts_with("/etc/passwd: "));
        let line = r#"openat(AT_FDCWD</>, "/proc/self/oom_score_adj", O_WRONLY) = 7</proc/88/mem>"#;
        assert!(unlisted(LIST, line)[0].starts_with("/proc/88/mem: "));
    }

    #[test]
    fn what_could_not_be_opened_counts_by_the_path_that_was_asked_for() {
        let line = r#"openat(5</sys/fs/cgroup/a>, "memory.min", O_WRONLY) = -1 EACCES (Permission denied)"#;
        assert!(unlisted(LIST, line)[0].starts_with("/sys/fs/cgroup/a/memory.min: "));
        let line = r#"creat("/run/warmset/../x", 0666) = -1 ENOENT (No such file or directory)"#;
        assert!(unlisted(LIST, line)[0].starts_with("/run/warmset/../x: "));
    }

    #[test]
    fn a_file_that_is_only_read_does_not_count_whatever_its_name() {
        let line = r#"openat(AT_FDCWD</>, "/tmp/O_RDWR \"x", O_RDONLY|O_CLOEXEC) = 3</tmp/O_RDWR>"#;
        assert_eq!(written(line), None);
        assert_eq!(written("+++ exited with 0 +++"), None);
        assert_eq!(written("kill(88, 0) = 0"), None);
        assert_eq!(written("kill(88, SIGTERM) = 0").as_deref(), Some("kill"));
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(matches("/a/*/c", "/a/b/b/c"));
        assert!(matches("/a/**", "/a/b/c"));
        assert!(matches("/node*/compact", "/node0/compact"));
        assert!(!matches("/a/*/c", "/a/b/cc"));
        assert!(!matches("/a", "/a/b"));
    }
}
