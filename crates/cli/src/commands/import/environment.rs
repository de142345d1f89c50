//! Files as the service manager reads them: variables in files and units, and command lines.
//!
//! The rules are those of systemd.exec(5) for `EnvironmentFile=`, systemd.syntax(7) for units, and
//! systemd.service(5) for command lines. A shell that sources `/etc/default/NAME` reads the files
//! that are seen in practice alike.

/// The variables in the text of an `EnvironmentFile=`.
///
/// A value in quotes goes on over the ends of lines. A backslash at the end of a line continues it.
/// Lines that begin with `#` or `;` are comments, but not inside a value.
pub(super) fn variables(text: &str) -> Vec<(String, String)> {
    let mut reader = Reader::default();
    for letter in text.chars() {
        reader.read(letter);
    }
    reader.end();
    reader.variables
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    BeforeKey,
    Key,
    BeforeValue,
    Value,
    ValueEscape,
    SingleQuotes,
    DoubleQuotes,
    DoubleQuotesEscape,
    Comment,
}

#[derive(Default)]
struct Reader {
    state: State,
    key: String,
    value: String,
    /// Blanks at the end of an unquoted value so far: they are dropped if nothing follows.
    blanks: usize,
    variables: Vec<(String, String)>,
}

impl Reader {
    fn read(&mut self, letter: char) {
        match self.state {
            State::BeforeKey => self.before_key(letter),
            State::Key => self.in_key(letter),
            State::BeforeValue => self.before_value(letter),
            State::Value => self.in_value(letter),
            State::ValueEscape => {
                self.state = State::Value;
                if letter != '\n' {
                    // What follows is a pattern: its backslashes are kept.
                    self.value.push('\\');
                    self.value.push(letter);
                }
            }
            State::SingleQuotes if letter == '\'' => self.state = State::BeforeValue,
            State::SingleQuotes => self.value.push(letter),
            State::DoubleQuotes => match letter {
                '"' => self.state = State::BeforeValue,
                '\\' => self.state = State::DoubleQuotesEscape,
                _ => self.value.push(letter),
            },
            State::DoubleQuotesEscape => {
                self.state = State::DoubleQuotes;
                match letter {
                    '"' | '\\' | '`' | '$' => self.value.push(letter),
                    '\n' => {}
                    _ => {
                        self.value.push('\\');
                        self.value.push(letter);
                    }
                }
            }
            State::Comment if letter == '\n' => self.state = State::BeforeKey,
            State::Comment => {}
        }
    }

    fn before_key(&mut self, letter: char) {
        match letter {
            '#' | ';' => self.state = State::Comment,
            _ if letter.is_whitespace() => {}
            _ => {
                self.key.push(letter);
                self.state = State::Key;
            }
        }
    }

    fn in_key(&mut self, letter: char) {
        match letter {
            // A line without a value is no assignment.
            '\n' => {
                self.key.clear();
                self.state = State::BeforeKey;
            }
            '=' => self.state = State::BeforeValue,
            _ => self.key.push(letter),
        }
    }

    fn before_value(&mut self, letter: char) {
        match letter {
            '\n' => self.take(),
            '\'' => self.state = State::SingleQuotes,
            '"' => self.state = State::DoubleQuotes,
            '\\' => {
                self.blanks = 0;
                self.state = State::ValueEscape;
            }
            _ if letter.is_whitespace() => {}
            _ => {
                self.value.push(letter);
                self.blanks = 0;
                self.state = State::Value;
            }
        }
    }

    fn in_value(&mut self, letter: char) {
        match letter {
            '\n' => self.take(),
            '\\' => {
                self.blanks = 0;
                self.state = State::ValueEscape;
            }
            _ => {
                self.value.push(letter);
                if letter.is_whitespace() {
                    self.blanks += letter.len_utf8();
                } else {
                    self.blanks = 0;
                }
            }
        }
    }

