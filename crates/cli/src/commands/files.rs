//! `warmset files`: what the page cache has of files, processes and units.

mod file_json;
mod file_table;
mod unit_cache;

use crate::ui::hinted::Hinted;
use crate::ui::text::{Page, Screen};
use crate::ui::{Context, Form, json, json_line, progress};
use anyhow::Result;
use inspect::files::{Changes, Charged, Crossing, Options, Report, Watched, charged_to, unit};
use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use units::Span;

/// Rows without `--limit`: what a terminal shows.
const ROWS: &str = "20";
/// A look that takes longer shows that it goes on.
const PATIENCE: Duration = Duration::from_secs(1);
/// Shortest time between two looks: a person reads no faster, and each look costs CPU time.
const SHORTEST: Duration = Duration::from_millis(100);

/// Show what is in the page cache, by file, directory, mount or unit
///
/// A directory is looked at with all below it, without following symbolic links or entering other file systems. Of a process
/// the files are told that it has open or mapped, of a unit those of all of its processes, each once. Without any of them,
/// each unit is shown with the page cache that it is charged for, and its refaults.
///
/// File data is never read, and nothing is brought into memory. "Evicted" is what was reclaimed of a file and the kernel
/// still has a mark of; of it, "recent" was evicted so lately that it would count as in use if it came back now. A mark "–"
/// is for what is not told. There is no hit ratio: the kernel counts refaults, which are misses, but no hits.
///
/// The kernel tells all of it by cachestat(2), since Linux 6.5, and otherwise only what is resident, by mincore(2): so it is
/// in containers that refuse cachestat, and on overlays. It tells that to root, to the owner of a file and to those that may
/// write to it: by cachestat since Linux 6.14, and in stable kernels of early 2025, by mincore since 5.2.
///
/// With --json, amounts are in bytes, and share is a fraction. Of "total", "whole" is the size in whole pages of the files that are
/// told; "untold" of the "files" are not told at all, and "by_residency" by what is resident only.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("target").multiple(true))]
pub(crate) struct Args {
    /// Files, and directories with all below them
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath, group = "target", conflicts_with_all = ["pid", "unit"])]
    paths: Vec<PathBuf>,
    /// The files that this process has open or mapped; may be given several times
    #[arg(long, value_name = "PID", group = "target")]
    pid: Vec<u32>,
    /// The same of all processes of this unit, such as postgresql.service, or a control group, such as /system.slice
    #[arg(long, value_name = "UNIT", group = "target", value_hint = clap::ValueHint::Other)]
    unit: Vec<String>,
    /// Sum up by this
    #[arg(long, value_name = "WHAT", default_value = "file", requires = "target")]
    by: By,
    /// Rows, at most
    #[arg(long, value_name = "N", default_value = ROWS)]
    limit: NonZeroUsize,
    /// Enter other file systems below PATH, if they are on local disks, in memory, or overlays. What is
    /// mounted twice counts twice
    #[arg(long, requires = "paths", conflicts_with_all = ["pid", "unit"])]
    cross: bool,
    /// Look again and again, and show what came and went between two looks, file by file [default SPAN: 1s]
    #[arg(
        long,
        value_name = "SPAN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1s"
    )]
    watch: Option<Span>,
}

/// What is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Each file
    File,
    /// Below PATH, what is directly in it; of processes, the directories of their files
    Directory,
    /// Mounted file systems
    Mount,
}

impl From<By> for inspect::files::By {
    fn from(by: By) -> Self {
        match by {
            By::File => Self::File,
            By::Directory => Self::Directory,
            By::Mount => Self::Mount,
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if args.paths.is_empty() && args.pid.is_empty() && args.unit.is_empty() {
        let mut look = unit_cache::Look::of(&context.root, args.limit.get())?;
        return repeat(args.watch, || {
            look.again();
            match (context.form, args.watch) {
                (Form::Json, None) => json(out, &look.json()),
                (Form::Json, Some(_)) => json_line(out, &look.json()),
                (Form::Text, watch) => {
                    let mut page = Page::new(Screen::of_environment());
                    look.show(&mut page, watch.is_some());
                    print(page, watch, out)
                }
            }?;
            Ok(out.flush()?)
        });
    }
    let options = Options {
        by: args.by.into(),
        limit: args.limit.get(),
        crossing: if args.cross {
            Crossing::Local
        } else {
            Crossing::Never
        },
        changes: if args.watch.is_some() {
            Changes::Wanted
        } else {
            Changes::NotWanted
        },
    };
    let mut watched = Watched::of(&context.root, options);
    repeat(args.watch, || {
        let (report, charged) = look(args, context, &mut watched)?;
        match (context.form, args.watch) {
            (Form::Json, None) => json(out, &file_json::report(&report, options.by, &charged)),
            (Form::Json, Some(_)) => {
                json_line(out, &file_json::report(&report, options.by, &charged))
            }
            (Form::Text, watch) => {
                let mut page = Page::new(Screen::of_environment());
                file_table::show(&mut page, &report, options, &charged);
                print(page, watch, out)
            }
        }?;
        Ok(out.flush()?)
    })
}

/// Does it once, or again and again until a signal ends this program.
fn repeat(watch: Option<Span>, mut once: impl FnMut() -> Result<()>) -> Result<ExitCode> {
    let Some(every) = watch else {
        once()?;
        return Ok(ExitCode::SUCCESS);
    };
    loop {
        once()?;
        std::thread::sleep(every.get().max(SHORTEST));
    }
}

/// An empty line ends each of several looks.
fn print(mut page: Page, watch: Option<Span>, out: &mut impl Write) -> Result<()> {
    if watch.is_some() {
        page.text.push('\n');
    }
    Ok(out.write_all(page.text.as_bytes())?)
}

/// One look, and what the units are charged for.
fn look(args: &Args, context: &Context, watched: &mut Watched) -> Result<(Report, Vec<Charged>)> {
    let begin = Instant::now();
    let mut bar = None;
    let mut show = |files: u64| {
        if begin.elapsed() >= PATIENCE {
            bar.get_or_insert_with(progress::files).set_position(files);
        }
    };
    let mut charged = Vec::new();
    let result = if args.paths.is_empty() {
        let mut pids = args.pid.clone();
        for name in &args.unit {
            let hint = "warmset files shows the units that have page cache";
            let found = unit(&context.root, name)?.ok_or_else(|| {
                Hinted::new(format!("{name}: no process runs in such a unit"), hint)
            })?;
            charged.extend(charged_to(&context.root, &found.path));
            pids.extend(found.pids);
        }
        pids.sort_unstable();
        pids.dedup();
        watched.processes(&pids, &mut show)
    } else {
        watched.paths(&args.paths, &mut show)
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = result.map_err(|error| hinted(error, args))?;
    Ok((report, charged))
}

/// What to do about a target that cannot be looked at.
fn hinted(error: host::Error, args: &Args) -> anyhow::Error {
    let kind = match &error.kind {
        host::ErrorKind::Unreadable(error) => Some(error.kind()),
        _ => None,
    };
    let hint = match kind {
        Some(ErrorKind::PermissionDenied) => "only root may look there: try sudo",
        Some(ErrorKind::NotFound) if args.paths.is_empty() => "name a process that runs",
        Some(ErrorKind::NotFound) => "a process is named by --pid PID, and a unit by --unit UNIT",
        _ => return error.into(),
    };
    Hinted::new(error, hint).into()
}
