//! What should be known of files that were read.

use std::fmt;

/// Notes kept, at most: a person reads no more, and a damaged file can give one for each line.
const MOST: usize = 20;

/// Sentences on flaws of files: the first ones, and how many more there are.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Notes {
    kept: Vec<String>,
    /// Those that are not kept.
    more: u64,
    /// The last one, if it is not kept.
    last: Option<String>,
}

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, note: String) {
        if self.kept.len() < MOST {
            self.kept.push(note);
        } else {
            self.more += 1;
            self.last = Some(note);
        }
    }

    /// Adds all notes of `others`.
    pub fn append(&mut self, others: &Self) {
        for note in &others.kept {
            self.add(note.clone());
        }
        self.more = self.more.saturating_add(others.more);
        if others.last.is_some() {
            self.last.clone_from(&others.last);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The note added last.
    pub fn last(&self) -> Option<&str> {
        self.last
            .as_deref()
            .or(self.kept.last().map(String::as_str))
    }

    /// One line each, and at the end how many more there are, with the last of them.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.kept.clone();
        if let Some(last) = &self.last {
            lines.push(format!("and {} more, the last of them: {last}", self.more));
        }
        lines
    }
}

impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept_and_the_others_counted() {
        let mut notes = Notes::default();
        assert!(notes.is_empty());
        for number in 0..100 {
            notes.add(format!("line {number}"));
        }
        let lines = notes.lines();
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines[0], "line 0");
        assert_eq!(lines[MOST], "and 80 more, the last of them: line 99");
        assert_eq!(notes.last(), Some("line 99"));
        let mut both = Notes::default();
        both.add("first".to_owned());
        both.append(&notes);
        assert_eq!(both.lines()[MOST], "and 81 more, the last of them: line 99");
    }
}
