//! What is drawn, at 80 and at 40 columns: each view, and what a key makes of it.

use super::acting;
use super::draw::{Shown, draw};
use super::frame::{Frame, Line, Rows, limited};
use super::history::{History, Moment, Source};
use super::paper;
use super::view::{Keys, Overlay, Request, Scrub, View};
use crate::example::{self, holding};
use crate::ui::text::{Paint, Style};
use expect_test::{Expect, expect, expect_file};
use pressure::decision::{Exhaustion, Forecast};
use pressure::distress::{Exemption, Outlook};
use pressure::groups::{Frozen, Groups, Throttled};
use pressure::scan::{Candidate, Identity, Name, Place, UnitName};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

const WIDE: (u16, u16) = (80, 24);
const PHONE: (u16, u16) = (40, 20);

fn candidate(pid: u32, name: &str, mib: u64) -> Candidate {
    Candidate {
        identity: Identity { pid, start: 1 },
        age: Span::secs(10),
        name: Name::from(name).unwrap(),
        unit: UnitName::from("app-gnome-org.mozilla.firefox-4711.scope").unwrap(),
        place: Place::App,
        user: 1000,
        resident: Bytes::mib(mib),
        ..Candidate::default()
    }
}

fn grows() -> Line {
    Line {
        candidate: candidate(4711, "a-name-that-is-longer", 2900),
        user: "ann".to_owned(),
        growth: Some((Rate::new(98 << 20), true)),
        exemption: None,
    }
}

fn exempt() -> Line {
    Line {
        candidate: candidate(1200, "gnome-shell", 400),
        user: "ann".to_owned(),
        growth: None,
        exemption: Some(Exemption::Program),
    }
}

fn frame() -> Frame {
    let outlook = Outlook {
        headroom: Bytes::mib(700),
        swap: Bytes::ZERO,
        lent: Bytes::ZERO,
        managed: Bytes::mib(8000),
        floor: Bytes::mib(400),
        in_flight: Bytes::ZERO,
        growth: Rate::new(100 << 20),
        left: Some(Span::secs(7)),
        stalled: Some(Percent::new(3)),
        ..Outlook::default()
    };
    let status = example::guarding();
    let sample = example::sample();
    Frame {
        state: "guard · distress".to_owned(),
        memory: sample.memory,
        pressure: sample.memory_pressure,
        forecast: Forecast {
            outlook: Some(outlook),
            ..status.decision.forecast
        },
        holdings: vec![
            (
                holding("app-gnome-org.mozilla.firefox-4711.scope", 2700),
                "foreground",
            ),
            (holding("ssh.service", 12), "critical"),
        ],
        lines: vec![grows(), exempt()],
        floors: Bytes::ZERO,
        limited: Vec::new(),
        last: Some("04:31:55 SIGTERM to hog (4711), which holds 2.9 GiB".to_owned()),
        runs_out_for: Duration::ZERO,
    }
}

/// A recording of a situation: a program fills memory and is killed.
fn recording() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("fixtures/situations/fill-8gib.rec.gz")
}

/// At the sample at which the process was killed.
fn history() -> History {
    let file = recording();
    let mut history = History::open(&Source::File(&file)).unwrap();
    for _ in 0..50 {
        history.go(Scrub::EarlierAct).unwrap();
        if history.moment().acts[0].starts_with("SIGTERM") {
            return history;
        }
    }
    panic!("nobody is killed");
}

/// What a terminal of this size shows.
fn screen(shown: Shown<'_>, view: &mut View, size: (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let drawn = terminal.draw(|canvas| draw(shown, view, canvas.area(), canvas.buffer_mut()));
    paper::lines(drawn.unwrap().buffer)
}

fn live() -> View {
    View::new(Paint::Plain, Keys::Live)
}

fn key(view: &mut View, code: KeyCode, frame: &Frame) -> Request {
    view.key(KeyEvent::new(code, KeyModifiers::NONE), frame)
}

/// A view after these keys.
fn after(keys: &str, frame: &Frame) -> View {
    let mut view = live();
    view.arranged(frame);
    for letter in keys.chars() {
        if let Request::Ask(identity) = key(&mut view, KeyCode::Char(letter), frame) {
            view.overlay = Overlay::Confirm(identity);
        }
    }
    view
}

fn now(keys: &str, size: (u16, u16)) -> String {
    let frame = frame();
    screen(Shown::Now(&frame), &mut after(keys, &frame), size)
}

