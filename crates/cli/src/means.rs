//! The means by which a guard acts, as `warmset status` and `warmset mode` show them.

use crate::ui::text::Page;
use pressure::means::Means;

/// One entry for all that are armed, and one for each that is not, with its reason and what to do.
pub(crate) fn show(page: &mut Page, means: &[Means]) {
    let armed: Vec<&str> = means
        .iter()
        .filter(|means| means.is_armed)
        .map(|means| means.name.as_str())
        .collect();
    if !armed.is_empty() {
        page.entry("armed", armed.join(", "));
    }
    for means in means.iter().filter(|means| !means.is_armed) {
        page.entry("not armed", means);
    }
}