    /// The variable is complete.
    fn take(&mut self) {
        let length = self.value.len() - self.blanks;
        self.value.truncate(length);
        let key = self.key.trim();
        // Only a shell allows `export`; what reads the file there then is one.
        let key = key.strip_prefix("export ").unwrap_or(key).trim();
        let variable = (key.to_owned(), std::mem::take(&mut self.value));
        self.variables.push(variable);
        self.key.clear();
        self.blanks = 0;
        self.state = State::BeforeKey;
    }

    fn end(&mut self) {
        match self.state {
            State::BeforeKey | State::Key | State::Comment => {}
            _ => self.take(),
        }
    }
}

/// The words of a command line: split at blanks, but for what is in quotes.
///
/// The service manager would also drop the backslash of `\.`. It is kept, as it belongs to a pattern,
/// and the person that wrote it meant a dot.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => {
                let into = word.get_or_insert_default();
                let Some(next) = letters.next() else { continue };
                if !(next.is_whitespace() || matches!(next, '"' | '\'' | '\\')) {
                    into.push('\\');
                }
                into.push(next);
            }
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// A setting of a unit or of a configuration file of systemd's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// `Service` of `[Service]`; empty before the first.
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
}

/// The settings in a unit, a drop-in, or a configuration file of systemd's.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut continued = String::new();
    for line in text.lines() {
        let line = line.trim_start();
        // A comment does not end a continued line.
        if line.starts_with(['#', ';']) || (line.is_empty() && continued.is_empty()) {
            continue;
        }
        if let Some(beginning) = line.strip_suffix('\\') {
            continued.push_str(beginning);
            continued.push(' ');
            continue;
        }
        let mut whole = std::mem::take(&mut continued);
        whole.push_str(line);
        take_setting(&whole, &mut section, &mut settings);
    }
    take_setting(&continued, &mut section, &mut settings);
    settings
}

fn take_setting(line: &str, section: &mut String, settings: &mut Vec<Setting>) {
    let line = line.trim();
    let header = line
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Some(name) = header {
        name.clone_into(section);
    } else if let Some((key, value)) = line.split_once('=') {
        settings.push(Setting {
            section: section.clone(),
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
        });
    }
}

/// Whether this is a unit or a drop-in of one, and not a file of variables.
pub(super) fn is_unit(text: &str) -> bool {
    settings(text)
        .iter()
        .any(|setting| matches!(setting.section.as_str(), "Unit" | "Service" | "Install"))
}

/// How a service starts its program, from its unit and the drop-ins of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    /// The command line; `None` if nothing sets one.
    pub(super) command: Option<String>,
    /// `Environment=`, in the order of assignment.
    pub(super) environment: Vec<(String, String)>,
    /// `EnvironmentFile=`, without the mark that a file may be absent.
    pub(super) files: Vec<String>,
}

impl Service {
    /// What a unit or a drop-in says, over what the ones before it said. An empty value takes back all before it.
    pub(super) fn add(&mut self, text: &str) {
        for Setting {
            section,
            key,
            value,
        } in settings(text)
        {
            if section != "Service" {
                continue;
            }
            match key.as_str() {
                "ExecStart" if value.is_empty() => self.command = None,
                "ExecStart" => self.command = Some(value),
                "Environment" if value.is_empty() => self.environment.clear(),
                "Environment" => {
                    for word in words(&value) {
                        if let Some((key, value)) = word.split_once('=') {
                            let value = value.replace("%%", "%");
                            self.environment.push((key.to_owned(), value));
                        }
                    }
                }
                "EnvironmentFile" if value.is_empty() => self.files.clear(),
                "EnvironmentFile" => {
                    let path = value.strip_prefix('-').unwrap_or(&value);
                    self.files.push(path.to_owned());
                }
                _ => {}
            }
        }
    }

