//! A look at files, for a person.

use crate::ui::text::{Page, Side, counted, table};
use inspect::files::{By, Changes, Charged, Options, Report, Row, Totals};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use units::Bytes;
use units::terminal::{Escape, is_dangerous};

/// What is not told.
const UNKNOWN: &str = "–";

/// The sums, the rows, and what was left out.
pub(super) fn show(page: &mut Page, report: &Report, options: Options, charged: &[Charged]) {
    show_total(page, &report.total);
    for one in charged {
        page.entry("charged", about(one));
    }
    if !report.rows.is_empty() {
        page.text.push('\n');
        show_rows(page, &report.rows, options);
    }
    if report.more > 0 {
        let (one, many) = match options.by {
            By::File => ("file", "files"),
            By::Directory => ("directory", "directories"),
            By::Mount => ("mount", "mounts"),
        };
        let more = counted(report.more, one, many);
        page.paragraph(0, &format!("and {more} more: --limit shows them"));
    }
    let kinds: Vec<_> = report.left_out.kinds().collect();
    if kinds.is_empty() {
        return;
    }
    page.heading("left out, or not told");
    for (why, kind) in kinds {
        let example = shown(&kind.example);
        let detail = kind.detail.as_ref();
        let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
        let text = format!("{}: {}, such as {example}{detail}", why.says(), kind.count);
        page.paragraph(0, &text);
    }
}

fn show_total(page: &mut Page, total: &Totals) {
    let files = counted(total.files, "file", "files");
    let resident = match total.resident {
        Some(resident) => {
            let share = share(total);
            format!("{resident} of {} ({share}), {files}", total.whole)
        }
        None => format!("{UNKNOWN} of {}, {files}", total.size),
    };
    page.entry("resident", resident);
    if total.untold == total.files && total.untold > 0 {
        page.entry("", "none of the files is told");
    } else if total.untold > 0 {
        let files = counted(total.untold, "file", "files");
        page.entry(
            "",
            format!("of {files} nothing is told, so these are lower bounds"),
        );
    }
    let text = format!(
        "{}, and {} under writeback",
        or_unknown(total.dirty),
        or_unknown(total.writeback)
    );
    page.entry("dirty", text);
    let text = format!(
        "{}, of it {} so recently that it would count as in use",
        or_unknown(total.evicted),
        or_unknown(total.recently_evicted)
    );
    page.entry("evicted", text);
    if total.by_residency > 0 {
        let files = counted(total.by_residency, "file", "files");
        page.entry("", format!("of {files} only what is resident is told"));
    }
    if let (Some(came), Some(went)) = (total.came, total.went) {
        page.entry(
            "changed",
            format!("{came} came and {went} went since the look before"),
        );
    }
}

/// What a unit is charged for, beside what its processes use: a page counts for the unit that brought it in.
fn about(one: &Charged) -> String {
    let Charged {
        path,
        cached,
        refaulted,
        ..
    } = one;
    let path = shown(Path::new(path));
    let refaulted = or_unknown(*refaulted);
    format!(
        "{path}: {cached} of page cache, also of files that none of its processes has open now; {refaulted} refaulted \
         since it was made"
    )
}

fn show_rows(page: &mut Page, rows: &[Row], options: Options) {
    let name = match options.by {
        By::File => "FILE",
        By::Directory => "DIRECTORY",
        By::Mount => "MOUNT",
    };
    if page.screen.is_narrow() {
        let mut cells = vec![["RESIDENT", "SHARE", name].map(str::to_owned)];
        for Row { path, totals } in rows {
            cells.push([or_unknown(totals.resident), share(totals), shown(path)]);
        }
        let sides = [Side::Right, Side::Right, Side::Left];
        page.text.push_str(&table(sides, &cells));
        return;
    }
    // A row with what changed has no place for two numbers that change seldom.
    let is_compared = options.changes == Changes::Wanted;
    let [third, fourth] = if is_compared {
        ["CAME", "WENT"]
    } else {
        ["SIZE", "WRITEBACK"]
    };
    let head = [
        "RESIDENT", "SHARE", third, fourth, "DIRTY", "EVICTED", "RECENT", name,
    ];
    let mut cells = vec![head.map(str::to_owned)];
    for Row { path, totals } in rows {
        let [third, fourth] = if is_compared {
            [or_unknown(totals.came), or_unknown(totals.went)]
        } else {
            [totals.size.to_string(), or_unknown(totals.writeback)]
        };
        cells.push([
            or_unknown(totals.resident),
            share(totals),
            third,
            fourth,
            or_unknown(totals.dirty),
            or_unknown(totals.evicted),
            or_unknown(totals.recently_evicted),
            shown(path),
        ]);
    }
    let mut sides = [Side::Right; 8];
    sides[7] = Side::Left;
    page.text.push_str(&table(sides, &cells));
}

