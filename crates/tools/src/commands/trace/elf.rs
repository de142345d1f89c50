//! For which processor a program is, by the head of its file.

use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Bytes of a file's head: what the kernel reads of a script, and more than the ELF fields that are used.
const HEAD: usize = 256;
/// Interpreters of interpreters, as deep as the kernel follows them.
const DEEPEST: usize = 5;

/// What a program is, as the kernel would run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The file with the instructions: of a script, its interpreter's.
    pub(super) path: PathBuf,
    /// The words that stand before the arguments: of a script, the interpreter's option and the script.
    pub(super) before: Vec<OsString>,
    /// For which processor it is.
    pub(super) processor: Processor,
}

/// A processor, as QEMU names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Processor {
    pub(super) name: &'static str,
    pub(super) is_32_bit: bool,
}

/// The processors that are known: number in an ELF file, bits, whether the lowest byte comes first.
const PROCESSORS: &[(u16, u8, bool, &str)] = &[
    (62, 64, true, "x86_64"),
    (3, 32, true, "i386"),
    (183, 64, true, "aarch64"),
    (40, 32, true, "arm"),
    (243, 64, true, "riscv64"),
    (243, 32, true, "riscv32"),
    (258, 64, true, "loongarch64"),
    (21, 64, true, "ppc64le"),
    (21, 64, false, "ppc64"),
    (20, 32, false, "ppc"),
    (22, 64, false, "s390x"),
    (8, 64, true, "mips64el"),
    (8, 32, true, "mipsel"),
    (8, 64, false, "mips64"),
    (8, 32, false, "mips"),
];

impl Program {
    /// Reads the head of a file, and of its interpreter if it is a script.
    ///
    /// Errors: a file that cannot be read, or is neither a script nor a program for a processor that is known.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut path = path.to_owned();
        let mut before = Vec::new();
        for _ in 0..DEEPEST {
            let head = head(&path).with_context(|| path.display().to_string())?;
            if let Some((interpreter, option)) = interpreter(&head) {
                let words = option.into_iter().chain([path.into_os_string()]);
                before.splice(0..0, words);
                path = interpreter;
                continue;
            }
            let processor = Processor::of(&head).with_context(|| {
                format!("{}: not a program for a known processor", path.display())
            })?;
            return Ok(Self {
                path,
                before,
                processor,
            });
        }
        anyhow::bail!(
            "{}: more than {DEEPEST} scripts interpret each other",
            path.display()
        )
    }
}

impl Processor {
    fn of(head: &[u8]) -> Option<Self> {
        let rest = head.strip_prefix(b"\x7fELF")?;
        let bits = match rest.first()? {
            1 => 32,
            2 => 64,
            _ => return None,
        };
        let is_little = *rest.get(1)? == 1;
        let machine = head.get(18..20)?.try_into().ok()?;
        let machine = if is_little {
            u16::from_le_bytes(machine)
        } else {
            u16::from_be_bytes(machine)
        };
        let known = PROCESSORS
            .iter()
            .find(|known| (known.0, known.1, known.2) == (machine, bits, is_little))?;
        Some(Self {
            name: known.3,
            is_32_bit: known.1 == 32,
        })
    }

    /// Returns true if Valgrind on this machine runs its programs.
    pub(super) fn is_native(self) -> bool {
        let machine = std::env::consts::ARCH;
        self.name == machine || (machine == "x86_64" && self.name == "i386")
    }
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The interpreter of a script and its option, as the kernel reads `#!`: the rest of the line is one word.
fn interpreter(head: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let rest = head.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (path, option) = line.split_at(end);
    let option = option.trim_ascii();
    let option = (!option.is_empty()).then(|| OsString::from_vec(option.to_vec()));
    Some((PathBuf::from(OsString::from_vec(path.to_vec())), option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_its_interpreter_with_the_script_as_a_word() {
        let directory = tempfile::tempdir().unwrap();
        let shell = directory.path().join("shell");
        let script = directory.path().join("script");
        let mut elf = b"\x7fELF\x01\x01".to_vec();
        elf.resize(18, 0);
        elf.extend([40, 0]);
        std::fs::write(&shell, elf).unwrap();
        std::fs::write(&script, format!("#! {} -e -u \necho", shell.display())).unwrap();
        let program = Program::read(&script).unwrap();
        assert_eq!(program.path, shell);
        assert_eq!(program.before, [OsString::from("-e -u"), script.into()]);
        assert_eq!(program.processor.name, "arm");
        assert!(program.processor.is_32_bit);
    }

    #[test]
    fn what_is_no_program_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("it");
        for (text, says) in [
            ("hello".to_owned(), "not a program"),
            ("\x7fELF\x07".to_owned(), "not a program"),
            (format!("#!{}", path.display()), "interpret each other"),
        ] {
            std::fs::write(&path, text).unwrap();
            let said = format!("{:#}", Program::read(&path).unwrap_err());
            assert!(said.contains(says), "{said}");
        }
    }
}
