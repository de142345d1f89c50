//! Values with units, as text: the bridge between `FromStr`/`Display` and the configuration file.

use super::Share;
use crate::knob::Knob;
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::fmt::Display;
use std::str::FromStr;
use units::Unparsable;

pub(super) fn serialize<T: Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(D::Error::custom)
}

/// The same for a value that may be left out.
pub(super) mod optional {
    use super::{Deserializer, Display, FromStr, Serializer};

    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub(in super::super) fn serialize<T, S>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error>
    where
        T: Display,
        S: Serializer,
    {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        struct Maybe<T>(std::marker::PhantomData<T>);
        impl<'de, T: FromStr<Err: Display>> serde::de::Visitor<'de> for Maybe<T> {
            type Value = Option<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text with a unit")
            }
            fn visit_none<E: serde::de::Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }
            fn visit_some<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Option<T>, D::Error> {
                super::deserialize(deserializer).map(Some)
            }
        }
        deserializer.deserialize_option(Maybe(std::marker::PhantomData))
    }
}

/// A knob by its name.
pub(super) mod knob {
    use super::{Deserialize, Deserializer, Error, Knob, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(in super::super) fn serialize<S: Serializer>(
        knob: &Knob,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(knob.spec().name)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Knob, D::Error> {
        let name = String::deserialize(deserializer)?;
        Knob::from_name(&name).ok_or_else(|| {
            D::Error::custom(format!(
                "{name:?} is not a knob; `warmset features` lists them"
            ))
        })
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Percent(percent) => percent.fmt(f),
        }
    }
}

impl FromStr for Share {
    type Err = Unparsable;

    fn from_str(text: &str) -> Result<Self, Unparsable> {
        if text.trim_end().ends_with('%') {
            text.parse().map(Self::Percent)
        } else {
            text.parse()
                .map(Self::Bytes)
                .map_err(|error: Unparsable| Unparsable {
                    expected: "a size such as \"512 MiB\" or a share such as \"2 %\"",
                    ..error
                })
        }
    }
}
