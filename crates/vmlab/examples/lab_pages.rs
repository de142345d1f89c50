//! Writes the manual page and completions of `warmset-lab`: `cargo run --example lab_pages -- DIRECTORY`.

use anyhow::{Context, Result};
use clap_complete::Shell;
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .context("usage: lab_pages DIRECTORY")?;
    let directory = Path::new(&directory);
    let mut command = warmset_vmlab::command::definition();
    let directory = |name: &str| -> Result<_> {
        let path = directory.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    };
    clap_mangen::generate_to(command.clone(), directory("man1")?)?;
    for (name, shell) in [
        ("bash", Shell::Bash),
        ("zsh", Shell::Zsh),
        ("fish", Shell::Fish),
    ] {
        clap_complete::generate_to(shell, &mut command, "warmset-lab", directory(name)?)?;
    }
    Ok(())
}
