//! `warmset-lab`: kernels in virtual machines, loaded and compared.

use std::process::ExitCode;

fn main() -> ExitCode {
    warmset_vmlab::command::run()
}
