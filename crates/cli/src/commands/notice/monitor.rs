//! `org.freedesktop.LowMemoryMonitor` on the system bus, which programs listen to by GLib's `GMemoryMonitor`.

use crate::ui::hinted::Hinted;
use anyhow::{Context, Result};
use pressure::users::Tell;
use zbus::blocking::Connection;
use zbus::blocking::connection::Builder;
use zbus::object_server::SignalEmitter;

const NAME: &str = "org.freedesktop.LowMemoryMonitor";
const PATH: &str = "/org/freedesktop/LowMemoryMonitor";
/// `G_MEMORY_MONITOR_WARNING_LEVEL_MEDIUM`: programs should free what they do not need.
const MEDIUM: u8 = 100;
/// `G_MEMORY_MONITOR_WARNING_LEVEL_CRITICAL`: processes are about to be killed.
const CRITICAL: u8 = 255;

/// The object at the path. A listener first asks for its properties, and waits for the answer that there are none.
struct Warnings;

#[zbus::interface(name = "org.freedesktop.LowMemoryMonitor")]
impl Warnings {
    /// Memory is short.
    #[zbus(signal)]
    async fn low_memory_warning(emitter: &SignalEmitter<'_>, level: u8) -> zbus::Result<()>;
}

/// Owns the name on the bus while it lives.
#[derive(Debug)]
pub(super) struct Monitor {
    bus: Connection,
}

impl Monitor {
    pub(super) fn open() -> Result<Self> {
        let named = || {
            Builder::system()?
                .serve_at(PATH, Warnings)?
                .allow_name_replacements(false)
                .replace_existing_names(false)
                .name(NAME)?
                .build()
        };
        named().map(|bus| Self { bus }).map_err(|error| {
            let hint = match error {
                zbus::Error::NameTaken => "another program owns the name: systemctl disable --now low-memory-monitor",
                _ => "only root may own this name, and only with the bus policy of the package: systemctl enable --now warmset-low-memory",
            };
            Hinted::new(format_args!("{NAME} on the system bus: {error}"), hint).into()
        })
    }

    /// Warns every program that listens, if the message is a warning.
    pub(super) fn warn(&self, tell: &Tell) -> Result<()> {
        let Some(level) = level(tell) else {
            return Ok(());
        };
        let emitter = SignalEmitter::new(self.bus.inner(), PATH)?;
        zbus::block_on(Warnings::low_memory_warning(&emitter, level))
            .context("cannot send a warning on the system bus")
    }
}

/// The level of a message; `None` if it is no warning.
fn level(tell: &Tell) -> Option<u8> {
    match tell {
        Tell::Warn { .. } | Tell::Short { .. } => Some(MEDIUM),
        Tell::Throttled { .. }
        | Tell::Ask { .. }
        | Tell::Ended { .. }
        | Tell::EndedElsewhere { .. } => Some(CRITICAL),
        Tell::Settled { .. } => None,
    }
}