    /// The arguments of the command, with the variables in it.
    pub(super) fn arguments(&self) -> Option<Vec<String>> {
        let command = self.command.as_deref()?.replace("%%", "%");
        let mut arguments = Vec::new();
        for word in words(&command).into_iter().skip(1) {
            if let Some(name) = word.strip_prefix('$').filter(|name| is_name(name)) {
                // A variable alone is split into words.
                let value = value_of(&self.environment, name).unwrap_or_default();
                arguments.extend(words(value));
            } else {
                arguments.push(substituted(&word, &self.environment));
            }
        }
        Some(arguments)
    }
}

/// The last value of a variable.
pub(super) fn value_of<'a>(variables: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let of_name = |(key, _): &&(String, String)| key == name;
    variables
        .iter()
        .rev()
        .find(of_name)
        .map(|(_, value)| value.as_str())
}

fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !text.is_empty() && text.chars().all(is_letter)
}

/// A word with the values of each `${NAME}` in it, and `$` for `$$`.
fn substituted(word: &str, variables: &[(String, String)]) -> String {
    let mut result = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let inner = after
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'));
        if let Some((name, behind)) = inner.filter(|(name, _)| is_name(name)) {
            result.push_str(value_of(variables, name).unwrap_or_default());
            rest = behind;
        } else {
            result.push('$');
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        let variables = variables(text);
        value_of(&variables, "A").unwrap().to_owned()
    }

    #[test]
    fn values_are_read_as_the_service_manager_reads_them() {
        for (text, expected) in [
            ("A=-m 5", "-m 5"),
            ("A = \"-m 5\"  ", "-m 5"),
            ("# A=1\n; A=2\nA=3 # no comment", "3 # no comment"),
            ("A=\"-m 5 \\\n-s 10\"", "-m 5 -s 10"),
            ("A=\"-m 5\n-s 10\"\nB=1", "-m 5\n-s 10"),
            ("A=-m 5 \\\n -s 10\nB=1", "-m 5  -s 10"),
            ("A='x\\y'", "x\\y"),
            ("A=\"x\\.y \\\"z\\\" \\$\"", "x\\.y \"z\" $"),
            ("A=x\\.y", "x\\.y"),
            ("A=\"-m 5\" '-s 10'", "-m 5-s 10"),
            ("A=1\nA=2", "2"),
            ("export A=1", "1"),
            ("A=\"never closed", "never closed"),
            ("A=", ""),
            ("A=1\r\n", "1"),
        ] {
            assert_eq!(value(text), expected, "{text:?}");
        }
        assert_eq!(variables("no assignment\n\n=1\n# A=1"), []);
    }

    #[test]
    fn words_are_split_at_blanks_but_for_quotes() {
        for (text, expected) in [
            ("-m 5,2\t-g\n-n", &["-m", "5,2", "-g", "-n"][..]),
            ("--avoid '^(a|b c)$' x", &["--avoid", "^(a|b c)$", "x"]),
            ("--avoid='^(a b)$'", &["--avoid=^(a b)$"]),
            ("a\\ b '' \"it's\"", &["a b", "", "it's"]),
            ("x\\.y x\\\\.y", &["x\\.y", "x\\.y"]),
            ("'not closed ", &["not closed "]),
            ("  ", &[]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_drop_in_takes_back_and_adds() {
        let mut service = Service::default();
        service.add(
            "[Service]\nEnvironmentFile=-/etc/default/x\nExecStart=/usr/bin/x \\\n# in between\n  $A ${B} $$c \"$A\"\n",
        );
        service.add("[Service]\nEnvironment=A=\"-m 5\" 'B=1 2'\n[Install]\nExecStart=no\n");
        assert_eq!(service.files, ["/etc/default/x"]);
        assert_eq!(
            service.arguments().unwrap(),
            ["-m", "5", "1 2", "$c", "-m", "5"]
        );
        service.add("[Service]\nExecStart=\nEnvironmentFile=\n");
        assert_eq!((service.arguments(), service.files.len()), (None, 0));
        service.add("[Service]\nExecStart=/x -m 50%% '^(a)$'");
        assert_eq!(service.arguments().unwrap(), ["-m", "50%", "^(a)$"]);
    }
}
