//! `warmset prove`: shows what the guard does, in virtual machines on this one.

use crate::other_program;
use crate::ui::atomic_file::Replacing;
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form};
use anyhow::{Error, Result};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Show on this machine, in virtual ones, what Warmset does
///
/// Virtual machines of 1 GiB run the same load, three times without and three times with the guard as it is packaged; one
/// after the other where there are fewer than four processors. The result is one page with one picture. Takes four to ten
/// minutes. This machine's own kernel is not touched. Needs warmset-lab and QEMU.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The page to write
    #[arg(long, value_name = "FILE", default_value = "warmset-proof.html")]
    out: PathBuf,
    #[command(flatten)]
    replacing: Replacing,
    /// Debian's kernel to run: 6.1, 6.12 or 7
    #[arg(long, default_value = "6.12")]
    kernel: String,
}

const LAB: &str = "warmset-lab";

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    args.replacing.check(&args.out)?;
    // The lab writes to the same output.
    out.flush()?;
    let mut lab = Command::new(other_program::path(LAB));
    lab.arg("prove").arg("--out").arg(&args.out);
    // Whether the page may be replaced was asked above.
    lab.args(["--kernel", &args.kernel, "--force"]);
    if context.form == Form::Json {
        lab.arg("--json");
    }
    match lab.status() {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            Ok(ExitCode::from(code.unwrap_or(1)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let hint = "build it from Warmset's source with `make lab`, and put it beside warmset or on PATH";
            Err(Hinted::new("warmset-lab is not installed here", hint).into())
        }
        Err(error) => Err(Error::new(error).context("cannot run warmset-lab")),
    }
}
