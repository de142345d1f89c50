//! The means by which a guard acts, as `warmset status` and `warmset mode` show them.

use crate::ui::text::Page;
use pressure::means::{Means, armed};

/// One entry for all that are armed, and one for each that is not, with its reason and what to do.
pub(crate) fn show(page: &mut Page, means: &[Means]) {
    let armed = armed(means);
    if !armed.is_empty() {
        page.entry("armed", armed);
    }
    for means in means.iter().filter(|means| !means.is_armed) {
        page.entry("not armed", means);
    }
}
