//! `warmset hold`: keeps named files in memory, by hand.

use crate::rules::{hold_files, release_files};
use crate::ui::hinted::Hinted;
use crate::ui::socket::{ANSWERS_TO, Guard, JOIN, ask};
use crate::ui::text::{counted, or_unknown};
use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::rules::Rules;
use pressure::config::{Mode, named_fault};
use pressure::status::{Named, NamedPath, Status};
use serde::Serialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use units::Bytes;

/// A guard that was told reads its list at once, and looks at a file in milliseconds. What is larger is still read in then.
const UNTIL_HELD: Duration = Duration::from_secs(4);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// Hold files in memory, until the next boot
///
/// A file is held whole: it is read in, and its pages stay whatever else fills memory. Of a directory all files are held that are
/// in it and below, without following symbolic links or entering other file systems; new ones are found within a minute. A
/// file that is replaced or cut short is released, and what is at its path then is held within seconds.
///
/// Together they may take protect.budget of the configuration, a tenth of memory, and come before what warmsetd holds by
/// itself. What is named first is held first; a file that does not fit is not held, and smaller ones after it are.
/// Only files on local disks are held. warmsetd holds nothing in other modes than protect.
///
/// Without a path, what is held is listed, and why the rest is not. In JSON, files, size and held_files are null until the
/// path was looked at, and sizes are in bytes. To hold for good, use protect.files in the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files and directories
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Hold these no longer
    #[arg(long)]
    release: bool,
    /// All that was named by hand
    #[arg(long, requires = "release", conflicts_with = "paths")]
    all: bool,
}

/// What is held, for programs.
#[derive(Debug, Serialize)]
struct Report {
    /// Why nothing is held, whatever is named.
    nothing_is_held: Option<String>,
    #[serde(flatten)]
    named: Named,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if args.release {
        let gone = release(args, context)?;
        if context.form == Form::Text {
            for path in gone {
                writeln!(out, "released: {path}")?;
            }
            return Ok(ExitCode::SUCCESS);
        }
    }
    let mut new = Vec::new();
    if !args.release && !args.paths.is_empty() {
        for path in &args.paths {
            new.push(named(path)?);
        }
        let guard = ask(&context.run)?;
        check_sizes(&new, &guard)?;
        hold_files(&new, "hold", context)?;
        wait_until_held(&new, context)?;
    }
    let report = Report::of(context)?;
    match context.form {
        Form::Json => json(out, &report)?,
        Form::Text => report.write(out)?,
    }
    let is_refused = |path: &NamedPath| path.files == Some(0) && new.contains(&path.path);
    if report.named.paths.iter().any(is_refused) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn release(args: &Args, context: &Context) -> Result<Vec<String>> {
    if args.all {
        return release_files(None, context);
    }
    if args.paths.is_empty() {
        let hint = "name what to release, or all: warmset hold --release --all";
        return Err(Hinted::new("--release without a path", hint)
            .with_code(2)
            .into());
    }
    // What has gone has no other name than the one it was given.
    let paths = args.paths.iter().map(|path| {
        let there = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        there.unwrap_or_else(|_| path.clone())
    });
    let paths: Vec<String> = paths
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    release_files(Some(&paths), context)
}

/// The path of a file or directory that is there, as the rules name it: absolute, and without symbolic links.
fn named(path: &Path) -> Result<String> {
    let shown = path.display();
    let refused = |what: &str| {
        let hint = "name plain files, or directories that have some";
        anyhow::Error::from(Hinted::new(format!("{shown}: {what}: not held"), hint))
    };
    let real = fs::canonicalize(path).map_err(|error| refused(&error.to_string()))?;
    let meta = fs::metadata(&real).map_err(|error| refused(&error.to_string()))?;
    if !meta.is_file() && !meta.is_dir() {
        return Err(refused("it is neither a plain file nor a directory"));
    }
    let Some(text) = real.to_str() else {
        return Err(refused("its path is not text in UTF-8"));
    };
    match named_fault(text) {
        Some(fault) => Err(refused(fault)),
        None => Ok(text.to_owned()),
    }
}

/// Refuses a file that alone is more than may be held, as far as the guard says how much that is.
fn check_sizes(paths: &[String], guard: &Guard) -> Result<()> {
    let Guard::Running(status) = guard else {
        return Ok(());
    };
    let Some(budget) = status.named.budget else {
        return Ok(());
    };
    for path in paths {
        let meta = fs::metadata(path);
        let size = meta.map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 });
        let size = Bytes::new(size);
        if size > budget {
            let what = format!(
                "{path} has {size}, and at most {budget} of all named files may be held: nothing was changed"
            );
            let hint = "raise protect.budget, up to a quarter of memory, or name a smaller file";
            return Err(Hinted::new(what, hint).into());
        }
    }
    Ok(())
}

