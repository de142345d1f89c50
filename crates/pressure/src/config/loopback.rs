//! An address that only this machine can reach.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// What is expected, with an example of each kind.
const EXPECTED: &str = "a loopback address and port, such as \"127.0.0.1:9750\" or \"[::1]:9750\"";

/// An address and port on the loopback. What is told there is for this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loopback(SocketAddr);

impl Loopback {
    /// Where to listen.
    pub const fn address(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for Loopback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Ok(address) = text.parse::<SocketAddr>() else {
            return Err(format!("expected {EXPECTED}, found {text:?}"));
        };
        if !address.ip().is_loopback() {
            return Err(format!(
                "{text:?} can be reached from other machines; expected {EXPECTED}"
            ));
        }
        Ok(Self(address))
    }
}

impl fmt::Display for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_is_one() {
        for local in ["127.0.0.1:0", "127.8.8.8:9750", "[::1]:9750"] {
            assert_eq!(local.parse::<Loopback>().unwrap().to_string(), local);
        }
        for bad in [
            "0.0.0.0:9750",
            "[::]:9750",
            "10.0.0.1:9750",
            "[::ffff:10.0.0.1]:1",
            "localhost:9750",
            "9750",
            "",
        ] {
            let error = bad.parse::<Loopback>().unwrap_err();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
    }
}
