//! The memory that this program may take.

use procfs::Current;
use rustix::process::{Resource, getrlimit};
use units::Bytes;

/// What the machine has available, or this process's limit of addresses (`ulimit -v`) if that is less. A container's limit is not
/// seen. `None` if the kernel tells neither.
pub(crate) fn available() -> Option<Bytes> {
    let machine = procfs::Meminfo::current()
        .ok()
        .and_then(|info| info.mem_available);
    let limit = getrlimit(Resource::As).current;
    let least = machine.into_iter().chain(limit).min()?;
    Some(Bytes::new(least))
}