/// Waits until the guard holds all of these, or cannot, or has had time enough to begin.
fn wait_until_held(paths: &[String], context: &Context) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < UNTIL_HELD {
        let Guard::Running(status) = ask(&context.run)? else {
            return Ok(());
        };
        if why_nothing(&status).is_some() {
            return Ok(());
        }
        let is_settled = |path: &String| {
            let mut known = status.named.paths.iter();
            known
                .find(|known| known.path == *path)
                .is_some_and(|known| known.files == Some(0) || known.held == known.size)
        };
        if paths.iter().all(is_settled) {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Why this guard holds no file, and what to type.
fn why_nothing(status: &Status) -> Option<String> {
    if let Some(why) = &status.only_observes {
        return Some(format!(
            "warmsetd only observes ({why}): nothing is held; sudo warmset mode protect"
        ));
    }
    if status.mode != Mode::Protect {
        let mode = status.mode;
        return Some(format!(
            "warmsetd runs in mode {mode}: nothing is held; sudo warmset mode protect"
        ));
    }
    None
}

impl Report {
    fn of(context: &Context) -> Result<Self> {
        let nothing_is_held = match ask(&context.run)? {
            Guard::Running(status) => match why_nothing(&status) {
                Some(why) => why,
                None => {
                    return Ok(Self {
                        nothing_is_held: None,
                        named: status.named,
                    });
                }
            },
            Guard::Absent => {
                "no guard runs: nothing is held; sudo systemctl start warmsetd".to_owned()
            }
            Guard::Closed(why) => {
                let what = format!("{why}: warmsetd {ANSWERS_TO}");
                return Err(Hinted::new(what, JOIN).into());
            }
        };
        let rules = Rules::read(&context.run)?;
        let unknown = |path| NamedPath {
            path,
            ..NamedPath::default()
        };
        Ok(Self {
            nothing_is_held: Some(nothing_is_held),
            named: Named {
                budget: None,
                paths: rules.files.into_iter().map(unknown).collect(),
            },
        })
    }

    fn write(&self, out: &mut impl Write) -> Result<()> {
        if self.named.paths.is_empty() {
            writeln!(out, "no file is named to be held")?;
        }
        for path in &self.named.paths {
            write_path(path, self.nothing_is_held.is_some(), out)?;
        }
        if let Some(budget) = self.named.budget {
            let held: Bytes = self.named.paths.iter().filter_map(|path| path.held).sum();
            if !self.named.paths.is_empty() {
                writeln!(
                    out,
                    "{held} are held of {budget} that may be (protect.budget)"
                )?;
            }
        }
        if let Some(why) = &self.nothing_is_held {
            writeln!(out, "{why}")?;
        }
        Ok(())
    }
}

fn write_path(named: &NamedPath, is_off: bool, out: &mut impl Write) -> Result<()> {
    let path = &named.path;
    if is_off {
        writeln!(out, "named: {path}")?;
        return Ok(());
    }
    let (Some(files), Some(size)) = (named.files, named.size) else {
        writeln!(out, "{path}: not looked at yet")?;
        return Ok(());
    };
    let held = or_unknown(named.held);
    let held_files = named.held_files.unwrap_or(0);
    if files == 1 {
        write!(out, "{path}: {held} of {size} held")?;
    } else if files > 0 {
        let all = counted(files, "file", "files");
        write!(out, "{path}: {held} of {size} held, {held_files} of {all}")?;
    } else {
        write!(out, "{path}: not held")?;
    }
    match &named.why {
        Some(why) => writeln!(out, "; {why}")?,
        None => writeln!(out)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(report: &Report) -> String {
        let mut out = Vec::new();
        report.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn path(path: &str, numbers: [u64; 4], why: Option<&str>) -> NamedPath {
        let [files, size, held_files, held] = numbers;
        NamedPath {
            path: path.to_owned(),
            files: Some(files),
            size: Some(Bytes::mib(size)),
            held_files: Some(held_files),
            held: Some(Bytes::mib(held)),
            why: why.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_held_and_what_is_not_is_told_with_numbers() {
        let unknown = NamedPath {
            path: "/srv/new".to_owned(),
            ..NamedPath::default()
        };
        let report = Report {
            nothing_is_held: None,
            named: Named {
                budget: Some(Bytes::mib(100)),
                paths: vec![
                    path("/srv/index", [1, 40, 1, 40], None),
                    path("/srv/data", [9, 300, 2, 60], Some("7 files do not fit")),
                    path("/srv/gone", [0, 0, 0, 0], Some("it is not there")),
                    unknown,
                ],
            },
        };
        expect_test::expect![[r"
            /srv/index: 40 MiB of 40 MiB held
            /srv/data: 60 MiB of 300 MiB held, 2 of 9 files; 7 files do not fit
            /srv/gone: not held; it is not there
            /srv/new: not looked at yet
            100 MiB are held of 100 MiB that may be (protect.budget)
        "]]
        .assert_eq(&text(&report));
    }

    #[test]
    fn another_mode_is_told_with_what_to_type() {
        let mut status = crate::example::unknown();
        assert!(why_nothing(&status).unwrap().contains("in mode tune"));
        status.mode = Mode::Protect;
        assert_eq!(why_nothing(&status), None);
        status.only_observes = Some("only root may act".to_owned());
        assert!(why_nothing(&status).unwrap().contains("only root may act"));
    }

    #[test]
    fn a_file_larger_than_all_that_may_be_held_is_refused_with_both_sizes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("large");
        fs::File::create(&file).unwrap().set_len(5 << 20).unwrap();
        let large = named(&file).unwrap();
        let all = named(directory.path()).unwrap();
        let mut status = crate::example::unknown();
        let guard = |status: &Status| Guard::Running(Box::new(status.clone()));
        assert!(check_sizes(std::slice::from_ref(&large), &guard(&status)).is_ok());
        status.named.budget = Some(Bytes::mib(4));
        let error = check_sizes(&[all.clone(), large], &guard(&status)).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("5 MiB") && error.contains("4 MiB"),
            "{error}"
        );
        assert!(
            check_sizes(&[all], &guard(&status)).is_ok(),
            "a part may fit"
        );
    }

    #[test]
    fn a_link_is_named_by_what_it_leads_to_and_a_device_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let all = directory.path().canonicalize().unwrap();
        fs::write(all.join("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", all.join("link")).unwrap();
        assert_eq!(
            named(&all.join("link")).unwrap(),
            all.join("file").to_str().unwrap()
        );
        assert!(named(Path::new("/dev/null")).is_err());
        let error = named(&all.join("none")).unwrap_err().to_string();
        assert!(error.contains("none: No such file"), "{error}");
    }
}
