//! The `warmset` command.

fn main() -> std::process::ExitCode {
    warmset_cli::run(std::env::args_os())
}
