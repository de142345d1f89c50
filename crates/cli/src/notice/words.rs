//! The words of notices. Names are what programs call themselves: in a text that a desktop may read as markup they are
//! escaped.

use pressure::groups::Answer;
use pressure::users::Tell;
use std::time::Duration;

/// How long a notice that asks nothing stands.
const STANDS: Duration = Duration::from_secs(10);

/// One notice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) title: String,
    pub(super) text: String,
    /// As `notify-send` knows it.
    pub(super) urgency: &'static str,
    pub(super) lasts: Duration,
    /// What is answered to, if it asks.
    pub(super) question: Option<u64>,
}

/// What an answer is called on a button.
pub(super) const fn label(answer: Answer) -> &'static str {
    match answer {
        Answer::Kill => "End it",
        Answer::Keep => "Let it wait",
        Answer::GoOn => "Let it go on",
    }
}

/// The notice for what was told; `None` if there is nothing to show.
pub(super) fn shown(tell: &Tell) -> Option<Shown> {
    let notice = |urgency, title: String, text: String| {
        Some(Shown {
            title,
            text: escaped(&text),
            urgency,
            lasts: STANDS,
            question: None,
        })
    };
    match tell {
        Tell::Warn { headroom, left } => {
            let text = format!(
                "There is room for {headroom} more. If things go on, it is used up in {left}."
            );
            notice("normal", "Memory is running out".to_owned(), text)
        }
        Tell::Throttled { unit, memory_high } => {
            let text = format!(
                "{unit} fills memory and may have {memory_high} now. The rest stays with everything else."
            );
            notice("normal", "A program is slowed down".to_owned(), text)
        }
        Tell::Ask {
            id,
            unit,
            used,
            wait,
            why,
        } => Some(Shown {
            title: "A program is stopped: what shall become of it?".to_owned(),
            text: escaped(&format!(
                "{unit} has {used} of memory. Without an answer it ends in {wait}.\n{why}"
            )),
            urgency: "critical",
            lasts: wait.get(),
            question: Some(*id),
        }),
        Tell::Ended {
            name,
            pid,
            signal,
            size,
            why,
            ..
        } => {
            let how = if signal == "SIGTERM" {
                "was asked to end"
            } else {
                "was ended"
            };
            let text = format!("{name} ({pid}) held {size}.\n{why}");
            notice("critical", format!("{} {how}", plain(name)), text)
        }
        Tell::EndedElsewhere { size } => {
            let text = format!("A program of another user was ended, and {size} come back.");
            notice("low", "Memory was short".to_owned(), text)
        }
        Tell::Settled { .. } => None,
    }
}

/// Without what a terminal or a desktop would act on.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// Lines that a desktop may read as markup.
fn escaped(text: &str) -> String {
    text.split('\n')
        .map(|line| report::escaped(&plain(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Span};

    #[test]
    fn a_name_is_never_markup() {
        let (name, unit) = ("<a href='x'>&\u{1b}[2J".to_owned(), "app.scope".to_owned());
        let (signal, size, why) = ("SIGKILL".to_owned(), Bytes::mib(700), "it grows".to_owned());
        let shown = shown(&Tell::Ended {
            name,
            pid: 7,
            unit,
            signal,
            size,
            why,
        })
        .unwrap();
        assert_eq!(
            shown.text,
            "&lt;a href='x'&gt;&amp;?[2J (7) held 700 MiB.\nit grows"
        );
        assert_eq!(
            shown.title, "<a href='x'>&?[2J was ended",
            "a title is no markup"
        );
    }

    #[test]
    fn a_question_stands_as_long_as_there_is_time_to_answer() {
        let (unit, why) = (
            "app-hog.scope".to_owned(),
            "it grows by 80 MiB/s".to_owned(),
        );
        let ask = Tell::Ask {
            id: 9,
            unit,
            used: Bytes::mib(700),
            wait: Span::secs(15),
            why,
        };
        let shown = shown(&ask).unwrap();
        assert_eq!(
            (shown.lasts, shown.question, shown.urgency),
            (Duration::from_secs(15), Some(9), "critical")
        );
        assert_eq!(
            shown.text,
            "app-hog.scope has 700 MiB of memory. Without an answer it ends in 15 s.\nit grows by 80 MiB/s"
        );
    }
}
