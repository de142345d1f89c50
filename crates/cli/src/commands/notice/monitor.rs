//! `org.freedesktop.LowMemoryMonitor` on the system bus: what GLib's `GMemoryMonitor` listens for in every program that uses it.

use crate::ui::hinted::Hinted;
use anyhow::{Context, Result};
use pressure::users::Tell;
use zbus::blocking::Connection;
use zbus::blocking::connection::Builder;
use zbus::object_server::SignalEmitter;

const NAME: &str = "org.freedesktop.LowMemoryMonitor";
const PATH: &str = "/org/freedesktop/LowMemoryMonitor";
/// `G_MEMORY_MONITOR_WARNING_LEVEL_MEDIUM`: try harder to free what is not needed.
const MEDIUM: u8 = 100;
/// `G_MEMORY_MONITOR_WARNING_LEVEL_CRITICAL`: processes are about to be ended.
const CRITICAL: u8 = 255;

/// What is at the path: who listens asks for its properties first, and waits for the answer that there are none.
struct Warnings;

#[zbus::interface(name = "org.freedesktop.LowMemoryMonitor")]
impl Warnings {
    /// Memory is short.
    #[zbus(signal)]
    async fn low_memory_warning(emitter: &SignalEmitter<'_>, level: u8) -> zbus::Result<()>;
}

/// The name is ours while this lives.
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
                zbus::Error::NameTaken => "another program is it: systemctl disable --now low-memory-monitor",
                _ => "the bus lets root have this name, by the file of the package: systemctl enable --now warmset-low-memory",
            };
            Hinted::new(format_args!("{NAME} on the system bus: {error}"), hint).into()
        })
    }

    /// Warns every program that listens, if what was told is a warning.
    pub(super) fn hear(&self, tell: &Tell) -> Result<()> {
        let Some(level) = level(tell) else {
            return Ok(());
        };
        let emitter = SignalEmitter::new(self.bus.inner(), PATH)?;
        zbus::block_on(Warnings::low_memory_warning(&emitter, level))
            .context("the system bus took no warning")
    }
}

/// How bad it is; `None` if it is not about to be, or over.
fn level(tell: &Tell) -> Option<u8> {
    match tell {
        Tell::Warn { .. } => Some(MEDIUM),
        Tell::Throttled { .. }
        | Tell::Ask { .. }
        | Tell::Ended { .. }
        | Tell::EndedElsewhere { .. } => Some(CRITICAL),
        Tell::Settled { .. } => None,
    }
}