fn past(size: (u16, u16)) -> String {
    let history = history();
    let mut view = View::new(Paint::Plain, Keys::Past);
    let bar = history.bar(size.0);
    screen(Shown::Past(history.moment(), &bar), &mut view, size)
}

fn check(drawn: &str, size: (u16, u16), expected: &Expect) {
    let fits = drawn.lines().count() <= size.1.into()
        && drawn
            .lines()
            .all(|line| line.chars().count() <= size.0.into());
    assert!(fits, "{drawn}");
    expected.assert_eq(drawn);
}

#[test]
fn the_main_view_on_a_terminal() {
    check(
        &now("", WIDE),
        WIDE,
        &expect![[r"
        warmset top · guard · distress
        [########################kkk=============================........] 7.8 GiB
        # programs 2.9 GiB · k kernel 400 MiB · = caches 3.5 GiB · . free 1000 MiB
        swap 48 MiB of 2 GiB · gap 156 MiB, 320 MiB withheld · cache in use 400 MiB
        pressure: some 1.52 %, all 0.3 % of the last 10 s · demand 60 MiB/s
        headroom 700 MiB, growth 100 MiB/s: out of memory in 7 s

             WARM        OF       GROWTH REFLT/S KNOWN BY ROLE       UNIT
          2.6 GiB   2.8 GiB  +84.3 MiB/s      27 lists    foreground app-gnome-org.mozil
          12 MiB*   212 MiB                      lists    critical   ssh.service
            PID  NAME            USER         MEMORY↓      SWAP      GROWTH UNIT
        >  4711  a-name-that-is- ann          2.8 GiB             +98 MiB/s app-gnome-or
           1200 *gnome-shell     ann          400 MiB                       app-gnome-or

        last: 04:31:55 SIGTERM to hog (4711), which holds 2.9 GiB
        * has a floor, or is exempt · ? help · k kill · ← history · q quit
    "]],
    );
}

#[test]
fn the_main_view_on_a_phone() {
    check(
        &now("", PHONE),
        PHONE,
        &expect![[r"
        warmset top · guard · distress
        [###########k==============....] 7.8 GiB
        # programs 2.9 GiB · k kernel 400 MiB ·
        = caches 3.5 GiB · . free 1000 MiB
        swap 48 MiB of 2 GiB · gap 156 MiB, 320
        MiB withheld · cache in use 400 MiB
        pressure: some 1.52 %, all 0.3 % of the
        last 10 s · demand 60 MiB/s
        headroom 700 MiB, growth 100 MiB/s: out
        of memory in 7 s

            PID  NAME        MEMORY↓      GROWTH
        >  4711  a-name-th   2.8 GiB   +98 MiB/s
           1200 *gnome-she   400 MiB

        last: 04:31:55 SIGTERM to hog (4711),
        which holds 2.9 GiB
        * floor or exempt · ? help · q quit
    "]],
    );
}

#[test]
fn the_keys_on_a_terminal() {
    check(
        &now("?", WIDE),
        WIDE,
        &expect![[r"
        warmset top · guard · distress
        [########################kkk=============================........] 7.8 GiB
        # programs 2.9 GiB · k kernel 400 MiB · = caches 3.5 GiB · . free 1000 MiB
        swap 48 MiB of 2 GiB · gap 156 MiB, 320 MiB withheld · cache in use 400 MiB
        pressure┌ warmset top: keys ───────────────────────────────────────────┐
        headroom│↑ ↓     select a process                                      │
                │MSGPNU  sort by memory, swap, growth, PID, name, user         │
             WAR│R       reverse the order                                     │
          2.6 Gi│k       kill it: SIGTERM, after a question                    │rg.mozil
          12 MiB│s       spare it: it is never killed                          │
            PID │p       protect the memory of its unit                        │
        >  4711 │r       release: undo s and p                                 │gnome-or
           1200 │← →     the recording, a sample at a time                     │gnome-or
                │[ ]     what the guard did before, next                       │
        last: 04│Esc     from the recording back to now                        │
        * has a │q       quit                                                  │
                │s and p last until the next boot. Narrow terminals leave      │
                │columns out: EVICTED, KNOWN BY, REFLT/S, ROLE, OF; then UNIT, │
                │SWAP, USER.                                                   │
                └──────────────────────────────────────────────────────────────┘
    "]],
    );
}

#[test]
fn the_keys_on_a_phone() {
    check(
        &now("?", PHONE),
        PHONE,
        &expect![[r"
        warmset top: keys
        ↑ ↓     select a process
        MSGPNU  sort by memory, swap, growth,
                PID, name, user
        R       reverse the order
        k       kill it: SIGTERM, after a
                question
        s       spare it: it is never killed
        p       protect the memory of its unit
        r       release: undo s and p
        ← →     the recording, a sample at a
                time
        [ ]     what the guard did before, next
        Esc     from the recording back to now
        q       quit
        s and p last until the next boot. Narrow
        terminals leave columns out: EVICTED,
        KNOWN BY, REFLT/S, ROLE, OF; then UNIT,
        SWAP, USER.
    "]],
    );
}

#[test]
fn the_question_on_a_terminal() {
    check(
        &now("k", WIDE),
        WIDE,
        &expect![[r"
        warmset top · guard · distress
        [########################kkk=============================........] 7.8 GiB
        # programs 2.9 GiB · k kernel 400 MiB · = caches 3.5 GiB · . free 1000 MiB
        swap 48 MiB of 2 GiB · gap 156 MiB, 320 MiB withheld · cache in use 400 MiB
        pressure: some 1.52 %, all 0.3 % of the last 10 s · demand 60 MiB/s
        headroom 700 MiB, growth 100 MiB/s: out of memory in 7 s

             WARM        OF       GROWTH REFLT/S KNOWN BY ROLE       UNIT
          2.6 Gi┌ kill a-name-that-is-longer (4711)? ──────────────────────────┐rg.mozil
          12 MiB│It is ann's, runs in app-gnome-org.mozilla.firefox-4711.scope,│
            PID │and holds 2.8 GiB. SIGTERM asks it to end: it may save its    │
        >  4711 │work, and may refuse.                                         │gnome-or
           1200 │                                                              │gnome-or
                │y  send SIGTERM                                               │
        last: 04│any other key  leave it alone                                 │
        * has a └──────────────────────────────────────────────────────────────┘
    "]],
    );
}

#[test]
fn the_question_on_a_phone() {
    check(
        &now("k", PHONE),
        PHONE,
        &expect![[r"
        warmset top · guard · distress
        [###########k==============....] 7.8 GiB
        # programs 2.9 GiB · k kernel 400 MiB ·
        = caches 3.5 GiB · . free 1000 MiB
        swap 48 MiB of 2 GiB · gap 156 MiB, 320
        ┌ kill a-name-that-is-longer (4711)? ──┐
        │It is ann's, runs in                  │
        │app-gnome-org.mozilla.firefox-4711.sco│
        │pe, and holds 2.8 GiB. SIGTERM asks it│
        │to end: it may save its work, and may │
        │refuse.                               │
        │                                      │
        │y  send SIGTERM                       │
        │any other key  leave it alone         │
        └──────────────────────────────────────┘
        last: 04:31:55 SIGTERM to hog (4711),
        which holds 2.9 GiB
        * floor or exempt · ? help · q quit
    "]],
    );
}

#[test]
fn the_past_on_a_terminal() {
    check(
        &past(WIDE),
        WIDE,
        &expect![[r"
            warmset top · 2023-11-15 03:46:50 UTC · guard · distress
            03:46:40 -- -          !--!●--!-!---------!---!---- !- - ! -          ! 03:47:14
            [######################################################kkk======.] 8 GiB
            # programs 6.8 GiB · k kernel 300 MiB · = caches 884 MiB · . free 11.3 MiB
            no swap · gap 8.1 MiB · cache in use 409 MiB
            pressure: some 0.29 %, all 0.29 % of the last 10 s · demand 1023 MiB/s
            headroom 474 MiB, growth 1023 MiB/s: out of memory in 463 ms

                PID  NAME            USER         MEMORY↓      SWAP      GROWTH UNIT
               1002  fill            1000         5.3 GiB              +1 GiB/s session-2.sc
               1000  other           1000         1.4 GiB                       session-2.sc
               1001 *sshd            root           8 MiB                       session-2.sc

            the guard did:
            · SIGTERM to fill (1002) of session-2.scope, which holds 5.3 GiB: it grows by 1
            GiB/s, of 1023 MiB/s in all; headroom is 474 MiB, used up in 463 ms; all tasks
            stalled 1.3 % of the last seconds
            · allocations stalled: 165 in reclaim, 0 in compaction
            · fill (1002): 5.3 GiB, grows by 1 GiB/s: chosen
            · otherwise the kernel would OOM-kill fill (1002), which holds 5.3 GiB, when
            memory is used up in 463 ms
            · rule runaway proposes SIGTERM to fill (1002): accepted
            ← → step · [ ] what the guard did · Esc back to now · ? help · q quit
        "]],
    );
}

#[test]
fn the_past_on_a_phone() {
    check(
        &past(PHONE),
        PHONE,
        &expect![[r"
            warmset top · 2023-11-15 03:46:50 UTC ·
            guard · distress
            03:46:40 -- !-●!!--!-!!-!- ! 03:47:14
            [###########################k===.] 8 GiB
            # programs 6.8 GiB · k kernel 300 MiB ·
            = caches 884 MiB · . free 11.3 MiB
            no swap · gap 8.1 MiB · cache in use 409
            MiB
            pressure: some 0.29 %, all 0.29 % of the
            last 10 s · demand 1023 MiB/s
            headroom 474 MiB, growth 1023 MiB/s: out
            of memory in 463 ms

                PID  NAME        MEMORY↓      GROWTH
               1002  fill        5.3 GiB    +1 GiB/s
               1000  other       1.4 GiB
               1001 *sshd          8 MiB

            the guard did:
            ← → [ ] step · Esc now · ? help
        "]],
    );
}

#[test]
fn a_picture_on_paper_names_no_key() {
    let size = Size::new(80, 23);
    let text = paper::text(&frame(), size, Paint::Plain);
    assert!(!text.contains("quit") && !text.contains('>'), "{text}");
    assert!(text.ends_with("\n* has a floor, or is exempt\n"), "{text}");
    let coloured = paper::text(&frame(), size, Paint::Colour);
    assert!(
        coloured.starts_with("\x1b[1mwarmset top · guard · distress\x1b[0m\n["),
        "{coloured:?}"
    );
    let bad = "\x1b[1;31mheadroom 700 MiB, growth 100 MiB/s: out of memory in 7 s\x1b[0m\n";
    assert!(coloured.contains(bad), "{coloured:?}");
}

#[test]
fn a_wide_terminal_shows_what_was_evicted_of_the_files_in_use() {
    let drawn = now("", (90, 24));
    let told = drawn
        .lines()
        .filter(|line| line.contains("EVICTED") || line.contains("ssh.service"));
    let told: String = told.flat_map(|line| [line.trim_start(), "\n"]).collect();
    expect![[r"
        WARM        OF   EVICTED       GROWTH REFLT/S KNOWN BY ROLE       UNIT
        12 MiB*   212 MiB     1 MiB                      lists    critical   ssh.service
    "]]
    .assert_eq(&told);
}

/// The row of headroom, where it would last for this time at the present growth.
fn outlook(left: Span, expected: Span, runs_out_for: Duration) -> String {
    let mut frame = frame();
    frame.runs_out_for = runs_out_for;
    frame.forecast.outlook = frame.forecast.outlook.map(|outlook| Outlook {
        left: Some(left),
        ..outlook
    });
    frame.forecast.exhaustion = frame.forecast.exhaustion.map(|by_trend| Exhaustion {
        earliest: Span::secs(100),
        expected,
        latest: None,
        ..by_trend
    });
    let (text, _) = frame.outlook();
    text.split_once(": ").unwrap().1.to_owned()
}

/// In 33 of 120 pictures of an idle machine with 17 GiB of headroom it told of minutes.
#[test]
fn minutes_are_told_only_once_they_have_lasted_and_as_an_interval() {
    let minutes = Span::secs(138);
    let lasting = Duration::from_secs(31);
    let silent = "memory does not run out soon";
    assert_eq!(
        outlook(Span::secs(29), minutes, Duration::ZERO),
        "out of memory in 29 s"
    );
    assert_eq!(outlook(minutes, minutes, Duration::ZERO), silent);
    assert_eq!(
        outlook(minutes, minutes, lasting),
        "out of memory in 1.6 min or later"
    );
    assert_eq!(outlook(minutes, Span::secs(3600), lasting), silent);
}

#[test]
fn throttled_and_frozen_units_are_shown() {
    let mut groups = Groups::default();
    let id = 1;
    let unit = UnitName::from("batch.service").unwrap();
    let since = Span::secs(1);
    groups.throttled.push(Throttled {
        id,
        unit,
        since,
        used: Bytes::mib(690),
        memory_high: Bytes::mib(700),
        reserve: Bytes::mib(60),
        pushes: 3,
    });
    let frozen = Frozen {
        id,
        unit,
        user: 1000,
        since,
        headroom: Bytes::mib(60),
        thawed: None,
        answer: None,
    };
    groups.frozen.extend([
        frozen,
        Frozen {
            thawed: Some(since),
            ..frozen
        },
    ]);
    assert_eq!(
        limited(&groups),
        [
            "throttled: batch.service has 690 MiB of at most 700 MiB",
            "frozen: batch.service, until its user answers",
        ],
        "a thawed unit is not shown"
    );
}

#[test]
fn a_small_terminal_loses_lines_of_the_table_first() {
    let mut many = frame();
    many.lines.clear();
    for pid in 0..12 {
        many.lines.push(Line {
            candidate: candidate(pid, "x", 1),
            ..exempt()
        });
    }
    let size = (40, 12);
    let mut view = after("", &many);
    let drawn = screen(Shown::Now(&many), &mut view, size);
    assert!(drawn.ends_with("q quit\n"), "{drawn}");
    assert!(
        drawn.contains("headroom") && drawn.contains("PID"),
        "{drawn}"
    );
    // The selected row is always in sight.
    for _ in 0..11 {
        key(&mut view, KeyCode::Down, &many);
    }
    let drawn = screen(Shown::Now(&many), &mut view, size);
    assert!(drawn.contains(">    11 *x"), "{drawn}");
    for size in [(20, 5), (1, 1), (300, 80)] {
        screen(Shown::Now(&many), &mut view, size);
        screen(Shown::Now(&many), &mut after("k", &many), size);
        screen(Shown::Now(&many), &mut after("?", &many), size);
    }
}

#[test]
fn the_selection_stays_on_its_process() {
    let mut frame = frame();
    let mut view = after("", &frame);
    key(&mut view, KeyCode::Down, &frame);
    assert_eq!(view.selected, Some(exempt().candidate.identity));
    frame.lines.swap(0, 1);
    key(&mut view, KeyCode::Char('P'), &frame);
    view.arranged(&frame);
    assert_eq!(view.selected, Some(exempt().candidate.identity));
    assert_eq!(
        view.table.selected(),
        Some(0),
        "the smaller number comes first"
    );
    frame
        .lines
        .retain(|line| line.candidate.identity.pid != 1200);
    view.arranged(&frame);
    assert_eq!(view.selected, Some(grows().candidate.identity));
    frame.lines.clear();
    view.arranged(&frame);
    assert_eq!(view.selected, None);
    assert_eq!(key(&mut view, KeyCode::Char('k'), &frame), Request::Nothing);
    assert!(view.message.is_some());
}

#[test]
fn only_a_yes_kills_and_what_is_exempt_is_not_asked_about() {
    let frame = frame();
    let identity = grows().candidate.identity;
    for (answer, request) in [
        (KeyCode::Char('y'), Request::Kill(identity)),
        (KeyCode::Char('n'), Request::Nothing),
        (KeyCode::Enter, Request::Nothing),
        (KeyCode::Esc, Request::Nothing),
    ] {
        let mut view = after("k", &frame);
        assert_eq!(view.overlay, Overlay::Confirm(identity));
        assert_eq!(key(&mut view, answer, &frame), request, "{answer:?}");
        assert_eq!(view.overlay, Overlay::Nothing, "{answer:?}");
    }
    assert_eq!(acting::refusal(&grows()), None);
    assert_eq!(
        acting::refusal(&exempt()).unwrap(),
        "gnome-shell (1200) is not killed. It is exempt: it runs a program of the system or the session"
    );
    let mut this = grows();
    this.candidate.identity.pid = std::process::id();
    assert!(
        acting::refusal(&this)
            .unwrap()
            .ends_with("is this program: q quits")
    );
}

#[test]
fn nothing_is_done_to_a_process_of_the_past() {
    let history = history();
    let frame = &history.moment().frame;
    let mut view = View::new(Paint::Plain, Keys::Past);
    view.arranged(frame);
    for letter in ['k', 's', 'p', 'r'] {
        assert_eq!(
            key(&mut view, KeyCode::Char(letter), frame),
            Request::Nothing
        );
        let message = view.message.take();
        assert_eq!(message.map(|(_, style)| style), Some(Style::Notable));
    }
}

#[test]
fn the_recording_is_stepped_through_from_end_to_end() {
    let file = recording();
    let mut history = History::open(&Source::File(&file)).unwrap();
    let newest = history.moment().time();
    assert!(history.go(Scrub::Earlier).unwrap());
    assert!(history.go(Scrub::Later).unwrap());
    assert_eq!(history.moment().time(), newest);
    assert!(
        !history.go(Scrub::Later).unwrap(),
        "after the newest comes now"
    );
    assert!(history.go(Scrub::Oldest).unwrap());
    let oldest = history.moment().time();
    assert!(history.go(Scrub::Earlier).unwrap(), "the oldest stays");
    assert_eq!(history.moment().time(), oldest);
    let mut acts = 0;
    loop {
        let before: *const Moment = history.moment();
        history.go(Scrub::LaterAct).unwrap();
        if history.moment().acts.is_empty() || std::ptr::eq(before, history.moment()) {
            break;
        }
        acts += 1;
    }
    assert!(acts > 3, "{acts} decisions with something to say");
    assert!(!history.go(Scrub::Now).unwrap());
}

#[test]
fn the_guards_recordings_are_one_row_over_all_files() {
    let state = tempfile::tempdir().unwrap();
    let root = Path::new("/nowhere");
    let source = Source::Guard {
        state: state.path(),
        root,
    };
    let error = History::open(&source).unwrap_err().to_string();
    assert!(error.starts_with("there is no recording in "), "{error}");
    let directory = state.path().join("recordings");
    std::fs::create_dir(&directory).unwrap();
    let name = |number| directory.join(format!("warmset-20200101T000000Z-{number:06}.rec.gz"));
    std::fs::copy(recording(), name(1)).unwrap();
    std::fs::copy(recording(), name(2)).unwrap();
    // The guard was killed before it wrote.
    std::fs::write(name(3), "").unwrap();
    let mut history = History::open(&source).unwrap();
    let newest = history.moment().time();
    let mut samples = 1;
    history.go(Scrub::Oldest).unwrap();
    assert_ne!(history.moment().time(), newest);
    while history.go(Scrub::Later).is_ok_and(|is_past| is_past) {
        samples += 1;
    }
    let mut one = History::open(&Source::File(&recording())).unwrap();
    one.go(Scrub::Oldest).unwrap();
    let mut of_one = 1;
    while one.go(Scrub::Later).unwrap() {
        of_one += 1;
    }
    assert_eq!(samples, 2 * of_one);
}

#[test]
fn the_time_bar_fits_and_marks_where_it_is() {
    let mut history = history();
    for width in [40, 80] {
        let bar = history.bar(width);
        assert_eq!(bar.chars().count(), usize::from(width), "{bar}");
        assert!(bar.contains('●') && bar.contains('!'), "{bar}");
    }
    history.go(Scrub::Oldest).unwrap();
    assert_eq!(history.bar(40).chars().nth(9), Some('●'));
}

#[test]
fn long_lines_are_wrapped_on_a_tall_phone_only() {
    let text = "word ".repeat(20);
    let rows = |size: (u16, u16)| {
        let mut rows = Rows::of(Size::new(size.0, size.1));
        rows.put(&text, None);
        rows.rows.len()
    };
    assert_eq!([rows((80, 24)), rows((40, 24)), rows((40, 12))], [1, 3, 1]);
}

/// The guide shows what a terminal shows: each block of it that stands under a mark is drawn anew here.
#[test]
fn the_guide_shows_what_is_drawn() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/top.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut renewed = String::new();
    let mut casts = 0;
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("<!-- cast: ") {
        let (name, after) = after.split_once(" -->\n```text\n").unwrap();
        let (_, after) = after.split_once("```\n").unwrap();
        let (view, size) = name.split_once(' ').unwrap();
        let size = match size {
            "80x24" => WIDE,
            "40x20" => PHONE,
            other => panic!("{name}: no terminal of {other}"),
        };
        let drawn = match view {
            "main" => now("", size),
            "keys" => now("?", size),
            "kill" => now("k", size),
            "past" => past(size),
            other => panic!("{name}: no view {other}"),
        };
        renewed.push_str(before);
        let block = format!("<!-- cast: {name} -->\n```text\n{drawn}```\n");
        renewed.push_str(&block);
        casts += 1;
        rest = after;
    }
    renewed.push_str(rest);
    assert_eq!(casts, 8, "each view at each size");
    expect_file![page].assert_eq(&renewed);
}
