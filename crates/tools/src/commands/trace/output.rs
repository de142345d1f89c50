//! The file that a trace goes to.

use crate::ui::hinted::Hinted;
use anyhow::Result;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use traces::Output;

/// The format that a file's name asks for.
pub(super) fn format_of(path: &Path) -> Result<Output> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("arrow") => Ok(Output::Arrow),
        Some("parquet") => Ok(Output::Parquet),
        _ => {
            let what = format!(
                "{}: the name must end in .parquet or .arrow",
                path.display()
            );
            let hint = "such as ls.parquet; warmset convert makes other formats of it";
            Err(Hinted::new(what, hint).into())
        }
    }
}

/// `ls.parquet` for `/bin/ls`, in the current directory.
pub(super) fn default_path(program: &OsStr) -> PathBuf {
    let mut name = Path::new(program)
        .file_name()
        .unwrap_or_default()
        .to_os_string();
    name.push(".parquet");
    PathBuf::from(name)
}