/// Of whole pages; of an empty file there is none.
fn share(totals: &Totals) -> String {
    let share = totals
        .resident
        .and_then(|resident| resident.share_of(totals.whole));
    share.map_or(UNKNOWN.to_owned(), |share| share.to_string())
}

pub(super) fn or_unknown(amount: Option<Bytes>) -> String {
    amount.map_or(UNKNOWN.to_owned(), |amount| amount.to_string())
}

/// A path on one line: what could control the terminal, and bytes that are no text, as escapes.
pub(super) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_dangerous(character) {
                let _ = write!(text, "{}", Escape(character));
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::{Paint, Screen};
    use inspect::files::{Crossing, LeftOut};
    use std::ffi::OsStr;

    fn report() -> Report {
        let known = Totals {
            files: 1,
            size: Bytes::new(1_000_000),
            whole: Bytes::kib(980),
            resident: Some(Bytes::kib(490)),
            dirty: Some(Bytes::kib(4)),
            writeback: Some(Bytes::ZERO),
            evicted: Some(Bytes::kib(300)),
            recently_evicted: Some(Bytes::kib(100)),
            ..Totals::default()
        };
        let untold = Totals {
            files: 1,
            untold: 1,
            size: Bytes::kib(8),
            ..Totals::default()
        };
        let mut total = known;
        total.add(&untold);
        let odd = OsStr::from_bytes(b"/srv/\x1b[2J\n\xff.db");
        Report {
            rows: vec![
                Row {
                    path: odd.into(),
                    totals: known,
                },
                Row {
                    path: "/srv/other".into(),
                    totals: untold,
                },
            ],
            more: 3,
            total,
            left_out: LeftOut::default(),
        }
    }

    fn options(changes: Changes) -> Options {
        Options {
            by: By::File,
            limit: 2,
            crossing: Crossing::Never,
            changes,
        }
    }

    #[test]
    fn a_file_is_a_row_and_what_is_not_told_a_dash() {
        let mut page = Page::new(Paint::Plain);
        show(&mut page, &report(), options(Changes::NotWanted), &[]);
        expect_test::expect![[r"
            resident   490 KiB of 980 KiB (50 %), 2 files
                       of 1 file nothing is told, so these are lower bounds
            dirty      4 KiB, and 0 B under writeback
            evicted    300 KiB, of it 100 KiB so recently that it would count as in use

            RESIDENT  SHARE     SIZE  WRITEBACK  DIRTY  EVICTED   RECENT  FILE
             490 KiB   50 %  976 KiB        0 B  4 KiB  300 KiB  100 KiB  /srv/\x1b[2J\x0a\xff.db
                   –      –    8 KiB          –      –        –        –  /srv/other
            and 3 files more: --limit shows them
        "]]
        .assert_eq(&page.text);
    }

    #[test]
    fn a_narrow_screen_has_less_and_a_second_look_has_changes() {
        let mut page = Page::new(Screen {
            paint: Paint::Plain,
            columns: 40,
        });
        show(&mut page, &report(), options(Changes::NotWanted), &[]);
        assert!(
            page.text.lines().all(|line| line.chars().count() <= 40),
            "{}",
            page.text
        );
        let mut page = Page::new(Paint::Plain);
        let mut report = report();
        report.total.came = Some(Bytes::kib(4));
        report.total.went = Some(Bytes::ZERO);
        report.rows[0].totals.came = Some(Bytes::kib(4));
        show(&mut page, &report, options(Changes::Wanted), &[]);
        expect_test::expect![[r"
            resident   490 KiB of 980 KiB (50 %), 2 files
                       of 1 file nothing is told, so these are lower bounds
            dirty      4 KiB, and 0 B under writeback
            evicted    300 KiB, of it 100 KiB so recently that it would count as in use
            changed    4 KiB came and 0 B went since the look before

            RESIDENT  SHARE   CAME  WENT  DIRTY  EVICTED   RECENT  FILE
             490 KiB   50 %  4 KiB     –  4 KiB  300 KiB  100 KiB  /srv/\x1b[2J\x0a\xff.db
                   –      –      –     –      –        –        –  /srv/other
            and 3 files more: --limit shows them
        "]]
        .assert_eq(&page.text);
    }
}
