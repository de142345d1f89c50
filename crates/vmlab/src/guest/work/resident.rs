//! How much of a file is in memory: `mincore(2)`, which neither reads pages in nor marks them as used.

#![allow(unsafe_code)]

use anyhow::Result;
use std::fs::File;
use std::io;
use std::ptr;

const PAGE: usize = 4096;

/// Pages of the file that are in memory.
pub(super) fn resident_pages(file: &File) -> Result<u64> {
    use std::os::fd::AsRawFd;
    let length = usize::try_from(file.metadata()?.len())?;
    if length == 0 {
        return Ok(0);
    }
    let mut pages = vec![0_u8; length.div_ceil(PAGE)];
    // SAFETY: the mapping is new and ours, is read by nothing but mincore, and is unmapped before it is forgotten;
    // `pages` has one byte for each of its pages.
    let failed = unsafe {
        let at = libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error().into());
        }
        let failed =
            (libc::mincore(at, length, pages.as_mut_ptr()) != 0).then(io::Error::last_os_error);
        libc::munmap(at, length);
        failed
    };
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_written_is_in_memory() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(resident_pages(&file).unwrap(), 0);
        file.write_all(&vec![1; 10 * PAGE + 1]).unwrap();
        assert_eq!(resident_pages(&file).unwrap(), 11);
    }
}
