//! Reads an amount of memory as a user gives it: `1000` pages, `64MiB`, `10%` of the footprint.

use crate::{Error, Trace};
use units::Bytes;

/// Reads an amount of memory as a number of pages, at least one.
///
/// `footprint` is the number of different pages of the trace, `page_size` the bytes of a page.
///
/// Errors: no amount, none of memory, or above 100 %.
///
/// ```
/// use workingset::capacity::pages;
/// assert_eq!(pages("10%", 500, 4096), Ok(50));
/// assert_eq!(pages("1 MiB", 500, 4096), Ok(256));
/// assert!(pages("0", 500, 4096).is_err());
/// ```
pub fn pages(text: &str, footprint: usize, page_size: u64) -> Result<usize, Error> {
    let text = text.trim();
    let meant = |why: &dyn std::fmt::Display| {
        Error::Unfit(format!(
            "capacity '{text}': pages, bytes or per cent are meant, such as 1000, 64MiB, 10%: {why}"
        ))
    };
    let wanted = if let Some(percent) = text.strip_suffix('%') {
        let share: f64 = percent.trim().parse().map_err(|error| meant(&error))?;
        if !(share > 0.0 && share <= 100.0) {
            return Err(Error::Unfit(format!(
                "capacity {text}: above 0 and at most 100 % of {footprint} pages is meant"
            )));
        }
        let pages = (footprint as f64 * share / 100.0).round();
        return Ok((pages as usize).max(1));
    } else if let Ok(pages) = text.parse::<u64>() {
        pages
    } else {
        let bytes = text.parse::<Bytes>().map_err(|error| meant(&error))?;
        bytes.get() / page_size.max(1)
    };
    if wanted == 0 {
        return Err(Error::Unfit(format!(
            "capacity {text}: a policy needs a page of memory"
        )));
    }
    Ok(usize::try_from(wanted).unwrap_or(usize::MAX))
}

/// Reads several capacities for a trace. They are sorted, and each is there once.
///
/// A capacity may be above the footprint, as in a sweep over several traces.
///
/// Errors: as [`pages`].
pub fn of_trace(texts: &[impl AsRef<str>], trace: &Trace) -> Result<Vec<usize>, Error> {
    let footprint = trace.pages();
    let mut all = Vec::with_capacity(texts.len());
    for text in texts {
        all.push(pages(text.as_ref(), footprint, trace.about.page_size)?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}
