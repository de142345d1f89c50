//! A program on a terminal of its own: keys go in, and what it shows is seen as a terminal would show it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A test waits so long for a screen: a loaded machine may take seconds for one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal, and the program that runs on it.
pub struct Terminal {
    master: Option<OwnedFd>,
    slave: OwnedFd,
    /// The program.
    pub child: Child,
    shown: vt100::Parser,
}

impl Terminal {
    /// Runs a program on a terminal of so many columns and rows.
    pub fn run(program: &Command, columns: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("a terminal of ours");
        unlockpt(&master).expect("an open terminal");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let name = OsStr::from_bytes(name.to_bytes());
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty()).expect("its other end");
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a size");
        let end = || Stdio::from(slave.try_clone().expect("another descriptor"));
        // A session of its own: its /dev/tty is this terminal, not the one that the test was started from. Without a fork,
        // so that the child is the program.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program());
        command.args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = program.get_current_dir() {
            command.current_dir(directory);
        }
        command.env("TERM", "xterm-256color");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
        Self {
            master: Some(master),
            slave,
            child: child.expect("setsid runs"),
            shown: vt100::Parser::new(rows, columns, 0),
        }
    }

    /// Waits until the screen is as wanted, and returns it. Panics if it never is.
    pub fn wait_for(&mut self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < until, "{what} is never shown:\n{screen}");
            self.take();
        }
    }

    /// What is on the screen now.
    pub fn screen(&self) -> String {
        self.shown.screen().contents()
    }

    /// Returns true while the program shows its own screen, not the one of the shell before it.
    pub fn is_alternate(&self) -> bool {
        self.shown.screen().alternate_screen()
    }

    /// Returns true while the terminal shows its cursor, echoes keys, and hands them on by the line.
    pub fn is_as_before(&self) -> bool {
        let modes = tcgetattr(&self.slave).expect("its modes").local_modes;
        let is_cooked = modes.contains(LocalModes::ICANON | LocalModes::ECHO);
        is_cooked && !self.is_alternate() && !self.shown.screen().hide_cursor()
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        let master = self.master.as_ref().expect("an open terminal");
        rustix::io::write(master, keys.as_bytes()).expect("a terminal that takes keys");
    }

    /// Closes the terminal, as when its window is closed.
    pub fn close(&mut self) {
        self.master = None;
    }

    /// Waits for the end of the program, and reads what it has shown until then.
    pub fn end(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            self.take();
            if let Some(status) = self.child.try_wait().expect("a child") {
                while self.take() {}
                return status;
            }
            if Instant::now() >= until {
                let _ = self.child.kill();
                panic!("it does not end:\n{}", self.screen());
            }
        }
    }

    /// Reads what has come; returns true if something has.
    fn take(&mut self) -> bool {
        let Some(master) = &self.master else {
            std::thread::sleep(Duration::from_millis(20));
            return false;
        };
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: 50_000_000,
        };
        let mut ends = [PollFd::new(master, PollFlags::IN)];
        if poll(&mut ends, Some(&wait)).unwrap_or(0) == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(master, &mut bytes) {
            Ok(count) if count > 0 => {
                self.shown.process(&bytes[..count]);
                true
            }
            _ => false,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
