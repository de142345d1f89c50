//! `warmset-lab`: kernels in virtual machines, loaded and compared.

mod command;

use clap::Parser;
use command::Options;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    match options.run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "warmset-lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
