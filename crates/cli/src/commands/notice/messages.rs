//! The texts of notices. A program chooses its own name, so names are escaped where a desktop may read them as markup.

use pressure::groups::Answer;
use pressure::users::Tell;
use std::time::Duration;

/// Time that a notice without a question stands: enough to read two sentences.
const STANDS: Duration = Duration::from_secs(10);

/// The text of a notice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) title: String,
    pub(super) text: String,
    /// As `notify-send --urgency` takes it.
    pub(super) urgency: &'static str,
    /// Time that it stands.
    pub(super) lasts: Duration,
    /// The question's number, if it asks one.
    pub(super) question: Option<u64>,
}

/// The button for an answer.
pub(super) const fn label(answer: Answer) -> &'static str {
    match answer {
        Answer::Kill => "Kill it",
        Answer::Keep => "Leave it frozen",
        Answer::GoOn => "Let it go on",
    }
}

/// The notice for a message of the guard; `None` if there is nothing to show.
pub(super) fn message(tell: &Tell) -> Option<Message> {
    let notice = |urgency, title: String, text: String| {
        Some(Message {
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
                "There is {headroom} of headroom left. At this rate it is used up in {left}."
            );
            notice("normal", "Memory is running out".to_owned(), text)
        }
        Tell::Short { why } => notice("normal", "Memory is short".to_owned(), why.clone()),
        Tell::Throttled { unit, memory_high } => {
            let text = format!(
                "{unit} fills memory. It is limited to {memory_high} now, so that the rest stays for other programs."
            );
            notice("normal", "A program is throttled".to_owned(), text)
        }
        Tell::Ask {
            id,
            unit,
            used,
            wait,
            why,
        } => Some(Message {
            title: "A program is frozen: what should happen to it?".to_owned(),
            text: escaped(&format!(
                "{unit} uses {used} of memory. Without an answer it is killed in {wait}.\n{why}"
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
                "was sent SIGTERM"
            } else {
                "was killed"
            };
            let text = format!("{name} ({pid}) used {size}.\n{why}");
            notice("critical", format!("{} {how}", plain(name)), text)
        }
        Tell::EndedElsewhere { size } => {
            let text = format!("A program of another user was killed, which frees {size}.");
            notice("low", "Memory was short".to_owned(), text)
        }
        Tell::Settled { .. } => None,
    }
}

/// Without control characters, which a terminal or a desktop would act on.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// Escaped line by line, for a desktop that may read the text as markup.
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
        let message = message(&Tell::Ended {
            name: "<a href='x'>&\u{1b}[2J".to_owned(),
            pid: 7,
            unit: "app.scope".to_owned(),
            signal: "SIGKILL".to_owned(),
            size: Bytes::mib(700),
            why: "it grows".to_owned(),
        })
        .unwrap();
        assert_eq!(
            message.text,
            "&lt;a href='x'&gt;&amp;?[2J (7) used 700 MiB.\nit grows"
        );
        assert_eq!(
            message.title, "<a href='x'>&?[2J was killed",
            "a title is no markup"
        );
    }

    #[test]
    fn a_question_stands_as_long_as_there_is_time_to_answer() {
        let ask = Tell::Ask {
            id: 9,
            unit: "app-hog.scope".to_owned(),
            used: Bytes::mib(700),
            wait: Span::secs(15),
            why: "it grows by 80 MiB/s".to_owned(),
        };
        let message = message(&ask).unwrap();
        assert_eq!(
            (message.lasts, message.question, message.urgency),
            (Duration::from_secs(15), Some(9), "critical")
        );
        assert_eq!(
            message.text,
            "app-hog.scope uses 700 MiB of memory. Without an answer it is killed in 15 s.\nit grows by 80 MiB/s"
        );
    }
}
