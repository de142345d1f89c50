//! `org.freedesktop.LowMemoryMonitor` on the system bus, which programs listen to by GLib's `GMemoryMonitor`.

use anyhow::{Context, Result, anyhow};
use zbus::blocking::Connection;
use zbus::blocking::connection::Builder;
use zbus::object_server::SignalEmitter;

const NAME: &str = "org.freedesktop.LowMemoryMonitor";
const PATH: &str = "/org/freedesktop/LowMemoryMonitor";
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
pub(crate) struct Monitor {
    bus: Connection,
}

impl Monitor {
    pub(crate) fn open() -> Result<Self> {
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
            anyhow!("{NAME} on the system bus: {error}\nhint: {hint}")
        })
    }

    /// Warns every program that listens.
    pub(crate) fn warn(&self, level: u8) -> Result<()> {
        let emitter = SignalEmitter::new(self.bus.inner(), PATH)?;
        zbus::block_on(Warnings::low_memory_warning(&emitter, level))
            .context("cannot send a warning on the system bus")
    }
}
