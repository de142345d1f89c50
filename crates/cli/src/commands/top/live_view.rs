//! The live view: pictures at an interval, and keys between them.

use super::Args;
use super::acting;
use super::draw::{Shown, draw, shows_evicted};
use super::frame::{Frame, Line};
use super::history::{History, Source};
use super::observer::{Evicted, Observer};
use super::view::{Keys, Overlay, Request, Scrub, View};
use crate::ui::Context;
use crate::ui::live_terminal::{LiveTerminal, Woken};
use crate::ui::text::{Paint, Style};
use anyhow::Result;
use pressure::scan::Identity;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Quit,
}

/// Shows pictures until a key or a signal ends it.
pub(super) fn watch(
    observer: Observer,
    args: &Args,
    end: &AtomicBool,
    context: &Context,
) -> Result<()> {
    let mut terminal = LiveTerminal::enter()?;
    let mut live = Live::begin(observer, args, context, terminal.size()?.width)?;
    let mut next = Instant::now() + args.every();
    loop {
        terminal.draw(|area, buffer| live.draw(area, buffer))?;
        let woken = terminal.wait(next)?;
        if end.load(Ordering::Relaxed) {
            return Ok(());
        }
        match woken {
            Woken::Gone => return Ok(()),
            Woken::Time => {}
            Woken::Keys(keys) => {
                for key in keys {
                    let request = live.key(key);
                    if request == Request::Suspend {
                        terminal.suspend()?;
                    } else if live.carry_out(request)? == Flow::Quit {
                        return Ok(());
                    }
                }
            }
        }
        if Instant::now() >= next {
            live.look(terminal.size()?.width)?;
            next = Instant::now() + args.every();
        }
    }
}

struct Live<'l> {
    observer: Observer,
    args: &'l Args,
    context: &'l Context,
    /// The last picture of now.
    frame: Frame,
    view: View,
    /// While the past is shown.
    history: Option<History>,
}

impl<'l> Live<'l> {
    fn begin(
        mut observer: Observer,
        args: &'l Args,
        context: &'l Context,
        columns: u16,
    ) -> Result<Self> {
        let frame = observer.frame(context, evicted(columns))?;
        Ok(Self {
            observer,
            args,
            context,
            frame,
            view: View::new(Paint::of_environment(), Keys::Live),
            history: None,
        })
    }

    fn look(&mut self, columns: u16) -> Result<()> {
        self.frame = self.observer.frame(self.context, evicted(columns))?;
        Ok(())
    }

    fn draw(&mut self, area: Rect, buffer: &mut Buffer) {
        match &self.history {
            None => draw(Shown::Now(&self.frame), &mut self.view, area, buffer),
            Some(history) => {
                let bar = history.bar(area.width);
                let shown = Shown::Past(history.moment(), &bar);
                draw(shown, &mut self.view, area, buffer);
            }
        }
    }

    fn key(&mut self, key: ratatui::crossterm::event::KeyEvent) -> Request {
        let frame = match &self.history {
            None => &self.frame,
            Some(history) => &history.moment().frame,
        };
        self.view.key(key, frame)
    }

    fn carry_out(&mut self, request: Request) -> Result<Flow> {
        match request {
            Request::Quit => return Ok(Flow::Quit),
            Request::Nothing | Request::Suspend => {}
            Request::Ask(identity) => self.ask(identity),
            Request::Kill(identity) => {
                // What was looked at before the question may be old.
                self.frame = self.observer.frame(self.context, Evicted::NotAsked)?;
                let line = line_of(&self.frame, identity);
                self.view.message = Some(acting::kill(line, &self.observer, self.context));
            }
            Request::Spare(identity) => self.act_on(identity, acting::spare),
            Request::Protect(identity) => self.act_on(identity, acting::protect),
            Request::Release(identity) => self.act_on(identity, acting::release),
            Request::Scrub(scrub) => self.scrub(scrub),
        }
        Ok(Flow::Continue)
    }

    /// Asks before a kill, or says why there is none.
    fn ask(&mut self, identity: Identity) {
        let refusal = line_of(&self.frame, identity).and_then(acting::refusal);
        match refusal {
            Some(why) => self.view.message = Some((why, Style::Notable)),
            None => self.view.overlay = Overlay::Confirm(identity),
        }
    }

    fn act_on(&mut self, identity: Identity, act: fn(&Line, &Context) -> acting::Message) {
        let Some(line) = line_of(&self.frame, identity) else {
            return;
        };
        self.view.message = Some(act(line, self.context));
        self.observer.read_rules(self.context);
    }

    fn scrub(&mut self, scrub: Scrub) {
        let moved = match &mut self.history {
            Some(history) => history.go(scrub),
            None => match scrub {
                // There is nothing after now.
                Scrub::Earlier | Scrub::EarlierAct => self.open_history(scrub),
                _ => return,
            },
        };
        match moved {
            Ok(true) => self.view.keys = Keys::Past,
            Ok(false) => {
                self.history = None;
                self.view.keys = Keys::Live;
            }
            Err(error) => self.view.message = Some((format!("{error:#}"), Style::Bad)),
        }
    }

    /// Opens the recording at its newest sample, or at the last one at which the guard did something.
    fn open_history(&mut self, scrub: Scrub) -> Result<bool> {
        let source = match &self.args.recording {
            Some(file) => Source::File(file),
            None => Source::Guard {
                state: &self.args.state,
                root: &self.context.root,
            },
        };
        let mut history = History::open(&source)?;
        if scrub == Scrub::EarlierAct {
            history.go(scrub)?;
        }
        self.history = Some(history);
        Ok(true)
    }
}

fn line_of(frame: &Frame, identity: Identity) -> Option<&Line> {
    frame
        .lines
        .iter()
        .find(|line| line.candidate.identity == identity)
}

fn evicted(columns: u16) -> Evicted {
    if shows_evicted(columns) {
        Evicted::Asked
    } else {
        Evicted::NotAsked
    }
}
