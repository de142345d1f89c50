//! The program `warmset-tools`.

fn main() -> std::process::ExitCode {
    warmset_tools::run(std::env::args_os())
}
