//! The terminal while something is shown live: the alternate screen, and keys one by one. Both are put back when this is
//! dropped, before a panic tells of itself, and while the program is stopped by Ctrl-Z.

use anyhow::{Context as _, Result};
use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::layout::{Rect, Size};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// A terminal that shows something live.
#[derive(Debug)]
pub(crate) struct LiveTerminal {
    terminal: DefaultTerminal,
    /// Where keys come from.
    keyboard: OwnedFd,
}

/// What ended a wait.
#[derive(Debug)]
pub(crate) enum Woken {
    /// Time, a signal, or a new size.
    Time,
    Keys(Vec<KeyEvent>),
    /// The terminal was closed.
    Gone,
}

impl LiveTerminal {
    /// Errors: there is no terminal to read keys from.
    pub(crate) fn enter() -> Result<Self> {
        let keyboard = keyboard().context("there is no terminal to read keys from")?;
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self { terminal, keyboard }),
            Err(error) => {
                // It may have been done in part.
                let _ = ratatui::try_restore();
                Err(error).context("cannot draw on the terminal")
            }
        }
    }

    pub(crate) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    pub(crate) fn draw(&mut self, drawn: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        let draw = |frame: &mut ratatui::Frame<'_>| drawn(frame.area(), frame.buffer_mut());
        self.terminal.draw(draw).map(drop)
    }

    /// Waits for keys until a point in time.
    ///
    /// The terminal is asked here, not by the library: that reads a closed one for ever, and goes on waiting after a signal.
    pub(crate) fn wait(&self, until: Instant) -> io::Result<Woken> {
        let time = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        let mut ends = [PollFd::new(&self.keyboard, PollFlags::IN)];
        match poll(&mut ends, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Woken::Time),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        if ends[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR)
        {
            return Ok(Woken::Gone);
        }
        let mut keys = Vec::new();
        while event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => keys.push(key),
                _ => {}
            }
        }
        Ok(Woken::Keys(keys))
    }

    /// Stops this program as Ctrl-Z does any other; goes on when the shell continues it.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        ratatui::try_restore()?;
        self.terminal.show_cursor()?;
        kill_process(getpid(), Signal::TSTP)?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen)?;
        self.terminal.clear()
    }
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        // A panic has restored it already: a second time would put the cursor onto the message.
        if !std::thread::panicking() {
            let _ = ratatui::try_restore();
        }
    }
}

/// Standard input, or else the terminal that this program was started from.
fn keyboard() -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        stdin.as_fd().try_clone_to_owned()
    } else {
        Ok(File::open("/dev/tty")?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use testsupport::terminal::Terminal;

    /// Not a test by itself: the next one runs it, on a terminal.
    #[test]
    #[ignore = "the next test runs it"]
    fn one_that_panics() {
        let mut terminal = LiveTerminal::enter().unwrap();
        let text = |area: Rect, buffer: &mut Buffer| {
            buffer.set_string(area.x, area.y, "alive", ratatui::style::Style::new());
        };
        terminal.draw(text).unwrap();
        terminal
            .wait(Instant::now() + Duration::from_secs(60))
            .unwrap();
        panic!("a fault of ours");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_tells_of_itself() {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args([
            "--exact",
            "--ignored",
            "--nocapture",
            "ui::live_terminal::tests::one_that_panics",
        ]);
        program.env("RUST_BACKTRACE", "0");
        let mut terminal = Terminal::run(&program, 80, 24);
        terminal.wait_for("the live screen", |screen| screen.contains("alive"));
        assert!(terminal.is_alternate() && !terminal.is_as_before());
        terminal.press("x");
        assert!(!terminal.end().success());
        assert!(terminal.is_as_before(), "{}", terminal.screen());
        let screen = terminal.screen();
        assert!(screen.contains("a fault of ours"), "{screen}");
    }
}
