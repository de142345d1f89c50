//! `warmset prove`: what it does, shown on this machine without touching it.

use crate::hinted::Hinted;
use crate::{Context, Form};
use anyhow::{Error, Result};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Prove on this machine, in virtual ones, what Warmset does
///
/// Two virtual machines of 1 GiB run the same storm at once, without and with the guard, and one page with
/// one picture is left to share. Takes three to five minutes; this machine's own kernel is not touched. Needs
/// warmset-lab and QEMU.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the page goes
    #[arg(long, value_name = "FILE", default_value = "warmset-proof.html")]
    out: PathBuf,
    /// Which of Debian's kernels: 6.1, 6.12 or 7
    #[arg(long, default_value = "6.12")]
    kernel: String,
}

const LAB: &str = "warmset-lab";

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    out.flush()?;
    let mut lab = Command::new(program());
    lab.arg("prove")
        .arg("--out")
        .arg(&args.out)
        .args(["--kernel", &args.kernel]);
    if context.form == Form::Json {
        lab.arg("--json");
    }
    match lab.status() {
        Ok(status) => Ok(ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let missing = Error::msg("warmset-lab is not installed here");
            Err(Hinted::new(
                missing,
                "build it from Warmset's source with `make lab`, and put it beside warmset or on PATH",
            )
            .into())
        }
        Err(error) => Err(Error::new(error).context("cannot run warmset-lab")),
    }
}

/// Beside this program, else wherever PATH has it.
fn program() -> PathBuf {
    let beside = std::env::current_exe().map(|own| own.with_file_name(LAB));
    beside
        .ok()
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(LAB))
}
