//! Where each reference's page is used next: what the policies that know the future look at.

use crate::Page;

/// The next use of a page that is not used again.
pub const NEVER: u32 = u32::MAX;

/// The reference at which each reference's page is used next, or [`NEVER`]. O(n).
pub fn next_uses(refs: &[Page], pages: usize) -> Vec<u32> {
    let mut last = vec![NEVER; pages];
    let mut next = vec![NEVER; refs.len()];
    for (at, page) in refs.iter().enumerate() {
        let before = std::mem::replace(&mut last[*page as usize], at as u32);
        if before != NEVER {
            next[before as usize] = at as u32;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_uses_by_hand() {
        assert_eq!(next_uses(&[0, 1, 0, 0], 2), [2, NEVER, 3, NEVER]);
    }
}
