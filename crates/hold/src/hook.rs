//! Becomes a hook: a program of root's that the guard runs when something happens.
//!
//! It is started with the program as its standard input, already checked, and gives up all that a hook does not need: its
//! capabilities for good, its priority, its protection from the OOM killer, locked memory, and every
//! descriptor that it may have been given besides.
#![allow(unsafe_code, reason = "two system calls that have no wrapper")]

use host::writes::OOM_SCORE_ADJ;
use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{
    Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setpriority_process,
    setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{io, ptr};

/// The first descriptor beyond standard input, output and error.
const FIRST: i32 = 3;
/// Descriptors that a service has by default.
const MOST: i32 = 1024;

/// Becomes the program that is standard input, with `name` as its own name and this environment. Returns only if it
/// cannot.
pub fn become_hook(name: &OsStr) -> io::Error {
    match give_up().and_then(|()| program()) {
        Ok(program) => match execute(&program, name) {
            Ok(never) => match never {},
            Err(error) => error,
        },
        Err(error) => error,
    }
}

/// Ends this process when the one that started it ends; an error if that has happened already.
pub fn end_with_parent() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if parent.is_none() || getppid() != parent {
        return Err(io::Error::other("the guard has ended"));
    }
    Ok(())
}

/// The kernel's own call: `exec` of the standard library gives a shell what the kernel takes for no program.
fn execute(program: &File, name: &OsStr) -> io::Result<Infallible> {
    let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    // By the descriptor, not by the path: what was checked is what runs. A machine may be without /dev/fd.
    let path = CString::new(format!("/proc/self/fd/{}", program.as_raw_fd()))?;
    let name = CString::new(name.as_bytes())?;
    let variables =
        std::env::vars_os().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let variables = variables.map(CString::new).collect::<Result<Vec<_>, _>>()?;
    let arguments = [name.as_ptr(), ptr::null()];
    let environment: Vec<_> = variables
        .iter()
        .map(|one| one.as_ptr())
        .chain([ptr::null()])
        .collect();
    // SAFETY: `path` is a C string, `arguments` and `environment` are lists of C strings with null at their end, and all
    // live until the call returns.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Err(io::Error::last_os_error())
}

/// The program at a descriptor that the new program does not take for its input. An interpreter opens it again, so for a
/// script it stays open. What is neither a program nor a script with its interpreter is refused: a shell would take it.
fn program() -> io::Result<File> {
    close_others();
    let stdin = io::stdin();
    let program = File::from(fcntl_dupfd_cloexec(stdin.as_fd(), FIRST)?);
    let mut begin = [0; 4];
    let read = program.read_at(&mut begin, 0)?;
    if begin[..read].starts_with(b"#!") {
        fcntl_setfd(&program, FdFlags::empty())?;
    } else if begin != *b"\x7fELF" {
        return Err(io::Error::other(
            "neither a program nor a script with an interpreter",
        ));
    }
    Ok(program)
}

/// Closes all but the standard three.
fn close_others() {
    let first = FIRST as libc::c_uint;
    let last = libc::c_uint::MAX;
    // SAFETY: the arguments are numbers, and no object of this process owns a descriptor above the standard three yet.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if result != 0 {
        // Before 5.9 the kernel has no such call.
        for descriptor in FIRST..MOST {
            // SAFETY: as above; the kernel refuses one that is not open.
            unsafe { libc::close(descriptor) };
        }
    }
}

fn give_up() -> io::Result<()> {
    end_with_parent()?;
    rustix::process::chdir("/")?;
    rustix::process::umask(Mode::from_raw_mode(0o077));
    setpriority_process(None, 0)?;
    let own = Path::new("/proc/self/oom_score_adj");
    let adjust = OOM_SCORE_ADJ.open(own, OFlags::empty())?;
    rustix::io::write(&adjust, b"0")?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Memlock, none)?;
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(())
}
