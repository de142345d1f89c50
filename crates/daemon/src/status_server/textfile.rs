//! `warmset.prom` for `node_exporter`'s textfile collector: replaced as a whole, removed at the end.

use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file, in a directory that others may write to as well.
#[derive(Debug)]
pub(super) struct Textfile {
    path: PathBuf,
    /// In the same directory, so that renaming it over `path` is atomic. The collector reads only `*.prom`.
    draft: PathBuf,
}

impl Textfile {
    /// The file in `directory`. Writes nothing yet. Errors: the path is not absolute.
    pub(super) fn new(directory: &str) -> Result<Self> {
        if !directory.starts_with('/') {
            bail!("metrics.textfile: expected an absolute path, found {directory:?}");
        }
        let directory = Path::new(directory);
        Ok(Self {
            path: directory.join("warmset.prom"),
            draft: directory.join(".warmset.prom.draft"),
        })
    }

    /// Replaces the file by `text`: a reader sees the old text or the new one.
    pub(super) fn renew(&self, text: &str) -> Result<()> {
        self.replace(text)
            .with_context(|| format!("metrics.textfile: {}", self.path.display()))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let mut draft = self.create_draft()?;
        draft.set_permissions(Permissions::from_mode(0o644))?;
        draft.write_all(text.as_bytes())?;
        fs::rename(&self.draft, &self.path)
    }

    /// Creates a new file. A symbolic link at its path is removed, not followed: others can write to the directory.
    fn create_draft(&self) -> io::Result<File> {
        match fs::remove_file(&self.draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.draft)
    }
}

impl Drop for Textfile {
    fn drop(&mut self) {
        for path in [&self.draft, &self.path] {
            // A file that is not there is what we want.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn the_file_is_replaced_and_removed_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let textfile = Textfile::new(directory.path().to_str().unwrap()).unwrap();
        let path = directory.path().join("warmset.prom");
        for text in ["first", "second"] {
            textfile.renew(text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "the draft became the file"
        );
        drop(textfile);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_symbolic_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, directory.path().join(".warmset.prom.draft")).unwrap();
        symlink(&victim, directory.path().join("warmset.prom")).unwrap();
        Textfile::new(directory.path().to_str().unwrap())
            .unwrap()
            .renew("text")
            .unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn an_error_names_the_missing_or_relative_directory() {
        let error = Textfile::new("metrics").unwrap_err().to_string();
        assert!(error.contains("\"metrics\""), "{error}");
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        let error = Textfile::new(gone.to_str().unwrap())
            .unwrap()
            .renew("text")
            .unwrap_err();
        assert!(
            format!("{error:#}").contains("gone/warmset.prom: No such file"),
            "{error:#}"
        );
    }
}
