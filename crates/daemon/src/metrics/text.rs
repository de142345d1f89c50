//! The two text formats of metrics, and the escaping that they need.

use std::fmt;
use std::fmt::Write as _;
use units::{Bytes, Micros, Percent, Rate, Span};

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `OpenMetrics` 1.0, as Prometheus scrapes it.
    OpenMetrics,
    /// Prometheus text 0.0.4, which `node_exporter`'s textfile collector reads. It has no units, no end mark, and no types
    /// for information and state sets.
    Prometheus,
}

/// What kind of metric a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// May go up and down.
    Gauge,
    /// Only grows; the names of its samples end in `_total`.
    Counter,
    /// Text in labels, with the value 1; the names of its samples end in `_info`.
    Info,
    /// One state of several has the value 1; the label has the family's name.
    States,
}

impl Kind {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::States => "",
        }
    }

    const fn name(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Counter, _) => "counter",
            (Self::Info, Dialect::OpenMetrics) => "info",
            (Self::States, Dialect::OpenMetrics) => "stateset",
            (Self::Gauge | Self::Info | Self::States, _) => "gauge",
        }
    }
}

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Whole(u64),
    Fraction(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Fraction(number) => number.fmt(f),
        }
    }
}

macro_rules! number {
    ($($type:ty: $value:ident => $number:expr;)*) => {
        $(impl From<$type> for Number {
            fn from($value: $type) -> Self {
                $number
            }
        })*
    };
}

// Base units: bytes, seconds, and shares of one.
number! {
    u64: count => Self::Whole(count);
    u32: count => Self::Whole(count.into());
    usize: count => Self::Whole(count as u64);
    bool: truth => Self::Whole(truth.into());
    Bytes: amount => Self::Whole(amount.get());
    Rate: rate => Self::Whole(rate.get());
    Percent: share => Self::Fraction(share.fraction());
    Span: span => Self::Fraction(span.get().as_secs_f64());
    Micros: time => Self::Fraction(time.span().get().as_secs_f64());
}

/// Name and value of a label.
pub(super) type Label<'a> = (&'a str, &'a dyn fmt::Display);

/// Writes the samples of one family. The header is written with the first sample, so that a family without samples has none.
pub(super) struct Points<'a> {
    out: &'a mut String,
    dialect: Dialect,
    head: Head,
    begun: bool,
}

/// The header of a family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Base unit, which is also the end of the name; empty for plain counts.
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
}

impl fmt::Display for Head {
    /// The family's full name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.unit.is_empty() { "" } else { "_" };
        write!(f, "warmset_{}{joint}{}", self.name, self.unit)
    }
}

impl<'a> Points<'a> {
    pub(super) fn new(head: Head, dialect: Dialect, out: &'a mut String) -> Self {
        Self {
            out,
            dialect,
            head,
            begun: false,
        }
    }

    /// One sample without labels; nothing if it is unknown.
    pub(super) fn put(&mut self, value: impl Into<Option<Number>>) {
        self.put_at(&[], value);
    }

    /// One sample.
    pub(super) fn put_at(&mut self, labels: &[Label<'_>], value: impl Into<Option<Number>>) {
        let Some(value) = value.into() else { return };
        self.begin();
        // Writing to a string cannot fail.
        let _ = self.sample(labels, value);
    }

    /// All states of a set: 1 for the state `now`, 0 for the others.
    pub(super) fn states(&mut self, states: &[&str], now: &str) {
        let label = self.head.to_string();
        for state in states {
            self.put_at(&[(&label, state)], Number::from(*state == now));
        }
    }

    fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        // Writing to a string cannot fail.
        let _ = self.header();
    }

    fn header(&mut self) -> fmt::Result {
        let head = self.head;
        let kind = head.kind.name(self.dialect);
        match self.dialect {
            Dialect::OpenMetrics => {
                writeln!(self.out, "# TYPE {head} {kind}")?;
                if !head.unit.is_empty() {
                    writeln!(self.out, "# UNIT {head} {}", head.unit)?;
                }
                writeln!(self.out, "# HELP {head} {}", head.help)
            }
            Dialect::Prometheus => {
                let suffix = head.kind.suffix();
                writeln!(self.out, "# HELP {head}{suffix} {}", head.help)?;
                writeln!(self.out, "# TYPE {head}{suffix} {kind}")
            }
        }
    }

    fn sample(&mut self, labels: &[Label<'_>], value: Number) -> fmt::Result {
        write!(self.out, "{}{}", self.head, self.head.kind.suffix())?;
        for (index, (name, value)) in labels.iter().enumerate() {
            let separator = if index == 0 { '{' } else { ',' };
            write!(self.out, "{separator}{name}=\"")?;
            write!(Quoted(self.out), "{value}")?;
            self.out.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        writeln!(self.out, "{end} {value}")
    }
}

/// Escapes what would end a label's value: `\`, `"` and the line break.
struct Quoted<'a>(&'a mut String);

impl fmt::Write for Quoted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                other => self.0.push(other),
            }
        }
        Ok(())
    }
}
