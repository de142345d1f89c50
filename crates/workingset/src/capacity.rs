//! An amount of memory as a user says it: `1000` pages, `64MiB`, `10%` of the footprint.

use crate::{Error, Trace};
use units::Bytes;

/// Pages, at least one, of a trace of so many different pages of `page_size` bytes.
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
        return Ok(((footprint as f64 * share / 100.0).round() as usize).max(1));
    } else if let Ok(pages) = text.parse::<u64>() {
        pages
    } else {
        text.parse::<Bytes>().map_err(|error| meant(&error))?.get() / page_size.max(1)
    };
    if wanted == 0 {
        return Err(Error::Unfit(format!(
            "capacity {text}: a policy needs a page of memory"
        )));
    }
    Ok(usize::try_from(wanted).unwrap_or(usize::MAX))
}

/// Several of one trace, of which no more can be used than it has: by size, each once.
pub fn of_trace(told: &[impl AsRef<str>], trace: &Trace) -> Result<Vec<usize>, Error> {
    let footprint = trace.pages();
    let fitting = |text: &str| {
        let wanted = pages(text, footprint, trace.about.page_size)?;
        if wanted > footprint {
            return Err(Error::Unfit(format!(
                "capacity {text} is {wanted} pages, above the footprint: the trace has {footprint} different pages"
            )));
        }
        Ok(wanted)
    };
    let mut all = told
        .iter()
        .map(|text| fitting(text.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}
