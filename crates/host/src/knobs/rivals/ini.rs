//! Lines of files with sections, as tuned and systemd write them.

/// One line that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'t> {
    /// `[NAME]`.
    Section(&'t str),
    /// `KEY = VALUE`.
    Setting(&'t str, &'t str),
}

/// The lines of `text`; comments and lines that are neither are left out.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(line)
}

fn line(text: &str) -> Option<Line<'_>> {
    let text = text.trim();
    if text.starts_with(['#', ';']) {
        return None;
    }
    if let Some(name) = text.strip_prefix('[') {
        return name
            .strip_suffix(']')
            .map(|name| Line::Section(name.trim()));
    }
    let (key, value) = text.split_once('=')?;
    Some(Line::Setting(key.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_noise_say_nothing() {
        let found: Vec<Line<'_>> =
            lines("# a=b\n; c=d\n[ x ]\nk = v = w\nnoise\n[open\n").collect();
        assert_eq!(found, [Line::Section("x"), Line::Setting("k", "v = w")]);
    }
}
